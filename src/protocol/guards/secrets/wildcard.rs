//! Wildcards of a shell or of a search: whether a pattern names, among others, a file of secrets.

/// A piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// `*`.
    Any,
    /// `?`.
    One,
    /// A letter.
    Letter(u8),
    /// `[…]`: these ranges, or (true) all but them.
    Class(Vec<(u8, u8)>, bool),
}

impl Piece {
    fn fits(&self, byte: u8) -> bool {
        match self {
            Self::Any | Self::One => true,
            Self::Letter(letter) => *letter == byte,
            Self::Class(ranges, not) => ranges.iter().any(|(from, to)| (*from..=*to).contains(&byte)) != *not,
        }
    }

    /// Tells whether it stands for a few letters only: `[ef]`, not `[a-z]`.
    fn is_narrow(&self) -> bool {
        match self {
            Self::Any | Self::One => false,
            Self::Letter(_) => true,
            Self::Class(ranges, not) => {
                !not && ranges.len() <= 4 && ranges.iter().all(|(from, to)| from == to)
            }
        }
    }
}

/// Reads a pattern.
pub(super) fn read(pattern: &str) -> Vec<Piece> {
    let mut rest = pattern.as_bytes();
    let mut pieces = Vec::new();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        pieces.push(match byte {
            b'*' => Piece::Any,
            b'?' => Piece::One,
            b'[' => match class(after) {
                Some((class, after)) => {
                    rest = after;
                    class
                }
                None => Piece::Letter(b'['),
            },
            byte => Piece::Letter(*byte),
        });
    }
    pieces
}

/// A class without its opening bracket, and what follows it.
fn class(rest: &[u8]) -> Option<(Piece, &[u8])> {
    let not = matches!(rest.first(), Some(b'!' | b'^'));
    let rest = &rest[usize::from(not)..];
    // A bracket that stands first is a letter.
    let end = rest.iter().skip(1).position(|byte| *byte == b']')? + 1;
    let (mut letters, mut ranges) = (&rest[..end], Vec::new());
    while let Some((from, after)) = letters.split_first() {
        match after {
            [b'-', to, after @ ..] => {
                ranges.push((*from, *to));
                letters = after;
            }
            after => {
                ranges.push((*from, *from));
                letters = after;
            }
        }
    }
    Some((Piece::Class(ranges, not), &rest[end + 1..]))
}

/// Tells whether a pattern could stand for a file of a glob of secrets: `.env*`, `.[e]nv`, `*.[p]em`. Two letters at least
/// have to be told: what begins with a wildcard names nothing in particular.
pub(super) fn may_stand_for(pattern: &[Piece], glob: &str) -> bool {
    let told = |pieces: &[Piece]| pieces.iter().filter(|piece| piece.is_narrow()).count() >= 2;
    let is_part = |pieces: &[Piece], text: &str| {
        told(pieces)
            && !pieces.contains(&Piece::Any)
            && pieces.iter().zip(text.bytes()).all(|(piece, byte)| piece.fits(byte))
    };
    match (glob.strip_prefix('*'), glob.strip_suffix('*')) {
        (Some(end), _) => {
            pattern.len().checked_sub(end.len()).is_some_and(|start| is_part(&pattern[start..], end))
        }
        (None, Some(start)) => pattern.get(..start.len()).is_some_and(|pieces| is_part(pieces, start)),
        (None, None) => {
            let wild = pattern.iter().position(|piece| matches!(piece, Piece::Any | Piece::One));
            told(&pattern[..wild.unwrap_or(pattern.len())]) && matches(pattern, glob.as_bytes())
        }
    }
}

/// Goes back to the last star only, so it takes no longer than the product of both lengths.
fn matches(pattern: &[Piece], name: &[u8]) -> bool {
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some(Piece::Any) => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            Some(piece) if piece.fits(name[n]) => {
                p += 1;
                n += 1;
                continue;
            }
            _ => {}
        }
        let Some((at, from)) = star else { return false };
        star = Some((at, from + 1));
        (p, n) = (at + 1, from + 1);
    }
    pattern[p..].iter().all(|piece| *piece == Piece::Any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_the_names_that_it_tells() {
        let table = [
            (".env*", ".env", true),
            (".e?v", ".env", true),
            (".[e]nv", ".env", true),
            (".[ef]nv", ".env", true),
            (".[!a]nv", ".env", true),
            (".[!e]nv", ".env", false),
            (".[a-f]nv", ".env", true),
            (".[]e]nv", ".env", true),
            ("[.]env", ".env", true),
            (".[fg]nv", ".env", false),
            ("*nv", ".env", false),
            ("[a-z.]*", ".env", false),
            ("*.[p]em", "*.pem", true),
            ("a.pe?", "*.pem", true),
            ("a.???", "*.pem", false),
            ("*.*", "*.pem", false),
            ("*.m[d]", "*.pem", false),
            ("id_[r]sa", "*_rsa", true),
            ("[s]ecrets.*", "secrets.*", true),
            ("secret?.yaml", "secrets.*", true),
            ("src*", "secrets.*", false),
            ("cred*.json", "credentials.json", true),
            ("*.json", "credentials.json", false),
            ("[", ".env", false),
        ];
        for (pattern, glob, wanted) in table {
            assert_eq!(may_stand_for(&read(pattern), glob), wanted, "{pattern}: {glob}");
        }
    }
}
