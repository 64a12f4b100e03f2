//! A checklist in Markdown: the items `- [ ]` and `- [x]` of a list, in the order of the file, nested ones included.
//! What looks like one inside a code block, a quotation or raw HTML is none (CommonMark, task lists as GitHub writes
//! them).

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::model::wording::{hides, own_words};

/// The longest label that is kept, in characters.
const LONGEST: usize = 200;

/// One item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Counted from one, as `mark N` counts.
    pub number: usize,
    /// Its first line without markup, on one line.
    pub label: String,
    /// Something in the label looks like a key, and is masked.
    pub is_masked: bool,
    /// It is ticked.
    pub is_done: bool,
    /// The place of the character between the brackets, in bytes.
    place: usize,
}

/// What is being read.
#[derive(Default)]
struct Reader {
    items: Vec<Item>,
    /// The label is still going on.
    is_open: bool,
    quotes: usize,
    /// Whether each list item around here begins with a hyphen.
    hyphens: Vec<bool>,
}

/// Lists the items. Bytes that are not UTF-8 are passed over; no text is refused.
pub fn items(text: &[u8]) -> Vec<Item> {
    let text = same_length(text);
    let mut reader = Reader::default();
    for (event, range) in Parser::new_ext(&text, Options::ENABLE_TASKLISTS).into_offset_iter() {
        reader.take(&text, event, &range);
    }
    for item in &mut reader.items {
        item.is_masked = hides(&item.label);
        item.label = own_words(item.label.trim(), LONGEST);
    }
    reader.items
}

/// The same text with one item ticked: one byte differs, or none if it was ticked before.
pub fn ticked(text: &[u8], item: &Item) -> Vec<u8> {
    let mut text = text.to_vec();
    if let Some(mark) = text.get_mut(item.place).filter(|_| !item.is_done) {
        *mark = b'x';
    }
    text
}

impl Reader {
    fn take(&mut self, text: &str, event: Event<'_>, range: &Range<usize>) {
        match event {
            Event::Start(Tag::BlockQuote(_)) => self.quotes += 1,
            Event::End(TagEnd::BlockQuote(_)) => self.quotes = self.quotes.saturating_sub(1),
            Event::Start(Tag::Item) => {
                self.is_open = false;
                self.hyphens.push(text[range.start..].trim_start().starts_with('-'));
            }
            Event::End(TagEnd::Item) => {
                self.is_open = false;
                self.hyphens.pop();
            }
            Event::TaskListMarker(is_done) if self.quotes == 0 && self.hyphens.last() == Some(&true) => {
                let number = self.items.len() + 1;
                let place = text[range.clone()].find('[').map_or(range.start, |at| range.start + at) + 1;
                self.items.push(Item { number, label: String::new(), is_masked: false, is_done, place });
                self.is_open = true;
            }
            Event::Text(words) | Event::Code(words) if self.is_open => {
                if let Some(item) = self.items.last_mut() {
                    item.label.push_str(&words);
                }
            }
            Event::SoftBreak
            | Event::HardBreak
            | Event::End(TagEnd::Paragraph)
            | Event::Start(Tag::List(_)) => {
                self.is_open = false;
            }
            _ => {}
        }
    }
}

/// Replaces bytes that are not UTF-8 one by one, so that every place stays what it is.
fn same_length(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    text
}

#[cfg(test)]
mod tests;
