//! What `status` shows of tracks: workers, team sessions, and what was found in them.

use serde_json::{Value, json};

use super::super::layout::{WIDTH, wrap};
use super::super::view::View;
use crate::model::moment::Millis;
use crate::model::track::{Kind, Track};
use crate::model::wait::span;
use crate::model::wording::{clock, own_words, plain};

/// Tracks that are listed; the rest are counted.
const MOST_TRACKS: usize = 12;
/// Findings that are listed.
const MOST_FINDINGS: usize = 5;

/// Renders them: those that wait for a person first, then those that run, the most silent first; the rest by their number.
pub(super) fn render(view: &View) -> String {
    let tracks = &view.ledger.tracks;
    let mut lines = Vec::new();
    let mut open: Vec<(&String, &Track)> = tracks.all.iter().filter(|(_, track)| !is_over(track)).collect();
    open.sort_by_key(|(key, track)| (!track.said.state.is_terminal(), track.last, (*key).clone()));
    lines.extend(open.iter().take(MOST_TRACKS).map(|(key, track)| words(key, track, view.now.wall)));
    let over = tracks.all.len() - open.len();
    match (open.len().saturating_sub(MOST_TRACKS), over) {
        (0, 0) => {}
        (0, over) => lines.push(format!("tracks that are over: {over}")),
        (rest, 0) => lines.push(format!("and {rest} more tracks")),
        (rest, over) => lines.push(format!("and {rest} more tracks; over: {over}")),
    }
    let found = tracks.findings.iter().rev().take(MOST_FINDINGS);
    lines.extend(found.map(|found| format!("found  {}", plain(&found.finding.words(), 300))));
    let hidden = tracks.findings.len().saturating_sub(MOST_FINDINGS);
    if hidden > 0 {
        lines.push(format!("and {hidden} found before; \"watchdog history --kind found\" lists all"));
    }
    if lines.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = lines.iter().map(|line| wrap(line, WIDTH - 2).join("\n  ")).collect();
    format!("\n{}\n", lines.join("\n"))
}

fn words(key: &str, track: &Track, now: Millis) -> String {
    let said = &track.said;
    let parts = [said.state.word(), &said.step, &said.reason].map(|part| own_words(part, 60));
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{}  {}; last heard of {} ago", plain(key, 60), parts.join(", "), span(track.last, now))
}

fn is_over(track: &Track) -> bool {
    use crate::model::track::State::{Done, Ended, Failed};
    matches!(track.said.state, Done | Failed | Ended)
}

/// All tracks that are known, and the latest findings.
pub(super) fn json(view: &View) -> (Value, Value) {
    let tracks = &view.ledger.tracks;
    let all: Vec<Value> = tracks
        .all
        .iter()
        .map(|(key, track)| {
            let said = &track.said;
            let kind = match said.kind {
                Kind::Task => "task",
                Kind::Team => "team",
            };
            json!({
                "track": key, "kind": kind, "state": said.state.word(), "role": said.role, "step": said.step,
                "reason": said.reason, "outcome": said.outcome, "disposition": said.disposition,
                "attempt": said.attempt, "since": clock(track.since), "entered": clock(track.entered),
                "last": clock(track.last),
            })
        })
        .collect();
    let found: Vec<Value> = tracks
        .findings
        .iter()
        .rev()
        .take(100)
        .map(|found| {
            let finding = &found.finding;
            json!({
                "at": clock(found.at), "track": finding.track, "rule": finding.rule, "place": finding.place,
                "who": finding.who, "fact": finding.fact,
            })
        })
        .collect();
    (all.into(), found.into())
}
