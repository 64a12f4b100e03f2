//! What is said of the client's settings.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn a_whole_installation_is_well() {
    let tree = Tree::new();
    tree.register("project/.claude/settings.json", "TREE/bin/watchdog", Some(life()));
    insta::assert_snapshot!(tree.client(), @"
    + hooks: all 14 events in TREE/project/.claude/settings.json
    + program: hooks run TREE/bin/watchdog, this program
    + switches: hooks are not switched off
    ");
    tree.register("project/.claude/settings.json", "TREE/bin/watchdog", None);
    assert!(tree.client().starts_with("+ hooks: all 14 events, no bridge in TREE/project"));
}

#[test]
fn guards_are_seen_and_kept_by_the_remedy() {
    let tree = Tree::new();
    let name = "project/.claude/settings.json";
    tree.register_with(name, "TREE/bin/watchdog", Some(life()), true);
    assert!(
        tree.client().starts_with("+ hooks: all 16 events, with guards in TREE/project"),
        "{}",
        tree.client()
    );
    let text = fs::read_to_string(tree.path(name)).unwrap();
    tree.write(name, &text.replace("TaskCreated", "Other"));
    let found = tree.client();
    assert!(
        found.contains("missing or out of date in TREE/project/.claude/settings.json: TaskCreated"),
        "{found}"
    );
    assert!(found.contains("run \"watchdog install --guards\""), "{found}");
    tree.register("home/.claude/settings.json", "TREE/bin/watchdog", Some(life()));
    let wanted = "! twice: TREE/project/.claude/settings.json registers hooks with guards, \
                  TREE/home/.claude/settings.json without: some events run both";
    assert!(tree.client().contains(wanted), "{}", tree.client());
}

#[test]
fn no_hooks_at_all_are_found_missing() {
    let tree = Tree::new();
    tree.write("home/.claude/settings.json", "");
    insta::assert_snapshot!(tree.client(), @r#"
    ! hooks: none are registered: looked at TREE/project/.claude/settings.json and TREE/home/.claude/settings.json
        run "watchdog install"
    + switches: hooks are not switched off
    "#);
}

#[test]
fn hooks_that_are_missing_or_old_are_named() {
    let tree = Tree::new();
    tree.register("home/.claude/settings.json", "TREE/bin/watchdog", Some(Duration::from_secs(60)));
    let text = fs::read_to_string(tree.path("home/.claude/settings.json")).unwrap();
    tree.write("home/.claude/settings.json", &text.replace("PermissionRequest", "Other"));
    insta::assert_snapshot!(tree.client(), @r#"
    ! hooks: missing or out of date in TREE/home/.claude/settings.json: PermissionRequest, Stop, StopFailure
        run "watchdog install --user"
    + program: hooks run TREE/bin/watchdog, this program
    + switches: hooks are not switched off
    "#);
}

#[test]
fn a_program_that_hooks_will_not_find_or_that_is_another_is_named() {
    let tree = Tree::new();
    let with = |program: &str| {
        fs::remove_file(tree.path("project/.claude/settings.json")).ok();
        tree.register("project/.claude/settings.json", program, Some(life()));
        tree.client().lines().skip(1).take(2).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(with("TREE/gone/watchdog"), @r#"
    ! program: hooks cannot run TREE/gone/watchdog: there is no such file
        run "watchdog install"
    "#);
    insta::assert_snapshot!(with("$HOME/bin/watchdog"), @r#"
    ? program: hooks run $HOME/bin/watchdog, a path that only the client can tell
        run "watchdog install"
    "#);
    fs::create_dir(tree.path("other")).unwrap();
    tree.write("other/watchdog", "#!/bin/sh\necho watchdog 0.0.1\n");
    insta::assert_snapshot!(with("TREE/other/watchdog"), @r#"
    ! program: hooks cannot run TREE/other/watchdog: it cannot be executed
        run "watchdog install"
    "#);
    fs::set_permissions(tree.path("other/watchdog"), fs::Permissions::from_mode(0o755)).unwrap();
    insta::assert_snapshot!(with("TREE/other/watchdog"), @r#"
    ! program: hooks run TREE/other/watchdog, which is "watchdog 0.0.1"; this is "watchdog 0.1.0"
        run "watchdog install"
    "#);
}

#[test]
fn what_the_client_would_not_load_is_named_with_its_place() {
    let tree = Tree::new();
    tree.write("home/.claude/settings.json", "{\n  // mine\n}");
    tree.write("project/.claude/settings.json", "{\"a\": }");
    fs::create_dir(tree.path("project/.claude/settings.local.json")).unwrap();
    insta::assert_snapshot!(tree.client(), @r#"
    ! settings: cannot read TREE/project/.claude/settings.local.json: it is not a regular file
        mend the file: the client takes nothing from it, no hook and no permission
    ! settings: TREE/project/.claude/settings.json:1:7: unexpected close brace
        mend the file: the client takes nothing from it, no hook and no permission
    ! settings: TREE/home/.claude/settings.json:2:3: a comment, and the client reads plain JSON only
        mend the file: the client takes nothing from it, no hook and no permission
    ! hooks: none are registered: looked at TREE/project/.claude/settings.json and TREE/home/.claude/settings.json
        run "watchdog install"
    + switches: hooks are not switched off
    "#);
}

#[test]
fn hooks_that_are_switched_off_are_named() {
    let tree = Tree::new();
    tree.register("project/.claude/settings.json", "TREE/bin/watchdog", Some(life()));
    let last = |tree: &Tree| tree.client().lines().skip(2).collect::<Vec<_>>().join("\n");
    tree.write("home/.claude/settings.json", "{\"disableAllHooks\": true}");
    insta::assert_snapshot!(last(&tree), @r#"
    ! switches: "disableAllHooks" in TREE/home/.claude/settings.json switches all hooks off
        remove it there
    "#);
    tree.write("project/.claude/settings.local.json", "{\"disableAllHooks\": false}");
    assert_eq!(last(&tree), "+ switches: hooks are not switched off", "the nearer file wins");
    tree.write("etc/managed-settings.json", "{\"allowManagedHooksOnly\": true}");
    insta::assert_snapshot!(last(&tree), @r#"
    ! switches: "allowManagedHooksOnly" in TREE/etc/managed-settings.json holds back these hooks
        ask the administrator of this machine
    "#);
}

#[test]
fn what_is_registered_twice_is_named() {
    let tree = Tree::new();
    tree.register("project/.claude/settings.json", "TREE/bin/watchdog", Some(life()));
    tree.register("home/.claude/settings.json", "TREE/bin/watchdog", Some(life()));
    let twice = |tree: &Tree| {
        let text = tree.client();
        let at = text.find("twice:").unwrap() - 2;
        text[at..].lines().take(2).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(twice(&tree), @r#"
    ? twice: the same hooks are registered in TREE/project/.claude/settings.json and TREE/home/.claude/settings.json; the client runs equal ones once
        keep one, or an update of one makes two: "watchdog uninstall" for the other
    "#);
    fs::create_dir(tree.path("other")).unwrap();
    symlink(tree.path("bin/watchdog"), tree.path("other/watchdog")).unwrap();
    tree.register("home/.claude/settings.json", "TREE/other/watchdog", Some(life()));
    insta::assert_snapshot!(twice(&tree), @r#"
    ! twice: TREE/project/.claude/settings.json registers TREE/bin/watchdog, TREE/home/.claude/settings.json registers TREE/other/watchdog: events run both
        run "watchdog uninstall" for one of them
    "#);
    tree.write("home/.claude/settings.json", "{\"enabledPlugins\": {\"watchdog@tools\": true}}");
    insta::assert_snapshot!(twice(&tree), @r#"
    ! twice: the plugin watchdog@tools and TREE/project/.claude/settings.json both register hooks: every event runs both
        switch the plugin off, or run "watchdog uninstall"
    "#);
    fs::remove_file(tree.path("project/.claude/settings.json")).unwrap();
    assert!(tree.client().starts_with("+ hooks: registered by the plugin watchdog@tools"));
}

#[test]
fn the_program_of_a_plugin_is_looked_for_where_its_wrapper_looks() {
    let tree = Tree::new();
    let found = super::super::client::plugin_program(&[tree.path("none"), tree.path("bin")]);
    assert_eq!(tree.shown(&[found]), "+ program: hooks run TREE/bin/watchdog, this program\n");
    insta::assert_snapshot!(tree.shown(&[super::super::client::plugin_program(&[tree.path("none")])]), @"
    ! program: the plugin finds no program and does nothing
        put this program into ~/.local/bin, or name its folder in WATCHDOG_BIN
    ");
    let wrapper = include_str!("../../../../plugin/bin/run-watchdog");
    let places = [
        "\"$WATCHDOG_BIN/watchdog\"",
        "command -v watchdog",
        "\"${HOME:-}/.local/bin\" /usr/local/bin /usr/bin;",
    ];
    let found: Vec<_> = places.iter().map(|place| wrapper.find(place)).collect();
    assert!(
        found.is_sorted() && found[0].is_some(),
        "the wrapper looks elsewhere now; so must doctor: {found:?}"
    );
    let folders = super::super::client::plugin_folders();
    assert_eq!(folders[folders.len() - 2..], [std::path::PathBuf::from("/usr/local/bin"), "/usr/bin".into()]);
}
