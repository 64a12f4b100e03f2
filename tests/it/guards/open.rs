//! Whatever fails on our side, nothing is refused for it: by kind.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use super::tasks::listed;
use super::{APPROVED, CHUNK, TDD, by, call, reason};
use crate::world::{Ran, World, finish};

/// One event for each guard, each of which is refused as things stand.
fn all(world: &World) -> [(&'static str, Value); 6] {
    let task = |event, subject| {
        let more = json!({"task_id": "7", "task_subject": subject, "task_description": ""});
        world.event(event, &more)
    };
    let patterns = world.put(".kiln/docs/patterns.md", "no marker\n");
    listed(world, "7", &json!({}));
    [
        ("secrets", call(world, "coder", "PreToolUse", "Read", &json!({"file_path": "/p/.env"}))),
        ("state_files", call(world, "sentinel", "PostToolUse", "Write", &json!({"file_path": patterns}))),
        ("state_files", world.event("FileChanged", &json!({"file_path": patterns, "event": "change"}))),
        ("subagent_stop", by(world, "sentinel", "SubagentStop", &json!({"stop_hook_active": false}))),
        ("task_created", task("TaskCreated", "Review chunk 2")),
        ("task_completed", task("TaskCompleted", "Review chunk 2")),
    ]
}

/// Makes a file that can be opened by nobody, not even by the owner of everything: a pipe.
fn pipe(world: &World, below: &str) -> String {
    let path = world.path().join(below);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::remove_file(&path).ok();
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
    assert!(made.success());
    path.display().to_string()
}

#[test]
fn every_guard_refuses_as_things_stand_and_none_with_broken_settings() {
    let world = World::new("build");
    for (guard, payload) in all(&world) {
        let ran = world.guarded(&payload);
        let is_refused = ran.code == 2 || ran.out.contains("\"block\"") || ran.out.contains("\"deny\"");
        // What the writer was told is not told to the lead again.
        let is_known = payload["hook_event_name"] == "FileChanged";
        assert_eq!(is_refused, !is_known, "{guard}: {ran:?}");
    }
    let world = World::with("build", "[guards]\nsecrets = \"perhaps\"\n");
    for (guard, payload) in all(&world) {
        assert_eq!(world.guarded(&payload), Ran::silence(), "{guard}");
    }
    assert!(world.refusals().is_empty());
    let faults = world.faults();
    assert!(
        faults.iter().any(|fault| fault.contains("guards.secrets: true or false is wanted")),
        "{faults:?}"
    );
}

#[test]
fn settings_and_tables_that_cannot_be_read_switch_the_guards_off() {
    for broken in ["[guards", "[guards]\nsecret = true\n", "[rule]\nidle_after = \"never\"\n"] {
        let world = World::with("build", broken);
        for (guard, payload) in all(&world) {
            assert_eq!(world.guarded(&payload), Ran::silence(), "{guard}: {broken}");
        }
    }
    let world = World::new("build");
    fs::create_dir_all(world.root.in_kiln("watchdog.d")).expect("a folder");
    fs::write(world.root.in_kiln("watchdog.d/own.toml"), "name = 7").expect("a table");
    for (guard, payload) in all(&world) {
        assert_eq!(world.guarded(&payload), Ran::silence(), "{guard}: a table");
    }
}

#[test]
fn a_file_that_cannot_be_looked_at_is_no_violation() {
    let world = World::new("build");
    let path = pipe(&world, ".kiln/docs/patterns.md");
    let write = call(&world, "sentinel", "PostToolUse", "Write", &json!({"file_path": path}));
    let stop = by(&world, "sentinel", "SubagentStop", &json!({"stop_hook_active": false}));
    let kinds: [(&str, &dyn Fn()); 4] = [
        ("a pipe", &|| {}),
        ("a link", &|| {
            fs::remove_file(&path).expect("a pipe");
            symlink("/etc/hostname", &path).expect("a link");
        }),
        ("a folder", &|| {
            fs::remove_file(&path).expect("a link");
            fs::create_dir(&path).expect("a folder");
        }),
        ("too long", &|| {
            fs::remove_dir(&path).expect("a folder");
            fs::write(&path, vec![b'x'; 600 * 1024]).expect("a file");
        }),
    ];
    for (number, (kind, make)) in kinds.into_iter().enumerate() {
        make();
        assert_eq!(world.guarded(&write), Ran::silence(), "{kind}");
        assert_eq!(world.guarded(&stop), Ran::silence(), "{kind}");
        let noted = world.faults().iter().filter(|fault| fault.starts_with("a guard lets pass: ")).count();
        assert_eq!(noted, 2 * (number + 1), "{kind}: {:?}", world.faults());
    }
    assert!(world.refusals().is_empty());
}

#[test]
fn a_proof_that_cannot_be_looked_at_does_not_hold_up_a_task() {
    let world = World::new("build");
    pipe(&world, &format!("{CHUNK}/review.md"));
    let done = world.event(
        "TaskCompleted",
        &json!({
            "task_id": "7", "task_subject": "Review chunk 2",
            "task_description": format!("verdict_path: {CHUNK}/review.md"),
        }),
    );
    assert_eq!(world.guarded(&done), Ran::silence());
    assert!(world.faults().iter().any(|fault| fault.starts_with("a guard lets pass: ")));
    // The verdict can be read; the evidence that it names cannot.
    fs::remove_file(world.path().join(format!("{CHUNK}/review.md"))).expect("a pipe");
    world.put(&format!("{CHUNK}/review.md"), APPROVED);
    pipe(&world, &format!("{CHUNK}/tdd-evidence.md"));
    assert_eq!(world.guarded(&done), Ran::silence());
    fs::remove_file(world.path().join(format!("{CHUNK}/tdd-evidence.md"))).expect("a pipe");
    assert_eq!(world.guarded(&done).code, 2, "it is not there at all");
    world.put(&format!("{CHUNK}/tdd-evidence.md"), TDD);
    assert_eq!(world.guarded(&done), Ran::silence());
}

#[test]
fn an_archive_that_cannot_be_listed_does_not_hold_up_the_build() {
    let world = World::new("build");
    let done = world.event(
        "TaskCompleted",
        &json!({
            "task_id": "7", "task_subject": "BUILD_COMPLETE",
            "task_description": "final_archive_check: pass\nopen_blocking_tasks: 0",
        }),
    );
    world.put(&format!("{CHUNK}/tdd-evidence.md"), TDD);
    pipe(&world, &format!("{CHUNK}/review.md"));
    assert_eq!(world.guarded(&done), Ran::silence(), "a review that is a pipe");
    assert!(world.faults().iter().any(|fault| fault.contains("review.md")), "{:?}", world.faults());
    for number in 0..600 {
        fs::create_dir_all(world.path().join(format!(".kiln/archive/milestone-{number}"))).expect("a folder");
    }
    assert_eq!(world.guarded(&done), Ran::silence(), "more than is looked at");
    assert!(world.faults().iter().any(|fault| fault.contains("too many files")), "{:?}", world.faults());
}

#[test]
fn a_journal_that_cannot_be_read_keeps_nobody_from_stopping() {
    let world = World::new("build");
    world.hook(&by(&world, "critical-thinker", "SubagentStart", &json!({})));
    let journal = world.root.in_own("journal.jsonl");
    fs::remove_file(&journal).expect("a journal");
    fs::create_dir(&journal).expect("a folder in its place");
    for name in ["critical-thinker", "krs-one", "sentinel"] {
        let stop = by(&world, name, "SubagentStop", &json!({"stop_hook_active": false}));
        assert_eq!(world.guarded(&stop), Ran::silence(), "{name}");
    }
}

#[test]
fn payloads_that_lack_what_a_guard_reads_are_let_pass() {
    let world = World::new("build");
    for payload in [
        call(&world, "coder", "PreToolUse", "Read", &json!(null)),
        call(&world, "coder", "PreToolUse", "Bash", &json!({"command": ["cat", ".env"]})),
        call(&world, "coder", "PostToolUse", "Write", &json!({})),
        call(&world, "coder", "PostToolUse", "Write", &json!({"file_path": "\u{0}"})),
        world.event("FileChanged", &json!({})),
        world.event("TaskCreated", &json!({})),
        world.event("TaskCompleted", &json!({"task_subject": 7, "task_description": ["x"]})),
        world.event("SubagentStop", &json!({})),
    ] {
        assert_eq!(world.guarded(&payload), Ran::silence(), "{payload}");
    }
    let broken = finish(
        {
            let mut command = world.as_client("hook", &world.client);
            command.arg("--guards");
            command
        },
        b"{\"hook_event_name\": \"PreToolUse\", ",
    );
    assert_eq!(broken, Ran::silence());
}

#[test]
fn a_lock_that_somebody_holds_delays_no_refusal_for_ever() {
    let world = World::new("build");
    world.silent(&call(&world, "coder", "PreToolUse", "Bash", &json!({"command": "true"})));
    let lock = fs::OpenOptions::new().append(true).open(world.root.in_tmp("activity.lock")).expect("a lock");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("it is free");
    let path = world.put(".kiln/docs/patterns.md", "no marker\n");
    let write = call(&world, "sentinel", "PostToolUse", "Write", &json!({"file_path": path}));
    assert!(reason(&world.guarded(&write)).contains("line 1 is no status marker"));
}

#[test]
fn a_folder_that_is_closed_to_us_is_no_violation() {
    let world = World::new("build");
    let path = world.put(".kiln/docs/patterns.md", "no marker\n");
    let docs = world.root.in_kiln("docs");
    fs::set_permissions(&docs, fs::Permissions::from_mode(0o000)).expect("a mode");
    let is_closed = fs::read_dir(&docs).is_err();
    let ran = world.guarded(&call(&world, "sentinel", "PostToolUse", "Write", &json!({"file_path": path})));
    fs::set_permissions(&docs, fs::Permissions::from_mode(0o755)).expect("a mode");
    // The user of users may read it all the same.
    assert!(!is_closed || ran == Ran::silence(), "{ran:?}");
}

#[test]
fn an_event_that_concerns_no_guard_does_not_even_read_the_settings() {
    let world = World::with("build", "[guards\n");
    let source = world.put("src/main.rs", "fn main() {}\n");
    for payload in [
        call(&world, "coder", "PreToolUse", "Read", &json!({"file_path": source})),
        call(&world, "coder", "PreToolUse", "Bash", &json!({"command": "cargo check && cat src/main.rs"})),
        call(&world, "coder", "PostToolUse", "Bash", &json!({"command": "cargo check"})),
        call(&world, "coder", "PostToolUse", "MultiEdit", &json!({"file_path": source})),
        world.event("FileChanged", &json!({"file_path": source, "event": "change"})),
        world.event("TaskCreated", &json!({"task_id": "7", "task_subject": "Read the docs"})),
    ] {
        assert_eq!(world.guarded(&payload), Ran::silence(), "{payload}");
    }
    assert_eq!(world.faults(), Vec::<String>::new());
}
