//! Every setting from every layer, which layer wins, and errors that lead to the line.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use super::{Config, ConfigError, Layers, commented_defaults};
use crate::model::policy::Policy;
use crate::store::scratch::{Scratch, project};
use crate::store::settings::KEYS;

/// A project, and a user's folder beside it.
struct World {
    project: Scratch,
    layers: Layers,
}

impl World {
    fn new() -> Self {
        let project = project();
        let user = Some(project.in_kiln("of-the-user.toml"));
        Self { project, layers: Layers { user, ..Layers::default() } }
    }

    fn user(self, text: &str) -> Self {
        fs::write(self.layers.user.as_ref().unwrap(), text).unwrap();
        self
    }

    fn project(self, text: &str) -> Self {
        fs::write(self.project.in_kiln("watchdog.toml"), text).unwrap();
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.layers.variables.push((name.into(), value.into()));
        self
    }

    fn flag(mut self, flag: &str) -> Self {
        self.layers.flags.push(flag.to_owned());
        self
    }

    fn read(&self) -> Result<Config, ConfigError> {
        self.layers.read(Some(&self.project))
    }

    /// A setting's value and where it came from.
    fn shown(&self, name: &str) -> (String, String) {
        let config = self.read().unwrap();
        let key = KEYS.iter().find(|key| key.name == name).unwrap();
        ((key.show)(&config.policy), self.bare(config.source(name)))
    }

    fn error(&self) -> String {
        self.bare(&self.read().unwrap_err().to_string())
    }

    fn bare(&self, text: &str) -> String {
        text.replace(&self.project.kiln().display().to_string(), "KILN")
    }
}

/// A value of another kind than the built-in one for every setting: as TOML, and as one word.
fn other_value(name: &str) -> (&'static str, &'static str) {
    match name {
        "rule.max_nudges" => ("7", "7"),
        "daemon.mode" => ("\"observe\"", "observe"),
        name if name.starts_with("guards.") => ("false", "false"),
        "rule.exempt_phases"
        | "rule.interactive_phases"
        | "tasks.folders"
        | "team.sessions"
        | "agents.roster"
        | "agents.members"
        | "agents.polling_tools"
        | "subctl.teams" => ("[\"one\", \"two\"]", "one, two"),
        "subctl.enabled" => ("false", "false"),
        "subctl.expire_plans" => ("true", "true"),
        "subctl.plan_queue" => ("\"/a/queue.jsonl\"", "/a/queue.jsonl"),
        _ => ("\"11m 7s\"", "11m 7s"),
    }
}

#[test]
fn with_nothing_set_everything_is_built_in() {
    let config = World::new().read().unwrap();
    assert_eq!(config, Config::default());
    assert!(KEYS.iter().all(|key| config.source(key.name) == "built in"));
    assert_eq!(Layers::default().read(None).unwrap().policy, Policy::default());
}

#[test]
fn every_setting_can_be_set_in_every_layer() {
    for key in KEYS {
        let (section, name) = key.name.split_once('.').unwrap();
        let (toml, word) = other_value(key.name);
        let text = format!("# first line\n[{section}]\n{name} = {toml}\n");
        let variable = format!("WATCHDOG_{section}_{name}").to_uppercase();
        let built_in = World::new().shown(key.name).0;
        for (world, source) in [
            (World::new().user(&text), "KILN/of-the-user.toml:3".to_owned()),
            (World::new().project(&text), "KILN/watchdog.toml:3".to_owned()),
            (World::new().variable(&variable, word), variable.clone()),
            (World::new().flag(&format!("{}={word}", key.name)), format!("--set {}={word}", key.name)),
        ] {
            assert_eq!(world.shown(key.name), (toml.to_owned(), source), "{}", key.name);
            assert_ne!(built_in, toml, "{}", key.name);
            // Nothing else has changed.
            let config = world.read().unwrap();
            let others = KEYS.iter().filter(|other| other.name != key.name);
            for other in others {
                assert_eq!((other.show)(&config.policy), (other.show)(&Policy::default()), "{}", key.name);
            }
        }
    }
}

#[test]
fn a_nearer_layer_wins() {
    let minutes = |n: u32| format!("[rule]\nidle_after = \"{n}m\"\n");
    let world = World::new().user(&minutes(1));
    assert_eq!(world.shown("rule.idle_after").0, "\"1m\"");
    let world = world.project(&minutes(2));
    assert_eq!(world.shown("rule.idle_after").0, "\"2m\"");
    let world = world.variable("WATCHDOG_RULE_IDLE_AFTER", "3m");
    assert_eq!(world.shown("rule.idle_after").0, "\"3m\"");
    let world = world.flag("rule.idle_after=4m");
    assert_eq!(world.shown("rule.idle_after").0, "\"4m\"");
    // The last of two flags.
    let world = world.flag("rule.idle_after = 5m");
    assert_eq!(world.shown("rule.idle_after").0, "\"5m\"");
    // Without a root its file does not count.
    let config =
        Layers { flags: Vec::new(), variables: Vec::new(), ..world.layers.clone() }.read(None).unwrap();
    assert_eq!(config.policy.rule.idle_after.as_secs(), 60);
}

#[test]
fn an_unknown_name_is_refused_with_its_place_and_the_nearest() {
    let errors = [
        World::new().project("[rule]\nmax_nudges = 3\n\nidle_afer = \"5m\"\n").error(),
        World::new().user("[rules]\nidle_after = \"5m\"\n").error(),
        World::new().project("idle_after = \"5m\"\n").error(),
        World::new().project("[quite]\n").error(),
        World::new().project("[quiet.tool_limit]\nx = 1\n").error(),
        World::new().project("[[rule]]\nidle_after = \"5m\"\n").error(),
        World::new().variable("WATCHDOG_RULE_MAX_NUDGE", "2").error(),
        World::new().variable("WATCHDOG_DAEMON_TIK", "2s").error(),
        World::new().flag("quiet.tell_person=5m").error(),
        World::new().flag("tick=5s").error(),
    ];
    insta::assert_snapshot!(errors.join("\n"), @r#"
    KILN/watchdog.toml:4: rule.idle_afer is no setting; did you mean rule.idle_after? "watchdog config" lists all
    KILN/of-the-user.toml:2: rules.idle_after is no setting; did you mean rule.idle_after? "watchdog config" lists all
    KILN/watchdog.toml:1: idle_after is no setting; did you mean rule.idle_after? "watchdog config" lists all
    KILN/watchdog.toml:1: [quite] is no section; there are [rule], [quiet], [daemon], [bridge], [tasks], [team], [agents], [guards], [subctl] and [[alert]]
    KILN/watchdog.toml:1: quiet.tool_limit: a duration is wanted, above zero and at most a year, such as "5m" or "300s"
    KILN/watchdog.toml:1: rule is no list; write [rule] with one pair of brackets
    WATCHDOG_RULE_MAX_NUDGE: rule.max_nudge is no setting; did you mean rule.max_nudges? "watchdog config" lists all
    WATCHDOG_DAEMON_TIK: daemon.tik is no setting; did you mean daemon.tick? "watchdog config" lists all
    --set quiet.tell_person=5m: quiet.tell_person is no setting; did you mean quiet.tell_person_after? "watchdog config" lists all
    --set tick=5s: tick is no setting; did you mean daemon.tick? "watchdog config" lists all
    "#);
}

#[test]
fn a_value_that_cannot_be_used_is_refused_with_its_place_and_what_is_wanted() {
    let errors = [
        World::new().project("[rule]\nidle_after = \"soon\"\n").error(),
        World::new().project("[rule]\nidle_after = 0\n").error(),
        World::new().project("[rule]\nidle_after = -5\n").error(),
        World::new().project("[rule]\nidle_after = 1.5\n").error(),
        World::new().project("[rule]\nidle_after = \"400 days\"\n").error(),
        World::new().project("[rule]\nmax_nudges = 1001\n").error(),
        World::new().project("[rule]\nmax_nudges = true\n").error(),
        World::new().project("[rule]\nexempt_phases = [\"idle\", 7]\n").error(),
        World::new().project("[daemon]\ntick = \"10ms\"\n").error(),
        World::new().project("[daemon]\nmode = \"acting\"\n").error(),
        World::new().variable("WATCHDOG_RULE_IDLE_AFTER", "").error(),
        World::new().flag("rule.idle_after").error(),
        World::new().flag("daemon.mode=").error(),
    ];
    insta::assert_snapshot!(errors.join("\n"), @r#"
    KILN/watchdog.toml:2: rule.idle_after: a duration is wanted, above zero and at most a year, such as "5m" or "300s"
    KILN/watchdog.toml:2: rule.idle_after: a duration is wanted, above zero and at most a year, such as "5m" or "300s"
    KILN/watchdog.toml:2: rule.idle_after: a duration is wanted, above zero and at most a year, such as "5m" or "300s"
    KILN/watchdog.toml:2: rule.idle_after: a duration is wanted, above zero and at most a year, such as "5m" or "300s"
    KILN/watchdog.toml:2: rule.idle_after: a duration is wanted, above zero and at most a year, such as "5m" or "300s"
    KILN/watchdog.toml:2: rule.max_nudges: a whole number from 0 to 1000 is wanted
    KILN/watchdog.toml:2: rule.max_nudges: a whole number from 0 to 1000 is wanted
    KILN/watchdog.toml:2: rule.exempt_phases: a list of words is wanted, such as ["idle", "complete"]
    KILN/watchdog.toml:2: daemon.tick: a tick of at least "50ms" is wanted
    KILN/watchdog.toml:2: daemon.mode: "act" or "observe" is wanted
    WATCHDOG_RULE_IDLE_AFTER: rule.idle_after: a duration is wanted, above zero and at most a year, such as "5m" or "300s"
    --set rule.idle_after: KEY=VALUE is wanted, such as rule.idle_after=5m
    --set daemon.mode=: daemon.mode: "act" or "observe" is wanted
    "#);
}

#[test]
fn a_file_that_is_no_toml_is_refused_with_the_line() {
    let error = World::new().project("[rule]\nidle_after = \"5m\"\nmax_nudges = = 3\n").error();
    assert!(error.starts_with("KILN/watchdog.toml:3: "), "{error}");
    let twice = World::new().project("[rule]\nmax_nudges = 1\nmax_nudges = 2\n").error();
    assert!(twice.starts_with("KILN/watchdog.toml:3: "), "{twice}");
    let world = World::new();
    fs::write(world.project.in_kiln("watchdog.toml"), b"[rule]\n\xff").unwrap();
    assert!(world.error().starts_with("KILN/watchdog.toml: cannot read: "), "{}", world.error());
    fs::remove_file(world.project.in_kiln("watchdog.toml")).unwrap();
    fs::create_dir(world.project.in_kiln("watchdog.toml")).unwrap();
    assert!(world.error().starts_with("KILN/watchdog.toml: cannot read: "), "{}", world.error());
}

#[test]
fn numbers_and_words_are_read_in_every_form() {
    let value = |text: &str, name: &str| World::new().project(text).shown(name).0;
    assert_eq!(value("[rule]\nidle_after = 90", "rule.idle_after"), "\"1m 30s\"");
    assert_eq!(value("[rule]\nidle_after = \"90\"", "rule.idle_after"), "\"1m 30s\"");
    assert_eq!(value("[rule]\nidle_after = '2h 5min'", "rule.idle_after"), "\"2h 5m\"");
    assert_eq!(value("rule.idle_after = \"2m\"", "rule.idle_after"), "\"2m\"");
    assert_eq!(value("rule = { max_nudges = 0x1f }", "rule.max_nudges"), "31");
    assert_eq!(value("rule = { max_nudges = 1_000 }", "rule.max_nudges"), "1000");
    assert_eq!(value("[rule]\nmax_nudges = \"0\"", "rule.max_nudges"), "0");
    assert_eq!(value("[agents]\nroster = []", "agents.roster"), "[]");
    let variable =
        |value: &str| World::new().variable("WATCHDOG_AGENTS_ROSTER", value).shown("agents.roster").0;
    assert_eq!(variable("a,b , ,c*"), "[\"a\", \"b\", \"c*\"]");
    assert_eq!(variable(""), "[]");
}

#[test]
fn variables_of_others_are_left_alone() {
    let world = World::new()
        .variable("WATCHDOG_USEC", "30000000")
        .variable("WATCHDOG_PID", "7")
        .variable("WATCHDOG", "x")
        .variable("WATCHDOG_LOG", "debug")
        .variable("WATCHDOG_OTHER_THING", "x")
        .variable("RULE_IDLE_AFTER", "7s")
        .variable("MY_WATCHDOG_RULE_IDLE_AFTER", "7s");
    assert_eq!(world.read().unwrap(), Config::default());
}

#[test]
fn alerts_are_commands_desktop_notes_or_webhooks() {
    let alerts = |text: &str| World::new().project(text).read().unwrap().policy.alerts;
    let found = alerts(
        "[[alert]]\nrun = [\"notify\", \"{summary}\"]\non = [\"escalate\"]\n\n[[alert]]\ndesktop = true\n\n\
         [[alert]]\nwebhook = \"https://example.org/hook\"\non = []\n",
    );
    assert_eq!(found[0].run, ["notify", "{summary}"]);
    assert_eq!(found[0].on, ["escalate"]);
    assert_eq!(found[1].on, super::OCCASIONS);
    assert_eq!(found[1].run.first().map(String::as_str), Some("notify-send"));
    assert_eq!(found[2].run.first().map(String::as_str), Some("curl"));
    assert_eq!(found[2].run.last().map(String::as_str), Some("https://example.org/hook"));
    assert_eq!(found.len(), 3);
    // A project's alerts take the place of the user's.
    let world = World::new().user("[[alert]]\ndesktop = true\n").project("[[alert]]\nrun = [\"mine\"]\n");
    let config = world.read().unwrap();
    assert_eq!(config.policy.alerts.len(), 1);
    assert_eq!(world.bare(config.source("alert")), "KILN/watchdog.toml");
}

#[test]
fn an_alert_that_cannot_be_used_is_refused_with_its_place() {
    let errors = [
        World::new().project("[rule]\n[[alert]]\non = [\"stall\"]\ndesktop = true\n").error(),
        World::new().project("[[alert]]\ncommand = [\"x\"]\n").error(),
        World::new().project("[[alert]]\n").error(),
        World::new().project("[[alert]]\nrun = []\n").error(),
        World::new().project("[[alert]]\nrun = \"notify-send\"\n").error(),
        World::new().project("[[alert]]\nrun = [\"sleep\", 5]\n").error(),
        World::new().project("[[alert]]\nrun = [\"x\"]\ndesktop = true\n").error(),
        World::new().project("[[alert]]\nwebhook = \"httpx\"\n").error(),
        World::new().project("[[alert]]\ndesktop = false\n").error(),
        World::new().project("[alert]\ndesktop = true\n").error(),
        World::new().project("alert = [7]\n").error(),
    ];
    insta::assert_snapshot!(errors.join("\n"), @r#"
    KILN/watchdog.toml:2: alert.on: "stall" is no occasion; there are nudge, escalate, waiting, worker, livelock, recovered, session_lost
    KILN/watchdog.toml:1: alert.command is unknown; there are on, run, desktop and webhook
    KILN/watchdog.toml:1: an alert needs one of run = ["command", …], webhook = "https://…", desktop = true
    KILN/watchdog.toml:1: an alert needs one of run = ["command", …], webhook = "https://…", desktop = true
    KILN/watchdog.toml:1: alert.run: a list of words is wanted
    KILN/watchdog.toml:1: alert.run: a list of words is wanted
    KILN/watchdog.toml:1: an alert needs one of run = ["command", …], webhook = "https://…", desktop = true
    KILN/watchdog.toml:1: an alert needs one of run = ["command", …], webhook = "https://…", desktop = true
    KILN/watchdog.toml:1: an alert needs one of run = ["command", …], webhook = "https://…", desktop = true
    KILN/watchdog.toml:1: alerts are a list; write [[alert]] with two brackets
    KILN/watchdog.toml:1: [[alert]] is a table
    "#);
}

#[test]
fn the_commented_defaults_are_the_defaults() {
    let text = commented_defaults();
    let set: String = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.split_once(" = ").is_some_and(|(name, _)| !name.contains(' ')) => {
                format!("{rest}\n")
            }
            _ => format!("{line}\n"),
        })
        .filter(|line| !line.starts_with("on = ") && !line.starts_with("run = "))
        .collect();
    let config = World::new().project(&set).read().unwrap();
    assert_eq!(config.policy, Policy::default());
    assert_eq!(config.sources.len(), KEYS.len(), "{set}");
    // As it is, it sets nothing.
    assert_eq!(World::new().project(&text).read().unwrap(), Config::default());
    assert!(text.starts_with("[rule]\n# silence that makes a stall\n# idle_after = \"5m\"\n"), "{text}");
}

#[test]
fn the_user_s_folder_comes_from_the_environment() {
    let layers = Layers::of_process(&["daemon.tick=5s".to_owned()]);
    assert_eq!(layers.flags, ["daemon.tick=5s"]);
    let of =
        |name: &str| layers.variables.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let absolute = |value: Option<OsString>| value.map(PathBuf::from).filter(|path| path.is_absolute());
    let folder =
        absolute(of("XDG_CONFIG_HOME")).or_else(|| absolute(of("HOME")).map(|home| home.join(".config")));
    assert_eq!(layers.user, folder.map(|folder| folder.join("watchdog/watchdog.toml")));
}
