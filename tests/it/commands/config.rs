//! `config`, the help and the generated texts.

use std::fs;

use serde_json::{Value, json};

use watchdog::store::settings::KEYS;

use super::{parsed, shown};
use crate::world::{Ran, World, finish};

#[test]
fn it_prints_every_value_as_it_would_be_written() {
    let world = World::new("build");
    let ran = world.run(&["config"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    insta::assert_snapshot!(ran.out, @r#"
    [rule]
    idle_after = "5m"   # built in
    nudge_every = "10m"   # built in
    max_nudges = 3   # built in
    recovered_after = "30m"   # built in
    reply_after = "15m"   # built in
    exempt_phases = ["idle", "awaiting_user", "complete"]   # built in
    interactive_phases = ["onboarding", "brainstorm"]   # built in

    [quiet]
    tool_limit = "30m"   # built in
    tell_person_after = "5m"   # built in
    person_limit = "12h"   # built in
    api_hold_max = "6h"   # built in

    [daemon]
    tick = "1m"   # built in
    mode = "act"   # built in
    linger = "10s"   # built in
    lost_after = "1m"   # built in

    [bridge]
    life = "12h"   # built in

    [tasks]
    folders = [".task/*/*"]   # built in
    silent_after = "30m"   # built in

    [team]
    sessions = [".workflow/.team/*"]   # built in

    [agents]
    roster = ["rakim", "sentinel", "thoth", "numerobis", "krs-one", "team-lead", "alpha", "da-vinci", "mi6", "aristotle", "argus", "omega", "ken", "ryu", "denzel", "judge-dredd", "coder*", "reviewer*", "builder*", "critical-thinker*", "the-curator*", "dial-a-coder*", "codex*", "sphinx*", "bossman"]   # built in
    lead = "team-lead"   # built in
    members = []   # built in
    polling_tools = ["TaskOutput", "BashOutput", "TaskGet", "TaskList", "ListAgents", "Monitor", "ScheduleWakeup"]   # built in

    [guards]
    task_created = true   # built in
    task_completed = true   # built in
    state_files = true   # built in
    subagent_stop = true   # built in
    secrets = true   # built in

    [subctl]
    enabled = "auto"   # built in
    plan_queue = ""   # built in
    expire_plans = false   # built in
    teams = []   # built in
    parked_after = "10m"   # built in
    "#);
}

#[test]
fn it_says_where_each_value_came_from_and_the_nearest_source_wins() {
    let world = World::with("build", "[rule]\nidle_after = 200\nnudge_every = \"20m\"\nmax_nudges = 4\n");
    let user = world.beside("home/.config/watchdog").join("watchdog.toml");
    fs::write(&user, "[rule]\nidle_after = \"1m\"\n\n[daemon]\ntick = \"30s\"\n").unwrap();
    let mut command = world.command(&["config", "--json", "--set", "rule.max_nudges=6"]);
    command.env("WATCHDOG_RULE_NUDGE_EVERY", "15m").env("WATCHDOG_RULE_MAX_NUDGES", "5");
    command
        .env("WATCHDOG_AGENTS_ROSTER", "one, two")
        .env("WATCHDOG_USEC", "1")
        .env("WATCHDOG_NO_SECTION", "x");
    let ran = finish(command, b"");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let value = parsed(&shown(&world, &ran.out));
    assert_eq!((&value["v"], &value["alerts"]), (&json!(1), &json!(0)));
    let settings = value["settings"].as_object().unwrap();
    let names: Vec<&str> = settings.keys().map(String::as_str).collect();
    assert_eq!(names, KEYS.iter().map(|key| key.name).collect::<Vec<_>>());
    let of = |name: &str| (settings[name]["value"].clone(), settings[name]["from"].clone());
    assert_eq!(of("rule.idle_after"), (json!("\"3m 20s\""), json!("ROOT/.kiln/watchdog.toml:2")));
    assert_eq!(of("rule.nudge_every"), (json!("\"15m\""), json!("WATCHDOG_RULE_NUDGE_EVERY")));
    assert_eq!(of("rule.max_nudges"), (json!("6"), json!("--set rule.max_nudges=6")));
    assert_eq!(of("agents.roster"), (json!("[\"one\", \"two\"]"), json!("WATCHDOG_AGENTS_ROSTER")));
    assert_eq!(of("daemon.linger"), (json!("\"10s\""), json!("built in")));
    let tick = of("daemon.tick");
    assert_eq!(tick.0, "\"30s\"");
    assert!(tick.1.as_str().unwrap().ends_with("home/.config/watchdog/watchdog.toml:5"), "{tick:?}");
}

/// A setting's line without its mark of a comment, if it is one.
fn in_force(line: &str) -> String {
    let bare = line.strip_prefix("# ").unwrap_or(line);
    let name = bare.split(" = ").next().unwrap_or_default();
    let is_setting = KEYS.iter().any(|key| key.name.ends_with(&format!(".{name}")));
    if is_setting { bare.to_owned() } else { line.to_owned() }
}

fn values(world: &World) -> Value {
    let mut value = parsed(&world.run(&["config", "--json"]).out)["settings"].clone();
    for (_, setting) in value.as_object_mut().unwrap() {
        setting.as_object_mut().unwrap().remove("from");
    }
    value
}

#[test]
fn the_file_of_defaults_loads_back_as_it_is_and_with_every_line_in_force() {
    let world = World::new("build");
    let built_in = values(&world);
    let ran = world.run(&["config", "--defaults"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    world.settings(&ran.out);
    assert!(
        world.run(&["config"]).out.lines().filter(|line| line.contains("# built in")).count() == KEYS.len()
    );
    let lines: Vec<String> = ran.out.lines().map(in_force).collect();
    world.settings(&lines.join("\n"));
    assert_eq!(values(&world), built_in);
    let from_file = world.run(&["config"]).out.matches("watchdog.toml:").count();
    assert_eq!(from_file, KEYS.len(), "every setting was in it: {}", lines.join("\n"));
}

#[test]
fn outside_a_project_it_shows_the_users_settings() {
    let world = World::new("build");
    let mut command = world.command(&["config"]);
    command.current_dir("/");
    let ran = finish(command, b"");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("[rule]\nidle_after = \"5m\"   # built in\n"), "{}", ran.out);
}

#[test]
fn an_unknown_or_broken_setting_is_refused_with_its_line_and_the_nearest_name() {
    let world = World::new("build");
    for (text, reason) in [
        ("[rule]\nidel_after = \"5m\"\n", "2: rule.idel_after is no setting; did you mean rule.idle_after?"),
        ("\n\n[rules]\nx = 1\n", "4: rules.x is no setting; did you mean"),
        ("idle_after = \"5m\"\n", "1: idle_after is no setting; did you mean rule.idle_after?"),
        ("[rule]\nidle_after = \"5 parsecs\"\n", "2: rule.idle_after: a duration is wanted, above zero"),
        ("[rule]\nidle_after = 0\n", "2: rule.idle_after: a duration is wanted, above zero"),
        ("[rule]\nmax_nudges = -1\n", "2: rule.max_nudges: a whole number from 0 to 1000 is wanted"),
        ("[rule]\nexempt_phases = [1]\n", "2: rule.exempt_phases: a list of words is wanted"),
        ("[daemon]\ntick = \"1ms\"\n", "2: daemon.tick: a tick of at least \"50ms\" is wanted"),
        (
            "[[alert]]\non = [\"lunch\"]\nrun = [\"x\"]\n",
            "1: alert.on: \"lunch\" is no occasion; there are nudge",
        ),
        ("[[alert]]\non = [\"nudge\"]\n", "1: an alert needs one of run"),
        ("[rule\n", "1: "),
    ] {
        world.settings(text);
        let ran = world.run(&["config"]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{text}");
        let words = shown(&world, &ran.err);
        assert!(
            words.starts_with(&format!("watchdog: ROOT/.kiln/watchdog.toml:{reason}")),
            "{text}: {words}"
        );
        assert_eq!(words.lines().count(), 1, "{words}");
    }
}

#[test]
fn help() {
    let world = World::new("build");
    let ran = world.run(&["--help"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(world.run(&["-h"]), ran);
    insta::assert_snapshot!(ran.out, @r#"
    Notices when a team of coding agents falls silent, says who waits for whom, and
    wakes the right session once

    Usage: watchdog [OPTIONS] <COMMAND>

    Commands:
      status     Show at a glance whether it is watching, whether the pipeline
                 moves, and what happens next
      start      Start the daemon of this project in the background [alias: spawn]
      stop       Stop the daemon of this project and remove its transient files
                 [alias: cleanup]
      ensure     Clear a flag, if there is one, and make sure that a daemon runs
      run        Run the daemon in the foreground
      check      Judge once and print the verdict and its reason
      explain    Say why: the facts, the cause and its evidence, the thresholds and
                 where each came from
      history    Show what happened, filtered
      graph      Draw who waits for whom
      replay     Judge a recorded run again and print every change of verdict with
                 its time
      pause      Keep quiet for a while: no nudge, no flag
      resume     End the quiet that "pause" asked for
      nudge      Stage a message of your own for the lead; an idle session is woken
                 with it
      init       Have a project without .kiln watched, and say what was recognised
                 in it
      install    Register the hooks in the client's settings file
      uninstall  Take the hooks out of the client's settings file, which is then as
                 it was before
      doctor     Check the hooks, the program, the state folder and the machine;
                 each finding has its remedy
      config     Print every setting, its value, and where it came from
      mark       Say where a worker is: tick an item of its checklist and write its
                 signal file
      signal     Look at a worker's signal file
      generate   Print the man page or shell completions
      hook       Handle one event of a client (for settings files; reads the payload
                 from stdin, always ends well)
      bridge     Wait for a nudge and wake an idle client with it (for settings
                 files)

    Options:
          --root <FOLDER>    The project folder, which holds .kiln or .watchdog
                             (default: $KILN_ROOT, or the nearest above here; can be
                             repeated for "run")
          --set <KEY=VALUE>  Set a value for this command alone, such as
                             rule.idle_after=5m (can be repeated)
      -h, --help             Print help
      -V, --version          Print version
    "#);
}

#[test]
fn the_help_of_every_command_fits_80_columns_and_names_its_statuses() {
    let world = World::new("build");
    let all = world.run(&["--help"]).out;
    let list = all.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
    let words: Vec<&str> = list
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(words.len() >= 14, "{words:?}");
    // These two meet no argument parser, or a usage error would block a tool.
    for word in words.iter().filter(|word| !["hook", "bridge"].contains(word)) {
        let ran = world.run(&[word, "--help"]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{word}");
        assert!(ran.out.contains(&format!("Usage: watchdog {word}")), "{word}: {}", ran.out);
        let widest = ran.out.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= 80, "{word}: {widest} columns");
    }
    assert!(world.run(&["status", "--help"]).out.contains("2 flagged, 3 no"));
}

#[test]
fn version_man_page_and_completions_are_printed() {
    let world = World::new("build");
    let version = format!("watchdog {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(world.run(&["--version"]), Ran { out: version, ..Ran::silence() });
    for (what, mark) in [
        ("man", ".TH watchdog"),
        ("bash", "_watchdog()"),
        ("zsh", "#compdef watchdog"),
        ("fish", "complete -c watchdog"),
    ] {
        let ran = world.run(&["generate", what]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{what}");
        assert!(ran.out.contains(mark), "{what}: {}", &ran.out[..200.min(ran.out.len())]);
    }
}
