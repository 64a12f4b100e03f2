//! The fields of an artifact: lines `name: value`, as the protocol's schemas write them, in a Markdown file. A value may
//! go on in a list below its name.

use std::collections::BTreeMap;

use super::Violation;
use crate::model::wording::plain;

/// Fields of one text at most.
const MOST: usize = 512;
/// The longest value that is kept, in bytes.
const LONGEST: usize = 8 * 1024;

/// The fields of one text, by name in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fields {
    values: BTreeMap<String, String>,
    /// Names that stand there again with another value.
    twice: Vec<String>,
}

impl Fields {
    /// Reads the fields of a text. Lines of any other form are passed over.
    pub fn read(text: &str) -> Self {
        let mut fields = Self::default();
        let mut open: Option<String> = None;
        for line in text.lines() {
            let is_indented = line.starts_with([' ', '\t']);
            let goes_on = open.as_ref().is_some_and(|name| fields.goes_on(name));
            if let Some((name, value)) = field(line).filter(|_| !(is_indented && goes_on)) {
                open = fields.add(&name, value).then_some(name);
            } else if line.trim().is_empty() || line.trim_start().starts_with('#') {
                // A list may have blank lines before it; a heading ends it.
                open = open.filter(|name| line.trim().is_empty() && fields.goes_on(name));
            } else if let Some(name) = open.as_ref().filter(|_| goes_on) {
                fields.extend(name, line.trim());
            }
        }
        fields
    }

    /// Adds a field. Returns false if it is there already, or there are too many.
    pub fn add(&mut self, name: &str, value: &str) -> bool {
        let value = cut(value.trim());
        match self.values.get(name) {
            Some(before) => {
                if before != value && !self.twice.iter().any(|twice| twice == name) {
                    self.twice.push(name.to_owned());
                }
                false
            }
            None => {
                self.values.len() < MOST && self.values.insert(name.to_owned(), value.to_owned()).is_none()
            }
        }
    }

    /// Tells whether what follows a name still belongs to its value: there is none yet, or it is a list.
    fn goes_on(&self, name: &str) -> bool {
        let value = self.values.get(name).map_or("", String::as_str);
        let is_open = value.starts_with('[') && !value.ends_with(']');
        is_open || value.is_empty() || value.starts_with("- ") || block(value).is_some()
    }

    fn extend(&mut self, name: &str, more: &str) {
        if let Some(value) = self.values.get_mut(name)
            && value.len() + more.len() < LONGEST
        {
            if !value.is_empty() {
                value.push('\n');
            }
            value.push_str(more);
        }
    }

    /// The value of a field; none = there is no such field.
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.values.get(name)?.trim();
        Some(block(value).unwrap_or(value))
    }

    /// The value of the first of these fields that says something.
    pub fn any<'a>(&'a self, names: &[&str]) -> Option<&'a str> {
        names.iter().filter_map(|name| self.get(name)).find(|value| !is_empty(value))
    }

    /// All fields.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// What follows the sign of a block of lines, `|` or `>`; none = the value is no such block.
fn block(value: &str) -> Option<&str> {
    let (sign, rest) = value.split_once('\n').unwrap_or((value, ""));
    matches!(sign.trim(), "|" | ">" | "|-" | ">-").then_some(rest)
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Reads one line: `name: value`, `- name: value`, `- **name**: value`, `**name:** value`.
fn field(line: &str) -> Option<(String, &str)> {
    let line = line.trim_start().trim_start_matches(['-', '*', '>', '`', '+', ' ']);
    let (name, value) = line.split_once(':')?;
    let name = name.trim_matches(['*', '`', ' ', '"']);
    let is_name = !name.is_empty()
        && name.len() <= 60
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    // A path of a web page or of Windows is no field.
    let is_value = !value.starts_with("//") && !value.starts_with('\\');
    (is_name && is_value)
        .then(|| (name.to_ascii_lowercase().replace('-', "_"), value.trim_start_matches("**").trim()))
}

/// A value without the quotes or code marks around it.
pub fn bare(value: &str) -> &str {
    value.trim().trim_matches(['`', '"', '\'', '*']).trim()
}

/// Tells whether a value is none: nothing at all, or the template's own placeholder.
pub fn is_empty(value: &str) -> bool {
    let value = bare(value);
    let is_template = |open, close| value.starts_with(open) && value.ends_with(close);
    value.is_empty() || is_template('{', '}') || is_template('<', '>') || matches!(value, "…" | "...")
}

/// Tells whether a value says that there is nothing: `N/A`, `none`, `no`, `-`, `[]`, or no value at all.
pub fn is_nothing(value: &str) -> bool {
    let list = bare(value).strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let word = bare(list.unwrap_or(value)).trim_end_matches('.').to_ascii_lowercase();
    let is_word = matches!(
        word.as_str(),
        "n/a"
            | "na"
            | "none"
            | "none yet"
            | "not yet"
            | "nothing"
            | "no"
            | "false"
            | "nil"
            | "null"
            | "undefined"
            | "-"
            | "--"
            | "–"
            | "—"
            | "tbd"
            | "todo"
            | "not applicable"
            | "not needed"
            | "not required"
    );
    is_word || is_empty(list.unwrap_or(value))
}

/// What a value says first, before it explains itself: `none` of `none (documentation only)`.
pub fn head(value: &str) -> &str {
    let value = bare(value);
    let marks = ["(", ",", ";", "\n", ": ", ". ", " - ", " – ", " — "];
    let end = marks.iter().filter_map(|mark| value.find(mark)).filter(|place| *place > 0).min();
    bare(&value[..end.unwrap_or(value.len())])
}

/// Tells whether a value says that there is nothing, whatever it explains then.
pub fn denies(value: &str) -> bool {
    is_nothing(value) || is_nothing(head(value))
}

/// Tells whether a value is the name of a commit, whole or shortened.
pub fn is_sha(value: &str) -> bool {
    let value = bare(value);
    (7..=64).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Collects what is wrong with the fields of one artifact.
pub struct Check<'a> {
    place: &'a str,
    fields: &'a Fields,
    found: Vec<Violation>,
}

impl<'a> Check<'a> {
    /// Begins; a field that stands there twice with two values is the first violation.
    pub fn new(place: &'a str, fields: &'a Fields) -> Self {
        let mut check = Self { place, fields, found: Vec::new() };
        for name in &fields.twice {
            check.add(name, "stands there twice with two values", "one line with the value that holds");
        }
        check
    }

    /// Adds a violation.
    pub fn add(&mut self, field: &str, fault: impl Into<String>, way_out: impl Into<String>) {
        self.found.push(Violation::new(self.place, field, fault, way_out));
    }

    /// The value of a field that has to be there.
    pub fn there(&mut self, name: &str, shape: &str) -> Option<&'a str> {
        let value = self.fields.get(name);
        if value.is_none() {
            self.add(name, "is missing", format!("a line `{name}: {shape}`"));
        }
        value
    }

    /// The value of a field that has to say something.
    pub fn filled(&mut self, name: &str, shape: &str) -> Option<&'a str> {
        let value = self.there(name, shape)?;
        if is_empty(value) {
            self.add(name, "is empty", format!("a line `{name}: {shape}`"));
            return None;
        }
        Some(value)
    }

    /// A field that has to say more than that there is nothing.
    pub fn said(&mut self, name: &str, shape: &str) -> Option<&'a str> {
        let value = self.filled(name, shape)?;
        self.unless(is_nothing(value), name, value, shape)
    }

    /// A field that has to name something: an explanation why it does not is none.
    pub fn named(&mut self, name: &str, shape: &str) -> Option<&'a str> {
        let value = self.said(name, shape)?;
        self.unless(denies(value), name, value, shape)
    }

    /// The value, unless it is one that does not do.
    fn unless(&mut self, is_wrong: bool, name: &str, value: &'a str, shape: &str) -> Option<&'a str> {
        if is_wrong {
            let fault = format!("is \"{}\"", plain(bare(value), 40));
            self.add(name, fault, format!("a line `{name}: {shape}`"));
            return None;
        }
        Some(value)
    }

    /// A field that has to name a commit.
    pub fn sha(&mut self, name: &str) -> Option<&'a str> {
        let value = self.filled(name, "{sha}")?;
        if !is_sha(value) {
            self.add(name, "is no commit id", format!("`{name}` holds what `git rev-parse HEAD` printed"));
            return None;
        }
        Some(value)
    }

    /// A field that has to be one of several words; returns it in their spelling.
    pub fn one_of(&mut self, name: &str, words: &[&'static str]) -> Option<&'static str> {
        let value = bare(self.filled(name, &words.join("|"))?);
        let found = words.iter().find(|word| word.eq_ignore_ascii_case(value)).copied();
        if found.is_none() {
            let fault = format!("is \"{}\"", plain(value, 40));
            self.add(name, fault, format!("it is one of {}", words.join(", ")));
        }
        found
    }

    /// All that was found.
    pub fn done(self) -> Vec<Violation> {
        self.found
    }
}

#[cfg(test)]
mod tests;
