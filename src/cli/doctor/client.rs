//! The client's side: which settings register which program, and whether the client will run it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::super::client_places::{Places, at, shown};
use super::Finding;
use crate::model::policy::Policy;
use crate::protocol::client_settings::{Entry, beyond_json, entries, outdated};
use crate::protocol::hook_table::registrations;
use crate::store::client_file::ClientFile;
use crate::store::file::chain;
use crate::system::program::{self, Origin};

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(2);

/// A settings file that could be read.
struct Read {
    path: PathBuf,
    /// What installs into it.
    command: &'static str,
    text: String,
    entries: Vec<Entry>,
    value: Value,
}

/// All that is to be said of it. Hooks of the person's file follow the settings that hold for all projects.
pub(super) fn findings(places: &Places, policy: &Policy, everywhere: &Policy) -> Vec<Finding> {
    let mut findings = Vec::new();
    // What stands first beats what follows.
    let files = [
        (Some(&places.managed), ""),
        (Some(&places.local), ""),
        (Some(&places.project), "watchdog install"),
        (places.user.as_ref(), "watchdog install --user"),
    ];
    let mut read = Vec::new();
    for (path, command) in files.into_iter().filter_map(|(path, command)| Some((path?, command))) {
        match look(path, command) {
            Ok(file) => read.extend(file),
            Err(finding) => findings.push(finding),
        }
    }
    findings.push(registered(places, &read, policy, everywhere));
    findings.extend(programs(&read));
    if plugin(&read).is_some() {
        findings.push(plugin_program(&plugin_folders()));
    }
    findings.extend(twice(&read));
    findings.push(switches(places, &read));
    findings
}

/// Reads a settings file as the client does. None = there is none.
fn look(path: &Path, command: &'static str) -> Result<Option<Read>, Finding> {
    let unusable = |finding: String| {
        let remedy = "mend the file: the client takes nothing from it, no hook and no permission";
        Finding::wrong("settings", finding, remedy)
    };
    let text = ClientFile::read(path).map_err(|error| unusable(chain(&error)))?.text;
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    let fault = |fault| unusable(at(path, &fault));
    if let Some(beyond) = beyond_json(&text).map_err(fault)? {
        return Err(unusable(format!("{}, and the client reads plain JSON only", at(path, &beyond))));
    }
    let entries = entries(&text).map_err(fault)?;
    let value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
    Ok(Some(Read { path: path.to_owned(), command, text, entries, value }))
}

/// The hooks of every file that has any: all events, as this version registers them.
fn registered(places: &Places, read: &[Read], policy: &Policy, everywhere: &Policy) -> Finding {
    let with_ours: Vec<&Read> = read.iter().filter(|file| !file.entries.is_empty()).collect();
    if with_ours.is_empty() {
        if let Some(name) = plugin(read) {
            return Finding::good("hooks", format!("registered by the plugin {name}"));
        }
        let user = places.user.as_ref().map(|user| format!(" and {}", shown(user))).unwrap_or_default();
        let finding = format!("none are registered: looked at {}{user}", shown(&places.project));
        return Finding::wrong("hooks", finding, "run \"watchdog install\"");
    }
    let mut words = Vec::new();
    for file in with_ours {
        let is_user = places.user.as_ref() == Some(&file.path);
        let life = if is_user { everywhere.bridge.life } else { policy.bridge.life };
        let bridge = file.entries.iter().any(|entry| entry.word == "bridge");
        let guards = file.entries.iter().any(|entry| entry.guards);
        let program = file.entries.first().map_or("", |entry| entry.command.as_str());
        let table = registrations(program, bridge.then_some(life), guards);
        let missing = outdated(&file.text, &table).unwrap_or_default();
        if !missing.is_empty() {
            let finding = format!("missing or out of date in {}: {}", shown(&file.path), missing.join(", "));
            return Finding::wrong("hooks", finding, remedy(file));
        }
        let without = if bridge { "" } else { ", no bridge" };
        let with = if guards { ", with guards" } else { "" };
        words.push(format!("all {} events{without}{with} in {}", table.len(), shown(&file.path)));
    }
    Finding::good("hooks", words.join("; "))
}

/// What brings a file up to date, as it was installed.
fn remedy(file: &Read) -> String {
    let bridge = if file.entries.iter().any(|entry| entry.word == "bridge") { "" } else { " --no-bridge" };
    let guards = if file.entries.iter().any(|entry| entry.guards) { " --guards" } else { "" };
    match file.command {
        "" => format!("take them out of {} and run \"watchdog install{bridge}{guards}\"", shown(&file.path)),
        command => format!("run \"{command}{bridge}{guards}\""),
    }
}

/// The plugin that registers our hooks, if one is switched on.
fn plugin(read: &[Read]) -> Option<String> {
    let switched =
        |name: &str| read.iter().find_map(|file| file.value["enabledPlugins"].get(name)?.as_bool());
    read.iter()
        .filter_map(|file| file.value["enabledPlugins"].as_object())
        .flat_map(|plugins| plugins.keys())
        .find(|name| name.starts_with("watchdog@") && switched(name) == Some(true))
        .cloned()
}

/// Every program that hooks run: whether it is there, and of this version.
fn programs(read: &[Read]) -> Vec<Finding> {
    let mut programs: BTreeMap<&str, &Read> = BTreeMap::new();
    for file in read {
        for entry in &file.entries {
            programs.entry(&entry.command).or_insert(file);
        }
    }
    programs.into_iter().map(|(command, file)| program(command, &remedy(file))).collect()
}

/// Where the plugin's wrapper looks for the program, in its order.
pub(super) fn plugin_folders() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let named = std::env::var_os("WATCHDOG_BIN").map(PathBuf::from);
    let search = std::env::var_os("PATH").unwrap_or_default();
    let usual = [Path::new(&home).join(".local/bin"), "/usr/local/bin".into(), "/usr/bin".into()];
    named.into_iter().chain(std::env::split_paths(&search)).chain(usual).collect()
}

/// The program that the plugin runs. Without one it does nothing, and says nothing.
pub(super) fn plugin_program(folders: &[PathBuf]) -> Finding {
    let remedy = "put this program into ~/.local/bin, or name its folder in WATCHDOG_BIN";
    match folders.iter().map(|folder| folder.join("watchdog")).find(|path| program::check(path).is_ok()) {
        Some(path) => program(&shown(&path), remedy),
        None => Finding::wrong("program", "the plugin finds no program and does nothing", remedy),
    }
}

fn program(command: &str, remedy: &str) -> Finding {
    let name = "program";
    if command.contains('$') {
        let finding = format!("hooks run {command}, a path that only the client can tell");
        return Finding::fair(name, finding, remedy);
    }
    let origin = Origin::of_process().unwrap_or_default();
    let path = if command.contains('/') {
        Some(PathBuf::from(command))
    } else {
        program::find(Path::new(command), &origin.search)
    };
    let Some(path) = path else {
        return Finding::wrong(name, format!("hooks run {command}, which is not in PATH"), remedy);
    };
    if let Err(why) = program::check(&path) {
        return Finding::wrong(name, format!("hooks cannot run {command}: {why}"), remedy);
    }
    if program::is_same(&path, &origin.running) {
        return Finding::good(name, format!("hooks run {command}, this program"));
    }
    let own = concat!("watchdog ", env!("CARGO_PKG_VERSION"));
    match program::version(&path, PATIENCE) {
        Ok(version) if version == own => {
            Finding::good(name, format!("hooks run {command}, another file of this version"))
        }
        Ok(version) => {
            let version: String = version.chars().filter(|letter| !letter.is_control()).take(60).collect();
            let finding = format!("hooks run {command}, which is \"{version}\"; this is \"{own}\"");
            Finding::wrong(name, finding, remedy)
        }
        Err(error) => Finding::wrong(name, format!("hooks cannot run {command}: {error}"), remedy),
    }
}

/// Two registrations: the client runs equal handlers once, different ones both.
fn twice(read: &[Read]) -> Option<Finding> {
    let with_ours: Vec<&Read> = read.iter().filter(|file| !file.entries.is_empty()).collect();
    let first = with_ours.first()?;
    let name = "twice";
    if let Some(plugin) = plugin(read) {
        let finding = format!(
            "the plugin {plugin} and {} both register hooks: every event runs both",
            shown(&first.path)
        );
        return Some(Finding::wrong(name, finding, "switch the plugin off, or run \"watchdog uninstall\""));
    }
    let entry = with_ours.iter().flat_map(|file| file.entries.iter().map(move |entry| (file, entry)));
    let first_program = &first.entries.first()?.command;
    if let Some((file, entry)) = entry.into_iter().find(|(_, entry)| entry.command != *first_program) {
        let (one, other) = (shown(&first.path), shown(&file.path));
        let finding =
            format!("{one} registers {first_program}, {other} registers {}: events run both", entry.command);
        return Some(Finding::wrong(name, finding, "run \"watchdog uninstall\" for one of them"));
    }
    let second = with_ours.get(1)?;
    // The client tells handlers apart by their arguments, too.
    let guarded = |file: &&&Read| file.entries.iter().any(|entry| entry.guards);
    if let (Some(with), Some(without)) =
        (with_ours.iter().find(guarded), with_ours.iter().find(|file| !guarded(file)))
    {
        let (with, without) = (shown(&with.path), shown(&without.path));
        let finding = format!("{with} registers hooks with guards, {without} without: some events run both");
        return Some(Finding::wrong(name, finding, "run \"watchdog uninstall\" for one of them"));
    }
    let finding = format!(
        "the same hooks are registered in {} and {}; the client runs equal ones once",
        shown(&first.path),
        shown(&second.path)
    );
    let remedy = "keep one, or an update of one makes two: \"watchdog uninstall\" for the other";
    Some(Finding::fair(name, finding, remedy))
}

/// Whether hooks are switched off.
fn switches(places: &Places, read: &[Read]) -> Finding {
    let name = "switches";
    let off = read.iter().find_map(|file| Some((file, file.value.get("disableAllHooks")?.as_bool()?)));
    if let Some((file, true)) = off {
        let finding = format!("\"disableAllHooks\" in {} switches all hooks off", shown(&file.path));
        return Finding::wrong(name, finding, "remove it there");
    }
    let managed = read.iter().find(|file| file.path == places.managed);
    if let Some(file) = managed.filter(|file| file.value["allowManagedHooksOnly"] == Value::Bool(true)) {
        let finding = format!("\"allowManagedHooksOnly\" in {} holds back these hooks", shown(&file.path));
        return Finding::wrong(name, finding, "ask the administrator of this machine");
    }
    Finding::good(name, "hooks are not switched off")
}
