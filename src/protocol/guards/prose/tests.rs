//! Clauses, and what denies them.

use super::*;

fn joined(text: &str) -> Vec<String> {
    clauses(text).iter().map(|clause| clause.join(" ")).collect()
}

#[test]
fn a_text_is_read_clause_by_clause() {
    let table: [(&str, &[&str]); 8] = [
        ("12 passed; no browser, static", &["12 passed", "no browser", "static"]),
        ("Ran it. Saw it.", &["ran it", "saw it"]),
        ("see review.md (twice): fine", &["twice", "see review.md fine"]),
        ("a and b but c", &["a", "b", "c"]),
        ("no a and b", &["no a and b"]),
        ("keyboard-map isn’t n/a", &["keyboard-map isn't none"]),
        ("((a) b", &["a", "b"]),
        ("", &[]),
    ];
    for (text, wanted) in table {
        assert_eq!(joined(text), wanted, "{text}");
    }
}

#[test]
fn a_fault_that_was_not_found_denies_nothing() {
    for text in ["no browser available", "it was not run", "couldn't open it", "static, without chromium"] {
        assert!(clauses(text).iter().any(|clause| is_denial(clause)), "{text}");
    }
    for text in
        ["12 passed", "no errors", "none ignored", "not one failure", "no console errors", "without crashes"]
    {
        assert!(!clauses(text).iter().any(|clause| is_denial(clause)), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_in_bounds(text in "[a-zäİ.,;()'\\-— \n]{0,200}") {
        let clauses = clauses(&text);
        for clause in &clauses {
            is_denial(clause);
            for place in 0..clause.len() {
                is_denied(clause, place, &|_| false);
            }
        }
        proptest::prop_assert!(clauses.iter().map(Vec::len).sum::<usize>() <= text.len());
    }
}
