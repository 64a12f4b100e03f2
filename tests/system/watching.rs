//! File events that never come, stop coming, or come in floods.

use std::fs;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};
use watchdog::system::process::Identity;

use crate::timed::Timed;
use crate::world::{Past, Running, World, eventually, eventually_some, gone, launch, put, signal, take_away};
use crate::{behind, tool};

const MINUTE: i64 = 60;

fn read() -> Value {
    json!({"tool_name": "Read", "tool_use_id": "t"})
}

/// The daemon in the foreground behind some command.
fn run_behind(world: &Timed, words: &[&str]) -> (Running, Identity) {
    let mut command = world.command(&["run", "--root", world.path().to_str().unwrap()]);
    command.env("WATCHDOG_TEST_CLOCK", world.clock());
    let mut outer = behind(words, &command);
    outer.stdin(Stdio::null());
    let running = launch(outer);
    let daemon = world.daemon();
    // It holds its lock a moment before it says what it is like.
    eventually("it says so", || world.beacon().is_some());
    (running, daemon)
}

fn watching(world: &Timed) -> String {
    world.status()["daemon"]["watching"].as_str().unwrap_or_default().to_owned()
}

/// Work is seen, and so is the silence after it.
#[track_caller]
fn works(world: &Timed) {
    world.does("PostToolUse", &read());
    world.quiet("active");
    world.pass(6 * MINUTE);
    world.nudge(1);
}

#[test]
fn f23_without_any_instance_or_watch_left_it_polls_and_names_the_limit() {
    for (limit, name) in
        [("max_inotify_instances", "max_user_instances"), ("max_inotify_watches", "max_user_watches")]
    {
        let world = Timed::new("build");
        let script = format!("echo 0 > /proc/sys/user/{limit}; exec \"$@\"");
        let (_running, _daemon) = run_behind(&world, &["unshare", "-Ur", "sh", "-c", &script, "sh"]);
        let words = watching(&world);
        assert!(words.starts_with("polling (inotify: no ") && words.contains(name), "{words}");
        assert!(!words.contains("No space"), "{words}");
        works(&world);
        let shown = world.run(&["status"]).out;
        assert!(shown.contains("polling"), "{shown}");
    }
}

#[test]
fn f23_a_limit_that_is_met_later_is_named_and_the_tick_is_the_floor() {
    let world = Timed::new("build");
    let go = world.beside("go").join("now");
    let done = world.beside("go").join("done");
    // The limit is set from inside the daemon's own namespace.
    let script = format!(
        "(until [ -e {0} ]; do sleep 0.1; done; echo 0 > /proc/sys/user/max_inotify_watches; touch {1}) >/dev/null 2>&1 & exec \"$@\"",
        go.display(),
        done.display()
    );
    let (_running, _daemon) = run_behind(&world, &["unshare", "-Ur", "sh", "-c", &script, "sh"]);
    assert_eq!(watching(&world), "inotify");
    fs::write(&go, "").unwrap();
    eventually("the limit is set", || done.exists());
    take_away(&world.root.tmp());
    fs::create_dir(world.root.tmp()).unwrap();
    eventually("it is named", || watching(&world).contains("max_user_watches"));
    works(&world);
}

#[test]
fn f23_interrupted_reads_and_waits_end_nothing() {
    let world = Timed::new("build");
    let daemon = world.begin();
    world.does("PostToolUse", &read());
    let mut tracer = trace(daemon, "inject=read,epoll_wait,epoll_pwait,epoll_pwait2:error=EINTR:when=1+3");
    for n in 0..5 {
        world.stage(&format!("stage-{n}"));
        world.looked();
    }
    works(&world);
    assert_eq!(world.daemon(), daemon);
    tracer.kill();
}

/// Attaches a tracer to all threads of a process.
fn trace(process: Identity, inject: &str) -> Running {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", inject, "-p", &process.pid.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let tracer = Running(command.spawn().unwrap());
    eventually("it is traced", || {
        let status = fs::read_to_string(format!("/proc/{}/status", process.pid)).unwrap_or_default();
        status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|pid| pid.trim() != "0"))
    });
    tracer
}

/// The threads of a process by name.
fn threads(process: Identity) -> Vec<(i32, String)> {
    let Ok(entries) = fs::read_dir(format!("/proc/{}/task", process.pid)) else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            Some((id, fs::read_to_string(entry.path().join("comm")).ok()?.trim().to_owned()))
        })
        .collect()
}

#[test]
fn f23_a_watcher_whose_thread_dies_is_noticed_and_made_anew() {
    let world = Timed::new("build");
    let daemon = world.begin();
    world.does("PostToolUse", &read());
    world.looked();
    let is_watcher = |found: &(i32, String)| found.1.contains("notify");
    let (thread, _) = threads(daemon).into_iter().find(is_watcher).expect("the watcher's thread");
    // Its next wait fails in a way that no watcher survives.
    let mut command = Command::new("strace");
    command.args(["-qq", "-o", "/dev/null", "-e", "inject=epoll_wait,epoll_pwait,epoll_pwait2:error=EBADF"]);
    command
        .args(["-p", &thread.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut tracer = Running(command.spawn().unwrap());
    eventually("the thread is dead, or the daemon with it", || {
        put(&world.root.in_kiln("DEADLOCK.none"), b"an event to wake it");
        !daemon.is_alive() || threads(daemon).iter().all(|(id, _)| *id != thread)
    });
    tracer.kill();
    assert!(daemon.is_alive(), "alive, or dead in a way that a supervisor sees: it has chosen to live");
    // Changes that no event tells of are found by the tick, and then the watcher is made anew.
    eventually("a new watcher", || {
        world.does("PostToolUse", &read());
        world.looked();
        threads(daemon).iter().any(is_watcher)
    });
    eventually("it hears again", || {
        world.does("PostToolUse", &read());
        world.looked();
        watching(&world) == "inotify"
    });
    works(&world);
}

#[test]
fn f23_a_file_system_that_sends_no_events_is_served_by_the_tick() {
    let world = Timed::new("build");
    // Watches are granted and nothing is ever heard, as on some network and guest file systems.
    let words = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=inotify_add_watch:retval=1"];
    let (_running, _daemon) = run_behind(&world, &words);
    for _ in 0..5 {
        world.does("PostToolUse", &read());
        world.looked();
    }
    eventually("it knows", || {
        world.does("PostToolUse", &read());
        world.looked();
        watching(&world).contains("no events arrive")
    });
    works(&world);
}

#[test]
fn f23_on_layers_as_of_a_container_files_that_move_from_one_to_the_other_are_followed() {
    let world = Timed::new("build");
    world.does("PostToolUse", &read());
    let layers = world.beside("layers");
    tool("mount", &["-t", "tmpfs", "none", layers.to_str().unwrap()]);
    let kiln = world.root.kiln();
    let [lower, upper, work] = ["lower", "upper", "work"].map(|name| layers.join(name));
    tool("cp", &["-a", kiln.to_str().unwrap(), lower.to_str().unwrap()]);
    for folder in [&upper, &work] {
        fs::create_dir(folder).unwrap();
    }
    let options =
        format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
    tool("mount", &["-t", "overlay", "-o", &options, "none", kiln.to_str().unwrap()]);
    // All that the daemon and the hooks find lies in the lower layer; all that they write goes to the upper.
    let daemon = world.begin();
    works(&world);
    assert!(upper.join("tmp/activity.json").exists() && lower.join("tmp/activity.json").exists());
    assert!(matches!(
        watching(&world).as_str(),
        "inotify" | "polling (no events arrive from this file system)"
    ));
    assert_eq!(world.run(&["stop"]).code, 0);
    gone(daemon);
    tool("umount", &[kiln.to_str().unwrap()]);
    tool("umount", &[layers.to_str().unwrap()]);
}

#[test]
fn f22_watches_do_not_grow_with_the_number_of_changes() {
    let world = Timed::new("build");
    let trace = world.beside("trace").join("calls");
    let words =
        ["strace", "-f", "-qq", "-e", "trace=inotify_add_watch,inotify_init1", "-o", trace.to_str().unwrap()];
    let (_running, _daemon) = run_behind(&world, &words);
    let calls = || fs::read_to_string(&trace).unwrap().matches("inotify_add_watch(").count();
    world.does("PostToolUse", &read());
    world.looked();
    let before = calls();
    assert!((1..=6).contains(&before), "{before}");
    for n in 0..50 {
        world.stage(&format!("stage-{n}"));
        world.backdate(&Past { idle: n, ..Past::default() });
        world.looked();
    }
    assert_eq!(calls(), before);
    for _ in 0..3 {
        take_away(&world.root.tmp());
        fs::create_dir(world.root.tmp()).unwrap();
        eventually("it is watched again", || watchdog::store::lock::is_held(&world.root.daemon_lock()));
        world.looked();
    }
    assert!(calls() <= before + 9, "{} after {before}", calls());
}

#[test]
fn a_flood_of_changes_while_the_daemon_stands_still_is_survived_and_the_end_of_it_seen() {
    let world = Timed::new("build");
    let daemon = world.begin();
    world.does("PostToolUse", &read());
    world.looked();
    signal(daemon, Signal::STOP);
    eventually("it stands still", || watchdog::system::process::is_stopped(daemon.pid));
    // More than the kernel's queue holds: the rest is lost, and that it was lost is all that is heard.
    for n in 0..20_000 {
        put(
            &world.root.activity(),
            format!("{{\"last_activity_ts\":{},\"epoch\":{n}}}", world.now().seconds()).as_bytes(),
        );
    }
    signal(daemon, Signal::CONT);
    let seen = eventually_some("the last one is seen", || {
        let stamp = world.beacon().and_then(|beacon| beacon.seen_activity).map(|seen| seen.0);
        (stamp == world.activity()["last_activity_ts"].as_i64()).then_some(stamp)
    });
    assert!(seen.is_some());
    works(&world);
    assert_eq!(world.daemon(), daemon);
}

#[test]
fn a_world_of_plain_files_is_watched_by_events() {
    // What the other tests of this file compare with.
    let world = World::with("build", "[daemon]\ntick = \"30s\"\n");
    world.begin();
    world.stage("validate");
    let is_seen = |what: &watchdog::model::event::What| matches!(what, watchdog::model::event::What::Stage { stage } if stage == "validate");
    eventually("the stage is seen", || world.count(is_seen) == 1);
}
