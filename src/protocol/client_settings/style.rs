//! How a file is written, and values written the same way.

use jsonc_parser::ast::Value as Node;
use serde_json::Value;

use super::document::{Container, Document, has_break, span};

/// How a file is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Style {
    /// What ends a line.
    pub(super) newline: &'static str,
    /// One step of indentation.
    pub(super) unit: String,
    /// What stands between two children on one line, after the comma.
    pub(super) gap: String,
    /// Children have lines of their own.
    pub(super) tall: bool,
    /// From a name's end to its value.
    colon: String,
    /// Inside the braces of an object on one line.
    pub(super) pad: String,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            newline: "\n",
            unit: "  ".to_owned(),
            gap: " ".to_owned(),
            tall: true,
            colon: ": ".to_owned(),
            pad: String::new(),
        }
    }
}

/// Habits as they are found, each where it first shows.
#[derive(Default)]
struct Habits {
    unit: Option<String>,
    gap: Option<String>,
    colon: Option<String>,
}

impl Style {
    /// Finds out how a file is written.
    pub(super) fn of(document: &Document) -> Self {
        let mut style = Self::default();
        let text = document.text;
        if text.find('\n').is_some_and(|newline| text[..newline].ends_with('\r')) {
            style.newline = "\r\n";
        }
        let Some(root) = &document.root else { return style };
        let mut habits = Habits::default();
        learn(document, root, &mut habits);
        let container = root.as_object().map(Container::of_object);
        let first = container.as_ref().and_then(|root| root.children.first());
        style.tall = first.is_none() || has_break(&text[span(root)]);
        if let Some(lead) = first.map(|first| &text[document.end_before(first.start)..first.start])
            && !has_break(lead)
        {
            lead.clone_into(&mut style.pad);
        }
        style.colon = habits.colon.unwrap_or(style.colon);
        style.unit = habits.unit.unwrap_or(style.unit);
        let tight = !style.tall && !style.colon.ends_with(char::is_whitespace);
        style.gap = habits.gap.unwrap_or_else(|| if tight { String::new() } else { style.gap });
        style
    }

    /// Writes a value. `base` is the indentation of the line that it begins on.
    pub(super) fn render(&self, value: &Value, base: &str, tall: bool) -> String {
        let deeper = format!("{base}{}", self.unit);
        let (open, close, pad, children): (_, _, _, Vec<String>) = match value {
            Value::Object(fields) if !fields.is_empty() => {
                let field = |(name, value): (&String, &Value)| self.property(name, value, &deeper, tall);
                ("{", "}", self.pad.as_str(), fields.iter().map(field).collect())
            }
            Value::Array(list) if !list.is_empty() => {
                ("[", "]", "", list.iter().map(|value| self.render(value, &deeper, tall)).collect())
            }
            plain => return plain.to_string(),
        };
        let newline = self.newline;
        if tall {
            let children = children.join(&format!(",{newline}{deeper}"));
            return format!("{open}{newline}{deeper}{children}{newline}{base}{close}");
        }
        format!("{open}{pad}{}{pad}{close}", children.join(&format!(",{}", self.gap)))
    }

    /// Writes a property.
    pub(super) fn property(&self, name: &str, value: &Value, base: &str, tall: bool) -> String {
        format!("{}{}{}", Value::from(name), self.colon, self.render(value, base, tall))
    }
}

/// Walks through the values, outer before inner, until every habit is known.
fn learn(document: &Document, node: &Node, habits: &mut Habits) {
    let (container, inner): (_, Vec<&Node>) = match node {
        Node::Object(object) => {
            if let Some(property) = object.properties.first() {
                let name = span(&property.name).end;
                let between = &document.text[name..span(&property.value).start];
                if between.trim() == ":" && !has_break(between) {
                    habits.colon.get_or_insert_with(|| between.to_owned());
                }
            }
            (Container::of_object(object), object.properties.iter().map(|property| &property.value).collect())
        }
        Node::Array(array) => (Container::of_array(array), array.elements.iter().collect()),
        _ => return,
    };
    let lead = |child: &std::ops::Range<usize>| &document.text[document.end_before(child.start)..child.start];
    if let Some(first) = container.children.first()
        && has_break(lead(first))
    {
        let outer = document.indent_at(container.range.start);
        let unit = document.indent_at(first.start).strip_prefix(outer).filter(|unit| !unit.is_empty());
        habits.unit = habits.unit.take().or(unit.map(ToOwned::to_owned));
    }
    if let Some(second) = container.children.get(1)
        && !has_break(lead(second))
        && document.end_before(second.start)
            == document.comma_before(second.start).map_or(0, |comma| comma.end)
    {
        habits.gap.get_or_insert_with(|| lead(second).to_owned());
    }
    for node in inner {
        if habits.unit.is_some() && habits.gap.is_some() && habits.colon.is_some() {
            return;
        }
        learn(document, node, habits);
    }
}
