//! The words to the agent and to people. To an agent they are facts, not commands: clients refuse imperative text
//! as an injection.

mod mask;

use std::fmt::Write;

use chrono::{DateTime, SecondsFormat, Utc};

use self::mask::{Measure, masked};
use super::activity::Activity;
use super::cause::Diagnosis;
use super::diagnosis::diagnose;
use super::event::{Event, What};
use super::judge::{Facts, agents, name_of};
use super::ledger::State;
use super::moment::Millis;
use super::wait::span;

/// How every nudge of ours begins (`kiln-protocol`; the marker that agents and tools look for).
pub const MARK: &str = "KILN DEADLOCK WATCHDOG:";

/// How every text that a wake prints begins; a prompt that carries it is our own wake.
pub const WAKE_MARK: &str = "KILN ASYNC REWAKE:";

/// The longest text to an agent, in characters.
pub const MOST: usize = 2000;

/// The text of nudge `n` of `of`.
pub fn nudge(
    facts: &Facts<'_>,
    activity: &Activity,
    idle_seconds: u64,
    n: u32,
    of: u32,
    now: Millis,
) -> String {
    let teammates = plain(&list(activity.teammates()), 300);
    let source = plain(&activity.last_activity_source, 80);
    let head = format!(
        "{MARK} idle_seconds={idle_seconds}; last_activity_source={source}; active_teammates={teammates}; nudge {n} of {of}."
    );
    let since = clock(before(now, idle_seconds));
    let stage = plain(facts.stage.unwrap_or("unknown"), 40);
    bounded(&format!(
        "{head} No work of this pipeline (stage {stage}) has been seen since {since}. {} {}",
        reason(&diagnose(facts, now)),
        standing(facts, now)
    ))
}

/// Why it is silent: the cause, the agent whose move would free it, and the evidence.
fn reason(why: &Diagnosis) -> String {
    let mut text =
        format!("cause={}; root={}. {}", why.cause.word(), plain(&why.root, 60), plain(&why.words, 400));
    // What the sentence says already is not said again.
    let told = |line: &&String| why.words.trim_end_matches('.') != line.as_str();
    let evidence: Vec<String> = why.evidence.iter().filter(told).map(|line| plain(line, 200)).collect();
    if !evidence.is_empty() {
        write!(text, " Evidence: {}.", evidence.join("; ")).ok();
    }
    text
}

/// A note on something that does not stop the whole pipeline, behind what is staged already.
pub fn note(why: &Diagnosis, before: Option<&str>) -> String {
    let own = format!("{MARK} a note, not counted. {}", reason(why));
    bounded(&before.map_or_else(|| own.clone(), |before| format!("{before}\n{own}")))
}

/// What every agent of the live sessions stands at, most recent first.
fn standing(facts: &Facts<'_>, now: Millis) -> String {
    let mut all: Vec<_> = agents(facts).collect();
    all.sort_by_key(|(_, _, agent)| std::cmp::Reverse(agent.last));
    let lines: Vec<String> = all
        .iter()
        .map(|(_, id, agent)| {
            let name = plain(&name_of(id, agent), 60);
            if let Some(asked) = &agent.asked {
                return format!(
                    "{name} has asked a person for {} since {}.",
                    plain(&asked.what.words(), 60),
                    clock(asked.since)
                );
            }
            if let Some(tool) = agent.tools.iter().min_by_key(|tool| tool.since) {
                return format!("{name}: {} running for {}.", plain(&tool.tool, 60), span(tool.since, now));
            }
            match agent.state {
                State::TurnOver => format!("{name}'s turn ended {} ago.", span(agent.since, now)),
                State::Working => format!("{name} was last seen at work {} ago.", span(agent.last, now)),
                State::Gone => format!("{name} ended {} ago.", span(agent.since, now)),
            }
        })
        .collect();
    let api = facts.ledger.api.as_ref().map(|api| {
        format!(" The API's last answer, at {}, was {}.", clock(api.since), plain(&api.error, 60))
    });
    lines.join(" ") + &api.unwrap_or_default()
}

/// What a flag says to people.
pub fn flag(facts: &Facts<'_>, nudges: u32, idle_seconds: u64, now: Millis) -> String {
    let given = match nudges {
        0 => "no nudge".to_owned(),
        1 => "1 nudge".to_owned(),
        n => format!("{n} nudges"),
    };
    bounded(&format!(
        "Silent for {} after {given}. {} {}",
        span(before(now, idle_seconds), now),
        reason(&diagnose(facts, now)),
        standing(facts, now)
    ))
}

/// What a wake prints for a flag.
pub fn flag_wake(diagnosis: &str) -> String {
    let diagnosis = plain(diagnosis, MOST);
    bounded(&format!("{MARK} DEADLOCK.flag was written; no further nudges follow. {diagnosis}"))
}

/// What a wake prints for a staged message.
pub fn wake(text: &str) -> String {
    bounded(&format!("{WAKE_MARK} {text}"))
}

/// What a SubagentStart is answered with, in the seed's literal words: whoever reads them looks for the id as it is.
pub fn spawn_acknowledged(name: &str, id: &str) -> String {
    let (name, id) = (one_line(name, 200), one_line(id, 200));
    format!("SubagentStart: agent_type={name} agent_id={id} — spawn acknowledged")
}

/// What the sender of a message that nobody got is told.
pub fn undeliverable(to: &str, names: &[String]) -> String {
    let to = plain(to, 80);
    let known = if names.is_empty() {
        "No teammate of this session is known; the lead is team-lead.".to_owned()
    } else {
        format!(
            "Names that exist in this session, nearest first: {}.",
            plain(&list(names.iter().map(String::as_str)), 600)
        )
    };
    bounded(&format!(
        "{MARK} the message to \"{to}\" was not delivered: no agent of that name is reachable. {known}"
    ))
}

/// What the sender of a message is told that went to another agent than its table names.
pub fn misrouted(head: &str, to: &str, meant: &[String]) -> String {
    let (head, to) = (plain(head, 60), plain(to, 60));
    let meant = plain(&list(meant.iter().map(String::as_str)), 300);
    bounded(&format!(
        "{MARK} {head} was delivered to {to}. By the protocol's table of signals {head} belongs to {meant}, which has \
         not received it."
    ))
}

/// What an agent is told that asked another and goes on in the same turn.
pub fn goes_on(head: &str, to: &str, tool: &str) -> String {
    let (head, to, tool) = (plain(head, 60), plain(to, 60), plain(tool, 60));
    bounded(&format!(
        "{MARK} {head} was sent to {to} in this turn, and its answer is delivered when this turn is over. {tool} began \
         in the same turn: an answer that comes meanwhile can be missed, and what {to} reads from disk may change \
         under it."
    ))
}

/// What a teammate that goes idle while it is still listed as working is told.
pub fn still_listed(name: &str, stage: &str) -> String {
    let (name, stage) = (plain(name, 60), plain(stage, 40));
    bounded(&format!(
        "{MARK} {name} is going idle and is still listed among the active teammates (stage {stage}). What it owes \
         another agent counts as sent only after SendMessage to that agent's exact name; the text of a closing \
         answer reaches the lead at most."
    ))
}

/// The note that a failed turn leaves for the lead.
pub fn api_note(error: &str, details: &str, advice: ApiAdvice, at: Millis) -> String {
    let said = match plain(details, 600).trim().trim_end_matches('.') {
        "" => String::new(),
        details => format!(" It said: {details}."),
    };
    let advice = match advice {
        ApiAdvice::Wait => "Requests are limited for now; the work before it is unchanged.",
        ApiAdvice::Person => {
            "The pipeline is flagged: this needs a person (sign-in, billing or access), not a retry."
        }
        ApiAdvice::Retry => "Failures of this kind are usually over at the next attempt.",
        ApiAdvice::Neutral => "Nothing is known of how failures of this kind end.",
    };
    let error = plain(error, 60);
    bounded(&format!(
        "{MARK} the turn before this one was ended by the API at {}: {error}.{said} {advice}",
        clock(at)
    ))
}

/// What is known of a failed turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiAdvice {
    /// A limit that passes.
    Wait,
    /// Nothing but a person helps.
    Person,
    /// Usually over at the next attempt.
    Retry,
    /// Not known.
    Neutral,
}

impl ApiAdvice {
    /// What is known of a failure by the client's name for it.
    pub fn of(error: &str) -> Self {
        match error {
            "rate_limit" | "overloaded" => Self::Wait,
            "authentication_failed"
            | "billing_error"
            | "oauth_org_not_allowed"
            | "account_on_hold"
            | "model_not_found"
            | "cloud_credential_error" => Self::Person,
            "server_error" | "invalid_request" | "max_output_tokens" => Self::Retry,
            _ => Self::Neutral,
        }
    }
}

/// The note that recovery leaves in STATE.md.
pub fn recovery_note(flagged_at: Option<i64>, nudges: Option<u32>, cause: &str, now: Millis) -> String {
    let when = flagged_at.map_or_else(|| "an unknown time".to_owned(), |at| clock(at.saturating_mul(1000)));
    let after =
        nudges.map(|n| format!(" after {n} nudge{}", if n == 1 { "" } else { "s" })).unwrap_or_default();
    format!(
        "\n> [!NOTE]\n> KILN DEADLOCK RECOVERY {}: DEADLOCK.flag of {when}{after} ({}) was cleared; nudge counters were reset.\n",
        clock(now),
        plain(cause, 200)
    )
}

/// Joins names; `none` for none.
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<&str> = names.collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

/// A point in time as people and agents read it: `2026-12-01T04:10:05Z`.
pub fn clock(at: Millis) -> String {
    DateTime::<Utc>::from_timestamp_millis(at)
        .map_or_else(|| format!("{at} ms"), |time| time.to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// The moment that lay so many seconds before.
fn before(now: Millis, seconds: u64) -> Millis {
    now.saturating_sub(Millis::try_from(seconds).unwrap_or(Millis::MAX).saturating_mul(1000))
}

/// Makes foreign text harmless on one line: no control characters (so no terminal escapes and no line breaks), no
/// direction marks, what looks like a secret masked, at most `most` characters.
pub fn plain(text: &str, most: usize) -> String {
    cut(&masked(&clean(text), Measure::Doubt), most)
}

/// Does the same with what a worker wrote to be read: object ids, addresses and names of classes stay in it, though they
/// are long with letters and digits mixed.
pub fn own_words(text: &str, most: usize) -> String {
    cut(&masked(&clean(text), Measure::Trust), most)
}

/// Tells whether [`own_words`] would mask something.
pub fn hides(text: &str) -> bool {
    let clean = clean(text);
    masked(&clean, Measure::Trust) != clean
}

/// Does the same but for the masking: for ids, which must stay what they are.
pub fn one_line(text: &str, most: usize) -> String {
    cut(&clean(text), most)
}

fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_invisible(c) { ' ' } else { c }).collect()
}

/// Tells whether a character shows nothing and may turn, join or hide what stands beside it.
pub fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
    )
}

/// Cuts a text to what an agent is told at most.
fn bounded(text: &str) -> String {
    cut(text.trim_end(), MOST)
}

/// What a person is told of an event, by its occasion; none = nothing.
pub fn report(event: &Event, max_nudges: u32) -> Option<(&'static str, String)> {
    match &event.what {
        What::Nudged { n, idle_seconds, .. } if *n > 0 => {
            Some(("nudge", format!("silent for {idle_seconds} s; nudge {n} of {max_nudges} was staged")))
        }
        What::Escalated { cause, .. } if cause == "session_lost" => {
            Some(("session_lost", "the client is gone without a word; DEADLOCK.flag was written".to_owned()))
        }
        What::Escalated { n, cause } => {
            Some(("escalate", format!("DEADLOCK.flag was written after {n} nudges ({})", plain(cause, 60))))
        }
        What::Noted { cause, root, .. } if cause == "livelock" => {
            Some(("livelock", format!("{} does the same again and again", plain(root, 60))))
        }
        What::Noted { cause, words, .. } if cause.starts_with("worker-") => {
            Some(("worker", plain(words, 400)))
        }
        What::Noted { cause, words, .. } if matches!(cause.as_str(), "waits-for-person" | "team-halted") => {
            Some(("waiting", plain(words, 400)))
        }
        What::Resumed => Some(("recovered", "work was seen again after a nudge".to_owned())),
        What::Recovered { by } => {
            Some(("recovered", format!("DEADLOCK.flag was cleared by {}", plain(by, 60))))
        }
        _ => None,
    }
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
