//! Pids that are used again, starters that stand still, and mounts under two names.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use rustix::process::Signal;
use serde_json::json;
use watchdog::model::event::What;

use crate::behind;
use crate::tool;
use crate::world::{
    Ran, SESSION, World, bridge, eventually, finish, gone, launch, launch_with, prepare, signal,
};

#[test]
fn f16_a_pid_that_came_to_mean_another_roots_daemon_is_neither_trusted_nor_harmed() {
    let world = World::new("build");
    let other = World::new("build");
    // In a pid namespace of its own the next pid can be chosen: the other root's daemon gets the number of ours.
    let script = r#"
        set -e
        cd "$ours"
        "$watchdog" start >/dev/null
        pid=$(cat .kiln/tmp/watchdog.pid)
        kill -9 "$pid"
        while [ -e "/proc/$pid" ] && ! grep -q '^State:.Z' "/proc/$pid/status"; do sleep 0.05; done
        # Only a number that nobody holds can be given again: bash, which is process 1 here, collects the dead one.
        for try in $(seq 100); do
            echo $((pid - 1)) >/proc/sys/kernel/ns_last_pid
            "$watchdog" run --root "$theirs" >/dev/null 2>&1 &
            stranger=$!
            [ "$stranger" = "$pid" ] && break
            kill "$stranger"; wait "$stranger" || true
        done
        [ "$stranger" = "$pid" ] || { echo "forced no: $stranger"; exit 1; }
        echo "forced yes"
        until grep -q "\"pid\":$stranger" "$theirs/.kiln/tmp/watchdog/daemon.json" 2>/dev/null; do sleep 0.05; done
        echo "status $("$watchdog" status --json | sed 's/.*"daemon":{"state":"\([a-z]*\)".*/\1/')"
        "$watchdog" start
        new=$(cat .kiln/tmp/watchdog.pid)
        echo "new $([ "$new" != "$pid" ] && kill -0 "$new" && echo yes)"
        "$watchdog" stop
        echo "stranger $(kill -0 "$stranger" && echo lives)"
        kill "$stranger"
    "#;
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c", script]);
    command
        .env("ours", world.path())
        .env("theirs", other.path())
        .env("watchdog", env!("CARGO_BIN_EXE_watchdog"));
    let ran = finish(command, b"");
    let expected =
        "forced yes\nstatus none\nA daemon was started.\nnew yes\nThe daemon was stopped.\nstranger lives\n";
    assert_eq!((ran.code, ran.out.as_str()), (0, expected), "{ran:?}");
}

#[test]
fn f18_a_starter_that_is_slow_between_its_check_and_its_start_gets_no_second_daemon() {
    let world = World::new("build");
    thread::scope(|scope| {
        let slow = scope.spawn(|| {
            let command = world.as_client("hook", &world.client);
            let inject = "inject=clone3,clone,vfork:delay_enter=2000000";
            let words = ["strace", "-qq", "-o", "/dev/null", "-e", inject];
            let start = world.event("SessionStart", &json!({"source": "startup"}));
            finish(behind(&words, &command), start.to_string().as_bytes())
        });
        let held = || watchdog::store::lock::is_held(&world.root.in_own("start.lock"));
        eventually("the slow one has the lock", held);
        let others: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| world.hook(&world.event("PostToolUse", &json!({"tool_name": "Write"})))))
            .collect();
        for other in others {
            assert_eq!(other.join().unwrap(), Ran::silence());
        }
        assert_eq!(slow.join().unwrap().code, 0);
    });
    world.daemon();
    assert_eq!(world.count(|what| matches!(what, What::DaemonStart { .. })), 1);
}

#[test]
fn a_bridge_that_leaves_takes_nothing_of_a_newer_one_along() {
    let world = World::new("build");
    let first = bridge(&world, &world.client, SESSION);
    let mut slow = Command::new("strace");
    slow.args(["-qq", "-o", "/dev/null", "-e", "inject=unlink,unlinkat:delay_enter=2000000", "-p"]);
    let _slow = launch({
        slow.arg(first.pid().to_string());
        slow
    });
    let status = format!("/proc/{}/status", first.pid());
    let is_traced = |line: &str| line.starts_with("TracerPid:") && !line.ends_with("\t0");
    eventually("it is slow", || fs::read_to_string(&status).unwrap().lines().any(is_traced));
    // The newer one stops between its two marks, when the older one has seen the first of them.
    let words = ["strace", "-qq", "-o", "/dev/null", "-e", "inject=rename:delay_exit=300000:when=1"];
    let stop = world.event("Stop", &json!({"stop_hook_active": false})).to_string();
    let second = launch_with(behind(&words, &world.as_client("bridge", &world.client)), stop.as_bytes());
    assert_eq!(first.end(), Ran::silence());
    let mark = fs::read_to_string(world.root.in_own("bridges").join(SESSION)).expect("the newer one's mark");
    let pid_file = world.root.in_tmp("async-rewake-watchdog.pid");
    let pid = fs::read_to_string(pid_file).expect("the newer one's pid file");
    assert_eq!(Some(pid.trim_end()), mark.split('.').next());
    world.write_pending(&json!({"additionalContext": "x", "timestamp": 1, "nudge_n": 1, "id": "n1"}));
    assert_eq!(second.end().code, 2);
}

#[test]
fn f18_a_bind_mount_of_a_root_is_the_same_root() {
    let world = World::new("build");
    let again = world.beside("again");
    tool("mount", &["--bind", world.path().to_str().unwrap(), again.to_str().unwrap()]);
    let daemon = world.begin();
    let ran = world.run(&["--root", again.to_str().unwrap(), "start"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "A daemon is watching.\n"), "{ran:?}");
    assert_eq!(world.daemons(), [daemon]);
    assert_eq!(world.run(&["--root", again.to_str().unwrap(), "stop"]).code, 0);
    gone(daemon);
    tool("umount", &[again.to_str().unwrap()]);
    assert!(fs::read_dir(&again).unwrap().next().is_none());
}

/// A control group of this test's own in the cgroup2 hierarchy.
struct Group(PathBuf);

impl Group {
    fn new() -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mount = mounts.lines().find_map(|line| {
            let mut words = line.split(' ').skip(1);
            Some(words.next()?).filter(|_| words.next() == Some("cgroup2"))
        });
        let group = PathBuf::from(mount.expect("a cgroup2 hierarchy is mounted"))
            .join(format!("watchdog-test-{}", std::process::id()));
        fs::create_dir(&group).expect("a control group can be made");
        Self(group)
    }

    fn kill(&self) {
        fs::write(self.0.join("cgroup.kill"), "1").unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        eventually("the control group is empty", || fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
fn a_daemon_that_dies_with_the_control_group_of_its_starter_is_missed_and_made_again() {
    let world = World::new("build");
    let group = Group::new();
    let mut starter = Command::new("sh");
    starter.args(["-c", "echo $$ >\"$1/cgroup.procs\" && exec \"$2\" --root \"$3\" start", "sh"]);
    starter.args([group.0.as_path(), Path::new(env!("CARGO_BIN_EXE_watchdog")), world.path()]);
    let ran = finish(starter, b"");
    assert_eq!((ran.code, ran.out.as_str()), (0, "A daemon was started.\n"), "{ran:?}");
    let daemon = world.daemon();
    let held = fs::read_to_string(group.0.join("cgroup.procs")).unwrap();
    assert_eq!(held.trim(), daemon.pid.to_string(), "it stays where its starter was");
    group.kill();
    gone(daemon);
    let status = world.run(&["status"]);
    assert_eq!(status.code, 3, "{status:?}");
    // No lock, no pid file of the dead is in the way of the next: an ordinary event of the client makes it.
    assert_eq!(world.hook(&world.event("PostToolUse", &json!({"tool_name": "Write"}))), Ran::silence());
    assert_ne!(world.daemon().pid, daemon.pid);
    assert_eq!(world.count(|what| matches!(what, What::DaemonStart { .. })), 2);
}

#[test]
fn a_crash_leaves_no_core_file_with_a_payload_in_it() {
    let world = World::new("build");
    let crash = |program: &OsStr, words: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -c unlimited && exec \"$@\"", "sh"]).arg(program).args(words);
        command.current_dir(world.beside("cores")).env("CLAUDE_PID", world.client.pid().to_string());
        let mut running = prepare(command);
        // Half a payload, so that it waits for the rest with a secret in its memory.
        let half = br#"{"hook_event_name":"UserPromptSubmit","prompt":"sk-ant-secret"#;
        running.0.stdin.as_mut().unwrap().write_all(half).unwrap();
        let pid = running.pid();
        let has_read = || {
            let call = fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() != "sh")
                && call != "running\n"
        };
        eventually("it waits for input", has_read);
        signal(running.identity(), Signal::ABORT);
        running.0.wait().unwrap()
    };
    let plain = crash(OsStr::new("cat"), &[]);
    assert!(plain.core_dumped(), "this machine writes cores of others: {plain:?}");
    for words in [&["hook"][..], &["bridge"]] {
        let status = crash(OsStr::new(env!("CARGO_BIN_EXE_watchdog")), words);
        assert_eq!((status.signal(), status.core_dumped()), (Some(6), false), "{words:?}");
    }
    let daemon = world.begin();
    signal(daemon, Signal::ABORT);
    gone(daemon);
    let cores = |folder: &Path| {
        let names = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().starts_with("core")).count()
    };
    assert!(cores(&world.beside("cores")) <= 1, "that of cat alone");
    assert_eq!((cores(world.path()), cores(&world.root.kiln())), (0, 0));
}
