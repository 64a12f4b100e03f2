//! Where a value ends, in pieces of any size, and what is kept of it.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Frame, KEEP};
use crate::protocol::sketch;

/// Pushes pieces of a size; returns whether a value was complete, and what was kept.
fn in_pieces(bytes: &[u8], size: usize) -> (bool, Vec<u8>) {
    let mut frame = Frame::default();
    let mut complete = false;
    for piece in bytes.chunks(size.max(1)) {
        complete = frame.push(piece);
        if complete {
            break;
        }
    }
    (complete, frame.into_bytes())
}

fn check(text: &str, complete: bool, kept: &str) {
    for size in [1, 2, 3, 7, 1 << 20] {
        let (found, bytes) = in_pieces(text.as_bytes(), size);
        assert_eq!((found, String::from_utf8_lossy(&bytes).as_ref()), (complete, kept), "{text:?} by {size}");
    }
}

#[test]
fn a_value_of_any_kind_is_complete_where_it_ends() {
    for text in [
        "{}",
        "[]",
        "\"\"",
        "\"a\"",
        "{\"a\":[1,{\"b\":\"}]\"}]}",
        "[\"\\\"]\",\"\\\\\"]",
        "{\"a\":\"\u{e9}\"}",
    ] {
        check(text, true, text);
        let all_but_one = &text[..text.len() - 1];
        check(all_but_one, false, all_but_one);
    }
    // What has no closing sign is complete at a blank; without one only the end of the stream tells.
    for text in ["1", "-1.5e7", "true", "false", "null"] {
        check(text, false, text);
        check(&format!("{text}\n"), true, &format!("{text}\n"));
    }
    check("", false, "");
    check("}", true, "}");
}

#[test]
fn what_comes_after_a_value_is_ignored() {
    check("{\"a\":1}{\"b\":2}", true, "{\"a\":1}");
    check("[1] garbage", true, "[1]");
    check("\"x\"\n\n", true, "\"x\"");
    let mut frame = Frame::default();
    assert!(frame.push(b"{}"));
    assert!(frame.push(b"{\"more\":1}"));
    assert!(frame.push(b""));
    assert_eq!(frame.into_bytes(), b"{}");
}

#[test]
fn blanks_and_a_byte_order_mark_before_a_value_are_passed_over() {
    check("\u{feff}{\"a\":1}", true, "{\"a\":1}");
    check(" \r\n\t[1]", true, "[1]");
    let mut frame = Frame::default();
    assert!(!frame.push("\u{feff} \n".as_bytes()));
    assert!(frame.is_empty());
    assert!(!frame.push(b"{"));
    assert!(!frame.is_empty());
    assert_eq!(frame.len(), 1);
}

#[test]
fn brackets_and_quotes_in_strings_are_text() {
    check(r#"{"a":"]}\"}{[","b":"\\"}"#, true, r#"{"a":"]}\"}{[","b":"\\"}"#);
    check(r#""\\\"""#, true, r#""\\\"""#);
    check(r#""\\\""#, false, r#""\\\""#);
}

#[test]
fn ten_megabytes_of_text_cost_little() {
    let text =
        json!({"hook_event_name": "PostToolUse", "tool_response": "x".repeat(10 << 20), "tool_use_id": "t1"})
            .to_string();
    let mut frame = Frame::default();
    let mut most = 0;
    let complete = text.as_bytes().chunks(65_536).any(|piece| {
        let complete = frame.push(piece);
        most = most.max(frame.len());
        complete
    });
    assert!(complete);
    assert!(most < 2 * KEEP, "{most}");
    let payload = crate::protocol::payload::read(&frame.into_bytes()).unwrap();
    assert_eq!((payload.event.as_str(), payload.field("tool_use_id")), ("PostToolUse", "t1"));
}

#[test]
fn a_string_is_kept_whole_up_to_the_limit() {
    for (length, kept) in [(KEEP - 1, KEEP - 1), (KEEP, KEEP), (KEEP + 1, KEEP), (5 * KEEP, KEEP)] {
        let (complete, bytes) = in_pieces(format!("\"{}\"", "x".repeat(length)).as_bytes(), 1000);
        assert!(complete);
        assert_eq!(bytes.len(), kept + 2, "{length}");
    }
    // Each string has its own measure.
    let text = json!(["x".repeat(2 * KEEP), "y".repeat(2 * KEEP), "z"]).to_string();
    let list: Value = serde_json::from_slice(&in_pieces(text.as_bytes(), 999).1).unwrap();
    assert_eq!(list[2], "z");
    assert_eq!(list[1].as_str().map(str::len), Some(KEEP));
}

/// Strings whose cut falls on every place of an escape or a character.
#[test]
fn the_cut_leaves_characters_and_escapes_whole() {
    for unit in ["é", "€", "😀", "\\n", "\\\\", "\\\"", "\\u001b", "\\u00e9", "\\ud83d\\ude00", "\\ud83d"]
    {
        for before in KEEP - 13..=KEEP {
            let text = format!("[\"{}{}\",\"end\"]", "x".repeat(before), unit.repeat(20));
            let whole = in_pieces(text.as_bytes(), 1 << 20);
            for size in [1, 2, 3] {
                let (most, rest) = text.as_bytes().split_at(KEEP - 20);
                let mut frame = Frame::default();
                frame.push(most);
                let complete = rest.chunks(size).any(|piece| frame.push(piece));
                assert_eq!((complete, frame.into_bytes()), whole, "{unit} after {before}, by {size}");
            }
            let list =
                sketch::read(&whole.1).unwrap_or_else(|error| panic!("{unit} after {before}: {error}"));
            assert_eq!(list.list()[1].text(), "end");
            assert!(list.list()[0].text().len() >= KEEP - 13);
        }
    }
}

#[test]
fn the_digits_of_an_escape_count_however_they_come() {
    let text = format!("\"\\u00e9{}\"", "x".repeat(2 * KEEP));
    let kept = format!("\"\\u00e9{}\"", "x".repeat(KEEP - 6));
    check(&text, true, &kept);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z\\\\\"{}\\[\\]é😀\\n]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map("[a-z\"]{0,4}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn pieces_of_any_size_give_the_same_value(
        value in any_json(), sizes in proptest::collection::vec(1..9_usize, 1..40), pretty in any::<bool>(),
    ) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        let stream = format!("\u{feff} {text}\n{{\"next\":1}}");
        let mut frame = Frame::default();
        let mut rest = stream.as_bytes();
        for size in sizes.iter().cycle() {
            let (piece, tail) = rest.split_at((*size).min(rest.len()));
            rest = tail;
            if frame.push(piece) { break; }
            prop_assert!(!rest.is_empty(), "no end was found of {}", text);
        }
        let read: Value = serde_json::from_slice(&frame.into_bytes()).unwrap();
        prop_assert_eq!(read, value);
    }

    #[test]
    fn no_bytes_make_it_panic_or_keep_more_than_came(
        pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..10),
    ) {
        let mut frame = Frame::default();
        for piece in &pieces {
            frame.push(piece);
        }
        prop_assert!(frame.len() <= pieces.iter().map(Vec::len).sum());
    }
}
