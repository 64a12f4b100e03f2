//! What a prompt makes the API answer. A prompt scripts its own turn, one directive a line:
//!
//! ```text
//! @tool NAME {json}     call a tool
//! @say TEXT             end the turn with a text
//! @error STATUS TYPE    answer with an API error
//! @wait SECONDS         hold back the next answer for so long
//! ```
//!
//! The last text that holds directives counts (after a failed turn, a client joins the next prompt to the failed
//! one). Each answer is the next directive; when they are used up, the turn ends with "ok", so a turn that nobody
//! scripted (a wake) is one request. An error is not used up: until the next scripted prompt, the API stays down.

use std::time::Duration;

use serde_json::Value;

/// One answer of the API.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    /// How long it is held back.
    pub(crate) delay: Duration,
    /// What it says.
    pub(crate) answer: Answer,
}

/// What an answer says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// A text, which ends the turn.
    Say(String),
    /// A tool call.
    Tool { name: String, input: Value },
    /// An API error.
    Error { status: u16, kind: String },
}

/// Returns the answer to a request with these messages.
pub(crate) fn answer_to(messages: &[Value]) -> Step {
    let scripted = messages.iter().enumerate().rev().find_map(|(place, message)| {
        let mut texts = texts_of(message).into_iter().rev().map(steps);
        texts.find(|steps| !steps.is_empty()).map(|steps| (place, steps))
    });
    let over = || Step { delay: Duration::ZERO, answer: Answer::Say("ok".to_owned()) };
    let Some((place, steps)) = scripted else { return over() };
    let answered: usize = messages[place..].iter().map(tool_calls).sum();
    steps.into_iter().nth(answered).unwrap_or_else(over)
}

/// Reads the directives of a text. One that makes no sense is answered with an error that says so, and a test
/// that misspells a directive fails with it on the screen.
fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut delay = Duration::ZERO;
    for line in text.lines() {
        let Some((verb, rest)) = line.trim().strip_prefix('@').and_then(|line| line.split_once(' ')) else {
            continue;
        };
        let answer = match verb {
            "wait" => {
                delay = rest.trim().parse().map_or(Duration::ZERO, Duration::from_secs_f64);
                continue;
            }
            "say" => Answer::Say(rest.to_owned()),
            "tool" => tool(rest).unwrap_or_else(|| misspelt(line)),
            "error" => error(rest).unwrap_or_else(|| misspelt(line)),
            _ => continue,
        };
        steps.push(Step { delay: std::mem::take(&mut delay), answer });
    }
    steps
}

fn tool(rest: &str) -> Option<Answer> {
    let (name, input) = rest.split_once(' ')?;
    Some(Answer::Tool { name: name.to_owned(), input: serde_json::from_str(input).ok()? })
}

fn error(rest: &str) -> Option<Answer> {
    let (status, kind) = rest.split_once(' ')?;
    Some(Answer::Error { status: status.parse().ok()?, kind: kind.trim().to_owned() })
}

fn misspelt(line: &str) -> Answer {
    Answer::Error { status: 400, kind: format!("misspelt_directive: {line}") }
}

/// The texts of a message that a person, a program or another agent sent.
fn texts_of(message: &Value) -> Vec<&str> {
    match &message["content"] {
        _ if message["role"] != "user" => Vec::new(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        content => content.as_str().into_iter().collect(),
    }
}

fn tool_calls(message: &Value) -> usize {
    let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    blocks.iter().filter(|block| block["type"] == "tool_use").count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": [{"type": "text", "text": text}]})
    }

    fn call() -> Value {
        json!({"role": "assistant", "content": [{"type": "tool_use", "name": "Bash"}]})
    }

    #[test]
    fn a_script_is_answered_line_by_line_and_then_with_ok() {
        let prompt = user("@tool Bash {\"command\":\"true\"}\n@wait 0.5\n@say done");
        let first = answer_to(std::slice::from_ref(&prompt));
        assert_eq!(first.answer, Answer::Tool { name: "Bash".to_owned(), input: json!({"command": "true"}) });
        let second = answer_to(&[prompt.clone(), call()]);
        assert_eq!(
            second,
            Step { delay: Duration::from_millis(500), answer: Answer::Say("done".to_owned()) }
        );
        let third = answer_to(&[prompt, call(), call()]);
        assert_eq!(third.answer, Answer::Say("ok".to_owned()));
    }

    #[test]
    fn of_two_prompts_in_one_message_the_last_counts() {
        let texts =
            json!([{"type": "text", "text": "@error 529 busy"}, {"type": "text", "text": "@say now"}]);
        let step = answer_to(&[json!({"role": "user", "content": texts})]);
        assert_eq!(step.answer, Answer::Say("now".to_owned()));
    }

    #[test]
    fn the_last_scripted_message_counts_and_a_misspelt_one_is_an_error() {
        let old = user("@say old");
        let Answer::Error { status, kind } = answer_to(&[old, user("@tool Bash {")]).answer else {
            panic!("a misspelt directive went through");
        };
        assert_eq!(status, 400);
        assert!(kind.contains("@tool Bash {"), "{kind}");
    }
}
