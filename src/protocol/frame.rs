//! Finds where one JSON value ends in a stream of bytes, without waiting for the stream to end, and drops the
//! middle of strings that are too long to be of use, so that a payload of any size costs little memory.

use memchr::memchr2;

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
    /// The rest of the present string is dropped.
    cut: bool,
    /// Digits that the escape at the end of what was kept still needs.
    digits: usize,
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
            if self.inside == Inside::String {
                let plain = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                self.keep_string(&rest[..plain]);
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

    /// Tells whether nothing but blanks has come.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    fn step(&mut self, byte: u8) {
        match (self.inside, byte) {
            (Inside::Escape, _) => {
                self.inside = Inside::String;
                self.keep_escape(byte);
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
                (self.string, self.cut, self.digits) = (0, false, 0);
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

    /// Keeps the beginning of a string. What began before the limit is kept to its end, be it a character of several
    /// bytes or the digits of an escape: half of one would make the whole value unreadable.
    fn keep_string(&mut self, bytes: &[u8]) {
        if self.cut {
            return;
        }
        let (digits, bytes) = bytes.split_at(self.digits.min(bytes.len()));
        self.digits -= digits.len();
        self.keep(digits);
        let mut most = bytes.len().min(KEEP.saturating_sub(self.string));
        while most < bytes.len() && bytes[most] & 0xc0 == 0x80 {
            most += 1;
        }
        self.cut = most < bytes.len();
        self.keep(&bytes[..most]);
    }

    fn keep_escape(&mut self, byte: u8) {
        self.cut |= self.string >= KEEP;
        if !self.cut {
            self.keep(&[b'\\', byte]);
            self.digits = if byte == b'u' { 4 } else { 0 };
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        self.string += bytes.len();
    }

    fn leave_string(&mut self, byte: u8) {
        if byte == b'\\' {
            self.inside = Inside::Escape;
            return;
        }
        self.kept.push(byte);
        self.inside = Inside::Structure;
        self.complete = self.depth == 0;
    }
}

#[cfg(test)]
mod tests;
