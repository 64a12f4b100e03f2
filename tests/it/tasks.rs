//! Task folders under a real daemon: freshness across a restart, and two thousand of them in a minute.

use std::fs;
use std::path::Path;

use serde_json::json;

use watchdog::model::event::What;
use watchdog::model::track::State;
use watchdog::protocol::worker_mark;
use watchdog::store::journal;
use watchdog::system::clock;

use crate::world::{World, eventually, gone, put};

/// A stamp of so many seconds ago.
fn ago(seconds: i64) -> String {
    worker_mark::stamp(clock::now().wall - seconds * 1000)
}

fn signal(folder: &Path, status: &str, stamp: &str) {
    fs::create_dir_all(folder).unwrap();
    let value = json!({"status": status, "step": "Build", "timestamp": stamp});
    put(&folder.join("SIGNAL.json"), value.to_string().as_bytes());
}

/// What the journal says of a track.
fn states(world: &World, track: &str) -> Vec<State> {
    let said = |what: &What| match what {
        What::Track(said) if said.track == track => Some(said.state),
        _ => None,
    };
    world.journal().iter().filter_map(|event| said(&event.what)).collect()
}

fn findings(world: &World, rule: &str) -> Vec<String> {
    let found = |what: &What| match what {
        What::Found(found) if found.rule == rule => Some(found.place.clone()),
        _ => None,
    };
    world.journal().iter().filter_map(|event| found(&event.what)).collect()
}

fn start(world: &World) {
    assert_eq!(world.run(&["start", "--set", "daemon.tick=100ms"]).code, 0);
    world.daemon();
}

#[test]
fn the_freshness_floor_outlives_a_restart_of_the_daemon() {
    let world = World::new("build");
    let folder = |name: &str| world.path().join(".task/fix").join(name);
    start(&world);
    signal(&folder("p-1"), "running", &ago(0));
    signal(&folder("p-2"), "running", &ago(0));
    eventually("both are seen at work", || {
        [".task/fix/p-1", ".task/fix/p-2"]
            .iter()
            .all(|name| states(&world, &format!("task:{name}")) == [State::Running])
    });
    assert_eq!(world.run(&["stop"]).code, 0);
    // While nobody watches: one ends, one gets the signal of an earlier dispatch, one comes and ends.
    signal(&folder("p-1"), "complete", &ago(0));
    signal(&folder("p-2"), "complete", &ago(3600));
    signal(&folder("p-3"), "failed", &ago(0));
    start(&world);
    eventually("what came meanwhile is taken", || {
        states(&world, "task:.task/fix/p-1") == [State::Running, State::Done]
            && states(&world, "task:.task/fix/p-3") == [State::Failed]
    });
    eventually("what is stale is shown as such", || {
        findings(&world, "stale-signal") == [".task/fix/p-2/SIGNAL.json"]
    });
    assert_eq!(states(&world, "task:.task/fix/p-2"), [State::Running], "and is not taken");
    // A probe knows what the daemon knows; the evidence of p-1 is not there.
    let probe = |name: &str, more: &[&str]| {
        let folder = format!(".task/fix/{name}");
        world.run(&[&["signal", "probe", folder.as_str()], more].concat()).code
    };
    assert_eq!((probe("p-1", &[]), probe("p-2", &[]), probe("p-3", &[])), (18, 17, 0));
    assert_eq!(probe("p-2", &["--since", "any"]), 18);
    // Another daemon, killed this time, repeats nothing and knows the same.
    let daemon = world.daemon();
    crate::world::signal(daemon, rustix::process::Signal::KILL);
    gone(daemon);
    let before = world.journal().len();
    start(&world);
    signal(&folder("p-2"), "complete", &ago(0));
    eventually("the end of this attempt is taken", || {
        states(&world, "task:.task/fix/p-2") == [State::Running, State::Done]
    });
    let more: Vec<What> = world.journal().split_off(before).into_iter().map(|event| event.what).collect();
    let is_track = |what: &&What| matches!(what, What::Track(_) | What::Found(_) | What::TrackGone { .. });
    assert_eq!(more.iter().filter(is_track).count(), 1, "{more:?}");
}

#[test]
fn a_worker_that_runs_again_where_one_ended_is_heard_at_once() {
    // The tick alone would be too late.
    let world = World::with("build", "[daemon]\ntick = \"10m\"\n");
    let path = world.path().join(".task/fix/p-1");
    fs::create_dir_all(&path).unwrap();
    assert_eq!(world.run(&["start"]).code, 0);
    let state = || {
        let ledger = journal::fold(&world.root).unwrap();
        ledger.tracks.get("task:.task/fix/p-1").map(|track| track.said.state)
    };
    for (status, wanted) in [
        ("running", State::Running),
        ("blocked", State::Blocked),
        ("running", State::Running),
        ("complete", State::Done),
        ("running", State::Running),
        ("blocked", State::Blocked),
    ] {
        signal(&path, status, &ago(0));
        eventually("the signal is noted", || state() == Some(wanted));
    }
}

#[test]
fn two_thousand_workers_come_and_end_and_none_is_missed() {
    const FLOWS: usize = 10;
    const EACH: usize = 200;
    let world = World::with("build", "[daemon]\ntick = \"1s\"\n");
    assert_eq!(world.run(&["start"]).code, 0);
    let daemon = world.daemon();
    let folder = |flow: usize, task: usize| world.path().join(format!(".task/flow-{flow}/t-{task}"));
    let each = || (0..FLOWS).flat_map(|flow| (0..EACH).map(move |task| (flow, task)));
    // A third says that it runs, and ends while the next ones come; the others are there with their end.
    let mut at_work = Vec::new();
    for (flow, task) in each() {
        let path = folder(flow, task);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("TASK.md"), "- [ ] a\n").unwrap();
        if task % 3 == 0 {
            signal(&path, "running", &ago(0));
            at_work.push(path);
        } else {
            signal(&path, if task % 2 == 0 { "complete" } else { "failed" }, &ago(0));
        }
        if at_work.len() > 100 {
            at_work.drain(..50).for_each(|path| signal(&path, "blocked", &ago(0)));
        }
    }
    for path in at_work {
        signal(&path, "blocked", &ago(0));
    }
    let ended = |state: State| {
        let ledger = journal::fold(&world.root).unwrap();
        ledger.tracks.all.values().filter(|track| track.said.state == state).count()
    };
    eventually("every end is in the journal", || {
        ended(State::Done) + ended(State::Failed) + ended(State::Blocked) == FLOWS * EACH
    });
    let wanted = |is: fn(usize) -> bool| FLOWS * (0..EACH).filter(|task| is(*task)).count();
    assert_eq!(ended(State::Blocked), wanted(|task| task % 3 == 0));
    assert_eq!(ended(State::Done), wanted(|task| task % 3 != 0 && task % 2 == 0));
    assert_eq!(ended(State::Failed), wanted(|task| task % 3 != 0 && task % 2 == 1));
    assert_eq!(findings(&world, "stale-signal"), [""; 0]);
    // When all have ended, the newest are watched for a worker that runs again, and no more than the bound.
    eventually("watches are bounded", || (500..=512 + 8).contains(&watches(daemon.pid)));
    let memory = memory(daemon.pid);
    println!("resident after {} task folders: {memory} KiB", FLOWS * EACH);
    assert!(memory < 40 * 1024, "{memory} KiB are resident");
}

/// The watches of a process for file events.
fn watches(pid: i32) -> usize {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fdinfo")) else { return usize::MAX };
    let texts = entries.flatten().filter_map(|entry| fs::read_to_string(entry.path()).ok());
    texts.map(|text| text.lines().filter(|line| line.starts_with("inotify wd:")).count()).sum()
}

/// What a process keeps in memory, KiB.
fn memory(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
