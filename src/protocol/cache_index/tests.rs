//! The index of explorations.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Entry, lines, read};

fn faults(bytes: &[u8]) -> Vec<String> {
    let faults = read(bytes).1;
    faults.into_iter().map(|(line, fault)| format!("{line} {}: {}", fault.rule.word(), fault.fact)).collect()
}

fn entry(more: &Value) -> Value {
    let mut entry = json!({
        "angle": "competitor-analysis", "file": "explore-competitor-analysis.json", "created_by": "RESEARCH-001",
        "timestamp": "2026-01-15T10:30:00Z"
    });
    for (key, value) in more.as_object().expect("an object") {
        entry[key] = value.clone();
    }
    entry
}

#[test]
fn the_protocol_s_own_example_is_read() {
    let text = r#"{
  "entries": [
    {
      "angle": "competitor-analysis",
      "file": "explore-competitor-analysis.json",
      "created_by": "RESEARCH-001",
      "timestamp": "2026-01-15T10:30:00Z"
    }
  ]
}"#;
    let entry = Entry {
        angle: "competitor-analysis".to_owned(),
        file: "explore-competitor-analysis.json".to_owned(),
        created_by: "RESEARCH-001".to_owned(),
        line: 3,
    };
    assert_eq!(read(text.as_bytes()), (Some(vec![entry]), Vec::new()));
    assert_eq!(read(br#"{"entries":[]}"#), (Some(Vec::new()), Vec::new()));
}

#[test]
fn what_is_no_index_is_said_so() {
    for text in ["", "[]", "{}", "{\"entries\":{}}", "{\"entries\":[", "null", "\u{0}"] {
        let wanted = "1 cache-unreadable: cache-index.json is no JSON object with a list of entries";
        assert_eq!(faults(text.as_bytes()), [wanted], "{text}");
    }
}

#[test]
fn each_field_is_of_its_form() {
    let check = |more: &Value, wanted: &[&str]| {
        let text = json!({"entries": [entry(more)]}).to_string();
        assert_eq!(faults(text.as_bytes()), wanted, "{text}");
    };
    check(&json!({}), &[]);
    check(&json!({"angle": "api-v2", "file": "explore-api-v2.json"}), &[]);
    check(&json!({"angle": "竞品-分析", "file": "explore-竞品-分析.json"}), &[]);
    for angle in ["Competitor", "two words", "a_b", "-a", "a-", "a--b", "a/b"] {
        let file = format!("explore-{angle}.json");
        check(
            &json!({"angle": angle, "file": file}),
            &[&format!("1 angle-form: the angle {} is not in kebab-case", super::shown(angle))],
        );
    }
    for file in [
        "competitor-analysis.json",
        "explore-other.json",
        "../explore-competitor-analysis.json",
        "explore-competitor-analysis.md",
    ] {
        check(
            &json!({ "file": file }),
            &[&format!(
                "1 cache-file-name: the file of the entry of \"competitor-analysis\" is \"{file}\", not explore-<angle>.json"
            )],
        );
    }
    check(
        &json!({"timestamp": "today"}),
        &[
            "1 stamp-form: the timestamp of the entry of \"competitor-analysis\" is \"today\", no ISO 8601 stamp",
        ],
    );
    for name in ["angle", "file", "created_by", "timestamp"] {
        let of = if name == "angle" { "explore-competitor-analysis.json" } else { "competitor-analysis" };
        check(&json!({ name: null }), &[&format!("1 field-missing: the entry of \"{of}\" has no {name}")]);
        check(&json!({ name: 7 }), &[&format!("1 field-type: {name} of the entry of \"{of}\" is no text")]);
    }
    assert_eq!(faults(br#"{"entries":[7]}"#).len(), 4);
}

#[test]
fn two_entries_of_one_angle_are_told_with_their_lines() {
    let text = format!(
        "{{\"entries\": [\n{},\n{}\n]}}",
        entry(&json!({})),
        entry(&json!({"created_by": "RESEARCH-002"}))
    );
    assert_eq!(
        faults(text.as_bytes()),
        ["3 angle-duplicate: the angle \"competitor-analysis\" has an entry already"]
    );
}

#[test]
fn a_file_that_leaves_its_folder_is_not_looked_for() {
    let text = json!({"entries": [entry(&json!({"file": "../../secrets.json"}))]}).to_string();
    assert_eq!(read(text.as_bytes()).0.expect("an index")[0].file, "");
}

#[test]
fn lines_are_those_of_the_entries_whatever_stands_around_them() {
    let text = "{\"other\": [\n1, 2],\n\"entries\": [\n  {\"a\": [\n1, {}]}\n, 7,\n\"x, [\\\" \"\n],\n\"last\": [{}]}";
    assert_eq!(lines(text.as_bytes()), [4, 6, 7]);
    assert_eq!(lines(b"{\"entries\": [\n]}"), [0; 0]);
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        read(&bytes);
        lines(&bytes);
    }

    #[test]
    fn each_entry_has_a_line(count in 0..20_usize, breaks in proptest::collection::vec(0..3_usize, 20)) {
        let list: Vec<String> = (0..count).map(|place| format!("{}{}", "\n".repeat(breaks[place]), entry(&json!({"angle": format!("a{place}")})))).collect();
        let text = format!("{{\"entries\":[{}]}}", list.join(","));
        let mut line = 1;
        let wanted: Vec<usize> = (0..count).map(|place| { line += breaks[place]; line }).collect();
        prop_assert_eq!(lines(text.as_bytes()), wanted);
    }
}
