//! Roots without `.kiln/`: how they come to be watched, from `init` or the first hook to nudge, flag and recovery.

use std::fs;

use serde_json::{Value, json};

use watchdog::model::event::What;
use watchdog::protocol::worker_mark;

use crate::timed::{OFTEN, Timed};
use crate::world::{Ran, World, eventually, eventually_some, finish, put};

const TRACK: &str = "task:.task/fix/p-1";

fn task(world: &World) {
    fs::create_dir_all(world.path().join(".task/fix/p-1")).unwrap();
    fs::write(world.path().join(".task/fix/p-1/TASK.md"), "- [ ] a\n").unwrap();
}

fn signal(world: &Timed, status: &str, step: &str) {
    let stamp = worker_mark::stamp(world.now().wall);
    let mut value = json!({"status": status, "step": step, "timestamp": stamp});
    if status == "failed" {
        value["outcome"] = json!("failure");
        value["disposition"] = json!("failed");
        value["reason"] = json!("it does not build");
    }
    put(&world.path().join(".task/fix/p-1/SIGNAL.json"), value.to_string().as_bytes());
}

fn timed(settings: &str) -> Timed {
    let world = World::bare();
    world.root.make_home().unwrap();
    world.settings(settings);
    Timed::around(world)
}

fn said(world: &Timed, state: &str) -> bool {
    world.count(|what| matches!(what, What::Track(said) if said.state.word() == state)) > 0
}

#[test]
fn init_makes_a_home_that_ignores_itself_and_says_what_comes_next() {
    let world = World::bare();
    task(&world);
    let ran = world.run(&["init"]);
    insta::assert_snapshot!(ran.out, @r#"
    .watchdog was made. It holds the state, and ignores itself in version control.
    Recognised: 1 task folder.
    Next: "watchdog install" registers the hooks of sessions; the first of them starts the daemon.
    Workers and teams without hooks are watched by "watchdog start", or by "watchdog run --stay" as a service.
    "#);
    let home = world.path().join(".watchdog");
    assert_eq!(fs::read_to_string(home.join(".gitignore")).unwrap(), "*\n");
    let again = world.run(&["init"]);
    assert_eq!((again.code, again.out.lines().next()), (0, Some(".watchdog was there already.")));
    fs::create_dir(world.path().join("below")).unwrap();
    let mut below = world.command(&["init"]);
    below.current_dir(world.path().join("below"));
    let refused = finish(below, b"");
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("which is watched already"), "{refused:?}");
    let kiln = World::new("build");
    let there = kiln.run(&["init"]);
    assert_eq!(there.out.lines().next(), Some(".kiln is there: this project is watched through it."));
    assert!(!kiln.path().join(".watchdog").exists());
}

#[test]
fn the_user_s_home_is_no_project() {
    let world = World::bare();
    let mut command = world.command(&["init"]);
    command.current_dir(world.beside("home"));
    let ran = finish(command, b"");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("holds all projects"), "{ran:?}");
}

/// An event from this folder, with the user's home where the world has it.
fn beat(world: &World, folder: &std::path::Path) -> Ran {
    let mut payload = world.event("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    payload["cwd"] = json!(folder);
    let mut command = world.as_client("hook", &world.client);
    command.current_dir(folder).env_remove("CLAUDE_PROJECT_DIR");
    finish(command, payload.to_string().as_bytes())
}

#[test]
fn a_hook_makes_a_home_where_there_is_a_worker_or_a_team_and_nowhere_else() {
    let cases: [(&str, &[&str], bool); 6] = [
        ("a task folder", &[".task/fix/p-1/TASK.md"], true),
        ("a signal", &[".task/fix/p-1/CI-FIX-SIGNAL.json"], true),
        ("a team session", &[".workflow/.team/TLS-x/.msg/meta.json"], true),
        ("a stray .task", &[".task/notes.md", ".task/fix/notes.md", ".task/fix/p-1/notes.md"], false),
        ("a workflow without a team", &[".workflow/plan.md"], false),
        ("nothing", &["README.md"], false),
    ];
    for (what, files, expected) in cases {
        let world = World::bare();
        for file in files {
            let path = world.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        }
        let below = world.path().join("src/deep");
        fs::create_dir_all(&below).unwrap();
        assert_eq!(beat(&world, &below), Ran::silence(), "{what}");
        assert_eq!(world.path().join(".watchdog/tmp/activity.json").exists(), expected, "{what}");
        assert_eq!(world.path().join(".watchdog").exists(), expected, "{what}");
    }
    // The same in the user's home makes none of it a project.
    let world = World::bare();
    let home = world.beside("home");
    fs::create_dir_all(home.join(".task/fix/p-1")).unwrap();
    fs::write(home.join(".task/fix/p-1/TASK.md"), "- [ ] a\n").unwrap();
    assert_eq!(beat(&world, &home), Ran::silence());
    assert!(!home.join(".watchdog").exists());
}

#[test]
fn workers_without_hooks_are_watched_from_start_to_nudge_and_to_their_end() {
    let world = timed(OFTEN);
    task(&world);
    signal(&world, "running", "reproduce");
    assert_eq!(world.run(&["start"]).code, 0);
    eventually("it is seen at work", || said(&world, "running"));
    assert_eq!(world.activity()["last_activity_source"], format!("Track:{TRACK}"));
    world.pass(1700);
    world.quiet("worker-running");
    let status = world.status();
    assert_eq!((&status["stage"], &status["exit"]), (&json!("working"), &json!(0)), "{status}");
    assert_eq!(status["recognised"]["words"], ".watchdog (stage working), 1 task folder");
    world.pass(200);
    let text = world.nudge(1);
    assert!(text.contains(&format!("cause=worker-silent; root={TRACK}.")), "{text}");
    assert!(text.contains("(step reproduce)"), "{text}");
    signal(&world, "running", "validate");
    eventually("work is seen again", || world.count(|what| matches!(what, What::Resumed)) == 1);
    eventually("the nudge is taken back", || world.pending().is_none());
    signal(&world, "failed", "validate");
    eventually("it has ended", || said(&world, "failed"));
    world.quiet("complete");
    assert_eq!(world.status()["stage"], "complete");
    world.pass(1900);
    eventually("the daemon leaves what is complete", || world.daemons().is_empty());
    assert!(!world.path().join(".kiln").exists());
}

#[test]
fn a_session_without_kiln_goes_from_its_first_hook_to_nudge_flag_and_recovery() {
    let world = timed(OFTEN);
    let first = world.begin();
    world.does("UserPromptSubmit", &json!({"prompt": "go"}));
    world.does("Stop", &json!({}));
    world.pass(4000);
    world.quiet("exempt-phase");
    assert_eq!(world.status()["stage"], "awaiting_user", "whose turn is over waits for its person");
    world.does("UserPromptSubmit", &json!({"prompt": "go on"}));
    for n in 1..=3 {
        world.pass(if n == 1 { 301 } else { 601 });
        let text = world.nudge(n);
        assert!(text.contains("(stage working)"), "{text}");
    }
    world.pass(601);
    let flag = eventually_some("the flag is written", || world.flag());
    assert_eq!((&flag["nudge_count"], &flag["root"]), (&json!(3), &json!("team-lead")), "{flag}");
    assert!(world.path().join(".watchdog/DEADLOCK.flag").is_file());
    eventually("the daemon has gone", || world.daemons().is_empty());
    assert_eq!(world.run(&["status"]).code, 2);
    assert_ne!(world.begin(), first);
    assert_eq!(world.flag(), None);
    assert!(!world.path().join(".kiln").exists(), "there is no STATE.md to leave a note in");
    let ended: Value = world.event("SessionEnd", &json!({"reason": "other"}));
    world.silent(&ended);
    eventually("the last session takes the daemon with it", || world.daemons().is_empty());
}

#[test]
fn workers_that_run_outlive_the_last_session_and_blocked_ones_are_told_to_the_operator() {
    let world = timed(OFTEN);
    task(&world);
    world.begin();
    world.does("UserPromptSubmit", &json!({"prompt": "go"}));
    signal(&world, "running", "validate");
    eventually("it is seen at work", || said(&world, "running"));
    let daemon = world.daemon();
    world.does("SessionEnd", &json!({"reason": "other"}));
    world.pass(60);
    world.looked();
    assert_eq!(world.daemon(), daemon, "it goes on for the worker");
    let stamp = worker_mark::stamp(world.now().wall);
    let blocked = json!({
        "status": "blocked", "outcome": "partial", "disposition": "blocked", "reason": "no simulator", "timestamp": stamp
    });
    put(&world.path().join(".task/fix/p-1/SIGNAL.json"), blocked.to_string().as_bytes());
    eventually("it is blocked", || said(&world, "blocked"));
    world.pass(301);
    world.quiet("waits-for-person");
    let noted = |what: &What| matches!(what, What::Noted { cause, root, .. } if cause == "waits-for-person" && root == TRACK);
    eventually("the operator is told", || world.count(noted) == 1);
    assert_eq!(world.status()["stage"], "blocked");
    world.pass(600);
    world.looked();
    assert_eq!(world.count(noted), 1, "once");
}

#[test]
fn a_daemon_leaves_a_project_that_becomes_one_of_kiln() {
    let world = timed(OFTEN);
    assert_eq!(world.run(&["start"]).code, 0);
    let daemon = world.daemon();
    fs::create_dir(world.path().join(".kiln")).unwrap();
    crate::world::gone(daemon);
}

#[test]
fn a_worker_whose_session_ends_without_a_terminal_signal_is_gone() {
    let world = timed(OFTEN);
    task(&world);
    world.begin();
    world.does("UserPromptSubmit", &json!({"prompt": "go"}));
    let worker =
        json!({"session_id": "the-worker", "cwd": world.path().join(".task/fix/p-1"), "source": "startup"});
    let client = crate::world::client();
    assert_eq!(world.hook_by(&client, &world.event("SessionStart", &worker)).code, 0);
    signal(&world, "running", "validate");
    eventually("it is seen at work", || said(&world, "running"));
    assert_eq!(world.hook_by(&client, &world.event("SessionEnd", &worker)), Ran::silence());
    world.pass(61);
    world.does("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    let note = eventually_some("the lead is told", || world.pending());
    let text = note["additionalContext"].as_str().unwrap();
    assert!(text.contains(&format!("cause=worker-gone; root={TRACK}.")), "{text}");
    // The next attempt inherits nothing.
    signal(&world, "running", "begin again");
    world.pass(61);
    world.looked();
    assert_eq!(world.count(|what| matches!(what, What::Noted { cause, .. } if cause == "worker-gone")), 1);
}

#[test]
fn what_violates_a_protocol_is_told_to_the_lead_once_and_wakes_nobody() {
    let world = timed(OFTEN);
    task(&world);
    let value = json!({"status": "sleeping", "timestamp": worker_mark::stamp(world.now().wall)});
    put(&world.path().join(".task/fix/p-1/SIGNAL.json"), value.to_string().as_bytes());
    world.begin();
    world.does("UserPromptSubmit", &json!({"prompt": "go"}));
    let note = eventually_some("a note is staged", || world.pending());
    assert_eq!((&note["nudge_n"], &note["wakes"]), (&json!(0), &json!(false)), "{note}");
    let taken = world.hook(&world.event("PreToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"})));
    let text = taken.context("PreToolUse");
    assert!(text.contains("cause=violation") && text.contains(".task/fix/p-1/SIGNAL.json"), "{text}");
    world.pass(120);
    world.looked();
    assert_eq!(world.pending(), None, "it is told once");
    let shown = world.run(&["status"]).out;
    assert!(shown.contains("found  .task/fix/p-1/SIGNAL.json"), "{shown}");
    assert_eq!(world.status()["findings"].as_array().map(Vec::len), Some(1));
}
