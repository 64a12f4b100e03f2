//! Silence by clocks that step, stop and sleep.

use std::time::Duration;

use proptest::prelude::*;

use super::{Memory, Seen};
use crate::model::activity::Activity;
use crate::model::event::{Event, What};
use crate::model::ledger::Ledger;
use crate::model::moment::Moment;
use crate::model::policy::Policy;
use crate::model::rule::{self, Answer};

/// A wall clock that is right, when the machine has run for an hour.
const NOON: i64 = 1_796_083_200_000;
const HOUR: i64 = 3_600_000;

/// A machine with its three clocks, the activity file of a root, and a watcher that remembers.
struct World {
    now: Moment,
    activity: Activity,
    ledger: Ledger,
    memory: Memory,
}

impl World {
    /// The watcher begins when the activity is `idle` seconds old.
    fn watched_from(idle: i64) -> Self {
        let now = Moment { wall: NOON, awake: Duration::from_secs(3600), boot: Duration::from_secs(3600) };
        let activity = Activity {
            last_activity_ts: NOON / 1000 - idle,
            last_activity_source: "PostToolUse:Read".to_owned(),
            ..Activity::default()
        };
        let mut world = Self { now, activity, ledger: Ledger::default(), memory: Memory::default() };
        world.look();
        world
    }

    fn look(&mut self) -> &mut Self {
        self.memory.see(&self.activity, &self.ledger, self.now);
        self
    }

    /// Time goes by, awake.
    fn run(&mut self, milliseconds: u64) -> &mut Self {
        self.now.wall += milliseconds.cast_signed();
        self.now.awake += Duration::from_millis(milliseconds);
        self.now.boot += Duration::from_millis(milliseconds);
        self.look()
    }

    fn sleep(&mut self, milliseconds: u64) -> &mut Self {
        self.now.wall += milliseconds.cast_signed();
        self.now.boot += Duration::from_millis(milliseconds);
        self.look()
    }

    fn step(&mut self, milliseconds: i64) -> &mut Self {
        self.now.wall += milliseconds;
        self.look()
    }

    /// A hook writes, and the journal gets its line.
    fn work(&mut self, source: &str, what: What) -> &mut Self {
        self.ledger.apply(&Event { session: "s".to_owned(), ..Event::of_root(self.now.wall, what) });
        self.activity.last_activity_ts = self.now.seconds();
        source.clone_into(&mut self.activity.last_activity_source);
        self.look()
    }

    fn heartbeat(&mut self) -> &mut Self {
        self.work("PostToolUse:Read", What::Prompt { wake: false })
    }

    fn idle_teammate(&mut self) -> &mut Self {
        self.work("TeammateIdle", What::Idle { told: false })
    }

    fn idle(&self) -> u64 {
        self.memory.times(&self.activity, &self.ledger, self.now).idle.as_secs()
    }

    fn since_nudge(&self) -> Option<u64> {
        self.memory.times(&self.activity, &self.ledger, self.now).since_nudge.map(|since| since.as_secs())
    }
}

#[test]
fn where_clocks_agree_silence_is_wall_time_to_the_second() {
    let mut world = World::watched_from(20);
    assert_eq!(world.idle(), 20);
    assert_eq!(world.run(280_000).idle(), 300);
    assert_eq!(world.run(1_000).idle(), 301);
    world.heartbeat();
    assert_eq!(world.run(300_000).idle(), 300);
    assert_eq!(world.run(1_000).idle(), 301);
    // A stamp that lost nine tenths of a second is passed when the wall clock's seconds say so.
    world.run(900).heartbeat();
    assert_eq!(world.run(300_099).idle(), 300);
    assert_eq!(world.run(1).idle(), 301);
}

#[test]
fn a_clock_that_steps_forward_is_no_silence() {
    let mut seen_to_change = World::watched_from(20);
    assert_eq!(seen_to_change.heartbeat().run(20_000).step(2 * HOUR).idle(), 21);
    assert_eq!(seen_to_change.run(279_000).idle(), 300);
    assert_eq!(seen_to_change.run(1_000).idle(), 301);
    let mut there_before = World::watched_from(20);
    assert_eq!(there_before.step(2 * HOUR).idle(), 21);
}

#[test]
fn a_clock_that_steps_back_delays_nothing() {
    for step in [-2 * HOUR, -200_000, -1_000] {
        let mut world = World::watched_from(20);
        world.heartbeat().run(250_000).step(step).run(50_000);
        assert!((299..=300).contains(&world.idle()), "{step}: {}", world.idle());
        assert!((301..=302).contains(&world.run(2_000).idle()), "{step}: {}", world.idle());
    }
}

#[test]
fn a_night_s_sleep_is_no_silence() {
    let mut world = World::watched_from(500);
    world.heartbeat().run(10_000).sleep(8 * HOUR.unsigned_abs());
    assert_eq!(world.idle(), 11);
    let mut there_before = World::watched_from(20);
    there_before.run(10_000).sleep(8 * HOUR.unsigned_abs());
    assert_eq!(there_before.idle(), 31);
}

#[test]
fn a_stamp_of_the_future_counts_from_when_it_was_seen() {
    let mut world = World::watched_from(-7_200);
    assert_eq!(world.idle(), 0);
    assert_eq!(world.run(301_000).idle(), 301);
    // Two hours later the stamp lies in the past; silence goes on from where it was.
    assert!((7_200..=7_201).contains(&world.run(6_900_000).idle()));
}

#[test]
fn yesterday_s_files_are_as_old_as_the_wall_clock_says() {
    assert_eq!(World::watched_from(86_400).idle(), 86_400);
}

#[test]
fn without_a_memory_the_wall_clock_decides() {
    let mut world = World::watched_from(400);
    world.memory = Memory::default();
    assert_eq!(world.idle(), 400);
    world.activity.last_activity_ts = NOON / 1000 + 60;
    assert_eq!(world.idle(), 0);
}

#[test]
fn a_memory_of_another_stamp_does_not_count() {
    let mut world = World::watched_from(400);
    world.memory.activity =
        Some(Seen { stamp: NOON / 1000 - 999, awake: world.now.awake, before: Duration::ZERO });
    assert_eq!(world.idle(), 400);
}

#[test]
fn time_since_a_nudge_goes_by_the_same_clocks() {
    let mut world = World::watched_from(400);
    assert_eq!(world.since_nudge(), None);
    world.activity.last_nudge_ts = world.now.seconds();
    assert_eq!(world.look().since_nudge(), Some(0));
    assert_eq!(world.run(10_000).step(2 * HOUR).since_nudge(), Some(11));
    assert_eq!(world.step(-4 * HOUR).run(590_000).since_nudge(), Some(600));
}

#[test]
fn a_chain_of_teammates_going_idle_is_one_sign_of_work() {
    let mut world = World::watched_from(5);
    world.heartbeat();
    // Every two seconds, each one seen by the watcher as it comes.
    for _ in 0..150 {
        world.run(2_000).idle_teammate();
    }
    assert_eq!(world.idle(), 298);
    assert_eq!(world.run(2_000).idle_teammate().idle(), 300);
    assert_eq!(world.run(2_000).idle_teammate().idle(), 302);
    // Work of another kind breaks the chain; the next idle begins a new one.
    assert_eq!(world.heartbeat().idle(), 0);
    assert_eq!(world.run(50_000).idle_teammate().run(50_000).idle_teammate().idle(), 50);
}

#[test]
fn another_writer_s_idle_teammates_count_each_as_the_seeds_say() {
    let mut world = World::watched_from(5);
    for _ in 0..4 {
        world.run(200_000);
        world.activity.last_activity_ts = world.now.seconds();
        "TeammateIdle".clone_into(&mut world.activity.last_activity_source);
        world.look();
    }
    assert_eq!(world.idle(), 0);
}

/// What may happen to clocks between two looks.
#[derive(Debug, Clone)]
enum Turn {
    Run(u64),
    Sleep(u64),
    Step(i64),
    Work,
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        4 => (0..200_000_u64).prop_map(Turn::Run),
        1 => (0..40_000_000_u64).prop_map(Turn::Sleep),
        2 => (-10_000_000..10_000_000_i64).prop_map(Turn::Step),
        2 => Just(Turn::Work),
    ]
}

proptest! {
    #[test]
    fn silence_is_running_time_whatever_the_wall_clock_does(
        before in -10_000..10_000_i64, turns in proptest::collection::vec(turn(), 0..40),
    ) {
        let mut world = World::watched_from(before);
        // Silence when it was first seen, and running time since; exact by construction.
        let (mut known, mut ran) = (before.max(0).unsigned_abs() * 1000, 0_u64);
        for turn in turns {
            match turn {
                Turn::Run(time) => { world.run(time); ran += time; }
                Turn::Sleep(time) => { world.sleep(time); }
                Turn::Step(by) => { world.step(by); }
                Turn::Work => {
                    let old = world.activity.last_activity_ts;
                    world.heartbeat();
                    // Two signs of work within one second cannot be told apart by their stamp.
                    if world.activity.last_activity_ts != old { (known, ran) = (0, 0); }
                }
            }
            let idle = world.memory.times(&world.activity, &world.ledger, world.now).idle;
            let (idle, most) = (idle.as_millis(), u128::from(known + ran));
            prop_assert!(idle <= most + 1000, "{idle} > {most}");
            prop_assert!(idle + 1000 >= u128::from(ran), "{idle} < {ran}");
        }
    }

    #[test]
    fn after_the_limit_and_two_seconds_of_running_silence_the_rule_speaks(
        before in -10_000..10_000_i64, skews in proptest::collection::vec(-10_000_000..10_000_000_i64, 1..20),
    ) {
        let mut world = World::watched_from(before);
        let part = 302_000 / skews.len() as u64;
        for skew in &skews {
            world.step(*skew).run(part);
        }
        world.run(302_000 - part * skews.len() as u64);
        let times = world.memory.times(&world.activity, &world.ledger, world.now);
        let answer = rule::ask(&world.activity, "build", times, &Policy::default().rule);
        prop_assert_eq!(answer, Answer::Nudge(1));
    }

    #[test]
    fn a_steady_clock_never_gives_more_silence_than_wall_time(
        before in 0..10_000_i64, runs in proptest::collection::vec(0..100_000_u64, 0..30),
    ) {
        let mut world = World::watched_from(before);
        for (place, time) in runs.into_iter().enumerate() {
            world.run(time);
            if place % 5 == 4 { world.heartbeat(); }
            let wall = world.now.seconds() - world.activity.last_activity_ts;
            prop_assert_eq!(i64::try_from(world.idle()).ok(), Some(wall));
        }
    }

    #[test]
    fn no_stamp_and_no_clock_is_too_far_out(
        stamp in any::<i64>(), nudge in any::<i64>(), first in any::<Option<i64>>(), wall in any::<(i64, i64)>(),
        awake in any::<(u64, u64)>(),
    ) {
        let moment = |wall, awake| Moment { wall, awake: Duration::from_secs(awake), boot: Duration::MAX };
        let activity = Activity {
            last_activity_ts: stamp,
            last_activity_source: "TeammateIdle".to_owned(),
            last_nudge_ts: nudge,
            ..Activity::default()
        };
        let ledger = Ledger { idle_since: first, ..Ledger::default() };
        let mut memory = Memory::default();
        memory.see(&activity, &ledger, moment(wall.0, awake.0));
        let times = memory.times(&activity, &ledger, moment(wall.1, awake.1));
        prop_assert_eq!(times.since_nudge.is_some(), nudge != 0);
    }
}
