//! Finds where one JSON value ends in a stream of bytes, without waiting for the stream to end, and drops the
//! middle of strings that are too long to be of use, so that a payload of any size costs little memory.

use memchr::{memchr, memchr2};

/// The longest string that is kept whole, in bytes.
const KEEP: usize = 64 * 1024;

/// Takes bytes as they come and says when a value is complete.
#[derive(Debug, Default)]
pub struct Frame {
    kept: Vec<u8>,
    depth: usize,
    inside: Inside,
    complete: bool,
    /// Bytes of the present string that were kept.
    string: usize,
    /// Hex digits of a `\\uXXXX` that are still due.
    hex: usize,
    /// The last character kept was the first half of a surrogate pair.
    half: bool,
    /// The passed-over bytes ended in an odd number of backslashes: the next is escaped.
    escaped: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// Before the value, or between tokens.
    #[default]
    Structure,
    /// A string.
    String,
    /// The character after a backslash.
    Escape,
    /// The rest of a string that is too long: only its end is looked for.
    Tail,
    /// A number or word at the top level, which only a blank or the end of the stream ends.
    Scalar,
}

impl Frame {
    /// Takes more bytes; returns true once a value is complete. Bytes after it are ignored.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        while let Some((&byte, tail)) = rest.split_first() {
            if self.complete {
                return true;
            }
            if self.inside == Inside::Tail {
                let end = self.tail(rest);
                rest = &rest[end..];
                continue;
            }
            if self.inside == Inside::String {
                let plain = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                self.keep_string(&rest[..plain]);
                if self.inside == Inside::Tail {
                    continue;
                }
                rest = &rest[plain..];
                if let Some((&byte, tail)) = rest.split_first() {
                    self.leave_string(byte);
                    rest = tail;
                }
                continue;
            }
            self.step(byte);
            rest = tail;
        }
        self.complete
    }

    /// Returns the value's text, with long strings cut.
    pub fn into_bytes(self) -> Vec<u8> {
        self.kept
    }

    /// Bytes held at present.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Tells whether the value is an object.
    pub fn is_object(&self) -> bool {
        self.kept.first() == Some(&b'{')
    }

    /// Tells whether nothing but blanks has come.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    fn step(&mut self, byte: u8) {
        match (self.inside, byte) {
            (Inside::Escape, _) => {
                self.inside = Inside::String;
                self.kept.extend([b'\\', byte]);
                self.string += 2;
                self.hex = if byte == b'u' { 4 } else { 0 };
                self.half = false;
                return;
            }
            (Inside::Scalar, b' ' | b'\n' | b'\r' | b'\t') => self.complete = true,
            // A byte-order mark or blanks before the value.
            (Inside::Structure, b' ' | b'\n' | b'\r' | b'\t' | 0xef | 0xbb | 0xbf)
                if self.kept.is_empty() =>
            {
                return;
            }
            (Inside::Structure, b'"') => {
                self.inside = Inside::String;
                self.string = 0;
                self.hex = 0;
                self.half = false;
            }
            (Inside::Structure, b'{' | b'[') => self.depth += 1,
            (Inside::Structure, b'}' | b']') => {
                self.depth = self.depth.saturating_sub(1);
                self.complete = self.depth == 0;
            }
            (Inside::Structure, _) if self.depth == 0 => self.inside = Inside::Scalar,
            _ => {}
        }
        self.kept.push(byte);
    }

    /// Keeps the beginning of a string; cuts between characters only, and never between the halves of a pair.
    fn keep_string(&mut self, bytes: &[u8]) {
        let (digits, bytes) = bytes.split_at(self.hex.min(bytes.len()));
        self.kept.extend_from_slice(digits);
        self.hex -= digits.len();
        self.string += digits.len();
        if !digits.is_empty() && self.hex == 0 {
            self.half = matches!(
                self.kept[self.kept.len() - 4..],
                [b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', ..]
            );
        }
        if bytes.is_empty() {
            return;
        }
        let mut most = bytes.len().min(KEEP.saturating_sub(self.string));
        while most < bytes.len() && bytes[most] & 0xc0 == 0x80 {
            most += 1;
        }
        self.kept.extend_from_slice(&bytes[..most]);
        self.string += most;
        self.half &= most == 0;
        if most < bytes.len() {
            self.inside = Inside::Tail;
            self.escaped = false;
        }
    }

    /// Passes over the rest of a string that is too long. Returns how many bytes were taken.
    fn tail(&mut self, bytes: &[u8]) -> usize {
        let mut from = 0;
        while let Some(quote) = memchr(b'"', &bytes[from..]) {
            let at = from + quote;
            if !self.is_escaped(&bytes[..at]) {
                self.leave_string(b'"');
                return at + 1;
            }
            from = at + 1;
        }
        self.escaped = self.is_escaped(bytes);
        bytes.len()
    }

    /// Tells whether what follows these bytes of a string is escaped.
    fn is_escaped(&self, bytes: &[u8]) -> bool {
        let slashes = bytes.iter().rev().take_while(|byte| **byte == b'\\').count();
        let carried = usize::from(slashes == bytes.len() && self.escaped);
        (slashes + carried) % 2 == 1
    }

    fn leave_string(&mut self, byte: u8) {
        if byte == b'\\' {
            let is_long = self.string >= KEEP && self.hex == 0 && !self.half;
            self.inside = if is_long { Inside::Tail } else { Inside::Escape };
            self.escaped = is_long;
            return;
        }
        self.kept.push(byte);
        self.inside = Inside::Structure;
        self.complete = self.depth == 0;
    }
}

#[cfg(test)]
mod tests;
