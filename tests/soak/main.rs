//! One daemon, up to 50 sessions that come, work, stall, crash and recover by chance, and a daemon that is killed by
//! chance. The driver's own log of what it did is what the journal and the files are held against.
//!
//! `SOAK_SECONDS` (600) says how long, `SOAK_SEED` which chance; `SOAK_KEEP=1` keeps the folder.

#![allow(clippy::unwrap_used)]

mod chance;
mod field;
mod oracle;
mod phases;
mod vitals;

use std::process::ExitCode;
use std::time::Duration;

use watchdog::system::clock;

use chance::Chance;
use field::Field;

fn main() -> ExitCode {
    // Cargo passes its own words to every test binary.
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("SOAK_SECONDS").unwrap_or(600);
    let seed = number("SOAK_SEED").unwrap_or(clock::now().wall.unsigned_abs() % 1_000_000);
    println!("soak: {seconds} s, seed {seed} (again: SOAK_SECONDS={seconds} SOAK_SEED={seed} make soak)");
    let mut field = Field::new();
    let mut vitals = vitals::Vitals::default();
    let mut chance = Chance::new(seed);
    let began = clock::now();
    let limit = Duration::from_secs(seconds);
    let mut tally = phases::Tally::default();
    while clock::now().awake_since(began) < limit && field.violations().is_empty() {
        // In the last two fifths one daemon lives on, to see whether it grows.
        let calm = clock::now().awake_since(began) > limit * 3 / 5;
        let name = phases::next(&mut field, &mut chance, &mut tally, calm);
        oracle::updates(&field);
        oracle::journal(&field);
        vitals.sample(&field, clock::now());
        if std::env::var_os("SOAK_VERBOSE").is_some() {
            println!("{:6.1} s  {name}", clock::now().awake_since(began).as_secs_f32());
        }
    }
    let ran = clock::now().awake_since(began);
    oracle::whole_journal(&field);
    vitals.judge(&field);
    println!("{} in {:.0} s", tally.words(), ran.as_secs_f32());
    println!("{}", oracle::summary(&field));
    println!("{}", vitals.words());
    let violations = field.violations();
    for violation in &violations {
        println!("VIOLATION {violation}");
    }
    if !violations.is_empty() || std::env::var_os("SOAK_KEEP").is_some() {
        println!("kept: {}", field.keep().display());
    }
    if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
