//! A week of work at random moments, beside a reading of the rule that knows nothing of clocks, deadlines and events:
//! it looks at every single second.

use super::machine::{Machine, seconds};

const WEEK: u64 = 7 * 86_400;

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    /// Mostly seconds; now and then a stall; rarely a long one.
    fn pause(&mut self, long: u64) -> u64 {
        match self.roll(1000) {
            0..=984 => 1 + self.roll(290),
            985..=998 => 301 + self.roll(600),
            _ => 301 + self.roll(long),
        }
    }
}

/// When work is seen, in seconds since the beginning, where it was seen first.
fn work(seed: u64, long: u64) -> Vec<u64> {
    let mut dice = Dice(seed);
    let mut at = 0;
    let mut all = Vec::new();
    loop {
        at += dice.pause(long);
        if at >= WEEK {
            return all;
        }
        all.push(at);
    }
}

/// The protocol's rule, second by second.
fn by_the_letter(work: &[u64]) -> Vec<(u64, String)> {
    let mut done = Vec::new();
    let (mut last_work, mut last_nudge, mut count) = (0, None::<u64>, 0);
    let mut next = work.iter().peekable();
    for now in 1..=WEEK {
        while next.next_if(|at| **at == now).is_some() {
            last_work = now;
        }
        let is_debounced = last_nudge.is_some_and(|at| now - at <= 600);
        if now - last_work <= 300 || is_debounced {
            continue;
        }
        let worked = last_nudge.map_or(0, |at| last_work.saturating_sub(at));
        if worked > 1800 {
            count = 0;
        }
        if count == 3 {
            done.push((now, "flag after 3 (no_recovery)".to_owned()));
            return done;
        }
        count += 1;
        last_nudge = Some(now);
        done.push((now, format!("nudge {count}")));
    }
    done
}

async fn by_the_daemon(work: &[u64]) -> (Vec<(u64, String)>, Machine) {
    let machine = Machine::new();
    let script = async {
        for at in work {
            machine.at(seconds(*at)).await;
            if machine.change(|project| project.flag.is_some()) {
                return;
            }
            machine.work();
        }
        machine.at(seconds(WEEK)).await;
    };
    machine.play(script).await;
    let is_verdict = |what: &str| what.starts_with("nudge ") || what.starts_with("flag ");
    (machine.record().into_iter().filter(|(_, what)| is_verdict(what)).collect(), machine)
}

#[tokio::test(start_paused = true)]
async fn a_week_of_work_is_judged_as_the_rule_says_second_by_second() {
    let (mut nudges, mut flags) = (0, 0);
    for seed in 1..=12 {
        // In some weeks the long pauses are long enough for a flag.
        let work = work(seed, if seed % 3 == 0 { 4000 } else { 900 });
        let wanted = by_the_letter(&work);
        let (done, machine) = by_the_daemon(&work).await;
        assert_eq!(done, wanted, "seed {seed}");
        nudges += wanted.iter().filter(|(_, what)| what.starts_with("nudge")).count();
        flags += wanted.iter().filter(|(_, what)| what.starts_with("flag")).count();
        let minutes = WEEK / 60;
        let most = minutes + 2 * u64::try_from(work.len() + done.len()).unwrap() + 10;
        assert!(machine.looks() as u64 <= most, "seed {seed}: {} looks", machine.looks());
    }
    assert!(
        nudges > 300 && flags > 0 && flags < 12,
        "the weeks are worth something: {nudges} nudges, {flags} flags"
    );
}
