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

#[test]
fn the_archive_is_ready_when_every_chunk_has_its_review_and_its_evidence() {
    let chunk = |number: u32, files: &[&str]| Chunk {
        place: format!(".kiln/archive/milestone-1/chunk-{number}"),
        files: files.iter().map(ToString::to_string).collect(),
    };
    let lines = |chunks: &[Chunk]| -> Vec<String> {
        archive(chunks).iter().map(|found| format!("{}: {}", found.place, found.field)).collect()
    };
    let whole =
        [chunk(1, &["review.md", "tdd-evidence.md"]), chunk(2, &["fix-2-review.md", "tdd-evidence.md", "x"])];
    assert_eq!(lines(&whole), Vec::<String>::new());
    let part = [chunk(1, &["review.md"]), chunk(2, &["fix-x-review.md", "tdd-evidence.md"]), chunk(3, &[])];
    assert_eq!(
        lines(&part),
        [
            ".kiln/archive/milestone-1/chunk-1: tdd-evidence.md",
            ".kiln/archive/milestone-1/chunk-2: review.md",
            ".kiln/archive/milestone-1/chunk-3: review.md",
            ".kiln/archive/milestone-1/chunk-3: tdd-evidence.md",
        ]
    );
    assert_eq!(lines(&[]), [".kiln/archive: chunks"]);
}
