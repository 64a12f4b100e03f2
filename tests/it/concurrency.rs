//! Many at once: one daemon, no lost update, one claim, no reader that sees half a file.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

use watchdog::model::event::{Event, What};

use crate::world::{
    Past, Ran, Running, SESSION, World, bridge, client, eventually, feed, launch, launch_with, prepare,
};

#[test]
fn fifty_starts_at_once_give_one_daemon() {
    let world = World::new("build");
    let payload = world.event("SessionStart", &json!({"source": "startup"})).to_string();
    let started: Vec<Running> = (0..50)
        .map(|place| match place % 2 {
            0 => launch(world.command(&["start"])),
            _ => launch_with(world.as_client("hook", &world.client), payload.as_bytes()),
        })
        .collect();
    let ended: Vec<Ran> = started.into_iter().map(Running::end).collect();
    for ran in &ended {
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    }
    world.daemon();
    let begun = world.count(|what| matches!(what, What::DaemonStart { .. }));
    assert_eq!(begun, 1, "no second one ever began");
    let said = |words: &str| ended.iter().filter(|ran| ran.out == words).count();
    assert!(said("A daemon was started.\n") <= 1);
    assert_eq!(said("A daemon was started.\n") + said("A daemon is watching.\n"), 25);
    assert_eq!(faults(&world), Vec::<String>::new());
}

#[test]
fn starts_and_stops_in_turn_end_with_what_was_asked_for_last() {
    let world = World::new("build");
    let turns: Vec<Running> =
        (0..20).map(|place| world.spawn(&[if place % 2 == 0 { "start" } else { "stop" }])).collect();
    for turn in turns {
        let ran = turn.end();
        // On a slow machine the last in the row may say that others are still at it, and give up.
        let gave_up = ran.code == 1 && ran.err.contains("another process has been starting a daemon here");
        assert!(gave_up || (ran.code, ran.err.as_str()) == (0, ""), "{ran:?}");
    }
    assert_eq!(world.run(&["start"]).code, 0);
    world.daemon();
    assert_eq!(world.run(&["stop"]).code, 0);
    eventually("no daemon is left", || world.daemons().is_empty());
    assert!(!world.root.in_tmp("watchdog.pid").exists());
}

#[test]
fn two_hundred_hooks_at_once_lose_no_update_while_the_daemon_nudges() {
    let world = World::with(
        "build",
        "[rule]\nidle_after = \"1s\"\nnudge_every = \"1h\"\n[daemon]\ntick = \"200ms\"\n",
    );
    world.backdate(&Past { idle: 900, ..Past::default() });
    assert_eq!(world.run(&["start"]).code, 0);
    let readers = [world.root.activity(), world.root.pending()].map(Reader::start);
    let hooks: Vec<Running> = (0..200)
        .map(|place| {
            let mate = json!({"agent_id": format!("a{place}"), "agent_type": format!("mate-{place}")});
            let payload = match place % 4 {
                0 | 1 => world.event("SubagentStart", &mate),
                2 => world
                    .event("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": format!("t{place}")})),
                _ => world.event("TeammateIdle", &json!({"teammate_name": format!("idler-{place}")})),
            };
            launch_with(world.as_client("hook", &world.client), payload.to_string().as_bytes())
        })
        .collect();
    for hook in hooks {
        assert_eq!(hook.end(), Ran::silence());
    }
    eventually("the daemon nudges", || nudges(&world) > 0);
    let [activities, nudges_read] = readers.map(Reader::stop);
    assert!(activities > 0, "the reader has read");
    assert_eq!(faults(&world), Vec::<String>::new());
    let activity = world.activity();
    let listed: Vec<&String> = activity["active_teammates"].as_object().unwrap().keys().collect();
    assert_eq!(listed.len(), 100, "{listed:?}");
    let events = world.journal();
    let writes = events.iter().filter(|event| event.is_work() || is_counted(event)).count();
    assert_eq!(events.iter().filter(|event| event.is_work()).count(), 200);
    assert_eq!(activity["epoch"], json!(7 + writes), "one for each write, none lost");
    assert_eq!((nudges(&world), &activity["nudge_count"]), (1, &json!(1)), "{nudges_read} nudges were read");
    assert_eq!(faults(&world), Vec::<String>::new());
    let sessions = watchdog::store::sessions::all(&world.root);
    assert_eq!(sessions.iter().map(|session| session.session_id.as_str()).collect::<Vec<_>>(), [SESSION]);
}

fn is_counted(event: &Event) -> bool {
    matches!(event.what, What::Nudged { n, .. } if n > 0)
}

fn nudges(world: &World) -> usize {
    world.journal().iter().filter(|event| is_counted(event)).count()
}

fn faults(world: &World) -> Vec<String> {
    let fault = |event: Event| if let What::Fault { fault } = event.what { Some(fault) } else { None };
    world.journal().into_iter().filter_map(fault).collect()
}

/// Reads a file in a tight loop; whatever is there must be whole.
struct Reader {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<usize>,
}

impl Reader {
    fn start(path: PathBuf) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut whole = 0;
            while !asked.load(Ordering::Relaxed) {
                if let Ok(bytes) = fs::read(&path) {
                    let value: Value = serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                        panic!("half a file: {error}: {}", String::from_utf8_lossy(&bytes))
                    });
                    assert!(value.is_object());
                    whole += 1;
                }
                thread::yield_now();
            }
            whole
        });
        Self { stop, thread }
    }

    fn stop(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("every read was whole")
    }
}

#[test]
fn a_crowd_of_first_events_registers_its_session_whole() {
    // Any event may be the first that is seen of a session, and many may come at once.
    let world = World::new("build");
    let session = watchdog::store::sessions::path(&world.root, SESSION);
    world.root.prepare().unwrap();
    for _ in 0..10 {
        let reader = Reader::start(session.clone());
        let payload =
            world.event("PreToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"})).to_string();
        let mut hooks: Vec<Running> =
            (0..20).map(|_| prepare(world.as_client("hook", &world.client))).collect();
        for hook in &mut hooks {
            feed(hook, payload.as_bytes());
        }
        for hook in hooks {
            assert_eq!(hook.end(), Ran::silence());
        }
        reader.stop();
        fs::remove_file(&session).expect("it was registered");
    }
    assert_eq!(faults(&world), Vec::<String>::new());
}

#[test]
fn a_session_that_begins_while_the_last_one_ends_is_watched() {
    let world = World::new("build");
    let mut before = client();
    world.hook_by(&before, &of(&world, "s-0", "SessionStart"));
    for round in 1..=10 {
        world.daemon();
        let after = client();
        let (old, new) = (format!("s-{}", round - 1), format!("s-{round}"));
        let mut pair = [
            (prepare(world.as_client("hook", &before)), of(&world, &old, "SessionEnd")),
            (prepare(world.as_client("hook", &after)), of(&world, &new, "SessionStart")),
        ];
        for (hook, payload) in &mut pair {
            feed(hook, payload.to_string().as_bytes());
        }
        for (hook, _) in pair {
            assert_eq!(hook.end().code, 0, "round {round}");
        }
        let sessions = watchdog::store::sessions::all(&world.root);
        let ids: Vec<&str> = sessions.iter().map(|session| session.session_id.as_str()).collect();
        assert_eq!(ids, [new.as_str()], "round {round}");
        before = after;
    }
    world.daemon();
}

fn of(world: &World, session: &str, event: &str) -> Value {
    world.event(event, &json!({"session_id": session, "source": "startup", "reason": "other"}))
}

#[test]
fn twenty_checks_at_once_stage_one_nudge() {
    let world = World::new("build");
    world.backdate(&Past::default());
    let checks: Vec<Running> = (0..20).map(|_| world.spawn(&["check", "--act", "--json"])).collect();
    let done = checks
        .into_iter()
        .map(Running::end)
        .filter(|ran| {
            assert_eq!((ran.code, ran.err.as_str()), (0, ""));
            serde_json::from_str::<Value>(&ran.out).is_ok_and(|verdict| verdict["done"] == true)
        })
        .count();
    assert_eq!((done, nudges(&world)), (1, 1));
    let activity = world.activity();
    assert_eq!((&activity["nudge_count"], &activity["epoch"]), (&json!(1), &json!(8)));
}

const TEXT: &str = "KILN DEADLOCK WATCHDOG: the one and only.";

fn stage(world: &World) {
    world.write_pending(&json!({"additionalContext": TEXT, "timestamp": 1, "nudge_n": 1, "id": "x-1"}));
}

/// Counts the processes that brought the text to a model.
fn deliveries(ended: &[Ran]) -> usize {
    ended
        .iter()
        .filter(|ran| match ran.code {
            0 if ran.out.is_empty() => false,
            0 => {
                assert_eq!(ran.context("PreToolUse"), TEXT);
                true
            }
            _ => {
                assert_eq!(
                    (ran.code, ran.err.as_str()),
                    (2, format!("KILN ASYNC REWAKE: {TEXT}\n").as_str())
                );
                true
            }
        })
        .count()
}

fn takers(world: &World, count: usize) -> Vec<(Running, String)> {
    (0..count)
        .map(|place| {
            let payload = if place % 2 == 0 {
                world.event("PreToolUse", &json!({"tool_name": "Read", "tool_use_id": format!("t{place}")}))
            } else {
                world.event("FileChanged", &json!({"file_path": world.root.pending(), "event": "add"}))
            };
            (prepare(world.as_client("hook", &world.client)), payload.to_string())
        })
        .collect()
}

#[test]
fn of_many_hooks_at_once_exactly_one_takes_the_nudge() {
    let world = World::new("build");
    world.silent(&world.event("UserPromptSubmit", &json!({"prompt": "begin"})));
    for round in 1..=5 {
        let mut hooks = takers(&world, 20);
        stage(&world);
        for (hook, payload) in &mut hooks {
            feed(hook, payload.as_bytes());
        }
        let ended: Vec<Ran> = hooks.into_iter().map(|(hook, _)| hook.end()).collect();
        assert_eq!(deliveries(&ended), 1, "round {round}");
        assert_eq!(world.pending(), None);
        assert_eq!(world.count(|what| matches!(what, What::Claimed { .. })), round);
    }
}

#[test]
fn of_hooks_and_bridges_at_once_exactly_one_takes_the_nudge() {
    let world = World::new("build");
    world.silent(&world.event("UserPromptSubmit", &json!({"prompt": "begin"})));
    let clients: Vec<Running> = (0..4).map(|_| client()).collect();
    let mut bridges: Vec<Running> = clients
        .iter()
        .enumerate()
        .map(|(place, of)| bridge(&world, of, &format!("session-{place}")))
        .collect();
    let mut hooks = takers(&world, 10);
    for (place, (hook, payload)) in hooks.iter_mut().enumerate() {
        if place == 5 {
            stage(&world);
        }
        feed(hook, payload.as_bytes());
    }
    let mut ended: Vec<Ran> = hooks.into_iter().map(|(hook, _)| hook.end()).collect();
    eventually("somebody takes it", || world.count(|what| matches!(what, What::Claimed { .. })) == 1);
    // Those that still wait have nothing to say when they are asked to end.
    for waiting in &bridges {
        watchdog::system::process::Identity::open(waiting.identity())
            .map(|handle| handle.signal(rustix::process::Signal::TERM));
    }
    ended.extend(bridges.drain(..).map(Running::end));
    assert_eq!(deliveries(&ended), 1);
    assert_eq!(world.pending(), None);
}
