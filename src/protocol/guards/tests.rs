//! The words of a guard.

use super::*;

fn violation(field: &str) -> Violation {
    Violation::new(".kiln/docs/patterns.md", field, "is missing", "a line of its own")
}

#[test]
fn a_text_begins_with_the_mark_and_names_every_violation() {
    let text = text(
        "patterns.md is not as the Kiln protocol has it.",
        &[violation("line 1"), violation("head_sha")],
    );
    insta::assert_snapshot!(text, @r"
    KILN GUARD: patterns.md is not as the Kiln protocol has it.
    - .kiln/docs/patterns.md: line 1 is missing; a line of its own
    - .kiln/docs/patterns.md: head_sha is missing; a line of its own
    ");
}

#[test]
fn a_text_is_bounded_and_counts_what_it_leaves_out() {
    let many: Vec<Violation> = (0..200).map(|number| violation(&format!("field_{number}"))).collect();
    let text = text("Much is wrong.", &many);
    assert!(text.chars().count() <= MOST, "{}", text.len());
    assert!(text.ends_with(" more of the same kind"), "{text}");
    assert_eq!(names(&[violation("a"), violation("b"), violation("a")]), "a, b");
}

#[test]
fn foreign_text_in_a_violation_is_made_harmless() {
    let odd =
        Violation::new("a\u{1b}[31m.md", "field\n", "is \"x\u{202e}y\"", "sk-abcdefghijklmnop1234567890");
    let text = text("head\nline", &[odd]);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}') && text.contains("[masked]"), "{text}");
}
