//! What a tool call tells beyond its own beginning and end: a message, an agent that it began.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A message that one agent sent to another, without its body.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "a record of independent facts")]
pub struct Message {
    /// The recipient as the sender wrote it.
    pub to: String,
    /// Whether the client delivered it.
    pub delivered: bool,
    /// The leading word in capitals before `:`, or the `type` of a structured message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub head: String,
    /// The id that request and response share.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request_id: String,
    /// Short hash of the body.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hash: String,
    /// The sender as the client routed it; empty if it did not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sender: String,
    /// Names of agents that the signal carries, by key, such as `coder_name` or `worker_1`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, String>,
    /// What a response says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<bool>,
    /// The client did not say whether it was delivered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unconfirmed: bool,
    /// A person, not the recipient, decides on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub operator: bool,
    /// The sender says that it is ready for its next task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ready: bool,
}

/// An agent that another began.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spawn {
    /// Its name.
    pub name: String,
    /// Its id, if the client said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The kind of agent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// It stays and takes messages; otherwise its result comes back by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub teammate: bool,
    /// It runs as a client of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
}
