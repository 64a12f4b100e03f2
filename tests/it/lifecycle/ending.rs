//! When a daemon ends, and what it leaves.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use watchdog::model::event::What;

use crate::world::{Past, QUICK, World, eventually, gone, signal, take_away};

/// What a daemon that ended in order leaves: no mark of itself, and a last word in the journal.
#[track_caller]
fn ended(world: &World, why: &str) {
    assert!(!world.root.in_tmp("watchdog.pid").exists());
    assert_eq!(world.beacon(), None);
    let reasons: Vec<String> = world
        .journal()
        .into_iter()
        .filter_map(|event| if let What::DaemonStop { reason } = event.what { Some(reason) } else { None })
        .collect();
    assert_eq!(reasons, [why]);
}

#[test]
fn sigterm_and_sigint_end_it_in_order() {
    for number in [Signal::TERM, Signal::INT] {
        let world = World::new("build");
        let daemon = world.begin();
        world.silent(&world.event("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"})));
        let activity = world.activity();
        signal(daemon, number);
        gone(daemon);
        ended(&world, "a signal");
        assert!(world.log().lines().last().is_some_and(|line| line.contains("ended reason=\"a signal\"")));
        assert_eq!(world.activity(), activity, "the activity is the session's");
        assert_eq!(world.run(&["status"]).code, 3);
        let running = world.spawn(&["run"]);
        eventually("it watches in the foreground", || world.beacon().is_some());
        signal(running.identity(), number);
        let ran = running.end();
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    }
}

#[test]
fn a_complete_pipeline_ends_it() {
    let world = World::with("build", QUICK);
    let daemon = world.begin();
    world.stage("complete");
    gone(daemon);
    ended(&world, "the pipeline is complete");
    assert_eq!((world.flag(), world.pending()), (None, None));
}

#[test]
fn a_project_that_is_removed_ends_it() {
    let world = World::with("build", QUICK);
    let daemon = world.begin();
    take_away(world.path());
    gone(daemon);
    assert!(!world.path().exists(), "and nothing is made anew where it was");
}

#[test]
fn a_state_folder_that_is_removed_ends_it_and_is_not_made_again() {
    let world = World::with("build", QUICK);
    let daemon = world.begin();
    take_away(&world.root.kiln());
    gone(daemon);
    assert!(!world.root.kiln().exists());
}

#[test]
fn without_a_session_it_lingers_and_ends() {
    let world = World::with("build", QUICK);
    let daemon = world.begin();
    // A cleared session that never comes back.
    world.silent(&world.event("SessionEnd", &json!({"reason": "clear"})));
    gone(daemon);
    ended(&world, "no session is left");
    assert_eq!(world.flag(), None, "a session that ended by its own word is not lost");
}

#[test]
fn a_daemon_that_never_saw_a_session_waits_for_one() {
    let world = World::with("build", QUICK);
    assert_eq!(world.run(&["start"]).code, 0);
    let daemon = world.daemon();
    let ticks = || world.beacon().map_or(0, |beacon| beacon.last_tick);
    let before = ticks();
    eventually("it ticks for longer than it would linger", || ticks() > before + 2500);
    assert!(daemon.is_alive());
}

#[test]
fn a_client_that_died_without_a_word_leaves_the_flag_and_the_next_session_recovers() {
    let mut world = World::with("build", QUICK);
    world.settings(&QUICK.replace("idle_after = \"1s\"", "idle_after = \"1h\""));
    let daemon = world.begin();
    world.silent(&world.event("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"})));
    world.client.kill();
    gone(daemon);
    ended(&world, "the client is gone without a word");
    let flag = world.flag().expect("a pipeline was in flight");
    assert_eq!((&flag["cause"], &flag["nudge_count"]), (&json!("session_lost"), &json!(0)));
    assert_eq!(flag["last_activity_source"], "PostToolUse:Read");
    let words = flag["diagnosis"].as_str().unwrap();
    assert!(words.starts_with("The client is gone without a word while the pipeline was active."), "{words}");
    assert_eq!(world.count(|what| matches!(what, What::SessionLost)), 1);
    world.client = crate::world::client();
    let mut begin = world.event("SessionStart", &json!({"source": "startup"}));
    begin["session_id"] = json!("next");
    assert_eq!(world.hook(&begin).code, 0);
    assert_eq!(world.flag(), None);
    assert!(world.state_text().contains("(session_lost) was cleared"), "{}", world.state_text());
    world.daemon();
}

#[test]
fn of_two_clients_one_may_die_and_nothing_is_flagged() {
    let world = World::with("build", &QUICK.replace("idle_after = \"1s\"", "idle_after = \"1h\""));
    let daemon = world.begin();
    let mut second = crate::world::client();
    let mut begin = world.event("SessionStart", &json!({"source": "startup"}));
    begin["session_id"] = json!("second");
    assert_eq!(world.hook_by(&second, &begin).code, 0);
    second.kill();
    eventually("its session is ended for it", || world.count(|what| matches!(what, What::SessionLost)) == 1);
    let left = watchdog::store::sessions::all(&world.root);
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(daemon.is_alive());
    assert_eq!(world.flag(), None);
}

#[test]
fn a_client_that_died_after_the_pipeline_was_complete_leaves_no_flag() {
    let mut world = World::with("build", QUICK);
    let daemon = world.begin();
    world.stage("complete");
    world.client.kill();
    gone(daemon);
    assert_eq!(world.flag(), None);
}

#[test]
fn one_that_stays_waits_for_the_next_pipeline() {
    let world = World::with("build", QUICK);
    let mut running = world.spawn(&["run", "--stay"]);
    let verdict = |word: &str| world.beacon().is_some_and(|beacon| beacon.reason == word);
    eventually("it watches", || world.beacon().is_some_and(|beacon| beacon.stays));
    assert_eq!(world.hook(&world.event("SessionStart", &json!({"source": "startup"}))).code, 0);
    world.stage("complete");
    eventually("it sees the end of the pipeline", || verdict("complete"));
    world.silent(&world.event("SessionEnd", &json!({"reason": "other"})));
    assert!(running.is_running(), "neither the end of the pipeline nor of the session ends it");
    fs::remove_file(world.root.state()).unwrap();
    eventually("it sees that there is no pipeline", || verdict("no-pipeline"));
    world.stage("build");
    world.backdate(&Past::default());
    eventually("it nudges the next pipeline", || world.pending().is_some());
    assert!(running.is_running());
    signal(running.identity(), Signal::TERM);
    assert_eq!(running.end().code, 0);
}
