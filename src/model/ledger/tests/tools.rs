//! Open tools and questions to a person.

use super::*;

fn check(events: Vec<(Who, What)>, wanted: &str) {
    assert_eq!(shown(&folded(events)), wanted);
}

#[test]
fn a_tool_is_open_until_it_ends_or_fails() {
    let bash = || (LEAD, tool_start("Bash", "t1"));
    check(vec![bash()], "s1 lead Working since 1 [t1]");
    check(vec![bash(), (LEAD, tool_end("Bash", "t1"))], "s1 lead Working since 1 []");
    check(vec![bash(), (LEAD, tool_failed("Bash", "t1"))], "s1 lead Working since 1 []");
    // An end that is lost: the next turn's begin or this turn's end closes it.
    check(vec![bash(), (LEAD, prompt())], "s1 lead Working since 2 []");
    check(vec![bash(), (LEAD, What::TurnEnd)], "s1 lead TurnOver since 2 []");
    check(vec![bash(), (LEAD, failure("server_error", false))], "s1 lead TurnOver since 2 []");
    // Another call beside it closes nothing, nor does what other agents do.
    check(vec![bash(), (LEAD, tool_start("Read", "t2"))], "s1 lead Working since 1 [t1 t2]");
    check(
        vec![bash(), (CODER, tool_end("Bash", "t1")), (CODER, What::AgentStop)],
        "s1 lead Working since 1 [t1]\ns1 a1 TurnOver since 3 []",
    );
}

#[test]
fn of_three_parallel_tools_two_end_and_one_is_open() {
    check(
        vec![
            (LEAD, tool_start("Read", "t1")),
            (LEAD, tool_start("Read", "t2")),
            (LEAD, tool_start("Grep", "t3")),
            (LEAD, tool_end("Grep", "t3")),
            (LEAD, tool_end("Read", "t1")),
        ],
        "s1 lead Working since 1 [t2]",
    );
}

#[test]
fn a_call_that_begins_twice_is_one() {
    check(
        vec![(LEAD, tool_start("Read", "t1")), (LEAD, tool_start("Read", "t1"))],
        "s1 lead Working since 1 [t1]",
    );
    check(vec![(LEAD, tool_end("Read", "t9"))], "s1 lead Working since 1 []");
}

#[test]
fn calls_without_ids_are_told_apart_by_their_tool() {
    let ledger = folded([
        (LEAD, tool_start("Bash", "")),
        (LEAD, tool_start("Read", "")),
        (LEAD, tool_start("Read", "")),
        (LEAD, tool_end("Read", "")),
    ]);
    let tools: Vec<&str> = ledger.sessions["s1"].agents[""].tools.iter().map(|t| t.tool.as_str()).collect();
    assert_eq!(tools, ["Bash", "Read"]);
}

#[test]
fn a_question_ends_with_the_agent_s_next_event() {
    let asked = || vec![(LEAD, tool_start("Bash", "t1")), (LEAD, permission("Bash"))];
    let then = |what: What| [asked(), vec![(LEAD, what)]].concat();
    check(asked(), "s1 lead Working since 1 [t1], asks for permission: Bash");
    // Granted, and the call ends.
    check(then(tool_end("Bash", "t1")), "s1 lead Working since 1 []");
    // Refused: no end of the call comes, work goes on with another tool, and the refused call is closed.
    check(then(tool_start("Read", "t2")), "s1 lead Working since 1 [t2]");
    check(then(prompt()), "s1 lead Working since 3 []");
    check(then(What::TurnEnd), "s1 lead TurnOver since 3 []");
    // What comes after the question and is no answer.
    let still = "s1 lead Working since 1 [t1], asks for permission: Bash";
    check(then(notice("permission_prompt")), still);
    check(then(notice("idle_prompt")), still);
    check(then(notice("agent_needs_input")), still);
    check(then(What::Other { hook: "FileChanged".to_owned() }), still);
    check(
        [asked(), vec![(CODER, tool_start("Read", "t7"))]].concat(),
        &format!("{still}\ns1 a1 Working since 3 [t7]"),
    );
}

#[test]
fn a_question_does_not_end_with_a_call_that_ran_beside_it() {
    let asked = vec![
        (LEAD, tool_start("Grep", "t1")),
        (LEAD, tool_start("Grep", "t2")),
        (LEAD, tool_start("Bash", "t3")),
        (LEAD, permission("Bash")),
        (LEAD, tool_end("Grep", "t2")),
    ];
    check(asked.clone(), "s1 lead Working since 1 [t1 t3], asks for permission: Bash");
    let then = |what: What| [asked.clone(), vec![(LEAD, what)]].concat();
    check(then(tool_failed("Grep", "t1")), "s1 lead Working since 1 [t3], asks for permission: Bash");
    check(then(tool_end("Bash", "t3")), "s1 lead Working since 1 [t1]");
}

#[test]
fn tools_that_are_questions_ask_by_themselves() {
    let check_tool = |tool: &str, words: &str| {
        let begun = vec![(LEAD, tool_start(tool, "t1"))];
        let wanted = format!("s1 lead Working since 1 [t1], asks for {words}");
        check(begun.clone(), &wanted);
        // The permission that they ask for as well is the same question.
        check([begun.clone(), vec![(LEAD, permission(tool))]].concat(), &wanted);
        check([begun.clone(), vec![(LEAD, notice("permission_prompt"))]].concat(), &wanted);
        check([begun, vec![(LEAD, tool_end(tool, "t1"))]].concat(), "s1 lead Working since 1 []");
    };
    check_tool("AskUserQuestion", "an answer");
    check_tool("ExitPlanMode", "approval of a plan");
}

#[test]
fn a_notice_belongs_to_who_it_names_or_who_asked_or_the_lead() {
    let working = || vec![(LEAD, tool_start("Agent", "t1")), (CODER, tool_start("Bash", "t2"))];
    let check_after = |events: Vec<(Who, What)>, wanted: &str| check([working(), events].concat(), wanted);
    check_after(
        vec![(LEAD, notice("permission_prompt"))],
        "s1 lead Working since 1 [t1], asks for permission: Agent\ns1 a1 Working since 2 [t2]",
    );
    check_after(
        vec![(CODER, notice("permission_prompt"))],
        "s1 lead Working since 1 [t1]\ns1 a1 Working since 2 [t2], asks for permission: Bash",
    );
    check_after(
        vec![(CODER, permission("Bash")), (LEAD, notice("permission_prompt"))],
        "s1 lead Working since 1 [t1]\ns1 a1 Working since 2 [t2], asks for permission: Bash",
    );
    check_after(
        vec![(LEAD, permission("Agent")), (CODER, notice("permission_prompt"))],
        "s1 lead Working since 1 [t1], asks for permission: Agent\ns1 a1 Working since 2 [t2], asks for permission: Bash",
    );
}

#[test]
fn a_dialog_of_a_tool_s_server_is_a_question_until_it_is_answered() {
    let asked = vec![(LEAD, tool_start("mcp__forms__ask", "t1")), (LEAD, notice("elicitation_dialog"))];
    check(asked.clone(), "s1 lead Working since 1 [t1], asks for an answer");
    check(
        [asked.clone(), vec![(LEAD, notice("elicitation_complete"))]].concat(),
        "s1 lead Working since 1 [t1]",
    );
    check([asked, vec![(LEAD, notice("elicitation_response"))]].concat(), "s1 lead Working since 1 [t1]");
}

#[test]
fn a_notice_of_a_session_that_is_not_known_is_a_question_of_its_lead() {
    check(vec![(LEAD, notice("permission_prompt"))], "s1 lead Working since 1 [], asks for permission");
    check(vec![(LEAD, notice("idle_prompt"))], "");
}

#[test]
fn that_the_operator_was_told_is_kept_with_the_question() {
    let told = |events: Vec<(Who, What)>| {
        let agent = folded(events).sessions["s1"].agents[""].clone();
        (agent.asked.is_some_and(|asked| asked.told), agent.told)
    };
    let asked = || vec![(LEAD, tool_start("Bash", "t1")), (LEAD, permission("Bash"))];
    assert_eq!(told(asked()), (false, false));
    assert_eq!(told([asked(), vec![(LEAD, What::PersonTold)]].concat()), (true, false));
    // In an interactive phase the turn itself is the question; the next turn is a new one.
    let over = || vec![(LEAD, prompt()), (LEAD, What::TurnEnd), (LEAD, What::PersonTold)];
    assert_eq!(told(over()), (false, true));
    assert_eq!(told([over(), vec![(LEAD, prompt()), (LEAD, What::TurnEnd)]].concat()), (false, false));
}

#[test]
fn a_call_keeps_its_own_time_limit() {
    let what = What::ToolStart {
        tool: "Bash".to_owned(),
        id: "t1".to_owned(),
        timeout_ms: Some(600_000),
        hash: "0011aabb".to_owned(),
    };
    assert_eq!(folded([(LEAD, what)]).sessions["s1"].agents[""].tools[0].timeout_ms, Some(600_000));
}
