//! A bounded, tolerant reading of any JSON: enough structure to find the fields we know, and nothing that a large
//! or hostile document could grow. Duplicate keys: the last wins. Depth and width beyond the bounds are walked
//! over, not stored; their text still counts in the digest.

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
/// The text is not JSON. Depth is no error.
pub fn read(bytes: &[u8]) -> serde_json::Result<Sketch> {
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    let sketch = Level(0).deserialize(&mut parser)?;
    parser.end()?;
    Ok(sketch)
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
            Self::Number(value) => hasher.write_u64(value.to_bits()),
            Self::Text(text) => hasher.write(text.as_bytes()),
            Self::List(list) => list.iter().for_each(|value| value.digest(hasher)),
            Self::Object(members) => {
                for (key, value) in members {
                    hasher.write(key.as_bytes());
                    value.digest(hasher);
                }
            }
        }
        hasher.write_u8(0xff);
    }
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
