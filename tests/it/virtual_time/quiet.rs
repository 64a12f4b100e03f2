//! Reasons to stay quiet: a person, a tool, the API, the operator, the phase.

use watchdog::model::event::What;

use super::episodes::{tool_end, tool_start};
use super::machine::{Machine, minutes, seconds};

#[tokio::test(start_paused = true)]
async fn a_tool_that_runs_for_twenty_minutes_is_no_stall_and_its_end_begins_the_silence() {
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(1)).await;
        machine.hook("", tool_start("Bash", None));
        machine.at(minutes(21)).await;
        machine.hook("", tool_end("Bash"));
        machine.at(minutes(27)).await;
    };
    machine.play(script).await;
    machine.did(&["26:01 nudge 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_ends_explains_silence_for_half_an_hour_or_its_own_timeout_and_a_minute() {
    let machine = Machine::new();
    machine.hook("", tool_start("Bash", None));
    machine.idle(minutes(35)).await;
    machine.did(&["30:00 nudge 1"]);
    let machine = Machine::new();
    machine.hook("", tool_start("Bash", Some(45 * 60_000)));
    machine.idle(minutes(50)).await;
    machine.did(&["46:00 nudge 1"]);
    let machine = Machine::new();
    machine.hook("", tool_start("Bash", Some(120_000)));
    machine.idle(minutes(35)).await;
    machine.did(&["30:00 nudge 1"]);
}

#[tokio::test(start_paused = true)]
async fn one_agents_tool_explains_the_silence_of_all() {
    let machine = Machine::new();
    let script = async {
        machine.hook("", tool_end("Read"));
        machine.at(minutes(1)).await;
        machine.hook("rakim", What::AgentStart);
        machine.hook("rakim", tool_start("Bash", None));
        machine.at(minutes(20)).await;
        machine.hook("rakim", What::AgentStop);
        machine.at(minutes(26)).await;
    };
    machine.play(script).await;
    machine.did(&["25:01 nudge 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_person_who_is_asked_is_waited_for_and_the_operator_told_once() {
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(1)).await;
        machine.hook("", tool_start("Bash", None));
        machine.hook("", What::Permission { tool: "Bash".to_owned() });
        machine.at(minutes(1) + seconds(6)).await;
        machine.hook("", What::Notice { kind: "permission_prompt".to_owned() });
        machine.at(minutes(200)).await;
        machine.hook("", tool_end("Bash"));
        machine.at(minutes(206)).await;
    };
    machine.play(script).await;
    machine.did(&["6:00 told: team-lead waits for permission: Bash", "205:01 nudge 1"]);
}

#[tokio::test(start_paused = true)]
async fn questions_and_plans_wait_for_a_person_too() {
    for (tool, asked) in [("AskUserQuestion", "an answer"), ("ExitPlanMode", "approval of a plan")] {
        let machine = Machine::new();
        machine.hook("", tool_start(tool, None));
        machine.idle(minutes(300)).await;
        machine.did(&[&format!("5:00 told: team-lead waits for {asked}")]);
    }
}

#[tokio::test(start_paused = true)]
async fn in_an_interactive_phase_a_lead_whose_turn_is_over_waits_for_its_person() {
    let machine = Machine::new();
    machine.change(|project| project.stage = Some("brainstorm".to_owned()));
    machine.work();
    let script = async {
        machine.at(minutes(1)).await;
        machine.hook("", What::TurnEnd);
        machine.at(minutes(90)).await;
        machine.work();
        machine.at(minutes(96)).await;
    };
    machine.play(script).await;
    // In the middle of a turn it is a stall as anywhere else.
    machine.did(&["6:00 told: team-lead waits for the next prompt of an interactive phase", "95:01 nudge 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_idle_after_a_turn_of_another_phase_waits_for_nobody() {
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(1)).await;
        machine.hook("", What::TurnEnd);
        machine.at(minutes(2)).await;
        machine.hook("", What::Notice { kind: "idle_prompt".to_owned() });
        machine.at(minutes(6)).await;
    };
    machine.play(script).await;
    machine.did(&["5:01 nudge 1"]);
}

fn refused(reset_at: Option<i64>) -> What {
    What::ApiError { error: "rate_limit".to_owned(), holds: true, reset_at }
}

#[tokio::test(start_paused = true)]
async fn an_api_that_says_wait_holds_for_10_20_and_40_minutes_and_until_it_answers() {
    let machine = Machine::new();
    let script = async {
        machine.hook("", refused(None));
        machine.at(minutes(9)).await;
        machine.hook("", refused(None));
        machine.at(minutes(28)).await;
        machine.hook("", refused(None));
        machine.at(minutes(69)).await;
        machine.work();
        machine.hook("", tool_start("Read", None));
        machine.hook("", tool_end("Read"));
        machine.at(minutes(70)).await;
        machine.hook("", refused(None));
        machine.at(minutes(81)).await;
    };
    machine.play(script).await;
    // 28 + 40; and after an answer the holds begin anew: 70 + 10.
    machine.did(&["68:00 nudge 1", "69:00 resumed, nudge withdrawn", "80:00 nudge 2"]);
}

#[tokio::test(start_paused = true)]
async fn an_api_that_says_when_is_believed_up_to_six_hours() {
    let machine = Machine::new();
    let wall = machine.now().wall;
    machine.hook("", refused(Some(wall + 90 * 60_000)));
    machine.idle(minutes(100)).await;
    machine.did(&["90:00 nudge 1"]);
    let machine = Machine::new();
    machine.hook("", refused(Some(wall + 90 * 3_600_000)));
    machine.idle(minutes(365)).await;
    machine.did(&["360:00 nudge 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_does_not_say_wait_is_no_reason() {
    let machine = Machine::new();
    machine.hook("", What::ApiError { error: "server_error".to_owned(), holds: false, reset_at: None });
    machine.idle(minutes(6)).await;
    machine.did(&["5:01 nudge 1"]);
}

#[tokio::test(start_paused = true)]
async fn the_operators_pause_ends_at_its_time_or_sooner() {
    let machine = Machine::new();
    let until = machine.now().wall + 60 * 60_000;
    machine.hook("", What::Paused { until });
    machine.idle(minutes(62)).await;
    machine.did(&["60:00 nudge 1"]);
    let machine = Machine::new();
    machine.hook("", What::Paused { until });
    let script = async {
        machine.at(minutes(20)).await;
        machine.hook("", What::Unpaused);
        machine.at(minutes(22)).await;
    };
    machine.play(script).await;
    machine.did(&["20:00 nudge 1"]);
}

#[tokio::test(start_paused = true)]
async fn in_an_exempt_phase_silence_is_no_stall_for_as_long_as_it_lasts() {
    for stage in ["idle", "awaiting_user"] {
        let machine = Machine::new();
        machine.change(|project| project.stage = Some(stage.to_owned()));
        let script = async {
            machine.at(minutes(24 * 60)).await;
            machine.change(|project| project.stage = Some("build".to_owned()));
            machine.work();
            machine.at(minutes(24 * 60 + 6)).await;
        };
        machine.play(script).await;
        machine.did(&["1445:01 nudge 1"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_project_in_which_nothing_was_ever_seen_is_quiet() {
    let machine = Machine::silent(watchdog::model::policy::Policy::default(), false);
    machine.idle(minutes(24 * 60)).await;
    machine.did(&[]);
}
