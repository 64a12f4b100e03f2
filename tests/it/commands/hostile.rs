//! Whatever stands in the files of others: it breaks no line, moves no cursor, and widens nothing.

use std::fs;

use serde_json::{Value, json};

use watchdog::model::event::What;
use watchdog::store::beacon;

use super::{ago, parsed, team, tool};
use crate::world::{Past, World, put};

/// Texts that would do something to a terminal or to whoever reads it.
const HOSTILE: &[&str] = &[
    "\u{1b}[2J\u{1b}[31mred\u{1b}]0;title\u{7}",
    "\u{9b}31mc1\u{9d}0;t\u{9c}",
    "one\r\nverdict   healthy\ntwo\tthree\u{b}four\u{85}five\u{2028}six",
    "\u{202e}desrever\u{202c} \u{2066}isolated\u{2069} \u{200f}mark\u{feff}",
    "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
    "🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀",
    "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
    "nul\0nul\u{8}\u{8}\u{8}back\u{7f}",
];

/// How wide a text is on a terminal.
fn width(text: &str) -> usize {
    text.chars()
        .map(|c| match u32::from(c) {
            0x300..=0x36f => 0,
            0x1100..=0x115f
            | 0x2e80..=0xa4cf
            | 0xac00..=0xd7a3
            | 0xf900..=0xfaff
            | 0xff00..=0xff60
            | 0x1f300..=0x1faff
            | 0x20000..=0x3fffd => 2,
            _ => 1,
        })
        .sum()
}

/// Nothing in it that a terminal would obey.
#[track_caller]
fn is_harmless(line: &str) {
    let bad = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    assert!(!line.contains(bad), "{line:?}");
}

#[track_caller]
fn harmless(text: &str) {
    for line in text.lines() {
        is_harmless(line);
        assert!(width(line) <= 80, "{} columns: {line:?}", width(line));
    }
}

fn hostile_world(text: &str) -> World {
    let world = World::new("build");
    team(&world, 730);
    put(&world.root.state(), format!("- **stage**: {}\n", text.replace(['\n', '\r', ' '], "_")).as_bytes());
    ago(&world, 730, text, tool(text));
    ago(&world, 729, text, What::Permission { tool: text.to_owned() });
    ago(&world, 728, &"x".repeat(300), tool(&"y".repeat(300)));
    ago(&world, 727, "", What::ApiError { error: text.to_owned(), holds: true, reset_at: None });
    world.write_activity(&json!({
        "last_activity_ts": 1, "last_activity_source": text, "active_teammates": {text: text}, "last_nudge_ts": 0,
        "nudge_count": 0, "epoch": 7, "pipeline_phase": text, text: text,
    }));
    world.write_pending(&json!({
        "additionalContext": text, "timestamp": text, "nudge_n": text, "id": text, "session_id": text,
    }));
    let mine = beacon::Beacon {
        watching: format!("polling ({text})"),
        version: text.to_owned(),
        faults: vec![text.to_owned(), "f".repeat(500)],
        ..beacon::Beacon::default()
    };
    beacon::store(&world.root, &mine).unwrap();
    fs::write(world.root.sessions().join("s.json"), json!({"session_id": text, "since": 0}).to_string())
        .unwrap();
    world
}

#[test]
fn hostile_fields_stay_on_their_lines_and_within_80_columns() {
    for text in HOSTILE {
        let world = hostile_world(text);
        let ran = world.run(&["status"]);
        assert_eq!((ran.code, ran.err.as_str()), (3, ""), "{text:?}");
        harmless(&ran.out);
        assert_eq!(ran.out.lines().filter(|line| line.starts_with("verdict")).count(), 1, "{}", ran.out);
        let checked = world.run(&["check"]);
        assert_eq!((checked.code, checked.out.lines().count()), (0, 1), "{}", checked.out);
        assert!(!checked.out.trim_end().contains(char::is_control), "{:?}", checked.out);
        world.write_flag(&json!({
            "timestamp": 1, "nudge_count": 3, "last_activity_source": text, "cause": text, "diagnosis": text,
        }));
        let ran = world.run(&["status"]);
        assert_eq!((ran.code, ran.err.as_str()), (2, ""), "{text:?}");
        harmless(&ran.out);
        world.write_flag(&json!({"timestamp": text, "source": text, "error": text, "error_details": text}));
        harmless(&world.run(&["status"]).out);
        put(&world.root.pending(), text.as_bytes());
        put(&world.root.activity(), text.as_bytes());
        harmless(&world.run(&["status"]).out);
    }
}

#[test]
fn hostile_fields_are_escaped_in_json_and_lose_nothing_but_their_power() {
    for text in HOSTILE {
        let world = hostile_world(text);
        let ran = world.run(&["status", "--json"]);
        assert_eq!(ran.out.lines().count(), 1, "{text:?}");
        assert!(!ran.out.trim_end().contains(char::is_control), "{:?}", ran.out);
        let value: Value = parsed(&ran.out);
        assert_eq!(value["activity"]["source"], *text);
        for command in ["explain", "graph", "history", "check", "doctor"] {
            let ran = world.run(&[command, "--json"]);
            assert!(!ran.out.is_empty(), "{command}: {ran:?}");
            for line in ran.out.lines() {
                is_harmless(line);
                assert!(parsed(line).is_object(), "{line}");
            }
        }
    }
}

#[test]
fn what_reaches_the_agent_is_harmless_too() {
    for text in HOSTILE {
        let world = World::new("build");
        team(&world, 730);
        ago(&world, 730, text, What::AgentStop);
        world.backdate(&Past { idle: 730, teammates: json!({*text: 1}), ..Past::default() });
        let mut activity = world.activity();
        activity["last_activity_source"] = json!(text);
        world.write_activity(&activity);
        assert_eq!(world.run(&["check", "--act"]).code, 0);
        let nudge = world.pending().expect("staged")["additionalContext"].as_str().unwrap().to_owned();
        assert!(!nudge.contains(char::is_control), "{nudge:?}");
        assert!(nudge.chars().count() <= 2000);
    }
}
