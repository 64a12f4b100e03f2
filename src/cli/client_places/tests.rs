//! Where a project ends and its client's settings lie.

use std::fs;

use super::*;

#[test]
fn a_project_is_the_nearest_folder_with_a_mark() {
    let tree = tempfile::tempdir().unwrap();
    let top = tree.path();
    fs::create_dir_all(top.join("home/work/deep/er")).unwrap();
    fs::create_dir(top.join("home/.claude")).unwrap();
    let home = top.join("home");
    let above = |folder: &str| {
        let found = project_above(&top.join(folder), Some(&home));
        found.strip_prefix(top).map_or_else(|_| "outside".to_owned(), |path| path.display().to_string())
    };
    fs::create_dir(top.join(".git")).unwrap();
    // A home's own .claude makes no project of it: "install" must not take a person's file for a project's.
    assert_eq!(above("home/work/deep/er"), "");
    for mark in MARKS {
        fs::create_dir(top.join("home/work").join(mark)).unwrap();
        assert_eq!(above("home/work/deep/er"), "home/work", "{mark}");
        assert_eq!(above("home/work"), "home/work", "{mark}");
        fs::remove_dir(top.join("home/work").join(mark)).unwrap();
    }
    fs::create_dir(home.join(".git")).unwrap();
    assert_eq!(above("home/work"), "home");
}

#[test]
fn a_path_is_shown_on_one_line() {
    assert_eq!(shown(Path::new("/a\nb/\u{1b}[31m")), "/a\u{fffd}b/\u{fffd}[31m");
}
