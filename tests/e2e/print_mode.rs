//! What the hooks cost a turn in print mode, where the client waits for every one of them.

use std::time::{Duration, Instant};

use crate::api::Api;
use crate::client::print_turn;
use crate::project::Project;

/// Pairs of turns, with and without hooks, one after the other.
const PAIRS: usize = 6;

/// Runs one turn with a tool call and returns how long it took.
fn turn(project: &Project, api: &Api) -> Duration {
    let begin = Instant::now();
    let output = print_turn(project, api, "@tool Bash {\"command\":\"true\"}\n@say PRINTED");
    let took = begin.elapsed();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.trim() == "PRINTED",
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    took
}

/// The shortest and the middle one.
fn span(mut turns: Vec<Duration>) -> (Duration, Duration) {
    turns.sort();
    (turns[0], turns[turns.len() / 2])
}

#[test]
fn a_turn_in_print_mode_goes_through_with_all_hooks() {
    let (without, with) = (Project::bare(), Project::in_flight("[daemon]\ntick = \"1s\"\n"));
    let api = Api::start();
    // The first turn of a home sets the client up.
    turn(&without, &api);
    turn(&with, &api);
    let pairs: Vec<_> = (0..PAIRS).map(|_| (turn(&without, &api), turn(&with, &api))).collect();
    let (bare, hooked): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
    let (bare, hooked) = (span(bare), span(hooked));
    println!(
        "measured: a turn in print mode, shortest and median of {PAIRS}: {bare:.2?} without hooks, {hooked:.2?} with"
    );
    println!("measured: the pairs {pairs:.2?}");
    let ended = with.journalled("session_end").len();
    assert_eq!(ended, PAIRS + 1, "every session that ended is in the journal");
    assert!(!with.has(".kiln/tmp/activity.json"), "the last session takes the transient files along");
}
