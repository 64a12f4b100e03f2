//! A world whose clocks a test can shift, so that minutes pass in no time.

use std::fs;
use std::ops::Deref;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

use serde_json::{Value, json};
use watchdog::model::event::What;
use watchdog::model::moment::Moment;
use watchdog::store::beacon::Beacon;
use watchdog::system::clock;
use watchdog::system::process::Identity;

use crate::world::{Past, Ran, Running, World, eventually, eventually_some, finish, launch_with, put};

/// The protocol's own numbers, and a daemon that looks often.
pub(crate) const OFTEN: &str = "[daemon]\ntick = \"100ms\"\n";

/// A world whose clocks a test can shift: minutes pass in no time.
pub(crate) struct Timed {
    world: World,
    clock: PathBuf,
    /// Milliseconds by which wall, awake and boot time are ahead.
    ahead: Mutex<(i64, i64, i64)>,
}

impl Deref for Timed {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Timed {
    /// A project in this stage, with the protocol's own numbers.
    pub(crate) fn new(stage: &str) -> Self {
        Self::with(stage, OFTEN)
    }

    /// The same with settings.
    pub(crate) fn with(stage: &str, settings: &str) -> Self {
        Self::around(World::with(stage, settings))
    }

    /// Shifts the clocks of this world.
    pub(crate) fn around(world: World) -> Self {
        let clock = world.beside("clock").join("shift");
        let timed = Self { world, clock, ahead: Mutex::default() };
        timed.set((0, 0, 0));
        timed
    }

    fn set(&self, ahead: (i64, i64, i64)) {
        *self.ahead.lock().unwrap() = ahead;
        put(&self.clock, format!("{} {} {}", ahead.0, ahead.1, ahead.2).as_bytes());
    }

    /// The file that shifts the clocks.
    pub(crate) fn clock(&self) -> &std::path::Path {
        &self.clock
    }

    /// Lets time pass on all clocks. A daemon that runs has seen what was there before.
    #[track_caller]
    pub(crate) fn pass(&self, seconds: i64) {
        self.looked();
        self.jump(seconds);
    }

    /// Lets time pass on all clocks, whatever the daemon has seen.
    pub(crate) fn jump(&self, seconds: i64) {
        let (wall, awake, boot) = *self.ahead.lock().unwrap();
        self.set((wall + seconds * 1000, awake + seconds * 1000, boot + seconds * 1000));
    }

    /// Sets the wall clock forward or back.
    pub(crate) fn step_wall(&self, seconds: i64) {
        let (wall, awake, boot) = *self.ahead.lock().unwrap();
        self.set((wall + seconds * 1000, awake, boot));
    }

    /// Puts the machine to sleep for a while: running time stands still.
    pub(crate) fn sleep(&self, seconds: i64) {
        let (wall, awake, boot) = *self.ahead.lock().unwrap();
        self.set((wall + seconds * 1000, awake, boot + seconds * 1000));
    }

    /// The clocks as the processes of this world read them.
    pub(crate) fn now(&self) -> Moment {
        let real = clock::now();
        let (wall, awake, _) = *self.ahead.lock().unwrap();
        let awake = i64::try_from(real.awake.as_millis()).unwrap() + awake;
        Moment {
            wall: real.wall + wall,
            awake: std::time::Duration::from_millis(u64::try_from(awake).unwrap()),
            ..real
        }
    }

    fn timed(&self, mut command: Command) -> Command {
        command.env("WATCHDOG_TEST_CLOCK", &self.clock);
        command
    }

    pub(crate) fn hook(&self, payload: &Value) -> Ran {
        self.hook_by(&self.client, payload)
    }

    pub(crate) fn hook_by(&self, client: &Running, payload: &Value) -> Ran {
        finish(self.timed(self.as_client("hook", client)), payload.to_string().as_bytes())
    }

    #[track_caller]
    pub(crate) fn silent(&self, payload: &Value) {
        assert_eq!(self.hook(payload), Ran::silence(), "{payload}");
    }

    /// Delivers an event of the lead that must not be answered.
    #[track_caller]
    pub(crate) fn does(&self, name: &str, more: &Value) {
        self.silent(&self.event(name, more));
    }

    /// Starts a bridge and waits until it is there.
    #[track_caller]
    pub(crate) fn bridge(&self) -> Running {
        let payload = self.event("Stop", &json!({})).to_string();
        let bridge = launch_with(self.timed(self.as_client("bridge", &self.client)), payload.as_bytes());
        let mark = self.root.in_tmp("async-rewake-watchdog.pid");
        let line = format!("{}\n", bridge.pid());
        eventually("the bridge waits", || fs::read_to_string(&mark).is_ok_and(|text| text == line));
        bridge
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        finish(self.timed(self.command(arguments)), b"")
    }

    /// Begins the session, and with it a daemon.
    #[track_caller]
    pub(crate) fn begin(&self) -> Identity {
        let began = self.hook(&self.event("SessionStart", &json!({"source": "startup"})));
        assert_eq!(began.code, 0, "{began:?}");
        self.daemon()
    }

    /// An activity of some time ago, by this world's clock.
    pub(crate) fn backdate(&self, past: &Past) {
        let (wall, ..) = *self.ahead.lock().unwrap();
        let past = Past {
            idle: past.idle - wall / 1000,
            nudged: past.nudged.map(|ago| ago - wall / 1000),
            teammates: past.teammates.clone(),
            ..*past
        };
        self.world.backdate(&past);
    }

    /// Waits until the daemon, if there is one, has looked once more.
    #[track_caller]
    pub(crate) fn looked(&self) {
        let (after, wall) = (u64::try_from(self.now().awake.as_millis()).unwrap(), self.now().wall);
        eventually("the daemon looks", || {
            !watchdog::store::lock::is_held(&self.root.daemon_lock())
                || self.beacon().is_some_and(|beacon| {
                    // Where the beacon cannot be stored its own time tells.
                    beacon.last_tick_awake_ms > after || beacon.touched.is_some_and(|touched| touched > wall)
                })
        });
    }

    /// Waits until the daemon has judged what is there now, and has had its moment of grace.
    #[track_caller]
    pub(crate) fn judged(&self) -> Beacon {
        let after = u64::try_from(self.now().awake.as_millis()).unwrap() + 150;
        eventually_some("the daemon judges", || {
            self.beacon().filter(|beacon| beacon.last_tick_awake_ms > after && beacon.reason != "settling")
        })
    }

    /// The daemon has judged and has a reason to keep quiet: neither nudge nor flag.
    #[track_caller]
    pub(crate) fn quiet(&self, reason: &str) {
        let beacon = self.judged();
        assert_eq!((beacon.verdict.as_str(), beacon.reason.as_str()), ("quiet", reason), "{beacon:?}");
        assert_eq!((self.pending(), self.flag()), (None, None));
    }

    /// Waits for this nudge and returns its text.
    #[track_caller]
    pub(crate) fn nudge(&self, n: u32) -> String {
        let nudge =
            eventually_some("the nudge is staged", || self.pending().filter(|nudge| nudge["nudge_n"] == n));
        let noted = |what: &What| matches!(what, What::Nudged { id, .. } if nudge["id"] == id.as_str());
        eventually("it is counted and noted", || {
            self.activity()["nudge_count"] == n && self.count(noted) == 1
        });
        nudge["additionalContext"].as_str().unwrap().to_owned()
    }

    /// `status --json`.
    #[track_caller]
    pub(crate) fn status(&self) -> Value {
        let ran = self.run(&["status", "--json"]);
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
    }
}

/// `status --json` of a world by the real clock.
#[track_caller]
pub(crate) fn status(world: &World) -> Value {
    let ran = world.run(&["status", "--json"]);
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}
