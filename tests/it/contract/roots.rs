//! Which project an event belongs to, wherever the client happens to stand.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::world::{Past, Ran, World, finish, listing};

/// Delivers a heartbeat from a process in `folder`, with this `cwd` in the payload and this project in the
/// environment.
fn beat(world: &World, folder: &Path, cwd: Option<&Path>, project: Option<&Path>) -> Ran {
    let mut payload = world.event("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"}));
    match cwd {
        Some(cwd) => payload["cwd"] = json!(cwd),
        None => drop(payload.as_object_mut().and_then(|fields| fields.remove("cwd"))),
    }
    let mut command = world.as_client("hook", &world.client);
    command.current_dir(folder).env_remove("CLAUDE_PROJECT_DIR");
    if let Some(project) = project {
        command.env("CLAUDE_PROJECT_DIR", project);
    }
    finish(command, payload.to_string().as_bytes())
}

fn epoch(world: &World) -> Value {
    world.activity()["epoch"].clone()
}

/// Adds a worktree as git does; where there is no git, the one file that makes it one is written by hand.
fn add_worktree(project: &Path, folder: &Path) {
    if !project.join(".git").exists() {
        fs::write(project.join("file"), "x").unwrap();
        for step in [&["init", "--quiet"][..], &["add", "file"], &["commit", "--quiet", "--message", "first"]]
        {
            git(project, step);
        }
    }
    if !git(project, &["worktree", "add", "--quiet", folder.to_str().unwrap()]) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(".git"), format!("gitdir: {}/.git/worktrees/w\n", project.display())).unwrap();
    }
    assert!(folder.join(".git").is_file(), "a worktree");
}

fn git(folder: &Path, arguments: &[&str]) -> bool {
    let status = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(folder)
        .env_remove("GIT_DIR")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn the_project_is_found_from_the_payload_the_process_and_the_environment() {
    let world = World::new("build");
    world.backdate(&Past::default());
    let deep = world.path().join("src/deep");
    fs::create_dir_all(&deep).unwrap();
    let link = world.beside("links").join("project");
    std::os::unix::fs::symlink(world.path(), &link).unwrap();
    let root = world.path();
    let nowhere = Path::new("/");
    for (folder, cwd, project) in [
        (deep.as_path(), None, None),
        (deep.as_path(), Some(deep.as_path()), Some(root)),
        (nowhere, Some(root), None),
        (nowhere, Some(deep.as_path()), None),
        (nowhere, None, Some(root)),
        (nowhere, Some(nowhere), Some(root)),
        (nowhere, Some(link.as_path()), None),
        (link.as_path(), None, None),
        (nowhere, Some(Path::new("relative/path")), Some(root)),
        (nowhere, Some(Path::new("/no/such/folder")), Some(root)),
    ] {
        let before = epoch(&world).as_u64().unwrap();
        assert_eq!(beat(&world, folder, cwd, project), Ran::silence());
        assert_eq!(epoch(&world), before + 1, "{folder:?} {cwd:?} {project:?}");
    }
    assert!(!deep.join(".kiln").exists() && !root.join("src/.kiln").exists(), "no second state anywhere");
}

#[test]
fn a_worktree_belongs_to_its_project_inside_it_by_place_and_outside_it_by_environment() {
    let world = World::new("build");
    world.backdate(&Past::default());
    let inside = world.path().join(".claude/worktrees/w1");
    let outside = world.beside("w2-parent").join("w2");
    add_worktree(world.path(), &inside);
    add_worktree(world.path(), &outside);
    assert_eq!(beat(&world, &inside, Some(&inside), None), Ran::silence());
    assert_eq!(epoch(&world), 8);
    assert_eq!(beat(&world, &outside, Some(&outside), Some(world.path())), Ran::silence());
    assert_eq!(epoch(&world), 9);
    assert!(!inside.join(".kiln").exists() && !outside.join(".kiln").exists());
}

#[test]
fn the_payloads_project_is_credited_and_not_the_one_left_over_in_the_environment() {
    let here = World::new("build");
    let left_over = World::new("build");
    left_over.backdate(&Past::default());
    let before = listing(left_over.path());
    assert_eq!(beat(&here, here.path(), Some(here.path()), Some(left_over.path())), Ran::silence());
    assert_eq!(epoch(&here), 1);
    assert_eq!(listing(left_over.path()), before);
}

#[test]
fn the_nearest_project_above_counts() {
    let outer = World::new("build");
    outer.backdate(&Past::default());
    let inner = outer.path().join("nested");
    fs::create_dir_all(inner.join(".kiln")).unwrap();
    fs::write(inner.join(".kiln/STATE.md"), "- **stage**: build\n").unwrap();
    assert_eq!(beat(&outer, &inner, Some(&inner), Some(outer.path())), Ran::silence());
    assert_eq!(epoch(&outer), 7, "the outer one is untouched");
    assert!(inner.join(".kiln/tmp/activity.json").exists());
}

#[test]
fn a_named_root_counts_before_all_else_and_one_that_is_none_is_no_reason_to_look_further() {
    let world = World::new("build");
    let elsewhere = World::new("build");
    let payload = world.event("PostToolUse", &json!({"tool_name": "Read", "tool_use_id": "t"})).to_string();
    let root = elsewhere.path().to_str().unwrap();
    let mut by_flag = world.as_client("hook", &world.client);
    by_flag.args(["--root", root]).env("KILN_ROOT", world.path());
    assert_eq!(finish(by_flag, payload.as_bytes()), Ran::silence());
    let mut by_variable = world.as_client("hook", &world.client);
    by_variable.env("KILN_ROOT", root);
    assert_eq!(finish(by_variable, payload.as_bytes()), Ran::silence());
    assert_eq!(epoch(&elsewhere), 2);
    assert!(!world.root.activity().exists());
    let mut nowhere = world.as_client("hook", &world.client);
    nowhere.args(["--root", "/no/such/folder"]);
    assert_eq!(finish(nowhere, payload.as_bytes()), Ran::silence());
    assert!(!world.root.activity().exists(), "a typing error must not credit another project");
}

#[test]
fn a_folder_that_was_deleted_under_the_client_is_nowhere() {
    let world = World::new("build");
    let gone = world.beside("gone");
    let payload =
        json!({"session_id": "s", "cwd": gone, "hook_event_name": "PostToolUse", "tool_name": "Read"});
    // The shell stands in the folder while it is removed, as a client would.
    let script = "cd \"$1\" && rmdir \"$1\" && exec \"$2\" hook";
    let mut command = Command::new("/bin/sh");
    command.env_clear().args(["-c", script, "sh"]).arg(&gone).arg(env!("CARGO_BIN_EXE_watchdog"));
    let before = listing(world.path());
    assert_eq!(finish(command, payload.to_string().as_bytes()), Ran::silence());
    assert_eq!(listing(world.path()), before);
    assert!(!gone.exists());
}

#[test]
fn all_names_of_a_project_lead_to_one_daemon() {
    let world = World::new("build");
    let link = world.beside("links").join("project");
    std::os::unix::fs::symlink(world.path(), &link).unwrap();
    let daemon = world.begin();
    let dotted = format!("{}/./", world.path().display());
    for root in [link.to_str().unwrap(), dotted.as_str(), "."] {
        assert_eq!(world.run(&["start", "--root", root]).out, "A daemon is watching.\n", "{root}");
        assert_eq!(world.daemon(), daemon, "{root}");
    }
}
