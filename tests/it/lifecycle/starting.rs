//! How a daemon starts: readiness, refusals, what it inherits.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::json;

use watchdog::store::file::euid;
use watchdog::store::lock;
use watchdog::system::process::Identity;

use crate::world::{Ran, Running, World, eventually, finish, listing};

#[test]
fn a_start_returns_when_the_pid_file_is_there_and_the_daemon_watches() {
    let world = World::new("build");
    let started = world.run(&["start"]);
    for _ in 0..1000 {
        let text = fs::read_to_string(world.root.in_tmp("watchdog.pid")).expect("the pid file is there");
        let pid: i32 = text.strip_suffix('\n').expect("a whole line").parse().expect("a number");
        assert!(lock::is_held(&world.root.daemon_lock()) && Path::new(&format!("/proc/{pid}")).exists());
    }
    assert_eq!(started, Ran { out: "A daemon was started.\n".to_owned(), ..Ran::silence() });
    let beacon = world.beacon().expect("it has looked once already");
    assert_eq!((beacon.pid, beacon.version.as_str()), (world.daemon().pid, env!("CARGO_PKG_VERSION")));
    assert_eq!(beacon.watching, "inotify");
}

#[test]
fn a_second_start_leaves_daemon_pid_file_and_beacon_alone() {
    let world = World::new("build");
    assert_eq!(world.run(&["start"]).code, 0);
    let daemon = world.daemon();
    let before = listing(&world.root.kiln());
    for word in ["start", "spawn"] {
        assert_eq!(world.run(&[word]), Ran { out: "A daemon is watching.\n".to_owned(), ..Ran::silence() });
    }
    assert_eq!(world.daemon(), daemon);
    assert_eq!(listing(&world.root.kiln()), before);
}

#[test]
fn a_start_says_what_keeps_the_daemon_from_nudging() {
    let world = World::new("build");
    fs::remove_file(world.root.state()).unwrap();
    let none = "A daemon was started.\nThere is no pipeline yet: .kiln/STATE.md names no stage.\n";
    assert_eq!(world.run(&["start"]).out, none);
    let world = World::new("build");
    world.write_flag(&json!({"timestamp": 1, "nudge_count": 3, "last_activity_source": "x"}));
    let flagged = "A daemon was started.\nDEADLOCK.flag lies there: nothing is nudged until \"watchdog ensure\" or a \
                   new session clears it.\n";
    assert_eq!(world.run(&["start"]).out, flagged);
}

#[test]
fn relative_roots_lead_to_the_same_daemon() {
    let world = World::new("build");
    assert_eq!(world.run(&["start", "--root", "."]).code, 0);
    let daemon = world.daemon();
    let mut from_above = world.command(&["start", "--root", "project"]);
    from_above.current_dir(world.path().parent().unwrap());
    assert_eq!(finish(from_above, b"").out, "A daemon is watching.\n");
    assert_eq!(world.daemon(), daemon);
}

/// Starts where that cannot work. The parent says why, and nothing runs.
#[track_caller]
fn refused(world: &World, command: Command, reason: &str) {
    let ran = finish(command, b"");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    let line = ran.err.strip_suffix('\n').expect("a line");
    assert!(!line.contains('\n') && line.starts_with("watchdog: "), "one line: {line}");
    let project = world.path().display().to_string();
    let shown = line.replace(&project, "ROOT");
    assert!(shown.contains(reason), "{shown:?} should say {reason:?}");
    eventually("nothing runs", || world.daemons().is_empty());
}

#[test]
fn a_folder_that_is_not_ours_to_trust_is_refused_by_the_parent() {
    let world = World::new("build");
    fs::write(world.root.tmp(), "a file").unwrap();
    refused(&world, world.command(&["start"]), "cannot trust ROOT/.kiln/tmp: it is not a folder");
    fs::remove_file(world.root.tmp()).unwrap();
    symlink(world.beside("elsewhere"), world.root.tmp()).unwrap();
    refused(&world, world.command(&["start"]), "cannot trust ROOT/.kiln/tmp: it is a symlink");
    fs::remove_file(world.root.tmp()).unwrap();
    fs::set_permissions(world.root.kiln(), fs::Permissions::from_mode(0o777)).unwrap();
    let reason = "cannot trust ROOT/.kiln: everybody can write it; run \"chmod o-w\" on it";
    refused(&world, world.command(&["start"]), reason);
    // Root may write anywhere.
    if euid() != 0 {
        fs::set_permissions(world.root.kiln(), fs::Permissions::from_mode(0o555)).unwrap();
        refused(&world, world.command(&["start"]), "cannot make ROOT/.kiln/tmp: Permission denied");
    }
    fs::set_permissions(world.root.kiln(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(world.run(&["start"]).code, 0, "and when it is put right it starts");
}

#[test]
fn broken_settings_are_refused_at_their_place_wherever_they_come_from() {
    let world = World::with("build", "[daemon]\n\ntick = \"1m\"\nlingre = \"1s\"\n");
    let reason = "ROOT/.kiln/watchdog.toml:4: daemon.lingre is no setting; did you mean daemon.linger?";
    refused(&world, world.command(&["start"]), reason);
    world.settings("[daemon\n");
    refused(&world, world.command(&["start"]), "ROOT/.kiln/watchdog.toml:1: ");
    fs::remove_file(world.root.in_kiln("watchdog.toml")).unwrap();
    let mut by_variable = world.command(&["start"]);
    by_variable.env("WATCHDOG_RULE_MAX_NUDGES", "many");
    refused(&world, by_variable, "WATCHDOG_RULE_MAX_NUDGES: rule.max_nudges: a whole number from 0 to 1000");
    let by_flag = world.command(&["start", "--set", "rule.idle_after"]);
    refused(&world, by_flag, "--set rule.idle_after: KEY=VALUE is wanted");
    let user = world.beside("home/.config/watchdog").join("watchdog.toml");
    fs::write(&user, "[daemon]\nmode = \"look\"\n").unwrap();
    refused(
        &world,
        world.command(&["start"]),
        "watchdog.toml:2: daemon.mode: \"act\" or \"observe\" is wanted",
    );
    fs::remove_file(user).unwrap();
    assert_eq!(world.run(&["start"]).code, 0);
}

#[test]
fn what_only_the_daemon_meets_is_said_by_the_parent_too() {
    let world = World::new("build");
    world.root.prepare().unwrap();
    symlink("/dev/null", world.root.daemon_lock()).unwrap();
    let reason = "the daemon did not start: cannot open ROOT/.kiln/tmp/watchdog/daemon.lock: ";
    refused(&world, world.command(&["start"]), reason);
    fs::remove_file(world.root.daemon_lock()).unwrap();
    assert_eq!(world.run(&["start"]).code, 0);
}

#[test]
fn a_starter_that_is_stopped_delays_others_and_does_not_hang_them() {
    let world = World::new("build");
    world.root.prepare().unwrap();
    let held = lock::acquire(&world.root.in_own("start.lock"), std::time::Duration::ZERO).unwrap();
    assert!(held.is_some());
    refused(&world, world.command(&["start"]), "another process has been starting a daemon here for 5 s");
    drop(held);
    assert_eq!(world.run(&["start"]).code, 0);
}

#[test]
fn a_root_that_is_watched_is_not_watched_twice() {
    let world = World::new("build");
    assert_eq!(world.run(&["start"]).code, 0);
    let daemon = world.daemon();
    let ran = world.run(&["run"]);
    let words = format!(
        "watchdog: {} is watched by another daemon already (pid {}); \"watchdog stop\" ends it\n",
        world.path().display(),
        daemon.pid
    );
    assert_eq!((ran.code, ran.err.lines().last().map(|line| format!("{line}\n"))), (1, Some(words)));
    assert_eq!(world.daemon(), daemon);
}

#[test]
fn where_there_is_no_project_the_error_names_the_way_out() {
    let world = World::new("build");
    let folder = world.beside("elsewhere");
    for word in ["start", "status", "check", "run", "stop", "ensure", "pause"] {
        let mut command = world.command(&[word]);
        if word == "pause" {
            command.arg("1m");
        }
        command.current_dir(&folder);
        let ran = finish(command, b"");
        let words = format!(
            "watchdog: cannot watch {}: there is no .kiln folder here or above, no .watchdog of \"watchdog init\", no task \
             folder of a worker (.task/*/* with TASK.md or a signal file) and no team session (.workflow/.team/* with \
             .msg); run this in the project, name it with --root, or run \"watchdog init\"\n",
            folder.display()
        );
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (1, "", words.as_str()), "{word}");
    }
}

#[test]
fn the_daemon_keeps_nothing_of_its_starter() {
    let world = World::new("build");
    let payload = world.event("SessionStart", &json!({"source": "startup"})).to_string();
    let mut command = Command::new("/bin/sh");
    // Copies of the pipes under other numbers, as shells and clients leave them open; and a file of the project.
    let script = "exec 3>&1 4>&2 9<.kiln/STATE.md; exec \"$0\" hook";
    command.args(["-c", script, env!("CARGO_BIN_EXE_watchdog")]).current_dir(world.path()).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("HOME", world.beside("home")).env("LANG", "C.UTF-8");
    command.env("CLAUDE_PID", world.client.pid().to_string()).env("CLAUDE_PROJECT_DIR", world.path());
    command
        .env("ANTHROPIC_API_KEY", "sk-ant-secret")
        .env("GITHUB_TOKEN", "secret")
        .env("CLAUDE_ENV_FILE", "/x");
    command.env("WATCHDOG_RULE_MAX_NUDGES", "5");
    // Reads to the end of both pipes: it returns only when nobody holds them any more.
    assert_eq!(finish(command, payload.as_bytes()).code, 0);
    let daemon = world.daemon();
    let of = |name: &str| format!("/proc/{}/{name}", daemon.pid);
    eventually("it has let go of the starter's pipe", || {
        open_files(daemon).iter().all(|(_, to)| !to.contains("pipe:"))
    });
    for (number, to) in open_files(daemon) {
        let own = world.root.own().display().to_string();
        let is_own = to == format!("{own}/daemon.lock") || to == format!("{own}/watchdog.log");
        let is_inner = to.starts_with("anon_inode:") || to.starts_with("socket:");
        assert!(if number < 3 { to == "/dev/null" } else { is_own || is_inner }, "{number} -> {to}");
    }
    assert_eq!(fs::read_link(of("cwd")).unwrap(), Path::new("/"));
    let environment = fs::read(of("environ")).unwrap();
    let mut names: Vec<String> = environment
        .split(|byte| *byte == 0)
        .filter(|line| !line.is_empty())
        .map(|line| String::from_utf8_lossy(line).split('=').next().unwrap_or_default().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["HOME", "LANG", "PATH", "WATCHDOG_RULE_MAX_NUDGES"]);
    let stat = fs::read_to_string(of("stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    assert_ne!(fields[3], stat_session(std::process::id()), "a session of its own");
    assert_eq!(fields[4], "0", "no terminal");
    let mode = fs::metadata(world.root.in_own("watchdog.log")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

fn stat_session(pid: u32) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(')').next().unwrap().split_whitespace().nth(3).unwrap().to_owned()
}

fn open_files(process: Identity) -> Vec<(u32, String)> {
    let Ok(entries) = fs::read_dir(format!("/proc/{}/fd", process.pid)) else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            Some((number, fs::read_link(entry.path()).ok()?.display().to_string()))
        })
        .collect()
}

#[test]
fn flags_of_a_start_hold_for_its_daemon() {
    let world = World::new("build");
    assert_eq!(world.run(&["start", "--set", "daemon.tick=7s", "--set", "daemon.mode=observe"]).code, 0);
    let beacon = world.beacon().unwrap();
    assert_eq!((beacon.tick_ms, beacon.mode.as_str()), (7000, "observe"));
}

#[test]
fn a_daemon_in_the_foreground_serves_several_roots_and_logs_to_standard_error() {
    let settings = crate::world::QUICK.replace("nudge_every = \"1s\"", "nudge_every = \"1h\"");
    let (one, two) = (World::with("build", &settings), World::with("research", &settings));
    one.backdate(&crate::world::Past::default());
    two.backdate(&crate::world::Past { phase: "research", ..crate::world::Past::default() });
    let (first, second) = (one.path().to_str().unwrap(), two.path().to_str().unwrap());
    let mut running: Running = one.spawn(&["run", "--root", first, "--root", second, "--root", first]);
    for world in [&one, &two] {
        eventually("its root is nudged", || world.pending().is_some());
        // On a slow machine the first look already nudges, and only then says who does.
        let pid = running.pid();
        eventually("its beacon is there", || world.beacon().is_some_and(|beacon| beacon.pid == pid));
        assert_eq!(
            fs::read_to_string(world.root.in_tmp("watchdog.pid")).unwrap(),
            format!("{}\n", running.pid())
        );
    }
    two.stage("complete");
    eventually("it leaves the root whose pipeline is complete", || !lock::is_held(&two.root.daemon_lock()));
    assert!(running.is_running() && lock::is_held(&one.root.daemon_lock()), "and goes on with the other");
    crate::world::signal(running.identity(), rustix::process::Signal::TERM);
    let ran = running.end();
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    for root in [first, second] {
        assert!(ran.err.contains(&format!("watching root=\"{root}\"")), "{}", ran.err);
    }
    assert!(!one.root.in_own("watchdog.log").exists());
    assert!(!ran.err.contains('\u{1b}'), "no colours in a log");
}
