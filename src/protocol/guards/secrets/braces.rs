//! Braces in a word: `a.{pem,crt}` is two names.

/// Words that one is made into at most.
const MOST: usize = 64;
/// The longest word whose braces are followed, in bytes.
const LONGEST: usize = 4096;

/// The words that a word with braces stands for. One with too many is taken apart at each brace and comma.
pub(super) fn expand(whole: &str) -> Vec<String> {
    if !whole.contains('{') || whole.len() > LONGEST {
        return vec![whole.to_owned()];
    }
    let (mut done, mut open) = (Vec::new(), vec![whole.to_owned()]);
    while let Some(word) = open.pop() {
        match alternatives(&word) {
            None => done.push(word),
            Some(words) if done.len() + open.len() + words.len() <= MOST => {
                open.extend(words.into_iter().rev());
            }
            Some(_) => return whole.split(['{', '}', ',']).map(ToOwned::to_owned).collect(),
        }
    }
    done
}

/// The words that the first pair of braces with a comma in it makes; none = there is no such pair.
fn alternatives(word: &str) -> Option<Vec<String>> {
    let opens = word.match_indices('{').map(|(place, _)| place).take(MOST);
    opens.into_iter().find_map(|open| {
        let (mut depth, mut start, mut parts) = (0_usize, open + 1, Vec::new());
        for (place, byte) in word.bytes().enumerate().skip(open) {
            match byte {
                b'{' => depth += 1,
                b',' if depth == 1 => {
                    parts.push(&word[start..place]);
                    start = place + 1;
                }
                b'}' if depth == 1 => {
                    parts.push(&word[start..place]);
                    let (before, after) = (&word[..open], &word[place + 1..]);
                    let words = || parts.iter().map(|part| format!("{before}{part}{after}")).collect();
                    return (parts.len() > 1).then(words);
                }
                b'}' => depth -= 1,
                _ => {}
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_in_braces_is_several() {
        let table: [(&str, &[&str]); 9] = [
            ("a.{pem,crt}", &["a.pem", "a.crt"]),
            ("{a,b}.pem", &["a.pem", "b.pem"]),
            (".env{,.bak}", &[".env", ".env.bak"]),
            ("{a,{b,c}d}", &["a", "bd", "cd"]),
            ("{a}{b,c}", &["{a}b", "{a}c"]),
            ("${a}", &["${a}"]),
            ("{", &["{"]),
            ("{a,b", &["{a,b"]),
            ("", &[""]),
        ];
        for (word, wanted) in table {
            assert_eq!(expand(word), wanted, "{word}");
        }
        let many = "{a,b}".repeat(40);
        assert!(expand(&many).len() < 200, "{}", expand(&many).len());
        assert!(expand(&format!("{many}{{.env,x}}")).iter().any(|word| word == ".env"));
        expand(&"{".repeat(4000));
    }
}
