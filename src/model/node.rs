//! One agent of a team as the wait-for graph knows it, and one wait of one agent for another.

use serde::{Deserialize, Serialize};

use super::idle::Idle;
use super::moment::Millis;
use super::plan::PlanState;

/// One incarnation of an agent: a respawned agent inherits nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "a record of independent facts")]
#[serde(default)]
pub struct Node {
    /// Its id; empty if unknown, and for the lead.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Its kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// When it was first seen.
    pub since: Millis,
    /// When it ended for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<Millis>,
    /// It takes messages; otherwise its result goes back to whoever began it.
    #[serde(skip_serializing_if = "is_false")]
    pub teammate: bool,
    /// It runs as a client of its own.
    #[serde(skip_serializing_if = "is_false")]
    pub apart: bool,
    /// The client's own roster named it.
    #[serde(skip_serializing_if = "is_false")]
    pub rostered: bool,
    /// Who began it, as far as it is not a teammate.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub parent: String,
    /// A table's signal of another agent than the lead gave it work: its answer is not the lead's to wait for.
    #[serde(skip_serializing_if = "is_false")]
    pub serves: bool,
    /// Its present turn, or the last.
    pub turn: Turn,
    /// Heads in the text that the last turn ended with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub printed: Vec<String>,
    /// The last message that reached it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mail: Option<Mail>,
    /// An answer came while it went on after asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raced: Option<Raced>,
    /// The API ended its turn, with this error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<(Millis, String)>,
    /// The same call again and again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// With whom it exchanges nothing but the same heads.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub partner: String,
    /// Ids of agents of this name that are in a turn at once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<String>,
    /// The last of its tasks is completed, since then; the lead has not acknowledged it yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<Millis>,
    /// It is rightly idle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// Ids of earlier incarnations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<String>,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Turn {
    /// When it began; 0 = none was seen.
    pub began: Millis,
    /// When it ended; none while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Millis>,
    /// Messages that it sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sent: Vec<Sent>,
    /// Its last call was a message: what follows, if nothing does, is waiting.
    #[serde(skip_serializing_if = "is_false")]
    pub tail: bool,
    /// Agents whom it has answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<String>,
}

/// A message of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "a record of independent facts")]
#[serde(default)]
pub struct Sent {
    /// To whom, resolved to a name.
    pub to: String,
    /// Its head.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub head: String,
    /// Hash of its body.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hash: String,
    /// When.
    pub at: Millis,
    /// A turn of the recipient that began at this time or later has seen it.
    pub seen_from: Millis,
    /// Whether it was delivered.
    pub delivered: bool,
    /// The client did not say whether it was.
    #[serde(skip_serializing_if = "is_false")]
    pub unconfirmed: bool,
    /// What follows from it.
    pub duty: Duty,
    /// It was the prompt of a spawn.
    #[serde(skip_serializing_if = "is_false")]
    pub spawn: bool,
    /// The recipient has answered already.
    #[serde(skip_serializing_if = "is_false")]
    pub answered: bool,
    /// The table and the row that it falls under.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub table: String,
    /// See `table`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub row: String,
}

/// What kind of wait follows from a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duty {
    /// A table says that no answer is due and the sender is done.
    None,
    /// No table knows it: if the sender's turn ends, it may wait.
    #[default]
    Free,
    /// A table says that nobody answers it: a sender that stops waits in vain.
    Never,
    /// A table says that the recipient owes an answer.
    Due,
}

/// A message that reached an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Mail {
    /// From whom.
    pub from: String,
    /// Its head.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub head: String,
    /// When.
    pub at: Millis,
}

/// An answer that came while the one who asked went on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Raced {
    /// What was asked.
    pub asked: String,
    /// The tool it went on with.
    pub tool: String,
    /// Who answered.
    pub by: String,
    /// The answer's head.
    pub head: String,
    /// When it came.
    pub at: Millis,
}

/// The same call again and again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Run {
    /// The tool.
    pub tool: String,
    /// Hash of tool and input.
    pub hash: String,
    /// How often.
    pub count: u32,
    /// Since when.
    pub since: Millis,
    /// The lead was told.
    #[serde(default, skip_serializing_if = "is_false")]
    pub noted: bool,
}

/// The same heads to and fro between two agents.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToAndFro {
    /// Who spoke last.
    pub last: String,
    /// The head of the one who speaks next, once it has spoken.
    pub next_head: String,
    /// The head of the last message.
    pub last_head: String,
    /// Messages so far.
    pub count: u32,
    /// Since when.
    pub since: Millis,
    /// The lead was told.
    #[serde(default, skip_serializing_if = "is_false")]
    pub noted: bool,
}

/// One agent waits for another.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "a record of independent facts")]
#[serde(default)]
pub struct Wait {
    /// Who waits.
    pub from: String,
    /// For whom.
    pub to: String,
    /// The incarnation that was asked; empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub to_id: String,
    /// On what ground.
    pub duty: Duty,
    /// The table and the row that say so; empty for a wait that no table knows.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub table: String,
    /// See `table`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub row: String,
    /// The message's head.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub head: String,
    /// The id that the answer must carry.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub request: String,
    /// Hash of the message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hash: String,
    /// Since when: the first message that asked.
    pub since: Millis,
    /// The last message that asked.
    pub asked: Millis,
    /// A turn of the debtor that began at this time or later has seen it.
    pub seen_from: Millis,
    /// Whether it was delivered.
    pub delivered: bool,
    /// The client did not say whether it was.
    #[serde(skip_serializing_if = "is_false")]
    pub unconfirmed: bool,
    /// The answer is overdue from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<Millis>,
    /// A person decides on it until it is overdue.
    #[serde(skip_serializing_if = "is_false")]
    pub operator: bool,
    /// It was the prompt of a spawn.
    #[serde(skip_serializing_if = "is_false")]
    pub spawn: bool,
    /// Agents whose turn it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<String>,
    /// To whom the duty has passed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub passed: String,
    /// An answer that went elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stray: Option<Stray>,
    /// The tool that the waiter went on with in the same turn.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub went_on: String,
    /// The lead was told that it is overdue.
    #[serde(skip_serializing_if = "is_false")]
    pub noted: bool,
    /// What was decided on it by whom it was not asked of, and when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<(PlanState, Millis)>,
    /// The operator was told that it waits for a decision.
    #[serde(skip_serializing_if = "is_false")]
    pub told: bool,
}

/// An answer that went to another agent than the one who waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stray {
    /// Who sent it.
    pub by: String,
    /// Its head.
    pub head: String,
    /// To whom.
    pub to: String,
    /// When.
    pub at: Millis,
    /// Whether it was delivered.
    pub delivered: bool,
}

impl Stray {
    /// What was sent, in a word.
    pub fn what(&self) -> &str {
        if self.head.is_empty() { "a message" } else { &self.head }
    }
}

impl Node {
    /// Tells whether it is in the middle of a turn.
    pub fn is_at_work(&self) -> bool {
        self.gone.is_none() && self.turn.began > 0 && self.turn.ended.is_none()
    }

    /// Tells whether a turn of it began at this time or later.
    pub fn had_turn_since(&self, at: Millis) -> bool {
        self.turn.began > 0 && self.turn.began >= at
    }

    /// The message that reached it and that no turn of it has seen.
    pub fn unread(&self) -> Option<&Mail> {
        self.mail.as_ref().filter(|mail| !self.had_turn_since(mail.at))
    }
}

impl Wait {
    /// Who has to move.
    pub fn debtor(&self) -> &str {
        if self.passed.is_empty() { &self.to } else { &self.passed }
    }

    /// What tells it from other waits of its team.
    pub fn key(&self) -> String {
        let row = if self.duty == Duty::Free { "" } else { self.row.as_str() };
        format!("{}>{}>{}>{}", self.from, self.to, row, self.request)
    }

    /// What was asked, in a word.
    pub fn what(&self) -> &str {
        match (self.head.as_str(), self.row.as_str()) {
            ("", _) if self.spawn => "its task",
            ("", "assignment") => "an assignment",
            ("", "consultation") => "a consultation",
            ("", _) => "a message",
            (head, _) => head,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
