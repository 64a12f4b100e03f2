//! Files of secrets are neither read nor written.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use watchdog::model::event::What;

use super::{by, call};
use crate::world::{Ran, World, finish};

#[track_caller]
fn denied(ran: &Ran) -> String {
    let answer = ran.answer();
    let inner = &answer["hookSpecificOutput"];
    let reason = inner["permissionDecisionReason"].as_str().expect("a reason").to_owned();
    let wanted = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
    }});
    assert_eq!(answer, wanted);
    reason
}

fn before(world: &World, name: &str, tool: &str, input: &Value) -> Ran {
    world.guarded(&call(world, name, "PreToolUse", tool, input))
}

#[test]
fn a_file_of_each_glob_is_denied_with_its_glob_and_not_its_content() {
    let world = World::new("build");
    let cases = [
        (".env", ".env"),
        ("certs/server.pem", "*.pem"),
        ("deploy_rsa", "*_rsa"),
        ("private.key", "*.key"),
        ("credentials.json", "credentials.json"),
        ("secrets.yaml", "secrets.*"),
        (".npmrc", ".npmrc"),
    ];
    for (file, glob) in cases {
        let path = world.put(file, "TOKEN=hunter2");
        for (tool, input) in [
            ("Read", json!({"file_path": path})),
            ("Write", json!({"file_path": path, "content": "TOKEN=hunter2"})),
            ("Edit", json!({"file_path": path, "old_string": "hunter2", "new_string": "x"})),
            ("Bash", json!({"command": format!("cat {file}")})),
        ] {
            let reason = denied(&before(&world, "coder", tool, &input));
            assert!(reason.starts_with(&format!("KILN GUARD: this call of {tool} was denied")), "{reason}");
            assert!(reason.contains(&format!("matches `{glob}`")) && !reason.contains("hunter2"), "{reason}");
        }
    }
    let journal = std::fs::read_to_string(world.root.in_own("journal.jsonl")).expect("a journal");
    assert!(
        !journal.contains("hunter2") && !journal.contains("deploy_rsa"),
        "names and contents stay out of it"
    );
    assert_eq!(world.refusals()[0], ("secrets".to_owned(), ".env".to_owned(), "Read".to_owned()));
}

#[test]
fn every_tool_that_runs_a_command_is_looked_at_and_what_it_searches_for_is_no_file() {
    let world = World::new("build");
    for tool in ["Bash", "Monitor", "PowerShell"] {
        denied(&before(&world, "coder", tool, &json!({"command": "tail -f .env"})));
        assert_eq!(before(&world, "coder", tool, &json!({"command": "grep -rn .env src"})), Ran::silence());
    }
    denied(&before(&world, "coder", "Grep", &json!({"pattern": "x", "glob": "*.{ts,key}"})));
    assert_eq!(
        before(&world, "coder", "Grep", &json!({"pattern": ".env", "glob": "!*.pem"})),
        Ran::silence()
    );
}

#[test]
fn everybody_is_denied_and_what_is_no_secret_passes() {
    let world = World::new("build");
    let input = json!({"file_path": world.put(".env", "")});
    for name in ["coder", "rakim", "some-helper"] {
        denied(&before(&world, name, "Read", &input));
    }
    let lead =
        world.event("PreToolUse", &json!({"tool_name": "Read", "tool_input": input, "tool_use_id": "t"}));
    denied(&world.guarded(&lead));
    for file in [".env.example", "id_rsa.pub", "src/key.rs", "secrets/readme.md"] {
        let input = json!({"file_path": world.put(file, "")});
        assert_eq!(before(&world, "coder", "Read", &input), Ran::silence(), "{file}");
    }
    assert_eq!(before(&world, "coder", "Bash", &json!({"command": "cargo check"})), Ran::silence());
}

#[test]
fn a_link_to_such_a_file_is_denied_and_so_is_one_that_bears_its_name() {
    let world = World::new("build");
    world.put(".env", "TOKEN=x");
    symlink(".env", world.path().join("notes.txt")).expect("a link");
    symlink("README.md", world.path().join("old.key")).expect("a link");
    for (file, glob) in [("notes.txt", ".env"), ("./sub/../notes.txt", ".env"), ("old.key", "*.key")] {
        world.put("sub/x", "");
        let path = world.path().join(file).display().to_string();
        let reason = denied(&before(&world, "coder", "Read", &json!({"file_path": path})));
        assert!(reason.contains(&format!("`{glob}`")), "{reason}");
        denied(&before(&world, "coder", "Bash", &json!({"command": format!("cat {file}")})));
    }
}

#[test]
fn a_denied_call_is_work_that_is_over_and_a_nudge_waits_for_the_next() {
    let world = World::new("build");
    let nudge =
        json!({"additionalContext": "KILN DEADLOCK WATCHDOG: x", "timestamp": 1, "nudge_n": 1, "id": "n1"});
    world.write_pending(&nudge);
    let input = json!({"file_path": "/p/.env"});
    let lead = |input: &Value| {
        world.event("PreToolUse", &json!({"tool_name": "Read", "tool_input": input, "tool_use_id": "t1"}))
    };
    denied(&world.guarded(&lead(&input)));
    assert_eq!(world.activity()["last_activity_source"], "PreToolUse:Read");
    let (starts, ends) = (
        world.count(|what| matches!(what, What::ToolStart { .. })),
        world.count(|what| matches!(what, What::ToolEnd { failed: true, .. })),
    );
    assert_eq!((starts, ends), (1, 1), "no tool is left open: it would explain silence");
    assert_eq!(world.count(|what| matches!(what, What::Claimed { .. })), 0);
}

#[test]
fn without_guards_without_a_pipeline_and_with_the_setting_off_nothing_is_denied() {
    let world = World::new("build");
    let read = call(&world, "coder", "PreToolUse", "Read", &json!({"file_path": "/p/.env"}));
    assert_eq!(world.hook(&read), Ran::silence(), "a hook without guards");
    world.settings("[guards]\nsecrets = false\n");
    assert_eq!(world.guarded(&read), Ran::silence(), "the setting is off");
    world.settings("[guards]\nstate_files = false\n");
    denied(&world.guarded(&read));
    world.stage("complete");
    assert_eq!(world.guarded(&read), Ran::silence(), "the pipeline is complete");
    std::fs::remove_file(world.root.state()).expect("a stage");
    assert_eq!(world.guarded(&read), Ran::silence(), "there is no pipeline");
    assert_eq!(world.refusals().len(), 1);
}

#[test]
fn other_events_of_a_guarded_hook_are_what_they_are_without() {
    let world = World::new("build");
    let input = json!({"command": "cargo check"});
    for event in ["PreToolUse", "PostToolUse"] {
        assert_eq!(world.guarded(&call(&world, "coder", event, "Bash", &input)), Ran::silence(), "{event}");
    }
    assert_eq!(world.activity()["last_activity_source"], "PostToolUse:Bash");
    let spawn = by(&world, "rakim", "SubagentStart", &json!({}));
    assert!(world.guarded(&spawn).out.contains("spawn acknowledged"));
    assert_eq!(
        world.guarded(&by(&world, "coder", "SubagentStop", &json!({"stop_hook_active": false}))),
        Ran::silence()
    );
}

#[test]
fn a_project_that_is_watched_without_kiln_has_no_guards() {
    let world = World::new("build");
    let other = world.beside("other");
    std::fs::create_dir(other.join(".watchdog")).expect("a folder");
    std::fs::write(other.join(".watchdog/STATE.md"), "- **stage**: build\n").expect("a stage");
    let mut payload = call(&world, "coder", "PreToolUse", "Read", &json!({"file_path": other.join(".env")}));
    payload["cwd"] = json!(other);
    let mut command = world.command(&["hook", "--guards"]);
    command.current_dir(&other);
    assert_eq!(finish(command, payload.to_string().as_bytes()), Ran::silence());
}
