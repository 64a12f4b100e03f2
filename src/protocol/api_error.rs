//! What a failed turn means: the client's names for API errors (StopFailure), and what their text adds.

use super::reset_time;
use crate::model::moment::Millis;
use crate::model::wording::ApiAdvice;

/// What a failed turn means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// The client's name for it.
    pub error: String,
    /// What is known of failures of this kind.
    pub advice: ApiAdvice,
    /// Until when it asks to wait, unix milliseconds, if it said.
    pub reset_at: Option<Millis>,
}

impl ApiError {
    /// The API asks to wait.
    pub fn holds(&self) -> bool {
        self.advice == ApiAdvice::Wait
    }

    /// Nothing but a person helps: the flag is due at once.
    pub fn needs_a_person(&self) -> bool {
        self.advice == ApiAdvice::Person
    }
}

/// Sorts an error by its name and text, seen at `at`. Names that are not known are neutral.
pub fn sort(error: &str, text: &str, at: Millis) -> ApiError {
    let advice = match ApiAdvice::of(error) {
        // A client reports HTTP 529 as `server_error`; only its text tells.
        ApiAdvice::Retry if error == "server_error" && is_overloaded(text) => ApiAdvice::Wait,
        advice => advice,
    };
    ApiError { error: error.to_owned(), advice, reset_at: reset_time::find(text, at) }
}

fn is_overloaded(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.contains("overloaded")
        || lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "529")
}

#[cfg(test)]
mod tests;
