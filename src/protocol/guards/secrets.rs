//! Files that no agent of the pipeline reads or writes (`kiln-protocol`, "Security"), and where a tool call names one.
//!
//! The globs are the protocol's, to the letter: `.env.example` is none of them, nor is `id_rsa.pub`. Capitals do not
//! make another name, since there are file systems on which they do not.

use super::shell;
use crate::protocol::sketch::Sketch;

/// The protocol's list.
pub const GLOBS: [&str; 7] = [".env", "*.pem", "*_rsa", "*.key", "credentials.json", "secrets.*", ".npmrc"];

/// A place that a tool call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The path, as it is written.
    pub path: String,
    /// It is a word of a shell command: a leading dot is then matched only by a dot, as shells have it.
    pub shell: bool,
}

/// The glob that a file's path matches by its last component; `.`, `..` and trailing slashes are resolved first.
pub fn glob_of(path: &str) -> Option<&'static str> {
    let name = last(path).to_ascii_lowercase();
    GLOBS.into_iter().find(|glob| fits(glob, &name, false))
}

impl Named {
    /// The glob that the place matches as it is written.
    pub fn glob(&self) -> Option<&'static str> {
        let name = last(&self.path).to_ascii_lowercase();
        let direct = GLOBS.into_iter().find(|glob| fits(glob, &name, self.shell));
        direct.or_else(|| GLOBS.into_iter().find(|glob| !glob.contains('*') && may_expand(&name, glob)))
    }
}

/// The last component of a path after `.` and `..` are resolved.
fn last(path: &str) -> &str {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.last().copied().unwrap_or_default()
}

fn fits(glob: &str, name: &str, shell: bool) -> bool {
    match (glob.strip_prefix('*'), glob.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end) && !(shell && name.starts_with('.')),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == glob,
    }
}

/// Tells whether a pattern of a shell or of a search could stand for this name: `.env*`, `.e?v`, `credentials.*`. What
/// begins with a wildcard names nothing in particular.
fn may_expand(pattern: &str, name: &str) -> bool {
    let literal = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
    literal < pattern.len() && literal >= 2 && expands(pattern.as_bytes(), name.as_bytes())
}

/// Matches `*` and `?`; a bracket stands for any one letter. Goes back to the last star only, so it takes no longer than
/// the product of both lengths.
fn expands(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        let step = match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            Some(b'?') => Some(1),
            Some(b'[') => Some(pattern[p..].iter().position(|byte| *byte == b']').map_or(1, |end| end + 1)),
            Some(byte) if *byte == name[n] => Some(1),
            _ => None,
        };
        match (step, star) {
            (Some(step), _) => {
                p += step;
                n += 1;
            }
            (None, Some((at, from))) => {
                star = Some((at, from + 1));
                (p, n) = (at + 1, from + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Places of one call at most.
const MOST: usize = 16 * 1024;

/// The places that a tool call names. Tools that name no place give none.
pub fn named(tool: &str, input: &Sketch) -> Vec<Named> {
    let file = |path: &str| Named { path: path.to_owned(), shell: false };
    let fields: &[&str] = match tool {
        "Read" | "Write" | "Edit" | "MultiEdit" => &["file_path"],
        "NotebookEdit" | "NotebookRead" => &["notebook_path", "file_path"],
        "Grep" => &["path", "glob"],
        "Glob" => &["path", "pattern"],
        "Bash" => {
            let words = shell::words(input.get("command").text());
            let parts = words.iter().flat_map(|word| shell::parts(word));
            return parts.take(MOST).map(|path| Named { path: path.to_owned(), shell: true }).collect();
        }
        // Servers of tools call what they read and write by these names.
        tool if tool.starts_with("mcp__") => &["file_path", "path", "source", "destination"],
        _ => return Vec::new(),
    };
    let single = fields.iter().filter_map(|name| input.get(name).word());
    let listed =
        input.get("paths").list().iter().filter(|_| tool.starts_with("mcp__")).filter_map(Sketch::word);
    single.chain(listed).take(MOST).map(file).collect()
}

#[cfg(test)]
mod tests;
