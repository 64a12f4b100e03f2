//! Sessions: begun, cleared, resumed, ended, lost, and those that look alike.

use super::*;

const SECOND: Who = ("s2", "", "");
const SECOND_CODER: Who = ("s2", "b1", "coder");

fn check(events: Vec<(Who, What)>, wanted: &str) {
    assert_eq!(shown(&folded(events)), wanted);
}

#[test]
fn any_event_may_be_the_first_that_is_seen_of_a_session() {
    for what in
        [prompt(), tool_start("Read", "t1"), tool_end("Read", "t1"), What::TurnEnd, permission("Bash")]
    {
        let ledger = folded([(LEAD, what.clone())]);
        assert_eq!(ledger.sessions["s1"].since, 1000, "{what:?}");
        assert_eq!(ledger.live().count(), 1);
    }
}

#[test]
fn the_end_of_a_session_ends_its_agents_tools_and_questions() {
    let busy = || {
        vec![
            (LEAD, started()),
            (LEAD, tool_start("Bash", "t1")),
            (LEAD, permission("Bash")),
            (CODER, tool_start("Read", "t2")),
        ]
    };
    let over = "s1 ended at 5\ns1 lead Gone since 5 []\ns1 a1 Gone since 5 []";
    check([busy(), vec![(LEAD, ended())]].concat(), over);
    check([busy(), vec![(LEAD, What::SessionLost)]].concat(), over);
    // It ends once.
    check([busy(), vec![(LEAD, ended()), (LEAD, What::SessionLost)]].concat(), over);
    let ledger = folded([busy(), vec![(LEAD, ended())]].concat());
    assert!(ledger.has_ended("s1"));
    assert!(!ledger.has_ended("s2"));
    assert_eq!(ledger.live().count(), 0);
}

#[test]
fn the_end_of_a_session_that_was_never_seen_is_nothing() {
    check(vec![(LEAD, prompt()), (SECOND, ended())], "s1 lead Working since 1 []");
}

#[test]
fn what_comes_late_does_not_begin_a_session_anew() {
    let over = || vec![(LEAD, prompt()), (CODER, What::AgentStart), (LEAD, ended())];
    let wanted = "s1 ended at 3\ns1 lead Gone since 3 []\ns1 a1 Gone since 3 []";
    for (who, what) in [
        (LEAD, tool_end("Read", "t1")),
        (LEAD, What::TurnEnd),
        (LEAD, permission("Bash")),
        (LEAD, notice("permission_prompt")),
        (LEAD, failure("server_error", false)),
        (CODER, What::AgentStop),
        (CODER, idle(false)),
        (CODER, tool_start("Read", "t1")),
    ] {
        check([over(), vec![(who, what)]].concat(), wanted);
    }
    // A person does, and so does a client.
    check([over(), vec![(LEAD, prompt())]].concat(), "s1 lead Working since 4 []\ns1 a1 Gone since 3 []");
    check([over(), vec![(LEAD, started()), (LEAD, prompt())]].concat(), "s1 lead Working since 5 []");
}

#[test]
fn a_cleared_session_is_followed_by_a_new_one_of_the_same_client() {
    let first = || vec![(LEAD, session_start("startup", Some(77))), (LEAD, prompt())];
    let start = || (SECOND, session_start("clear", Some(77)));
    let wanted = "s1 ended at 3\ns1 lead Gone since 3 []\ns2 lead Working since 5 []";
    check([first(), vec![(LEAD, ended()), start(), (SECOND, prompt())]].concat(), wanted);
    // The start alone says that the one before has ended.
    let ledger = folded([first(), vec![start()]].concat());
    assert_eq!(ledger.live().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["s2"]);
    // Another client's start says nothing of it, nor does one that does not say which client it is.
    for pid in [Some(78), None] {
        let ledger = folded([first(), vec![(SECOND, session_start("startup", pid))]].concat());
        assert_eq!(ledger.live().count(), 2, "{pid:?}");
    }
}

#[test]
fn a_resumed_session_has_none_of_the_agents_of_the_client_before() {
    let died = || {
        vec![
            (LEAD, session_start("startup", Some(77))),
            (CODER, tool_start("Bash", "t1")),
            (CODER, permission("Bash")),
            (LEAD, tool_start("Bash", "t2")),
        ]
    };
    for source in ["startup", "resume", "clear", "fork"] {
        check([died(), vec![(LEAD, session_start(source, Some(88)))]].concat(), "");
    }
    // A compaction is the same client and the same turn.
    let goes_on = "s1 lead Working since 4 [t2]\ns1 a1 Working since 2 [t1], asks for permission: Bash";
    check([died(), vec![(LEAD, session_start("compact", Some(77)))]].concat(), goes_on);
    check([died(), vec![(LEAD, session_start("", None))]].concat(), goes_on);
}

#[test]
fn a_session_keeps_what_it_once_said_of_its_client() {
    let ledger = folded([(LEAD, started()), (LEAD, session_start("compact", None))]);
    let session = &ledger.sessions["s1"];
    assert_eq!((session.pid, session.entry.as_str(), session.since), (Some(100), "cli", 1000));
}

#[test]
fn the_lead_s_session_is_one_with_a_person_and_a_team_and_the_oldest() {
    let start = |who: Who, entry: &str, pid: i32| {
        (who, What::SessionStart { source: "startup".to_owned(), pid: Some(pid), entry: entry.to_owned() })
    };
    let lead = |events: Vec<(Who, What)>| folded(events).lead_session(|_| true).map(ToOwned::to_owned);
    assert_eq!(lead(vec![]), None);
    assert_eq!(lead(vec![(("", "", ""), prompt())]), None);
    let two = || vec![start(LEAD, "cli", 1), start(SECOND, "cli", 2)];
    assert_eq!(lead(two()).as_deref(), Some("s1"));
    // Teammates make a lead; a client that a program entered is none while there is another.
    assert_eq!(lead([two(), vec![(SECOND_CODER, What::AgentStart)]].concat()).as_deref(), Some("s2"));
    let nested = vec![start(LEAD, "sdk-cli", 1), (CODER, What::AgentStart), start(SECOND, "cli", 2)];
    assert_eq!(lead(nested).as_deref(), Some("s2"));
    assert_eq!(lead(vec![start(LEAD, "sdk-cli", 1)]).as_deref(), Some("s1"));
    // Those that ended, or whose client does not live, are none.
    assert_eq!(lead([two(), vec![(LEAD, ended())]].concat()).as_deref(), Some("s2"));
    assert_eq!(folded(two()).lead_session(|id| id != "s1"), Some("s2"));
    assert_eq!(folded(two()).lead_session(|_| false), None);
}
