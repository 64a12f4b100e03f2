//! `explorations/cache-index.json` (`knowledge-transfer-protocols` §5): which angles were explored, by whom, where the
//! result lies.

use super::sketch::{self, Sketch};
use super::stamp;
use super::team_rule::{Fault, Rule, shown};
use crate::model::wording::plain;

/// The longest angle, file name or creator that is taken over, in characters.
const LONGEST: usize = 120;

/// One exploration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The angle, the cache's key.
    pub angle: String,
    /// The file of the result, a bare name; empty if it is none.
    pub file: String,
    /// The task that made it; empty if it does not say.
    pub created_by: String,
    /// The line of the index at which the entry begins, from 1 on.
    pub line: usize,
}

/// A violation and the line of the index that it is found at.
pub type Placed = (usize, Fault);

/// Reads the index. None = it is no index at all.
pub fn read(bytes: &[u8]) -> (Option<Vec<Entry>>, Vec<Placed>) {
    let list = match sketch::read(bytes) {
        Ok(Sketch::Object(members)) => {
            members.into_iter().rev().find(|(key, _)| key == "entries").map(|(_, list)| list)
        }
        _ => None,
    };
    let Some(Sketch::List(list)) = list else {
        let fault =
            Fault::new(Rule::CacheUnreadable, "cache-index.json is no JSON object with a list of entries");
        return (None, vec![(1, fault)]);
    };
    let lines = lines(bytes);
    let (mut entries, mut faults) = (Vec::<Entry>::new(), Vec::new());
    for (place, value) in list.iter().enumerate() {
        let line = lines.get(place).copied().unwrap_or(1);
        let mut found = Vec::new();
        let entry = entry(value, place + 1, line, &mut found);
        if !entry.angle.is_empty() && entries.iter().any(|other| other.angle == entry.angle) {
            let fact = format!("the angle {} has an entry already", shown(&entry.angle));
            found.push(Fault::new(Rule::AngleDuplicate, fact).of(&entry.angle));
        }
        faults.extend(found.into_iter().map(|fault| (line, fault)));
        entries.push(entry);
    }
    entries.retain(|entry| !entry.angle.is_empty());
    (Some(entries), faults)
}

/// Reads an entry. `number` counts them from 1.
fn entry(value: &Sketch, number: usize, line: usize, faults: &mut Vec<Fault>) -> Entry {
    // Lines move when the index is written anew: an entry is known by its angle, by its file or, if it has neither, by
    // its number.
    let text = |name: &str| value.get(name).text().trim();
    let of = [text("angle"), text("file")].into_iter().find(|text| !text.is_empty());
    let whose = of.map_or_else(|| format!("entry {number}"), |of| format!("the entry of {}", shown(of)));
    let of = of.unwrap_or_default();
    let mut word = |name: &str| match value.get(name) {
        Sketch::Text(text) if !text.trim().is_empty() => text.trim().to_owned(),
        Sketch::Text(_) | Sketch::Nothing => {
            faults.push(Fault::new(Rule::FieldMissing, format!("{whose} has no {name}")).of(of));
            String::new()
        }
        _ => {
            faults.push(Fault::new(Rule::FieldType, format!("{name} of {whose} is no text")).of(of));
            String::new()
        }
    };
    let (angle, file) = (word("angle"), word("file"));
    let (created_by, timestamp) = (word("created_by"), word("timestamp"));
    if !angle.is_empty() && !is_kebab(&angle) {
        let fact = format!("the angle {} is not in kebab-case", shown(&angle));
        faults.push(Fault::new(Rule::AngleForm, fact).of(of));
    }
    if !file.is_empty() && !angle.is_empty() && file != format!("explore-{angle}.json") {
        let fact = format!("the file of {whose} is {}, not explore-<angle>.json", shown(&file));
        faults.push(Fault::new(Rule::CacheFileName, fact).of(&format!("{of} {file}")));
    }
    if !timestamp.is_empty() && stamp::iso(&timestamp).is_none() {
        let fact = format!("the timestamp of {whose} is {}, no ISO 8601 stamp", shown(&timestamp));
        faults.push(Fault::new(Rule::StampForm, fact).of(of));
    }
    let is_bare = !file.contains('/') && file != ".." && file.len() <= LONGEST;
    Entry {
        angle: plain(&angle, LONGEST),
        file: if is_bare { file } else { String::new() },
        created_by: plain(&created_by, LONGEST),
        line,
    }
}

/// Lower case, digits, single hyphens between; letters of any script, as angles are named in any language.
fn is_kebab(text: &str) -> bool {
    text.split('-')
        .all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() && !c.is_uppercase()))
}

/// The lines at which the elements of the list `entries` begin.
fn lines(bytes: &[u8]) -> Vec<usize> {
    let (mut found, mut depth, mut line) = (Vec::new(), 0_usize, 1);
    // The last string at the top level, which is the key of what follows it.
    let (mut key, mut start, mut is_string, mut is_escaped, mut is_element) =
        (&bytes[..0], 0, false, false, false);
    for (place, byte) in bytes.iter().enumerate() {
        if is_string {
            let ends = *byte == b'"' && !is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            if ends {
                is_string = false;
                if depth == 1 {
                    key = &bytes[start..place];
                }
            }
            continue;
        }
        if is_element && depth == 2 && !byte.is_ascii_whitespace() && *byte != b']' {
            is_element = false;
            found.push(line);
        }
        match byte {
            b'\n' => line += 1,
            b'"' => (is_string, start, is_escaped) = (true, place + 1, false),
            b'[' | b'{' => {
                depth += 1;
                if *byte == b'[' && depth == 2 && key == b"entries" {
                    is_element = true;
                    found.clear();
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 2 && key == b"entries" => is_element = true,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests;
