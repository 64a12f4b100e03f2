//! Which words after a program name no file: patterns to search for, programs for `sed`, `awk` and `jq`, messages, and what
//! is to be left out. A word that is not surely one of those counts as a name.

use super::Word;

/// How a program reads its words.
#[derive(Default)]
struct Shape {
    /// The first operand is a pattern.
    has_pattern: bool,
    /// Short options with a value.
    valued: &'static str,
    /// Long options whose value is the next word.
    long: &'static [&'static str],
    /// Options whose value is a pattern; then the first operand is none.
    patterns: &'static [&'static str],
    /// Options that make the first operand a file: the pattern is in one, or there is none.
    instead: &'static [&'static str],
    /// Options whose value is a text or is left out, and that change nothing else.
    texts: &'static [&'static str],
}

/// Long options of many programs whose value is left out of what they do.
const LEFT_OUT: [&str; 6] =
    ["--exclude", "--exclude-dir", "--ignore", "--ignore-dir", "--ignore-pattern", "--hide"];

const GREP: Shape = Shape {
    has_pattern: true,
    valued: "efmABCdD",
    long: &["--max-count", "--after-context", "--before-context", "--context", "--label", "--include"],
    patterns: &["-e", "--regexp"],
    instead: &["-f", "--file"],
    texts: &[],
};

const RIPGREP: Shape = Shape {
    valued: "efmABCgtTEjMrd",
    long: &[
        "--max-count",
        "--after-context",
        "--before-context",
        "--context",
        "--glob",
        "--iglob",
        "--type",
        "--type-not",
        "--encoding",
        "--threads",
        "--max-columns",
        "--replace",
        "--max-depth",
        "--ignore-file",
        "--pre",
        "--sort",
        "--sortr",
        "--color",
        "--colors",
        "--engine",
    ],
    instead: &["-f", "--file", "--files", "--type-list"],
    texts: &["-r", "--replace"],
    ..GREP
};

const SILVER: Shape = Shape {
    valued: "ABCmGp",
    long: &[
        "--after",
        "--before",
        "--context",
        "--max-count",
        "--depth",
        "--file-search-regex",
        "--path-to-ignore",
    ],
    patterns: &["--match"],
    instead: &[],
    ..GREP
};

const SED: Shape = Shape {
    has_pattern: true,
    valued: "efl",
    long: &[],
    patterns: &["-e", "--expression"],
    instead: &["-f", "--file"],
    texts: &[],
};

const AWK: Shape = Shape {
    has_pattern: true,
    valued: "Fvfei",
    long: &["--field-separator", "--assign"],
    patterns: &["-e", "--source"],
    instead: &["-f", "--file"],
    texts: &[],
};

const JQ: Shape = Shape {
    has_pattern: true,
    valued: "Lf",
    long: &["--indent"],
    patterns: &[],
    instead: &["-f", "--from-file"],
    texts: &[],
};

fn shape(program: &str, command: &str) -> Shape {
    match (program, command) {
        ("grep" | "egrep" | "fgrep" | "zgrep", _) => GREP,
        ("git", "grep") => Shape { valued: "efmABC", ..GREP },
        ("rg", _) => RIPGREP,
        ("ag" | "ack", _) => SILVER,
        ("sed" | "gsed", _) => SED,
        ("awk" | "gawk" | "mawk" | "nawk", _) => AWK,
        ("jq" | "yq" | "gojq" | "jaq", _) => JQ,
        ("git", "commit" | "tag" | "merge" | "stash" | "notes") => {
            Shape { valued: "mFCc", texts: &["-m", "--message"], ..Shape::default() }
        }
        ("git", "log" | "show" | "diff" | "shortlog" | "whatchanged" | "rev-list" | "reflog") => {
            Shape { valued: "SGnL", texts: &["-S", "-G", "--grep", "--author"], ..Shape::default() }
        }
        ("git", "clean") => Shape { valued: "e", texts: &["-e"], ..Shape::default() },
        ("git", "ls-files") => Shape { valued: "xX", texts: &["-x"], ..Shape::default() },
        ("gh", _) => Shape {
            valued: "qtb",
            texts: &["-q", "--jq", "-t", "--template", "--title", "-b", "--body"],
            ..Shape::default()
        },
        ("tree" | "ls", _) => Shape { valued: "I", texts: &["-I"], ..Shape::default() },
        ("fd" | "fdfind", _) => Shape { valued: "E", texts: &["-E"], ..Shape::default() },
        _ => Shape::default(),
    }
}

/// Tells of each word after a program whether it names no file.
pub(super) fn nameless(program: &str, words: &[Word]) -> Vec<bool> {
    let mut marks = vec![false; words.len()];
    let (command, start) = if program == "git" { git(words) } else { ("", 0) };
    match program {
        "find" => left_out_by_find(words, &mut marks),
        "zip" => left_out_by_zip(words, &mut marks),
        "select-string" | "sls" => searched_by_powershell(words, &mut marks),
        _ => mark(&shape(program, command), program, words, start, &mut marks),
    }
    for (word, mark) in words.iter().zip(&mut marks) {
        // A shell makes several words of one in braces, and the second is none of these.
        *mark &= !word.target && !word.braced;
    }
    marks
}

fn mark(shape: &Shape, program: &str, words: &[Word], start: usize, marks: &mut [bool]) {
    let (mut is_open, mut only_operands) = (shape.has_pattern, false);
    let next = |place: usize| (place + 1..words.len()).find(|next| !words[*next].target);
    let mut place = start;
    while place < words.len() {
        let text = words[place].text.as_str();
        let here = place;
        place += 1;
        if words[here].target {
            continue;
        }
        if only_operands || !text.starts_with('-') || text == "-" {
            let is_command = program == "yq" && matches!(text, "e" | "eval" | "ea" | "eval-all");
            let is_suffix = program == "sed" && text.is_empty();
            if is_open && !is_command && !is_suffix {
                (marks[here], is_open) = (true, false);
            }
            marks[here] |= is_left_out(text);
            continue;
        }
        if text == "--" {
            only_operands = true;
            continue;
        }
        // A name, and a text or a file for it.
        let of_name = match text {
            "--arg" | "--argjson" => 2,
            "--slurpfile" | "--rawfile" => 1,
            _ => 0,
        };
        if of_name > 0 && shape.valued == JQ.valued {
            marks.iter_mut().skip(place).take(of_name).for_each(|mark| *mark = true);
            place += 2;
            continue;
        }
        let Some((option, value)) = option(shape, text) else { continue };
        let option = option.as_str();
        is_open &= !shape.patterns.contains(&option) && !shape.instead.contains(&option);
        let is_text = shape.patterns.contains(&option)
            || shape.texts.contains(&option)
            || LEFT_OUT.contains(&option)
            || option.eq_ignore_ascii_case("-exclude");
        match value {
            Some(value) => marks[here] |= is_text || value.starts_with('!'),
            None if is_text || shape.long.contains(&option) || is_valued(shape, option) => {
                if let Some(next) = next(here) {
                    marks[next] |= is_text || words[next].text.starts_with('!');
                    place = next + 1;
                }
            }
            None => {}
        }
    }
}

fn is_valued(shape: &Shape, option: &str) -> bool {
    let is_short = option.len() == 2 && shape.valued.contains(&option[1..]);
    is_short || shape.texts.contains(&option) || matches!(option, "--file" | "--from-file" | "--regexp")
}

/// The option of a word that counts, with the value that is glued to it: `--file=x`, `-rnex`.
fn option<'a>(shape: &Shape, text: &'a str) -> Option<(String, Option<&'a str>)> {
    if text.starts_with("--") || text.eq_ignore_ascii_case("-exclude") {
        return Some(match text.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value)),
            None => (text.to_owned(), None),
        });
    }
    for (place, letter) in text.char_indices().skip(1) {
        // What follows `-i` is the suffix of a copy.
        if letter == 'i' && shape.valued == SED.valued {
            return None;
        }
        if shape.valued.contains(letter) {
            let glued = &text[place + letter.len_utf8()..];
            return Some((format!("-{letter}"), Some(glued).filter(|glued| !glued.is_empty())));
        }
    }
    None
}

/// The command of `git`, and where its own words begin.
fn git(words: &[Word]) -> (&str, usize) {
    let mut place = 0;
    while let Some(word) = words.get(place) {
        match word.text.as_str() {
            "-C" | "-c" | "--git-dir" | "--work-tree" => place += 2,
            text if text.starts_with('-') => place += 1,
            text => return (text, place + 1),
        }
    }
    ("", words.len())
}

/// A path that `git` is to leave out.
fn is_left_out(text: &str) -> bool {
    [":!", ":^", ":(exclude)"].iter().any(|sign| text.starts_with(sign))
}

fn left_out_by_find(words: &[Word], marks: &mut [bool]) {
    for (place, pair) in words.windows(2).enumerate() {
        let is_test = matches!(
            pair[0].text.as_str(),
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename" | "-regex" | "-iregex"
        );
        let is_not =
            place.checked_sub(1).is_some_and(|before| matches!(words[before].text.as_str(), "!" | "-not"));
        let is_pruned = words.get(place + 2).is_some_and(|word| word.text == "-prune");
        marks[place + 1] |= is_test && (is_not || is_pruned);
    }
}

fn left_out_by_zip(words: &[Word], marks: &mut [bool]) {
    let mut is_left_out = false;
    for (word, mark) in words.iter().zip(marks) {
        let is_option = word.text.starts_with('-');
        is_left_out = if is_option { word.text == "-x" || word.text == "--exclude" } else { is_left_out };
        *mark = is_left_out && !is_option;
    }
}

fn searched_by_powershell(words: &[Word], marks: &mut [bool]) {
    let mut is_open = !words.iter().any(|word| word.text.eq_ignore_ascii_case("-pattern"));
    let mut before = String::new();
    for (word, mark) in words.iter().zip(marks) {
        let text = word.text.to_ascii_lowercase();
        match before.as_str() {
            "-pattern" | "-exclude" => *mark = true,
            before if before.starts_with('-') || text.starts_with('-') => {}
            _ => *mark = std::mem::take(&mut is_open),
        }
        before = text;
    }
}
