//! A short hash that is kept: it is the same on every machine and in every version of this program.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// Hashes texts, each apart from the next. Sixteen hexadecimal digits.
pub fn digest(texts: &[&str]) -> String {
    let mut hasher = SipHasher13::new();
    for text in texts {
        hasher.write(text.as_bytes());
        // No text holds this byte.
        hasher.write(&[0xff]);
    }
    format!("{:016x}", hasher.finish())
}

/// Hashes bytes. Sixteen hexadecimal digits.
pub fn of_bytes(bytes: &[u8]) -> String {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::{digest, of_bytes};

    #[test]
    fn what_was_kept_by_another_version_is_the_same() {
        assert_eq!(of_bytes(b""), "d1fba762150c532c");
        assert_eq!(of_bytes(b"wisdom"), of_bytes(b"wisdom"));
        assert_ne!(digest(&["a", "b"]), digest(&["ab"]));
        assert_ne!(digest(&["a", "b"]), digest(&["a", "b", ""]));
    }
}
