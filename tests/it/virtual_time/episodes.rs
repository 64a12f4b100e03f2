//! From the first nudge to recovery or the flag.

use watchdog::model::event::What;
use watchdog::model::policy::{Mode, Policy};

use super::machine::{Machine, SESSION, minutes, seconds};

#[tokio::test(start_paused = true)]
async fn silence_is_nudged_after_5_15_and_25_minutes_flagged_after_35_and_left() {
    let machine = Machine::new();
    machine.idle(minutes(24 * 60)).await;
    // Each limit is exceeded, not met, and stamps are whole seconds.
    machine.did(&[
        "5:01 nudge 1",
        "15:02 nudge 2",
        "25:03 nudge 3",
        "35:04 flag after 3 (no_recovery)",
        "35:04 left: escalated",
    ]);
    machine.change(|project| assert_eq!((project.pending, project.flag.is_some()), (None, true)));
    assert!(machine.looks() <= 60, "it does not poll: {} looks in 35 minutes", machine.looks());
}

#[tokio::test(start_paused = true)]
async fn a_daemon_that_finds_a_stall_waits_for_a_tick_before_it_speaks() {
    let machine = Machine::new();
    machine.change(|project| {
        let activity = project.activity.as_mut().unwrap();
        activity.last_activity_ts -= 3600;
    });
    machine.idle(minutes(12)).await;
    machine.did(&["1:00 nudge 1", "11:01 nudge 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_daemon_that_finds_a_stall_in_which_work_goes_on_says_nothing() {
    let machine = Machine::new();
    machine.change(|project| project.activity.as_mut().unwrap().last_activity_ts -= 3600);
    let script = async {
        machine.at(seconds(59)).await;
        machine.work();
        machine.at(minutes(5)).await;
    };
    machine.play(script).await;
    machine.did(&[]);
}

#[tokio::test(start_paused = true)]
async fn work_after_a_nudge_withdraws_it_and_the_count_goes_on_for_half_an_hour() {
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(6)).await;
        machine.work();
        machine.at(minutes(16)).await;
    };
    machine.play(script).await;
    // Silent again from minute 6: the stall is there after five more, and ten after the first nudge it is said.
    machine.did(&["5:01 nudge 1", "6:00 resumed, nudge withdrawn", "15:02 nudge 2"]);
}

#[tokio::test(start_paused = true)]
async fn half_an_hour_of_work_closes_the_episode_and_the_next_stall_is_a_first_one() {
    let machine = Machine::new();
    let script = async {
        for minute in 6..=36 {
            machine.at(minutes(minute)).await;
            machine.work();
        }
        machine.at(minutes(43)).await;
    };
    machine.play(script).await;
    // Closed at the first work that lies more than half an hour after the nudge: 5:01 + 30:00.
    machine.did(&["5:01 nudge 1", "6:00 resumed, nudge withdrawn", "36:00 closed", "41:01 nudge 1"]);
    machine.change(|project| assert_eq!(project.activity.as_ref().unwrap().nudge_count, 1));
}

#[tokio::test(start_paused = true)]
async fn three_separate_stalls_are_three_first_nudges_and_no_flag() {
    let machine = Machine::new();
    let script = async {
        let mut minute = 0;
        for _stall in 0..3 {
            minute += 6;
            machine.at(minutes(minute)).await;
            for _minute in 0..60 {
                machine.work();
                minute += 1;
                machine.at(minutes(minute)).await;
            }
            machine.work();
        }
    };
    machine.play(script).await;
    machine.did(&[
        "5:01 nudge 1",
        "6:00 resumed, nudge withdrawn",
        "36:00 closed",
        "71:01 nudge 1",
        "72:00 resumed, nudge withdrawn",
        "102:00 closed",
        "137:01 nudge 1",
        "138:00 resumed, nudge withdrawn",
        "168:00 closed",
    ]);
}

#[tokio::test(start_paused = true)]
async fn a_wake_that_starts_nothing_is_no_recovery() {
    let machine = Machine::new();
    let script = async {
        for (minute, n) in [(5, 1), (15, 2), (25, 3)] {
            machine.at(minutes(minute) + seconds(5)).await;
            assert_eq!(machine.wake(), Some(n));
        }
        machine.at(minutes(60)).await;
    };
    machine.play(script).await;
    machine.did(&[
        "5:01 nudge 1",
        "15:02 nudge 2",
        "25:03 nudge 3",
        "35:04 flag after 3 (no_recovery)",
        "35:04 left: escalated",
    ]);
}

#[tokio::test(start_paused = true)]
async fn a_wake_that_helps_ends_the_stall() {
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(5) + seconds(5)).await;
        assert_eq!(machine.wake(), Some(1));
        machine.at(minutes(5) + seconds(9)).await;
        machine.hook("", tool_start("Read", None));
        machine.hook("", tool_end("Read"));
        for minute in (6..=40).step_by(2) {
            machine.at(minutes(minute)).await;
            machine.work();
        }
    };
    machine.play(script).await;
    machine.did(&["5:01 nudge 1", "5:09 resumed", "36:00 closed"]);
}

#[tokio::test(start_paused = true)]
async fn teammates_that_only_go_idle_are_nudged_and_flagged_like_silence() {
    let machine = Machine::new();
    let script = async {
        for minute in 1..=40 {
            machine.at(minutes(minute)).await;
            for mate in ["rakim", "sentinel"] {
                machine.hook(mate, What::Idle { told: false });
            }
        }
    };
    machine.play(script).await;
    // The chain counts from its first idle, at minute 1, and resumes nothing.
    machine.did(&[
        "6:01 nudge 1",
        "16:02 nudge 2",
        "26:03 nudge 3",
        "36:04 flag after 3 (no_recovery)",
        "36:04 left: escalated",
    ]);
}

#[tokio::test(start_paused = true)]
async fn a_flag_beside_which_it_works_for_half_an_hour_is_cleared_and_the_next_stall_is_seen() {
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(2)).await;
        machine.work();
        // As StopFailure leaves it, while the daemon lives.
        machine.change(|project| project.flag = Some(1_800_000_000 + 120));
        for minute in 3..=34 {
            machine.at(minutes(minute)).await;
            machine.work();
        }
        machine.at(minutes(40)).await;
    };
    machine.play(script).await;
    machine.did(&["33:00 flag cleared", "39:01 nudge 1"]);
}

#[tokio::test(start_paused = true)]
async fn teammates_that_only_go_idle_clear_no_flag() {
    let machine = Machine::new();
    machine.change(|project| project.flag = Some(1_800_000_000));
    let script = async {
        for minute in 1..=90 {
            machine.at(minutes(minute)).await;
            machine.hook("rakim", What::Idle { told: false });
        }
    };
    machine.play(script).await;
    machine.did(&[]);
}

#[tokio::test(start_paused = true)]
async fn with_a_flag_there_silence_is_not_spoken_into() {
    let machine = Machine::new();
    machine.change(|project| project.flag = Some(1_800_000_000));
    machine.idle(minutes(24 * 60)).await;
    machine.did(&[]);
}

#[tokio::test(start_paused = true)]
async fn an_observer_says_once_what_it_would_have_done_and_touches_nothing() {
    let mut policy = Policy::default();
    policy.daemon.mode = Mode::Observe;
    let machine = Machine::with(policy, false);
    let script = async {
        machine.at(minutes(45)).await;
        machine.work();
        machine.at(minutes(52)).await;
    };
    machine.play(script).await;
    machine.did(&["5:01 would nudge 1", "50:01 would nudge 1"]);
    machine.change(|project| {
        let activity = project.activity.as_ref().unwrap();
        assert_eq!((activity.nudge_count, activity.last_nudge_ts, project.pending), (0, 0, None));
    });
}

#[tokio::test(start_paused = true)]
async fn other_numbers_are_followed_as_exactly() {
    let mut policy = Policy::default();
    policy.rule.idle_after = seconds(10);
    policy.rule.nudge_every = seconds(20);
    policy.rule.max_nudges = 1;
    policy.daemon.tick = seconds(2);
    let machine = Machine::with(policy, false);
    machine.idle(minutes(2)).await;
    machine.did(&["0:11 nudge 1", "0:32 flag after 1 (no_recovery)", "0:32 left: escalated"]);
    let mut none = Policy::default();
    none.rule.max_nudges = 0;
    let machine = Machine::with(none, false);
    machine.idle(minutes(10)).await;
    machine.did(&["5:01 flag after 0 (no_recovery)", "5:01 left: escalated"]);
}

#[tokio::test(start_paused = true)]
async fn a_complete_pipeline_is_left_and_one_that_stays_waits_for_the_next() {
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(2)).await;
        machine.change(|project| project.stage = Some("complete".to_owned()));
        machine.at(minutes(60)).await;
    };
    machine.play(script).await;
    machine.did(&["2:00 left: the pipeline is complete"]);
    let machine = Machine::with(Policy::default(), true);
    let script = async {
        machine.at(minutes(2)).await;
        machine.change(|project| project.stage = Some("complete".to_owned()));
        machine.at(minutes(60)).await;
        machine.change(|project| project.stage = Some("build".to_owned()));
        machine.work();
        machine.at(minutes(66)).await;
    };
    machine.play(script).await;
    machine.did(&["65:01 nudge 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_gone_for_a_minute_is_lost_and_flagged_once() {
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(2)).await;
        machine.change(|project| {
            project.living.clear();
            project.dead.insert(SESSION.to_owned());
        });
        machine.at(minutes(10)).await;
    };
    machine.play(script).await;
    machine.did(&[
        "3:00 sessions lost",
        "3:00 flag after 0 (session_lost)",
        "3:00 left: the client is gone without a word",
    ]);
}

#[tokio::test(start_paused = true)]
async fn the_last_session_takes_the_daemon_with_it_after_ten_seconds_unless_another_begins() {
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(2)).await;
        machine.change(|project| project.living.clear());
        machine.at(minutes(2) + seconds(8)).await;
        machine.change(|project| project.living.push("next".to_owned()));
        machine.at(minutes(3)).await;
        machine.change(|project| project.living.clear());
        machine.at(minutes(10)).await;
    };
    machine.play(script).await;
    machine.did(&["3:10 left: no session is left"]);
}

/// A tool begins.
pub(super) fn tool_start(tool: &str, timeout_ms: Option<u64>) -> What {
    What::ToolStart { tool: tool.to_owned(), id: format!("t-{tool}"), timeout_ms, hash: String::new() }
}

/// And ends.
pub(super) fn tool_end(tool: &str) -> What {
    What::ToolEnd { tool: tool.to_owned(), id: format!("t-{tool}"), failed: false, message: None }
}
