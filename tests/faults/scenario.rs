//! What is done while a call fails.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;
use watchdog::system::process::start_time;

use crate::bench::{Bench, Keep, Said, Traced, comes, payload};
use crate::matrix::{self, Fault};
use crate::oracle::{self, Before};

/// How a scenario runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// A hook, which ends well whatever happens.
    Hook(&'static str, &'static str),
    /// A command for people: it ends with 0, or with 1 and a reason.
    Command(&'static [&'static str]),
    /// The daemon in the foreground: it is asked to end once it watches.
    Daemon,
}

/// One thing that is done.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) way: Way,
    /// Makes the project that it is done in, beyond a session that has worked.
    furnish: fn(&Bench),
    /// Files below `.kiln` that may be gone afterwards.
    pub(crate) may_remove: &'static [&'static str],
}

const CHECK: Way = Way::Command(&["check", "--act", "--json"]);
const PENDING: &str = "tmp/pending-nudge.json";
const SESSION: &str = "tmp/watchdog/sessions/s1.json";
const FLAG: &str = "DEADLOCK.flag";

/// All scenarios.
pub(crate) const ALL: &[Scenario] = &[
    Scenario {
        name: "heartbeat",
        way: Way::Hook("PostToolUse", r#","tool_name":"Bash","tool_use_id":"t1""#),
        furnish: |_| {},
        may_remove: &[],
    },
    Scenario {
        name: "first-heartbeat",
        way: Way::Hook("UserPromptSubmit", r#","prompt":"go""#),
        furnish: |bench| fs::remove_dir_all(bench.kiln("tmp")).unwrap(),
        may_remove: &[],
    },
    Scenario {
        name: "claim",
        way: Way::Hook("PreToolUse", r#","tool_name":"Bash","tool_use_id":"t1""#),
        furnish: |bench| {
            bench.age(1000, 0, 0);
            expect(bench, &["check", "--act"]);
        },
        may_remove: &[PENDING],
    },
    Scenario { name: "nudge", way: CHECK, furnish: |bench| bench.age(1000, 0, 0), may_remove: &[] },
    Scenario {
        name: "escalation",
        way: CHECK,
        furnish: |bench| {
            bench.age(1000, 0, 0);
            expect(bench, &["check", "--act"]);
            bench.age(3000, 3, 900);
        },
        may_remove: &[PENDING],
    },
    Scenario {
        name: "recovery",
        way: Way::Hook("SessionStart", r#","source":"startup""#),
        furnish: flag_and_daemon,
        may_remove: &[FLAG],
    },
    Scenario { name: "start", way: Way::Command(&["start"]), furnish: |_| {}, may_remove: &[] },
    Scenario { name: "daemon", way: Way::Daemon, furnish: |_| {}, may_remove: &[] },
    Scenario {
        name: "stop",
        way: Way::Command(&["stop"]),
        furnish: |bench| {
            bench.age(1000, 0, 0);
            expect(bench, &["check", "--act"]);
        },
        may_remove: &[PENDING],
    },
    Scenario {
        name: "session-end",
        way: Way::Hook("SessionEnd", r#","reason":"prompt_input_exit""#),
        furnish: |bench| {
            bench.age(1000, 0, 0);
            expect(bench, &["check", "--act"]);
        },
        may_remove: &[PENDING, SESSION, "tmp/activity.json"],
    },
    Scenario {
        name: "one-of-two-ends",
        way: Way::Hook("SessionEnd", r#","reason":"prompt_input_exit""#),
        furnish: |bench| {
            // The other session's client is init, which lives.
            let other =
                json!({"v": 1, "session_id": "s2", "pid": 1, "start_time": start_time(1), "since": 1});
            fs::write(bench.kiln("tmp/watchdog/sessions/s2.json"), other.to_string()).unwrap();
        },
        may_remove: &[SESSION],
    },
    Scenario { name: "rotation", way: Way::Daemon, furnish: fill_journal, may_remove: &[] },
];

/// Finds one.
pub(crate) fn find(name: &str) -> Option<&'static Scenario> {
    ALL.iter().find(|scenario| scenario.name == name)
}

/// All names.
pub(crate) fn names() -> String {
    ALL.iter().map(|scenario| scenario.name).collect::<Vec<_>>().join(", ")
}

fn expect(bench: &Bench, words: &[&str]) {
    let said = bench.run(words, None).unwrap();
    assert!(said.status.code().is_some_and(|code| code < 2), "{words:?}: {}{}", said.out, said.err);
}

fn flag_and_daemon(bench: &Bench) {
    bench.age(3000, 3, 900);
    expect(bench, &["check", "--act"]);
    assert!(bench.kiln(FLAG).exists());
}

/// More lines than a journal keeps, and a tick that lets a rotation be tried again soon.
fn fill_journal(bench: &Bench) {
    fs::write(bench.kiln("watchdog.toml"), "[daemon]\ntick = \"100ms\"\n").unwrap();
    let path = bench.kiln("tmp/watchdog/journal.jsonl");
    let mut text = fs::read_to_string(&path).unwrap();
    let line = text.lines().last().unwrap().to_owned();
    while text.len() <= 1_100_000 {
        writeln!(text, "{line}").unwrap();
    }
    fs::write(path, text).unwrap();
}

impl Scenario {
    /// Makes the project once; every run gets a copy.
    pub(crate) fn prepare(&self) -> TempDir {
        let bench = Bench::new(None, Keep::No);
        fs::create_dir_all(bench.kiln("")).unwrap();
        fs::write(bench.kiln("STATE.md"), "# Pipeline\n\n- **stage**: build\n").unwrap();
        bench.event("UserPromptSubmit", r#","prompt":"go""#).unwrap();
        bench.event("PostToolUse", r#","tool_name":"Bash","tool_use_id":"t0""#).unwrap();
        (self.furnish)(&bench);
        bench.into_dir()
    }

    /// Runs without a fault. Returns the trace.
    pub(crate) fn record(&self, template: &Path) -> Result<String, String> {
        let bench = Bench::new(Some(template), Keep::No);
        self.perform(&bench, None)?;
        // strace goes last: only then the trace is whole.
        let read = || fs::read_to_string(bench.trace()).unwrap_or_default();
        comes(|| {
            let (text, mut running) = (read(), std::collections::BTreeSet::new());
            for line in text.lines() {
                let Some((process, rest)) = line.split_once(' ') else { continue };
                running.insert(process.to_owned());
                if rest.trim_start().starts_with("+++") {
                    running.remove(process);
                }
            }
            running.is_empty()
        });
        Ok(read())
    }

    /// Runs with a fault, and asks the oracle.
    pub(crate) fn suffer(&self, template: &Path, fault: &Fault, keep: Keep) -> Result<(), String> {
        let bench = Bench::new(Some(template), keep);
        let mut result = self.perform(&bench, Some(fault));
        bench.sweep();
        if result.is_err() && matrix::is_beyond_files(&fs::read_to_string(bench.trace()).unwrap_or_default())
        {
            result = Ok(());
        }
        result
    }

    fn perform(&self, bench: &Bench, fault: Option<&Fault>) -> Result<(), String> {
        let before = Before::of(bench);
        if self.name == "stop" {
            // Not part of what is traced.
            expect(bench, &["start"]);
        }
        let said = self.act(bench, fault)?;
        // A daemon whose starter was killed may still be on its way.
        bench.settle()?;
        oracle::after(self, bench, &before, &said, fault)?;
        oracle::goes_on(self, bench, &before, fault)
    }

    fn act(&self, bench: &Bench, fault: Option<&Fault>) -> Result<Said, String> {
        let traced = fault.map_or(Traced::Recorded, Traced::With);
        match self.way {
            Way::Hook(name, fields) => bench.begin(&["hook"], Some(&payload(name, fields)), traced).end(),
            Way::Command(words) => bench.begin(words, None, traced).end(),
            Way::Daemon => {
                let mut daemon = bench.begin(&["run"], None, traced);
                let watches = || bench.kiln("tmp/watchdog/daemon.json").exists();
                let rotated =
                    || self.name != "rotation" || bench.kiln("tmp/watchdog/journal.1.jsonl").exists();
                if !comes(|| daemon.has_ended() || (watches() && rotated())) {
                    daemon.terminate();
                    return Err(format!(
                        "the daemon never gets there (beacon {}, rotated {})",
                        watches(),
                        rotated()
                    ));
                }
                daemon.terminate();
                daemon.end()
            }
        }
    }
}
