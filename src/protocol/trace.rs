//! A recorded run: a journal, or a trace of payloads, stages and passing time, one JSON value a line.

use serde_json::Value;

use super::payload::Payload;
use super::sketch;
use super::translate::{self, Client};
use crate::model::event::{Event, What};
use crate::model::moment::Millis;
use crate::model::rehearsal::{Happening, Item};

/// Why a record is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct TraceError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub fault: String,
}

/// Reads a record, in the order of its times.
///
/// # Errors
/// A line of a trace that cannot be read. A journal's lines that hold no event are passed over, as they are
/// everywhere: a full disk tears lines.
pub fn read(text: &[u8]) -> Result<Vec<Item>, TraceError> {
    let mut items = Vec::new();
    let mut is_journal = None;
    for (place, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            continue;
        }
        let is_journal = *is_journal
            .get_or_insert_with(|| memchr::memmem::find(line, b"\"event\":").is_some() && !is_trace(line));
        if is_journal {
            items.extend(journal_line(line));
        } else {
            trace_line(line, &mut items).map_err(|fault| TraceError { line: place + 1, fault })?;
        }
    }
    if is_journal == Some(true) {
        begin_journal(&mut items);
    }
    items.sort_by_key(|item| item.at);
    Ok(items)
}

/// Makes a record of a journal's events.
pub fn of_journal(events: Vec<Event>) -> Vec<Item> {
    let item = |event: Event| Item { at: event.at, what: Happening::Event(Box::new(event)) };
    let mut items: Vec<Item> = events.into_iter().map(item).collect();
    begin_journal(&mut items);
    items.sort_by_key(|item| item.at);
    items
}

fn is_trace(line: &[u8]) -> bool {
    sketch::read(line).is_ok_and(|line| line.get("payload") != &sketch::Sketch::Nothing)
}

fn journal_line(line: &[u8]) -> Option<Item> {
    let event: Event = serde_json::from_slice(line).ok().or_else(|| {
        // A line that was torn runs into the next.
        let mut starts = memchr::memmem::find_iter(line, b"{\"v\":").filter(|start| *start > 0);
        starts.find_map(|start| serde_json::from_slice(&line[start..]).ok())
    })?;
    Some(Item { at: event.at, what: Happening::Event(Box::new(event)) })
}

/// Hooks write a journal only while there is a pipeline; its stage is noted by the daemon, later.
fn begin_journal(items: &mut Vec<Item>) {
    let Some(at) = items.first().map(|item| item.at) else { return };
    let stage_of = |item: &Item| match &item.what {
        Happening::Event(event) => match &event.what {
            What::Stage { stage } => Some(stage.clone()),
            What::Snapshot { ledger } => Some(ledger.stage.clone()),
            _ => None,
        },
        _ => None,
    };
    let first = items.iter().find_map(stage_of).filter(|stage| !stage.is_empty());
    let stage = first.unwrap_or_else(|| "unknown".to_owned());
    items.insert(0, Item { at, what: Happening::Stage(stage) });
}

fn trace_line(line: &[u8], items: &mut Vec<Item>) -> Result<(), String> {
    let wanted = "a line is {\"at\":MS,\"payload\":{…}}, {\"at\":MS,\"stage\":\"…\"} or {\"at\":MS}";
    let value = sketch::read(line).map_err(|error| format!("not JSON ({error}); {wanted}"))?;
    let at = value.get("at").number().filter(|at| at.is_finite() && at.abs() < 1e15);
    let Some(at) = at.map(|at| at as Millis) else {
        return Err(format!("\"at\" is missing or no time; {wanted}"));
    };
    let mut what = None;
    if let sketch::Sketch::Text(stage) = value.get("stage") {
        what = Some(Happening::Stage(stage.trim().to_ascii_lowercase()));
        items.extend(what.clone().map(|what| Item { at, what }));
    }
    // The payload is read on its own, so that it keeps the depth that a hook would see.
    let payload = serde_json::from_slice::<Value>(line)
        .ok()
        .and_then(|mut value| value.get_mut("payload").map(Value::take));
    if let Some(payload) = payload.filter(Value::is_object) {
        let fields =
            sketch::read(payload.to_string().as_bytes()).map_err(|error| format!("payload: {error}"))?;
        if let Some(payload) = Payload::of(fields) {
            let event = translate::event(&payload, Client::default(), at);
            let parked = translate::background(&payload, at);
            for event in [event].into_iter().chain(parked) {
                what = Some(Happening::Event(Box::new(event.clone())));
                items.push(Item { at, what: Happening::Event(Box::new(event)) });
            }
        }
    }
    if what.is_none() {
        items.push(Item { at, what: Happening::Nothing });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::model::rehearsal::Happening;

    #[test]
    fn a_trace_holds_payloads_stages_and_passing_time() {
        let text = "{\"at\":1000,\"stage\":\"build\"}\n\n{\"at\":2000,\"payload\":{\"hook_event_name\":\"Stop\"}}\n{\"at\":9000}\n";
        let items = read(text.as_bytes()).unwrap();
        let at: Vec<i64> = items.iter().map(|item| item.at).collect();
        assert_eq!(at, [1000, 2000, 9000]);
        assert!(matches!(&items[0].what, Happening::Stage(stage) if stage == "build"));
        assert!(matches!(&items[1].what, Happening::Event(_)));
        assert_eq!(items[2].what, Happening::Nothing);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        let error = read(b"{\"at\":1}\n{\"stage\":\"build\"}\n").unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.fault.contains("\"at\" is missing"));
        assert_eq!(read(b"{\"at\":1}\nnonsense\n").unwrap_err().line, 2);
    }

    #[test]
    fn a_journal_is_told_from_a_trace_and_torn_lines_are_passed_over() {
        let text = "{\"v\":1,\"at\":5,\"session\":\"s\",\"event\":\"turn_end\"}\n{\"v\":1,\"at\":6,\"sess{\"v\":1,\"at\":7,\"event\":\"resumed\"}\n";
        let items = read(text.as_bytes()).unwrap();
        assert_eq!(items.iter().map(|item| item.at).collect::<Vec<_>>(), [5, 5, 7]);
        assert!(matches!(&items[0].what, Happening::Stage(stage) if stage == "unknown"));
    }
}
