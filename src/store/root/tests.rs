//! Which project a folder belongs to.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::Root;
use crate::store::file::chain;
use crate::store::scratch::mode;

/// `project` and `other`, both with `.kiln`, `plain` without; `link` leads to `project`.
struct World(tempfile::TempDir);

impl World {
    fn new() -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        for folder in ["project/.kiln", "project/src/deep", "other/.kiln", "plain/inside"] {
            fs::create_dir_all(world.at(folder)).unwrap();
        }
        symlink(world.at("project"), world.at("link")).unwrap();
        world
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// The root that is found from folders in their order, relative to the world.
    fn find(&self, explicit: Option<&str>, folders: &[Option<&str>]) -> Option<String> {
        let explicit = explicit.map(|path| self.at(path).into_os_string());
        let folders = folders.iter().map(|folder| folder.map(|path| self.at(path)));
        self.named(Root::find(explicit.as_ref(), folders))
    }

    fn named(&self, root: Option<Root>) -> Option<String> {
        let top = self.0.path().canonicalize().unwrap();
        root.map(|root| root.path().strip_prefix(&top).unwrap().display().to_string())
    }
}

#[test]
fn a_root_is_found_from_below_and_through_a_link() {
    let world = World::new();
    let check = |folder: &str, wanted: Option<&str>| {
        assert_eq!(world.find(None, &[Some(folder)]).as_deref(), wanted, "{folder}");
    };
    check("project", Some("project"));
    check("project/src/deep", Some("project"));
    check("project/.kiln", Some("project"));
    check("project/src/../src/./deep", Some("project"));
    check("link", Some("project"));
    check("link/src", Some("project"));
    check("plain/inside", None);
    check("project/gone", None);
}

#[test]
fn a_work_tree_inside_the_project_belongs_to_it() {
    let world = World::new();
    let tree = ".claude/worktrees/w1";
    fs::create_dir_all(world.at("project").join(tree)).unwrap();
    fs::write(world.at("project").join(tree).join(".git"), "gitdir: ../../../.git/worktrees/w1\n").unwrap();
    assert_eq!(world.find(None, &[Some(&format!("project/{tree}"))]).as_deref(), Some("project"));
    assert!(!world.at("project").join(tree).join(".kiln").exists());
}

#[test]
fn the_first_folder_that_leads_to_a_root_counts() {
    let world = World::new();
    let check = |folders: &[Option<&str>], wanted: Option<&str>| {
        assert_eq!(world.find(None, folders).as_deref(), wanted, "{folders:?}");
    };
    // The payload's folder before the process's, and that before the client's project.
    check(&[Some("other"), Some("project"), Some("project")], Some("other"));
    check(&[None, Some("project/src"), Some("other")], Some("project"));
    check(&[Some("plain"), Some("plain"), Some("project")], Some("project"));
    // A folder that was deleted leads nowhere.
    check(&[Some("plain/deleted"), None, Some("project")], Some("project"));
    check(&[Some("plain/deleted"), None, None], None);
    check(&[], None);
}

#[test]
fn a_relative_folder_leads_nowhere() {
    assert_eq!(Root::find(None, [Some(PathBuf::from(".")), Some(PathBuf::from("src"))]), None);
}

#[test]
fn a_named_root_is_taken_or_nothing() {
    let world = World::new();
    let check = |explicit: &str, wanted: Option<&str>| {
        assert_eq!(world.find(Some(explicit), &[Some("other")]).as_deref(), wanted, "{explicit}");
    };
    check("project", Some("project"));
    check("link", Some("project"));
    // It is not searched upwards, and nothing else is taken instead.
    check("project/src", None);
    check("plain", None);
    check("gone", None);
    let empty = Root::find(Some(&OsString::new()), [Some(world.at("other"))]);
    assert_eq!(world.named(empty).as_deref(), Some("other"));
}

#[test]
fn an_error_names_the_folder_and_the_way_out() {
    let world = World::new();
    let plain = world.at("plain");
    insta::assert_snapshot!(
        chain(&Root::at(&plain).unwrap_err()).replace(&plain.display().to_string(), "FOLDER"),
        @r#"cannot watch FOLDER: there is no .kiln folder here or above, no .watchdog of "watchdog init", no task folder of a worker (.task/*/* with TASK.md or a signal file) and no team session (.workflow/.team/* with .msg); run this in the project, name it with --root, or run "watchdog init""#
    );
    let gone = chain(&Root::at(&world.at("gone")).unwrap_err());
    assert!(gone.starts_with(&format!("cannot find {}: No such file", world.at("gone").display())), "{gone}");
    let file = world.at("plain/.kiln");
    fs::write(file, "no folder").unwrap();
    assert!(Root::at(&plain).is_err());
}

#[test]
fn preparing_makes_our_folders_for_us_alone() {
    let world = World::new();
    let root = Root::at(&world.at("project")).unwrap();
    root.prepare().unwrap();
    root.prepare().unwrap();
    assert_eq!((mode(&root.own()), mode(&root.sessions())), (0o700, 0o700));
    assert_eq!(mode(&root.tmp()) & 0o702, 0o700);
}

#[test]
fn folders_that_are_not_ours_to_trust_are_refused() {
    let refused = |change: fn(&Path)| {
        let world = World::new();
        let root = Root::at(&world.at("project")).unwrap();
        change(root.path());
        let error = chain(&root.prepare().unwrap_err());
        error.replace(&root.path().display().to_string(), "ROOT")
    };
    let errors = [
        refused(|root| {
            fs::rename(root.join(".kiln"), root.join("elsewhere")).unwrap();
            symlink(root.join("elsewhere"), root.join(".kiln")).unwrap();
        }),
        refused(|root| symlink("/tmp", root.join(".kiln/tmp")).unwrap()),
        refused(|root| fs::write(root.join(".kiln/tmp"), "").unwrap()),
        refused(|root| fs::set_permissions(root.join(".kiln"), fs::Permissions::from_mode(0o777)).unwrap()),
    ];
    insta::assert_snapshot!(errors.join("\n"), @r#"
    cannot trust ROOT/.kiln: it is a symlink
    cannot trust ROOT/.kiln/tmp: it is a symlink
    cannot trust ROOT/.kiln/tmp: it is not a folder
    cannot trust ROOT/.kiln: everybody can write it; run "chmod o-w" on it
    "#);
}

#[test]
fn a_root_is_shown_on_one_line_whatever_its_name() {
    let top = tempfile::tempdir().unwrap();
    let odd = top.path().join("it's a\nproject \u{1b}[31m");
    fs::create_dir_all(odd.join(".kiln")).unwrap();
    let shown = Root::at(&odd).unwrap().display();
    assert!(shown.ends_with("/it's a\\nproject \\u{1b}[31m"), "{shown}");
}

#[test]
fn a_project_that_was_removed_is_not_made_again() {
    let world = World::new();
    let root = Root::at(&world.at("project")).unwrap();
    fs::remove_dir(root.kiln()).unwrap();
    assert!(chain(&root.prepare().unwrap_err()).starts_with("cannot make "));
    assert!(!root.kiln().exists());
}
