//! Files that no agent of the pipeline reads or writes (`kiln-protocol`, "Security"), and where a tool call names one.
//!
//! The globs are the protocol's, to the letter: `.env.example` is none of them, nor is `id_rsa.pub`. Capitals do not
//! make another name, since there are file systems on which they do not.

mod braces;
mod wildcard;

use super::shell;
use crate::protocol::sketch::Sketch;

/// The protocol's list.
pub const GLOBS: [&str; 7] = [".env", "*.pem", "*_rsa", "*.key", "credentials.json", "secrets.*", ".npmrc"];

/// A place that a tool call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The path, as it is written.
    pub path: String,
}

/// The glob that a file's path matches by its last component; `.`, `..` and trailing slashes are resolved first.
pub fn glob_of(path: &str) -> Option<&'static str> {
    let name = last(path).to_ascii_lowercase();
    GLOBS.into_iter().find(|glob| fits(glob, &name))
}

impl Named {
    /// The glob that the place matches as it is written.
    pub fn glob(&self) -> Option<&'static str> {
        let name = last(&self.path).to_ascii_lowercase();
        let direct = GLOBS.into_iter().find(|glob| fits(glob, &name));
        direct.or_else(|| {
            let pattern = name.contains(['*', '?', '[']).then(|| wildcard::read(&name))?;
            GLOBS.into_iter().find(|glob| wildcard::may_stand_for(&pattern, glob))
        })
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

fn fits(glob: &str, name: &str) -> bool {
    match (glob.strip_prefix('*'), glob.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == glob,
    }
}

/// Places of one call at most.
const MOST: usize = 16 * 1024;

/// The places that a tool call names. Tools that name no place give none.
pub fn named(tool: &str, input: &Sketch) -> Vec<Named> {
    let fields: &[&str] = match tool {
        "Read" | "Write" | "Edit" | "MultiEdit" => &["file_path"],
        "NotebookEdit" | "NotebookRead" => &["notebook_path", "file_path"],
        "Grep" => &["path"],
        "Glob" => &["path", "pattern"],
        // Servers of tools call what they read and write by these names.
        tool if tool.starts_with("mcp__") => &["file_path", "path", "source", "destination"],
        _ => &[],
    };
    let is_server = tool.starts_with("mcp__");
    let mut paths: Vec<String> = match tool {
        "Bash" | "Monitor" => of_command(input.get("command").text()),
        // There a backslash parts folders.
        "PowerShell" => of_command(&input.get("command").text().replace('\\', "/")),
        "Grep" => of_globs(input.get("glob").text()),
        _ if is_server => {
            ["command", "cmd"].iter().flat_map(|name| of_command(input.get(name).text())).collect()
        }
        _ => Vec::new(),
    };
    let single = fields.iter().filter_map(|name| input.get(name).word());
    let listed = input.get("paths").list().iter().filter(|_| is_server).filter_map(Sketch::word);
    for path in single.chain(listed) {
        // What a file is really called may have braces; of a search they are never a part.
        if tool == "Glob" { paths.extend(braces::expand(path)) } else { paths.push(path.to_owned()) }
    }
    paths.into_iter().take(MOST).map(|path| Named { path }).collect()
}

fn of_command(command: &str) -> Vec<String> {
    let words = shell::words(command);
    let words = words.iter().flat_map(|word| braces::expand(word));
    words.flat_map(|word| shell::parts(&word).map(ToOwned::to_owned).collect::<Vec<_>>()).take(MOST).collect()
}

/// The globs of a search, parted by blanks and commas; what one that begins with `!` leaves out is not named.
fn of_globs(globs: &str) -> Vec<String> {
    let (mut depth, mut parts) = (0_usize, vec![String::new()]);
    for letter in globs.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match parts.last_mut() {
            Some(part) if !(letter.is_whitespace() || (letter == ',' && depth == 0)) => part.push(letter),
            _ => parts.push(String::new()),
        }
    }
    parts.iter().filter(|part| !part.starts_with('!')).flat_map(|part| braces::expand(part)).collect()
}

#[cfg(test)]
mod tests;
