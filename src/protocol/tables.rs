//! The tables of signals (`tables/*.toml`), ours and a project's: read, and refused with line and reason.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use crate::model::signals::{Answer, Reply, Signal, Table};

/// The tables that are built in, in their order.
const BUILT_IN: [&str; 3] = [
    include_str!("tables/kiln.toml"),
    include_str!("tables/subctl.toml"),
    include_str!("tables/native.toml"),
];

/// Why a table is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct TableError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub fault: String,
}

/// Returns the built-in tables; they are read once.
pub fn built_in() -> &'static [Arc<Table>] {
    static TABLES: LazyLock<Vec<Arc<Table>>> =
        LazyLock::new(|| BUILT_IN.iter().filter_map(|text| read(text).ok()).map(Arc::new).collect());
    &TABLES
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    roles: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    named: BTreeMap<String, String>,
    #[serde(default)]
    signal: Vec<Spanned<Row>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "a record of independent facts")]
struct Row {
    head: String,
    name: Option<String>,
    #[serde(default)]
    from: Vec<String>,
    #[serde(default)]
    to: Vec<String>,
    #[serde(default)]
    only_to: Vec<String>,
    #[serde(default)]
    operator: bool,
    reply: Debt,
    #[serde(default)]
    answers: Vec<AnswerRow>,
    #[serde(default)]
    passes: Vec<AnswerRow>,
    within: Option<String>,
    #[serde(default)]
    log: bool,
    #[serde(default)]
    retired: bool,
    #[serde(default)]
    pairs: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Debt {
    Due,
    None,
    Never,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerRow {
    #[serde(default)]
    heads: Vec<String>,
    #[serde(default)]
    from: Vec<String>,
    #[serde(default)]
    to: Vec<String>,
    #[serde(default)]
    started: Vec<String>,
    #[serde(default)]
    same_request: bool,
    #[serde(default)]
    astray: Vec<String>,
}

/// Reads a table.
///
/// # Errors
/// The first mistake in it.
pub fn read(text: &str) -> Result<Table, TableError> {
    let line_of =
        |offset: usize| memchr::memchr_iter(b'\n', &text.as_bytes()[..offset.min(text.len())]).count() + 1;
    let file: File = toml::from_str(text).map_err(|error| TableError {
        line: error.span().map_or(1, |span| line_of(span.start)),
        fault: error.message().to_owned(),
    })?;
    if file.name.is_empty() {
        return Err(TableError { line: 1, fault: "name is empty; a table needs one".to_owned() });
    }
    let mut table = Table { name: file.name, roles: file.roles, named: file.named, signals: Vec::new() };
    if let Some((key, role)) = table.named.iter().find(|(_, role)| !table.roles.contains_key(*role)) {
        let fault = format!("named.{key}: \"{role}\" is no role; {}", known_roles(&table));
        return Err(TableError { line: 1, fault });
    }
    for row in file.signal {
        let line = line_of(row.span().start);
        let signal = signal(row.into_inner(), &table).map_err(|fault| TableError { line, fault })?;
        table.signals.push(signal);
    }
    Ok(table)
}

fn signal(row: Row, table: &Table) -> Result<Signal, String> {
    let name = row.name.unwrap_or_else(|| row.head.clone());
    if row.head.is_empty() {
        return Err("head is empty; a signal's word or \"*\" is wanted".to_owned());
    }
    if table.signals.iter().any(|signal| signal.name == name) {
        return Err(format!("\"{name}\" is there already; give one of them a name of its own"));
    }
    let is_due = row.reply == Debt::Due;
    if is_due == row.answers.is_empty() {
        return Err(format!("{name}: answers are wanted where reply = \"due\", and nowhere else"));
    }
    let role = |role: &String| {
        let is_known = role == "lead" || table.roles.contains_key(role);
        if is_known { Ok(()) } else { Err(format!("{name}: \"{role}\" is no role; {}", known_roles(table))) }
    };
    row.from.iter().chain(&row.to).chain(&row.only_to).try_for_each(role)?;
    let within = row
        .within
        .as_deref()
        .map(|text| {
            span(text).ok_or_else(|| {
                format!("{name}: within = \"{text}\" is no duration, such as \"60s\" or \"15m\"")
            })
        })
        .transpose()?;
    let answers = |rows: Vec<AnswerRow>| -> Result<Vec<Answer>, String> {
        rows.into_iter().map(|row| answer(row, &name, role)).collect()
    };
    Ok(Signal {
        answers: answers(row.answers)?,
        passes: answers(row.passes)?,
        head: row.head,
        from: row.from,
        to: row.to,
        only_to: row.only_to,
        operator: row.operator,
        reply: match row.reply {
            Debt::Due => Reply::Due,
            Debt::None => Reply::None,
            Debt::Never => Reply::Never,
        },
        within,
        log: row.log,
        retired: row.retired,
        pairs: row.pairs,
        name,
    })
}

fn answer(
    row: AnswerRow,
    name: &str,
    role: impl Fn(&String) -> Result<(), String>,
) -> Result<Answer, String> {
    if row.heads.is_empty() == row.started.is_empty() {
        return Err(format!("{name}: an answer needs either heads or started"));
    }
    let is_word = |word: &&String| !matches!(word.as_str(), "recipient" | "sender" | "pair" | "anyone");
    row.from.iter().chain(&row.to).filter(is_word).chain(&row.astray).try_for_each(role)?;
    Ok(Answer {
        heads: row.heads,
        from: row.from,
        to: row.to,
        started: row.started,
        same_request: row.same_request,
        astray: row.astray,
    })
}

fn known_roles(table: &Table) -> String {
    let roles: Vec<&str> = table.roles.keys().map(String::as_str).chain(["lead"]).collect();
    format!("there are {}", roles.join(", "))
}

fn span(text: &str) -> Option<Duration> {
    humantime::parse_duration(text).ok().filter(|span| !span.is_zero())
}

#[cfg(test)]
mod tests;
