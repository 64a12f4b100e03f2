//! What looks like a key or a token is not shown. Two measures: foreign text is masked when in doubt; words that a worker
//! wrote to be read keep what identifies a change or a class: object ids, addresses, names.

/// Stands for what is not shown.
const MASK: &str = "[masked]";

/// Beginnings of keys and tokens that are in use.
const KEYS: &[&str] = &[
    "sk-",
    "sk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "npm_",
    "hf_",
    "pypi-",
    "eyJ",
];

/// Ends of names whose values are secret, without hyphens and underscores.
const SECRETS: &[&str] = &[
    "apikey",
    "accesskey",
    "privatekey",
    "secretkey",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "credentials",
];

/// How much is taken for a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// All that is long, with letters and digits mixed.
    Doubt,
    /// Only what nobody would write as a name, an address or an object's id.
    Trust,
}

/// Masks words that look like keys or tokens: a known beginning, what follows `Bearer`, `NAME=` of a secret or a user's
/// name in an address, or long with letters and digits mixed. Names made of words, paths and ids that are made to be read
/// stay as they are.
pub(super) fn masked(text: &str, measure: Measure) -> String {
    words(&addresses(&values(text)), measure)
}

fn words(text: &str, measure: Measure) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '.');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let (mut is_after_bearer, mut is_in_address) = (false, false);
    while let Some(start) = rest.find(is_word) {
        let (between, from) = rest.split_at(start);
        let (word, after) = from.split_at(from.find(|c| !is_word(c)).unwrap_or(from.len()));
        is_in_address = !between.contains(char::is_whitespace) && (is_in_address || between.contains("://"));
        let is_bearer = is_after_bearer && between.trim().is_empty() && word.len() >= 16;
        let is_key = word.split('.').any(is_key);
        let is_random = is_random(word, |part| match measure {
            Measure::Doubt => true,
            Measure::Trust => {
                !is_object(part) && is_scrambled(part) && (!is_in_address || is_of_two_cases(part))
            }
        });
        out.push_str(between);
        out.push_str(if is_bearer || is_key || is_random { MASK } else { word });
        is_after_bearer = word.eq_ignore_ascii_case("bearer");
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Masks the values of names such as `API_KEY=`.
fn values(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('=') {
        let (before, mut value) = rest.split_at(at + 1);
        out.push_str(before);
        rest = value;
        if !is_secret_name(&before[..at]) {
            continue;
        }
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        if let Some(quote) = quote {
            out.push(quote);
            value = &value[1..];
        }
        let is_end = |c: char| match quote {
            Some(quote) => c == quote,
            None => c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '&' | ',' | ';' | ')' | ']' | '}'),
        };
        let (value, after) = value.split_at(value.find(is_end).unwrap_or(value.len()));
        out.push_str(hidden(value));
        rest = after;
    }
    out.push_str(rest);
    out
}

fn is_secret_name(before: &str) -> bool {
    let name = before.rsplit(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))).next();
    let name = name.unwrap_or_default().replace(['-', '_'], "").to_ascii_lowercase();
    SECRETS.iter().any(|secret| name.ends_with(secret))
}

/// Masks passwords in addresses: `https://name:password@host`.
fn addresses(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, from) = rest.split_at(at + 3);
        let is_end = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>');
        let (host, after) = from.split_at(from.find(is_end).unwrap_or(from.len()));
        out.push_str(before);
        match host.rsplit_once('@').and_then(|(who, host)| Some((who.split_once(':')?, host))) {
            Some(((name, password), host)) => out.extend([name, ":", hidden(password), "@", host]),
            None => out.push_str(host),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// What is shown of a secret. What stands for one, such as `$TOKEN` or `<token>`, is none.
fn hidden(value: &str) -> &str {
    let is_stand_in = value.is_empty() || value.starts_with(['$', '<', '[', '{', '*', '=', '…']);
    if is_stand_in { value } else { MASK }
}

fn is_key(part: &str) -> bool {
    let is_long = part.len() >= 24 || part.len() >= 16 && part.bytes().any(|byte| byte.is_ascii_digit());
    is_long && KEYS.iter().any(|key| part.starts_with(key))
}

/// Long, letters and digits mixed, with a long stretch that is not made of words, of which `is_one` says yes.
fn is_random(word: &str, is_one: impl Fn(&str) -> bool) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    // Ids of agents end in sixteen hexadecimal digits.
    let is_mixed = |part: &&str| {
        part.len() >= 16
            && part.bytes().any(|byte| byte.is_ascii_digit())
            && part.bytes().any(|byte| byte.is_ascii_alphabetic())
            && (part.len() >= 20 || part.bytes().any(|byte| !byte.is_ascii_hexdigit()))
    };
    let mut parts = word.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_mixed);
    word.len() >= 32 && digits >= 6 && letters >= 6 && parts.any(is_one)
}

/// The id of an object in version control, or a digest: 40 or 64 hexadecimal digits of one case; `git describe` puts a g
/// before it.
fn is_object(part: &str) -> bool {
    let is_id = |part: &str| {
        matches!(part.len(), 40 | 64)
            && part.bytes().all(|byte| byte.is_ascii_hexdigit())
            && !is_of_two_cases(part)
    };
    is_id(part) || part.strip_prefix('g').is_some_and(is_id)
}

fn is_of_two_cases(part: &str) -> bool {
    part.bytes().any(|byte| byte.is_ascii_uppercase()) && part.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Tells whether a part changes between capitals, small letters and digits more often than names do, whose words are some
/// letters long.
fn is_scrambled(part: &str) -> bool {
    let kind = |byte: u8| if byte.is_ascii_digit() { 0 } else { 1 + u8::from(byte.is_ascii_lowercase()) };
    let begins = |pair: &[u8]| match (kind(pair[0]), kind(pair[1])) {
        (1, 2) => false,
        (before, after) => before != after,
    };
    let words = 1 + part.as_bytes().windows(2).filter(|pair| begins(pair)).count();
    2 * part.len() < 7 * words
}

#[cfg(test)]
mod tests;
