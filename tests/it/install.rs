//! `install` and `uninstall`, by the real program, on the settings files that people have.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::home::{Home, PROGRAM};

/// Installs twice and uninstalls twice; everything must be as before. Returns the settings in between.
fn there_and_back(home: &Home, flags: &str, path: &Path) -> String {
    let before = home.everything();
    let shown = home.run(&format!("install {flags} --dry-run"));
    assert_eq!(home.everything(), before, "a dry run writes nothing");
    assert!(shown.contains("@@"), "{shown}");
    home.run(&format!("install {flags}"));
    let installed = fs::read_to_string(path).unwrap();
    let between = home.everything();
    let again = home.run(&format!("install {flags}"));
    assert!(again.starts_with("Already installed: "), "{again}");
    assert_eq!(home.run(&format!("install {flags} --dry-run")), again);
    assert_eq!(home.everything(), between, "a second time changes nothing");
    let shown = home.run(&format!("uninstall {flags} --dry-run"));
    assert_eq!(home.everything(), between, "a dry run writes nothing");
    assert!(shown.contains("@@"), "{shown}");
    home.run(&format!("uninstall {flags}"));
    assert_eq!(home.everything(), before, "uninstall leaves everything as it was");
    let again = home.run(&format!("uninstall {flags}"));
    assert!(again.starts_with("Nothing to take out of "), "{again}");
    assert_eq!(home.everything(), before);
    installed
}

#[test]
fn every_kind_of_settings_file_is_back_to_the_byte_after_uninstall() {
    let foreign =
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}], "Setup": []}}"#;
    let files: [&[u8]; 14] = [
        b"",
        b"\n\n",
        b"{}",
        b"{ }\n",
        b"{\"hooks\": {}}",
        b"{\"hooks\": {\"Stop\": []}}\n",
        foreign.as_bytes(),
        b"{\n   \"model\" : \"opus\",\n      \"hooks\":{\n  \"Stop\":[ ]} }",
        b"{\n\t\"model\": \"opus\"\n}\n",
        b"{\r\n  \"model\": \"opus\"\r\n}\r\n",
        b"\xef\xbb\xbf{\n  \"model\": \"opus\"\n}",
        b"{\"model\":\"opus\"}",
        b"{\n  \"model\": \"opus\", // big\n  /* none */ \"hooks\": {\n  },\n}\n",
        b"\xef\xbb\xbf",
    ];
    for file in files {
        let home = Home::new();
        home.write(file);
        let installed = there_and_back(&home, "", &home.settings());
        assert_eq!(installed.matches("\"bridge\"").count(), 2, "{installed}");
        assert_eq!(installed.matches(PROGRAM).count(), 16, "{installed}");
    }
}

#[test]
fn a_missing_file_and_folder_are_made_and_gone_again() {
    let home = Home::new();
    let installed = there_and_back(&home, "", &home.settings());
    assert!(
        installed.starts_with("{\n  \"hooks\": {\n    \"SessionStart\": [\n") && installed.ends_with("}\n")
    );
    assert!(!home.path("project/.claude").exists());
    // The folder was there before: it stays.
    fs::create_dir(home.path("project/.claude")).unwrap();
    there_and_back(&home, "", &home.settings());
    assert!(home.path("project/.claude").is_dir());
    // Somebody else needs it meanwhile: it stays.
    fs::remove_dir(home.path("project/.claude")).unwrap();
    home.run("install");
    fs::write(home.path("project/.claude/notes"), "").unwrap();
    home.run("uninstall");
    let left: Vec<_> = fs::read_dir(home.path("project/.claude")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn the_persons_own_file_is_found_by_home_or_by_its_variable() {
    let home = Home::new();
    there_and_back(&home, "--user", &home.path(".claude/settings.json"));
    let folder = home.path("elsewhere");
    let mut command = home.command(PROGRAM);
    let output = command.args(["install", "--user"]).env("CLAUDE_CONFIG_DIR", &folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(folder.join("settings.json").is_file());
    assert!(!home.path(".claude").exists());
}

#[test]
fn a_project_is_found_from_below_and_by_name() {
    let home = Home::new();
    fs::create_dir_all(home.path("project/deep/er")).unwrap();
    let mut command = home.command(PROGRAM);
    let output = command.arg("install").current_dir(home.path("project/deep/er")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(home.settings().is_file());
    fs::create_dir(home.path("other")).unwrap();
    let other = home.path("other").display().to_string();
    there_and_back(&home, &format!("--root {other}"), &home.path("other/.claude/settings.json"));
    let why = home.refused("install --root nowhere");
    assert_eq!(why, "watchdog: there is no folder nowhere\n");
}

#[test]
fn what_is_said_says_where_and_what_next() {
    let home = Home::new();
    home.write("{\n  \"model\": \"opus\"\n}\n");
    insta::assert_snapshot!(home.run("install --no-bridge --dry-run").lines().take(12).collect::<Vec<_>>().join("\n"), @r#"
    --- HOME/project/.claude/settings.json
    +++ HOME/project/.claude/settings.json
    @@ -1,3 +1,203 @@
     {
    -  "model": "opus"
    +  "model": "opus",
    +  "hooks": {
    +    "SessionStart": [
    +      {
    +        "hooks": [
    +          {
    +            "type": "command",
    "#);
    insta::assert_snapshot!(home.run("install"), @r#"
    Registered 14 events in HOME/project/.claude/settings.json.
    The file as it was: HOME/project/.claude/settings.json.watchdog-backup
    The hooks run PROGRAM

    Next: sessions that run already pick the hooks up by themselves. In a folder
    that the client does not trust yet it holds hooks back until its trust dialog
    is accepted. "watchdog doctor" checks the whole way.
    "#);
    insta::assert_snapshot!(home.run("install"), @"Already installed: HOME/project/.claude/settings.json has all 14 events.");
    insta::assert_snapshot!(home.run("uninstall"), @"The hooks are out of HOME/project/.claude/settings.json.");
    insta::assert_snapshot!(home.run("uninstall"), @"Nothing to take out of HOME/project/.claude/settings.json: it holds no hook of ours.");
    fs::remove_dir_all(home.path("project/.claude")).unwrap();
    home.run("install");
    insta::assert_snapshot!(home.run("uninstall --dry-run").lines().take(4).collect::<Vec<_>>().join("\n"), @"
    --- HOME/project/.claude/settings.json
    +++ /dev/null
    @@ -1,220 +0,0 @@
    -{
    ");
    insta::assert_snapshot!(home.run("uninstall"), @"
    HOME/project/.claude/settings.json held nothing but our hooks and was removed.
    Its folder, which install had made, was empty and is gone too.
    ");
}

#[test]
fn what_cannot_be_merged_is_refused_untouched_and_named() {
    let check = |text: &[u8], why: &str| {
        let home = Home::new();
        home.write(text);
        let before = home.everything();
        for command in ["install", "install --dry-run"] {
            assert_eq!(home.refused(command), format!("watchdog: {why}\n"), "{text:?}");
            assert_eq!(home.everything(), before);
        }
    };
    let at = |place: &str| format!("HOME/project/.claude/settings.json:{place}; nothing was changed");
    check(b"{\n  \"a\": 1,,\n}", &at("2:10: unexpected token in object"));
    check(b"{\"hooks\": []}", &at("1:11: \"hooks\" is a list; an object is wanted"));
    check(b"{\"hooks\":\n {\"Stop\": 1}}", &at("2:11: \"hooks.Stop\" is a number; a list is wanted"));
    check(b"[]", &at("1:1: the file is a list; an object is wanted"));
    let cannot = "cannot read HOME/project/.claude/settings.json: line 1 is not UTF-8; save it as UTF-8";
    check(b"\xff\xfe{\0}\0", cannot);
}

#[test]
fn a_file_that_is_no_json_is_not_uninstalled_from_either() {
    let home = Home::new();
    home.write("{");
    let why = home.refused("uninstall");
    assert_eq!(
        why,
        "watchdog: HOME/project/.claude/settings.json:1:1: unterminated object; nothing was changed\n"
    );
    assert_eq!(home.read(), "{");
}

#[test]
fn a_read_only_file_is_refused_and_permissions_are_kept() {
    let home = Home::new();
    home.write("{}");
    fs::set_permissions(home.settings(), fs::Permissions::from_mode(0o444)).unwrap();
    let before = home.everything();
    for command in ["install", "install --dry-run"] {
        let why = home.refused(command);
        assert!(why.ends_with("settings.json: it is read-only; run \"chmod u+w\" on it first\n"), "{why}");
        assert_eq!(home.everything(), before);
    }
    fs::set_permissions(home.settings(), fs::Permissions::from_mode(0o640)).unwrap();
    there_and_back(&home, "", &home.settings());
}

#[test]
fn a_link_stays_a_link_and_the_file_behind_it_is_changed() {
    let home = Home::new();
    fs::create_dir_all(home.path("dotfiles")).unwrap();
    fs::create_dir_all(home.path(".claude")).unwrap();
    fs::write(home.path("dotfiles/claude.json"), "{\n  \"model\": \"opus\"\n}\n").unwrap();
    symlink("../dotfiles/claude.json", home.path(".claude/settings.json")).unwrap();
    let installed = there_and_back(&home, "--user", &home.path("dotfiles/claude.json"));
    assert!(installed.contains("SessionStart"));
    let said = home.run("install --user");
    assert!(said.contains("That is a link; it stays one. The file is HOME/dotfiles/claude.json."), "{said}");
    assert!(home.path(".claude/settings.json").is_symlink());
    // A folder that is a link is nothing special.
    fs::rename(home.path(".claude"), home.path("dotfiles/folder")).unwrap();
    symlink("dotfiles/folder", home.path(".claude")).unwrap();
    fs::remove_file(home.path("dotfiles/folder/settings.json")).unwrap();
    there_and_back(&home, "--user", &home.path("dotfiles/folder/settings.json"));
}

#[test]
fn an_old_installation_is_brought_up_to_date_in_place() {
    let home = Home::new();
    home.write("{\n  \"model\": \"opus\"\n}\n");
    home.run("install");
    let installed = home.read();
    let older = installed.replace(PROGRAM, "/old/bin/watchdog").replace("\"Notification\"", "\"PreCompact\"");
    home.write(&older);
    let said = home.run("install");
    assert!(said.contains("settings.json.watchdog-backup") || said.starts_with("Registered"), "{said}");
    let now = home.read();
    assert!(!now.contains("/old/bin") && !now.contains("PreCompact") && now.contains("\"Notification\""));
    home.run("uninstall");
    assert_eq!(home.read(), "{\n  \"model\": \"opus\"\n}\n");
    assert!(!home.path("project/.claude/settings.json.watchdog-backup").exists());
}

#[test]
fn edits_made_meanwhile_survive_uninstall_and_keep_the_copy() {
    let home = Home::new();
    home.write("{\n  \"model\": \"opus\"\n}\n");
    home.run("install");
    home.write(home.read().replace("\"opus\"", "\"haiku\",\n  \"verbose\": true"));
    let said = home.run("uninstall");
    assert!(said.contains("the copy stays: HOME/project/.claude/settings.json.watchdog-backup"), "{said}");
    assert_eq!(home.read(), "{\n  \"model\": \"haiku\",\n  \"verbose\": true\n}\n");
    // The copy differs from the file now: it is not overwritten by the next.
    home.run("install");
    let copies = ["", ".2"].map(|end| {
        fs::read_to_string(home.path(&format!("project/.claude/settings.json.watchdog-backup{end}"))).unwrap()
    });
    assert!(copies[0].contains("opus") && copies[1].contains("haiku"));
    home.run("uninstall");
    assert!(home.path("project/.claude/settings.json.watchdog-backup").exists());
    assert!(!home.path("project/.claude/settings.json.watchdog-backup.2").exists());
    // No file at all, beside an old copy: gone again all the same.
    fs::remove_file(home.settings()).unwrap();
    there_and_back(&home, "", &home.settings());
    assert!(!home.settings().exists());
}

#[test]
fn a_program_that_hooks_will_not_find_is_refused() {
    let home = Home::new();
    fs::write(home.path("watchdog"), "").unwrap();
    symlink(PROGRAM, home.path("guard")).unwrap();
    let home_path = home.path("").display().to_string();
    let refused = |name: &str| home.refused(&format!("install --binary {home_path}{name}"));
    insta::assert_snapshot!(refused("none/watchdog"), @"watchdog: hooks cannot run HOME/none/watchdog: there is no such file; name another program with --binary");
    insta::assert_snapshot!(refused("watchdog"), @"watchdog: hooks cannot run HOME/watchdog: it cannot be executed; name another program with --binary");
    insta::assert_snapshot!(refused(""), @"watchdog: hooks cannot run HOME: it is not a file; name another program with --binary");
    insta::assert_snapshot!(refused("guard"), @"watchdog: hooks must run a file that is called watchdog, and HOME/guard is not; make a link of that name and name it with --binary");
    assert!(!home.path("project/.claude").exists());
    fs::remove_file(home.path("watchdog")).unwrap();
    symlink(PROGRAM, home.path("watchdog")).unwrap();
    let said = home.run("install --binary ../watchdog");
    assert!(said.contains("The hooks run HOME/watchdog\n"), "{said}");
}

#[test]
fn hooks_run_the_link_by_which_we_were_called() {
    let home = Home::new();
    fs::create_dir(home.path("bin")).unwrap();
    symlink(PROGRAM, home.path("bin/watchdog")).unwrap();
    let mut command = home.command(home.path("bin/watchdog"));
    let output = command.arg("install").output().unwrap();
    assert!(home.plain(&output.stdout).contains("The hooks run HOME/bin/watchdog\n"), "{output:?}");
    // By a name that we would not know again it is the file itself.
    symlink(PROGRAM, home.path("bin/guard")).unwrap();
    let output = home.command(home.path("bin/guard")).arg("install").output().unwrap();
    assert!(home.plain(&output.stdout).contains("The hooks run PROGRAM\n"), "{output:?}");
}

#[test]
fn the_bridge_can_be_left_out_and_follows_its_setting() {
    let home = Home::new();
    home.run("install --no-bridge");
    assert!(!home.read().contains("bridge") && home.read().contains("asyncRewake"));
    fs::create_dir(home.path("project/.kiln")).unwrap();
    fs::write(home.path("project/.kiln/watchdog.toml"), "[bridge]\nlife = \"1h\"\n").unwrap();
    home.run("install");
    assert!(home.read().contains("\"timeout\": 3660"));
    // What holds for all projects follows no project's settings.
    home.run("install --user");
    let user = fs::read_to_string(home.path(".claude/settings.json")).unwrap();
    assert!(user.contains("\"timeout\": 43260"), "{user}");
}

#[test]
fn guards_are_registered_when_they_are_asked_for_and_gone_when_they_are_not() {
    let home = Home::new();
    let before = home.everything();
    let shown = home.run("install --guards --dry-run");
    assert_eq!(shown.matches("\"--guards\"").count(), 7, "{shown}");
    assert_eq!(home.everything(), before, "a dry run writes nothing");
    home.run("install --guards");
    let installed = home.read();
    assert_eq!(installed.matches("\"--guards\"").count(), 7, "{installed}");
    assert_eq!(installed.matches(PROGRAM).count(), 18, "{installed}");
    assert!(installed.contains("\"TaskCreated\"") && installed.contains("\"TaskCompleted\""), "{installed}");
    home.run("uninstall");
    assert_eq!(home.everything(), before, "uninstall leaves everything as it was");
    // From plain hooks to guards and back: what is no longer wanted goes.
    home.run("install");
    let plain = home.read();
    let said = home.run("install --guards");
    assert!(
        said.contains("They hold the guards of the Kiln protocol; [guards] switches each off.\n"),
        "{said}"
    );
    assert_eq!(home.read().matches("\"--guards\"").count(), 7);
    assert!(home.run("install --guards").starts_with("Already installed: "));
    let said = home.run("install");
    assert!(said.contains("The guards that were registered are out; --guards keeps them.\n"), "{said}");
    assert_eq!(home.read(), plain);
    home.run("install --guards --no-bridge");
    assert!(!home.read().contains("bridge"));
    let output = home.output("install --user");
    let said = home.plain(&output.stderr);
    assert!(said.contains("registers hooks with guards as well:\n  some events run both"), "{said}");
    home.run("uninstall --user");
    home.run("uninstall");
    assert_eq!(home.everything(), before);
}

#[test]
fn what_keeps_hooks_from_running_as_wished_is_said() {
    let home = Home::new();
    home.write("{\n  // mine\n}");
    let output = home.output("install");
    assert!(output.status.success());
    insta::assert_snapshot!(home.plain(&output.stderr), @"
    watchdog: HOME/project/.claude/settings.json:2:3: a comment makes it more than plain JSON;
      the client takes nothing from such a file, these hooks included, until it is removed
    ");
    symlink(PROGRAM, home.path("watchdog")).unwrap();
    let output = home.output(&format!("install --user --binary {}", home.path("watchdog").display()));
    insta::assert_snapshot!(home.plain(&output.stderr), @r#"
    watchdog: HOME/project/.claude/settings.json registers PROGRAM as well:
      every event runs both; take one out with "watchdog uninstall"
    "#);
}

#[test]
fn options_that_exclude_each_other_are_a_usage_error() {
    let output = Home::new().output("install --user --project");
    assert_eq!(output.status.code(), Some(64));
}
