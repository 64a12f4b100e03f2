//! Browser-scoped work (`kiln-protocol`, "Browser Validation Contract"): what of a verdict tells that a browser is needed,
//! and what tells that one was run. Text that denies either is neither.

use super::fields::{Fields, bare, denies, head};
use super::{prose, shell};

/// Words that tell of a rendered application in what has to be tested, wherever they stand.
const SCOPE: [&str; 7] =
    ["browser", "playwright", "visual", "accessibility", "a11y", "viewport", "screenshot"];
/// Words that do so unless they are part of another, or of what a unit test is about: a keyboard-map, a rendered text.
const SCOPE_ALONE: [&str; 3] = ["rendered", "keyboard", "ui"];
/// What may be joined to those: a keyboard-driven menu is one that is driven by the keyboard.
const JOINED: [&str; 10] = [
    "driven",
    "based",
    "only",
    "level",
    "first",
    "navigable",
    "navigation",
    "flow",
    "accessible",
    "operable",
];

/// Tells whether the work of a verdict needs a browser: as `browser_scope` says, else by what has to be tested.
pub fn is_scope(fields: &Fields) -> bool {
    let said = fields.any(&["browser_scope", "browser_scoped"]);
    if let Some(value) = said {
        if denies(value) {
            return false;
        }
        if ["yes", "true"].iter().any(|word| head(value).eq_ignore_ascii_case(word)) {
            return true;
        }
    }
    asks(fields.get("test_requirements").unwrap_or_default())
}

/// Tells whether what has to be tested asks for a browser.
pub fn asks(requirements: &str) -> bool {
    prose::clauses(requirements).iter().any(|clause| {
        clause.iter().enumerate().any(|(place, word)| {
            let is_named = SCOPE.iter().any(|wanted| has_part(word, wanted));
            let is_alone = is_alone(word) && !is_of_unit(&clause[..place]);
            (is_named || is_alone)
                && !word.starts_with("non-")
                && !prose::is_denied(clause, place, &|word| is_alone_or_part(word))
        })
    })
}

fn is_alone_or_part(word: &str) -> bool {
    is_alone(word) || SCOPE.iter().any(|wanted| has_part(word, wanted))
}

fn is_word(word: &str, wanted: &str) -> bool {
    word == wanted || word.strip_suffix('s') == Some(wanted)
}

fn has_part(word: &str, wanted: &str) -> bool {
    word.split(|c: char| !c.is_alphanumeric()).any(|part| is_word(part, wanted))
}

fn is_alone(word: &str) -> bool {
    SCOPE_ALONE.iter().any(|wanted| {
        is_word(word, wanted)
            || word
                .split_once('-')
                .is_some_and(|(first, rest)| is_word(first, wanted) && JOINED.contains(&rest))
    })
}

/// Tells whether what stands before says that this is about a unit test.
fn is_of_unit(before: &[String]) -> bool {
    before.iter().any(|word| matches!(word.as_str(), "unit" | "unit-test" | "unit-tests"))
}

/// Words that tell of a browser in what was run.
const PROOF: [&str; 8] =
    ["browser", "playwright", "puppeteer", "cypress", "selenium", "webdriver", "chromium", "screenshot"];

/// Words that tell that something was run or seen.
const RUN: [&str; 24] = [
    "pass",
    "passed",
    "passes",
    "passing",
    "ok",
    "green",
    "succeeded",
    "ran",
    "run",
    "opened",
    "opens",
    "renders",
    "rendered",
    "shows",
    "shown",
    "displayed",
    "loaded",
    "loads",
    "clicked",
    "works",
    "worked",
    "verified",
    "checked",
    "observed",
];

/// Words that tell that it was read, left, or done by another.
const NOT_RUN: [&str; 32] = [
    "unavailable",
    "missing",
    "absent",
    "impossible",
    "blocked",
    "pending",
    "todo",
    "tbd",
    "later",
    "planned",
    "would",
    "should",
    "could",
    "needs",
    "needed",
    "required",
    "requires",
    "static",
    "statically",
    "instead",
    "grep",
    "read",
    "reading",
    "mentions",
    "reviewed",
    "source",
    "inspected",
    "inspection",
    "builder",
    "builder's",
    "claimed",
    "reported",
];

/// Tells whether results tell of a browser's run.
pub fn is_told(results: &str) -> bool {
    prose::clauses(results).iter().any(|clause| {
        let has = |words: &[&str]| clause.iter().any(|word| words.contains(&word.as_str()));
        let is_count = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
        let is_left = clause.iter().enumerate().any(|(place, word)| {
            word == "skipped" && !place.checked_sub(1).is_some_and(|before| is_count(&clause[before]))
        });
        clause.iter().any(|word| PROOF.iter().any(|wanted| has_part(word, wanted)))
            && (has(&RUN) || clause.iter().any(is_count))
            && !has(&NOT_RUN)
            && !is_left
            && !prose::is_denial(clause)
    })
}

/// Tells whether a field that names the evidence of a browser names some.
pub fn is_named(evidence: &str) -> bool {
    let first = prose::clauses(evidence);
    let Some(first) = first.first() else { return false };
    let is_left =
        first.iter().any(|word| matches!(word.as_str(), "pending" | "todo" | "unavailable" | "missing"));
    !denies(evidence) && !is_left && !prose::is_denial(first)
}

/// Programs that read, search, or move files: what they are given may speak of a browser, and none is run.
const READERS: [&str; 42] = [
    "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "cat", "bat", "ls", "tree", "head", "tail", "less",
    "more", "find", "fd", "sed", "awk", "echo", "printf", "git", "gh", "wc", "diff", "cmp", "test", "[",
    "jq", "yq", "stat", "file", "which", "whereis", "type", "man", "cd", "mkdir", "cp", "mv", "rm", "touch",
];

/// First words of programs that install or show something.
const NO_RUN: [&str; 18] = [
    "install",
    "install-deps",
    "i",
    "ci",
    "add",
    "uninstall",
    "remove",
    "rm",
    "update",
    "upgrade",
    "outdated",
    "ls",
    "list",
    "view",
    "info",
    "why",
    "show-report",
    "show-trace",
];
const NO_RUN_OPTIONS: [&str; 6] = ["--version", "-V", "--help", "-h", "--list", "--dry-run"];

/// Tells whether a command runs a browser, by its program.
pub fn is_run(command: &str) -> bool {
    // A remark that it was not run stands beside it, and not in what it is given.
    let remark: String = command.split(['"', '\'']).step_by(2).collect::<Vec<_>>().join(" ");
    if prose::clauses(&remark).iter().any(|clause| prose::is_denial(clause)) {
        return false;
    }
    shell::commands(bare(command)).iter().any(|command| {
        let words = command.words.iter().map(String::as_str);
        let is_browser = words
            .clone()
            .chain([command.program.as_str()])
            .any(|word| PROOF.iter().any(|wanted| has_part(&word.to_lowercase(), wanted)));
        let mut first = words.clone().filter(|word| !word.starts_with('-')).take(2);
        is_browser
            && !READERS.contains(&command.program.as_str())
            && !first.any(|word| NO_RUN.contains(&word))
            && !words.clone().any(|word| NO_RUN_OPTIONS.contains(&word))
    })
}

#[cfg(test)]
mod tests;
