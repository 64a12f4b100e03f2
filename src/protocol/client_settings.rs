//! The client's settings file (`.claude/settings.json`): text in, text out. Our hooks are merged into what is
//! there and taken out again; everything else keeps its bytes, down to order, indentation and comments.
//!
//! The file is never written anew from parsed values. An edit is a few splices at the places that the parser
//! names, and what a removal cuts is what an insertion put in, so that one undoes the other. The only thing that
//! cannot be seen afterwards is what an *empty* container looked like before; that comes from the backup.

mod document;
mod shape;
mod splice;
mod style;

use jsonc_parser::ast::{Array, Object, Value as Node};
use serde_json::{Map, Value, json};

pub use self::document::Fault;
use self::document::{Container, Document, Level};
pub use self::shape::{Entry, PROGRAM};
use self::shape::{Group, events, groups, hooks_of};
use self::splice::{Edit, append, apply, remove};

/// One event's registration: one group of handlers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The event's name.
    pub event: String,
    /// What the group matches; none = everything.
    pub matcher: Option<String>,
    /// Its handlers, in order.
    pub handlers: Vec<Handler>,
}

/// One command that the client runs for an event, in exec form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handler {
    /// The program's path.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// It runs beside the session and wakes it by exit code 2.
    pub rewake: bool,
    /// The client ends it after this many seconds.
    pub timeout: u64,
}

impl Handler {
    /// The handler as the settings file holds it.
    pub fn value(&self) -> Value {
        let mut value = json!({ "type": "command", "command": self.command, "args": self.args });
        if self.rewake {
            value["asyncRewake"] = Value::Bool(true);
        }
        value["timeout"] = Value::from(self.timeout);
        value
    }
}

impl Registration {
    /// The group as the settings file holds it.
    pub fn value(&self) -> Value {
        let mut group = Map::new();
        if let Some(matcher) = &self.matcher {
            group.insert("matcher".to_owned(), Value::from(matcher.as_str()));
        }
        group.insert("hooks".to_owned(), self.handlers.iter().map(Handler::value).collect());
        Value::Object(group)
    }
}

/// Merges the table into a settings file. Registrations of ours that differ from it are brought up to date where
/// they stand; a text that holds the table already comes back as it is. A blank text is an empty file.
///
/// # Errors
/// The text is no JSON object, or its hooks have a shape that no hook can be added to.
pub fn install(text: &str, table: &[Registration]) -> Result<String, Fault> {
    let mut text = text.to_owned();
    // Each step leaves one thing less to do; the limit only keeps a mistake in a step from going on for ever.
    for _ in 0..10_000 {
        let document = Document::parse(&text)?;
        let Some(edit) = next_step(&document, table)? else { return Ok(text) };
        text = apply(&text, document.offset, edit);
    }
    Err(Fault { line: 1, column: 1, fault: "the hooks cannot be brought into order".to_owned() })
}

/// Takes all hooks of ours out of a settings file. `before` is the file as it was before [`install`], if that is
/// known: what we found empty is left as empty as we found it. None = nothing is left and there was no file.
///
/// # Errors
/// The text is no JSON.
pub fn uninstall(text: &str, before: Option<&str>) -> Result<Option<String>, Fault> {
    strip(text, without_ours(before).as_deref())
}

/// What a backup says of the file before us: without hooks of an older installation. None = no file.
pub fn without_ours(before: Option<&str>) -> Option<String> {
    let before = before?;
    strip(before, None).unwrap_or_else(|_| Some(before.to_owned()))
}

/// Lists our handlers, in the order of the file.
///
/// # Errors
/// The text is no JSON.
pub fn entries(text: &str) -> Result<Vec<Entry>, Fault> {
    let document = Document::parse(text)?;
    let mut all = Vec::new();
    for (event, array) in events(&document).filter_map(|(event, node)| Some((event, node.as_array()?))) {
        all.extend(groups(&document, array).into_iter().flat_map(|group| group.ours(event)));
    }
    Ok(all)
}

/// Names the events of the table that the text does not hold as the table has them.
///
/// # Errors
/// The text is no JSON.
pub fn outdated(text: &str, table: &[Registration]) -> Result<Vec<String>, Fault> {
    let document = Document::parse(text)?;
    let is_current = |wanted: &&Registration| {
        events(&document)
            .filter(|(event, _)| *event == wanted.event)
            .filter_map(|(_, node)| node.as_array())
            .next_back()
            .is_some_and(|array| holds(&groups(&document, array), wanted))
    };
    Ok(table.iter().filter(|wanted| !is_current(wanted)).map(|wanted| wanted.event.clone()).collect())
}

/// Names the first thing that makes the text more than plain JSON: a comment or a trailing comma. The client then
/// takes nothing from the file at all.
///
/// # Errors
/// The text is no JSON even with these allowed.
pub fn beyond_json(text: &str) -> Result<Option<Fault>, Fault> {
    Ok(Document::parse(text)?.beyond_json())
}

/// What is to be done next to bring the text in step with the table; none = nothing.
fn next_step(document: &Document, table: &[Registration]) -> Result<Option<Edit>, Fault> {
    let hooks = shape::check(document, table)?;
    for (event, node) in events(document) {
        let dropped = table.iter().all(|wanted| wanted.event != event);
        if let Some(array) = node.as_array().filter(|_| dropped)
            && let Some(step) = next_removal(document, None, event, array)
        {
            return Ok(Some(step.into_edit()));
        }
    }
    for wanted in table {
        let array = hooks.and_then(|hooks| hooks.get_array(&wanted.event));
        let step = match array {
            Some(array) => bring_up_to_date(document, array, wanted),
            None => Some(add_event(document, hooks, wanted)),
        };
        if step.is_some() {
            return Ok(step);
        }
    }
    Ok(None)
}

fn bring_up_to_date(document: &Document, array: &Array, wanted: &Registration) -> Option<Edit> {
    let groups = groups(document, array);
    if holds(&groups, wanted) {
        return None;
    }
    let with_ours: Vec<&Group> = groups.iter().filter(|group| group.has_ours()).collect();
    if let [group] = with_ours.as_slice()
        && group.is_all_ours()
    {
        return Some(splice::replace(document, &group.range, &wanted.value()));
    }
    // Spread over several groups, or mixed with handlers of others: out with ours, then a group of our own.
    Some(match next_removal(document, None, &wanted.event, array) {
        Some(step) => step.into_edit(),
        None => append(document, &Container::of_array(array), None, &wanted.value()),
    })
}

/// Adds an event to the hooks, with all that is missing above it.
fn add_event(document: &Document, hooks: Option<&Object>, wanted: &Registration) -> Edit {
    let groups = Value::Array(vec![wanted.value()]);
    if let Some(hooks) = hooks {
        return append(document, &Container::of_object(hooks), Some(&wanted.event), &groups);
    }
    let mut hooks = Map::new();
    hooks.insert(wanted.event.clone(), groups);
    let hooks = Value::Object(hooks);
    match document.root.as_ref().and_then(Node::as_object) {
        Some(root) => append(document, &Container::of_object(root), Some("hooks"), &hooks),
        None => splice::begin(document, &json!({ "hooks": hooks })),
    }
}

/// Tells whether the groups hold the registration: each handler once, as it is wanted, and no other of ours.
fn holds(groups: &[Group], wanted: &Registration) -> bool {
    let ours: Vec<(&Group, &Value)> = groups
        .iter()
        .flat_map(|group| group.handlers.iter().map(move |handler| (group, handler)))
        .filter(|(_, handler)| handler.is_ours())
        .map(|(group, handler)| (group, &handler.value))
        .collect();
    ours.len() == wanted.handlers.len()
        && wanted
            .handlers
            .iter()
            .map(Handler::value)
            .all(|value| ours.iter().any(|(_, found)| **found == value))
        && ours.iter().all(|(group, _)| group.matches_as(wanted.matcher.as_deref()))
}

/// Takes our handlers out, one step after the other.
fn strip(text: &str, before: Option<&str>) -> Result<Option<String>, Fault> {
    let memory = before.and_then(|before| Document::parse(before).ok());
    let mut text = text.to_owned();
    loop {
        let document = Document::parse(&text)?;
        let step = events(&document)
            .filter_map(|(event, node)| Some((event, node.as_array()?)))
            .find_map(|(event, array)| next_removal(&document, memory.as_ref(), event, array));
        let Some(step) = step else { break };
        if let Step::Emptied(_) = step {
            match before {
                None => return Ok(None),
                Some(blank) if memory.as_ref().is_some_and(Document::is_blank) => {
                    return Ok(Some(blank.to_owned()));
                }
                Some(_) => {}
            }
        }
        let next = apply(&text, document.offset, step.into_edit());
        text = next;
    }
    Ok(Some(text))
}

/// One step of a removal.
enum Step {
    /// Something else is left.
    Splice(Edit),
    /// It leaves an empty object, and the file holds nothing else.
    Emptied(Edit),
}

impl Step {
    fn into_edit(self) -> Edit {
        match self {
            Self::Splice(edit) | Self::Emptied(edit) => edit,
        }
    }
}

/// Removes the first handlers of ours in an event's groups, and every container that this leaves empty, unless
/// the container was there, empty, before us.
fn next_removal(document: &Document, memory: Option<&Document>, event: &str, array: &Array) -> Option<Step> {
    let groups = groups(document, array);
    let (index, group) = groups.iter().enumerate().find(|(_, group)| group.has_ours())?;
    if !group.is_all_ours() {
        let handler = group.handlers.iter().position(shape::Found::is_ours)?;
        return Some(Step::Splice(remove(document, &group.container, handler)));
    }
    let was = |level: Level| memory.and_then(|memory| Some((memory, memory.container(level)?)));
    let array = Container::of_array(array);
    if let Some(edit) = take_from(document, &array, index, was(Level::Event(event))) {
        return Some(Step::Splice(edit));
    }
    let (root, hooks) = hooks_of(document)
        .map(|(root, hooks)| (Container::of_object(root), Container::of_object(hooks)))
        .find(|(_, hooks)| hooks.index_around(&array).is_some())?;
    let index = hooks.index_around(&array)?;
    if let Some(edit) = take_from(document, &hooks, index, was(Level::Hooks)) {
        return Some(Step::Splice(edit));
    }
    let index = root.index_around(&hooks)?;
    Some(match take_from(document, &root, index, was(Level::Root)) {
        Some(edit) => Step::Splice(edit),
        None => Step::Emptied(vec![(root.range.start + 1..root.range.end - 1, String::new())]),
    })
}

/// Removes a child from a container that holds something else, or puts back what was there before us. None = the
/// container itself is to go.
fn take_from(
    document: &Document,
    from: &Container,
    index: usize,
    was: Option<(&Document, Container)>,
) -> Option<Edit> {
    if from.children.len() > 1 {
        return Some(remove(document, from, index));
    }
    let comments = document.comments_beside(from);
    if let Some((memory, empty)) = was
        && empty.children.is_empty()
        && memory.comments_beside(&empty) == comments
    {
        return Some(vec![(from.range.clone(), memory.text[empty.range].to_owned())]);
    }
    (!comments.is_empty()).then(|| remove(document, from, index))
}

#[cfg(test)]
mod tests;
