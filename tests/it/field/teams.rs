//! Agents and sessions that look like others, stop without having begun, idle for ever, and write at once.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use watchdog::model::event::What;

use super::{Timed, status};
use crate::world::{Past, Ran, World, client, eventually, gone, read_json};

const MINUTE: i64 = 60;

fn agent(id: &str, kind: &str) -> Value {
    json!({"agent_id": id, "agent_type": kind})
}

#[test]
fn f08_stops_that_match_no_start_remove_nobody_and_leave_no_name() {
    let world = Timed::new("build");
    world.begin();
    let teammates = || {
        let activity = world.activity();
        activity["active_teammates"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let start = |id: &str, kind: &str| {
        assert_eq!(world.hook(&world.event("SubagentStart", &agent(id, kind))).code, 0);
    };
    start("a1", "kiln:dial-a-coder");
    start("a2", "kiln:dial-a-coder");
    world.does("SubagentStop", &agent("a1", "kiln:dial-a-coder"));
    assert_eq!(teammates(), ["dial-a-coder"]);
    world.does("SubagentStop", &agent("zz", ""));
    world.does("SubagentStop", &json!({"agent_id": "yy"}));
    assert_eq!(teammates(), ["dial-a-coder"]);
    start("a3", "general-purpose");
    start("a3", "general-purpose");
    assert_eq!(teammates(), ["dial-a-coder", "general-purpose"]);

    let shown = world.status();
    let working: Vec<&Value> =
        shown["agents"].as_array().unwrap().iter().filter(|agent| agent["state"] == "working").collect();
    let mut ids: Vec<&str> = working.iter().map(|agent| agent["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["a2", "a3"], "{shown}");
    assert!(working.iter().all(|agent| agent["since"].is_string()));

    // An agent that never stopped raises no alarm and holds none back; the names in the text are real.
    world.quiet("active");
    world.pass(6 * MINUTE);
    let text = world.nudge(1);
    assert!(text.contains("active_teammates=dial-a-coder, general-purpose;"), "{text}");
    world.does("SubagentStop", &agent("a2", "kiln:dial-a-coder"));
    assert_eq!(teammates(), ["general-purpose"]);
}

#[test]
fn f10_a_teammate_that_idles_is_told_twice_and_then_left_alone() {
    let world = Timed::new("build");
    world.begin();
    for name in ["rakim", "thoth"] {
        assert_eq!(world.hook(&world.event("SubagentStart", &agent(name, name))).code, 0);
    }
    let idle = |name: &str| world.hook(&world.event("TeammateIdle", &json!({"teammate_name": name}))).code;
    let mut told = Vec::new();
    for round in 0..25 {
        world.pass(2);
        told.push(idle(if round % 2 == 0 { "rakim" } else { "thoth" }));
    }
    assert_eq!(told.iter().filter(|code| **code == 2).count(), 4, "{told:?}");
    assert!(told[4..].iter().all(|code| *code == 0), "{told:?}");
    assert_eq!(idle("nobody"), 0);

    // Work of its own makes it worth a word again; work of others does not.
    let read = json!({"agent_id": "rakim", "agent_type": "rakim", "tool_name": "Read", "tool_use_id": "t"});
    world.does("PreToolUse", &read);
    world.does("PostToolUse", &read);
    assert_eq!((idle("rakim"), idle("thoth")), (2, 0));
}

#[test]
fn f10_idling_alone_does_not_keep_a_pipeline_alive() {
    for names in [&["rakim"][..], &["rakim", "thoth"], &["nobody"]] {
        let world = Timed::new("build");
        world.begin();
        assert_eq!(world.hook(&world.event("SubagentStart", &agent("rakim", "rakim"))).code, 0);
        for round in 0..13 {
            world.pass(30);
            let name = names[round % names.len()];
            world.hook(&world.event("TeammateIdle", &json!({"teammate_name": name})));
        }
        world.nudge(1);
    }
}

#[test]
fn f12_a_wake_that_starts_nothing_leaves_the_stall_open_up_to_the_flag() {
    let world = Timed::new("build");
    let daemon = world.begin();
    world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    let bridge = world.bridge();
    world.pass(15 * MINUTE);
    let woken = bridge.end();
    assert_eq!(woken.code, 2);
    assert!(woken.err.contains("KILN ASYNC REWAKE:"), "{}", woken.err);
    for n in [2, 3] {
        world.pass(11 * MINUTE);
        world.nudge(n);
    }
    world.pass(11 * MINUTE);
    gone(daemon);
    assert_eq!(world.flag().unwrap()["nudge_count"], 3);
    assert_eq!(world.count(|what| matches!(what, What::Resumed)), 0);
}

#[test]
fn f12_a_wake_that_helps_closes_the_episode_and_the_count_returns_to_nothing() {
    let world = Timed::new("build");
    world.begin();
    world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    let bridge = world.bridge();
    world.pass(15 * MINUTE);
    assert_eq!(bridge.end().code, 2);
    world.pass(20);
    world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    assert_eq!((world.pending(), world.count(|what| matches!(what, What::Resumed))), (None, 1));
    for _ in 0..8 {
        world.pass(4 * MINUTE);
        world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    }
    eventually("the count returns", || world.activity()["nudge_count"] == 0);
    assert_eq!(world.count(|what| matches!(what, What::Nudged { .. })), 1);
}

#[test]
fn f13_only_the_last_session_that_began_here_ends_the_watching() {
    let world = World::new("build");
    let daemon = world.begin();
    world.silent(&world.event("PostToolUse", &json!({"tool_name": "Read"})));
    let teammate = client();
    let nested = client();
    let by = |client: &_, id: Option<&str>, event: &str, reason: &str| {
        let mut payload = world.event(event, &json!({"reason": reason, "source": "startup"}));
        match id {
            Some(id) => payload["session_id"] = json!(id),
            None => drop(payload.as_object_mut().unwrap().remove("session_id")),
        }
        assert_eq!(world.hook_by(client, &payload).code, 0);
    };
    for (id, client) in [("T1", &teammate), ("N1", &nested)] {
        by(client, Some(id), "SessionStart", "");
        by(client, Some(id), "SessionEnd", "other");
    }
    by(&nested, Some("never seen"), "SessionEnd", "other");
    by(&nested, None, "SessionEnd", "other");
    assert_eq!(world.daemon(), daemon);
    assert_eq!(world.activity()["last_activity_source"], "PostToolUse:Read");

    let second = client();
    by(&second, Some("L2"), "SessionStart", "");
    world.hook(&world.event("SessionEnd", &json!({"reason": "prompt_input_exit"})));
    assert_eq!(world.daemon(), daemon);
    by(&second, Some("L2"), "SessionEnd", "prompt_input_exit");
    gone(daemon);
    assert!(!world.root.activity().exists());
}

#[test]
fn f13_an_end_that_is_a_new_beginning_ends_nothing() {
    let world = World::new("build");
    let daemon = world.begin();
    for reason in ["clear", "resume"] {
        assert_eq!(world.hook(&world.event("SessionEnd", &json!({"reason": reason}))), Ran::silence());
        let mut start = world.event("SessionStart", &json!({"source": reason}));
        start["session_id"] = json!(format!("after {reason}"));
        assert_eq!(world.hook(&start).code, 0);
        assert_eq!(world.daemon(), daemon);
    }
    assert_eq!(status(&world)["sessions"]["living"], json!(["after resume"]));
}

#[test]
fn f15_writers_at_once_lose_nothing_and_no_reader_sees_half_a_file() {
    let world = Timed::new("build");
    world.begin();
    world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    world.pass(15 * MINUTE);
    world.nudge(1);
    let before = world.activity()["epoch"].as_u64().unwrap();
    let stop = AtomicBool::new(false);
    let reads = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0u64;
            while !stop.load(Ordering::Relaxed) {
                let activity = read_json(&world.root.activity()).expect("it is always there");
                assert!(activity["active_teammates"].is_object());
                read_json(&world.root.pending());
                reads += 1;
                thread::sleep(Duration::from_micros(200));
            }
            reads
        });
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let world = &world;
                scope.spawn(move || {
                    for n in (writer..200).step_by(8) {
                        let payload = match n % 4 {
                            0 | 1 => world
                                .event("SubagentStart", &agent(&format!("id-{n}"), &format!("worker-{n}"))),
                            2 => {
                                world.event("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "x"}))
                            }
                            _ => world.event("TeammateIdle", &json!({"teammate_name": format!("other-{n}")})),
                        };
                        assert_eq!(world.hook(&payload).code, 0);
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    assert!(reads > 0);
    let activity = world.activity();
    let workers = activity["active_teammates"].as_object().unwrap();
    assert_eq!(workers.keys().filter(|name| name.starts_with("worker-")).count(), 100);
    assert_eq!(activity["epoch"].as_u64().unwrap(), before + 200);
    assert_eq!(activity["nudge_count"], 1);
    assert_eq!(world.count(|what| matches!(what, What::Nudged { .. })), 1);
}

#[test]
fn f15_a_writer_that_takes_its_time_delays_a_verdict_and_loses_no_field() {
    let world = Timed::new("build");
    world.begin();
    world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    world.pass(4 * MINUTE);
    let now = world.now().seconds();
    let text = json!({
        "last_activity_ts": now - 1000, "last_activity_source": "theirs", "active_teammates": {"a": now},
        "last_nudge_ts": 0, "nudge_count": 0, "epoch": 99, "pipeline_phase": "build", "theirs": {"deep": [1, 2, 3]},
    })
    .to_string();
    for round in 0..6 {
        // In place, in crumbs, without the lock; from the second round on over what is longer or shorter.
        let mut file: File =
            OpenOptions::new().write(true).truncate(round % 2 == 0).open(world.root.activity()).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        for crumb in text.as_bytes().chunks(10) {
            file.write_all(crumb).unwrap();
            thread::sleep(Duration::from_millis(15));
            let half = file.metadata().unwrap().len() < text.len() as u64;
            assert!(!(half && world.pending().is_some()), "an alarm came out of half a file");
        }
    }
    assert_eq!((world.pending(), world.flag()), (None, None));
    world.pass(6 * MINUTE);
    world.nudge(1);
    let activity = world.activity();
    assert_eq!(activity["theirs"], json!({"deep": [1, 2, 3]}));
    assert_eq!(activity["active_teammates"], json!({"a": now}));
    assert_eq!(fs::read(world.root.in_own("activity.broken")).ok(), None);
    world.backdate(&Past { idle: 10, ..Past::default() });
    eventually("the service goes on", || world.status()["activity"]["idle_seconds"].as_u64() < Some(60));
}
