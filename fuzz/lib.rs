//! What must hold of each parser for any bytes. A target panics when it does not; `fuzz_targets/` holds the entry points.

mod ledger;
mod team;

use std::path::Path;

use serde_json::Value;
use watchdog::model::event::Event;
use watchdog::model::policy::Policy;
use watchdog::protocol::frame::Frame;
use watchdog::protocol::guards::artifact::{self, Kind};
use watchdog::protocol::guards::review::Evidence;
use watchdog::protocol::guards::{self, browser, proof, secrets, shell};
use watchdog::protocol::payload::{self, Payload};
use watchdog::protocol::sketch::{self, Sketch};
use watchdog::protocol::translate::{self, Client};
use watchdog::protocol::{
    activity_json, api_error, checklist as checklists, client_settings, flag_json, hook_table,
    message as messages, nudge_json, plan_queue, stamp as stamps, state_md as states, subctl, worker_mark,
    worker_signal as signals, worker_terminal, worker_track,
};
use watchdog::store::config::Config;
use watchdog::store::journal as journals;
use watchdog::store::settings::KEYS;

pub use ledger::ledger;
pub use team::team;

/// Blows a marker byte, at most twice, up to a run that is longer than a string that is kept whole.
fn blown_up(bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut left = 2;
    let mut all = Vec::with_capacity(bytes.len());
    for byte in bytes {
        if *byte == 0x01 && left > 0 {
            left -= 1;
            all.extend_from_slice(&[b'x'; 65_533]);
        } else {
            all.push(*byte);
        }
    }
    (all, left < 2)
}

/// However a stream is cut into pieces, the same value comes out; what is JSON before is JSON after.
pub fn frame(bytes: &[u8]) {
    let Some((&step, rest)) = bytes.split_first() else { return };
    let (text, is_long) = if step % 8 == 0 { blown_up(rest) } else { (rest.to_vec(), false) };
    let mut whole = Frame::default();
    let complete = whole.push(&text);
    let mut pieces = Frame::default();
    let size = if is_long { 1 + usize::from(step) * 97 } else { 1 + usize::from(step % 16) };
    let done = text.chunks(size).any(|piece| pieces.push(piece));
    assert_eq!(done, complete, "pieces of {size}");
    assert_eq!(pieces.is_object(), whole.is_object());
    let kept = whole.into_bytes();
    assert_eq!(pieces.into_bytes(), kept, "pieces of {size}");
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    if !matches!(first, Some(b'{' | b'[' | b'"')) {
        return;
    }
    let Ok(before) = sketch::read(&text) else { return };
    assert!(complete, "a whole value is not seen to be whole");
    let after = sketch::read(&kept).expect("what is kept of JSON is JSON");
    assert!(is_long || before == after, "what is kept tells something else");
}

/// No JSON is refused, nothing grows without bound.
pub fn sketch(bytes: &[u8]) {
    let sketch = sketch::read(bytes);
    if let Err(error) = &sketch {
        let value = serde_json::from_slice::<Value>(bytes);
        assert!(value.is_err(), "JSON is refused: {error}");
        return;
    }
    let sketch = sketch.expect("just looked");
    bounded(&sketch, 0);
    let mut hasher = std::hash::DefaultHasher::new();
    sketch.digest(&mut hasher);
}

fn bounded(sketch: &Sketch, depth: usize) {
    assert!(depth <= 7);
    match sketch {
        Sketch::List(list) => {
            assert!(list.len() <= 256);
            list.iter().for_each(|value| bounded(value, depth + 1));
        }
        Sketch::Object(members) => {
            assert!(members.len() <= 256);
            for (key, value) in members {
                sketch.get(key);
                bounded(value, depth + 1);
            }
        }
        plain => assert!(plain.number().is_none() || plain.truth().is_none()),
    }
}

/// Whatever a client delivers becomes one short line of the journal that reads back as it was.
pub fn payload(bytes: &[u8]) {
    let Some(payload) = payload::read(bytes) else { return };
    assert!(!payload.event.is_empty());
    let client = Client { pid: Some(7), entry: "cli" };
    let event = translate::event(&payload, client, 1_790_000_000_000);
    assert!(payload.source().starts_with(&payload.event));
    let of_prompt = payload.is_own_wake() && payload.background().is_some();
    assert!(!of_prompt || payload.field("prompt").contains("<task-notification>"));
    assert!(!translate::failure_name(&payload).is_empty());
    assert!(translate::failure_text(&payload).len() <= bytes.len() * 3);
    same_line(&event);
}

fn same_line(event: &Event) {
    let line = serde_json::to_vec(event).expect("an event can be written");
    assert!(line.len() < 16 * 1024, "{} bytes", line.len());
    assert!(!line.contains(&b'\n'));
    assert_eq!(journals::parse_line(&line).as_ref(), Some(event));
}

/// What is read is written such that it reads the same, with nothing left to complain of.
pub fn activity_json(bytes: &[u8]) {
    let first = activity_json::read(bytes);
    assert!(!first.has_stamp || first.activity.last_activity_ts >= 0);
    let written = activity_json::write(&first.activity);
    let second = activity_json::read(&written);
    assert_eq!(second.faults, [""; 0], "of what we wrote");
    assert_eq!(second.activity, first.activity);
}

/// The same for a staged message, which always has a text.
pub fn nudge_json(bytes: &[u8]) {
    let Some(nudge) = nudge_json::read(bytes) else { return };
    assert!(!nudge.text.trim().is_empty() && nudge.timestamp >= 0);
    assert_eq!(nudge_json::read(&nudge_json::write(&nudge)), Some(nudge));
}

/// The same for a flag, which reads as one whatever it holds.
pub fn flag_json(bytes: &[u8]) {
    let flag = flag_json::read(bytes);
    assert_eq!(flag_json::read(&flag_json::write(&flag)), flag);
}

/// A stage is one word, and written plainly it reads the same; line ends do not matter.
pub fn state_md(bytes: &[u8]) {
    let stage = states::stage(bytes);
    let unix: Vec<u8> = bytes.iter().map(|byte| if *byte == b'\r' { b'\n' } else { *byte }).collect();
    assert_eq!(states::stage(&unix), stage);
    let Some(stage) = stage else { return };
    assert!(!stage.is_empty() && !stage.contains(char::is_whitespace));
    assert_eq!(states::stage(format!("- **stage**: {stage}\r\n").as_bytes()), Some(stage));
}

/// A signal that is taken fits the matrix; every fault is one short line; what `mark` makes of any signal is valid.
pub fn worker_signal(bytes: &[u8]) {
    let reading = signals::read(bytes);
    for fault in &reading.faults {
        let told = fault.to_string();
        assert!(!told.contains(char::is_control) && told.chars().count() < 400, "{told}");
    }
    assert!(reading.signal.is_some() || reading.breaches().next().is_some());
    if let Some(signal) = &reading.signal {
        assert_eq!(signal.status.is_terminal(), signal.outcome.is_some());
        assert_eq!(signal.status.is_terminal(), signal.disposition.is_some());
        let said = worker_track::said("task:x", signal);
        same_line(&Event::of_root(7, watchdog::model::event::What::Track(Box::new(said))));
    }
    let Ok(Value::Object(before)) = serde_json::from_slice(bytes) else { return };
    let scene = worker_mark::Scene {
        checklist: "SELF-REVIEW.md",
        before: &before,
        item: None,
        open: 0,
        attempt: "a-1",
        report: None,
        now: 1_790_000_000_000,
    };
    let next = worker_mark::signal(&worker_mark::Command::Start, scene);
    let reading = signals::read(next.to_string().as_bytes());
    assert_eq!(reading.faults, []);
    assert_eq!(reading.signal.map(|signal| signal.attempt).as_deref(), Some("a-1"));
}

/// An item's mark is one byte, and an item that is ticked is seen as ticked, at the same place.
pub fn checklist(bytes: &[u8]) {
    let items = checklists::items(bytes);
    for item in &items {
        assert!(item.label.chars().count() <= 200 && !item.label.contains(char::is_control));
        let next = checklists::ticked(bytes, item);
        let changed = next.iter().zip(bytes).filter(|(a, b)| a != b).count();
        assert_eq!((next.len(), changed), (bytes.len(), usize::from(!item.is_done)));
        let again = checklists::items(&next);
        assert_eq!(again.len(), items.len());
        assert!(again[item.number - 1].is_done);
    }
}

/// A contract demands nothing outside the task folder, and one that is broken demands what is built in.
pub fn worker_contract(bytes: &[u8]) {
    use worker_terminal::{Contract, Ending, Shelf, is_inside};
    let (contract, faults) = Contract::read(bytes, Some("fix"));
    assert!(faults.is_empty() || contract == Contract::of_flow(Some("fix")));
    for ending in [Ending::Complete, Ending::NoChange, Ending::Blocked] {
        let audit = contract.audit(ending, false, |_| Shelf::Absent);
        assert!(audit.lacks.iter().flat_map(|lack| &lack.paths).all(|path| is_inside(path)));
        let audit = contract.audit(ending, true, |_| Shelf::Full);
        assert_eq!(audit.lacks, []);
    }
    worker_mark::manifest(bytes).map(|target| assert!(!target.signal.contains('/'))).ok();
}

/// Whatever is written for a time lies between 1970 and the end of all units.
pub fn stamp(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let in_range = |millis: i64| assert!((0..100_000_000_000_000).contains(&millis), "{millis}");
    if let Some(millis) = stamps::iso(&text) {
        in_range(millis);
    }
    if let Some(millis) = stamps::utc(&text) {
        in_range(millis);
        assert!(stamps::iso(&text).is_none_or(|other| other == millis), "two readings of one stamp");
    }
    if let Some(millis) = stamps::read(&Value::String(text.clone().into_owned())) {
        in_range(millis);
    }
    if let Some(millis) = serde_json::from_str::<Value>(&text).ok().as_ref().and_then(stamps::read) {
        in_range(millis);
    }
}

/// A head is a word in capitals; a message tells who and which signal, whatever shape it has.
pub fn message(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(head) = messages::head(&text) {
        let is_plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        assert!(head.len() >= 3 && head.chars().all(is_plain), "{head}");
        assert_eq!(messages::head(&head), Some(head));
    }
    let Ok(fields) = sketch::read(bytes) else { return };
    let message = messages::read(fields.get("tool_input"), fields.get("tool_response"));
    assert_eq!(message.hash.len(), 8);
    if let Some(payload) = Payload::of(fields) {
        assert_eq!(payload.message().is_some(), payload.tool() == "SendMessage");
        for breach in subctl::breaches(&payload, bytes.len() % 2 == 0) {
            let told = breach.words() + &breach.key("impl-1");
            assert!(!told.contains(char::is_control) && told.chars().count() <= 1000, "{told}");
        }
    }
}

/// A queue of plans reads the same in pieces, and what expires is a full record that counts.
pub fn plan_queue(bytes: &[u8]) {
    let mut whole = plan_queue::Queue::default();
    let taken = whole.take(bytes);
    let mut pieces = plan_queue::Queue::default();
    let first = pieces.take(&bytes[..bytes.len() / 2]);
    assert_eq!(first + pieces.take(&bytes[first..]), taken);
    assert_eq!(pieces, whole);
    for line in bytes.split(|byte| *byte == b'\n') {
        let Some(expired) = plan_queue::expired(line, 1_800_000_000_000) else { continue };
        assert!(expired.ends_with(b"\n") && lines(&expired) == 1, "one line");
        let (mut before, mut after) = (plan_queue::Queue::default(), plan_queue::Queue::default());
        before.push(line);
        after.push(&expired);
        assert!(before.records.keys().all(|id| after.records.contains_key(id)));
    }
}

fn lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// A failed turn is sorted under one advice, and a reset time is a time.
pub fn api_error(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (error, words) = text.split_once('\n').unwrap_or(("server_error", &text));
    let sorted = api_error::sort(error, words, 1_700_000_000_000);
    assert_eq!(sorted.error, error);
    assert!(!(sorted.holds() && sorted.needs_a_person()));
    assert!(sorted.reset_at.is_none_or(|at| at >= 0));
}

/// Whatever a journal holds, its lines fold, and a line that a torn one runs into is found.
pub fn journal(bytes: &[u8]) {
    for event in journals::parse(bytes) {
        let line = serde_json::to_vec(&event).expect("an event can be written");
        assert_eq!(
            journals::parse_line(&line).as_ref(),
            Some(&event),
            "a line does not read as it was written"
        );
    }
    let torn = bytes.split(|byte| *byte == b'\n').next_back().unwrap_or_default();
    let event = Event::of_root(7, watchdog::model::event::What::TurnEnd);
    let mut line = torn.to_vec();
    serde_json::to_writer(&mut line, &event).expect("an event can be written");
    assert_eq!(journals::parse_line(&line), Some(event), "a torn line hides the next");
}

/// `install` ends, is done once, and `uninstall` gives back every byte.
pub fn client_settings(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let table = hook_table::registrations("/opt/watchdog", Some(std::time::Duration::from_secs(60)), false);
    let entries = client_settings::entries(text);
    assert_eq!(client_settings::uninstall(text, None).is_err(), entries.is_err());
    let Ok(done) = client_settings::install(text, &table) else { return };
    assert_eq!(client_settings::outdated(&done, &table).expect("it was just read"), [""; 0]);
    assert_eq!(client_settings::install(&done, &table).as_ref(), Ok(&done), "not done at once");
    let undone = client_settings::uninstall(&done, Some(text)).expect("it was just read");
    if entries.is_ok_and(|entries| entries.is_empty()) {
        assert_eq!(undone.as_deref(), Some(text), "uninstall does not give back what was there");
    }
    let is_plain = |text: &str| client_settings::beyond_json(text).is_ok_and(|fault| fault.is_none());
    if is_plain(text) {
        let bare = done.trim_start_matches('\u{feff}');
        assert!(is_plain(&done), "install makes plain JSON more than that");
        if serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')).is_ok() {
            serde_json::from_str::<Value>(bare).expect("JSON stays JSON");
        }
    }
}

/// Every artifact of a pipeline is held against its schema, in bounds, and what is told of it is harmless.
pub fn artifact(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let evidence = Evidence::Read(text.to_string());
    for kind in [Kind::Mind, Kind::Tdd, Kind::Review, Kind::Freshness] {
        let found = artifact::check(kind, &text, &text, &evidence);
        let told = guards::text(&text, &found);
        assert!(
            told.starts_with(guards::MARK) && told.chars().count() <= 2000,
            "{} characters",
            told.chars().count()
        );
        assert!(!told.chars().any(|c| c.is_control() && c != '\n'), "a control character is told");
        assert!(guards::names(&found).chars().count() <= 400);
    }
    artifact::kind(&text);
    proof::qa(&text);
    browser::asks(&text);
    browser::is_told(&text);
    browser::is_run(&text);
}

/// A shell command is read in bounds; a file of secrets that stands in it as a plain word is seen.
pub fn shell(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let words = shell::words(&text);
    assert!(words.len() <= text.len() && words.iter().all(|word| word.len() <= text.len()));
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'/' | b'.'));
    if plain {
        let words = shell::words(&format!("{text}; cat ./.env"));
        assert!(words.iter().any(|word| secrets::glob_of(word) == Some(".env")), "a plain word is not seen");
    }
}

/// Settings that are taken read the same when they are shown; those that are not name the file and the line.
pub fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut config = Config::default();
    if let Err(error) = config.take_text(text, Path::new("watchdog.toml")) {
        let line = error.place.strip_prefix("watchdog.toml:").and_then(|line| line.parse::<usize>().ok());
        let last = text.split('\n').count();
        assert!(line.is_some_and(|line| (1..=last).contains(&line)), "{error}");
        return;
    }
    let mut again = Policy { alerts: config.policy.alerts.clone(), ..Policy::default() };
    for key in KEYS {
        let shown = (key.show)(&config.policy);
        let table: toml::Table = format!("x = {shown}").parse().expect("what is shown can be read");
        (key.set)(&mut again, &table["x"]).unwrap_or_else(|fault| panic!("{} = {shown}: {fault}", key.name));
    }
    assert_eq!(again, config.policy);
}
