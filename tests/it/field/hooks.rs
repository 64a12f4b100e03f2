//! What the client does to its hooks: blocks on them, kills them, holds their pipes, runs them elsewhere.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use watchdog::model::event::What;

use super::{Timed, status};
use crate::world::{Past, Ran, World, client, eventually, finish, gone, launch_with, listing, take_away};

#[test]
fn f01_a_bridge_without_a_pipeline_ends_at_once_without_a_word() {
    let world = World::new("complete");
    let payload = world.event("SessionStart", &json!({"source": "startup"})).to_string();
    assert_eq!(
        launch_with(world.as_client("bridge", &world.client), payload.as_bytes()).end(),
        Ran::silence()
    );
    fs::remove_file(world.root.state()).unwrap();
    assert_eq!(
        launch_with(world.as_client("bridge", &world.client), payload.as_bytes()).end(),
        Ran::silence()
    );
    take_away(&world.root.kiln());
    assert_eq!(
        launch_with(world.as_client("bridge", &world.client), payload.as_bytes()).end(),
        Ran::silence()
    );
}

#[test]
fn f01_a_bridge_ends_at_once_where_the_client_would_wait_for_it() {
    let world = World::new("build");
    let payload = world.event("SessionStart", &json!({})).to_string();
    for (name, value) in [("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"), ("CLAUDE_CODE_SESSION_ATTENDED", "0")] {
        let mut command = world.as_client("bridge", &world.client);
        command.env(name, value);
        assert_eq!(launch_with(command, payload.as_bytes()).end(), Ran::silence(), "{name}");
    }
}

#[test]
fn f01_the_life_of_a_bridge_is_a_setting_that_is_shown() {
    let world = Timed::with("build", "[bridge]\nlife = \"1s\"\n");
    world.backdate(&Past { idle: 5, ..Past::default() });
    assert_eq!(world.bridge().end(), Ran::silence());
    assert!(world.run(&["config"]).out.contains("life = \"1s\""));
}

#[test]
fn f01_a_waiting_bridge_leaves_with_its_pipeline() {
    let ends: [fn(&World); 3] = [
        |world| fs::remove_file(world.root.state()).unwrap(),
        |world| world.stage("complete"),
        |world| take_away(&world.root.kiln()),
    ];
    for end in ends {
        let world = Timed::new("build");
        let bridge = world.bridge();
        end(&world);
        assert_eq!(bridge.end(), Ran::silence());
    }
}

#[test]
fn f02_the_daemon_ends_although_the_hook_is_killed_right_after_it_asked() {
    let world = World::new("build");
    for moment in 0..20 {
        let daemon = world.begin();
        let end = world.event("SessionEnd", &json!({"reason": "prompt_input_exit"})).to_string();
        let mut hook = launch_with(world.as_client("hook", &world.client), end.as_bytes());
        // The moment of the kill is the fault: before, in and after the hook's work.
        thread::sleep(Duration::from_millis(moment * moment / 2));
        hook.kill();
        // If it came too soon to be heard, the client's own end is heard instead.
        let again = world.begin();
        assert!(again == daemon || !daemon.is_alive());
        assert_eq!(world.hook(&serde_json::from_str::<Value>(&end).unwrap()), Ran::silence());
        gone(again);
    }
}

#[test]
fn f02_whatever_a_killed_hook_leaves_is_in_nobodys_way() {
    let world = World::new("build");
    let more = json!({"tool_name": "Write", "tool_use_id": "t", "tool_input": {}, "source": "startup"});
    for moment in 0..100u64 {
        let event = ["SessionStart", "PostToolUse", "SubagentStart", "SessionEnd"][moment as usize % 4];
        let payload = world.event(event, &more).to_string();
        let mut hook = launch_with(world.as_client("hook", &world.client), payload.as_bytes());
        thread::sleep(Duration::from_micros(moment * 400));
        hook.kill();
    }
    world.begin();
    assert_eq!(world.hook(&world.event("PostToolUse", &more)), Ran::silence());
    assert_eq!(world.activity()["last_activity_source"], "PostToolUse:Write");
    assert_eq!(world.daemons().len(), 1);
}

#[test]
fn f02_a_client_that_dies_without_a_word_leaves_a_flag_and_takes_the_daemon_with_it() {
    let world = World::with("build", "[daemon]\ntick = \"200ms\"\nlost_after = \"1s\"\n");
    let mut other = client();
    let start = world.event("SessionStart", &json!({"source": "startup"}));
    assert_eq!(world.hook_by(&other, &start).code, 0);
    let daemon = world.daemon();
    assert_eq!(
        world.hook_by(&other, &world.event("PostToolUse", &json!({"tool_name": "Read"}))),
        Ran::silence()
    );
    other.kill();
    gone(daemon);
    assert_eq!(world.flag().unwrap()["cause"], "session_lost");
    assert_eq!(status(&world)["sessions"], json!({"living": [], "dead": []}));
}

#[test]
fn f02_a_stalled_pipeline_without_any_end_is_flagged_and_then_left() {
    let world = Timed::new("build");
    let payload = world.event("PostToolUse", &json!({"tool_name": "Write", "tool_use_id": "t"}));
    // A client that does not say which process it is can only be judged by its silence.
    let mut command = world.as_client("hook", &world.client);
    command.env_remove("CLAUDE_PID").env("WATCHDOG_TEST_CLOCK", world.clock());
    assert_eq!(finish(command, payload.to_string().as_bytes()), Ran::silence());
    let daemon = world.daemon();
    for _ in 0..4 {
        world.pass(11 * 60);
        world.looked();
        eventually("the step is taken", || {
            !daemon.is_alive() || world.beacon().is_some_and(|beacon| beacon.reason == "debounce")
        });
    }
    gone(daemon);
    assert_eq!(world.flag().unwrap()["cause"], "no_recovery");
}

#[test]
fn f04_a_session_start_holds_none_of_its_callers_pipes() {
    let world = World::new("build");
    let mut shell = world.as_client("hook", &world.client);
    let binary = shell.get_program().to_owned();
    let environment: Vec<_> =
        shell.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
    shell = std::process::Command::new("sh");
    shell
        .args(["-c", "exec 3>&1 4>&2 5<&0; exec \"$0\" hook"])
        .arg(binary)
        .current_dir(world.path())
        .env_clear();
    for (name, value) in environment {
        shell.env(name, value.unwrap_or_default());
    }
    shell.env("ANTHROPIC_API_KEY", "sk-ant-not-a-key-but-long-enough").env("GITHUB_TOKEN", "ghp_likewise");
    let start = world.event("SessionStart", &json!({"source": "startup"})).to_string();
    // Reading to the end of both pipes is what the client does: it returns only when nobody holds them.
    let ran = finish(shell, start.as_bytes());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));

    let daemon = world.daemon();
    let process = Path::new("/proc").join(daemon.pid.to_string());
    let own = world.root.own();
    eventually("the daemon has let go of its starter", || {
        (0..3).all(|fd| fs::read_link(process.join(format!("fd/{fd}"))).unwrap() == Path::new("/dev/null"))
    });
    for entry in fs::read_dir(process.join("fd")).unwrap().flatten() {
        let target = fs::read_link(entry.path()).unwrap();
        let name = target.to_string_lossy().into_owned();
        let number: u32 = entry.file_name().to_string_lossy().parse().unwrap();
        let is_own = target.starts_with(&own) || name == "/dev/null" || name.starts_with("anon_inode:");
        // The runtime's own pair of sockets for signals is the only other thing.
        assert!(is_own || (number > 2 && name.starts_with("socket:")), "{number}: {name}");
    }
    assert_eq!(fs::read_link(process.join("cwd")).unwrap(), Path::new("/"));
    let environ = fs::read(process.join("environ")).unwrap();
    let names: Vec<String> = environ
        .split(|byte| *byte == 0)
        .filter_map(|entry| Some(String::from_utf8_lossy(entry).split_once('=')?.0.to_owned()))
        .collect();
    assert!(names.iter().all(|name| ["PATH", "HOME", "TZ"].contains(&name.as_str())), "{names:?}");
}

#[test]
fn f05_work_is_credited_to_the_root_wherever_the_client_has_wandered() {
    let world = World::new("build");
    let deep = world.path().join("src/deep");
    let inside = world.path().join(".claude/worktrees/w1");
    let outside = world.beside("w2");
    let link = world.beside("links").join("project");
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir_all(&inside).unwrap();
    for worktree in [&inside, &outside] {
        fs::write(worktree.join(".git"), "gitdir: elsewhere\n").unwrap();
    }
    symlink(world.path(), &link).unwrap();
    let root = world.path();
    let cases: [(&str, &Path, &Path, Option<&Path>); 5] = [
        ("a folder below", &deep, &deep, None),
        ("the root folder of the system", Path::new("/"), root, None),
        ("a worktree inside", &inside, &inside, None),
        ("a worktree outside", &outside, &outside, Some(root)),
        ("a symlink", &link, &link, None),
    ];
    for (what, cwd, told, project) in cases {
        world.backdate(&Past { idle: 290, ..Past::default() });
        let mut command = world.as_client("hook", &world.client);
        command.current_dir(cwd).env_remove("CLAUDE_PROJECT_DIR");
        if let Some(project) = project {
            command.env("CLAUDE_PROJECT_DIR", project);
        }
        let payload = world.event("PostToolUse", &json!({"tool_name": "Edit", "cwd": told}));
        assert_eq!(finish(command, payload.to_string().as_bytes()), Ran::silence(), "{what}");
        assert_eq!(world.activity()["last_activity_source"], "PostToolUse:Edit", "{what}");
        assert_eq!(world.daemons().len(), 1, "{what}");
    }
    for folder in [&deep, &inside, &outside] {
        assert!(!folder.join(".kiln").exists());
    }
}

#[test]
fn f05_the_payloads_folder_wins_over_a_project_left_in_the_environment() {
    let left = World::new("build");
    let world = World::new("build");
    left.backdate(&Past::default());
    let before = listing(left.path());
    let mut command = world.as_client("hook", &world.client);
    command.env("CLAUDE_PROJECT_DIR", left.path());
    let payload = world.event("PostToolUse", &json!({"tool_name": "Read"}));
    assert_eq!(finish(command, payload.to_string().as_bytes()), Ran::silence());
    assert_eq!(world.activity()["last_activity_source"], "PostToolUse:Read");
    assert_eq!(listing(left.path()), before);
}

#[test]
fn f05_a_folder_that_is_gone_belongs_to_no_project() {
    let world = World::new("build");
    let gone = world.beside("gone");
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", "cd \"$1\" && rmdir \"$1\" && exec \"$0\" hook"])
        .arg(env!("CARGO_BIN_EXE_watchdog"))
        .arg(&gone);
    shell.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let payload = world.event("PostToolUse", &json!({"tool_name": "Read", "cwd": gone}));
    let before = listing(world.path());
    assert_eq!(finish(shell, payload.to_string().as_bytes()), Ran::silence());
    assert_eq!(listing(world.path()), before);
    assert_eq!(world.count(|_: &What| true), 0);
}
