//! `doctor`, by the real program.

use std::fs;

use serde_json::Value;

use crate::home::Home;

#[test]
fn a_fresh_project_is_wrong_until_the_hooks_are_installed() {
    let home = Home::new();
    fs::create_dir(home.path("project/.kiln")).unwrap();
    let output = home.output("doctor");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(home.plain(&output.stdout).contains("WRONG hooks       none are registered"), "{output:?}");
    home.run("install");
    let said = home.run("doctor");
    assert!(said.contains("ok    hooks       all 14 events in"), "{said}");
    assert!(said.contains("this program"), "{said}");
    assert!(!said.contains("WRONG"), "{said}");
}

#[test]
fn json_has_a_version_and_every_finding() {
    let home = Home::new();
    home.run("install");
    let value: Value = serde_json::from_str(&home.run("doctor --json")).unwrap();
    assert_eq!(
        (&value["v"], &value["ok"], &value["root"]),
        (&Value::from(1), &Value::from(true), &Value::Null)
    );
    let names: Vec<&str> = value["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["hooks", "program", "switches", "values", "folder", "inotify", "clock"]);
    for finding in value["findings"].as_array().unwrap() {
        assert_eq!(finding["remedy"].is_null(), finding["ok"] == Value::Bool(true), "{finding}");
    }
    // A session is open, by the word of its file, and no daemon runs.
    fs::create_dir_all(home.path("project/.kiln/tmp/watchdog/sessions")).unwrap();
    fs::write(home.path("project/.kiln/STATE.md"), "- **stage**: build\n").unwrap();
    let session = "{\"v\":1,\"session_id\":\"a\",\"since\":0}";
    fs::write(home.path("project/.kiln/tmp/watchdog/sessions/a.json"), session).unwrap();
    let output = home.output("doctor --json");
    assert_eq!(output.status.code(), Some(1));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["ok"], Value::Bool(false));
    assert_eq!(value["root"], home.path("project").canonicalize().unwrap().to_str().unwrap());
    let daemon =
        value["findings"].as_array().unwrap().iter().find(|finding| finding["name"] == "daemon").unwrap();
    assert_eq!(daemon["ok"], Value::Bool(false));
}

#[test]
fn no_line_is_wider_than_a_terminal() {
    let home = Home::new();
    home.write("{\"hooks\": 1,\n");
    fs::create_dir(home.path("project/.kiln")).unwrap();
    fs::write(home.path("project/.kiln/watchdog.toml"), "[rule]\nidle = 3\n").unwrap();
    let output = home.output("doctor");
    let text = String::from_utf8(output.stdout).unwrap();
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{text}");
    assert!(text.contains("2 things are wrong") || text.contains("3 things are wrong"), "{text}");
}
