//! What files prove of a task.

use super::super::review::tests::APPROVED;
use super::super::tdd::tests::VALID;
use super::*;

fn faults(wants: Wants, found: &Found) -> Vec<String> {
    let field =
        if matches!(wants, Wants::Verdict | Wants::Approval) { "verdict_path" } else { "qa_verdict_path" };
    let proof = Proof { field, path: "a.md".to_owned(), wants };
    check("task 7", &proof, found).iter().map(|found| format!("{} {}", found.field, found.fault)).collect()
}

fn read(text: &str) -> Found {
    Found::Read(text.to_owned(), Evidence::Read(VALID.to_owned()))
}

#[test]
fn a_proof_is_there_and_says_what_it_has_to() {
    let rejected = APPROVED.replace("verdict: APPROVED", "verdict: REJECTED");
    let broken = APPROVED.replace("chunk_id: 2\n", "");
    let table = [
        (Wants::Verdict, Found::Missing, vec!["verdict_path leads to no file (a.md)"]),
        (Wants::Verdict, Found::Outside, vec!["verdict_path leads out of the project (a.md)"]),
        (Wants::Verdict, Found::Unknown, vec![]),
        (Wants::Verdict, read(APPROVED), vec![]),
        (Wants::Verdict, read(&rejected), vec![]),
        (
            Wants::Verdict,
            read(&broken),
            vec!["verdict_path leads to a.md, whose verdict is not in order: chunk_id"],
        ),
        (Wants::Approval, read(APPROVED), vec![]),
        (Wants::Approval, read(&rejected), vec!["verdict_path leads to a.md, which says REJECTED"]),
        (
            Wants::Approval,
            Found::Read(APPROVED.to_owned(), Evidence::Missing),
            vec!["verdict_path leads to a.md, whose verdict is not in order: tdd_evidence_path"],
        ),
        (Wants::QaVerdict, read("verdict: QA_PASS"), vec![]),
        (Wants::QaVerdict, read("# Tribunal\n\nQA_FAIL: the login breaks"), vec![]),
        (
            Wants::QaVerdict,
            read("all is well"),
            vec!["qa_verdict_path leads to a.md, which says neither QA_PASS nor QA_FAIL"],
        ),
        (Wants::QaPass, read("verdict: PASS"), vec![]),
        (Wants::QaPass, read("verdict: QA_FAIL"), vec!["qa_verdict_path leads to a.md, which says QA_FAIL"]),
        (Wants::QaPass, Found::Missing, vec!["qa_verdict_path leads to no file (a.md)"]),
    ];
    for (wants, found, wanted) in table {
        assert_eq!(faults(wants, &found), wanted, "{wants:?}");
    }
}

#[test]
fn a_tribunal_s_verdict_is_read_in_its_forms() {
    let table = [
        ("verdict: QA_PASS", Some(true)),
        ("- **verdict**: `PASS`", Some(true)),
        ("result: passed, 3 findings", Some(true)),
        ("**QA_PASS**", Some(true)),
        ("status: FAIL", Some(false)),
        ("## QA_FAIL: two findings", Some(false)),
        ("verdict: undecided", None),
        ("we expect QA_PASS later", None),
        ("", None),
    ];
    for (text, wanted) in table {
        assert_eq!(qa(text), wanted, "{text}");
    }
}

fn chunk(number: u32, files: &[&str]) -> Chunk {
    Chunk {
        place: format!(".kiln/archive/milestone-1/chunk-{number}"),
        files: files.iter().map(ToString::to_string).collect(),
    }
}

fn lines(chunks: &[Chunk], look: &dyn Fn(&str) -> Found) -> Vec<String> {
    let line = |found: Violation| format!("{}: {} {}", found.place, found.field, found.fault);
    archive(chunks, look).into_iter().map(line).collect()
}

/// Every review approves, all evidence is in order.
fn in_order(path: &str) -> Found {
    if path.ends_with("/tdd-evidence.md") {
        return Found::Read(VALID.to_owned(), Evidence::Unknown);
    }
    read(APPROVED)
}

#[test]
fn the_archive_is_ready_when_every_chunk_has_its_review_and_its_evidence() {
    let whole =
        [chunk(1, &["review.md", "tdd-evidence.md"]), chunk(2, &["fix-2-review.md", "tdd-evidence.md", "x"])];
    assert_eq!(lines(&whole, &in_order), Vec::<String>::new());
    let part = [chunk(1, &["review.md"]), chunk(2, &["fix-x-review.md", "tdd-evidence.md"]), chunk(3, &[])];
    assert_eq!(
        lines(&part, &in_order),
        [
            ".kiln/archive/milestone-1/chunk-1: tdd-evidence.md is missing",
            ".kiln/archive/milestone-1/chunk-2: review.md is missing",
            ".kiln/archive/milestone-1/chunk-3: review.md is missing",
            ".kiln/archive/milestone-1/chunk-3: tdd-evidence.md is missing",
        ]
    );
    assert_eq!(lines(&[], &in_order), [".kiln/archive: chunks are missing"]);
}

#[test]
fn the_archive_is_ready_when_the_last_word_on_every_chunk_is_an_approval_in_order() {
    let place = ".kiln/archive/milestone-1/chunk-1";
    let rejected = APPROVED.replace("verdict: APPROVED", "verdict: REJECTED");
    let partial = APPROVED.replace("verdict: APPROVED", "verdict: PARTIAL_PASS_STATIC_ONLY");
    let garbage = "all is well\n";
    let approved = APPROVED.to_owned();
    let says = |name: &str, verdict: &str| {
        vec![format!("{place}: {name} says {verdict}, and is the last word on the chunk")]
    };
    let table = [
        (vec![("review.md", &approved)], vec![]),
        (vec![("review.md", &rejected)], says("review.md", "REJECTED")),
        (vec![("review.md", &partial)], says("review.md", "PARTIAL_PASS_STATIC_ONLY")),
        (vec![("review.md", &rejected), ("fix-1-review.md", &approved)], vec![]),
        (vec![("review.md", &approved), ("fix-1-review.md", &rejected)], says("fix-1-review.md", "REJECTED")),
        (vec![("fix-9-review.md", &rejected), ("fix-10-review.md", &approved)], vec![]),
        (
            vec![("fix-9-review.md", &approved), ("fix-10-review.md", &rejected)],
            says("fix-10-review.md", "REJECTED"),
        ),
    ];
    for (files, wanted) in table {
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).chain(["tdd-evidence.md"]).collect();
        let look = |path: &str| match files.iter().find(|(name, _)| path == format!("{place}/{name}")) {
            Some((_, text)) => read(text),
            None => in_order(path),
        };
        assert_eq!(lines(&[chunk(1, &names)], &look), wanted, "{names:?}");
    }
    let whole = [chunk(1, &["review.md", "tdd-evidence.md"])];
    let found = lines(&whole, &|_| read(garbage));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with(&format!("{place}: review.md is not in order: verdict, ")), "{found:?}");
    assert!(
        found[1].starts_with(&format!("{place}: tdd-evidence.md is not in order: testable, ")),
        "{found:?}"
    );
    assert_eq!(lines(&whole, &|_| Found::Unknown), Vec::<String>::new(), "what cannot be looked at");
}
