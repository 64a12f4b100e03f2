//! What the team does, phase by phase: work in crowds, long tools, questions, silence, crashes, departures.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use serde_json::json;

use watchdog::model::event::{Event, What};
use watchdog::store::{activity_file, flag_file, journal, pending};
use watchdog::system::clock;

use super::chance::Chance;
use super::field::{Field, Hush};

/// Sessions at the same time.
const MOST: usize = 50;
/// Threads that run hooks.
const THREADS: usize = 6;

/// How often each phase came.
#[derive(Debug, Default)]
pub(crate) struct Tally(BTreeMap<&'static str, usize>);

impl Tally {
    pub(crate) fn words(&self) -> String {
        self.0.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    }
}

/// Runs one phase, by chance. In calm phases nothing ends the daemon, so that one of them grows old.
pub(crate) fn next(field: &mut Field, chance: &mut Chance, tally: &mut Tally, calm: bool) -> &'static str {
    if !calm && chance.one_in(8) {
        field.kill_daemon();
    }
    gather(field, chance);
    work(field, chance);
    let name = match chance.below(if calm { 14 } else { 22 }) {
        0..=4 => crowd(field, chance, calm),
        5 | 6 => long_tool(field),
        7 | 8 => question(field),
        9..=13 => nudged(field, chance, calm),
        14..=16 => left_alone(field),
        17 | 18 => killed_in_silence(field),
        19 => crashes(field, chance),
        20 => all_crash(field),
        _ => all_leave(field),
    };
    *tally.0.entry(name).or_default() += 1;
    name
}

/// Sessions come until there are enough.
fn gather(field: &mut Field, chance: &mut Chance) {
    let wanted = if chance.one_in(4) { MOST } else { 2 + chance.below(MOST - 2) };
    for _ in 0..6 {
        if field.sessions.len() < wanted || field.sessions.is_empty() {
            let place = field.come();
            field.hook(place, "UserPromptSubmit", &json!({"prompt": "go on"}));
        }
    }
    if field.sessions.len() > 2 && chance.one_in(3) {
        let place = chance.below(field.sessions.len());
        field.go(place);
    }
    ensure_daemon(field);
}

/// A write brings a daemon that was killed back.
fn ensure_daemon(field: &Field) {
    if flag_file::is_there(&field.root) {
        field.hook(0, "SessionStart", &json!({"source": "resume"}));
    }
    field.tool(0, "Write");
    field.wait("a daemon runs after a write", |field| field.daemon().is_some());
}

/// Many sessions work at once.
fn work(field: &Field, chance: &mut Chance) {
    let turns: Vec<(Chance, usize)> = (0..THREADS).map(|thread| (chance.split(), thread)).collect();
    thread::scope(|scope| {
        for (mut chance, thread) in turns {
            scope.spawn(move || {
                for _ in 0..4 {
                    let mine = field.sessions.len().div_ceil(THREADS);
                    let place = (thread * mine + chance.below(mine)).min(field.sessions.len() - 1);
                    one_turn(field, place, &mut chance);
                }
            });
        }
    });
}

fn one_turn(field: &Field, place: usize, chance: &mut Chance) {
    match chance.below(6) {
        0 => {
            field.hook(place, "UserPromptSubmit", &json!({"prompt": "next"}));
        }
        1 => {
            let more = json!({"agent_id": format!("a{}", chance.below(9)), "agent_type": "coder"});
            field.hook(place, "SubagentStart", &more);
            field.hook(place, "SubagentStop", &more);
        }
        _ => field.tool(place, if chance.one_in(2) { "Read" } else { "Bash" }),
    }
}

/// Much work without a pause, with the daemon killed in the middle of it now and then. Events that mean nothing make
/// the journal grow as hours of work would, so that it is rotated meanwhile.
fn crowd(field: &Field, chance: &mut Chance, calm: bool) -> &'static str {
    let mut killer = (!calm && chance.one_in(2)).then(|| chance.split());
    thread::scope(|scope| {
        if let Some(chance) = &mut killer {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(chance.below(2000) as u64));
                field.kill_daemon()
            });
        }
        scope.spawn(|| chatter(field));
        for _ in 0..3 {
            work(field, chance);
        }
    });
    ensure_daemon(field);
    "work"
}

/// Some 300 KiB of lines.
fn chatter(field: &Field) {
    let session = field.sessions[0].id.clone();
    for _ in 0..60 {
        let what = || What::Other { hook: "SomethingOfLater".to_owned() };
        let event = || Event { session: session.clone(), ..Event::of_root(clock::now().wall, what()) };
        let events: Vec<Event> = (0..50).map(|_| event()).collect();
        if let Err(error) = journal::append(&field.root, &events) {
            field.violate(error.to_string());
        }
    }
}

/// Notes a time in which no nudge may come.
fn hush(field: &Field, from: i64, why: &'static str) {
    field.hushes.lock().unwrap().push(Hush { from, to: clock::now().wall, why });
}

/// Longer than any stall: the workload itself, not a wait for something.
const LONG: Duration = Duration::from_secs(6);

fn long_tool(field: &Field) -> &'static str {
    let more = json!({"tool_name": "Bash", "tool_use_id": field.call()});
    let from = field.hook(0, "PreToolUse", &more).ended;
    thread::sleep(LONG);
    hush(field, from, "a tool was running");
    field.hook(0, "PostToolUse", &more);
    "long tool"
}

fn question(field: &Field) -> &'static str {
    let more = json!({"tool_name": "Bash", "tool_use_id": field.call()});
    field.hook(0, "PreToolUse", &more);
    let from = field.hook(0, "PermissionRequest", &json!({"tool_name": "Bash"})).ended;
    thread::sleep(LONG);
    hush(field, from, "a person was asked");
    field.hook(0, "PostToolUse", &more);
    "question"
}

fn is_act(event: &Event) -> bool {
    matches!(event.what, What::Nudged { n: 1.., .. } | What::Escalated { .. })
}

fn acts(field: &Field) -> usize {
    field.recorded(|events| events.iter().filter(|event| is_act(event)).count())
}

/// All are silent until the daemon does something about it, or has done so since there were `before` acts.
fn silence(field: &Field, before: usize) -> bool {
    field.wait("a nudge or a flag after a silence", |field| {
        acts(field) > before || flag_file::is_there(&field.root)
    })
}

/// A stall; then the lead and others all reach for the nudge at once.
fn nudged(field: &mut Field, chance: &mut Chance, calm: bool) -> &'static str {
    if !silence(field, acts(field)) || flag_file::is_there(&field.root) {
        return "escalated";
    }
    let owner = match pending::look(&field.root) {
        pending::Pending::Staged(nudge) => nudge.session.unwrap_or_default(),
        _ => String::new(),
    };
    let owner = field.sessions.iter().position(|session| session.id == owner).unwrap_or(0);
    let pending = field.root.pending();
    let others: Vec<usize> = (0..3).map(|_| chance.below(field.sessions.len())).collect();
    let field = &*field;
    let pending = &pending;
    thread::scope(|scope| {
        for _ in 0..2 {
            let read = json!({"tool_name": "Read", "tool_use_id": field.call()});
            scope.spawn(move || {
                field.hook(owner, "PreToolUse", &read);
                field.hook(owner, "PostToolUse", &read);
            });
            scope.spawn(move || {
                field.hook(owner, "FileChanged", &json!({"file_path": pending, "event": "add"}))
            });
        }
        for place in others {
            scope.spawn(move || field.hook(place, "UserPromptSubmit", &json!({"prompt": "and?"})));
        }
    });
    if calm {
        recover(field);
    }
    "nudged"
}

/// Works for as long as ends an episode.
fn recover(field: &Field) {
    let is_open = |field: &Field| {
        activity_file::load(&field.root).is_some_and(|loaded| loaded.activity.nudge_count > 0)
    };
    field.wait("the episode is closed by work", |field| {
        field.tool(0, "Read");
        !is_open(field)
    });
}

/// A stall that nobody cares about: the flag, and the next session clears it.
fn left_alone(field: &mut Field) -> &'static str {
    field.wait("the flag, when nudges do not help", |field| flag_file::is_there(&field.root));
    let place = field.come();
    if flag_file::is_there(&field.root) {
        field.violate("a new session leaves the flag where it was".to_owned());
    }
    field.hook(place, "UserPromptSubmit", &json!({"prompt": "what happened?"}));
    "left alone"
}

/// The daemon dies in a silence: nothing can come until a session brings it back, and then it must.
fn killed_in_silence(field: &mut Field) -> &'static str {
    if !field.kill_daemon() {
        return "killed in silence (no daemon)";
    }
    let from = clock::now().wall;
    thread::sleep(LONG);
    hush(field, from, "no daemon ran");
    let before = acts(field);
    field.come();
    silence(field, before);
    "killed in silence"
}

/// Some clients die; the others go on.
fn crashes(field: &mut Field, chance: &mut Chance) -> &'static str {
    let mut lost = Vec::new();
    while field.sessions.len() > 2 && lost.len() < 4 {
        let place = 1 + chance.below(field.sessions.len() - 1);
        lost.push(field.crash(place));
    }
    ensure_daemon(field);
    let is_lost = |field: &Field| {
        field.recorded(|events| {
            let ends = |event: &&Event| matches!(event.what, What::SessionLost);
            lost.iter().all(|id| events.iter().filter(ends).any(|event| event.session == *id))
        })
    };
    field.wait("clients that died are noticed", is_lost);
    "crashes"
}

/// All clients die: a flag that says so, and the next session starts over.
fn all_crash(field: &mut Field) -> &'static str {
    while !field.sessions.is_empty() {
        field.crash(0);
    }
    field.wait("a flag when all clients died", |field| flag_file::is_there(&field.root));
    field.come();
    "all crash"
}

/// All sessions end by their own word: the transient files go with them.
fn all_leave(field: &mut Field) -> &'static str {
    while !field.sessions.is_empty() {
        field.go(0);
    }
    field.wait("activity.json goes with the last session", |field| !field.root.activity().exists());
    field.wait("the daemon goes with the last session", |field| field.daemon().is_none());
    let deeds = field.deeds.lock().unwrap().len();
    let events = field.recorded(<[Event]>::len);
    field.life = (deeds, events, field.kills());
    "all leave"
}
