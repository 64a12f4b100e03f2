//! What a failed turn means: the client's names for API errors (StopFailure), and what their text adds.

use super::stamp;
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

/// Sorts an error by its name and text. Names that are not known are neutral.
pub fn sort(error: &str, text: &str) -> ApiError {
    let advice = match error {
        "rate_limit" | "overloaded" => ApiAdvice::Wait,
        "authentication_failed"
        | "billing_error"
        | "oauth_org_not_allowed"
        | "account_on_hold"
        | "model_not_found"
        | "cloud_credential_error" => ApiAdvice::Person,
        "server_error" if is_overloaded(text) => ApiAdvice::Wait,
        "server_error" | "invalid_request" | "max_output_tokens" => ApiAdvice::Retry,
        _ => ApiAdvice::Neutral,
    };
    ApiError { error: error.to_owned(), advice, reset_at: reset_at(text) }
}

/// A client reports HTTP 529 as `server_error`; only its text tells.
fn is_overloaded(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.contains("overloaded")
        || lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "529")
}

/// Finds a reset time in an error's text: ISO 8601 or epoch seconds.
fn reset_at(text: &str) -> Option<Millis> {
    let ends = |c: char| c.is_whitespace() || "\"'()[]{}<>,;|=".contains(c);
    text.split(ends).map(|word| word.trim_end_matches('.')).find_map(|word| {
        let epoch = word.len() == 10 && word.bytes().all(|byte| byte.is_ascii_digit());
        if epoch { word.parse::<Millis>().ok().map(|seconds| seconds * 1000) } else { stamp::iso(word) }
    })
}

#[cfg(test)]
mod tests;
