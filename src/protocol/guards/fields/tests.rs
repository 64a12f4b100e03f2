//! Fields in every form that agents write them.

use super::*;

#[test]
fn every_form_of_a_field_is_read() {
    let lines = [
        ("verdict: APPROVED", "APPROVED"),
        ("- verdict: APPROVED", "APPROVED"),
        ("* **verdict**: APPROVED", "APPROVED"),
        ("**verdict:** APPROVED", "APPROVED"),
        ("  verdict:   APPROVED  ", "APPROVED"),
        ("Verdict: APPROVED", "APPROVED"),
        ("verdict: a: b", "a: b"),
        ("verdict:", ""),
        ("verdict:\n  - a\n  - b", "- a\n- b"),
        ("verdict:\n- a\n- b", "- a\n- b"),
        ("verdict:\n\n- a", "- a"),
        ("verdict: [\"a\",\n  \"b\"]\nother: x", "[\"a\",\n\"b\"]"),
        ("verdict: |\n  first\n  second: part", "first\nsecond: part"),
        ("```\nverdict: APPROVED\n```", "APPROVED"),
        ("verdict: APPROVED\r\nother: x\r\n", "APPROVED"),
        ("verdict: first\nverdict: second", "first"),
    ];
    for (text, wanted) in lines {
        assert_eq!(Fields::read(text).get("verdict"), Some(wanted), "{text:?}");
    }
}

#[test]
fn what_is_no_field_is_passed_over() {
    for text in [
        "",
        "verdict",
        "a verdict: APPROVED",
        "https://example.org",
        "C:\\verdict",
        "## verdict",
        ": x",
        "9: x",
    ] {
        assert_eq!(Fields::read(text).iter().count(), 0, "{text:?}");
    }
    let text = "verdict: APPROVED\n\nSome words about it.\n## Heading\n- a point";
    assert_eq!(Fields::read(text).iter().collect::<Vec<_>>(), [("verdict", "APPROVED")]);
    let text = "files:\n# Heading\n- a point";
    assert_eq!(Fields::read(text).get("files"), Some(""), "a heading ends a list");
}

#[test]
fn a_field_that_says_two_things_is_a_violation() {
    let fields = Fields::read("verdict: APPROVED\nverdict: APPROVED\nchunk_id: 1\nchunk_id: 2\n");
    let found = Check::new("review.md", &fields).done();
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].to_string(),
        "review.md: chunk_id stands there twice with two values; one line with the value that holds"
    );
}

#[test]
fn empty_and_nothing_are_told_from_something() {
    for value in ["", "  ", "{id}", "`{sha}`", "<path>", "…"] {
        assert!(is_empty(value) && is_nothing(value), "{value:?}");
    }
    for value in [
        "N/A",
        "n/a.",
        "none",
        "None",
        "-",
        "—",
        "[]",
        "[none]",
        "[\"N/A\"]",
        "TBD",
        "`N/A`",
        "no",
        "No.",
        "false",
    ] {
        assert!(!is_empty(value) && is_nothing(value) && denies(value), "{value:?}");
    }
    for value in [
        "none (documentation only)",
        "N/A: no tests",
        "no, not yet",
        "none - see the waiver",
        "\"no; static\"",
    ] {
        assert!(!is_nothing(value) && denies(value), "{value:?}");
    }
    for value in
        ["nothing yet but a plan", "0", "north", "cargo test", "no-op.md", "a/none.md", "[0]", "null_check"]
    {
        assert!(!is_empty(value) && !is_nothing(value) && !denies(value), "{value:?}");
    }
}

#[test]
fn a_commit_is_seven_to_sixty_four_hexadecimal_digits() {
    for sha in ["0123abc", "`0123abcdef0123abcdef0123abcdef0123abcdef`", &"a".repeat(64)] {
        assert!(is_sha(sha), "{sha}");
    }
    for sha in ["", "HEAD", "012345", "0123abg", &"a".repeat(65), "0123abc dirty"] {
        assert!(!is_sha(sha), "{sha}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_in_bounds(text in "[a-z:\\-\\* \\n\\[\\]{}#é]{0,400}") {
        let fields = Fields::read(&text);
        proptest::prop_assert!(fields.iter().count() <= MOST);
        for (name, value) in fields.iter() {
            proptest::prop_assert!(!name.is_empty() && value.len() <= text.len());
        }
    }
}
