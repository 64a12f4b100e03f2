//! Turns of agents other than the lead, the API's failures, episodes.

use super::*;

fn check(events: Vec<(Who, What)>, wanted: &str) {
    assert_eq!(shown(&folded(events)), wanted);
}

#[test]
fn a_teammate_s_turn_begins_and_ends_with_every_message() {
    let turn = || {
        vec![
            (CODER, What::AgentStart),
            (CODER, tool_start("Bash", "t1")),
            (CODER, tool_end("Bash", "t1")),
            (CODER, What::AgentStop),
            (CODER, idle(false)),
        ]
    };
    check(turn(), "s1 a1 TurnOver since 4 []");
    check([turn(), vec![(CODER, What::AgentStart)]].concat(), "s1 a1 Working since 6 []");
}

#[test]
fn starting_twice_is_one_agent_and_ends_what_it_had_open() {
    check(
        vec![(CODER, What::AgentStart), (CODER, tool_start("Bash", "t1")), (CODER, What::AgentStart)],
        "s1 a1 Working since 3 []",
    );
}

#[test]
fn a_stop_of_an_agent_that_was_never_seen_ends_nobody_s_turn() {
    let unknown: Who = ("s1", "zz", "");
    let nobody: Who = ("s1", "", "");
    let working =
        || vec![(LEAD, tool_start("Agent", "t1")), (CODER, What::AgentStart), (OTHER, What::AgentStart)];
    let both = "s1 lead Working since 1 [t1]\ns1 a1 Working since 2 []\ns1 a2 Working since 3 []";
    check([working(), vec![(unknown, What::AgentStop)]].concat(), both);
    check([working(), vec![(nobody, What::AgentStop)]].concat(), both);
    check([working(), vec![(nobody, What::AgentStart)]].concat(), both);
    check([working(), vec![(nobody, idle(true))]].concat(), both);
    // A stop under the name of one that was seen under another id is one more agent whose turn is over.
    let stranger: Who = ("s1", "zz", "coder");
    check(
        [working(), vec![(stranger, What::AgentStop)]].concat(),
        &format!("{both}\ns1 zz TurnOver since 4 []"),
    );
}

#[test]
fn another_agent_of_a_name_runs_while_one_of_two_has_stopped() {
    let ledger = folded([(CODER, What::AgentStart), (OTHER, What::AgentStart), (CODER, What::AgentStop)]);
    assert!(ledger.another_runs("coder", "a1"));
    assert!(!ledger.another_runs("coder", "a2"));
    assert!(!ledger.another_runs("reviewer", "a1"));
    let over = folded([(CODER, What::AgentStart), (OTHER, What::AgentStart), (LEAD, ended())]);
    assert!(!over.another_runs("coder", "a1"));
}

#[test]
fn how_often_a_teammate_was_told_is_counted_until_it_works_again() {
    let told = |events: Vec<(Who, What)>| folded(events).idle_told("s1", "a1");
    let twice = || vec![(CODER, idle(true)), (CODER, idle(true)), (CODER, idle(false)), (OTHER, idle(true))];
    assert_eq!(told(twice()), 2);
    // A turn of mere words does not reset it; a tool does.
    assert_eq!(told([twice(), vec![(CODER, What::AgentStart), (CODER, What::AgentStop)]].concat()), 2);
    assert_eq!(told([twice(), vec![(CODER, tool_start("Read", "t1"))]].concat()), 0);
    assert_eq!(told([twice(), vec![(CODER, tool_end("Read", "t1"))]].concat()), 0);
    assert_eq!(Ledger::default().idle_told("s1", "a1"), 0);
}

#[test]
fn an_event_that_means_nothing_to_us_makes_no_agent() {
    let other = |who: Who| (who, What::Other { hook: "FileChanged".to_owned() });
    check(vec![other(LEAD), other(CODER)], "");
    let ledger = folded([(CODER, What::AgentStart), (CODER, What::AgentStop), other(CODER)]);
    assert_eq!(shown(&ledger), "s1 a1 TurnOver since 2 []");
    assert_eq!(ledger.sessions["s1"].agents["a1"].last, 3000);
}

#[test]
fn a_chain_of_idle_teammates_begins_with_the_first_and_ends_with_work() {
    let idle_since = |events: Vec<(Who, What)>| folded(events).idle_since;
    let chain = || vec![(LEAD, prompt()), (CODER, idle(false)), (OTHER, idle(true)), (CODER, idle(false))];
    assert_eq!(idle_since(chain()), Some(2000));
    assert_eq!(folded(chain()).last_work, 1000);
    for what in [prompt(), tool_start("Read", "t"), tool_end("Read", "t"), What::AgentStart, What::AgentStop]
    {
        assert_eq!(idle_since([chain(), vec![(CODER, what.clone())]].concat()), None, "{what:?}");
    }
    let no_work = [
        What::Prompt { wake: true },
        permission("Bash"),
        notice("idle_prompt"),
        What::TurnEnd,
        failure("rate_limit", true),
        What::Nudged { n: 1, id: "1-1".to_owned(), idle_seconds: 301 },
        session_start("compact", None),
    ];
    for what in no_work {
        assert_eq!(idle_since([chain(), vec![(LEAD, what.clone())]].concat()), Some(2000), "{what:?}");
    }
    // What another day's session ended with is no chain of this one's.
    for what in [ended(), What::SessionLost, started()] {
        assert_eq!(idle_since([chain(), vec![(LEAD, what)]].concat()), None);
    }
}

#[test]
fn failures_in_a_row_are_counted_until_the_api_answers() {
    let failures =
        |events: Vec<(Who, What)>| folded(events).api.map(|api| (api.error, api.failures, api.holds));
    let two =
        || vec![(LEAD, failure("overloaded", true)), (LEAD, prompt()), (LEAD, failure("rate_limit", true))];
    assert_eq!(failures(two()), Some(("rate_limit".to_owned(), 2, true)));
    for proof in [tool_start("Read", "t1"), What::TurnEnd] {
        assert_eq!(failures([two(), vec![(LEAD, proof)]].concat()), None);
    }
    // The end of a subagent may be the API's doing; the end of a tool belongs to an answer from before.
    for no_proof in [prompt(), tool_end("Read", "t1"), permission("Read"), ended()] {
        assert!(failures([two(), vec![(LEAD, no_proof.clone())]].concat()).is_some(), "{no_proof:?}");
    }
    for no_proof in [What::AgentStart, What::AgentStop, idle(false), tool_start("Read", "t1")] {
        assert!(failures([two(), vec![(CODER, no_proof.clone())]].concat()).is_some(), "{no_proof:?}");
    }
}

#[test]
fn another_agent_s_call_proves_an_answer_once_none_from_before_is_likely() {
    let after = |second: i64| {
        let mut ledger = folded([(LEAD, failure("rate_limit", true))]);
        ledger.apply(&event(1 + second, CODER, tool_start("Read", "t1")));
        ledger.api
    };
    assert!(after(59).is_some());
    assert!(after(60).is_none());
}

#[test]
fn an_episode_lasts_from_the_first_nudge_to_its_end() {
    let nudged = |n| (LEAD, What::Nudged { n, id: format!("9-{n}"), idle_seconds: 301 });
    let episode = |events: Vec<(Who, What)>| {
        folded(events)
            .episode
            .map(|episode| (episode.since / 1000, episode.nudges, episode.resumed.map(|at| at / 1000)))
    };
    assert_eq!(episode(vec![nudged(0)]), None);
    assert_eq!(episode(vec![nudged(1), nudged(2), nudged(0)]), Some((1, 2, None)));
    assert_eq!(episode(vec![nudged(1), (LEAD, What::Resumed), (LEAD, What::Resumed)]), Some((1, 1, Some(2))));
    // Silent again: the same episode goes on.
    assert_eq!(episode(vec![nudged(1), (LEAD, What::Resumed), nudged(2)]), Some((1, 2, None)));
    // A first nudge begins a new one.
    assert_eq!(episode(vec![nudged(1), nudged(2), nudged(1)]), Some((3, 1, None)));
    // One whose beginning is not known.
    assert_eq!(episode(vec![nudged(3)]), Some((1, 3, None)));
    assert_eq!(episode(vec![(LEAD, What::Resumed)]), None);
    let escalated = What::Escalated { n: 3, cause: "no_recovery".to_owned() };
    for end in [What::Closed, escalated, What::Recovered { by: "ensure".to_owned() }] {
        assert_eq!(episode(vec![nudged(1), (LEAD, end)]), None);
    }
}

#[test]
fn a_pause_lasts_until_it_is_ended_or_replaced() {
    let paused = |events: Vec<(Who, What)>| folded(events).paused_until;
    let pause = |until| (LEAD, What::Paused { until });
    assert_eq!(paused(vec![pause(5_000)]), Some(5_000));
    assert_eq!(paused(vec![pause(5_000), pause(3_000)]), Some(3_000));
    assert_eq!(paused(vec![pause(5_000), (LEAD, What::Unpaused)]), None);
}

#[test]
fn the_stage_is_the_last_that_was_noted() {
    let stage = |stage: &str| (LEAD, What::Stage { stage: stage.to_owned() });
    assert_eq!(folded([stage("build"), stage("validate")]).stage, "validate");
    assert_eq!(folded([stage("build"), stage("")]).stage, "");
}

#[test]
fn records_of_what_we_did_change_nothing_that_is_believed() {
    let before = folded([(LEAD, prompt()), (CODER, What::AgentStart)]);
    for what in [
        What::Claimed { id: "9-1".to_owned(), n: 1, via: "bridge".to_owned() },
        What::Withdrawn { id: "9-1".to_owned() },
        What::WouldAct { verdict: "nudge".to_owned(), n: 1 },
        What::DaemonStart { pid: 7, version: "0".to_owned(), kilnless: false },
        What::DaemonStop { reason: "complete".to_owned() },
        What::Fault { fault: "disk".to_owned() },
        What::Unknown,
        What::PersonTold,
    ] {
        let mut after = before.clone();
        after.apply(&event(9, ("s9", "a9", ""), what.clone()));
        // Up to when files were watched is of the daemon, not of those that are watched.
        (after.tracks.watched, after.tracks.floor) = (before.tracks.watched, before.tracks.floor);
        assert_eq!(after, before, "{what:?}");
    }
}
