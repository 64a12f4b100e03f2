//! Flags, in both of the protocol's shapes.

use proptest::prelude::*;

use super::{read, write};
use crate::model::nudge::Flag;

#[test]
fn both_shapes_are_read() {
    let check = |text: &str, wanted: Flag| assert_eq!(read(text.as_bytes()), wanted, "{text}");
    let some = |text: &str| Some(text.to_owned());
    check(
        r#"{"timestamp":1796098205,"nudge_count":3,"last_activity_source":"PostToolUse:Read"}"#,
        Flag {
            timestamp: 1_796_098_205,
            nudge_count: Some(3),
            last_activity_source: some("PostToolUse:Read"),
            ..Flag::default()
        },
    );
    check(
        r#"{"timestamp":"2026-12-01T04:10:05Z","source":"stop_failure","error":"billing_error","error_details":"402"}"#,
        Flag {
            timestamp: 1_796_098_205,
            source: some("stop_failure"),
            error: some("billing_error"),
            error_details: some("402"),
            ..Flag::default()
        },
    );
}

#[test]
fn a_flag_that_cannot_be_read_is_still_a_flag() {
    let broken: [&[u8]; 8] = [
        b"",
        b"{\"timest",
        &[0; 200],
        b"[]",
        b"null",
        b"[[[[",
        b"stalled",
        b"{\"timestamp\":-5,\"nudge_count\":\"many\",\"error\":7,\"cause\":null}",
    ];
    for bytes in broken {
        assert_eq!(read(bytes), Flag::default(), "{bytes:?}");
    }
    assert_eq!(read(b"\xef\xbb\xbf{\"nudge_count\":\"3\"} x").nudge_count, Some(3));
}

#[test]
fn a_flag_is_written_with_what_it_has() {
    let text = |flag: &Flag| String::from_utf8(write(flag)).unwrap();
    let rule = Flag {
        timestamp: 9,
        nudge_count: Some(3),
        last_activity_source: Some("Stop".to_owned()),
        cause: Some("no_recovery".to_owned()),
        diagnosis: Some("Silent.".to_owned()),
        ..Flag::default()
    };
    insta::assert_snapshot!(text(&rule), @r#"{"timestamp":9,"nudge_count":3,"last_activity_source":"Stop","cause":"no_recovery","diagnosis":"Silent."}"#);
    let api = Flag {
        timestamp: 9,
        source: Some("stop_failure".to_owned()),
        error: Some("billing_error".to_owned()),
        ..Flag::default()
    };
    insta::assert_snapshot!(text(&api), @r#"{"timestamp":9,"source":"stop_failure","error":"billing_error"}"#);
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        timestamp in 0..10_000_000_000_i64, nudge_count in any::<Option<u32>>(), texts in any::<[Option<String>; 8]>(),
    ) {
        let [last_activity_source, source, error, error_details, cause, diagnosis, why, root] = texts;
        let evidence = root.iter().cloned().collect();
        let flag = Flag {
            timestamp, nudge_count, last_activity_source, source, error, error_details, cause, diagnosis, why, root, evidence,
        };
        prop_assert_eq!(read(&write(&flag)), flag);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(read(&bytes).timestamp >= 0);
    }
}
