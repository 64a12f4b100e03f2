//! What doctor finds in projects that are well and in those that are not.

mod client;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::model::moment::Moment;
use crate::model::policy::Policy;
use crate::protocol::client_settings::install;
use crate::protocol::hook_table::registrations;
use crate::store::beacon::{self, Beacon};
use crate::store::config::Layers;
use crate::store::file::FileError;
use crate::store::sessions;
use crate::system::process::{Identity, boot_id};

/// 2026-01-01, noon.
const NOON: i64 = 1_767_268_800_000;

/// A home and a project, with a program that is the running one.
struct Tree(TempDir);

impl Tree {
    fn new() -> Self {
        let tree = tempfile::tempdir().unwrap();
        for folder in ["home/.claude", "project/.claude", "project/.kiln", "etc", "bin"] {
            fs::create_dir_all(tree.path().join(folder)).unwrap();
        }
        symlink(std::env::current_exe().unwrap(), tree.path().join("bin/watchdog")).unwrap();
        Self(tree)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text.replace("TREE", &self.0.path().display().to_string())).unwrap();
    }

    fn register(&self, name: &str, program: &str, bridge: Option<Duration>) {
        let program = program.replace("TREE", &self.0.path().display().to_string());
        let old = fs::read_to_string(self.path(name)).unwrap_or_default();
        fs::write(self.path(name), install(&old, &registrations(&program, bridge)).unwrap()).unwrap();
    }

    fn root(&self) -> Root {
        Root::at(&self.path("project")).unwrap()
    }

    fn places(&self) -> Places {
        Places {
            user: Some(self.path("home/.claude/settings.json")),
            project: self.path("project/.claude/settings.json"),
            local: self.path("project/.claude/settings.local.json"),
            managed: self.path("etc/managed-settings.json"),
        }
    }

    fn client(&self) -> String {
        let policy = Policy::default();
        self.shown(&super::client::findings(&self.places(), &policy, &policy))
    }

    fn project(&self) -> String {
        let layers = Layers::default();
        let policy = layers.read(Some(&self.root())).unwrap_or_default().policy;
        self.shown(&project::findings(Some(&self.root()), &layers, &policy, moment(NOON)))
    }

    fn shown(&self, findings: &[Finding]) -> String {
        let mut text = String::new();
        for finding in findings {
            let mark = match finding.health {
                Health::Good => "+",
                Health::Fair => "?",
                Health::Wrong => "!",
            };
            writeln!(text, "{mark} {}: {}", finding.name, finding.words).unwrap();
            assert_eq!(finding.remedy.is_none(), finding.health == Health::Good, "every fault has a remedy");
            if let Some(remedy) = &finding.remedy {
                writeln!(text, "    {remedy}").unwrap();
            }
        }
        let real = self.0.path().canonicalize().unwrap();
        text.replace(&real.display().to_string(), "TREE")
            .replace(&self.0.path().display().to_string(), "TREE")
    }
}

fn moment(wall: i64) -> Moment {
    Moment { wall, awake: Duration::from_secs(5000), boot: Duration::from_secs(5000) }
}

fn life() -> Duration {
    Policy::default().bridge.life
}

#[test]
fn a_project_at_rest_is_well() {
    let tree = Tree::new();
    insta::assert_snapshot!(tree.project(), @"
    + values: every setting has its built-in value
    + folder: TREE/project/.kiln can be written
    + heartbeat: none, and no pipeline is active
    + daemon: none runs; there is no pipeline to watch
    ");
}

#[test]
fn an_active_pipeline_that_nobody_watches_is_named() {
    let tree = Tree::new();
    tree.write("project/.kiln/STATE.md", "- **stage**: build\n");
    insta::assert_snapshot!(tree.project(), @"
    + values: every setting has its built-in value
    + folder: TREE/project/.kiln can be written
    ? heartbeat: no activity.json: no hook has run here since the last session ended
        start a session here; it must trust the folder to run hooks
    ? daemon: none runs: stage build, but no session is open
        a session that starts here starts it; if one is open, its hooks do not run
    ");
    let session = sessions::Session { session_id: "a".to_owned(), since: NOON, ..Default::default() };
    sessions::store(&tree.root(), &session).unwrap();
    insta::assert_snapshot!(tree.project().lines().skip(4).collect::<Vec<_>>().join("\n"), @r#"
    ! daemon: none runs, and a session is open in stage build
        run "watchdog start"; .kiln/tmp/watchdog/watchdog.log says why it ended
    "#);
    tree.write("project/.kiln/DEADLOCK.flag", "{}");
    let activity =
        json!({ "last_activity_ts": NOON / 1000 - 700, "last_activity_source": "PostToolUse:Bash" });
    tree.write("project/.kiln/tmp/activity.json", &activity.to_string());
    insta::assert_snapshot!(tree.project(), @r#"
    + values: every setting has its built-in value
    + folder: TREE/project/.kiln can be written
    ? heartbeat: the last one was 11 min ago (PostToolUse:Bash)
        "watchdog status" says who waits; if sessions do work, their hooks do not run
    ? daemon: none runs: DEADLOCK.flag lies there, and a person has to look
        "watchdog status" says why; "watchdog ensure" clears it and starts again
    "#);
    tree.write("project/.kiln/STATE.md", "- **stage**: complete\n");
    insta::assert_snapshot!(tree.project(), @"
    + values: every setting has its built-in value
    + folder: TREE/project/.kiln can be written
    + heartbeat: the last one was 11 min ago (PostToolUse:Bash)
    + daemon: none runs; the pipeline is complete
    ");
}

#[test]
fn a_state_that_cannot_be_used_is_named() {
    let tree = Tree::new();
    tree.root().prepare().unwrap();
    tree.write("project/.kiln/tmp/activity.json", "{\"last_activity_ts\":17");
    tree.write("project/.kiln/watchdog.toml", "[rule]\nidle_afte = \"5m\"\n");
    insta::assert_snapshot!(tree.project(), @r#"
    ! values: TREE/project/.kiln/watchdog.toml:2: rule.idle_afte is no setting; did you mean rule.idle_after? "watchdog config" lists all
        mend or remove it; until then no command and no daemon starts
    + folder: TREE/project/.kiln can be written
    ! activity: TREE/project/.kiln/tmp/activity.json: not JSON: EOF while parsing an object at line 1 column 22
        the next hook mends it and keeps a copy as .kiln/tmp/watchdog/activity.broken; if it stays broken, no hook runs: see "hooks" and "program"
    + heartbeat: the last one was 0 s ago ()
    + daemon: none runs; there is no pipeline to watch
    "#);
    let ahead = json!({ "last_activity_ts": NOON / 1000 + 7200 });
    tree.write("project/.kiln/tmp/activity.json", &ahead.to_string());
    insta::assert_snapshot!(tree.project().lines().skip(3).take(2).collect::<Vec<_>>().join("\n"), @r#"
    ! stamps: activity.json has a stamp 2 h 00 min ahead of this clock
        set the clocks right ("timedatectl"); the next hook writes a present stamp
    "#);
}

#[test]
fn a_folder_that_is_not_ours_is_named() {
    let tree = Tree::new();
    symlink(tree.path("etc"), tree.path("project/.kiln/tmp")).unwrap();
    insta::assert_snapshot!(tree.project().lines().skip(1).take(2).collect::<Vec<_>>().join("\n"), @"
    ! folder: cannot trust TREE/project/.kiln/tmp: it is a symlink
        make .kiln and the folders in it yours and writable, with room on the disk
    ");
    let layers = Layers::default();
    let nowhere = project::findings(None, &layers, &Policy::default(), moment(NOON));
    insta::assert_snapshot!(tree.shown(&nowhere), @r#"
    + values: every setting has its built-in value
    ? folder: there is nothing to watch here or above: no .kiln, no .watchdog, no task folder, no team session
        run this in the project, name it with --root, or run "watchdog init"
    "#);
}

#[test]
fn a_daemon_is_judged_by_its_lock_and_its_beacon() {
    let tree = Tree::new();
    let root = tree.root();
    root.prepare().unwrap();
    let _lock = crate::store::lock::acquire(&root.daemon_lock(), Duration::ZERO).unwrap().unwrap();
    let own = Identity::own();
    let good = Beacon {
        pid: own.pid,
        start_time: own.start_time,
        boot_id: boot_id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        last_tick: NOON - 1000,
        last_tick_awake_ms: 4_999_000,
        tick_ms: 60_000,
        watching: "inotify".to_owned(),
        ..Beacon::default()
    };
    let with = |beacon: &Beacon| -> Result<String, FileError> {
        beacon::store(&root, beacon)?;
        beacon::touch(&root, beacon.last_tick)?;
        let text = tree.project().replace(&own.pid.to_string(), "PID");
        Ok(text[text.find("daemon:").unwrap() - 2..].trim_end().to_owned())
    };
    assert_eq!(with(&good).unwrap(), "+ daemon: pid PID watches, by inotify");
    insta::assert_snapshot!(with(&Beacon { watching: "polling (no watches)".to_owned(), ..good.clone() }).unwrap(), @r#"
    ? daemon: pid PID watches, by polling (no watches)
        nudges come up to a tick later; see "inotify"
    "#);
    insta::assert_snapshot!(with(&Beacon { version: "0.0.1".to_owned(), ..good.clone() }).unwrap(), @r#"
    ? daemon: pid PID watches, by inotify; it is version 0.0.1, this is 0.1.0
        run "watchdog start", which replaces it
    "#);
    insta::assert_snapshot!(with(&Beacon { faults: vec!["disk full".to_owned()], ..good.clone() }).unwrap(), @"
    ? daemon: pid PID watches, by inotify; disk full
        see .kiln/tmp/watchdog/watchdog.log
    ");
    let stuck = Beacon { last_tick: NOON - 3_600_000, last_tick_awake_ms: 1, ..good };
    insta::assert_snapshot!(with(&stuck).unwrap(), @r#"
    ! daemon: pid PID has not ticked for 1 h 00 min
        run "watchdog start", which replaces it
    "#);
    fs::remove_file(root.in_own("daemon.json")).unwrap();
    assert!(tree.project().ends_with("+ daemon: it is starting\n"));
}

#[test]
fn the_text_fits_a_terminal_and_says_what_it_comes_to() {
    let findings = [
        Finding::good("hooks", "all 14 events in /home/ada/project/.claude/settings.json"),
        Finding::fair(
            "folder",
            "there is no .kiln folder here or above: nothing is watched",
            "run this in the project, or name it with --root",
        ),
        Finding::wrong(
            "daemon",
            format!("none runs {}", "x".repeat(90)),
            "run \"watchdog start\"; a session that starts here does it too",
        ),
    ];
    let text = anstream::adapter::strip_str(&render(&findings)).to_string();
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    insta::assert_snapshot!(text, @r#"
    ok    hooks       all 14 events in /home/ada/project/.claude/settings.json
    warn  folder      there is no .kiln folder here or above: nothing is watched
            remedy    run this in the project, or name it with --root
    WRONG daemon      none runs
                      xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                      xxxxxxxxxxxxxxxxxxxxxxxxxxxx
            remedy    run "watchdog start"; a session that starts here does it too

    1 thing is wrong.
    "#);
    assert!(render(&findings[..1]).ends_with("\nAll is well.\n"));
    assert!(render(&findings[..2]).ends_with("\nNothing is wrong; 1 thing is worth a look.\n"));
    assert_eq!(findings[1].json()["ok"], json!("warn"));
    assert_eq!(findings[2].json()["ok"], json!(false));
    assert_eq!(findings[0].json()["remedy"], json!(null));
}
