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
        (17, "torn-line …/.msg/messages.jsonl:16", "torn-line …/.msg/messages.jsonl")
    );
    assert_eq!(found(&mut world), [""; 0]);
}
