//! Persistent-state files and artifacts: the writer is told at once, the lead when a file changed on disk.

use serde_json::{Value, json};
use watchdog::model::event::What;

use super::{APPROVED, CHUNK, TDD, call, reason};
use crate::world::{Ran, World};

fn written(world: &World, tool: &str, path: &str) -> Ran {
    world.guarded(&call(world, "sentinel", "PostToolUse", tool, &json!({"file_path": path, "content": "x"})))
}

fn changed(world: &World, path: &str, event: &str) -> Ran {
    world.guarded(&world.event("FileChanged", &json!({"file_path": path, "event": event})))
}

#[test]
fn the_writer_of_a_mind_s_file_without_its_marker_is_told_exactly_what_is_missing() {
    let world = World::new("build");
    for (file, tool) in
        [("codebase-state.md", "Write"), ("patterns.md", "Edit"), ("architecture.md", "MultiEdit")]
    {
        let path = world.put(&format!(".kiln/docs/{file}"), "# State\n");
        let said = reason(&written(&world, tool, &path));
        let wanted = format!(
            "KILN GUARD: .kiln/docs/{file} is not as the Kiln protocol has it.\n\
             - .kiln/docs/{file}: line 1 is no status marker; its first line is exactly `<!-- status: complete -->`"
        );
        assert_eq!(said, wanted);
        world.put(&format!(".kiln/docs/{file}"), "<!-- status: complete -->\n# State\n");
        assert_eq!(written(&world, tool, &path), Ran::silence(), "{file}");
    }
    let of = |fact: &str| ("state_files".to_owned(), "docs/patterns.md".to_owned(), fact.to_owned());
    assert_eq!(world.refusals()[2..4], [of("line 1"), of("")], "the record says when it was in order again");
}

#[test]
fn evidence_verdicts_and_proofs_are_held_against_their_schemas() {
    let world = World::new("build");
    let evidence = world
        .put(&format!("{CHUNK}/tdd-evidence.md"), &TDD.replace("green_command: cargo test parser\n", ""));
    let said = reason(&written(&world, "Write", &evidence));
    assert!(
        said.ends_with("tdd-evidence.md: green_command is missing; a line `green_command: {command}`"),
        "{said}"
    );
    world.put(&format!("{CHUNK}/tdd-evidence.md"), TDD);
    assert_eq!(written(&world, "Write", &evidence), Ran::silence());

    let review = world.put(&format!("{CHUNK}/review.md"), APPROVED);
    assert_eq!(written(&world, "Write", &review), Ran::silence());
    let lazy = APPROVED
        .replace("[\"cargo test parser\"]", "[]")
        .replace("limitations: none", "limitations: no time");
    world.put(&format!("{CHUNK}/review.md"), &lazy);
    let said = reason(&written(&world, "Write", &review));
    assert!(
        said.contains("review.md: reviewer_reran_commands names no command; APPROVED for testable work"),
        "{said}"
    );
    let partial = lazy.replace("verdict: APPROVED", "verdict: PARTIAL_PASS_STATIC_ONLY");
    world.put(&format!("{CHUNK}/review.md"), &partial);
    assert_eq!(written(&world, "Write", &review), Ran::silence(), "a degraded verdict may stand on limits");

    let assignment =
        world.put(".kiln/tmp/assignment.md", "assignment_id: asg-7\nmilestone_id: 1\nchunk_id: 2\n");
    let said = reason(&written(&world, "Write", &assignment));
    for field in ["head_sha", "dirty_status", "source_artifacts"] {
        assert!(said.contains(&format!("assignment.md: {field} is missing")), "{said}");
    }
}

#[test]
fn an_approval_needs_evidence_that_can_be_read_wherever_it_is_by_now() {
    let world = World::new("build");
    let review =
        world.put(&format!("{CHUNK}/review.md"), &APPROVED.replace(&format!("{CHUNK}/tdd"), ".kiln/tmp/tdd"));
    let said = reason(&written(&world, "Write", &review));
    assert!(said.contains("tdd_evidence_path leads to no file"), "{said}");
    world.put(&format!("{CHUNK}/tdd-evidence.md"), TDD);
    assert_eq!(written(&world, "Write", &review), Ran::silence(), "it was archived meanwhile");
}

#[test]
fn files_of_other_names_and_places_are_nobody_s_concern() {
    let world = World::new("build");
    for file in
        ["docs/patterns.md", ".kiln/docs/pitfalls.md", ".kiln/notes/review.md", "review.md", ".kiln/STATE.md"]
    {
        let path = world.path().join(file);
        let path = if file.ends_with("STATE.md") { path.display().to_string() } else { world.put(file, "x") };
        assert_eq!(written(&world, "Write", &path), Ran::silence(), "{file}");
    }
    let path = world.put(".kiln/docs/patterns.md", "x");
    assert_eq!(written(&world, "Read", &path), Ran::silence(), "reading is no writing");
    let failed = call(&world, "sentinel", "PostToolUseFailure", "Write", &json!({"file_path": path}));
    assert_eq!(world.guarded(&failed), Ran::silence(), "nothing was written");
}

#[test]
fn a_path_through_a_link_to_the_project_is_understood() {
    let world = World::new("build");
    world.put(".kiln/docs/patterns.md", "x");
    let link = world.beside("links").join("project");
    std::os::unix::fs::symlink(world.path(), &link).expect("a link");
    let path = link.join(".kiln/docs/patterns.md").display().to_string();
    assert!(reason(&written(&world, "Write", &path)).contains("line 1"));
}

#[test]
fn a_change_on_disk_is_told_to_the_lead_once_until_the_file_is_in_order_again() {
    let world = World::new("build");
    let path = world.put(".kiln/docs/patterns.md", "x");
    let told = changed(&world, &path, "add");
    assert_eq!((told.code, told.out.as_str()), (2, ""));
    assert!(
        told.err.starts_with("KILN ASYNC REWAKE: KILN GUARD: .kiln/docs/patterns.md is not as"),
        "{told:?}"
    );
    world.put(".kiln/docs/patterns.md", "another text");
    assert_eq!(changed(&world, &path, "change"), Ran::silence(), "the same is wrong with it");
    assert_eq!(changed(&world, &path, "unlink"), Ran::silence(), "a deletion");
    world.put(".kiln/docs/patterns.md", "<!-- status: complete -->\n");
    assert_eq!(changed(&world, &path, "change"), Ran::silence(), "in order");
    world.put(".kiln/docs/patterns.md", "x");
    assert_eq!(changed(&world, &path, "change").code, 2, "wrong again");
}

#[test]
fn what_the_writer_was_told_the_lead_is_not_woken_for() {
    let world = World::new("build");
    let path = world.put(".kiln/docs/patterns.md", "x");
    reason(&written(&world, "Write", &path));
    assert_eq!(changed(&world, &path, "add"), Ran::silence());
    reason(&written(&world, "Write", &path));
    assert_eq!(world.count(|what| matches!(what, What::Guarded { .. })), 2, "the writer is told each time");
}

#[test]
fn a_wake_of_a_guard_is_no_work_and_nudges_still_come_by_the_same_event() {
    let world = World::new("build");
    let path = world.put(".kiln/docs/patterns.md", "x");
    let told = changed(&world, &path, "add");
    let prompt = format!("<task-notification>\n<summary>Stop hook feedback</summary>\n{}", told.err);
    world.guarded(&world.event("UserPromptSubmit", &json!({"prompt": prompt})));
    assert_eq!(world.count(|what| matches!(what, What::Prompt { wake: true })), 1);
    let nudge =
        json!({"additionalContext": "KILN DEADLOCK WATCHDOG: x", "timestamp": 1, "nudge_n": 1, "id": "n1"});
    world.write_pending(&nudge);
    let pending = world.root.pending().display().to_string();
    assert!(changed(&world, &pending, "add").err.contains("KILN DEADLOCK WATCHDOG: x"));
}

fn watched(ran: &Ran) -> Vec<String> {
    let paths = ran.answer()["hookSpecificOutput"]["watchPaths"].clone();
    let name =
        |path: &Value| path.as_str().unwrap_or_default().rsplit('/').next().unwrap_or_default().to_owned();
    paths.as_array().expect("paths").iter().map(name).collect()
}

#[test]
fn the_folder_of_the_files_is_named_for_watching_when_the_session_begins() {
    let world = World::new("build");
    let start = world.event("SessionStart", &json!({"source": "startup"}));
    let two = ["pending-nudge.json", "DEADLOCK.flag"];
    assert_eq!(watched(&world.guarded(&start)), two, "a folder that is not there is not named");
    let path = world.put(".kiln/docs/patterns.md", "x");
    assert_eq!(watched(&world.guarded(&start)), ["pending-nudge.json", "DEADLOCK.flag", "docs"]);
    assert_eq!(watched(&world.hook(&start)), two);
    world.settings("[guards]\nstate_files = false\n");
    assert_eq!(watched(&world.guarded(&start)), two);
    assert_eq!(written(&world, "Write", &path), Ran::silence());
    assert_eq!(changed(&world, &path, "add"), Ran::silence());
}
