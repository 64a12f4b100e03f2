//! Which lines are items, and that ticking one changes one byte.

use proptest::prelude::*;

use super::*;

fn shown(text: &str) -> Vec<String> {
    items(text.as_bytes())
        .iter()
        .map(|item| format!("{} {} {}", item.number, if item.is_done { 'x' } else { '-' }, item.label))
        .collect()
}

#[test]
fn items_are_the_task_lists_of_the_file_in_its_order() {
    for (text, wanted) in [
        ("", &[][..]),
        ("# Task\n\nNo list.\n", &[]),
        ("- [ ] one\n- [x] two\n- [X] three\n", &["1 - one", "2 x two", "3 x three"]),
        ("- [ ] one\n\n  more of it\n\n- [ ] two", &["1 - one", "2 - two"]),
        ("- [ ] one\n  goes on\n- [ ] two\n", &["1 - one", "2 - two"]),
        (
            "- [ ] one\n  - [ ] nested\n    - [x] deeper\n- [ ] two\n",
            &["1 - one", "2 - nested", "3 x deeper", "4 - two"],
        ),
        ("  - [ ] moved in\n  - [ ] two\n", &["1 - moved in", "2 - two"]),
        ("1. first\n   - [ ] below a number\n", &["1 - below a number"]),
        ("- [ ] **Reproduce** the `bug` in [it](http://x) *now*\n", &["1 - Reproduce the bug in it now"]),
        ("- [ ] one\r\n- [x] two\r\n", &["1 - one", "2 x two"]),
        ("- plain\n- [ ] one\n- [] none\n- [y] none\n- [ ]none\n-[ ] none\n", &["1 - one"]),
        ("## A\n- [ ] one\n## B\n- [ ] two\n", &["1 - one", "2 - two"]),
    ] {
        assert_eq!(shown(text), wanted, "{text:?}");
    }
}

#[test]
fn what_only_looks_like_an_item_is_none() {
    for text in [
        "```\n- [ ] in a fence\n```\n",
        "```md\n- [ ] in a fence that is not closed\n",
        "~~~\n- [ ] in the other fence\n~~~\n",
        "- a\n\n  ```\n  - [ ] in a fence of an item\n  ```\n",
        "text\n\n    - [ ] in an indented block\n",
        "> - [ ] quoted\n",
        "<!-- \n- [ ] in a comment\n-->\n",
        "`- [ ] in code`\n",
        "* [ ] another mark\n",
        "+ [ ] another mark\n",
        "1. [ ] a number\n",
        "a line - [ ] in its middle\n",
    ] {
        assert_eq!(shown(text), [""; 0], "{text:?}");
        let (before, after) = ("- [ ] before\n\n", "\n\nend\n\n- [ ] after\n");
        if !text.contains("not closed") {
            assert_eq!(shown(&format!("{before}{text}{after}")), ["1 - before", "2 - after"], "{text:?}");
        }
    }
}

#[test]
fn ticking_changes_the_one_byte() {
    for text in [
        "- [ ] one\n- [ ] two\n",
        "\u{feff}# Ü\r\n\r\n- [ ] eins\r\n  - [ ] zwei\r\n",
        "```\n- [ ] code\n```\n- [ ] one\n\n\n- [ ] two   ",
    ] {
        for item in items(text.as_bytes()) {
            let next = ticked(text.as_bytes(), &item);
            let changed: Vec<usize> =
                (0..text.len()).filter(|at| next[*at] != text.as_bytes()[*at]).collect();
            assert_eq!((next.len(), changed.as_slice()), (text.len(), &[item.place][..]), "{text:?}");
            let done: Vec<usize> =
                items(&next).iter().filter(|item| item.is_done).map(|item| item.number).collect();
            assert_eq!(done, [item.number], "{text:?}");
        }
    }
    let done = items(b"- [X] one\n").remove(0);
    assert_eq!(ticked(b"- [X] one\n", &done), b"- [X] one\n");
}

#[test]
fn bytes_that_are_not_utf_8_stay() {
    let text = b"- [ ] a\xff\xc3b\n- [ ] \xf0\x9f two\n";
    let found = items(text);
    assert_eq!(found.len(), 2);
    let next = ticked(text, &found[1]);
    assert_eq!(next, b"- [ ] a\xff\xc3b\n- [x] \xf0\x9f two\n");
}

#[test]
fn a_label_is_one_short_line() {
    let long = format!("- [ ] a\u{1b}[31m\u{202e}{}\n", "x".repeat(1000));
    let label = items(long.as_bytes()).remove(0).label;
    assert!(label.chars().count() == LONGEST && !label.contains(char::is_control), "{label}");
}

proptest! {
    #[test]
    fn no_text_is_too_much(lines in proptest::collection::vec(
        "(- \\[ \\] a|  - \\[x\\] b|```|~~~|> - \\[ \\] q|    - \\[ \\] c|<div>|\\* \\[ \\] d|1\\. e|\t- \\[ \\] f|\r|é)", 0..30)) {
        let text = lines.join("\n");
        for item in items(text.as_bytes()) {
            prop_assert!(matches!(text.as_bytes()[item.place], b' ' | b'x' | b'X'));
            let next = ticked(text.as_bytes(), &item);
            prop_assert_eq!(next.len(), text.len());
            let again = items(&next);
            prop_assert!(again[item.number - 1].is_done);
        }
    }
}
