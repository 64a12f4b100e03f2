//! Every file-system call that a command makes fails once in every way it can, and once is the last thing that the
//! command does; after each run an oracle looks at what is left and lets the next commands work. The matrix is made
//! from a recorded trace, so a new call is covered by itself.
//!
//! `faults [SCENARIO…]` runs all scenarios or those that are named; `faults SCENARIO CALL:error=EIO:when=3` runs one
//! fault and keeps its folder. Needs strace (77 = it is missing).
#![allow(clippy::unwrap_used, clippy::similar_names, clippy::option_option)]

mod bench;
mod matrix;
mod oracle;
mod scenario;

use std::collections::{BTreeMap, VecDeque};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

use matrix::Fault;
use scenario::Scenario;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if let Err(reason) = bench::check_strace() {
        eprintln!("faults: cannot run here: {reason}");
        return ExitCode::from(77);
    }
    if let [name, fault] = words.as_slice()
        && let (Some(scenario), Some(fault)) = (scenario::find(name), Fault::parse(fault))
    {
        return one(scenario, &fault);
    }
    let wanted = |scenario: &&Scenario| words.is_empty() || words.iter().any(|word| word == scenario.name);
    let scenarios: Vec<&Scenario> = scenario::ALL.iter().filter(wanted).collect();
    if scenarios.is_empty() {
        eprintln!("faults: no such scenario; there are {}", scenario::names());
        return ExitCode::from(64);
    }
    let mut tally = Tally::default();
    for scenario in scenarios {
        run(scenario, &mut tally);
    }
    println!("{} faults injected", tally.runs);
    let passed = tally.runs - tally.failed - tally.unsteady;
    println!("{passed} passed, {} failed, {} seen once and not again", tally.failed, tally.unsteady);
    ExitCode::from(u8::from(tally.failed > 0 || tally.runs == 0))
}

#[derive(Default)]
struct Tally {
    runs: usize,
    failed: usize,
    unsteady: usize,
}

/// What two processes do at once goes another way every time: a violation counts if it is seen again in so many runs.
const AGAIN: usize = 4;

/// Records the scenario, then runs it once for each fault.
fn run(scenario: &'static Scenario, tally: &mut Tally) {
    let template = scenario.prepare();
    let faults = match scenario.record(template.path()) {
        Ok(trace) => matrix::faults(&trace),
        Err(violation) => {
            println!("{}: not even without a fault: {violation}", scenario.name);
            tally.runs += 1;
            tally.failed += 1;
            return;
        }
    };
    let (calls, kinds) = matrix::size(&faults);
    let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    println!("{}: {calls} calls, {} faults ({})", scenario.name, faults.len(), kinds.join(", "));
    tally.runs += faults.len();
    let violations = all(scenario, &template, faults);
    for (violation, faults) in violations {
        println!("  VIOLATION {violation}");
        for fault in faults {
            let again =
                (0..AGAIN).find_map(|_| scenario.suffer(template.path(), &fault, bench::Keep::No).err());
            tally.failed += usize::from(again.is_some());
            tally.unsteady += usize::from(again.is_none());
            let seen = again.map_or("not again".to_owned(), |violation| format!("again: {violation}"));
            println!("    faults {} {fault}   ({seen})", scenario.name);
        }
    }
}

/// Runs all faults, several at a time. Returns what was violated by which.
fn all(
    scenario: &'static Scenario,
    template: &tempfile::TempDir,
    faults: Vec<Fault>,
) -> BTreeMap<String, Vec<Fault>> {
    let queue = Mutex::new(VecDeque::from(faults));
    let violations = Mutex::new(BTreeMap::<String, Vec<Fault>>::new());
    let workers = thread::available_parallelism().map_or(2, |count| count.get() + 1);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let Some(fault) = queue.lock().unwrap().pop_front() else { return };
                    if let Err(violation) = scenario.suffer(template.path(), &fault, bench::Keep::No) {
                        violations.lock().unwrap().entry(violation).or_default().push(fault);
                    }
                }
            });
        }
    });
    violations.into_inner().unwrap()
}

/// Runs one fault and keeps its folder, to look into.
fn one(scenario: &'static Scenario, fault: &Fault) -> ExitCode {
    let template = scenario.prepare();
    match scenario.suffer(template.path(), fault, bench::Keep::Yes) {
        Ok(()) => {
            println!("passed");
            ExitCode::SUCCESS
        }
        Err(violation) => {
            println!("VIOLATION {violation}");
            ExitCode::FAILURE
        }
    }
}
