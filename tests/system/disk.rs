//! Full disks, disks with a little room, read-only ones, and calls that fail one by one.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use watchdog::model::event::What;

use crate::timed::Timed;
use crate::world::{Past, Ran, eventually, finish, gone, names};
use crate::{behind, tool};

const MINUTE: i64 = 60;

fn read() -> Value {
    json!({"tool_name": "Read", "tool_use_id": "t"})
}

fn write() -> Value {
    json!({"tool_name": "Write", "tool_use_id": "t"})
}

/// A project whose `.kiln` lies on a small disk of its own.
struct Small {
    timed: Timed,
    ballast: PathBuf,
    /// Where a disk with quotas is mounted, of which `.kiln` is a part.
    whole: Option<PathBuf>,
}

impl std::ops::Deref for Small {
    type Target = Timed;

    fn deref(&self) -> &Timed {
        &self.timed
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // Lazily: the daemon of the world is ended only after this.
        for folder in [Some(&self.timed.root.kiln()), self.whole.as_ref()].into_iter().flatten() {
            std::process::Command::new("umount").arg("-l").arg(folder).status().ok();
        }
    }
}

impl Small {
    fn new() -> Self {
        let timed = Timed::new("build");
        let kiln = timed.root.kiln();
        let ballast = kiln.join("ballast");
        tool("mount", &["-t", "tmpfs", "-o", "size=256k,mode=755", "tmpfs", kiln.to_str().unwrap()]);
        timed.stage("build");
        timed.settings("[daemon]\ntick = \"100ms\"\n");
        Self { timed, ballast, whole: None }
    }

    /// `.kiln` has a quota on a disk that has room: the disk's own numbers say nothing.
    fn with_quota() -> Self {
        let timed = Timed::new("build");
        let kiln = timed.root.kiln();
        let (image, whole) = (timed.beside("image").join("disk"), timed.beside("disk"));
        File::create(&image).unwrap().set_len(150 << 20).unwrap();
        tool("mkfs.btrfs", &["-q", image.to_str().unwrap()]);
        tool("mount", &["-o", "loop", image.to_str().unwrap(), whole.to_str().unwrap()]);
        let part = whole.join("part");
        tool("btrfs", &["-q", "quota", "enable", whole.to_str().unwrap()]);
        tool("btrfs", &["-q", "subvolume", "create", part.to_str().unwrap()]);
        tool("btrfs", &["-q", "qgroup", "limit", "1M", part.to_str().unwrap()]);
        tool("mount", &["--bind", part.to_str().unwrap(), kiln.to_str().unwrap()]);
        timed.stage("build");
        timed.settings("[daemon]\ntick = \"100ms\"\n");
        Self { timed, ballast: kiln.join("ballast"), whole: Some(whole) }
    }

    /// Fills the disk up to this many bytes.
    fn fill(&self, left: u64) {
        let mut file = File::create(&self.ballast).unwrap();
        while file.write_all(&[1; 1024]).is_ok() {}
        let size = file.metadata().unwrap().len();
        if left > 0 {
            file.set_len(size.saturating_sub(left)).unwrap();
        }
    }

    fn free(&self) {
        fs::remove_file(&self.ballast).unwrap();
    }

    fn temporary(&self) -> Vec<String> {
        names(&self.root.own()).into_iter().filter(|name| is_temporary(name)).collect()
    }
}

fn is_temporary(name: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|end| end == "new" || end == "claimed")
}

fn three_hundred(now: i64) -> Value {
    let teammates: serde_json::Map<String, Value> =
        (0..300).map(|n| (format!("a-teammate-with-a-longer-name-{n}"), json!(now))).collect();
    Value::Object(teammates)
}

#[test]
fn f25_on_a_full_disk_nothing_gets_shorter_nothing_is_counted_and_work_is_no_silence() {
    for left in [0, 4096] {
        let world = Small::new();
        let daemon = world.begin();
        world.backdate(&Past {
            idle: 20,
            teammates: three_hundred(world.now().seconds()),
            ..Past::default()
        });
        assert!(fs::metadata(world.root.activity()).unwrap().len() > 12_000);
        world.quiet("active");
        world.fill(left);
        let before = (fs::read(world.root.activity()).unwrap(), fs::read(world.root.state()).unwrap());
        for _ in 0..3 {
            world.pass(4 * MINUTE);
            assert_eq!(world.hook(&world.event("PostToolUse", &write())), Ran::silence(), "{left}");
            world.looked();
            let activity: Value = serde_json::from_slice(&fs::read(world.root.activity()).unwrap()).unwrap();
            assert_eq!(activity["active_teammates"].as_object().unwrap().len(), 300, "{left}");
        }
        assert_eq!((world.pending(), world.flag()), (None, None), "{left}");
        assert_eq!((fs::read(world.root.activity()).unwrap(), fs::read(world.root.state()).unwrap()), before);
        let shown = world.run(&["status"]).out;
        assert!(shown.contains("cannot write in") && shown.contains("free some space"), "{left}: {shown}");
        assert_eq!(world.daemon(), daemon, "{left}: it is neither stuck nor replaced");

        // Space comes back while the work of before the last four minutes is all that was ever stored.
        world.free();
        world.quiet("active");
        world.does("PostToolUse", &read());
        assert_eq!(world.activity()["last_activity_source"], "PostToolUse:Read");
        assert_eq!(world.temporary(), Vec::<String>::new());
        assert_eq!(world.daemon(), daemon);
    }
}

#[test]
fn f25_a_stall_on_a_full_disk_is_told_and_nudged_once_there_is_space() {
    for left in [0, 4096] {
        let world = Small::new();
        let daemon = world.begin();
        world.backdate(&Past {
            idle: 20,
            teammates: three_hundred(world.now().seconds()),
            ..Past::default()
        });
        world.quiet("active");
        world.fill(left);
        let before = fs::read(world.root.activity()).unwrap();
        world.pass(6 * MINUTE);
        for _ in 0..3 {
            world.looked();
        }
        assert_eq!(fs::read(world.root.activity()).unwrap(), before, "{left}: the old file is whole");
        // With a page left the nudge itself may fit; its counter does not, and it is given no second time.
        let staged = world.pending();
        if left == 0 {
            assert_eq!(staged, None);
        }
        assert!(world.run(&["status"]).out.contains("cannot write in"), "{left}");
        assert!(daemon.is_alive());
        world.free();
        if staged.is_none() {
            world.nudge(1);
        }
        let is_first = |what: &What| matches!(what, What::Nudged { n: 1, .. });
        eventually("it is noted", || left != 0 || world.count(is_first) == 1);
        eventually("all is well again", || world.status()["faults"] == json!([]));
        assert!(left != 0 || world.log().contains("over"), "{}", world.log());
        assert_eq!(world.temporary(), Vec::<String>::new());
    }
}

#[test]
#[ignore = "needs a loop device and btrfs: tests/system/quota runs it"]
fn f25_a_quota_that_is_used_up_is_named_and_a_stall_on_it_is_nudged_once_there_is_room() {
    let world = Small::with_quota();
    let daemon = world.begin();
    world.does("PostToolUse", &read());
    world.quiet("active");
    world.fill(0);
    let sync = || tool("sync", &["-f", world.root.kiln().to_str().unwrap()]);
    sync();
    let before = fs::read(world.root.activity()).unwrap();
    assert_eq!(world.hook(&world.event("PostToolUse", &write())), Ran::silence());
    world.pass(6 * MINUTE);
    for _ in 0..3 {
        world.looked();
    }
    assert_eq!(fs::read(world.root.activity()).unwrap(), before, "the old file is whole");
    assert_eq!((world.pending(), world.flag()), (None, None));
    let shown = world.run(&["status"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("the disk quota is used up; free some space"), "{shown}");
    assert!(daemon.is_alive());
    world.free();
    sync();
    world.pass(6 * MINUTE);
    world.nudge(1);
    eventually("all is well again", || world.status()["faults"] == json!([]));
    assert_eq!(world.temporary(), Vec::<String>::new());
    assert_eq!(world.daemon(), daemon, "it is neither stuck nor replaced");
}

#[test]
fn f25_a_message_that_was_staged_before_the_disk_was_full_is_whole_and_can_be_taken() {
    let world = Small::new();
    world.begin();
    world.does("PostToolUse", &read());
    world.pass(6 * MINUTE);
    let text = world.nudge(1);
    world.fill(0);
    let before = fs::read(world.root.pending()).unwrap();
    world.pass(11 * MINUTE);
    world.looked();
    world.looked();
    assert_eq!(fs::read(world.root.pending()).unwrap(), before);
    let ran = world.hook(&world.event("PreToolUse", &read()));
    assert_eq!(ran.context("PreToolUse"), text);
    assert_eq!(world.pending(), None);
}

#[test]
fn f21_a_full_disk_takes_no_line_of_the_log_and_ends_nothing() {
    let world = Small::new();
    let daemon = world.begin();
    world.does("PostToolUse", &read());
    world.looked();
    world.fill(0);
    world.pass(6 * MINUTE);
    world.looked();
    assert!(daemon.is_alive());
    world.free();
    world.nudge(1);
    eventually("the log goes on", || world.log().contains("nudged"));
}

#[test]
fn f25_a_disk_that_turns_read_only_is_named_and_forgiven() {
    let world = Timed::new("build");
    let kiln = world.root.kiln();
    let kiln = kiln.to_str().unwrap();
    let daemon = world.begin();
    world.does("PostToolUse", &read());
    world.looked();
    let before = fs::read(world.root.activity()).unwrap();
    tool("mount", &["--bind", kiln, kiln]);
    tool("mount", &["-o", "remount,bind,ro", kiln]);
    assert_eq!(world.hook(&world.event("PostToolUse", &write())), Ran::silence());
    let start = world.hook(&world.event("SessionStart", &json!({"source": "startup"})));
    assert_eq!((start.code, start.err.as_str()), (0, ""));
    assert!(world.status()["faults"].to_string().contains("mounted read-only"));
    world.jump(6 * MINUTE);
    // Its looks leave no trace now; a tick is a tenth of a second, and it has to live through some of them.
    let began = watchdog::system::clock::now();
    eventually("some looks pass", || watchdog::system::clock::now().awake_since(began).as_secs() >= 2);
    assert_eq!(fs::read(world.root.activity()).unwrap(), before);
    assert_eq!(world.pending(), None);
    assert!(daemon.is_alive());
    tool("umount", &[kiln]);
    world.nudge(1);
    assert_eq!(world.daemon(), daemon);
    assert_eq!(world.run(&["stop"]).code, 0);
    gone(daemon);
}

/// A hook under a tracer that makes one call fail.
fn failing(world: &Timed, inject: &str, event: &Value) -> Ran {
    let mut command = world.as_client("hook", &world.client);
    command.env("WATCHDOG_TEST_CLOCK", world.clock());
    let words = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", inject];
    finish(behind(&words, &command), event.to_string().as_bytes())
}

#[test]
fn f25_a_call_that_fails_in_a_heartbeat_leaves_the_old_file_and_the_next_one_works() {
    let world = Timed::new("build");
    world.does("PostToolUse", &read());
    for call in ["write", "rename", "openat", "flock", "fstat,newfstatat,statx,lstat,stat"] {
        for errno in ["ENOSPC", "EDQUOT", "EIO", "EROFS", "EXDEV", "EACCES", "EMFILE"] {
            // From the third call on, so that the payload itself gets in.
            let inject = format!("inject={call}:error={errno}:when=3+");
            let before: Value = serde_json::from_slice(&fs::read(world.root.activity()).unwrap()).unwrap();
            let ran = failing(&world, &inject, &world.event("PostToolUse", &read()));
            assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{inject}: {ran:?}");
            let after: Value = serde_json::from_slice(&fs::read(world.root.activity()).unwrap()).unwrap();
            let raised = after["epoch"].as_u64().unwrap() - before["epoch"].as_u64().unwrap();
            assert!(raised <= 1, "{inject}");
            world.does("PostToolUse", &read());
            assert_eq!(
                world.activity()["epoch"].as_u64().unwrap(),
                after["epoch"].as_u64().unwrap() + 1,
                "{inject}"
            );
        }
    }
    let left: Vec<String> = names(&world.root.own()).into_iter().filter(|name| is_temporary(name)).collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn f25_a_flag_that_was_not_synced_is_no_flag() {
    let world = Timed::new("build");
    world.backdate(&Past { idle: 4000, nudged: Some(700), count: 3, ..Past::default() });
    let mut command = world.command(&["check", "--act"]);
    command.env("WATCHDOG_TEST_CLOCK", world.clock());
    let words = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=fsync,fdatasync:error=EIO"];
    let ran = finish(behind(&words, &command), b"");
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("DEADLOCK.flag") && ran.err.contains("Input/output error"), "{ran:?}");
    assert_eq!(world.count(|what| matches!(what, What::Escalated { .. })), 0);
    assert_eq!(world.flag(), None);
    assert_eq!(world.run(&["check", "--act"]).code, 1);
    assert_eq!(world.flag().unwrap()["nudge_count"], 3);
}

#[test]
fn f25_a_folder_for_temporary_files_on_another_disk_is_no_obstacle() {
    let world = Timed::new("build");
    world.root.prepare().unwrap();
    let own = world.root.own();
    tool("mount", &["-t", "tmpfs", "-o", "mode=700", "tmpfs", own.to_str().unwrap()]);
    world.does("PostToolUse", &read());
    assert_eq!(world.activity()["last_activity_source"], "PostToolUse:Read");
    let left = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.contains(".new"))
            .collect()
    };
    assert_eq!(left(&world.root.tmp()), Vec::<String>::new());
    assert!(OpenOptions::new().read(true).open(own.join("journal.jsonl")).is_ok());
    tool("umount", &["-l", own.to_str().unwrap()]);
}
