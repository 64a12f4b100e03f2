//! The shape of the hooks in a settings file, and which of them are ours.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value as Node};
use serde_json::Value;

use super::super::hook_table::GUARDS;
use super::Registration;
use super::document::{Container, Document, Fault, span};

/// The file name that our handlers' commands have.
pub const PROGRAM: &str = "watchdog";
/// The first argument of our handlers.
const WORDS: [&str; 2] = ["hook", "bridge"];

/// A handler of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The event that it is registered for.
    pub event: String,
    /// The program, as it is written.
    pub command: String,
    /// `hook` or `bridge`.
    pub word: String,
    /// It holds the guards as well.
    pub guards: bool,
}

/// A group of handlers.
pub(super) struct Group {
    pub(super) range: Range<usize>,
    /// The list of handlers.
    pub(super) container: Container,
    pub(super) handlers: Vec<Found>,
    matcher: Option<String>,
}

/// A handler, as it was found.
pub(super) struct Found {
    /// Its value; null if it holds more than JSON.
    pub(super) value: Value,
    ours: Option<(String, String)>,
}

impl Found {
    pub(super) fn is_ours(&self) -> bool {
        self.ours.is_some()
    }
}

impl Group {
    pub(super) fn has_ours(&self) -> bool {
        self.handlers.iter().any(Found::is_ours)
    }

    pub(super) fn is_all_ours(&self) -> bool {
        self.handlers.iter().all(Found::is_ours)
    }

    pub(super) fn ours(&self, event: &str) -> Vec<Entry> {
        let entry = |handler: &Found| {
            let (command, word) = handler.ours.clone()?;
            let guards =
                handler.value["args"].as_array().is_some_and(|args| args.iter().any(|arg| arg == GUARDS));
            Some(Entry { event: event.to_owned(), command, word, guards })
        };
        self.handlers.iter().filter_map(entry).collect()
    }

    /// Tells whether the group matches what is wanted. No matcher, an empty one and a star are one thing.
    pub(super) fn matches_as(&self, wanted: Option<&str>) -> bool {
        let all = |matcher: Option<&str>| matches!(matcher, None | Some("" | "*"));
        let found = self.matcher.as_deref();
        found == wanted || (all(found) && all(wanted))
    }
}

/// The root and its hooks; a file that names the hooks twice has two.
pub(super) fn hooks_of<'d, 'a>(
    document: &'d Document<'a>,
) -> impl DoubleEndedIterator<Item = (&'d Object<'a>, &'d Object<'a>)> {
    let root = document.root.as_ref().and_then(Node::as_object);
    root.into_iter().flat_map(|root| {
        let hooks = root.properties.iter().filter(|property| property.name.as_str() == "hooks");
        hooks.filter_map(move |property| Some((root, property.value.as_object()?)))
    })
}

/// All events of the hooks, with their values.
pub(super) fn events<'d, 'a>(
    document: &'d Document<'a>,
) -> impl DoubleEndedIterator<Item = (&'d str, &'d Node<'a>)> {
    hooks_of(document)
        .flat_map(|(_, hooks)| hooks.properties.iter())
        .map(|property| (property.name.as_str(), &property.value))
}

/// The groups of an event. Elements that are no groups are passed over; but their places count, so each is there.
pub(super) fn groups(document: &Document, array: &Array) -> Vec<Group> {
    array.elements.iter().map(|element| group(document, element)).collect()
}

fn group(document: &Document, element: &Node) -> Group {
    let object = element.as_object();
    let list = object.and_then(|group| group.get_array("hooks"));
    Group {
        range: span(element),
        container: list
            .map_or_else(|| Container { range: span(element), children: Vec::new() }, Container::of_array),
        handlers: list.map_or_else(Vec::new, |list| {
            list.elements.iter().map(|handler| found(document, handler)).collect()
        }),
        matcher: object.and_then(|group| group.get_string("matcher")).map(|text| text.value.to_string()),
    }
}

fn found(document: &Document, handler: &Node) -> Found {
    Found {
        value: serde_json::from_str(&document.text[span(handler)]).unwrap_or(Value::Null),
        ours: handler.as_object().and_then(ours),
    }
}

/// Returns program and word of a handler of ours, in exec form or as a shell command.
fn ours(handler: &Object) -> Option<(String, String)> {
    let command = handler.get_string("command")?.value.as_ref();
    let words = match handler.get("args").map(|property| &property.value) {
        None => shell_words(command),
        Some(Node::Array(args)) => {
            let first = args.elements.first()?.as_string_lit()?;
            vec![command.to_owned(), first.value.to_string()]
        }
        Some(_) => return None,
    };
    let [program, word] = <[String; 2]>::try_from(words).ok()?;
    let name = program.rsplit('/').next().unwrap_or_default();
    (name == PROGRAM && WORDS.contains(&word.as_str())).then_some((program, word))
}

/// The first two words of a shell command, without their quotes.
fn shell_words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut letters = command.trim_start().chars().peekable();
    while letters.peek().is_some() && words.len() < 2 {
        let mut word = String::new();
        let mut quote = None;
        while let Some(letter) = letters.next() {
            match (letter, quote) {
                ('\\', None | Some('"')) => word.extend(letters.next()),
                (letter, Some(open)) if letter == open => quote = None,
                ('"' | '\'', None) => quote = Some(letter),
                (letter, None) if letter.is_whitespace() || ";&|<>()".contains(letter) => break,
                (letter, _) => word.push(letter),
            }
        }
        words.push(word);
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
    }
    words
}

/// Checks that the table can be merged into the hooks, and returns these.
pub(super) fn check<'d, 'a>(
    document: &'d Document<'a>,
    table: &[Registration],
) -> Result<Option<&'d Object<'a>>, Fault> {
    let Some(root) = &document.root else { return Ok(None) };
    let root = root.as_object().ok_or_else(|| wrong(document, root, "the file", "an object"))?;
    let Some(property) = single(document, root, "hooks")? else { return Ok(None) };
    let hooks = property.value.as_object();
    let hooks = hooks.ok_or_else(|| wrong(document, &property.value, "\"hooks\"", "an object"))?;
    for event in table.iter().map(|wanted| wanted.event.as_str()) {
        let Some(property) = single(document, hooks, event)? else { continue };
        let name = format!("\"hooks.{event}\"");
        let array = property.value.as_array();
        let array = array.ok_or_else(|| wrong(document, &property.value, &name, "a list"))?;
        for element in &array.elements {
            let name = format!("a group of {name}");
            let group = element.as_object().ok_or_else(|| wrong(document, element, &name, "an object"))?;
            let list = group.get("hooks").map(|property| &property.value);
            if let Some(list) = list.filter(|list| list.as_array().is_none()) {
                return Err(wrong(document, list, &format!("\"hooks\" of {name}"), "a list"));
            }
        }
    }
    Ok(Some(hooks))
}

/// A property that must not stand there twice: the client would take the last, a person may read the first.
fn single<'d, 'a>(
    document: &Document,
    object: &'d Object<'a>,
    name: &str,
) -> Result<Option<&'d ObjectProp<'a>>, Fault> {
    let mut found = object.properties.iter().filter(|property| property.name.as_str() == name);
    let first = found.next();
    match found.next() {
        Some(second) => {
            let fault = format!("{name:?} stands here a second time; make one of the two");
            Err(document.fault(span(second).start, &fault))
        }
        None => Ok(first),
    }
}

fn wrong(document: &Document, node: &Node, name: &str, wanted: &str) -> Fault {
    let kind = match node {
        Node::StringLit(_) => "a string",
        Node::NumberLit(_) => "a number",
        Node::BooleanLit(_) => "true or false",
        Node::Object(_) => "an object",
        Node::Array(_) => "a list",
        Node::NullKeyword(_) => "null",
    };
    document.fault(span(node).start, &format!("{name} is {kind}; {wanted} is wanted"))
}
