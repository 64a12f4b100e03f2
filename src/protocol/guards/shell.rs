//! The words of a shell command, as far as they can name a file. No shell is imitated: variables, wildcards and what a
//! program makes of its own texts stay what they are.
//!
//! Seen are quotes, escapes, redirections, command substitutions, `sh -c` and `eval`. Passed over are comments, the body
//! of a here-document, texts for `echo` and `printf`, programs for an interpreter (`python -c`), what a program searches
//! for or leaves out (`operands`), and every quoted word with a blank in it: those are texts, not names.

mod operands;

/// Words that are read of a command, before the rest of it is passed over.
const MOST: usize = 8 * 1024;
/// Commands within commands.
const DEEPEST: usize = 6;

/// A word as it was read.
#[derive(Debug, Clone, Default)]
struct Word {
    text: String,
    quoted: bool,
    /// It is where a redirection leads.
    target: bool,
    /// A brace stands in it outside of quotes: a shell may make several words of it.
    braced: bool,
}

/// The words of a command that can name a file, without their quotes.
pub fn words(command: &str) -> Vec<String> {
    let mut found = Found::default();
    read(command, DEEPEST, &mut found);
    found.words
}

/// One program that a command runs, with what it is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its name without folders.
    pub program: String,
    /// The words after it.
    pub words: Vec<String>,
}

/// The programs that a command runs, those of its own texts (`sh -c`) and substitutions included.
pub fn commands(command: &str) -> Vec<Command> {
    let mut found = Found::default();
    read(command, DEEPEST, &mut found);
    found.commands
}

/// What was read so far.
#[derive(Default)]
struct Found {
    words: Vec<String>,
    commands: Vec<Command>,
}

/// A word and its parts: `--env-file=.env`, `host:.env`, `@.env` name what stands behind the sign.
pub fn parts(word: &str) -> impl Iterator<Item = &str> {
    let whole = std::iter::once(word).filter(|word| !word.is_empty());
    let is_variable = word.contains("${");
    let is_end = move |c: char| matches!(c, '=' | ':' | ',' | '@') || (is_variable && matches!(c, '{' | '}'));
    let parts = word.split(is_end).filter(move |part| !part.is_empty() && *part != word);
    whole.chain(parts)
}

struct Reader<'a> {
    letters: std::iter::Peekable<std::str::Chars<'a>>,
    word: Option<Word>,
    /// The words of the simple command that is being read.
    command: Vec<Word>,
    /// Words that end here-documents whose bodies follow, and whether tabs before them count.
    documents: Vec<String>,
    depth: usize,
}

fn read(command: &str, depth: usize, found: &mut Found) {
    let mut reader = Reader {
        letters: command.chars().peekable(),
        word: None,
        command: Vec::new(),
        documents: Vec::new(),
        depth,
    };
    while let Some(letter) = reader.letters.next() {
        if found.words.len() > MOST {
            return;
        }
        reader.step(letter, found);
    }
    reader.end_command(found);
}

impl Reader<'_> {
    fn step(&mut self, letter: char, found: &mut Found) {
        match letter {
            '\\' => match self.letters.next() {
                Some('\n') | None => {}
                Some(next) => self.push(next),
            },
            '\'' => {
                self.quote();
                while let Some(next) = self.letters.next().filter(|next| *next != '\'') {
                    self.push(next);
                }
            }
            '"' => self.double(found),
            '$' if matches!(self.letters.peek(), Some('\'' | '"')) => {}
            '#' if self.word.is_none() => while self.letters.next_if(|next| *next != '\n').is_some() {},
            '\n' => {
                self.end_command(found);
                self.skip_documents();
            }
            ';' | '|' | '&' | '(' | ')' | '`' => self.end_command(found),
            '{' | '}' => {
                self.push(letter);
                self.word.get_or_insert_default().braced = true;
            }
            '<' if self.letters.peek() == Some(&'<') => self.document(),
            '<' | '>' => {
                self.end_word();
                while self.letters.next_if(|next| matches!(next, '>' | '|' | '&')).is_some() {}
                while self.letters.next_if(|next| matches!(next, ' ' | '\t')).is_some() {}
                self.word = Some(Word { target: true, ..Word::default() });
            }
            letter if letter.is_whitespace() => self.end_word(),
            letter => self.push(letter),
        }
    }

    fn push(&mut self, letter: char) {
        self.word.get_or_insert_default().text.push(letter);
    }

    fn quote(&mut self) {
        self.word.get_or_insert_default().quoted = true;
    }

    fn double(&mut self, found: &mut Found) {
        self.quote();
        while let Some(letter) = self.letters.next() {
            match letter {
                '"' => return,
                '\\' => {
                    if let Some(next) = self.letters.next() {
                        self.push(next);
                    }
                }
                '`' => {
                    let mut inner = String::new();
                    while let Some(next) = self.letters.next().filter(|next| *next != '`') {
                        inner.push(next);
                    }
                    self.within(&inner, found);
                }
                '$' if self.letters.peek() == Some(&'(') => {
                    let inner = self.parentheses();
                    self.within(&inner, found);
                }
                letter => self.push(letter),
            }
        }
    }

    /// Takes what stands between this parenthesis and its own end.
    fn parentheses(&mut self) -> String {
        let (mut inner, mut open) = (String::new(), 0_usize);
        for letter in self.letters.by_ref() {
            match letter {
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                break;
            }
            inner.push(letter);
        }
        inner.chars().skip(1).collect()
    }

    fn within(&mut self, command: &str, found: &mut Found) {
        if self.depth > 0 {
            read(command, self.depth - 1, found);
        }
    }

    /// `<<END`: the lines up to END are a text. `<<<` is a word like any other.
    fn document(&mut self) {
        self.end_word();
        self.letters.next();
        if self.letters.next_if_eq(&'<').is_some() {
            return;
        }
        self.letters.next_if_eq(&'-');
        while self.letters.next_if(|next| matches!(next, ' ' | '\t')).is_some() {}
        let mut end = String::new();
        while let Some(letter) =
            self.letters.next_if(|next| !next.is_whitespace() && !";|&<>()".contains(*next))
        {
            if !matches!(letter, '\'' | '"' | '\\') {
                end.push(letter);
            }
        }
        if !end.is_empty() {
            self.documents.push(end);
        }
    }

    fn skip_documents(&mut self) {
        for end in std::mem::take(&mut self.documents) {
            loop {
                let mut line = String::new();
                let mut is_last = true;
                for letter in self.letters.by_ref() {
                    if letter == '\n' {
                        is_last = false;
                        break;
                    }
                    line.push(letter);
                }
                if is_last || line.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take().filter(|word| word.quoted || !word.text.is_empty()) {
            self.command.push(word);
        }
    }

    /// The simple command is whole: takes the words that can name a file.
    fn end_command(&mut self, found: &mut Found) {
        self.end_word();
        let words = std::mem::take(&mut self.command);
        let (mut program, mut before) = ("", "");
        let mut given = Vec::new();
        let mut nameless = Vec::new();
        for (place, word) in words.iter().enumerate() {
            let text = word.text.as_str();
            if word.target {
                found.words.extend(Some(text.to_owned()).filter(|text| !text.is_empty()));
                continue;
            }
            let is_program =
                matters(program) && !text.is_empty() && !text.starts_with('-') && !is_assignment(text);
            if is_program {
                program = base(text);
            }
            if is_program {
                given.clear();
                // One that only runs another has no words of its own.
                nameless = vec![false; if matters(program) { 0 } else { place + 1 }];
                if !matters(program) {
                    nameless.extend(operands::nameless(&program.to_ascii_lowercase(), &words[place + 1..]));
                }
                found.words.push(text.to_owned());
            } else if is_command_text(program, before, text) {
                self.within(text, found);
            } else {
                given.push(text.to_owned());
                if !text.is_empty()
                    && !nameless.get(place).copied().unwrap_or_default()
                    && !is_text(program, before, word)
                {
                    found.words.push(text.to_owned());
                }
            }
            before = text;
        }
        if !program.is_empty() {
            found.commands.push(Command { program: program.to_owned(), words: given });
        }
    }
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Words before the program proper: of the shell, and programs that run another.
const BEFORE: [&str; 22] = [
    "", "!", "{", "}", "if", "then", "else", "elif", "do", "while", "until", "time", "sudo", "env",
    "command", "exec", "nohup", "nice", "timeout", "xargs", "stdbuf", "builtin",
];

/// Tells whether the program that was read so far only runs another, or is a number that such a one takes.
fn matters(program: &str) -> bool {
    BEFORE.contains(&program) || program.starts_with(|c: char| c.is_ascii_digit())
}

const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "ksh", "ash"];

/// A word that is itself a command.
fn is_command_text(program: &str, before: &str, text: &str) -> bool {
    let is_option = before.starts_with('-') && !before.starts_with("--") && before.ends_with('c');
    program == "eval" || (is_option && SHELLS.contains(&program) && !text.is_empty())
}

/// A word that is a text: it names nothing.
fn is_text(program: &str, before: &str, word: &Word) -> bool {
    if word.quoted && word.text.contains(char::is_whitespace) {
        return true;
    }
    match program {
        "echo" | "printf" => true,
        _ => {
            let is_interpreter = ["python", "node", "ruby", "perl", "php", "deno", "bun"]
                .iter()
                .any(|name| program.starts_with(name));
            is_interpreter && matches!(before, "-c" | "-e" | "-p" | "-pe" | "-ne" | "--eval" | "--print")
        }
    }
}

#[cfg(test)]
mod tests;
