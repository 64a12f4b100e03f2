//! The fold as a whole: in one go, in pieces, and through a snapshot.

use proptest::prelude::*;

use super::*;
use crate::model::event::Message;
use crate::model::track::{Finding, Posting, Said, State};

fn word(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(words).prop_map(ToOwned::to_owned)
}

fn tool() -> impl Strategy<Value = String> {
    word(&["Bash", "Read", "SendMessage", "AskUserQuestion", "ExitPlanMode", ""])
}

fn call() -> impl Strategy<Value = String> {
    word(&["", "t1", "t2", "t3", "t4"])
}

fn of_client() -> impl Strategy<Value = What> {
    let source = word(&["startup", "resume", "clear", "compact", ""]);
    let message = Message { to: "coder".to_owned(), delivered: true, ..Message::default() };
    prop_oneof![
        (source, prop::option::of(1..5_i32), word(&["cli", "sdk-cli", ""]))
            .prop_map(|(source, pid, entry)| What::SessionStart { source, pid, entry }),
        word(&["clear", "other"]).prop_map(|reason| What::SessionEnd { reason }),
        any::<bool>().prop_map(|wake| What::Prompt { wake }),
        (tool(), call(), any::<Option<u64>>()).prop_map(|(tool, id, timeout_ms)| What::ToolStart {
            tool,
            id,
            timeout_ms,
            hash: String::new()
        }),
        (tool(), call(), any::<bool>()).prop_map(move |(tool, id, failed)| What::ToolEnd {
            tool,
            id,
            failed,
            message: failed.then(|| message.clone()),
        }),
        Just(What::AgentStart),
        Just(What::AgentStop),
        any::<bool>().prop_map(|told| What::Idle { told }),
        tool().prop_map(|tool| What::Permission { tool }),
        word(&["permission_prompt", "idle_prompt", "elicitation_dialog", "elicitation_complete"])
            .prop_map(|kind| What::Notice { kind }),
        Just(What::TurnEnd),
        (any::<bool>(), any::<Option<i64>>()).prop_map(|(holds, reset_at)| What::ApiError {
            error: "rate_limit".to_owned(),
            holds,
            reset_at
        }),
        Just(What::Other { hook: "FileChanged".to_owned() }),
    ]
}

fn of_ours() -> impl Strategy<Value = What> {
    prop_oneof![
        Just(What::SessionLost),
        (0..4_u32).prop_map(|n| What::Nudged { n, id: format!("7-{n}"), idle_seconds: 301 }),
        Just(What::Claimed { id: "7-1".to_owned(), n: 1, via: "bridge".to_owned() }),
        Just(What::Withdrawn { id: "7-1".to_owned() }),
        Just(What::Resumed),
        Just(What::Closed),
        Just(What::Escalated { n: 3, cause: "no_recovery".to_owned() }),
        Just(What::Recovered { by: "ensure".to_owned() }),
        Just(What::WouldAct { verdict: "nudge".to_owned(), n: 1 }),
        any::<i64>().prop_map(|until| What::Paused { until }),
        Just(What::Unpaused),
        Just(What::PersonTold),
        Just(What::DaemonStart { pid: 9, version: "0.1.0".to_owned(), kilnless: true }),
        Just(What::DaemonStop { reason: "escalated".to_owned() }),
        word(&["build", "validate", ""]).prop_map(|stage| What::Stage { stage }),
        Just(What::Fault { fault: "activity.json: empty".to_owned() }),
        Just(What::Unknown),
    ]
}

fn of_tracks() -> impl Strategy<Value = What> {
    let key = || word(&["task:.task/fix/p-1", "task:.task/fix/p-2#CI-FIX", "team:TLS-x"]);
    let state =
        prop::sample::select(&[State::Running, State::Blocked, State::Done, State::Failed, State::Ended]);
    let said = (key(), state, word(&["", "run"]), word(&["", "a1", "a2"]));
    prop_oneof![
        said.prop_map(|(track, state, step, attempt)| {
            What::Track(Box::new(Said { track, state, step, attempt, ..Said::default() }))
        }),
        (key(), any::<u64>(), word(&["analyst", "planner"])).prop_map(|(track, line, from)| {
            What::Posted(Box::new(Posting { track, line, from, ..Posting::default() }))
        }),
        key().prop_map(|track| What::TrackGone { track }),
        (key(), word(&["x.md", "y.md:2"])).prop_map(|(track, place)| {
            let (rule, fact) = ("ref-without-file".to_owned(), "there is no such file".to_owned());
            What::Found(Box::new(Finding { track, rule, place, fact, ..Finding::default() }))
        }),
    ]
}

fn any_event() -> impl Strategy<Value = Event> {
    let what = prop_oneof![4 => of_client(), 1 => of_ours(), 1 => of_tracks()];
    let who = (word(&["", "s1", "s2", "s3"]), word(&["", "a1", "a2", "a3"]), word(&["", "coder", "rakim"]));
    (0..10_000_000_i64, who, what).prop_map(|(at, (session, agent, name), what)| Event {
        session,
        agent,
        name,
        ..Event::of_root(at, what)
    })
}

fn fold(start: Ledger, events: &[Event]) -> Ledger {
    events.iter().fold(start, |mut ledger, event| {
        ledger.apply(event);
        ledger
    })
}

/// Writes an event as a line of the journal and reads it again.
fn through_json(event: &Event) -> Event {
    serde_json::from_str(&serde_json::to_string(event).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn folding_gives_the_same_in_one_go_in_pieces_and_through_a_snapshot(
        events in proptest::collection::vec(any_event(), 0..120), cut in any::<prop::sample::Index>(),
    ) {
        let whole = fold(Ledger::default(), &events);
        let (first, second) = events.split_at(cut.index(events.len() + 1));
        let half = fold(Ledger::default(), first);
        prop_assert_eq!(&fold(half.clone(), second), &whole);
        // As after a rotation: the first line is all that came before, whatever the fold held until then.
        let snapshot = Event::of_root(5, What::Snapshot { ledger: Box::new(half) });
        let resumed = fold(Ledger { stage: "other".to_owned(), ..Ledger::default() }, &[through_json(&snapshot)]);
        prop_assert_eq!(&fold(resumed, second), &whole);
    }

    #[test]
    fn a_line_of_the_journal_gives_back_its_event(event in any_event()) {
        prop_assert_eq!(through_json(&event), event);
    }

    #[test]
    fn whatever_happens_no_agent_of_an_ended_session_holds_anything(
        events in proptest::collection::vec(any_event(), 0..200),
    ) {
        let ledger = fold(Ledger::default(), &events);
        for session in ledger.sessions.values().filter(|session| session.ended.is_some()) {
            for agent in session.agents.values() {
                prop_assert!(agent.state == super::super::State::Gone, "{agent:?}");
                prop_assert!(agent.tools.is_empty() && agent.asked.is_none(), "{agent:?}");
            }
        }
        for agent in ledger.sessions.values().flat_map(|session| session.agents.values()) {
            let over = agent.state != super::super::State::Working;
            prop_assert!(!over || agent.tools.is_empty(), "{agent:?}");
        }
    }
}

#[test]
fn lines_leave_out_what_is_empty_and_read_what_is_newer() {
    let line = |event: &Event| serde_json::to_string(event).unwrap();
    insta::assert_snapshot!(line(&event(7, CODER, tool_start("Bash", "t1"))), @r#"{"v":1,"at":7000,"session":"s1","agent":"a1","name":"coder","event":"tool_start","tool":"Bash","id":"t1"}"#);
    insta::assert_snapshot!(line(&event(7, LEAD, prompt())), @r#"{"v":1,"at":7000,"session":"s1","event":"prompt"}"#);
    insta::assert_snapshot!(line(&Event::of_root(7, What::Resumed)), @r#"{"v":1,"at":7,"event":"resumed"}"#);
    let newer = r#"{"v":2,"at":7,"event":"telepathy","from":"s1","depth":[1,{"x":2}]}"#;
    assert_eq!(serde_json::from_str::<Event>(newer).unwrap().what, What::Unknown);
    let more = r#"{"v":2,"at":7,"session":"s1","mood":"good","event":"prompt","length":9}"#;
    assert_eq!(serde_json::from_str::<Event>(more).unwrap().what, prompt());
}

#[test]
fn an_older_snapshot_is_read_with_what_it_lacks_at_its_default() {
    let line = r#"{"v":1,"at":9,"event":"snapshot","ledger":{"sessions":{"s1":{"since":5,"agents":{"":
        {"state":"turn_over","since":6,"last":7,"asked":{"since":6,"what":{"permission":"Bash"}}}}}}}}"#;
    let mut ledger = Ledger::default();
    ledger.apply(&serde_json::from_str(line).unwrap());
    assert_eq!(shown(&ledger), "s1 lead TurnOver since 0 [], asks for permission: Bash");
}
