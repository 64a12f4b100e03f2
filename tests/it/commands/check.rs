//! `check`: one judgement, and on demand its consequence.

use serde_json::json;

use watchdog::model::event::What;

use super::{ago, parsed, shown, team, tool};
use crate::world::{Past, Ran, World};

fn check(world: &World, arguments: &[&str]) -> (i32, String) {
    let ran = world.run(&[&["check"], arguments].concat());
    assert_eq!(ran.err, "");
    (ran.code, shown(world, &ran.out))
}

#[test]
fn it_prints_the_verdict_and_its_reason_and_touches_nothing() {
    let world = World::new("build");
    assert_eq!(check(&world, &[]), (0, "quiet: no work has been seen yet\n".to_owned()));
    team(&world, 100);
    assert_eq!(check(&world, &[]), (0, "quiet: work was seen; no stall until hh:mm:ss\n".to_owned()));
    world.backdate(&Past { idle: 1000, nudged: Some(300), count: 1, ..Past::default() });
    let debounce = "quiet: nudged a short time ago; the next step is due at hh:mm:ss\n";
    assert_eq!(check(&world, &[]), (0, debounce.to_owned()));
    world.backdate(&Past { idle: 1000, nudged: Some(700), count: 1, ..Past::default() });
    let before = (world.activity(), world.journal());
    let (code, text) = check(&world, &[]);
    assert!(code == 0 && text.starts_with("nudge: silent for 100"), "{text}");
    assert!(text.ends_with(" s; nudge 2 of 3\n"), "{text}");
    ago(&world, 900, "rakim", tool("Bash"));
    let (code, text) = check(&world, &[]);
    assert_eq!(
        (code, text.as_str()),
        (0, "quiet: rakim runs Bash since hh:mm:ss; that explains silence until hh:mm:ss\n")
    );
    ago(&world, 899, "rakim", What::Permission { tool: "Bash".to_owned() });
    let waits = "quiet: rakim waits for a person since hh:mm:ss (permission: Bash); a nudge would not help\n";
    assert_eq!(check(&world, &["--act"]), (0, waits.to_owned()));
    assert_eq!((world.activity(), world.pending()), (before.0, None));
    assert_eq!(world.journal().len(), before.1.len() + 2);
}

#[test]
fn with_act_it_carries_the_verdict_out_and_says_so() {
    let world = World::new("build");
    world.backdate(&Past { idle: 1000, ..Past::default() });
    let (code, text) = check(&world, &["--act"]);
    assert!(code == 0 && text.ends_with(" s; nudge 1 of 3; done\n"), "{text}");
    assert_eq!(world.pending().unwrap()["nudge_n"], 1);
    world.backdate(&Past { idle: 3000, nudged: Some(700), count: 3, ..Past::default() });
    let (code, text) = check(&world, &[]);
    assert!(code == 0 && text.ends_with(" s after 3 nudges; the flag\n"), "{text}");
    assert_eq!(world.flag(), None);
    let (code, text) = check(&world, &["--act"]);
    assert!(code == 1 && text.ends_with(" s after 3 nudges; the flag; done\n"), "{text}");
    assert_eq!(
        check(&world, &["--act"]),
        (0, "quiet: DEADLOCK.flag lies there; a person has to look\n".to_owned())
    );
}

#[test]
fn an_observer_carries_nothing_out() {
    let world = World::with("build", "[daemon]\nmode = \"observe\"\n");
    world.backdate(&Past { idle: 3000, nudged: Some(700), count: 3, ..Past::default() });
    let (code, text) = check(&world, &["--act"]);
    assert!(code == 0 && text.ends_with(" s after 3 nudges; the flag\n"), "{text}");
    assert_eq!(world.flag(), None);
}

#[test]
fn what_cannot_be_stored_is_an_error_and_is_not_counted() {
    let world = World::new("build");
    world.backdate(&Past::default());
    world.root.prepare().unwrap();
    // A folder in its place: it can neither be read nor replaced.
    std::fs::create_dir(world.root.pending()).unwrap();
    let ran = world.run(&["check", "--act"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    let reason = "watchdog: cannot replace ROOT/.kiln/tmp/pending-nudge.json: ";
    assert!(shown(&world, &ran.err).starts_with(reason), "{}", ran.err);
    assert_eq!(world.activity()["nudge_count"], 0);
}

#[test]
fn its_json_is_versioned() {
    let world = World::new("build");
    let ran = world.run(&["check", "--json"]);
    assert_eq!(
        parsed(&ran.out),
        json!({"v": 1, "verdict": "quiet", "reason": "active", "words": "no work has been seen yet", "done": false})
    );
    assert_eq!(Ran { out: String::new(), ..ran }, Ran::silence());
}
