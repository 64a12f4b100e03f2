//! State that other programs wrote: cut, of another encoding, of other types, or of no meaning at all.

use std::fs;

use serde_json::{Value, json};
use watchdog::model::event::What;
use watchdog::store::{activity_file, flag_file, pending, state_file};
use watchdog::system::clock;

use super::{Timed, status};
use crate::world::{Past, World, eventually, put, read_json};

/// Files that no strict reader takes, around a good one.
fn broken(good: &str) -> Vec<(&'static str, Vec<u8>)> {
    let wide = |mark: [u8; 2], unit: fn(u16) -> [u8; 2]| {
        mark.into_iter().chain(good.encode_utf16().flat_map(unit)).collect::<Vec<u8>>()
    };
    vec![
        ("empty", Vec::new()),
        ("cut", good.as_bytes()[..good.len() / 2].to_vec()),
        ("cut in a number", b"{\"last_activity_ts\":17133".to_vec()),
        ("zeros of a lost flush", vec![0; 200]),
        ("a byte-order mark", [b"\xef\xbb\xbf", good.as_bytes()].concat()),
        ("UTF-16, little end", wide([0xff, 0xfe], u16::to_le_bytes)),
        ("UTF-16, big end", wide([0xfe, 0xff], u16::to_be_bytes)),
        ("a list", b"[]".to_vec()),
        ("null", b"null".to_vec()),
        ("garbage behind", format!("{good} trailing {{").into_bytes()),
        ("twice", format!("{good}{good}").into_bytes()),
        ("line ends of another system", good.replace(',', ",\r\n").into_bytes()),
        ("levels of lists", "[".repeat(10).into_bytes()),
        ("many levels", "[".repeat(10_000).into_bytes()),
        ("bytes that are no text", vec![0xc3, 0x28, 0xff, 0x00, 0x80]),
    ]
}

/// Whether the fields survive: there they can be read.
fn is_readable(what: &str) -> bool {
    [
        "a byte-order mark",
        "UTF-16, little end",
        "UTF-16, big end",
        "garbage behind",
        "twice",
        "line ends of another system",
    ]
    .contains(&what)
}

#[test]
fn f26_a_broken_activity_is_no_alarm_is_healed_by_work_and_still_ends_in_a_nudge() {
    let world = Timed::new("build");
    world.begin();
    let now = world.now().seconds();
    let good = json!({
        "last_activity_ts": now - 20, "last_activity_source": "x", "active_teammates": {"rakim": now - 20},
        "last_nudge_ts": 0, "nudge_count": 0, "epoch": 5, "pipeline_phase": "build", "theirs": {"kept": true},
    })
    .to_string();
    for (what, bytes) in broken(&good) {
        fs::write(world.root.activity(), &bytes).unwrap();
        world.looked();
        assert_ne!(world.judged().verdict, "nudge", "{what}");
        assert_eq!((world.pending(), world.flag()), (None, None), "{what}");
        world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
        let healed = read_json(&world.root.activity()).unwrap();
        assert_eq!(healed["last_activity_source"], "PostToolUse:Read", "{what}");
        assert_eq!(healed["theirs"]["kept"] == true, is_readable(what), "{what}: {healed}");
        assert_eq!(healed["active_teammates"]["rakim"].is_number(), is_readable(what), "{what}: {healed}");
    }
    // The copies do not pile up, and the log does not repeat itself.
    let copies = fs::read_dir(world.root.own()).unwrap().flatten();
    let copies: Vec<_> =
        copies.filter(|entry| entry.file_name().to_string_lossy().contains("broken")).collect();
    assert_eq!(copies.len(), 1);
    world.pass(301);
    world.nudge(1);
}

#[test]
fn f26_silence_over_a_broken_activity_counts_from_its_modification_time() {
    for (what, bytes) in broken("{\"epoch\":5}") {
        let world = World::with("build", "[daemon]\ntick = \"100ms\"\n");
        fs::create_dir_all(world.root.tmp()).unwrap();
        fs::write(world.root.activity(), &bytes).unwrap();
        let file = fs::File::options().write(true).open(world.root.activity()).unwrap();
        let past = std::time::Duration::from_secs(u64::try_from(clock::now().seconds() - 400).unwrap());
        file.set_modified(std::time::UNIX_EPOCH + past).unwrap();
        let shown = world.run(&["check", "--json"]);
        let verdict: Value = serde_json::from_str(&shown.out).unwrap();
        assert_eq!(verdict["verdict"], "nudge", "{what}: {verdict}");
        assert_eq!(world.run(&["check", "--act"]).code, 0);
        assert_eq!(world.pending().unwrap()["nudge_n"], 1, "{what}");
    }
}

#[test]
fn f26_a_fault_is_logged_once_however_long_it_lasts() {
    let world = World::with("build", "[daemon]\ntick = \"50ms\"\n");
    world.begin();
    fs::write(world.root.activity(), "{\"last_activity_ts\":17").unwrap();
    fs::remove_file(world.root.state()).unwrap();
    eventually("it is logged", || world.log().contains("not JSON"));
    let begun = world.beacon().unwrap().last_tick_awake_ms;
    eventually("many looks pass", || world.beacon().unwrap().last_tick_awake_ms > begun + 3000);
    assert_eq!(world.log().matches("not JSON").count(), 1, "{}", world.log());
    assert!(world.log().len() < 4096, "{}", world.log().len());
}

#[test]
fn f26_a_broken_nudge_is_dropped_once_and_a_readable_one_is_delivered() {
    let world = World::new("build");
    let good = json!({"additionalContext": "the text", "timestamp": 5, "nudge_n": 1}).to_string();
    for (what, bytes) in broken(&good) {
        fs::create_dir_all(world.root.tmp()).unwrap();
        fs::write(world.root.pending(), &bytes).unwrap();
        let ran = world.hook(&world.event("UserPromptSubmit", &json!({"prompt": "go"})));
        if is_readable(what) {
            assert_eq!(ran.context("UserPromptSubmit"), "the text", "{what}");
        } else {
            assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{what}");
        }
        assert!(!world.root.pending().exists(), "{what}");
    }
}

#[test]
fn f26_a_broken_flag_is_a_flag() {
    let world = World::new("build");
    world.backdate(&Past::default());
    for (what, bytes) in broken("{\"timestamp\":5,\"nudge_count\":3}") {
        put(&world.root.flag(), &bytes);
        assert!(flag_file::load(&world.root).is_some(), "{what}");
        assert_eq!(status(&world)["exit"], 2, "{what}");
        assert_eq!(world.run(&["ensure"]).code, 0, "{what}");
        assert_eq!(world.flag(), None, "{what}");
        assert_eq!(world.run(&["stop"]).code, 0);
    }
}

#[test]
fn f26_a_stage_is_read_however_it_is_written() {
    let world = World::new("build");
    let variants: [&[u8]; 10] = [
        b"\xef\xbb\xbf# Kiln State\n\n## Pipeline\n- **stage**: build\n",
        b"\xef\xbb\xbf- **stage**: build\n",
        b"## Pipeline\r\n- **stage**: build\r\n",
        b"- **stage**:  build\n",
        b"* **stage**: build\n",
        b"- **stage**: build   \t \n",
        b"- **stage**: build",
        b"- **stage:** `build`\n",
        b"- **stage**: build\n\n> a note says `- **stage**: complete` of another run\n",
        b"- **stage**: build\n\nIt was **stage**: complete before.\n- **stage**: complete\n",
    ];
    for text in variants {
        put(&world.root.state(), text);
        let read = state_file::stage(&world.root).unwrap();
        assert_eq!(read.as_deref(), Some("build"), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn f27_a_stamp_in_any_form_with_a_meaning_is_taken_at_it() {
    let stamp = clock::now().seconds() - 3600;
    let iso = |zone: &str, shift: i64| {
        let text = watchdog::model::wording::clock((stamp + shift) * 1000);
        Value::from(text.replace('Z', zone))
    };
    let exponent: Value = serde_json::from_str(&format!("{:e}", stamp as f64)).unwrap();
    let forms = [
        json!(stamp as f64 + 0.25),
        json!(stamp.to_string()),
        json!(format!("{stamp}.80")),
        json!(stamp * 1000),
        json!(stamp * 1_000_000),
        iso("Z", 0),
        iso("+01:00", 3600),
        exponent,
    ];
    for form in forms {
        let world = World::new("build");
        world.write_activity(&json!({
            "last_activity_ts": form, "last_nudge_ts": form, "nudge_count": 1, "epoch": 1, "pipeline_phase": "build",
            "active_teammates": {"a": form}, "last_activity_source": "x",
        }));
        let loaded = activity_file::load(&world.root).unwrap();
        assert_eq!((loaded.activity.last_activity_ts - stamp).abs(), 0, "{form}");
        assert_eq!((loaded.activity.last_nudge_ts - stamp).abs(), 0, "{form}");
        assert_eq!(loaded.faults, Vec::<String>::new(), "{form}");
        assert_eq!(world.run(&["check", "--act"]).code, 0);
        assert_eq!(world.pending().unwrap()["nudge_n"], 2, "{form}");
        assert_eq!(world.activity()["active_teammates"]["a"], form, "others' forms are left as they are");
    }
}

#[test]
fn f27_nonsense_is_unknown_and_counts_from_the_files_own_time() {
    let forms =
        ["-5", "0", "null", "true", "18446744073709551615", "1e400", "\"soon\"", "{}", "[1]", "1e30", ""];
    for form in forms {
        for (count, teammates) in
            [("\"2\"", "[]"), ("2.0", "[\"a\"]"), ("-1", "{\"a\":null}"), ("null", "{\"a\":{\"ts\":1}}")]
        {
            let world = World::new("build");
            fs::create_dir_all(world.root.tmp()).unwrap();
            let field = if form.is_empty() { String::new() } else { format!("\"last_activity_ts\":{form},") };
            let text = format!(
                "{{{field}\"nudge_count\":{count},\"active_teammates\":{teammates},\"epoch\":\"7\"}}"
            );
            fs::write(world.root.activity(), &text).unwrap();
            let fresh = activity_file::load(&world.root).unwrap();
            assert!(clock::now().seconds() - fresh.activity.last_activity_ts < 100, "{text}");
            let shown: Value = serde_json::from_str(&world.run(&["check", "--json"]).out).unwrap();
            assert_eq!(
                (shown["verdict"].clone(), shown["reason"].clone()),
                (json!("quiet"), json!("active")),
                "{text}"
            );
            let old = std::time::Duration::from_secs(u64::try_from(clock::now().seconds() - 400).unwrap());
            let file = fs::File::options().write(true).open(world.root.activity()).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + old).unwrap();
            drop(file);
            let shown: Value = serde_json::from_str(&world.run(&["check", "--json"]).out).unwrap();
            assert_eq!(shown["verdict"], "nudge", "{text}");
        }
    }
}

#[test]
fn f27_counts_and_teammates_are_read_in_other_types() {
    let read = |text: &str| watchdog::protocol::activity_json::read(text.as_bytes()).activity;
    let counts = [("\"2\"", 2), ("2.0", 2), ("-1", 0), ("null", 0), ("true", 0), ("99999999999", 0)];
    for (text, count) in counts {
        assert_eq!(read(&format!("{{\"nudge_count\":{text}}}")).nudge_count, count, "{text}");
    }
    let teams: [(&str, &[&str]); 6] = [
        ("[]", &[]),
        ("[\"a\"]", &["a"]),
        ("{\"a\":null}", &["a"]),
        ("{\"a\":{\"ts\":1}}", &["a"]),
        ("{\"\":1}", &[]),
        ("7", &[]),
    ];
    for (text, names) in teams {
        let activity = read(&format!("{{\"active_teammates\":{text}}}"));
        assert_eq!(activity.teammates().collect::<Vec<_>>(), names, "{text}");
    }
    assert_eq!(read("{\"epoch\":\"12\"}").epoch, 12);
    assert_eq!(read("{\"epoch\":1,\"epoch\":2}").epoch, 2);
    assert_eq!(read("{\"last_nudge_ts\":0}").last_nudge_ts, 0);
}

#[test]
fn f27_a_heartbeat_keeps_what_belongs_to_others_at_every_level() {
    let world = World::new("build");
    let now = clock::now().seconds();
    world.write_activity(&json!({
        "last_activity_ts": format!("{now}.5"), "theirs": [1, {"deep": null}], "active_teammates": ["a", "b"],
        "nudge_count": "0", "z": 1.5,
    }));
    let start = world.event("SubagentStart", &json!({"agent_id": "c1", "agent_type": "c"}));
    assert_eq!(world.hook(&start).code, 0);
    let activity = world.activity();
    let names: Vec<&String> = activity["active_teammates"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!((activity["theirs"].clone(), activity["z"].clone()), (json!([1, {"deep": null}]), json!(1.5)));
    assert_eq!(world.count(|what| matches!(what, What::Fault { .. })), 0);
    assert_eq!(pending::look(&world.root), pending::Pending::Nothing);
}
