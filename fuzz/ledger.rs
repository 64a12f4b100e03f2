//! The fold of arbitrary events, made from bytes.

use std::collections::BTreeSet;
use std::time::Duration;

use watchdog::model::event::{Event, Message, What};
use watchdog::model::judge::{Facts, judge};
use watchdog::model::ledger::Ledger;
use watchdog::model::moment::Moment;
use watchdog::model::policy::Policy;
use watchdog::model::rule::Times;
use watchdog::model::track::{Finding, Posting, Said, State};
use watchdog::model::wording;
use watchdog::protocol::activity_json;

/// Bytes, taken one by one; zeros when they are used up.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn one(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(first, rest)| (*first, rest));
        self.0 = rest;
        first
    }

    fn word(&mut self, words: &[&str]) -> String {
        let words_len = words.len();
        words[usize::from(self.one()) % words_len].to_owned()
    }

    fn flag(&mut self) -> bool {
        self.one() % 2 == 1
    }

    /// A number that is mostly small, and sometimes at the edge of what there is.
    fn number(&mut self) -> i64 {
        match self.one() {
            255 => i64::MAX,
            254 => i64::MIN,
            253 => -1,
            byte => i64::from(byte) * 60_000,
        }
    }
}

const TOOLS: &[&str] = &["Bash", "Read", "SendMessage", "AskUserQuestion", "ExitPlanMode", ""];
const KINDS: &[&str] = &[
    "permission_prompt",
    "idle_prompt",
    "elicitation_dialog",
    "elicitation_complete",
    "elicitation_response",
];

fn client_event(bytes: &mut Bytes<'_>, kind: u8) -> What {
    let id = |bytes: &mut Bytes<'_>| format!("t{}", bytes.one() % 40).replace("t0", "");
    match kind {
        0 => What::SessionStart {
            source: bytes.word(&["startup", "resume", "clear", "compact", "fork", ""]),
            pid: bytes.flag().then(|| i32::from(bytes.one() % 4)),
            entry: bytes.word(&["cli", "sdk-cli", ""]),
        },
        1 => What::SessionEnd { reason: bytes.word(&["clear", "other"]) },
        2 => What::Prompt { wake: bytes.flag() },
        3..=5 => What::ToolStart {
            tool: bytes.word(TOOLS),
            id: id(bytes),
            timeout_ms: bytes.flag().then(|| bytes.number().cast_unsigned()),
            hash: String::new(),
        },
        6 | 7 => What::ToolEnd {
            tool: bytes.word(TOOLS),
            id: id(bytes),
            failed: bytes.flag(),
            message: bytes.flag().then(|| Message { to: "coder".to_owned(), ..Message::default() }),
        },
        8 => What::AgentStart,
        9 => What::AgentStop,
        10 => What::Idle { told: bytes.flag() },
        11 => What::Permission { tool: bytes.word(TOOLS) },
        12 => What::Notice { kind: bytes.word(KINDS) },
        13 => What::TurnEnd,
        14 => What::ApiError {
            error: bytes.word(&["rate_limit", "overloaded", "unknown"]),
            holds: bytes.flag(),
            reset_at: bytes.flag().then(|| bytes.number()),
        },
        _ => What::Other { hook: "FileChanged".to_owned() },
    }
}

fn own_event(bytes: &mut Bytes<'_>, kind: u8) -> What {
    match kind {
        0 => What::SessionLost,
        1 | 2 => What::Nudged { n: u32::from(bytes.one() % 5), id: "7-1".to_owned(), idle_seconds: 301 },
        3 => What::Claimed { id: "7-1".to_owned(), n: 1, via: "bridge".to_owned() },
        4 => What::Resumed,
        5 => What::Closed,
        6 => What::Escalated { n: 3, cause: "no_recovery".to_owned() },
        7 => What::Recovered { by: "SessionStart".to_owned() },
        8 => What::Paused { until: bytes.number() },
        9 => What::Unpaused,
        10 => What::PersonTold,
        11 => What::Stage { stage: bytes.word(&["build", "", "complete"]) },
        12 if bytes.flag() => What::Unknown,
        12 => What::Fault { fault: "something".to_owned() },
        _ => track_event(bytes),
    }
}

fn track_event(bytes: &mut Bytes<'_>) -> What {
    let track = format!("task:.task/a/{}", bytes.one());
    match bytes.one() % 6 {
        0 => What::TrackGone { track },
        1 => What::Posted(Box::new(Posting {
            track,
            line: u64::from(bytes.one()),
            from: format!("agent-{}", bytes.one()),
            ..Posting::default()
        })),
        2 => What::Found(Box::new(Finding {
            track,
            rule: bytes.word(&["ref-without-file", "stale-signal"]),
            fact: "there is no such file".to_owned(),
            ..Finding::default()
        })),
        _ => What::Track(Box::new(Said {
            track,
            state: [State::Running, State::Blocked, State::Done, State::Failed, State::Ended]
                [usize::from(bytes.one() % 5)],
            step: bytes.word(&["", "reproduce", "validate"]),
            attempt: bytes.word(&["", "a1", "a2"]),
            ..Said::default()
        })),
    }
}

fn event(bytes: &mut Bytes<'_>, at: &mut i64) -> Event {
    let kind = bytes.one() % 32;
    let what = if kind < 18 { client_event(bytes, kind.min(15)) } else { own_event(bytes, kind - 18) };
    // Clocks step, in either direction.
    *at = at.saturating_add(bytes.number());
    let session = format!("s{}", bytes.one() % 100).replace("s0", "");
    let agent = format!("a{}", bytes.one() % 200).replace("a0", "");
    let name = bytes.word(&["", "coder", "reviewer"]);
    Event { session, agent, name, ..Event::of_root(*at, what) }
}

/// A fold in one go equals a fold through the text and a snapshot at any place, stays small, and can be judged.
pub fn ledger(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let (cut, crowd) = (usize::from(bytes.one()), bytes.one() % 16 == 1);
    let mut at = bytes.number();
    let (mut whole, mut pieces) = (Ledger::default(), Ledger::default());
    let mut count = 0;
    while !bytes.0.is_empty() {
        let event = event(&mut bytes, &mut at);
        let line = serde_json::to_vec(&event).expect("an event can be written");
        let read = watchdog::store::journal::parse_line(&line);
        assert_eq!(read.as_ref(), Some(&event), "a line does not read as it was written");
        for copy in 0..if crowd { 40 } else { 1 } {
            let mut event = event.clone();
            if copy > 0 {
                event.session.push_str(&format!("-{copy}"));
                event.agent.push_str(&format!("-{copy}"));
            }
            whole.apply(&event);
            pieces.apply(&event);
        }
        if count == cut {
            let snapshot = Event::of_root(at, What::Snapshot { ledger: Box::new(pieces) });
            let line = serde_json::to_vec(&snapshot).expect("a snapshot can be written");
            let snapshot = watchdog::store::journal::parse_line(&line).expect("a snapshot can be read");
            pieces = Ledger::default();
            pieces.apply(&snapshot);
        }
        count += 1;
    }
    assert_eq!(whole, pieces, "a snapshot loses something");
    small(&whole);
    judged(&whole, at);
}

fn small(ledger: &Ledger) {
    assert!(ledger.tracks.all.len() <= 2 * 2048 && ledger.tracks.findings.len() <= 1024);
    assert!(ledger.sessions.len() <= 64 + 16 + 1, "{} sessions", ledger.sessions.len());
    for session in ledger.sessions.values() {
        assert!(session.agents.len() <= 129, "{} agents", session.agents.len());
        for agent in session.agents.values() {
            assert!(agent.tools.len() <= 32, "{} open tools", agent.tools.len());
        }
    }
}

/// Whatever was folded, there is a verdict, and a text that the client takes.
fn judged(ledger: &Ledger, at: i64) {
    let activity =
        activity_json::read(br#"{"last_activity_ts":1,"last_activity_source":"PreToolUse:Bash"}"#).activity;
    let policy = Policy::default();
    let idle = Duration::from_secs(400);
    let dead = BTreeSet::new();
    let facts = Facts {
        stage: Some("build"),
        activity: Some(&activity),
        ledger,
        flagged: false,
        times: Times { idle, since_nudge: None },
        settling: None,
        dead: &dead,
    };
    let now = Moment { wall: at, awake: idle, boot: idle };
    let verdict = judge(&facts, &policy, now);
    assert!(["quiet", "nudge", "escalate"].contains(&verdict.word()));
    let text = wording::nudge(&facts, &activity, 400, 1, 3, at);
    assert!(text.chars().count() <= 2000, "{} characters", text.chars().count());
}
