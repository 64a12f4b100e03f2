//! Settings of the client: changed whole, with their permissions and their links.

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::store::file::chain;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o7777
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_write_keeps_permissions_and_leaves_nothing_else_behind() {
    let folder = folder();
    let path = folder.path().join("settings.json");
    for wanted in [0o640, 0o600, 0o666, 0o744] {
        fs::write(&path, "{}").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(wanted)).unwrap();
        ClientFile::read(&path).unwrap().write("{\"a\":1}").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\":1}");
        assert_eq!(mode(&path), wanted);
    }
    assert_eq!(names(folder.path()), ["settings.json"]);
}

#[test]
fn a_new_file_has_the_permissions_of_any_new_file() {
    let folder = folder();
    let path = folder.path().join("settings.json");
    fs::write(folder.path().join("any"), "").unwrap();
    let file = ClientFile::read(&path).unwrap();
    assert_eq!(file.text, None);
    file.write("{}").unwrap();
    assert_eq!(mode(&path), mode(&folder.path().join("any")));
}

#[test]
fn links_are_followed_and_stay() {
    let folder = folder();
    let dotfiles = folder.path().join("dotfiles");
    fs::create_dir(&dotfiles).unwrap();
    fs::write(dotfiles.join("claude.json"), "{}").unwrap();
    let path = folder.path().join("settings.json");
    symlink("middle", &path).unwrap();
    symlink("dotfiles/claude.json", folder.path().join("middle")).unwrap();
    let file = ClientFile::read(&path).unwrap();
    assert_eq!(file.behind_link(), Some(dotfiles.canonicalize().unwrap().join("claude.json").as_path()));
    file.back_up().unwrap();
    file.write("{\"a\":1}").unwrap();
    assert!(path.is_symlink() && folder.path().join("middle").is_symlink());
    assert_eq!(fs::read_to_string(dotfiles.join("claude.json")).unwrap(), "{\"a\":1}");
    assert_eq!(names(&dotfiles), ["claude.json", "claude.json.watchdog-backup"]);
}

#[test]
fn a_link_to_nothing_yet_gets_its_file_and_loses_it_again() {
    let folder = folder();
    let path = folder.path().join("settings.json");
    symlink("later.json", &path).unwrap();
    ClientFile::read(&path).unwrap().write("{}").unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("later.json")).unwrap(), "{}");
    ClientFile::read(&path).unwrap().remove().unwrap();
    assert_eq!(names(folder.path()), ["settings.json"]);
    assert!(path.is_symlink());
}

#[test]
fn what_cannot_be_a_settings_file_is_refused() {
    let folder = folder();
    let path = folder.path().join("settings.json");
    let refused =
        || chain(&ClientFile::read(&path).unwrap_err()).replace(&folder.path().display().to_string(), "");
    symlink("settings.json", &path).unwrap();
    assert_eq!(refused(), "cannot read /settings.json: its links lead nowhere");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(refused(), "cannot read /settings.json: it is not a regular file");
    fs::remove_dir(&path).unwrap();
    fs::write(&path, b"{\n\xff}").unwrap();
    assert_eq!(refused(), "cannot read /settings.json: line 2 is not UTF-8; save it as UTF-8");
    fs::write(&path, " ".repeat(1024 * 1024 + 1)).unwrap();
    assert_eq!(refused(), "cannot read /settings.json: it is larger than 1048576 bytes");
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status();
    assert!(made.unwrap().success());
    fs::rename(folder.path().join("pipe"), &path).unwrap();
    assert_eq!(refused(), "cannot read /settings.json: it is not a regular file");
}

#[test]
fn a_read_only_file_is_left_alone_even_by_root() {
    let folder = folder();
    let path = folder.path().join("settings.json");
    fs::write(&path, "{}").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    let file = ClientFile::read(&path).unwrap();
    let refused = chain(&file.write("").unwrap_err());
    assert!(refused.ends_with("settings.json: it is read-only; run \"chmod u+w\" on it first"), "{refused}");
    assert!(file.remove().is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
    assert_eq!(names(folder.path()), ["settings.json"]);
}

#[test]
fn what_another_program_wrote_meanwhile_is_not_overwritten() {
    let folder = folder();
    let path = folder.path().join("settings.json");
    fs::write(&path, "{}").unwrap();
    let file = ClientFile::read(&path).unwrap();
    fs::write(&path, "{\"theirs\":1}").unwrap();
    assert!(chain(&file.write("{}").unwrap_err()).contains("another program has just written it"));
    assert!(file.remove().is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"theirs\":1}");
    assert_eq!(names(folder.path()), ["settings.json"]);
}

#[test]
fn a_copy_that_differs_is_never_overwritten() {
    let folder = folder();
    let path = folder.path().join("settings.json");
    let back_up = |text: &str| {
        fs::write(&path, text).unwrap();
        let copy = ClientFile::read(&path).unwrap().back_up().unwrap().unwrap();
        copy.file_name().unwrap().to_str().unwrap().to_owned()
    };
    assert!(ClientFile::read(&path).unwrap().last_backup().is_none());
    assert_eq!(back_up("1"), "settings.json.watchdog-backup");
    assert_eq!(back_up("1"), "settings.json.watchdog-backup");
    assert_eq!(back_up("2"), "settings.json.watchdog-backup.2");
    fs::remove_file(folder.path().join("settings.json.watchdog-backup")).unwrap();
    assert_eq!(back_up("3"), "settings.json.watchdog-backup.3");
    let last = ClientFile::read(&path).unwrap().last_backup().unwrap();
    assert_eq!(last.text.as_deref(), Some("3"));
    assert_eq!(fs::read_to_string(folder.path().join("settings.json.watchdog-backup.2")).unwrap(), "2");
}

#[test]
fn that_there_was_no_file_is_remembered_beside_an_older_copy() {
    let folder = folder();
    let path = folder.path().join("settings.json");
    assert_eq!(ClientFile::read(&path).unwrap().back_up().unwrap(), None);
    assert!(names(folder.path()).is_empty());
    fs::write(folder.path().join("settings.json.watchdog-backup"), "{}").unwrap();
    assert_eq!(ClientFile::read(&path).unwrap().back_up().unwrap(), None);
    let last = ClientFile::read(&path).unwrap().last_backup().unwrap();
    assert_eq!((last.text, last.number), (None, 2));
}

#[test]
fn a_copy_has_the_permissions_of_the_file() {
    let folder = folder();
    let path = folder.path().join("settings.json");
    fs::write(&path, "{}").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let copy = ClientFile::read(&path).unwrap().back_up().unwrap().unwrap();
    assert_eq!(mode(&copy), 0o600);
}

#[test]
fn a_folder_that_we_made_goes_again_and_another_stays() {
    let folder = folder();
    let path = folder.path().join(".claude/settings.json");
    let file = || ClientFile::read(&path).unwrap();
    assert!(file().make_folder().unwrap());
    assert!(!file().make_folder().unwrap(), "it is there now");
    assert!(file().unmake_folder());
    assert!(names(folder.path()).is_empty());
    // Somebody put something into it.
    file().make_folder().unwrap();
    fs::write(folder.path().join(".claude/theirs"), "").unwrap();
    assert!(!file().unmake_folder());
    assert_eq!(names(&folder.path().join(".claude")), ["theirs"]);
    // It was there before us.
    fs::remove_file(folder.path().join(".claude/theirs")).unwrap();
    assert!(!file().make_folder().unwrap());
    assert!(!file().unmake_folder());
    assert_eq!(names(folder.path()), [".claude"]);
}

#[test]
fn a_folder_below_nothing_is_not_made() {
    let folder = folder();
    let file = ClientFile::read(&folder.path().join("none/.claude/settings.json")).unwrap();
    assert!(chain(&file.make_folder().unwrap_err()).contains("none/.claude: No such file"));
    assert!(names(folder.path()).is_empty());
}
