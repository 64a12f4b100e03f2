//! The pipeline's own record: read whatever its size, appended to in one write.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use super::{append, stage};
use crate::store::file::chain;
use crate::store::scratch::{Scratch, give_away, project};

fn with(text: &str) -> Scratch {
    let project = project();
    fs::write(project.state(), text).unwrap();
    project
}

fn stage_of(text: &str) -> Option<String> {
    stage(&with(text)).unwrap()
}

#[test]
fn the_stage_is_read_and_there_may_be_none() {
    assert_eq!(stage_of("- **stage**: build\n").as_deref(), Some("build"));
    assert_eq!(stage_of("- **stage**: build").as_deref(), Some("build"));
    assert_eq!(stage_of("# Kiln\n"), None);
    assert_eq!(stage_of(""), None);
    let project = project();
    fs::remove_file(project.state()).unwrap();
    assert_eq!(stage(&project).unwrap(), None);
}

/// The stage stands so far down that its line crosses the end of what is read first.
#[test]
fn a_stage_is_read_whole_wherever_its_line_lies() {
    let line = "- **stage**: architecture\n";
    for before in 16 * 1024 - 30..16 * 1024 + 3 {
        let text = format!("{}\n{line}- **stage**: report\n", "x".repeat(before));
        assert_eq!(stage_of(&text).as_deref(), Some("architecture"), "{before}");
    }
    assert_eq!(stage_of(&format!("{}{line}", "x\n".repeat(200_000))).as_deref(), Some("architecture"));
    assert_eq!(stage_of(&format!("{line}{}", "x".repeat(5 << 20))).as_deref(), Some("architecture"));
    assert_eq!(stage_of(&"x".repeat(5 << 20)), None);
}

#[test]
fn a_link_is_followed_for_reading_but_not_for_writing() {
    let project = project();
    let elsewhere = project.in_kiln("elsewhere.md");
    fs::rename(project.state(), &elsewhere).unwrap();
    symlink(&elsewhere, project.state()).unwrap();
    assert_eq!(stage(&project).unwrap().as_deref(), Some("build"));
    assert!(append(&project, "note\n").is_err());
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "- **stage**: build\n");
}

#[test]
fn what_cannot_be_read_is_an_error_that_names_it() {
    let project = project();
    fs::remove_file(project.state()).unwrap();
    fs::create_dir(project.state()).unwrap();
    let error = chain(&stage(&project).unwrap_err());
    assert!(error.starts_with(&format!("cannot read {}: ", project.state().display())), "{error}");
}

#[test]
fn a_note_is_added_to_the_file_as_it_is() {
    let project = with("- **stage**: build");
    let before = fs::metadata(project.state()).unwrap().ino();
    append(&project, "\n> note\n").unwrap();
    assert_eq!(fs::read_to_string(project.state()).unwrap(), "- **stage**: build\n> note\n");
    assert_eq!(fs::metadata(project.state()).unwrap().ino(), before);
}

#[test]
fn a_note_goes_into_no_file_that_is_not_there_or_not_ours() {
    let project = project();
    if give_away(&project.state()) {
        let error = chain(&append(&project, "note\n").unwrap_err());
        assert!(error.ends_with("not a regular file of ours"), "{error}");
    }
    fs::remove_file(project.state()).unwrap();
    assert!(append(&project, "note\n").is_err());
    assert!(!project.state().exists());
}
