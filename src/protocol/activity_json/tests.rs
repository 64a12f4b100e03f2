//! The file in every form that other writers, interrupted writes and other languages leave it in.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Read, decode, read, whole, write};
use crate::model::activity::Activity;

const T: i64 = 1_796_098_205;

fn good() -> Value {
    json!({
        "last_activity_ts": T, "last_activity_source": "PostToolUse:Read", "active_teammates": {"rakim": T - 60},
        "last_nudge_ts": T - 900, "nudge_count": 2, "epoch": 41, "pipeline_phase": "build", "owner": {"of": ["others"]},
    })
}

fn of(value: &Value) -> Read {
    read(value.to_string().as_bytes())
}

fn with(field: &str, value: Value) -> Read {
    let mut fields = good();
    fields[field] = value;
    of(&fields)
}

#[test]
fn a_good_file_is_read_whole() {
    let read = of(&good());
    assert_eq!(read.faults, Vec::<String>::new());
    assert!(read.has_stamp);
    let Activity { last_activity_ts, last_activity_source, active_teammates, foreign, .. } =
        read.activity.clone();
    assert_eq!((last_activity_ts, last_activity_source.as_str()), (T, "PostToolUse:Read"));
    assert_eq!(active_teammates["rakim"], json!(T - 60));
    assert_eq!(
        (read.activity.last_nudge_ts, read.activity.nudge_count, read.activity.epoch),
        (T - 900, 2, 41)
    );
    assert_eq!(read.activity.pipeline_phase, "build");
    assert_eq!(Value::Object(foreign), json!({"owner": {"of": ["others"]}}));
}

/// What is read of bytes, in one line: whether the stamp counts, what could be saved, what was wrong.
fn shown(bytes: &[u8]) -> String {
    let Read { activity, has_stamp, faults } = read(bytes);
    let stamp = if has_stamp { activity.last_activity_ts - T } else { -1 };
    let teammates: Vec<&str> = activity.teammates().collect();
    format!(
        "stamp {stamp}, nudges {}, epoch {}, {} [{}] {faults:?}",
        activity.nudge_count,
        activity.epoch,
        if activity.pipeline_phase.is_empty() { "-" } else { &activity.pipeline_phase },
        teammates.join(" ")
    )
}

#[test]
fn a_broken_file_gives_what_can_be_saved_of_it() {
    let text = good().to_string();
    let wide = |unit: fn(u16) -> [u8; 2], mark: u16| -> Vec<u8> {
        [mark].into_iter().chain(text.encode_utf16()).flat_map(unit).collect()
    };
    let cut = |before: &str| text[..text.find(before).unwrap()].to_owned().into_bytes();
    let lines: Vec<String> = [
        ("whole", text.clone().into_bytes()),
        ("empty", Vec::new()),
        ("blank", b" \n\n".to_vec()),
        ("NULs", vec![0; 200]),
        ("cut in the stamp", b"{\"last_activity_ts\":17133".to_vec()),
        ("cut after the teammates", cut("last_nudge_ts")),
        ("cut in the epoch", cut("1,\"pipeline_phase")),
        ("byte-order mark", format!("\u{feff}{text}").into_bytes()),
        ("UTF-16LE", wide(u16::to_le_bytes, 0xfeff)),
        ("UTF-16BE", wide(u16::to_be_bytes, 0xfeff)),
        ("NULs behind", [text.clone().into_bytes(), vec![0; 50]].concat()),
        ("garbage behind", format!("{text}}}x").into_bytes()),
        ("twice", format!("{text}{text}").into_bytes()),
        ("CRLF", serde_json::to_string_pretty(&good()).unwrap().replace('\n', "\r\n").into_bytes()),
        ("list", b"[]".to_vec()),
        ("null", b"null".to_vec()),
        ("number", b"7".to_vec()),
        ("text", b"\"busy\"".to_vec()),
        ("brackets", vec![b'['; 10]),
        ("many brackets", vec![b'['; 100_000]),
        ("no JSON", b"<html>".to_vec()),
        ("not UTF-8", b"\xff\x00\xfe{}".to_vec()),
        ("too large a number", text.replace("\"nudge_count\":2", "\"nudge_count\":1e400").into_bytes()),
        ("no field", b"{}".to_vec()),
    ]
    .into_iter()
    .map(|(name, bytes)| format!("{name}: {}", shown(&bytes)))
    .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    whole: stamp 0, nudges 2, epoch 41, build [rakim] []
    empty: stamp -1, nudges 0, epoch 0, - [] ["empty"]
    blank: stamp -1, nudges 0, epoch 0, - [] ["empty"]
    NULs: stamp -1, nudges 0, epoch 0, - [] ["empty"]
    cut in the stamp: stamp -1, nudges 0, epoch 0, - [] ["not JSON: EOF while parsing an object at line 1 column 25"]
    cut after the teammates: stamp -1, nudges 0, epoch 0, - [] ["not JSON: EOF while parsing a string at line 1 column 114"]
    cut in the epoch: stamp -1, nudges 2, epoch 0, - [rakim] ["not JSON: EOF while parsing an object at line 1 column 165"]
    byte-order mark: stamp 0, nudges 2, epoch 41, build [rakim] []
    UTF-16LE: stamp 0, nudges 2, epoch 41, build [rakim] []
    UTF-16BE: stamp 0, nudges 2, epoch 41, build [rakim] []
    NULs behind: stamp 0, nudges 2, epoch 41, build [rakim] []
    garbage behind: stamp 0, nudges 2, epoch 41, build [rakim] ["text after the JSON object"]
    twice: stamp 0, nudges 2, epoch 41, build [rakim] ["text after the JSON object"]
    CRLF: stamp 0, nudges 2, epoch 41, build [rakim] []
    list: stamp -1, nudges 0, epoch 0, - [] ["not a JSON object"]
    null: stamp -1, nudges 0, epoch 0, - [] ["not a JSON object"]
    number: stamp -1, nudges 0, epoch 0, - [] ["not a JSON object"]
    text: stamp -1, nudges 0, epoch 0, - [] ["not a JSON object"]
    brackets: stamp -1, nudges 0, epoch 0, - [] ["not a JSON object"]
    many brackets: stamp -1, nudges 0, epoch 0, - [] ["not a JSON object"]
    no JSON: stamp -1, nudges 0, epoch 0, - [] ["not JSON: expected value at line 1 column 1"]
    not UTF-8: stamp -1, nudges 0, epoch 0, - [] ["not JSON: expected value at line 1 column 1"]
    too large a number: stamp -1, nudges 0, epoch 0, - [rakim] ["not JSON: number out of range at line 1 column 159"]
    no field: stamp -1, nudges 0, epoch 0, - [] ["last_activity_ts is missing or has no meaning"]
    "#);
}

#[test]
fn a_stamp_counts_in_every_form_that_has_a_meaning() {
    let counts = |stamp: Value| with("last_activity_ts", stamp).activity.last_activity_ts;
    for stamp in [
        json!(T),
        json!(1_796_098_205.25),
        json!("1796098205"),
        json!("1796098205.80"),
        json!(T * 1000),
        json!(T * 1_000_000),
        json!("2026-12-01T04:10:05Z"),
        json!("2026-12-01T05:10:05+01:00"),
    ] {
        assert_eq!(counts(stamp.clone()), T, "{stamp}");
        let nudge = with("last_nudge_ts", stamp.clone()).activity.last_nudge_ts;
        assert_eq!(nudge, T, "{stamp}");
    }
    // A hand's width of exponent form.
    assert_eq!(counts(json!(1.796_098e9)), 1_796_098_000);
    // The future is the writer's clock, not nonsense.
    assert_eq!(counts(json!(T + 7200)), T + 7200);
}

#[test]
fn a_stamp_without_meaning_is_unknown_and_said_to_be_so() {
    for nonsense in [json!(-5), json!(null), json!(true), json!(u64::MAX), json!([]), json!("soon")] {
        let read = with("last_activity_ts", nonsense.clone());
        assert!(!read.has_stamp, "{nonsense}");
        assert_eq!(read.faults, ["last_activity_ts is missing or has no meaning"], "{nonsense}");
        assert_eq!((read.activity.nudge_count, read.activity.epoch), (2, 41), "{nonsense}");
        // Of the nudge it means that there was none.
        let read = with("last_nudge_ts", nonsense);
        assert_eq!((read.activity.last_nudge_ts, read.faults.len()), (0, 0));
    }
    let mut fields = good();
    fields.as_object_mut().unwrap().remove("last_activity_ts");
    assert_eq!(of(&fields).faults.len(), 1);
    // Zero is what we write before any work was seen: unknown, but nothing is broken.
    let zero = with("last_activity_ts", json!(0));
    assert_eq!((zero.has_stamp, zero.faults.len()), (false, 0));
}

#[test]
fn counters_and_words_of_a_wrong_form_are_taken_at_their_meaning_or_left_out() {
    let count = |value: Value| with("nudge_count", value).activity.nudge_count;
    for (value, wanted) in [
        (json!("2"), 2),
        (json!(2.0), 2),
        (json!(" 3 "), 3),
        (json!(-1), 0),
        (json!(null), 0),
        (json!(1e12), 0),
        (json!([2]), 0),
        (json!("two"), 0),
    ] {
        assert_eq!(count(value.clone()), wanted, "{value}");
    }
    let epoch = |value: Value| with("epoch", value).activity.epoch;
    for (value, wanted) in
        [(json!("41"), 41), (json!(41.0), 41), (json!(null), 0), (json!(-3), 0), (json!(1e15), 0)]
    {
        assert_eq!(epoch(value.clone()), wanted, "{value}");
    }
    assert_eq!(with("pipeline_phase", json!(7)).activity.pipeline_phase, "");
    assert_eq!(with("last_activity_source", json!({"x": 1})).activity.last_activity_source, "");
}

#[test]
fn teammates_are_read_from_an_object_or_a_list() {
    let names = |value: Value| {
        let read = with("active_teammates", value);
        assert!(read.faults.is_empty());
        Value::Object(read.activity.active_teammates.into_iter().collect())
    };
    for (value, wanted) in [
        (json!({}), json!({})),
        (json!([]), json!({})),
        (json!(["a", "", 7, "b"]), json!({"a": 0, "b": 0})),
        (json!({"a": null}), json!({"a": null})),
        (json!({"a": {"ts": 1}, "": 5}), json!({"a": {"ts": 1}})),
        (json!({"a": "2026-12-01T04:10:05Z"}), json!({"a": "2026-12-01T04:10:05Z"})),
        (json!("a"), json!({})),
        (json!(null), json!({})),
    ] {
        assert_eq!(names(value.clone()), wanted, "{value}");
    }
}

#[test]
fn of_a_key_that_occurs_twice_the_last_counts() {
    let read = read(br#"{"last_activity_ts":5,"nudge_count":1,"x":1,"last_activity_ts":1796098205,"nudge_count":2,"x":3}"#);
    assert_eq!((read.activity.last_activity_ts, read.activity.nudge_count), (T, 2));
    assert_eq!(read.activity.foreign["x"], json!(3));
}

#[test]
fn writing_puts_the_seven_fields_first_and_keeps_the_order_of_others() {
    let text = r#"{"zeta":{"b":1,"a":[]},"epoch":"7","last_activity_ts":"1796098205","alpha":null,"active_teammates":["rakim"],"mid":1.50}"#;
    let written = String::from_utf8(write(&read(text.as_bytes()).activity)).unwrap();
    insta::assert_snapshot!(written, @r#"{"last_activity_ts":1796098205,"last_activity_source":"","active_teammates":{"rakim":0},"last_nudge_ts":0,"nudge_count":0,"epoch":7,"pipeline_phase":"","zeta":{"b":1,"a":[]},"alpha":null,"mid":1.5}"#);
}

#[test]
fn text_is_decoded_as_shells_redirect_it() {
    for (bytes, wanted) in [
        (&b"ab"[..], "ab"),
        (b"\xff\xfea\0b\0", "ab"),
        (b"\xfe\xff\0a\0b", "ab"),
        (b"\xff\xfea\0b", "a"),
        (b"\xff\xfe", ""),
        (b"a\xffb", "a\u{fffd}b"),
    ] {
        assert_eq!(decode(bytes), wanted);
    }
}

#[test]
fn whole_numbers_are_read_from_numbers_and_strings() {
    for (value, wanted) in [
        (json!(0), Some(0)),
        (json!(2.9), Some(2)),
        (json!("7"), Some(7)),
        (json!(-1), None),
        (json!(1e15), None),
        (json!("x"), None),
        (json!(null), None),
        (json!("inf"), None),
    ] {
        assert_eq!(whole(&value), wanted, "{value}");
    }
}

fn activity() -> impl Strategy<Value = Activity> {
    let name = "[a-z][a-z-]{0,8}";
    let names = proptest::collection::btree_map(name, any::<u32>().prop_map(Value::from), 0..5);
    let foreign = proptest::collection::vec(("x_[a-z]{1,5}", any::<i32>().prop_map(Value::from)), 0..5);
    let stamps = (1..10_000_000_000_i64, 0..10_000_000_000_i64);
    (stamps, any::<u32>(), 0..1_000_000_000_000_u64, (any::<String>(), any::<String>()), names, foreign)
        .prop_map(
            |(
                (last_activity_ts, last_nudge_ts),
                nudge_count,
                epoch,
                (source, phase),
                active_teammates,
                foreign,
            )| Activity {
                last_activity_ts,
                last_activity_source: source,
                active_teammates,
                last_nudge_ts,
                nudge_count,
                epoch,
                pipeline_phase: phase,
                foreign: foreign.into_iter().collect::<Map<_, _>>(),
            },
        )
}

proptest! {
    #[test]
    fn what_is_written_is_read_again_with_the_order_of_foreign_fields(activity in activity()) {
        let read = read(&write(&activity));
        prop_assert!(read.has_stamp && read.faults.is_empty());
        prop_assert!(read.activity.foreign.keys().eq(activity.foreign.keys()));
        prop_assert_eq!(&read.activity, &activity);
        prop_assert_eq!(write(&read.activity), write(&activity));
    }

    #[test]
    fn a_file_cut_anywhere_gives_no_number_that_was_not_in_it(
        activity in activity(), cut in any::<prop::sample::Index>(),
    ) {
        let bytes = write(&activity);
        let half = read(&bytes[..cut.index(bytes.len() - 1)]);
        prop_assert!(!half.has_stamp && !half.faults.is_empty());
        let is_kept_or = |found: u64, whole: u64| found == 0 || found == whole;
        prop_assert!(is_kept_or(half.activity.epoch, activity.epoch));
        prop_assert!(is_kept_or(half.activity.nudge_count.into(), activity.nudge_count.into()));
        prop_assert!(is_kept_or(half.activity.last_nudge_ts.cast_unsigned(), activity.last_nudge_ts.cast_unsigned()));
        for (name, value) in &half.activity.active_teammates {
            prop_assert_eq!(Some(value), activity.active_teammates.get(name));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let read = read(&bytes);
        prop_assert_eq!(read.has_stamp, read.activity.last_activity_ts > 0 && !read.faults.iter().any(|f| f.starts_with("not JSON")));
    }
}

/// Found by the fuzzer: a number of somebody else's that changed with every write.
#[test]
fn foreign_numbers_are_written_as_they_were_read() {
    for number in
        ["1.79000088880000000000000000899135604428e43", "0.1", "1e-320", "-2.5e300", "18446744073709551615"]
    {
        let text = format!("{{\"last_activity_ts\": 7, \"other\": {number}}}");
        let first = super::read(text.as_bytes()).activity;
        assert_eq!(first.foreign["other"], serde_json::from_str::<Value>(number).unwrap());
        assert_eq!(super::read(&super::write(&first)).activity, first, "{number}");
    }
}
