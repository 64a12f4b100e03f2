//! A bounded, tolerant reading of any JSON: enough structure to find the fields we know, and nothing that a large
//! or hostile document could grow. Duplicate keys: the last wins. Depth and width beyond the bounds are walked
//! over, not stored, and do not count in the digest.

use std::fmt;
use std::hash::Hasher;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Levels that are stored.
const DEPTH: u32 = 6;
/// Members of one object or array that are stored.
const WIDTH: usize = 256;

/// A JSON value, as far as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Sketch {
    /// `null`, or whatever lies beyond the bounds.
    Nothing,
    /// `true`, `false`.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Sketch>),
    /// An object, in its order.
    Object(Vec<(String, Sketch)>),
}

/// Reads one JSON value.
///
/// # Errors
/// The text is not JSON. Depth is no error, nor is half a surrogate pair or a byte that is not UTF-8 in a string: a
/// client that cuts a tool's output at some length writes such halves.
pub fn read(bytes: &[u8]) -> serde_json::Result<Sketch> {
    strict(bytes).or_else(|error| match mended(bytes) {
        Some(mended) => strict(&mended),
        None => Err(error),
    })
}

fn strict(bytes: &[u8]) -> serde_json::Result<Sketch> {
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    let sketch = Level(0).deserialize(&mut parser)?;
    parser.end()?;
    Ok(sketch)
}

/// Replaces halves of surrogate pairs and bytes that are not UTF-8 by the replacement character. None = there are
/// none.
fn mended(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(place) = memchr::memchr(b'\\', rest.as_bytes()) {
        let (plain, escape) = rest.split_at(place);
        out.push_str(plain);
        let first = unit(escape);
        let length = match first {
            Some(0xd800..=0xdbff) if matches!(unit(&escape[6..]), Some(0xdc00..=0xdfff)) => 12,
            Some(_) => 6,
            // A backslash and the character behind it, whatever that is.
            None => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        let is_half = length == 6 && matches!(first, Some(0xd800..=0xdfff));
        out.push_str(if is_half { "\u{fffd}" } else { &escape[..length] });
        rest = &escape[length..];
    }
    out.push_str(rest);
    (out.as_bytes() != bytes).then(|| out.into_bytes())
}

/// Reads an escape of the form `\uXXXX` at the beginning of a text.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

static NOTHING: Sketch = Sketch::Nothing;

impl Sketch {
    /// Returns a member of an object; [`Sketch::Nothing`] if there is none or this is no object.
    pub fn get(&self, key: &str) -> &Self {
        match self {
            Self::Object(members) => {
                members.iter().rev().find(|(name, _)| name == key).map_or(&NOTHING, |(_, value)| value)
            }
            _ => &NOTHING,
        }
    }

    /// Returns the text of a string; empty for anything else.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }

    /// Returns the text of a string that is not empty.
    pub fn word(&self) -> Option<&str> {
        Some(self.text()).filter(|text| !text.is_empty())
    }

    /// Returns a truth value.
    pub fn truth(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns a number; a string that holds one counts.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(*value),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// Returns the members of an array; none for anything else.
    pub fn list(&self) -> &[Self] {
        match self {
            Self::List(list) => list,
            _ => &[],
        }
    }

    /// Feeds the value to a hash.
    pub fn digest(&self, hasher: &mut impl Hasher) {
        match self {
            Self::Nothing => hasher.write_u8(0),
            Self::Bool(value) => hasher.write(&[1, u8::from(*value)]),
            Self::Number(value) => {
                hasher.write_u8(2);
                hasher.write_u64(value.to_bits());
            }
            Self::Text(text) => {
                hasher.write_u8(3);
                digest_text(text, hasher);
            }
            Self::List(list) => {
                hasher.write_u8(4);
                for value in list {
                    value.digest(hasher);
                }
            }
            Self::Object(members) => {
                hasher.write_u8(5);
                for (key, value) in members {
                    digest_text(key, hasher);
                    value.digest(hasher);
                }
            }
        }
        hasher.write_u8(0xff);
    }
}

/// The end is marked by a byte that no text holds, or one text could begin where another ends.
fn digest_text(text: &str, hasher: &mut impl Hasher) {
    hasher.write(text.as_bytes());
    hasher.write_u8(0xff);
}

/// Reads a value at some depth.
struct Level(u32);

impl<'de> DeserializeSeed<'de> for Level {
    type Value = Sketch;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Sketch, D::Error> {
        if self.0 > DEPTH {
            // Walked over without recursion, so that depth cannot hurt.
            return deserializer.deserialize_ignored_any(IgnoredAny).map(|_| Sketch::Nothing);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = Sketch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Sketch, E> {
        Ok(Sketch::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Sketch, E> {
        Ok(Sketch::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Sketch, E> {
        Ok(Sketch::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Sketch, E> {
        Ok(Sketch::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Sketch, E> {
        Ok(Sketch::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Sketch, E> {
        Ok(Sketch::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Sketch, A::Error> {
        let mut list = Vec::new();
        while list.len() < WIDTH {
            let Some(value) = seq.next_element_seed(Level(self.0 + 1))? else {
                return Ok(Sketch::List(list));
            };
            list.push(value);
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Sketch::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Sketch, A::Error> {
        let mut members = Vec::new();
        while members.len() < WIDTH {
            let Some(key) = map.next_key::<String>()? else { return Ok(Sketch::Object(members)) };
            members.push((key, map.next_value_seed(Level(self.0 + 1))?));
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Sketch::Object(members))
    }
}

#[cfg(test)]
mod tests;
