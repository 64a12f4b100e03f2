//! What the prose of an artifact affirms and what it denies, clause by clause. No language is understood: a few words that
//! deny, and what they can be about.

/// Words read of one text at most.
const MOST: usize = 2048;

/// The clauses of a text, each as its words in lower case. What stands in parentheses is a clause of its own, and the one
/// around it goes on behind it.
pub fn clauses(text: &str) -> Vec<Vec<String>> {
    let mut reader = Reader::default();
    let text = text.to_lowercase().replace('’', "'").replace("n/a", "none");
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_end = letters.peek().is_none_or(|next| next.is_whitespace());
        match letter {
            letter if letter.is_alphanumeric() || matches!(letter, '-' | '_' | '\'') => {
                reader.word.push(letter);
            }
            '.' if !is_end => reader.word.push('.'),
            '(' => reader.open(),
            ')' => reader.close(),
            ',' | ';' | '.' | '!' | '?' | '\n' | '|' | '—' | '–' => reader.end(),
            _ => reader.end_word(),
        }
        if reader.count > MOST {
            break;
        }
    }
    while !reader.outer.is_empty() {
        reader.close();
    }
    reader.end();
    reader.done
}

#[derive(Default)]
struct Reader {
    word: String,
    clause: Vec<String>,
    outer: Vec<Vec<String>>,
    done: Vec<Vec<String>>,
    count: usize,
}

impl Reader {
    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let word = word.trim_matches(['-', '\'', '.']);
        match word {
            "" => {}
            "but" | "while" | "plus" | "however" | "although" | "though" | "yet" => self.end(),
            // "No keyboard and visual behaviour" denies both.
            "and" if !(self.clause.len() <= 3 && self.clause.first().is_some_and(|word| denies(word))) => {
                self.end();
            }
            word => {
                self.count += 1;
                self.clause.push(word.to_owned());
            }
        }
    }

    fn end(&mut self) {
        self.end_word();
        let clause = std::mem::take(&mut self.clause);
        if !clause.is_empty() {
            self.done.push(clause);
        }
    }

    fn open(&mut self) {
        self.end_word();
        self.outer.push(std::mem::take(&mut self.clause));
    }

    fn close(&mut self) {
        self.end();
        self.clause = self.outer.pop().unwrap_or_default();
    }
}

/// Tells whether a word denies what follows or precedes it.
fn denies(word: &str) -> bool {
    matches!(
        word,
        "no" | "not"
            | "never"
            | "none"
            | "nothing"
            | "without"
            | "neither"
            | "nor"
            | "non"
            | "cannot"
            | "lack"
            | "lacks"
            | "lacking"
            | "excluding"
            | "except"
    ) || word.ends_with("n't")
}

/// Faults: who finds none of them has looked.
const FAULTS: [&str; 24] = [
    "error",
    "failure",
    "failed",
    "fail",
    "regression",
    "warning",
    "issue",
    "problem",
    "bug",
    "glitch",
    "glitche",
    "flake",
    "flaky",
    "violation",
    "crash",
    "crashe",
    "difference",
    "diff",
    "leak",
    "skipped",
    "ignored",
    "finding",
    "shift",
    "longer",
];

fn is_fault(word: &str) -> bool {
    FAULTS.iter().any(|fault| word == *fault || word.strip_suffix('s') == Some(fault))
}

/// Tells whether a clause denies something, other than that something was wrong.
pub fn is_denial(clause: &[String]) -> bool {
    clause.iter().enumerate().any(|(place, word)| {
        let next = &clause[place + 1..];
        denies(word) && !next.iter().take(3).any(|word| is_fault(word))
    })
}

/// Words that may stand between a word that denies and what it is about.
const BETWEEN: [&str; 40] = [
    "a",
    "an",
    "the",
    "any",
    "real",
    "actual",
    "live",
    "use",
    "uses",
    "using",
    "of",
    "in",
    "by",
    "with",
    "via",
    "need",
    "needs",
    "needed",
    "require",
    "requires",
    "involve",
    "involves",
    "touch",
    "touches",
    "to",
    "for",
    "run",
    "runs",
    "such",
    "other",
    "behaviour",
    "behavior",
    "change",
    "changes",
    "test",
    "tests",
    "tested",
    "or",
    "and",
    "nor",
];

/// Tells whether the word at a place is itself denied: `no browser behaviour`, `browser: not needed`. Not so in `no visual
/// regressions`, nor in `is never lost in the browser`. `is_alike` says which other words may stand between.
pub fn is_denied(clause: &[String], place: usize, is_alike: &dyn Fn(&str) -> bool) -> bool {
    let is_between = |word: &str| BETWEEN.contains(&word) || is_alike(word);
    let before = clause[..place].iter().rev().find(|word| !is_between(word));
    let after: Vec<&str> =
        clause[place + 1..].iter().map(String::as_str).skip_while(|word| is_between(word)).collect();
    if before.is_some_and(|word| denies(word)) {
        return !after.first().is_some_and(|word| is_fault(word));
    }
    let after = match after.as_slice() {
        ["is" | "are" | "was" | "were" | "does" | "do", rest @ ..] | rest => rest,
    };
    let is_aside = |word: &&str| {
        [
            "needed",
            "required",
            "applicable",
            "involved",
            "relevant",
            "affected",
            "touched",
            "used",
            "necessary",
        ]
        .contains(word)
    };
    match after {
        ["out", "of", "scope", ..] | ["no" | "none"] => true,
        [word, rest @ ..] if denies(word) => match rest {
            ["in", "scope", ..] => true,
            [next, ..] => is_aside(next),
            [] => word.ends_with("n't") || *word == "not",
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests;
