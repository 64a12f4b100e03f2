//! Three nudges, then the flag; and how a flag goes.

use std::fs;

use serde_json::{Value, json};

use watchdog::model::event::What;
use watchdog::system::clock;

use crate::world::{Past, QUICK, Running, World, eventually, listing};

fn act(world: &World) -> (i32, Value) {
    let ran = world.run(&["check", "--act", "--json"]);
    (ran.code, serde_json::from_str(&ran.out).expect("JSON"))
}

#[test]
fn check_carries_out_three_nudges_and_then_the_flag_with_nothing_but_the_protocols_files() {
    let world = World::new("build");
    for (nudged, count, n) in [(None, 0, 1), (Some(601), 1, 2), (Some(601), 2, 3)] {
        world.backdate(&Past { idle: 1000, nudged, count, ..Past::default() });
        let (code, verdict) = act(&world);
        assert_eq!((code, &verdict["verdict"], &verdict["done"]), (0, &json!("nudge"), &json!(true)), "{n}");
        let nudge = world.pending().expect("staged");
        assert_eq!(nudge["nudge_n"], n);
        let text = nudge["additionalContext"].as_str().unwrap();
        let (head, rest) = text.split_once("; ").unwrap();
        let idle = head.strip_prefix("KILN DEADLOCK WATCHDOG: idle_seconds=").unwrap();
        assert!(idle.parse::<u64>().unwrap() >= 1000, "{text}");
        let facts = "last_activity_source=PostToolUse:Read; active_teammates=none; nudge ";
        assert!(rest.starts_with(&format!("{facts}{n} of 3.")), "{text}");
        let activity = world.activity();
        assert_eq!((&activity["nudge_count"], &activity["epoch"]), (&json!(n), &json!(8)));
        assert_eq!(activity["last_nudge_ts"], nudge["timestamp"]);
        assert_eq!(world.flag(), None);
    }
    world.backdate(&Past { idle: 2200, nudged: Some(601), count: 3, ..Past::default() });
    let (code, verdict) = act(&world);
    assert_eq!((code, &verdict["verdict"], &verdict["done"]), (1, &json!("escalate"), &json!(true)));
    let flag = world.flag().expect("the flag");
    assert_eq!(
        (&flag["nudge_count"], &flag["last_activity_source"]),
        (&json!(3), &json!("PostToolUse:Read"))
    );
    assert!(flag["timestamp"].is_i64(), "{flag}");
    assert_eq!((&flag["cause"], flag.get("source")), (&json!("no_recovery"), None));
    assert_eq!(world.pending(), None, "the flag speaks for itself; a nudge would only contradict it");
    let (code, verdict) = act(&world);
    assert_eq!((code, &verdict["reason"]), (0, &json!("flagged")), "and after it there is silence");
}

#[test]
fn the_limits_are_exceeded_and_not_met() {
    let world = World::new("build");
    for (idle, nudged, word) in [
        (240, None, "active"),
        (310, None, "stalled"),
        (1000, Some(540), "debounce"),
        (1000, Some(610), "stalled"),
    ] {
        world.backdate(&Past { idle, nudged, count: u32::from(nudged.is_some()), ..Past::default() });
        let checked = world.run(&["check", "--json"]);
        let verdict: Value = serde_json::from_str(&checked.out).unwrap();
        assert_eq!(verdict["reason"], word, "{idle} {nudged:?}");
    }
    assert_eq!(world.pending(), None, "a check without --act touches nothing");
}

#[test]
fn half_an_hour_of_work_after_a_nudge_makes_the_next_one_a_first() {
    let world = World::new("build");
    world.backdate(&Past { idle: 400, nudged: Some(400 + 1801), count: 3, ..Past::default() });
    act(&world);
    assert_eq!(world.pending().unwrap()["nudge_n"], 1);
    world.backdate(&Past { idle: 400, nudged: Some(400 + 1790), count: 3, ..Past::default() });
    act(&world);
    assert!(world.flag().is_some(), "less than that is no recovery");
}

#[test]
fn a_daemon_nudges_three_times_writes_the_flag_and_ends() {
    let world = World::with("build", QUICK);
    world.backdate(&Past::default());
    world.run_to_the_end();
    let nudges: Vec<u32> = world
        .journal()
        .iter()
        .filter_map(|event| if let What::Nudged { n, .. } = event.what { Some(n) } else { None })
        .collect();
    assert_eq!(nudges, [1, 2, 3]);
    let flag = world.flag().expect("the flag");
    assert_eq!((&flag["nudge_count"], &flag["cause"]), (&json!(3), &json!("no_recovery")));
    let activity = world.activity();
    assert_eq!(
        (&activity["nudge_count"], &activity["epoch"]),
        (&json!(3), &json!(10)),
        "three writes since 7"
    );
    assert_eq!(world.pending(), None);
    assert!(!world.root.in_tmp("watchdog.pid").exists());
    assert_eq!(world.state_text().matches("RECOVERY").count(), 0, "the daemon never writes STATE.md");
}

fn flagged(world: &World) -> Value {
    flagged_at(world, clock::now().seconds() - 60)
}

fn flagged_at(world: &World, timestamp: i64) -> Value {
    let flag = json!({"timestamp": timestamp, "nudge_count": 3, "last_activity_source": "PostToolUse:Read"});
    world.write_flag(&flag);
    flag
}

fn start(world: &World, source: &str, client: &Running) {
    let ran = world.hook_by(client, &world.event("SessionStart", &json!({"source": source})));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

#[test]
fn a_session_start_leaves_the_note_resets_the_counters_raises_the_epoch_and_removes_the_flag() {
    for source in ["startup", "resume", "clear"] {
        let world = World::new("build");
        world.backdate(&Past { idle: 20, nudged: Some(700), count: 3, ..Past::default() });
        world.write_pending(&json!({"additionalContext": "old", "timestamp": 1, "nudge_n": 3}));
        flagged_at(&world, 1_790_000_000);
        let state = world.state_text();
        let mut wanted = world.activity();
        start(&world, source, &world.client);
        wanted["nudge_count"] = json!(0);
        wanted["last_nudge_ts"] = json!(0);
        wanted["epoch"] = json!(8);
        assert_eq!(world.activity(), wanted, "{source}");
        assert_eq!(world.flag(), None, "{source}");
        assert_eq!(world.pending(), None, "{source}: what was staged before is over");
        let note = world.state_text().strip_prefix(&state).expect("appended, the rest untouched").to_owned();
        assert!(note.starts_with("\n> [!NOTE]\n> KILN DEADLOCK RECOVERY "), "{source}: {note}");
        assert!(
            note.contains("DEADLOCK.flag of 2026-09-21T14:13:20Z after 3 nudges (no_recovery)"),
            "{note}"
        );
        start(&world, source, &world.client);
        assert_eq!(world.state_text(), format!("{state}{note}"), "{source}: once");
    }
}

#[test]
fn a_compaction_clears_no_flag() {
    let world = World::new("build");
    world.backdate(&Past { nudged: Some(700), count: 3, ..Past::default() });
    let flag = flagged(&world);
    let (before, state) = (world.activity(), world.state_text());
    start(&world, "compact", &world.client);
    assert_eq!((world.flag(), world.activity(), world.state_text()), (Some(flag), before, state));
}

#[test]
fn ensure_recovers_as_a_session_start_does() {
    let world = World::new("build");
    world.backdate(&Past { idle: 20, nudged: Some(700), count: 3, ..Past::default() });
    flagged(&world);
    let ran = world.run(&["ensure"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out, "DEADLOCK.flag was cleared; STATE.md has a note.\nA daemon was started.\n");
    assert_eq!(world.flag(), None);
    assert_eq!(world.activity()["nudge_count"], 0);
    assert_eq!(world.state_text().matches("KILN DEADLOCK RECOVERY").count(), 1);
    world.daemon();
    assert_eq!(world.run(&["ensure"]).out, "A daemon is watching.\n");
}

#[test]
fn a_flag_that_outlived_its_activity_is_cleared_without_inventing_one() {
    // The end of a session leaves the flag and removes `activity.json`. A file with the stamp 0 in its place would
    // read as a silence of decades, and the new session would be nudged before its first prompt.
    let world = World::new("build");
    flagged(&world);
    start(&world, "startup", &world.client);
    assert_eq!(world.flag(), None);
    assert!(!world.root.activity().exists());
    assert_eq!(world.state_text().matches("KILN DEADLOCK RECOVERY").count(), 1);
    let checked = world.run(&["check"]);
    assert_eq!(checked.out, "quiet: no work has been seen yet\n");
}

#[test]
fn a_flag_of_any_content_is_cleared_and_named_in_the_note() {
    for content in ["", "{", "[]", "\0\0", "{\"timestamp\":\"soon\",\"cause\":\"x\\n> [!NOTE]\"}"] {
        let world = World::new("build");
        fs::write(world.root.flag(), content).unwrap();
        start(&world, "startup", &world.client);
        assert!(!world.root.flag().exists(), "{content:?}");
        let text = world.state_text();
        assert!(text.contains("DEADLOCK.flag of an unknown time"), "{content:?}: {text}");
        assert_eq!(
            text.matches("[!NOTE]\n").count(),
            1,
            "{content:?}: a foreign field breaks no line: {text}"
        );
    }
}

#[test]
fn a_flag_of_a_failed_api_takes_the_same_way_back() {
    let world = World::new("build");
    world.silent(&world.event("StopFailure", &json!({"error": "authentication_failed"})));
    assert!(world.flag().is_some());
    start(&world, "startup", &world.client);
    assert_eq!((world.flag(), world.pending()), (None, None));
    assert!(world.state_text().contains("(api_needs_a_person) was cleared"), "{}", world.state_text());
}

#[test]
fn a_state_file_that_cannot_be_written_loses_the_note_and_not_the_recovery() {
    let world = World::new("build");
    let elsewhere = world.beside("elsewhere").join("STATE.md");
    fs::rename(world.root.state(), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, world.root.state()).unwrap();
    flagged(&world);
    let before = listing(&world.beside("elsewhere"));
    start(&world, "startup", &world.client);
    assert_eq!(world.flag(), None);
    assert_eq!(listing(&world.beside("elsewhere")), before, "a link is read and never written through");
    let faults = world.count(|what| matches!(what, What::Fault { fault } if fault.contains("STATE.md")));
    assert_eq!(faults, 1);
}

#[test]
fn with_a_flag_there_no_nudge_follows() {
    let world = World::with("build", QUICK);
    world.backdate(&Past::default());
    flagged(&world);
    assert_eq!(world.run(&["start"]).code, 0);
    let daemon = world.daemon();
    eventually("the daemon has judged", || world.beacon().is_some_and(|beacon| beacon.reason == "flagged"));
    let tick = world.beacon().unwrap().last_tick;
    eventually("and again", || world.beacon().is_some_and(|beacon| beacon.last_tick > tick));
    assert!(daemon.is_alive());
    assert_eq!((world.pending(), world.activity()["nudge_count"].clone()), (None, json!(0)));
}
