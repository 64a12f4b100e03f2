//! Whether a decision says why. A form cannot tell a good reason from a bad one, so only what is plainly the choice
//! alone is found: four words at most, in English letters, without any mark or word that begins a reason. A longer text
//! is taken to hold its reason, and so is one in another script, where words cannot be counted by blanks.

use crate::protocol::sketch::Sketch;

/// The most words of a choice without a reason.
const MOST_WORDS: usize = 4;
/// Words that begin a reason, or an aim.
const REASONS: &[&str] = &[
    "because",
    "since",
    "as",
    "so",
    "due",
    "for",
    "to",
    "by",
    "given",
    "thus",
    "hence",
    "therefore",
    "per",
    "avoids",
    "avoiding",
    "keeps",
    "keeping",
    "reduces",
    "reason",
    "rationale",
    "why",
    "enables",
    "needs",
    "than",
    "over",
];
/// Marks between a choice and its reason.
const MARKS: &[char] = &[':', ';', '(', '—', '–', '→', '=', '>', ','];

/// Tells whether a decision is the choice and nothing else.
pub(super) fn is_choice_alone(text: &str) -> bool {
    let words: Vec<String> = text.split_whitespace().map(str::to_ascii_lowercase).collect();
    let bare = |word: &String| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    text.is_ascii()
        && words.len() <= MOST_WORDS
        && !text.contains(MARKS)
        && !text.contains(" - ")
        && !words.iter().map(bare).any(|word| REASONS.contains(&word.as_str()))
}

/// Tells whether a decision that was given as an object has a field for its reason.
pub(super) fn has_reason(decision: &Sketch) -> bool {
    ["rationale", "reason", "reasoning", "why", "because", "justification"]
        .iter()
        .any(|name| decision.get(name).text().trim().len() > 1)
}
