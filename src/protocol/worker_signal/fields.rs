//! The members of a JSON object, read one by one; what is not as it should be is noted with its path.

use serde_json::{Map, Value};

use super::fault::{Fault, Kind};
use crate::model::moment::Millis;
use crate::protocol::stamp;

/// An object under reading. Absent members and nulls are no faults.
pub(super) struct Fields<'a> {
    object: &'a Map<String, Value>,
    prefix: String,
    pub(super) faults: Vec<Fault>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(object: &'a Map<String, Value>) -> Self {
        Self { object, prefix: String::new(), faults: Vec::new() }
    }

    /// A member that is there and not null.
    pub(super) fn peek(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn fault(&mut self, key: &str, kind: Kind) {
        let field = format!("{}{key}", self.prefix);
        self.faults.push(Fault { field, kind });
    }

    fn take<T>(
        &mut self,
        key: &str,
        wanted: &'static str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.peek(key)?;
        let read = read(value);
        if read.is_none() {
            self.fault(key, Kind::NotA { wanted });
        }
        read
    }

    /// A string; empty if there is none.
    pub(super) fn text(&mut self, key: &str) -> String {
        self.take(key, "a string", Value::as_str).unwrap_or_default().to_owned()
    }

    pub(super) fn truth(&mut self, key: &str) -> Option<bool> {
        self.take(key, "true or false", Value::as_bool)
    }

    /// A whole number from one.
    pub(super) fn count(&mut self, key: &str) -> Option<u64> {
        let read = |value: &Value| value.as_u64().filter(|number| *number >= 1);
        self.take(key, "a whole number from 1", read)
    }

    pub(super) fn exactly(&mut self, key: &str, number: u64) {
        if self.peek(key).is_none() {
            self.fault(key, Kind::Missing { wanted: "the number 1" });
        }
        self.take(key, "the number 1", |value| value.as_u64().filter(|found| *found == number));
    }

    /// A word of a table.
    pub(super) fn one_of<T: Copy>(&mut self, key: &str, table: &[(&'static str, T)]) -> Option<T> {
        let word = self.take(key, "a string", Value::as_str)?;
        let found = table.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
        if found.is_none() {
            let wanted = table.iter().map(|(name, _)| *name).collect();
            self.fault(key, Kind::NotOneOf { found: word.to_owned(), wanted });
        }
        found
    }

    /// A stamp that must be there.
    pub(super) fn stamp(&mut self, key: &str) -> Option<Millis> {
        if self.peek(key).is_none() {
            self.fault(key, Kind::Missing { wanted: "a UTC ISO 8601 time" });
        }
        let text = self.take(key, "a UTC ISO 8601 time", Value::as_str)?;
        let read = stamp::utc(text);
        if read.is_none() {
            self.fault(key, Kind::NotUtc { found: text.to_owned() });
        }
        read
    }

    /// A list of strings.
    pub(super) fn texts(&mut self, key: &str) -> Vec<String> {
        let list = self.take(key, "a list", Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut texts = Vec::new();
        for (place, value) in list.iter().enumerate() {
            match value.as_str() {
                Some(text) => texts.push(text.to_owned()),
                None => self.fault(&format!("{key}[{place}]"), Kind::NotA { wanted: "a string" }),
            }
        }
        texts
    }

    /// An object.
    pub(super) fn inside<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let object = self.take(key, "an object", Value::as_object)?;
        Some(self.within(key, object, read))
    }

    /// A list of objects, which must be there.
    pub(super) fn each<T>(&mut self, key: &str, mut read: impl FnMut(&mut Self) -> T) -> Vec<T> {
        if self.peek(key).is_none() {
            self.fault(key, Kind::Missing { wanted: "a list" });
        }
        let list = self.take(key, "a list", Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut found = Vec::new();
        for (place, value) in list.iter().enumerate() {
            let name = format!("{key}[{place}]");
            match value.as_object() {
                Some(object) => found.push(self.within(&name, object, &mut read)),
                None => self.fault(&name, Kind::NotA { wanted: "an object" }),
            }
        }
        found
    }

    fn within<T>(
        &mut self,
        key: &str,
        object: &'a Map<String, Value>,
        read: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let prefix = format!("{}{key}.", self.prefix);
        let mut inner = Self { object, prefix, faults: std::mem::take(&mut self.faults) };
        let value = read(&mut inner);
        self.faults = inner.faults;
        value
    }
}
