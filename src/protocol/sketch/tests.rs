//! A bounded reading of any JSON.

use std::hash::{DefaultHasher, Hasher};

use proptest::prelude::*;

use super::{Sketch, mended, read};

fn of(text: &str) -> Sketch {
    read(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn every_kind_of_value_is_read() {
    let sketch = of(
        r#" {"a":null,"b":true,"c":-7,"d":1.5,"e":"x\n\u00e9\ud83d\ude00","f":[1,[2]],"g":{"h":"i"},"j":18446744073709551615} "#,
    );
    assert_eq!(sketch.get("a"), &Sketch::Nothing);
    assert_eq!(sketch.get("b").truth(), Some(true));
    assert_eq!(sketch.get("c").number(), Some(-7.0));
    assert_eq!(sketch.get("d").number(), Some(1.5));
    assert_eq!(sketch.get("e").text(), "x\né😀");
    assert_eq!(sketch.get("f").list().len(), 2);
    assert_eq!(sketch.get("g").get("h").word(), Some("i"));
    assert_eq!(sketch.get("j").number(), Some(18_446_744_073_709_551_615.0));
}

#[test]
fn asking_a_value_for_what_it_is_not_gives_nothing() {
    let sketch = of(r#"{"text":"7.5 ","empty":"","list":[1]}"#);
    assert_eq!(sketch.get("text").number(), Some(7.5));
    assert_eq!(sketch.get("text").get("x").get("y"), &Sketch::Nothing);
    assert_eq!((sketch.get("list").text(), sketch.get("list").truth()), ("", None));
    assert_eq!((sketch.get("empty").word(), sketch.get("none").word()), (None, None));
    assert_eq!(sketch.text(), "");
    assert!(sketch.list().is_empty());
    assert_eq!(sketch.number(), None);
}

#[test]
fn what_is_not_one_json_value_is_refused() {
    for text in ["", " ", "{", "[1,]", "{\"a\"}", "1 2", "{} x", "nul", "\"open", "'a'", "{\"a\":1e999}"] {
        assert!(read(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn width_and_depth_beyond_the_bounds_are_walked_over() {
    let wide = format!("[{}]", vec!["\"x\""; 1000].join(","));
    assert_eq!(of(&wide).list().len(), 256);
    let members: Vec<String> = (0..1000).map(|n| format!("\"k{n}\":{n}")).collect();
    let object = of(&format!("{{{}}}", members.join(",")));
    assert_eq!(object.get("k255").number(), Some(255.0));
    assert_eq!(object.get("k256"), &Sketch::Nothing);
    assert_eq!(of("[[[[[[[[1]]]]]]]]"), of("[[[[[[[null]]]]]]]"));
    assert!(read(format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)).as_bytes()).is_ok());
    assert!(read("[".repeat(100_000).as_bytes()).is_err());
}

#[test]
fn strings_that_are_no_text_are_mended() {
    let check = |bytes: &[u8], wanted: &str| assert_eq!(read(bytes).unwrap().text(), wanted);
    check(br#""a\ud83d""#, "a\u{fffd}");
    check(br#""\ude00b""#, "\u{fffd}b");
    check(br#""\ud83dx\ude00""#, "\u{fffd}x\u{fffd}");
    check(br#""\ud83d\ud83d\ude00""#, "\u{fffd}😀");
    check(br#""\ud83d\n\\ud83d\"""#, "\u{fffd}\n\\ud83d\"");
    check(b"\"a\xff\xe2\x82b\"", "a\u{fffd}\u{fffd}b");
    check("\"\\ud83d\\é\"".replace("\\é", "é").as_bytes(), "\u{fffd}é");
    // What was fine is left alone; what is broken otherwise stays so.
    assert_eq!(mended(r#"{"a":"\ud83d\ude00 \\ud83d é"}"#.as_bytes()), None);
    for text in [r#""\ud83"#, r#""\ud83d"#, r#""\x""#, r#""\u12g4""#, "\"\\"] {
        assert!(read(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn different_values_have_different_digests() {
    let digest = |text: &str| {
        let mut hasher = DefaultHasher::new();
        of(text).digest(&mut hasher);
        hasher.finish()
    };
    let texts = [
        "null",
        "true",
        "false",
        "0",
        "1",
        "\"\"",
        "\"1\"",
        "\"a\"",
        "[]",
        "{}",
        "[\"a\"]",
        "[[\"a\"]]",
        "[\"a\",\"b\"]",
        "[\"ab\"]",
        "{\"a\":\"b\"}",
        "{\"ab\":\"\"}",
        "{\"a\":\"b\",\"c\":\"d\"}",
        "{\"a\":\"b\",\"cd\":\"\"}",
        "[null]",
        "[[],[]]",
        "[[[]]]",
        "{\"a\":[]}",
        "{\"a\":{}}",
        "{\"a\":null}",
    ];
    for (place, one) in texts.iter().enumerate() {
        assert_eq!(digest(one), digest(one));
        for other in &texts[place + 1..] {
            assert_ne!(digest(one), digest(other), "{one} and {other}");
        }
    }
}

proptest! {
    #[test]
    fn mending_never_panics_and_mends_all(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        if let Some(mended) = mended(&bytes) {
            prop_assert!(String::from_utf8(mended).is_ok());
        }
    }

    #[test]
    fn any_text_of_escapes_is_read_once_it_is_mended(
        units in proptest::collection::vec(prop_oneof![0xd7f0..0xe010_u16, any::<u16>()], 0..20),
    ) {
        let escapes: Vec<String> = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        let read = read(format!("\"{}\"", escapes.concat()).as_bytes()).unwrap();
        prop_assert_eq!(read.text(), String::from_utf16_lossy(&units));
    }
}
