//! Lines for a terminal: at most so many columns, broken where they can be.

use std::fmt::Write;

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The widest line.
pub(super) const WIDTH: usize = 80;
/// Writes `label  text`, the text wrapped to the width.
pub(super) fn line(out: &mut String, label: &str, text: &str, style: Style) {
    let room = WIDTH - 10;
    let mut first = true;
    for part in wrap(text, room) {
        let label = if first { label } else { "" };
        writeln!(out, "{label:<10}{style}{part}{style:#}").ok();
        first = false;
    }
}

/// Breaks a text at blanks, and a word that is too long for a line anywhere.
pub(super) fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word = word;
        let line = lines.last_mut().map_or(0, |line| line.width());
        if line > 0 && line + 1 + word.width() > room {
            lines.push(String::new());
        }
        while word.width() > room {
            let cut = cut_at(word, room);
            lines.push(word[..cut].to_owned());
            lines.push(String::new());
            word = &word[cut..];
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// Where the part of a word ends that fits into so many columns; a character may take two.
fn cut_at(word: &str, room: usize) -> usize {
    let mut columns = 0;
    let beyond = word.char_indices().find(|(_, c)| {
        columns += c.width().unwrap_or(0);
        columns > room
    });
    beyond.map_or(word.len(), |(at, _)| at)
}
