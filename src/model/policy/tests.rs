//! The built-in numbers are the protocol's, and the roster matches the names that it spawns.

use std::time::Duration;

use super::{Mode, Policy};

#[test]
fn the_built_in_numbers_are_the_protocol_s() {
    let policy = Policy::default();
    let seconds = |span: Duration| span.as_secs();
    assert_eq!(seconds(policy.rule.idle_after), 300);
    assert_eq!(seconds(policy.rule.nudge_every), 600);
    assert_eq!(policy.rule.max_nudges, 3);
    assert_eq!(seconds(policy.rule.recovered_after), 1800);
    assert_eq!(policy.rule.exempt_phases, ["idle", "awaiting_user", "complete"]);
    assert_eq!(seconds(policy.daemon.tick), 60);
    assert_eq!(policy.daemon.mode, Mode::Act);
    assert!(policy.alerts.is_empty());
}

#[test]
fn the_roster_matches_whole_names_numbered_names_and_beginnings() {
    let check = |name: &str, is_on: bool| assert_eq!(Policy::default().is_on_roster(name), is_on, "{name}");
    for name in ["rakim", "rakim-build-3", "krs-one", "krs-one-2", "coder", "coder-7", "dial-a-coder-ui"] {
        check(name, true);
    }
    for name in ["", "raki", "rakimo", "general-purpose", "ken2", "Rakim", "kiln:rakim", "x-coder"] {
        check(name, false);
    }
    let own = Policy { roster: vec!["*".to_owned()], ..Policy::default() };
    assert!(own.is_on_roster("anyone"));
    let nobody = Policy { roster: Vec::new(), ..Policy::default() };
    assert!(!nobody.is_on_roster("rakim"));
}
