//! `pause`, `resume`, `nudge`, `stop`: the operator's own moves.

use serde_json::json;

use watchdog::model::event::What;

use super::{parsed, shown, status};
use crate::world::{Past, Ran, SESSION, World, gone};

fn said(world: &World, arguments: &[&str]) -> (i32, String) {
    let ran = world.run(arguments);
    (ran.code, shown(world, &(ran.out + &ran.err)))
}

#[test]
fn a_pause_keeps_everything_quiet_until_it_ends() {
    let world = World::new("build");
    world.backdate(&Past::default());
    let quiet = "Quiet until hh:mm:ss. \"watchdog resume\" ends it sooner.\n";
    assert_eq!(said(&world, &["pause", "30m"]), (0, quiet.to_owned()));
    assert_eq!(
        said(&world, &["check", "--act"]),
        (0, "quiet: paused by the operator until hh:mm:ss\n".to_owned())
    );
    assert!(status(&world).1.contains("next      paused by the operator until hh:mm:ss\n"));
    assert_eq!(said(&world, &["resume"]), (0, "Watching as before.\n".to_owned()));
    assert!(said(&world, &["check"]).1.starts_with("nudge: "), "it is a stall again");
    assert_eq!(said(&world, &["resume"]), (0, "It was not paused.\n".to_owned()));
    let paused = world.journal().into_iter().find_map(|event| match event.what {
        What::Paused { until } => Some(until - event.at),
        _ => None,
    });
    assert_eq!(paused, Some(30 * 60_000));
}

#[test]
fn a_pause_that_is_over_counts_no_more() {
    let world = World::new("build");
    world.backdate(&Past::default());
    assert_eq!(said(&world, &["pause", "1s"]).0, 0);
    crate::world::eventually("the pause is over", || said(&world, &["check"]).1.starts_with("nudge: "));
    assert_eq!(said(&world, &["resume"]), (0, "It was not paused.\n".to_owned()));
}

#[test]
fn a_pause_wants_a_span_of_time() {
    let world = World::new("build");
    for span in ["soon", "0s", "-5m", "400d", ""] {
        let (code, text) = said(&world, &["pause", "--", span]);
        let words = "watchdog: pause: a duration is wanted, above zero and at most a year, such as \"5m\" or \"300s\"\n";
        assert_eq!((code, text.as_str()), (1, words), "{span:?}");
    }
    assert_eq!(world.journal(), []);
}

#[test]
fn a_nudge_of_the_operator_reaches_the_lead_and_is_not_counted() {
    let world = World::new("build");
    world.silent(&world.event("UserPromptSubmit", &json!({"prompt": "begin"})));
    let before = world.activity();
    assert_eq!(
        said(&world, &["nudge", " look at the build "]),
        (0, format!("Staged for session {SESSION}.\n"))
    );
    let staged = world.pending().unwrap();
    assert_eq!((&staged["nudge_n"], &staged["session_id"]), (&json!(0), &json!(SESSION)));
    assert_eq!(world.activity(), before);
    let taken = "watchdog: a message is staged already and nobody has taken it; \"watchdog status\" shows it, --replace \
                 replaces it\n";
    assert_eq!(said(&world, &["nudge", "another"]), (1, taken.to_owned()));
    assert_eq!(said(&world, &["nudge", "--replace", "another"]).0, 0);
    let tool = world.event("PreToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    let text = world.hook(&tool).context("PreToolUse");
    assert_eq!(text, "KILN DEADLOCK WATCHDOG: a note from the operator: another");
    assert_eq!(world.hook(&tool), Ran::silence());
}

#[test]
fn a_nudge_where_no_session_is_known_waits_for_the_next() {
    let world = World::new("build");
    let words = "Staged. No session is known: the next one of this pipeline takes it.\n";
    assert_eq!(said(&world, &["nudge", "hello"]), (0, words.to_owned()));
    let prompt = world.event("UserPromptSubmit", &json!({"prompt": "begin"}));
    assert!(world.hook(&prompt).context("UserPromptSubmit").ends_with("hello"));
}

#[test]
fn a_nudge_wants_a_text_that_fits() {
    let world = World::new("build");
    for text in ["", "  \n ", "x".repeat(2001).as_str()] {
        let (code, words) = said(&world, &["nudge", text]);
        assert!(code == 1 && words.starts_with("watchdog: a text of 1 to "), "{words}");
    }
    assert_eq!(world.pending(), None);
    assert_eq!(said(&world, &["nudge", &"é".repeat(1900)]).0, 0);
    assert!(world.pending().unwrap()["additionalContext"].as_str().unwrap().chars().count() <= 2000);
}

#[test]
fn a_stop_leaves_a_living_sessions_activity_and_takes_everything_when_there_is_none() {
    let world = World::new("build");
    let daemon = world.begin();
    world.silent(&world.event("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"})));
    assert_eq!(said(&world, &["stop"]), (0, "The daemon was stopped.\n".to_owned()));
    gone(daemon);
    assert!(world.root.activity().exists());
    assert!(!world.root.in_tmp("watchdog.pid").exists());
    assert_eq!(said(&world, &["cleanup"]), (0, "No daemon was running.\n".to_owned()));
    assert!(world.root.activity().exists());
    let mut world = world;
    world.client.kill();
    assert_eq!(said(&world, &["stop"]), (0, "No daemon was running.\n".to_owned()));
    assert!(!world.root.activity().exists());
}

#[test]
fn ensure_does_nothing_outside_an_active_pipeline() {
    let world = World::new("complete");
    world.write_flag(&json!({"timestamp": 1, "nudge_count": 3, "last_activity_source": "x"}));
    let words = "There is no active pipeline: nothing to watch.\n";
    assert_eq!(said(&world, &["ensure"]), (0, words.to_owned()));
    assert!(world.flag().is_some());
    assert_eq!(world.daemons(), []);
}

#[test]
fn the_root_can_be_named_by_the_environment() {
    let world = World::new("build");
    let mut command = world.command(&["check", "--json"]);
    command.current_dir("/").env("KILN_ROOT", world.path());
    let ran = crate::world::finish(command, b"");
    assert_eq!((ran.code, &parsed(&ran.out)["reason"]), (0, &json!("active")));
    let mut command = world.command(&["check"]);
    command.env("KILN_ROOT", "/no/such/folder");
    let ran = crate::world::finish(command, b"");
    assert_eq!(ran.code, 1);
    assert!(ran.err.starts_with("watchdog: $KILN_ROOT: cannot find /no/such/folder: "), "{}", ran.err);
}
