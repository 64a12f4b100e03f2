//! Clocks that step, a machine that sleeps, a daemon that is stopped: none of it is a stall, and none of it hides one.

use tokio::time::advance;

use super::machine::{Machine, minutes, seconds};

const HOURS: i64 = 3_600_000;

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_jumps_ahead_is_no_stall() {
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(1)).await;
        machine.work();
        machine.at(minutes(1) + seconds(20)).await;
        machine.step_wall(2 * HOURS);
        machine.at(minutes(2) + seconds(30)).await;
        machine.work();
        machine.at(minutes(7)).await;
    };
    machine.play(script).await;
    machine.did(&[]);
}

#[tokio::test(start_paused = true)]
async fn after_a_jump_ahead_silence_is_noticed_by_running_time() {
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(1)).await;
        machine.work();
        machine.at(minutes(1) + seconds(20)).await;
        machine.step_wall(2 * HOURS);
        machine.at(minutes(8)).await;
    };
    machine.play(script).await;
    within(&machine, 6 * 60, 6 * 60 + 5);
}

/// One nudge was staged, in this second or one of the next few.
#[track_caller]
fn within(machine: &Machine, earliest: u64, latest: u64) {
    let done = machine.record();
    assert_eq!(done.len(), 1, "{done:?}");
    assert!(done[0].1 == "nudge 1" && (earliest..=latest).contains(&done[0].0), "{done:?}");
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_is_set_back_hides_no_silence() {
    for by in [-2 * HOURS, -60_000, -400 * 24 * HOURS] {
        let machine = Machine::new();
        let script = async {
            machine.at(minutes(1)).await;
            machine.work();
            machine.at(minutes(2)).await;
            machine.step_wall(by);
            machine.at(minutes(12)).await;
        };
        machine.play(script).await;
        within(&machine, 6 * 60, 6 * 60 + 5);
    }
}

#[tokio::test(start_paused = true)]
async fn an_episode_in_which_the_clock_is_set_back_still_ends_in_the_flag() {
    // The last work lies in the future now: it must not read as hours of work after each nudge.
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(2)).await;
        machine.step_wall(-2 * HOURS);
        machine.at(minutes(60)).await;
    };
    machine.play(script).await;
    let done: Vec<String> = machine.record().into_iter().map(|(_, what)| what).collect();
    let wanted = ["nudge 1", "nudge 2", "nudge 3", "flag after 3 (no_recovery)", "left: escalated"];
    assert_eq!(done, wanted);
}

#[tokio::test(start_paused = true)]
async fn a_night_of_sleep_is_no_stall_and_silence_after_it_is() {
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(1)).await;
        machine.work();
        machine.at(minutes(2)).await;
        machine.sleep(minutes(8 * 60));
        machine.at(minutes(3) + seconds(30)).await;
        machine.work();
        machine.at(minutes(9)).await;
    };
    machine.play(script).await;
    within(&machine, 8 * 60 + 30, 8 * 60 + 35);
}

#[tokio::test(start_paused = true)]
async fn after_a_night_of_sleep_without_work_the_running_time_counts() {
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(4) + seconds(10)).await;
        machine.sleep(minutes(8 * 60));
        machine.at(minutes(12)).await;
    };
    machine.play(script).await;
    // Five minutes of running time are over at the first look after the sleep; a tick later it is said.
    within(&machine, 6 * 60, 6 * 60 + 5);
}

#[tokio::test(start_paused = true)]
async fn a_nudge_before_a_sleep_is_not_followed_by_the_next_right_after_it() {
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(6)).await;
        machine.sleep(minutes(8 * 60));
        machine.at(minutes(14)).await;
    };
    machine.play(script).await;
    machine.did(&["5:01 nudge 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_daemon_that_was_stopped_gives_the_others_a_tick_first() {
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(4)).await;
        machine.work();
        // Running time goes on, the process does not: SIGSTOP, a frozen container, a paused virtual machine.
        advance(minutes(10)).await;
        machine.at(minutes(14) + seconds(1)).await;
        machine.work();
        machine.at(minutes(18)).await;
    };
    machine.play(script).await;
    machine.did(&[]);
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(4)).await;
        machine.work();
        machine.at(minutes(4) + seconds(1)).await;
        advance(minutes(10)).await;
        machine.at(minutes(17)).await;
    };
    machine.play(script).await;
    within(&machine, 15 * 60, 15 * 60 + 5);
}

#[tokio::test(start_paused = true)]
async fn a_daemon_that_begins_on_yesterdays_files_gives_the_same_grace() {
    let machine = Machine::new();
    machine.change(|project| project.activity.as_mut().unwrap().last_activity_ts -= 24 * 3600);
    let script = async {
        machine.at(seconds(50)).await;
        machine.work();
        machine.at(minutes(5)).await;
    };
    machine.play(script).await;
    machine.did(&[]);
    let machine = Machine::new();
    machine.change(|project| project.activity.as_mut().unwrap().last_activity_ts -= 24 * 3600);
    machine.idle(minutes(5)).await;
    within(&machine, 60, 62);
}

#[tokio::test(start_paused = true)]
async fn a_stamp_in_the_future_does_not_blind_it() {
    let machine = Machine::new();
    let script = async {
        machine.at(minutes(1)).await;
        machine.change(|project| {
            let activity = project.activity.as_mut().unwrap();
            activity.last_activity_ts += 50_000 * 365 * 86_400;
            activity.epoch += 1;
        });
        machine.at(minutes(8)).await;
    };
    machine.play(script).await;
    within(&machine, 6 * 60, 6 * 60 + 60);
}

#[tokio::test(start_paused = true)]
async fn a_last_nudge_in_the_future_holds_up_the_next_by_ten_minutes_at_most() {
    let machine = Machine::new();
    machine.change(|project| {
        let activity = project.activity.as_mut().unwrap();
        (activity.last_nudge_ts, activity.nudge_count) = (activity.last_activity_ts + 1_000_000, 1);
    });
    machine.idle(minutes(12)).await;
    let done = machine.record();
    assert_eq!(done.len(), 1, "{done:?}");
    assert!(done[0].1 == "nudge 2" && (600..=665).contains(&done[0].0), "{done:?}");
}

#[tokio::test(start_paused = true)]
async fn lost_file_events_delay_a_nudge_by_a_tick_at_most() {
    let machine = Machine::new();
    machine.go_deaf();
    let script = async {
        machine.at(minutes(2)).await;
        machine.work();
        machine.at(minutes(10)).await;
    };
    machine.play(script).await;
    within(&machine, 7 * 60 + 1, 8 * 60 + 2);
}
