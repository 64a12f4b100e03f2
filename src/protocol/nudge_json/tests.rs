//! Staged messages: the protocol's three fields, and ours.

use proptest::prelude::*;

use super::{first_value, read, write};
use crate::model::nudge::Nudge;

#[test]
fn the_protocol_s_own_messages_are_read() {
    let check = |text: &str, wanted: Nudge| assert_eq!(read(text.as_bytes()), Some(wanted), "{text}");
    let plain = Nudge { text: "idle".to_owned(), wakes: true, ..Nudge::default() };
    check(r#"{"additionalContext":"idle"}"#, plain.clone());
    check(
        r#"{"additionalContext":"idle","timestamp":1796098205,"nudge_n":2}"#,
        Nudge { timestamp: 1_796_098_205, number: 2, ..plain.clone() },
    );
    check(
        r#"{"nudge_n":"0","timestamp":"2026-12-01T04:10:05Z","additionalContext":"idle","more":[]}"#,
        Nudge { timestamp: 1_796_098_205, ..plain.clone() },
    );
    check(
        r#"{"additionalContext":"idle","nudge_n":-1,"timestamp":null,"id":7,"session_id":"","wakes":"no"}"#,
        plain,
    );
}

#[test]
fn what_cannot_be_delivered_is_none() {
    let text = r#"{"additionalContext":"idle"}"#;
    let wide: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let twice = format!("{text}{text}");
    let readable = [
        format!("\u{feff}{text}").into_bytes(),
        wide,
        format!("{text} garbage").into_bytes(),
        twice.into_bytes(),
    ];
    for bytes in readable {
        assert_eq!(read(&bytes).map(|nudge| nudge.text).as_deref(), Some("idle"), "{bytes:?}");
    }
    let broken: [&[u8]; 12] = [
        b"",
        b"{\"additionalContext\":\"id",
        &[0; 200],
        b"[]",
        b"null",
        b"[[[[[[[[[[",
        b"{}",
        b"text",
        b"{\"additionalContext\":\"\"}",
        b"{\"additionalContext\":\" \\n\"}",
        b"{\"additionalContext\":7}",
        b"{\"additionalContext\":null}",
    ];
    for bytes in broken {
        assert_eq!(read(bytes), None, "{bytes:?}");
    }
}

#[test]
fn a_message_is_written_as_the_protocol_s_readers_expect_it() {
    let nudge = Nudge {
        text: "KILN \"x\"\n".to_owned(),
        timestamp: 9,
        number: 1,
        id: "9000-1".to_owned(),
        session: Some("s1".to_owned()),
        wakes: true,
    };
    let text = |nudge: &Nudge| String::from_utf8(write(nudge)).unwrap();
    insta::assert_snapshot!(text(&nudge), @r#"{"additionalContext":"KILN \"x\"\n","timestamp":9,"nudge_n":1,"id":"9000-1","session_id":"s1"}"#);
    insta::assert_snapshot!(text(&Nudge { session: None, wakes: false, ..nudge }), @r#"{"additionalContext":"KILN \"x\"\n","timestamp":9,"nudge_n":1,"id":"9000-1","wakes":false}"#);
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        text in "\\PC*[a-z]", timestamp in 0..10_000_000_000_i64, number in any::<u32>(), id in any::<String>(),
        session in prop::option::of("[a-z]{1,9}"), wakes in any::<bool>(),
    ) {
        let nudge = Nudge { text, timestamp, number, id, session, wakes };
        prop_assert_eq!(read(&write(&nudge)), Some(nudge));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(first_value(&bytes).is_some() || read(&bytes).is_none());
    }
}
