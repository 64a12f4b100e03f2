//! Every text to an agent or a person, and that foreign text in it is harmless.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::model::event::{Event, What};
use crate::model::ledger::Ledger;

/// 2027-01-15T08:00:00Z
const NOW: Millis = 1_800_000_000_000;

fn event(seconds_ago: i64, agent: &str, name: &str, what: What) -> Event {
    let (session, agent, name) = ("s1".to_owned(), agent.to_owned(), name.to_owned());
    Event { session, agent, name, ..Event::of_root(NOW - seconds_ago * 1000, what) }
}

fn tool(name: &str) -> What {
    What::ToolStart { tool: name.to_owned(), id: "t1".to_owned(), timeout_ms: None, hash: String::new() }
}

/// A lead whose turn is over, a builder in a long command, a reviewer who asks a person, one that just works.
fn team() -> Ledger {
    let mut ledger = Ledger::default();
    for event in [
        event(800, "", "", What::TurnEnd),
        event(12_000, "a1", "builder", tool("Bash")),
        event(700, "a2", "reviewer", tool("Write")),
        event(690, "a2", "reviewer", What::Permission { tool: "Write".to_owned() }),
        event(400, "a3", "rakim-build-3", What::AgentStart),
        event(2000, "a4", "", What::AgentStart),
    ] {
        ledger.apply(&event);
    }
    ledger
}

fn activity(teammates: &[&str]) -> Activity {
    Activity {
        last_activity_source: "PostToolUse:SendMessage".to_owned(),
        active_teammates: teammates.iter().map(|name| ((*name).to_owned(), Value::from(1))).collect(),
        ..Activity::default()
    }
}

fn nudge_for(ledger: &Ledger, teammates: &[&str]) -> String {
    nudge(&Facts::of_journal("build", ledger, &BTreeSet::new()), &activity(teammates), 301, 1, 3, NOW)
}

#[test]
fn a_nudge_says_what_stands_how() {
    insta::assert_snapshot!(nudge_for(&team(), &["builder", "rakim-build-3"]), @"KILN DEADLOCK WATCHDOG: idle_seconds=301; last_activity_source=PostToolUse:SendMessage; active_teammates=builder, rakim-build-3; nudge 1 of 3. No work of this pipeline (stage build) has been seen since 2027-01-15T07:54:59Z. cause=waits-for-person; root=reviewer. reviewer has asked a person for permission: Write since 2027-01-15T07:48:30Z. rakim-build-3 was last seen at work 6 min ago. reviewer has asked a person for permission: Write since 2027-01-15T07:48:30Z. team-lead's turn ended 13 min ago. a4 was last seen at work 33 min ago. builder: Bash running for 3 h 20 min.");
}

#[test]
fn a_nudge_with_nothing_known_but_silence() {
    insta::assert_snapshot!(nudge_for(&Ledger::default(), &[]), @"KILN DEADLOCK WATCHDOG: idle_seconds=301; last_activity_source=PostToolUse:SendMessage; active_teammates=none; nudge 1 of 3. No work of this pipeline (stage build) has been seen since 2027-01-15T07:54:59Z. cause=nobody-waits; root=team-lead. Nobody waits for anything; the next move is team-lead's. Evidence: no answer, tool, person or API is waited for.");
}

#[test]
fn a_nudge_after_the_api_failed() {
    let mut ledger = team();
    ledger.apply(&event(
        600,
        "",
        "",
        What::ApiError { error: "server_error".to_owned(), holds: false, reset_at: None },
    ));
    let text = nudge_for(&ledger, &[]);
    insta::assert_snapshot!(text.rsplit(". ").next().unwrap_or_default(), @"The API's last answer, at 2027-01-15T07:50:00Z, was server_error.");
}

#[test]
fn a_flag_says_for_how_long_and_after_what() {
    let (ledger, dead) = (team(), BTreeSet::new());
    insta::assert_snapshot!(flag(&Facts::of_journal("build", &ledger, &dead), 3, 2105, NOW), @"Silent for 35 min after 3 nudges. cause=waits-for-person; root=reviewer. reviewer has asked a person for permission: Write since 2027-01-15T07:48:30Z. rakim-build-3 was last seen at work 6 min ago. reviewer has asked a person for permission: Write since 2027-01-15T07:48:30Z. team-lead's turn ended 13 min ago. a4 was last seen at work 33 min ago. builder: Bash running for 3 h 20 min.");
    let alone = Ledger::default();
    let shortly = [0, 1, 2].map(|nudges| flag(&Facts::of_journal("build", &alone, &dead), nudges, 301, NOW));
    insta::assert_snapshot!(shortly.join("\n"), @"
    Silent for 5 min after no nudge. cause=nobody-waits; root=team-lead. Nobody waits for anything; the next move is team-lead's. Evidence: no answer, tool, person or API is waited for.
    Silent for 5 min after 1 nudge. cause=nobody-waits; root=team-lead. Nobody waits for anything; the next move is team-lead's. Evidence: no answer, tool, person or API is waited for.
    Silent for 5 min after 2 nudges. cause=nobody-waits; root=team-lead. Nobody waits for anything; the next move is team-lead's. Evidence: no answer, tool, person or API is waited for.
    ");
}

#[test]
fn a_wake_carries_its_mark_and_the_text() {
    insta::assert_snapshot!(wake(&nudge_for(&Ledger::default(), &[])), @"KILN ASYNC REWAKE: KILN DEADLOCK WATCHDOG: idle_seconds=301; last_activity_source=PostToolUse:SendMessage; active_teammates=none; nudge 1 of 3. No work of this pipeline (stage build) has been seen since 2027-01-15T07:54:59Z. cause=nobody-waits; root=team-lead. Nobody waits for anything; the next move is team-lead's. Evidence: no answer, tool, person or API is waited for.");
    insta::assert_snapshot!(wake(&flag_wake("Silent for 35 min after 3 nudges.")), @"KILN ASYNC REWAKE: KILN DEADLOCK WATCHDOG: DEADLOCK.flag was written; no further nudges follow. Silent for 35 min after 3 nudges.");
}

#[test]
fn a_spawn_is_acknowledged_in_the_protocol_s_words() {
    insta::assert_snapshot!(spawn_acknowledged("rakim", "a0f3"), @"SubagentStart: agent_type=rakim agent_id=a0f3 — spawn acknowledged");
    // The id is what others look for: it stays as it is, however much it looks like a key.
    let id = "a1b2c3d4e5f60718293a4b5c6d7e8f901234";
    assert!(spawn_acknowledged("rakim", id).contains(&format!("agent_id={id} ")));
    assert_eq!(
        spawn_acknowledged("ra\nkim", "\u{1b}[2J"),
        "SubagentStart: agent_type=ra kim agent_id= [2J — spawn acknowledged"
    );
}

#[test]
fn the_sender_of_a_lost_message_is_told_the_names_that_exist() {
    let names = ["sphinx".to_owned(), "rakim".to_owned()];
    insta::assert_snapshot!(undeliverable("sphnix", &names), @r#"KILN DEADLOCK WATCHDOG: the message to "sphnix" was not delivered: no agent of that name is reachable. Names that exist in this session, nearest first: sphinx, rakim."#);
    insta::assert_snapshot!(undeliverable("sphnix", &[]), @r#"KILN DEADLOCK WATCHDOG: the message to "sphnix" was not delivered: no agent of that name is reachable. No teammate of this session is known; the lead is team-lead."#);
}

#[test]
fn a_teammate_is_told_that_it_is_still_listed() {
    insta::assert_snapshot!(still_listed("rakim", "build"), @"KILN DEADLOCK WATCHDOG: rakim is going idle and is still listed among the active teammates (stage build). What it owes another agent counts as sent only after SendMessage to that agent's exact name; the text of a closing answer reaches the lead at most.");
}

#[test]
fn a_note_of_the_api_says_what_is_known() {
    let note = |error: &str, details: &str, advice: ApiAdvice| api_note(error, details, advice, NOW);
    insta::assert_snapshot!(note("rate_limit", "5-hour limit reached.", ApiAdvice::Wait), @"KILN DEADLOCK WATCHDOG: the turn before this one was ended by the API at 2027-01-15T08:00:00Z: rate_limit. It said: 5-hour limit reached. Requests are limited for now; the work before it is unchanged.");
    insta::assert_snapshot!(note("billing_error", "", ApiAdvice::Person), @"KILN DEADLOCK WATCHDOG: the turn before this one was ended by the API at 2027-01-15T08:00:00Z: billing_error. The pipeline is flagged: this needs a person (sign-in, billing or access), not a retry.");
    insta::assert_snapshot!(note("server_error", "API Error: 500", ApiAdvice::Retry), @"KILN DEADLOCK WATCHDOG: the turn before this one was ended by the API at 2027-01-15T08:00:00Z: server_error. It said: API Error: 500. Failures of this kind are usually over at the next attempt.");
    insta::assert_snapshot!(note("unknown", " \n.", ApiAdvice::Neutral), @"KILN DEADLOCK WATCHDOG: the turn before this one was ended by the API at 2027-01-15T08:00:00Z: unknown. Nothing is known of how failures of this kind end.");
    let leaky = note("authentication_failed", "bad key\n sk-0a1b2c3d4e5f6a7b8c9d", ApiAdvice::Person);
    assert!(leaky.contains("It said: bad key  [masked]. The"), "{leaky}");
}

#[test]
fn recovery_leaves_a_note_for_people() {
    insta::assert_snapshot!(recovery_note(Some(1_799_990_000), Some(3), "no_recovery", NOW), @"

    > [!NOTE]
    > KILN DEADLOCK RECOVERY 2027-01-15T08:00:00Z: DEADLOCK.flag of 2027-01-15T05:13:20Z after 3 nudges (no_recovery) was cleared; nudge counters were reset.
    ");
    insta::assert_snapshot!(recovery_note(None, None, "a\nb", NOW), @"

    > [!NOTE]
    > KILN DEADLOCK RECOVERY 2027-01-15T08:00:00Z: DEADLOCK.flag of an unknown time (a b) was cleared; nudge counters were reset.
    ");
    insta::assert_snapshot!(recovery_note(Some(1), Some(1), "session_lost", NOW), @"

    > [!NOTE]
    > KILN DEADLOCK RECOVERY 2027-01-15T08:00:00Z: DEADLOCK.flag of 1970-01-01T00:00:01Z after 1 nudge (session_lost) was cleared; nudge counters were reset.
    ");
}

#[test]
fn a_point_in_time_reads_the_same_everywhere() {
    assert_eq!(clock(NOW), "2027-01-15T08:00:00Z");
    assert_eq!(clock(NOW + 999), "2027-01-15T08:00:00Z");
    assert_eq!(clock(0), "1970-01-01T00:00:00Z");
    assert_eq!(clock(i64::MAX), "9223372036854775807 ms");
}

#[test]
fn foreign_text_cannot_move_the_cursor_or_turn_the_line() {
    let check = |text: &str, wanted: &str| assert_eq!(plain(text, 500), wanted, "{text:?}");
    check("a\nb\r\nc\td", "a b  c d");
    check("\u{1b}[31mred\u{1b}[0m\u{7}", " [31mred [0m ");
    check("\u{9b}2J\u{85}\u{0}\u{7f}", " 2J   ");
    check("abc\u{202e}fed\u{2066}x\u{2069}\u{200f}\u{61c}", "abc fed x   ");
    check("zero\u{200b}width\u{feff}\u{2060}\u{2028}line", "zero width   line");
    check("tag\u{e0041}\u{e007f}s", "tag  s");
}

#[test]
fn a_long_text_is_cut_with_a_mark() {
    assert_eq!(plain("abcdef", 6), "abcdef");
    assert_eq!(plain("abcdefg", 6), "abcde…");
    assert_eq!(plain("ääääääää", 3), "ää…");
}

#[test]
fn a_person_is_told_of_what_matters_by_its_occasion() {
    let told = |what: What| report(&Event::of_root(NOW, what), 3).map(|(on, text)| format!("{on}: {text}"));
    let nudged = |n: u32| What::Nudged { n, id: "1-1".to_owned(), idle_seconds: 301 };
    let escalated = |cause: &str| What::Escalated { n: 3, cause: cause.to_owned() };
    let lines: Vec<String> = [
        nudged(2),
        nudged(0),
        escalated("no_recovery"),
        escalated("session_lost"),
        What::Resumed,
        What::Recovered { by: "ensure\n".to_owned() },
        What::Closed,
        What::TurnEnd,
    ]
    .into_iter()
    .map(|what| told(what).unwrap_or_else(|| "nothing".to_owned()))
    .collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    nudge: silent for 301 s; nudge 2 of 3 was staged
    nothing
    escalate: DEADLOCK.flag was written after 3 nudges (no_recovery)
    session_lost: the client is gone without a word; DEADLOCK.flag was written
    recovered: work was seen again after a nudge
    recovered: DEADLOCK.flag was cleared by ensure 
    nothing
    nothing
    ");
}

/// Sentences of a text to an agent, without the mark and the list of numbers.
fn sentences(text: &str) -> Vec<String> {
    text.replace(WAKE_MARK, "").replace(MARK, "").split(". ").map(|part| part.trim().to_owned()).collect()
}

#[test]
fn no_sentence_to_an_agent_is_a_command() {
    let commands = [
        "run", "check", "send", "read", "write", "use", "wait", "continue", "resume", "retry", "stop", "do",
        "please", "make", "try", "ask", "tell", "reply", "answer", "start", "look", "inspect", "fix", "call",
        "verify", "ensure", "report", "remember", "consider", "don't", "never", "always", "you",
    ];
    let ledger = team();
    let names = ["rakim".to_owned()];
    let advices = [ApiAdvice::Wait, ApiAdvice::Person, ApiAdvice::Retry, ApiAdvice::Neutral];
    let mut texts = vec![
        nudge_for(&ledger, &["builder"]),
        flag(&Facts::of_journal("build", &ledger, &BTreeSet::new()), 3, 2105, NOW),
        wake(&flag_wake("Silent for 35 min.")),
        spawn_acknowledged("rakim", "a1"),
        undeliverable("nobody", &names),
        undeliverable("nobody", &[]),
        still_listed("rakim", "build"),
    ];
    texts.extend(advices.map(|advice| api_note("overloaded", "", advice, NOW)));
    for text in texts {
        assert!(!text.contains('!') && !text.to_lowercase().contains(" you "), "{text}");
        for sentence in sentences(&text) {
            let first = sentence.split(' ').next().unwrap_or_default().to_lowercase();
            assert!(!commands.contains(&first.as_str()), "{sentence}");
        }
    }
}

fn foreign() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[a-z0-9\\n\\x1b\u{202e}]{0,3000}", "\\PC{0,2500}"]
}

fn is_harmless(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() || is_invisible(c)) && text.chars().count() <= MOST
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_text_is_longer_than_its_limit_or_breaks_its_line_whatever_comes_in(
        a in foreign(), b in foreign(), agents in proptest::collection::vec(foreign(), 0..40),
        n in any::<u32>(), seconds in any::<u64>(), now in any::<i64>(),
    ) {
        let mut ledger = Ledger::default();
        for (place, name) in agents.iter().enumerate() {
            ledger.apply(&event(9, &format!("a{place}"), name, tool(&a)));
        }
        ledger.apply(&event(9, "", "", What::ApiError { error: b.clone(), holds: true, reset_at: None }));
        let dead = BTreeSet::new();
        let facts = Facts { stage: Some(&b), ..Facts::of_journal("build", &ledger, &dead) };
        let names: Vec<&str> = agents.iter().map(String::as_str).collect();
        let activity = Activity { last_activity_source: a.clone(), ..activity(&names) };
        for text in [
            nudge(&facts, &activity, seconds, n, n, now),
            flag(&facts, n, seconds, now),
            wake(&flag_wake(&a)),
            spawn_acknowledged(&a, &b),
            undeliverable(&a, &agents),
            still_listed(&a, &b),
            api_note(&a, &b, ApiAdvice::Neutral, now),
        ] {
            prop_assert!(is_harmless(&text), "{text:?}");
        }
        prop_assert!(wake(&a).chars().count() <= MOST);
        prop_assert_eq!(recovery_note(Some(now), Some(n), &a, now).lines().count(), 3);
    }

    #[test]
    fn making_text_plain_twice_is_the_same_as_once(text in foreign(), most in 2..3000_usize) {
        let once = plain(&text, most);
        prop_assert!(once.chars().count() <= most);
        prop_assert_eq!(plain(&once, most), once);
    }
}
