//! Follows the message log of a team session. Its writers take no lock: they append, and now and then one of them
//! writes the whole file anew, in place. Lines that hold no message are passed over and counted, as the team's own tool
//! does; no message is told twice, and none is missed that was there at a look.

use std::fs::File;
use std::path::Path;

use super::file::{FileError, open_own};
use super::settled::{Settling, Stamp};
use super::tail::{Line, anchor, lines};
use crate::model::digest::of_bytes;
use crate::model::moment::Millis;
use crate::model::reading::Reading;
use crate::model::sequence::Order;
use crate::protocol::team_msg::{self, Message};
use crate::protocol::team_rule::{Fault, Rule};

/// What is read at one look, in bytes.
const MOST: u64 = 1024 * 1024;
/// Where the last message of a log is looked for, in bytes from its end.
const END: u64 = 512 * 1024;
/// Where a log that was written anew is looked through for what is known of it, in bytes.
const MOST_ANEW: u64 = 256 * 1024 * 1024;

/// What a look at the log gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct News {
    /// Messages that are new, each with its line, in order.
    pub messages: Vec<(u64, Message)>,
    /// Violations in the new lines, each with its line and the role that wrote it.
    pub faults: Vec<(u64, String, Fault)>,
    /// There is more, or it is being written: it should be looked at again soon.
    pub again: bool,
    /// Nothing is left of the messages that were known: it is another log.
    pub is_another: bool,
}

/// One log, looked at again and again.
#[derive(Debug, Clone, Default)]
pub struct Log {
    seen: Option<Stamp>,
    settling: Settling,
}

impl Log {
    /// Reads what is new behind `reading`, and takes it forward. None = nothing is new.
    ///
    /// # Errors
    /// It is no file of ours, or cannot be read.
    pub fn follow(
        &mut self,
        path: &Path,
        reading: &mut Reading,
        now: Millis,
    ) -> Result<Option<News>, FileError> {
        let Some(file) = open_own(path)? else { return Ok(None) };
        let error = || FileError::of("read", path);
        let stamp = Stamp::of(&file.metadata().map_err(error())?);
        if self.seen == Some(stamp) {
            return Ok(None);
        }
        let mut news = News::default();
        let is_known = !reading.hash.is_empty();
        if is_known && anchor(&file, reading.bytes).ok().as_ref() != Some(&reading.hash) {
            if !self.settling.is_over(stamp, now) {
                return Ok(Some(News { again: true, ..News::default() }));
            }
            *reading = resume(&file, reading).map_err(error())?;
            news.is_another = reading.bytes == 0;
        }
        let from = reading.bytes;
        let mut line = reading.lines;
        let progress = lines(&file, from, MOST, &mut |text, _| {
            line += 1;
            take(text, line, reading, &mut news);
        });
        let progress = progress.map_err(error())?;
        reading.bytes = progress.bytes;
        reading.lines += progress.lines;
        reading.hash = anchor(&file, progress.bytes).map_err(error())?;
        news.again = progress.more;
        self.seen = (!progress.more).then_some(stamp);
        let is_news = progress.bytes != from || news.is_another || !is_known;
        Ok(is_news.then_some(news))
    }
}

/// Reads the last message of a log, without the rest of it. None = there is none, or it cannot be read.
pub fn last(path: &Path) -> Option<Message> {
    let file = open_own(path).ok()??;
    let from = file.metadata().ok()?.len().saturating_sub(END);
    let mut last = None;
    lines(&file, from, END, &mut |line, _| {
        if let Line::Whole(bytes) = line {
            last = team_msg::read(bytes).0.or_else(|| last.take());
        }
    })
    .ok()?;
    last
}

fn take(text: Line<'_>, line: u64, reading: &mut Reading, news: &mut News) {
    let bytes = match text {
        Line::Whole(bytes) if bytes.trim_ascii().is_empty() => return,
        Line::Whole(bytes) => bytes,
        Line::TooLong(length) => {
            reading.torn += 1;
            let fact = format!("the line has {length} bytes, more than is read of one, and was passed over");
            return news.faults.push((line, String::new(), Fault::new(Rule::LineTooLong, fact)));
        }
    };
    let (message, mut faults) = team_msg::read(bytes);
    let from = message.as_ref().map_or(String::new(), |message| message.from.clone());
    match &message {
        None => reading.torn += 1,
        Some(message) => faults.extend(note(message, reading)),
    }
    news.faults.extend(faults.into_iter().map(|fault| (line, from.clone(), fault)));
    news.messages.extend(message.map(|message| (line, message)));
}

/// Takes a message into what is known of the log.
fn note(message: &Message, reading: &mut Reading) -> Option<Fault> {
    reading.note_mark(&message.mark);
    reading.last = reading.last.max(message.at.unwrap_or(0));
    let ids = reading.ids.get_or_insert_default();
    let top = ids.top();
    match ids.note(message.number?) {
        Order::Next => None,
        Order::Duplicate => {
            let fact = format!("the id {} was given to another message before", message.id);
            Some(Fault::new(Rule::IdDuplicate, fact))
        }
        Order::Decreasing => {
            let fact = format!("the id {} comes behind MSG-{top:03}", message.id);
            Some(Fault::new(Rule::IdDecreasing, fact))
        }
    }
}

/// Finds where reading goes on in a log that was written anew: behind the last message that is known; or, if none of
/// them is left, behind the last that is no younger than they were. What lies before counts as known.
fn resume(file: &File, old: &Reading) -> std::io::Result<Reading> {
    let (mut known, mut older) = (0, 0);
    lines(file, 0, MOST_ANEW, &mut |text, end| {
        let Line::Whole(bytes) = text else { return };
        let Some(message) = team_msg::read(bytes).0 else { return };
        if old.tail.contains(&message.mark) {
            known = end;
        }
        if message.at.is_some_and(|at| at <= old.last) {
            older = end;
        }
    })?;
    let end = if known > 0 { known } else { older };
    let (track, name, folder) = (old.track.clone(), old.file.clone(), old.folder.clone());
    let mut new = Reading { track, file: name, folder, hash: of_bytes(b""), ..Reading::default() };
    if end == 0 {
        return Ok(new);
    }
    let mut line = 0;
    let mut unused = News::default();
    lines(file, 0, end, &mut |text, until| {
        if until <= end {
            line += 1;
            take(text, line, &mut new, &mut unused);
            unused = News::default();
        }
    })?;
    new.bytes = end;
    new.lines = line;
    new.hash = anchor(file, end)?;
    Ok(new)
}

#[cfg(test)]
mod tests;
