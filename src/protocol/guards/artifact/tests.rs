//! Which files have a shape, the status marker, the freshness proof.

use super::*;

#[test]
fn files_are_known_by_their_place() {
    let table = [
        ("docs/codebase-state.md", Some(Kind::Mind)),
        ("docs/patterns.md", Some(Kind::Mind)),
        ("docs/architecture.md", Some(Kind::Mind)),
        ("docs/pitfalls.md", None),
        ("archive/milestone-1/chunk-2/tdd-evidence.md", Some(Kind::Tdd)),
        ("archive/step-5-build/chunk-2/tdd-evidence.md", Some(Kind::Tdd)),
        ("archive/milestone-1/chunk-2/review.md", Some(Kind::Review)),
        ("archive/milestone-1/chunk-2/fix-3-review.md", Some(Kind::Review)),
        ("archive/milestone-1/chunk-2/fix-x-review.md", None),
        ("archive/milestone-1/chunk-2/design-review.md", None),
        ("archive/milestone-1/chunk-2/assignment.md", Some(Kind::Freshness)),
        ("archive/milestone-1/chunk-2/summary.md", Some(Kind::Freshness)),
        ("archive/milestone-1/chunk-2/notes.md", None),
        ("archive/milestone-1/review.md", None),
        ("archive/step-4-architecture/review.md", None),
        ("docs/milestones/milestone-3.md", Some(Kind::Freshness)),
        ("docs/milestones/plan.md", None),
        ("tmp/tdd-evidence.md", Some(Kind::Tdd)),
        ("tmp/milestone-1-chunk-2-tdd-evidence.md", Some(Kind::Tdd)),
        ("tmp/chunk-2/review.md", Some(Kind::Review)),
        ("tmp/m1-c2-fix-1-review.md", Some(Kind::Review)),
        ("tmp/design-review.md", None),
        ("tmp/review.md.bak", None),
        ("review.md", None),
        ("STATE.md", None),
        ("", None),
    ];
    for (path, wanted) in table {
        assert_eq!(kind(path), wanted, "{path}");
    }
}

#[test]
fn the_marker_is_the_exact_first_line() {
    let table = [
        ("<!-- status: complete -->", None),
        ("<!-- status: complete -->\n", None),
        ("<!-- status: complete -->\r\n# State\r\n", None),
        ("", Some("line 1 is no status marker")),
        ("\n<!-- status: complete -->\n", Some("line 1 holds the status marker further down")),
        ("# State\n<!-- status: complete -->\n", Some("line 1 holds the status marker further down")),
        ("\u{feff}<!-- status: complete -->\n", Some("line 1 has a byte-order mark before it")),
        (" <!-- status: complete -->\n", Some("line 1 has blanks around the status marker")),
        ("<!-- status: complete --> \n", Some("line 1 has blanks around the status marker")),
        ("<!-- status: writing -->\n", Some("line 1 is no status marker")),
        ("<!--status: complete-->\n", Some("line 1 is no status marker")),
        ("<!-- status: complete --> # State", Some("line 1 is no status marker")),
        ("<!-- Status: Complete -->", Some("line 1 is no status marker")),
    ];
    for (text, wanted) in table {
        let found = status("patterns.md", Some(text)).map(|found| format!("{} {}", found.field, found.fault));
        assert_eq!(found.as_deref(), wanted, "{text:?}");
    }
    let missing = status(".kiln/docs/patterns.md", None).expect("a violation");
    assert_eq!(
        missing.to_string(),
        ".kiln/docs/patterns.md: the file is not there; its first line is exactly `<!-- status: complete -->`"
    );
}

fn faults(kind: Kind, text: &str) -> Vec<String> {
    let found = check(kind, "a.md", text, &Evidence::Unknown);
    found.iter().map(|found| format!("{} {}", found.field, found.fault)).collect()
}

#[test]
fn a_mind_s_file_names_its_commit_once_it_says_something() {
    let table: [(&str, &[&str]); 6] = [
        ("<!-- status: complete -->\n# Patterns\n\n## Pitfalls\n", &[]),
        ("<!-- status: complete -->\n# Patterns\nhead_sha: 0a1b2c3\n- use the parser\n", &[]),
        ("<!-- status: complete -->\n- use the parser\n", &["head_sha is missing"]),
        ("<!-- status: complete -->\nhead_sha: HEAD\n", &["head_sha is no commit id"]),
        ("- use the parser\n", &["line 1 is no status marker", "head_sha is missing"]),
        ("<!-- status: complete -->\nhead_sha: 0a1b2c3\nnote: a\nnote: b\n", &[]),
    ];
    for (text, wanted) in table {
        assert_eq!(faults(Kind::Mind, text), wanted, "{text:?}");
    }
}

const PROOF: &str = "\
assignment_id: asg-7
milestone_id: 1
chunk_id: 2
head_sha: 0a1b2c3
dirty_status: clean
source_artifacts: .kiln/docs/codebase-state.md
";

fn without(field: &str) -> String {
    PROOF.split_inclusive('\n').filter(|line| !line.starts_with(field)).collect()
}

#[test]
fn a_freshness_proof_is_whole() {
    assert_eq!(faults(Kind::Freshness, PROOF), Vec::<String>::new());
    for field in ["assignment_id", "milestone_id", "chunk_id", "head_sha", "dirty_status", "source_artifacts"]
    {
        assert_eq!(faults(Kind::Freshness, &without(field)), [format!("{field} is missing")]);
    }
    let pair =
        format!("{}current_head_sha_before: 0a1b2c3\ncurrent_head_sha_after: 4d5e6f7\n", without("head_sha"));
    assert_eq!(faults(Kind::Freshness, &pair), Vec::<String>::new());
    let half = format!("{}current_head_sha_before: 0a1b2c3\n", without("head_sha"));
    assert_eq!(faults(Kind::Freshness, &half), ["current_head_sha_after is missing"]);
    let summary = format!("{}`git status --short`:\n M src/a.rs\n", without("dirty_status"));
    assert_eq!(faults(Kind::Freshness, &summary), Vec::<String>::new());
    let list = format!("{}source_paths:\n- a.md\n- b.md\n", without("source_artifacts"));
    assert_eq!(faults(Kind::Freshness, &list), Vec::<String>::new());
    let none = format!("{}source_paths: none\n", without("source_artifacts"));
    assert_eq!(faults(Kind::Freshness, &none), ["source_artifacts is missing"]);
}
