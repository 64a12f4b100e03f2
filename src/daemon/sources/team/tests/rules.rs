//! Rules between the files of a session, each told once.

use std::os::unix::fs::symlink;

use super::*;

const LOG_FILE: &str = "…/.msg/messages.jsonl";

/// What is found at the next look, without the messages and the standing.
fn found(world: &mut World) -> Vec<String> {
    let mut all = world.look();
    all.retain(|line| !line.contains('→') && !line.starts_with("team:"));
    all
}

#[test]
fn a_report_is_held_against_its_artifact_and_its_schema() {
    let mut world = World::new();
    world.meta(&json!({}));
    world.put("artifacts/notes.md", "x");
    fs::write(world.root.path().join("router.ts"), "x").unwrap();
    let post = |world: &World, id: u32, more: Value| {
        world.post(id, "analyst", "coordinator", "state_update", &report("RESEARCH-001", &more));
    };
    post(&world, 1, json!({"ref": "artifacts/RESEARCH-001-missing.md"}));
    post(&world, 2, json!({"ref": "/etc/hostname"}));
    post(&world, 3, json!({"ref": "router.ts"}));
    post(&world, 4, json!({"ref": "artifacts/notes.md"}));
    post(&world, 5, json!({"ref": null}));
    post(&world, 6, json!({"ref": "# Report\nAll is well", "key_findings": ["a", "b", "c", "d", "e", "f"]}));
    let wanted = [
        format!("ref-without-file {LOG_FILE}:1 analyst"),
        format!("ref-outside {LOG_FILE}:2 analyst"),
        format!("ref-not-artifact {LOG_FILE}:3 analyst"),
        format!("artifact-name {LOG_FILE}:4 analyst"),
        format!("field-missing {LOG_FILE}:5 analyst"),
        format!("update-without-artifact {LOG_FILE}:5 analyst"),
        format!("ref-inline {LOG_FILE}:6 analyst"),
        format!("too-many-findings {LOG_FILE}:6 analyst"),
    ];
    assert_eq!(found(&mut world), wanted);
    world.restart();
    assert_eq!(found(&mut world), [""; 0]);
}

#[test]
fn wisdom_may_only_grow_and_that_is_known_after_a_restart() {
    let mut world = World::new();
    world.meta(&json!({}));
    for name in ["learnings", "decisions", "issues", "conventions"] {
        world.put(&format!("wisdom/{name}.md"), "first\nsecond\n");
    }
    assert_eq!(found(&mut world), [""; 0]);
    world.restart();
    world.put("wisdom/learnings.md", "second\n");
    world.put("wisdom/decisions.md", "other\nsecond\nthird\n");
    world.put("wisdom/conventions.md", "first\nsecond\n\n\nthird\n");
    fs::remove_file(world.path("wisdom/issues.md")).unwrap();
    assert_eq!(
        found(&mut world),
        ["wisdom-rewritten …/wisdom/decisions.md", "wisdom-shrank …/wisdom/learnings.md"]
    );
    assert_eq!(found(&mut world), ["wisdom-shrank …/wisdom/issues.md"]);
    world.restart();
    assert_eq!(found(&mut world), [""; 0]);
    world.put("wisdom/learnings.md", "second\nthird\n");
    assert_eq!(found(&mut world), [""; 0]);
}

#[test]
fn a_wisdom_file_that_is_being_written_is_no_violation() {
    let mut world = World::new();
    world.meta(&json!({}));
    world.put("wisdom/learnings.md", "first\n");
    world.look();
    world.began = system::clock::now();
    world.now = 0;
    world.put("wisdom/learnings.md", "");
    assert!(world.look_without_noting().events.is_empty());
    assert!(world.teams.again().is_some());
    world.put("wisdom/learnings.md", "first\nsecond\n");
    assert_eq!(found(&mut world), [""; 0]);
}

#[test]
fn entries_of_the_cache_stay_and_stay_their_creator_s() {
    let mut world = World::new();
    world.meta(&json!({}));
    let entry = |angle: &str, by: &str| json!({"angle": angle, "file": format!("explore-{angle}.json"), "created_by": by, "timestamp": "2026-01-15T10:30:00Z"});
    let put = |world: &World, entries: &[Value]| {
        let text = serde_json::to_string_pretty(&json!({ "entries": entries })).unwrap();
        world.put("explorations/cache-index.json", &text);
    };
    for angle in ["api", "ui", "Db"] {
        world.put(&format!("explorations/explore-{angle}.json"), "{}");
    }
    put(
        &world,
        &[
            entry("api", "RESEARCH-001"),
            entry("ui", "RESEARCH-001"),
            entry("Db", "RESEARCH-002"),
            entry("gone", "RESEARCH-002"),
        ],
    );
    let index = "…/explorations/cache-index.json";
    assert_eq!(
        found(&mut world),
        [
            format!("angle-form {index}:15 RESEARCH-002"),
            format!("cache-file-missing {index}:21 RESEARCH-002")
        ]
    );
    world.restart();
    // Another takes one over, one is taken out, and all move by a line.
    put(&world, &[entry("ui", "RESEARCH-009"), entry("Db", "RESEARCH-002"), entry("gone", "RESEARCH-002")]);
    assert_eq!(
        found(&mut world),
        [
            format!("cache-entry-removed {index}:1"),
            format!("cache-changed-by-another {index}:3 RESEARCH-009")
        ]
    );
    assert_eq!(found(&mut world), [""; 0]);
    world.put("explorations/cache-index.json", "{\"entries\": 7}");
    assert_eq!(found(&mut world), [format!("cache-unreadable {index}:1")]);
    world.restart();
    assert_eq!(found(&mut world), [""; 0]);
}

#[test]
fn an_exploration_that_is_in_no_index_is_told_after_a_minute() {
    let mut world = World::new();
    world.meta(&json!({}));
    world.put("explorations/explore-api.json", "{}");
    world.put("explorations/notes.json", "{}");
    assert_eq!(found(&mut world), [""; 0]);
    world.now += 60;
    assert_eq!(found(&mut world), ["cache-unlisted …/explorations/explore-api.json"]);
    world.restart();
    assert_eq!(found(&mut world), [""; 0]);
}

#[test]
fn a_role_that_never_reported_its_task_is_told_after_a_minute() {
    let mut world = World::new();
    world.meta(&json!({}));
    let tasks = json!({"tasks": {
        "RESEARCH-001": {"status": "completed", "role": "analyst"},
        "PLAN-001": {"status": "completed", "role": "planner"},
        "IMPL-001": {"status": "in_progress", "role": "executor"}
    }});
    world.put("tasks.json", &tasks.to_string());
    world.report(1, "analyst", "RESEARCH-001", &Value::Null);
    assert_eq!(found(&mut world), [""; 0]);
    assert!(world.teams.again().is_some());
    world.now += 60;
    assert_eq!(found(&mut world), ["never-published …/tasks.json#PLAN-001 planner"]);
    assert_eq!(found(&mut world), [""; 0]);
    world.restart();
    found(&mut world);
    world.now += 100;
    assert_eq!(found(&mut world), [""; 0]);
}

#[test]
fn a_record_that_lost_a_report_and_one_that_cannot_be_read_are_told() {
    let mut world = World::new();
    world.report(1, "analyst", "RESEARCH-001", &Value::Null);
    let lost = json!({"role_state": {"planner": {"task_id": "PLAN-001", "_updated_at": world.stamp(0)}}});
    world.meta(&lost);
    assert_eq!(found(&mut world), [""; 0], "the message is noted first");
    assert_eq!(found(&mut world), [format!("meta-behind {LOG_FILE}:1 analyst")]);
    world.put(".msg/meta.json", "{\"status\": \"act");
    assert_eq!(found(&mut world), ["meta-unreadable …/.msg/meta.json"]);
    world.meta(&json!({"status": "paused"}));
    assert_eq!(found(&mut world), ["session-status …/.msg/meta.json"]);
    world.restart();
    assert_eq!(found(&mut world), [""; 0]);
}

#[test]
fn what_is_not_ours_to_trust_is_a_fault_and_no_news() {
    let mut world = World::new();
    world.meta(&json!({}));
    symlink("/etc/hostname", world.path(".msg/messages.jsonl")).unwrap();
    symlink("/etc/hostname", world.path("tasks.json")).unwrap();
    let all = world.look();
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].contains("messages.jsonl: it is a symlink"), "{all:?}");
}

#[test]
fn many_findings_of_one_kind_are_counted() {
    let mut world = World::new();
    let torn: String = (0..100).map(|_| "{\"id\":\"MSG\n").collect();
    world.put(".msg/messages.jsonl", &torn);
    let all = found(&mut world);
    assert_eq!(
        (all.len(), all[15].as_str(), all[16].as_str()),
        (17, "torn-line …/.msg/messages.jsonl:16", "torn-line …/.msg/messages.jsonl:17")
    );
    assert_eq!(found(&mut world), [""; 0]);
}

#[test]
fn each_violation_on_one_line_is_told() {
    let mut world = World::new();
    world.meta(&json!({"role_state": {"analyst": {"_updated_at": world.stamp(10)}}}));
    world.post(1, "analyst", "coordinator", "state_update", &json!({"note": 1}));
    let lacks = facts(&mut world);
    let fields = ["task_id", "status", "ref", "key_findings", "decisions", "verification"];
    assert_eq!(lacks, fields.map(|name| format!("a state_update has no {name}")));
    let (long, longer) = ("q".repeat(120), "r".repeat(130));
    world.report(2, "analyst", "RESEARCH-001", &json!({"key_findings": [long, "ok", longer, 7, 8]}));
    let wanted = [
        "item 1 of key_findings has 120 characters; under 100 are allowed",
        "item 3 of key_findings has 130 characters; under 100 are allowed",
        "item 4 of key_findings is no text",
        "item 5 of key_findings is no text",
    ];
    assert_eq!(facts(&mut world), wanted);
    world.restart();
    journal::rotate(&world.root, world.moment().wall, 0).unwrap();
    assert_eq!(facts(&mut world), [""; 0]);
    // The same lines with the same words in another log.
    let line = json!({"id": "MSG-001", "ts": world.stamp(10), "from": "analyst", "type": "state_update", "data": {"note": 1}});
    world.put(".msg/messages.jsonl", &format!("{line}\n"));
    assert_eq!(facts(&mut world).len(), fields.len());
    assert_eq!(facts(&mut world), [""; 0]);
}

/// What is found at the next look, in its own words.
fn facts(world: &mut World) -> Vec<String> {
    let before = journal::all(&world.root).unwrap().len();
    world.look();
    let all = journal::all(&world.root).unwrap();
    let facts = all.into_iter().skip(before).filter_map(|event| match event.what {
        What::Found(found) => Some(found.fact.clone()),
        _ => None,
    });
    facts.collect()
}

/// Each of these is told at its look, and nothing is after it, not even by a daemon that is started anew on a journal
/// that was rotated.
#[track_caller]
fn each_time(world: &mut World, file: &str, steps: &[(&str, &[&str])]) {
    for (place, (text, wanted)) in steps.iter().enumerate() {
        world.put(file, text);
        let mut found = facts(world);
        found.retain(|fact| !fact.ends_with(" is in no entry of cache-index.json"));
        assert_eq!(found, *wanted, "step {place}");
        assert_eq!(facts(world), [""; 0], "step {place}");
        if place % 2 == 1 {
            journal::rotate(&world.root, world.moment().wall, 0).unwrap();
        }
        world.restart();
        assert_eq!(facts(world), [""; 0], "step {place}, anew");
        world.now += 60;
        facts(world);
    }
}

#[test]
fn wisdom_that_is_changed_again_is_told_again() {
    let mut world = World::new();
    world.meta(&json!({}));
    let rewritten = "the first 4 bytes of wisdom/learnings.md were changed; it is append-only";
    let shrank = "wisdom/learnings.md had 4 bytes and has 2; it is append-only";
    each_time(
        &mut world,
        "wisdom/learnings.md",
        &[
            ("aa\nb\n", &[]),
            ("xx\nb\n", &[rewritten]),
            ("yy\nb\n", &[rewritten]),
            ("xx\nb\n", &[rewritten]),
            ("yy\nb\n", &[rewritten]),
            ("yy\n", &[shrank]),
            ("yy\nb\n", &[]),
            ("yy\n", &[shrank]),
        ],
    );
    for _ in 0..2 {
        fs::remove_file(world.path("wisdom/learnings.md")).unwrap();
        assert_eq!(facts(&mut world), [""; 0], "it may be away for a moment");
        assert_eq!(facts(&mut world), ["wisdom/learnings.md had 2 bytes and is gone; it is append-only"]);
        world.restart();
        world.put("wisdom/learnings.md", "yy\n");
        assert_eq!(facts(&mut world), [""; 0]);
    }
}

#[test]
fn each_entry_that_goes_and_each_taking_over_is_told() {
    let mut world = World::new();
    world.meta(&json!({}));
    let index = |entries: &[(&str, &str)]| {
        let entry = |(angle, by): &(&str, &str)| json!({"angle": angle, "file": format!("explore-{angle}.json"), "created_by": by, "timestamp": "2026-01-15T10:30:00Z"});
        json!({"entries": entries.iter().map(entry).collect::<Vec<_>>()}).to_string()
    };
    for angle in ["one", "two", "three", "four", "five"] {
        world.put(&format!("explorations/explore-{angle}.json"), "{}");
    }
    let gone = |angle: &str| {
        format!("the entry of \"{angle}\" by \"R-1\" is gone; entries never expire within a session")
    };
    let taken = |from: &str, to: &str| {
        format!(
            "the entry of \"one\" was created by \"{from}\" and is now by \"{to}\"; only its creator updates it"
        )
    };
    let all = ["one", "two", "three", "four", "five"].map(|angle| (angle, "R-1"));
    let (none, gone_three) = (index(&all), [gone("five"), gone("four"), gone("three")]);
    let gone_three = gone_three.each_ref().map(String::as_str);
    let (gone_two, one_two, two_one) = (gone("two"), taken("R-1", "E-2"), taken("E-2", "R-1"));
    each_time(
        &mut world,
        "explorations/cache-index.json",
        &[
            (&none, &[]),
            (&index(&all[..2]), &gone_three),
            (&index(&all[..1]), &[&gone_two]),
            (&index(&all[..2]), &[]),
            (&index(&all[..1]), &[&gone_two]),
            (&index(&[("one", "E-2")]), &[&one_two]),
            (&index(&[("one", "R-1")]), &[&two_one]),
            (&index(&[("one", "E-2")]), &[&one_two]),
            ("{\"entries\": 7}", &["cache-index.json is no JSON object with a list of entries"]),
            (&index(&[("one", "E-2")]), &[]),
            ("{\"entries\": 8}", &["cache-index.json is no JSON object with a list of entries"]),
        ],
    );
}

#[test]
fn entries_that_lack_the_same_are_told_each_by_its_name_wherever_it_stands() {
    let mut world = World::new();
    world.meta(&json!({}));
    let entry =
        |angle: &str| json!({"angle": angle, "file": format!("explore-{angle}.json"), "created_by": "R-1"});
    for angle in ["one", "two", "three"] {
        world.put(&format!("explorations/explore-{angle}.json"), "{}");
    }
    let lacks = |angle: &str| format!("the entry of \"{angle}\" has no timestamp");
    let index = |angles: &[&str]| {
        json!({"entries": angles.iter().map(|angle| entry(angle)).collect::<Vec<_>>()}).to_string()
    };
    each_time(
        &mut world,
        "explorations/cache-index.json",
        &[
            (&index(&["one", "two"]), &[&lacks("one"), &lacks("two")]),
            (&format!("\n\n{}", index(&["three", "two", "one"])), &[&lacks("three")]),
        ],
    );
}

#[test]
fn what_is_too_much_to_be_told_at_once_is_counted_and_stays_counted() {
    let mut world = World::new();
    world.meta(&json!({}));
    for n in 0..100 {
        world.put(&format!("explorations/explore-a{n:02}.json"), "{}");
    }
    world.now += 60;
    let all = facts(&mut world);
    assert_eq!((all.len(), all[16].as_str()), (17, "84 more of this kind, the first of them here"));
    assert_eq!(facts(&mut world), [""; 0]);
    world.restart();
    assert_eq!(facts(&mut world), [""; 0]);
    // One more comes: those that were only counted are told, as far as it goes, and the rest is counted anew.
    world.put("explorations/explore-b.json", "{}");
    world.now += 60;
    let all = facts(&mut world);
    assert_eq!((all.len(), all[16].as_str()), (17, "69 more of this kind, the first of them here"));
    assert_eq!(facts(&mut world), [""; 0]);
}
