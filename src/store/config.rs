//! Settings from their layers: built in, the user's file, the project's file, environment, flags; each value
//! remembers where it came from.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use toml::Value;
use toml::de::{DeTable, DeValue};

use super::root::Root;
use super::settings::{KEYS, find, nearest};
use super::signals;
use crate::model::policy::{Alert, Policy};

/// A setting that cannot be used: where it stands, what is wrong, and the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct ConfigError {
    /// File and line, the variable, or the flag.
    pub place: String,
    /// What is wrong, and what would be right.
    pub fault: String,
}

/// The settings of one root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// The values.
    pub policy: Policy,
    /// Where each value that is not built in came from, by the setting's name.
    pub sources: BTreeMap<String, String>,
}

/// Where settings come from, besides a root's own file.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    /// The user's file, if a folder for it is known.
    pub user: Option<PathBuf>,
    /// The environment.
    pub variables: Vec<(OsString, OsString)>,
    /// `KEY=VALUE` of the command line.
    pub flags: Vec<String>,
}

impl Layers {
    /// Takes the process's environment, and the user's folder from it.
    pub fn of_process(flags: &[String]) -> Self {
        let variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let folder = |name: &str| {
            let value = variables.iter().find(|(key, _)| key == name).map(|(_, value)| PathBuf::from(value));
            value.filter(|folder| folder.is_absolute())
        };
        let user = folder("XDG_CONFIG_HOME").or_else(|| folder("HOME").map(|home| home.join(".config")));
        Self { user: user.map(|user| user.join("watchdog/watchdog.toml")), variables, flags: flags.to_vec() }
    }

    /// Reads all layers for a root; without one, all but the project's.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn read(&self, root: Option<&Root>) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        if let Some(user) = &self.user {
            config.take_file(user)?;
        }
        if let Some(root) = root {
            config.take_file(&root.in_home("watchdog.toml"))?;
            config.policy.tables = signals::of_project(root)?;
        }
        config.take_variables(&self.variables)?;
        for flag in &self.flags {
            config.take_flag(flag)?;
        }
        Ok(config)
    }
}

/// The longest settings file.
const MOST: u64 = 1024 * 1024;

/// Reads a settings file. Links are followed, as people keep such files elsewhere; a pipe or a device would hold up
/// every hook.
fn read(path: &Path) -> io::Result<String> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > MOST {
        return Err(io::Error::other("not a regular file of at most 1 MiB"));
    }
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text)?;
    Ok(text)
}

/// Sections whose variables are ours. `WATCHDOG_USEC` and `WATCHDOG_PID` belong to systemd.
const SECTIONS: [&str; 9] =
    ["rule", "quiet", "daemon", "bridge", "tasks", "team", "agents", "guards", "subctl"];

impl Config {
    /// Tells where a setting came from.
    pub fn source(&self, name: &str) -> &str {
        self.sources.get(name).map_or("built in", String::as_str)
    }

    fn take_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        match read(path) {
            Ok(text) => self.take_text(&text, path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(()),
            Err(error) => {
                Err(ConfigError { place: path.display().to_string(), fault: format!("cannot read: {error}") })
            }
        }
    }

    /// Takes the settings of a file's text; `path` is what errors name.
    ///
    /// # Errors
    /// The first value that cannot be used; those before it are taken.
    pub fn take_text(&mut self, text: &str, path: &Path) -> Result<(), ConfigError> {
        let place = |line: usize| format!("{}:{line}", path.display());
        let line_of = |offset: usize| {
            memchr::memchr_iter(b'\n', &text.as_bytes()[..offset.min(text.len())]).count() + 1
        };
        let parsed = DeTable::parse(text).map_err(|error| ConfigError {
            place: place(error.span().map_or(1, |span| line_of(span.start))),
            fault: error.message().to_owned(),
        })?;
        let mut alerts = Vec::new();
        for (section, body) in parsed.get_ref() {
            let (name, at) = (section.get_ref().as_ref(), place(line_of(section.span().start)));
            match body.get_ref() {
                DeValue::Array(list) if name == "alert" => {
                    for entry in list {
                        let place = place(line_of(entry.span().start));
                        let alert = alert(&own(entry.get_ref()));
                        alerts.push(alert.map_err(|fault| ConfigError { place, fault })?);
                    }
                }
                DeValue::Table(keys) if name != "alert" && (SECTIONS.contains(&name) || !keys.is_empty()) => {
                    for (key, value) in keys {
                        let place = place(line_of(key.span().start));
                        self.set(&format!("{name}.{}", key.get_ref()), &own(value.get_ref()), &place)?;
                    }
                }
                body => return Err(no_section(name, body, at)),
            }
        }
        if !alerts.is_empty() {
            self.policy.alerts = alerts;
            self.sources.insert("alert".to_owned(), path.display().to_string());
        }
        Ok(())
    }

    fn take_variables(&mut self, variables: &[(OsString, OsString)]) -> Result<(), ConfigError> {
        for (variable, value) in variables {
            let Some(rest) = variable.to_str().and_then(|name| name.strip_prefix("WATCHDOG_")) else {
                continue;
            };
            let rest = rest.to_ascii_lowercase();
            let Some((section, key)) = rest.split_once('_').filter(|(section, _)| SECTIONS.contains(section))
            else {
                continue;
            };
            let place = variable.to_string_lossy().into_owned();
            self.set(
                &format!("{section}.{key}"),
                &Value::String(value.to_string_lossy().into_owned()),
                &place,
            )?;
        }
        Ok(())
    }

    fn take_flag(&mut self, flag: &str) -> Result<(), ConfigError> {
        let place = format!("--set {flag}");
        let Some((name, value)) = flag.split_once('=') else {
            let fault = "KEY=VALUE is wanted, such as rule.idle_after=5m".to_owned();
            return Err(ConfigError { place, fault });
        };
        self.set(name.trim(), &Value::String(value.to_owned()), &place)
    }

    fn set(&mut self, name: &str, value: &Value, place: &str) -> Result<(), ConfigError> {
        let Some(key) = find(name) else { return Err(unknown(name, place)) };
        (key.set)(&mut self.policy, value)
            .map_err(|fault| ConfigError { place: place.to_owned(), fault: format!("{name}: {fault}") })?;
        self.sources.insert(name.to_owned(), place.to_owned());
        Ok(())
    }
}

/// Prints all settings at their built-in values as a commented file.
pub fn commented_defaults() -> String {
    let policy = Policy::default();
    let mut text = String::new();
    let mut section = "";
    for key in KEYS {
        let (head, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if head != section {
            text.push_str(if section.is_empty() { "" } else { "\n" });
            writeln!(text, "[{head}]").ok();
            section = head;
        }
        writeln!(text, "# {}\n# {name} = {}", key.doc, (key.show)(&policy)).ok();
    }
    text.push_str(
        "\n# A command, a desktop note or a webhook; the report comes as JSON on stdin or as the body.\n\
         # [[alert]]\n# on = [\"nudge\", \"escalate\", \"waiting\", \"worker\", \"livelock\", \"recovered\", \"session_lost\"]\n\
         # run = [\"notify-send\", \"watchdog\", \"{summary}\"]   # or: desktop = true, or: webhook = \"https://…\"\n",
    );
    text
}

/// Occasions on which an alert can be sent.
pub const OCCASIONS: [&str; 7] =
    ["nudge", "escalate", "waiting", "worker", "livelock", "recovered", "session_lost"];

fn alert(value: &Value) -> Result<Alert, String> {
    let Value::Table(table) = value else { return Err("[[alert]] is a table".to_owned()) };
    let list = |name: &str| -> Result<Option<Vec<String>>, String> {
        let Some(value) = table.get(name) else { return Ok(None) };
        let words = value
            .as_array()
            .and_then(|list| list.iter().map(|word| word.as_str().map(ToOwned::to_owned)).collect());
        words.map(Some).ok_or_else(|| format!("alert.{name}: a list of words is wanted"))
    };
    let on = list("on")?.unwrap_or_else(|| OCCASIONS.iter().map(ToString::to_string).collect());
    if let Some(word) = on.iter().find(|word| !OCCASIONS.contains(&word.as_str())) {
        return Err(format!("alert.on: \"{word}\" is no occasion; there are {}", OCCASIONS.join(", ")));
    }
    if let Some(key) = table.keys().find(|key| !["on", "run", "desktop", "webhook"].contains(&key.as_str())) {
        return Err(format!("alert.{key} is unknown; there are on, run, desktop and webhook"));
    }
    let words = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let run = match (list("run")?, table.get("webhook"), table.get("desktop")) {
        (Some(run), None, None) if !run.is_empty() => run,
        (None, Some(Value::String(url)), None)
            if url.starts_with("http://") || url.starts_with("https://") =>
        {
            let mut run = words(&[
                "curl",
                "-fsS",
                "-m",
                "10",
                "-H",
                "content-type: application/json",
                "--data-binary",
                "@-",
            ]);
            run.push(url.clone());
            run
        }
        (None, None, Some(Value::Boolean(true))) => {
            words(&["notify-send", "--app-name=watchdog", "watchdog", "{summary}"])
        }
        _ => {
            return Err(
                "an alert needs one of run = [\"command\", …], webhook = \"https://…\", desktop = true"
                    .to_owned(),
            );
        }
    };
    Ok(Alert { on, run })
}

/// What stands at the top level of a file and is neither a section of ours nor `[[alert]]`.
fn no_section(name: &str, body: &DeValue<'_>, place: String) -> ConfigError {
    let fault = match body {
        DeValue::Table(_) if name == "alert" => {
            "alerts are a list; write [[alert]] with two brackets".to_owned()
        }
        DeValue::Table(_) => {
            format!("[{name}] is no section; there are [{}] and [[alert]]", SECTIONS.join("], ["))
        }
        DeValue::Array(_) if SECTIONS.contains(&name) => {
            format!("{name} is no list; write [{name}] with one pair of brackets")
        }
        _ => return unknown(name, &place),
    };
    ConfigError { place, fault }
}

fn unknown(name: &str, place: &str) -> ConfigError {
    let fault =
        format!("{name} is no setting; did you mean {}? \"watchdog config\" lists all", nearest(name));
    ConfigError { place: place.to_owned(), fault }
}

/// Copies a parsed value out of its text.
fn own(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.clone().into_owned()),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Value::Boolean(false), Value::Integer)
        }
        DeValue::Float(number) => number.as_str().parse().map_or(Value::Boolean(false), Value::Float),
        DeValue::Boolean(value) => Value::Boolean(*value),
        DeValue::Datetime(time) => Value::Datetime(*time),
        DeValue::Array(list) => Value::Array(list.iter().map(|value| own(value.get_ref())).collect()),
        DeValue::Table(table) => Value::Table(
            table
                .iter()
                .map(|(key, value)| (key.get_ref().clone().into_owned(), own(value.get_ref())))
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests;
