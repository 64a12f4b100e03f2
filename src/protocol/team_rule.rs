//! What a team's message session can be found to violate: one closed list, each with the name that the journal,
//! `status` and alerts carry (`knowledge-transfer-protocols`; `docs/protocols/knowledge-transfer-protocols.md` has the
//! table).

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// A rule of the protocol that was not kept.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule {
            $($(#[$doc])* $name,)*
        }

        impl Rule {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its name, in kebab-case.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }
        }
    };
}

rules! {
    /// A line of the log is no JSON object.
    TornLine = "torn-line",
    /// A line of the log is longer than what is read of one.
    LineTooLong = "line-too-long",
    /// A field has another type than the schema gives it.
    FieldType = "field-type",
    /// A field that the schema asks for is not there.
    FieldMissing = "field-missing",
    /// An id is not of the form `MSG-001`.
    IdForm = "id-form",
    /// An id was given to another message before.
    IdDuplicate = "id-duplicate",
    /// An id is smaller than that of a message before it.
    IdDecreasing = "id-decreasing",
    /// A stamp is no ISO 8601.
    StampForm = "stamp-form",
    /// A message is addressed to a role that nobody declared.
    UndeclaredRole = "undeclared-role",
    /// A `state_update` carries no payload.
    PayloadMissing = "payload-missing",
    /// A `status` that is not `task_complete`.
    StatusUnknown = "status-unknown",
    /// A `task_id` is not of the form `TASK-001`.
    TaskIdForm = "task-id-form",
    /// `ref` holds content instead of a path.
    RefInline = "ref-inline",
    /// `ref` leads out of the project.
    RefOutside = "ref-outside",
    /// `ref` leads to no file.
    RefWithoutFile = "ref-without-file",
    /// `ref` leads to a file that is not among the artifacts.
    RefNotArtifact = "ref-not-artifact",
    /// An artifact is not named `<task-id>-<name>.md`.
    ArtifactName = "artifact-name",
    /// A finished task has neither a `ref` nor an artifact.
    UpdateWithoutArtifact = "update-without-artifact",
    /// More than five key findings.
    TooManyFindings = "too-many-findings",
    /// A key finding of 100 characters or more.
    FindingTooLong = "finding-too-long",
    /// A decision names the choice alone.
    DecisionWithoutRationale = "decision-without-rationale",
    /// `files_modified` of a task that implements nothing.
    FilesNotImplementation = "files-not-implementation",
    /// `verification` is none of the three.
    VerificationUnknown = "verification-unknown",
    /// A CHECKPOINT without `supervision_verdict`.
    VerdictMissing = "verdict-missing",
    /// A `supervision_verdict` that is not pass, warn or block.
    VerdictUnknown = "verdict-unknown",
    /// A `supervision_score` outside 0.0–1.0.
    ScoreRange = "score-range",
    /// A count that is no whole number from 0 on.
    CountRange = "count-range",
    /// Blocking issues were counted, and the verdict is not `block`.
    BlocksWithoutBlock = "blocks-without-block",
    /// Fields of a supervisor in the report of another task.
    SupervisionElsewhere = "supervision-elsewhere",
    /// `meta.json` is no JSON object.
    MetaUnreadable = "meta-unreadable",
    /// A session's `status` that is not active, completed or archived.
    SessionStatus = "session-status",
    /// `meta.json` does not have what a `state_update` before it says.
    MetaBehind = "meta-behind",
    /// `cache-index.json` is no index.
    CacheUnreadable = "cache-unreadable",
    /// An angle is not in kebab-case.
    AngleForm = "angle-form",
    /// Two entries have the same angle.
    AngleDuplicate = "angle-duplicate",
    /// An entry's file is not `explore-<angle>.json`.
    CacheFileName = "cache-file-name",
    /// An entry's file is not there.
    CacheFileMissing = "cache-file-missing",
    /// A result of an exploration is in no index.
    CacheUnlisted = "cache-unlisted",
    /// An entry was taken out of the index.
    CacheEntryRemoved = "cache-entry-removed",
    /// An entry was changed by another than its creator.
    CacheChangedByAnother = "cache-changed-by-another",
    /// A wisdom file became shorter, or is gone.
    WisdomShrank = "wisdom-shrank",
    /// What a wisdom file began with is not what it begins with now.
    WisdomRewritten = "wisdom-rewritten",
    /// A task ended and its role never said so.
    NeverPublished = "never-published",
}

/// One violation: which rule, and one plain sentence without a body or a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The rule.
    pub rule: Rule,
    /// What was seen.
    pub fact: String,
    /// What it is about, where the words do not tell it from another of the same words; shown nowhere.
    pub of: String,
}

impl Fault {
    /// Makes a fault.
    pub fn new(rule: Rule, fact: impl Into<String>) -> Self {
        Self { rule, fact: fact.into(), of: String::new() }
    }

    /// The same about this one.
    #[must_use]
    pub fn of(self, what: &str) -> Self {
        Self { of: what.to_owned(), ..self }
    }
}

/// Shows a foreign value if it is one short word, and only its length otherwise: what was meant to be a word may be a
/// text that is nobody's business.
pub fn shown(text: &str) -> String {
    let length = text.chars().count();
    if length > 0 && length <= 40 && !text.contains(char::is_whitespace) {
        return format!("\"{}\"", crate::model::wording::plain(text, 40));
    }
    format!("a text of {length} character{}", if length == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::{Rule, shown};

    #[test]
    fn every_rule_has_a_name_of_its_own_in_kebab_case() {
        let mut words: Vec<&str> = Rule::ALL.iter().map(|rule| rule.word()).collect();
        let is_kebab = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        assert!(words.iter().all(is_kebab), "{words:?}");
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), Rule::ALL.len());
    }

    #[test]
    fn the_document_of_the_protocol_names_every_rule() {
        let document = include_str!("../../docs/protocols/knowledge-transfer-protocols.md");
        for rule in Rule::ALL {
            assert!(document.contains(&format!("`{}`", rule.word())), "{}", rule.word());
        }
    }

    #[test]
    fn a_word_is_shown_and_a_text_is_counted() {
        assert_eq!(shown("done"), "\"done\"");
        assert_eq!(shown("we are nearly done"), "a text of 18 characters");
        assert_eq!(shown(&"x".repeat(41)), "a text of 41 characters");
        assert_eq!(shown(""), "a text of 0 characters");
        assert_eq!(shown("\u{1b}[2J"), "\" [2J\"");
    }
}
