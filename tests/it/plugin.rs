//! The plugin registers what `install` registers, and is harmless where the binary is missing.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use watchdog::model::policy::Policy;
use watchdog::protocol::hook_table::registrations;

fn plugin(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("plugin").join(name)
}

fn read(name: &str) -> Value {
    let text = std::fs::read_to_string(plugin(name)).expect("a file of the plugin");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn the_plugin_registers_the_same_table_as_install() {
    let life: Duration = Policy::default().bridge.life;
    let table = registrations("${CLAUDE_PLUGIN_ROOT}/bin/run-watchdog", Some(life), false);
    let wanted: BTreeMap<String, Value> =
        table.iter().map(|line| (line.event.clone(), Value::Array(vec![line.value()]))).collect();
    let found: BTreeMap<String, Value> =
        serde_json::from_value(read("hooks/hooks.json")["hooks"].clone()).expect("hooks by event");
    assert_eq!(found, wanted);
}

#[test]
fn the_plugin_has_the_version_of_the_binary() {
    assert_eq!(read(".claude-plugin/plugin.json")["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_plugin_does_nothing_where_the_binary_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let ran = Command::new(plugin("bin/run-watchdog"))
        .arg("hook")
        .env_clear()
        .env("HOME", folder.path())
        .env("PATH", folder.path())
        .env("WATCHDOG_BIN", folder.path())
        .output()
        .expect("the wrapper runs");
    let elsewhere =
        ["/usr/local/bin/run-watchdog", "/usr/bin/run-watchdog"].iter().any(|path| Path::new(path).exists());
    assert!(elsewhere || (ran.status.success() && ran.stdout.is_empty() && ran.stderr.is_empty()), "{ran:?}");
}

#[test]
fn the_plugin_runs_the_binary_that_it_finds() {
    let folder = Path::new(env!("CARGO_BIN_EXE_watchdog")).parent().expect("a folder");
    let ran = Command::new(plugin("bin/run-watchdog"))
        .arg("--version")
        .env_clear()
        .env("HOME", "/nonexistent")
        .env("WATCHDOG_BIN", folder)
        .output()
        .expect("the wrapper runs");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), format!("watchdog {}\n", env!("CARGO_PKG_VERSION")));
}
