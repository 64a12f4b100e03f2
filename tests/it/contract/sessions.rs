//! Sessions begin, go on under another id, end; what they start and what they leave.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::world::{Past, Ran, Running, SESSION, World, client, eventually, finish, gone, listing, names};

fn of_session(world: &World, id: &str, event: &str, more: &Value) -> Value {
    let mut payload = world.event(event, more);
    payload["session_id"] = json!(id);
    payload
}

fn end(world: &World, reason: &str) {
    world.silent(&world.event("SessionEnd", &json!({"reason": reason})));
}

#[test]
fn a_session_start_starts_a_daemon_and_asks_for_the_two_files_to_be_watched() {
    let world = World::new("build");
    let answer = world.hook(&world.event("SessionStart", &json!({"source": "startup"}))).answer();
    let paths = json!([world.root.pending(), world.root.flag()]);
    let wanted = json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "watchPaths": paths}});
    assert_eq!(answer, wanted);
    let daemon = world.daemon();
    assert!(!world.root.activity().exists(), "a start is no activity");
    let again = world.hook(&world.event("SessionStart", &json!({"source": "resume"}))).answer();
    assert_eq!(again, wanted);
    assert_eq!(world.daemon(), daemon, "a daemon that is there is kept");
}

#[test]
fn a_session_end_leaves_the_flag_and_none_of_the_transient_files() {
    let world = World::new("build");
    let daemon = world.begin();
    world.silent(&world.event("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"})));
    world.write_pending(&json!({"additionalContext": "x", "timestamp": 1, "nudge_n": 1}));
    fs::write(world.root.in_tmp("async-rewake-watchdog.pid"), "999999\n").unwrap();
    fs::create_dir_all(world.root.in_own("bridges")).unwrap();
    fs::write(world.root.in_own("bridges").join(SESSION), "1.1").unwrap();
    let flag = json!({"timestamp": 1, "nudge_count": 3, "last_activity_source": "x"});
    world.write_flag(&flag);
    let state = world.state_text();
    end(&world, "prompt_input_exit");
    gone(daemon);
    assert_eq!(world.flag(), Some(flag));
    assert_eq!(world.state_text(), state);
    let left: Vec<String> =
        names(&world.root.tmp()).into_iter().filter(|name| !name.starts_with("watchdog/")).collect();
    assert_eq!(left, ["activity.lock", "watchdog"]);
    let own = names(&world.root.own());
    let kept = ["daemon.lock", "journal.jsonl", "sessions", "start.lock", "watchdog.log"];
    assert_eq!(own, kept, "locks and records stay, what was true of the session goes");
}

#[test]
fn every_reason_but_clear_and_resume_ends_the_daemon_of_the_last_session() {
    for reason in ["logout", "prompt_input_exit", "bypass_permissions_disabled", "other", "exit", ""] {
        let world = World::new("build");
        let daemon = world.begin();
        end(&world, reason);
        gone(daemon);
        assert!(!world.root.activity().exists(), "{reason}");
    }
}

#[test]
fn a_cleared_session_goes_on_with_the_same_daemon_and_the_same_activity() {
    for reason in ["clear", "resume"] {
        let world = World::new("build");
        let daemon = world.begin();
        world.silent(&world.event("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"})));
        let activity = world.activity();
        end(&world, reason);
        assert_eq!(world.activity(), activity, "{reason}");
        let next = of_session(&world, "after", "SessionStart", &json!({"source": reason}));
        assert_eq!(world.hook(&next).code, 0);
        assert_eq!(world.daemon(), daemon, "{reason}");
        world.silent(&of_session(&world, "after", "SessionEnd", &json!({"reason": "other"})));
        gone(daemon);
    }
}

#[test]
fn a_session_end_outside_a_pipeline_cleans_up_all_the_same() {
    for stage in ["complete", ""] {
        let world = World::new("build");
        let daemon = world.begin();
        world.backdate(&Past::default());
        world.stage(stage);
        end(&world, "other");
        gone(daemon);
        assert!(!world.root.activity().exists(), "{stage}");
    }
}

#[test]
fn a_session_end_where_nothing_ever_was_makes_nothing() {
    let world = World::new("build");
    let before = listing(world.path());
    end(&world, "other");
    assert_eq!(listing(world.path()), before);
}

#[test]
fn a_strangers_end_stops_nobody() {
    let world = World::new("build");
    let daemon = world.begin();
    world.silent(&world.event("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"})));
    let activity = world.activity();
    let pane = client();
    // A teammate in a pane of its own, a print-mode run inside a tool, and an id that nobody has seen.
    for id in ["teammate", "nested"] {
        world.hook_by(&pane, &of_session(&world, id, "SessionStart", &json!({"source": "startup"})));
        let ended = of_session(&world, id, "SessionEnd", &json!({"reason": "other"}));
        assert_eq!(world.hook_by(&pane, &ended), Ran::silence());
    }
    world.silent(&of_session(&world, "never-seen", "SessionEnd", &json!({"reason": "other"})));
    world.silent(&of_session(&world, "", "SessionEnd", &json!({"reason": "other"})));
    world.silent(&json!({"hook_event_name": "SessionEnd", "cwd": world.path()}));
    assert_eq!(world.daemon(), daemon);
    assert_eq!(world.activity(), activity);
    end(&world, "other");
    gone(daemon);
}

#[test]
fn of_two_leads_the_last_one_takes_the_daemon() {
    let world = World::new("build");
    let daemon = world.begin();
    let second = client();
    world.hook_by(&second, &of_session(&world, "two", "SessionStart", &json!({"source": "startup"})));
    end(&world, "other");
    assert_eq!(world.daemon(), daemon);
    let ended = of_session(&world, "two", "SessionEnd", &json!({"reason": "other"}));
    assert_eq!(world.hook_by(&second, &ended), Ran::silence());
    gone(daemon);
}

#[test]
fn a_lead_whose_neighbour_crashed_is_still_the_last() {
    let world = World::new("build");
    let mut crashed = client();
    world.hook_by(&crashed, &of_session(&world, "crashed", "SessionStart", &json!({"source": "startup"})));
    crashed.kill();
    let daemon = world.begin();
    end(&world, "other");
    gone(daemon);
}

#[test]
fn stragglers_of_an_ended_session_do_nothing() {
    let world = World::new("build");
    let daemon = world.begin();
    end(&world, "other");
    gone(daemon);
    eventually("the daemon's last word is written", || !world.root.in_own("daemon.json").exists());
    let before = listing(world.path());
    let tool = json!({"tool_name": "Write", "tool_use_id": "t", "tool_input": {}});
    for (event, more) in [
        ("PostToolUse", tool.clone()),
        ("PreToolUse", tool),
        ("SubagentStop", json!({"agent_id": "a1", "agent_type": "rakim"})),
        ("TeammateIdle", json!({"teammate_name": "rakim"})),
        ("Stop", json!({})),
        ("StopFailure", json!({"error": "authentication_failed"})),
        ("FileChanged", json!({"file_path": world.root.pending(), "event": "add"})),
    ] {
        world.silent(&world.event(event, &more));
        assert_eq!(listing(world.path()), before, "{event}");
    }
    assert_eq!(world.daemons(), []);
    // A prompt or a start begins it anew: a resumed session keeps its id.
    world.silent(&world.event("UserPromptSubmit", &json!({"prompt": "go on"})));
    assert_eq!(world.activity()["last_activity_source"], "UserPromptSubmit");
}

#[test]
fn a_write_or_an_edit_starts_a_daemon_in_a_run_that_began_after_its_session() {
    for tool in ["Write", "Edit"] {
        let world = World::new("build");
        for other in ["Read", "Bash", "SendMessage"] {
            world.silent(&world.event("PostToolUse", &json!({"tool_name": other, "tool_use_id": "t"})));
        }
        world.silent(&world.event("PreToolUse", &json!({"tool_name": tool, "tool_use_id": "t"})));
        assert_eq!(world.daemons(), [], "{tool}: not before it has written");
        world.silent(&world.event("PostToolUse", &json!({"tool_name": tool, "tool_use_id": "t"})));
        let daemon = world.daemon();
        world.silent(&world.event("PostToolUse", &json!({"tool_name": tool, "tool_use_id": "u"})));
        assert_eq!(world.daemon(), daemon, "{tool}: one is enough");
    }
}

#[test]
fn a_session_whose_start_was_never_seen_counts_from_its_first_event() {
    let world = World::new("build");
    world.silent(&world.event("PostToolUse", &json!({"tool_name": "Write", "tool_use_id": "t"})));
    let daemon = world.daemon();
    let session: Value = crate::world::read_json(&watchdog::store::sessions::path(&world.root, SESSION))
        .expect("a session file");
    assert_eq!(session["session_id"], SESSION);
    assert_eq!(session["pid"], world.client.pid());
    assert_eq!(session["start_time"], json!(world.client.identity().start_time));
    assert_eq!((&session["entry"], &session["source"]), (&json!("cli"), &json!("PostToolUse")));
    end(&world, "other");
    gone(daemon);
}

/// A process that is none of ours, with a name that looks like it.
fn bystander() -> Running {
    let mut command = Command::new("sleep");
    command.arg0("vim watchdog notes").arg("3600").stdin(Stdio::null()).stdout(Stdio::null());
    Running(command.spawn().expect("sleep"))
}

#[test]
fn a_pid_file_proves_nothing_and_harms_nobody() {
    let mut stranger = bystander();
    let other = World::new("build");
    let others_daemon = other.begin();
    let long_ago = i32::MAX.to_string();
    let contents = [
        format!("{}\n", stranger.pid()),
        format!("{}\n", others_daemon.pid),
        String::new(),
        "abc".to_owned(),
        "-1\n".to_owned(),
        "0\n".to_owned(),
        "1\n".to_owned(),
        "4294967295\n".to_owned(),
        "99999999999999999999\n".to_owned(),
        format!("{}\n{}\n", stranger.pid(), others_daemon.pid),
        format!("{long_ago}\n"),
        "\0\0\0\0".to_owned(),
    ];
    for content in &contents {
        let world = World::new("build");
        world.root.prepare().unwrap();
        for name in ["watchdog.pid", "async-rewake-watchdog.pid"] {
            fs::write(world.root.in_tmp(name), content).unwrap();
        }
        let status = world.run(&["status"]);
        assert_eq!(status.code, 3, "{content:?}: a number is no daemon: {}", status.out);
        let daemon = world.begin();
        end(&world, "other");
        gone(daemon);
        assert!(!world.root.in_tmp("watchdog.pid").exists(), "{content:?}");
        let stopped = world.run(&["stop"]);
        assert_eq!((stopped.code, stopped.out.as_str()), (0, "No daemon was running.\n"), "{content:?}");
        assert!(stranger.is_running() && others_daemon.is_alive(), "{content:?}");
    }
}

#[test]
fn a_folder_or_a_link_in_place_of_the_pid_file_stops_no_daemon() {
    let world = World::new("build");
    world.root.prepare().unwrap();
    fs::create_dir(world.root.in_tmp("watchdog.pid")).unwrap();
    let daemon = world.begin();
    end(&world, "other");
    gone(daemon);
    let precious = world.beside("elsewhere").join("precious");
    fs::write(&precious, "mine").unwrap();
    std::os::unix::fs::symlink(&precious, world.root.in_tmp("watchdog.pid")).unwrap();
    let daemon = world.begin();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "mine", "replaced, not written through");
    end(&world, "other");
    gone(daemon);
}

#[test]
fn a_beacon_of_another_process_makes_nobody_ours() {
    // The beacon of a daemon that was killed, its number given to somebody else by now.
    let mut stranger = bystander();
    let world = World::new("build");
    world.root.prepare().unwrap();
    let beacon = watchdog::store::beacon::Beacon {
        pid: stranger.pid(),
        start_time: stranger.identity().start_time + 1,
        boot_id: watchdog::system::process::boot_id(),
        ..watchdog::store::beacon::Beacon::default()
    };
    watchdog::store::beacon::store(&world.root, &beacon).unwrap();
    assert_eq!(world.run(&["status"]).code, 3);
    let daemon = world.begin();
    assert_eq!(world.run(&["stop"]).out, "The daemon was stopped.\n");
    gone(daemon);
    assert!(stranger.is_running());
}

#[test]
fn a_daemon_that_cannot_start_keeps_no_session_from_working() {
    let world = World::with("build", "[rule]\nidle_after = \"soon\"\n");
    let ran = world.hook(&world.event("SessionStart", &json!({"source": "startup"})));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.answer()["hookSpecificOutput"]["watchPaths"].is_array());
    world.silent(&world.event("PostToolUse", &json!({"tool_name": "Edit", "tool_use_id": "t"})));
    eventually("the one that could not start is gone", || world.daemons().is_empty());
    let faults: Vec<String> = world
        .journal()
        .into_iter()
        .filter_map(|event| match event.what {
            watchdog::model::event::What::Fault { fault } => Some(fault),
            _ => None,
        })
        .collect();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].contains("watchdog.toml:2: rule.idle_after: a duration is wanted"), "{faults:?}");
}

#[test]
fn a_client_that_gives_no_process_is_believed_at_its_word() {
    let world = World::new("build");
    let hook = |payload: &Value| {
        let mut command = world.command(&["hook"]);
        command.env("CLAUDE_PROJECT_DIR", world.path());
        finish(command, payload.to_string().as_bytes())
    };
    assert_eq!(hook(&world.event("SessionStart", &json!({"source": "startup"}))).code, 0);
    let daemon = world.daemon();
    assert_eq!(hook(&world.event("SessionEnd", &json!({"reason": "other"}))), Ran::silence());
    gone(daemon);
}
