//! A settings file as the parser sees it: values with their places, and the tokens between them.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::style::Style;

/// What is wrong with a settings file, and where. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {fault}")]
pub struct Fault {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// What is wrong.
    pub fault: String,
}

/// A parsed file. All places are offsets in `text`.
pub(super) struct Document<'a> {
    /// The file without a byte-order mark.
    pub(super) text: &'a str,
    /// The length of the byte-order mark.
    pub(super) offset: usize,
    /// The value; none in a blank file.
    pub(super) root: Option<Node<'a>>,
    /// How the file is written.
    pub(super) style: Style,
    tokens: Vec<TokenAndRange<'a>>,
}

/// The containers that our hooks lie in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Level<'e> {
    /// The file's object.
    Root,
    /// Its `hooks`.
    Hooks,
    /// The groups of an event.
    Event(&'e str),
}

/// An object or an array: its own place and its children's, in order. An object's children are its properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Container {
    pub(super) range: Range<usize>,
    pub(super) children: Vec<Range<usize>>,
}

impl Container {
    pub(super) fn of_object(object: &Object) -> Self {
        let children = object.properties.iter().map(span).collect();
        Self { range: span(object), children }
    }

    pub(super) fn of_array(array: &Array) -> Self {
        Self { range: span(array), children: array.elements.iter().map(span).collect() }
    }

    /// The child that the other container lies in.
    pub(super) fn index_around(&self, inner: &Self) -> Option<usize> {
        let around = |child: &Range<usize>| child.start <= inner.range.start && inner.range.end <= child.end;
        self.children.iter().position(around)
    }
}

/// The place of a node.
pub(super) fn span(node: &impl Ranged) -> Range<usize> {
    node.range().start..node.range().end
}

impl<'a> Document<'a> {
    /// Parses a file. Comments and trailing commas are let through; [`Document::beyond_json`] names them.
    pub(super) fn parse(whole: &'a str) -> Result<Self, Fault> {
        let text = whole.strip_prefix('\u{feff}').unwrap_or(whole);
        let strict = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = parse_to_ast(text, &collect, &strict)
            .map_err(|error| fault_at(text, error.range().start, &lower(&error.kind().to_string())))?;
        let tokens = parsed.tokens.unwrap_or_default();
        let mut document = Self {
            text,
            offset: whole.len() - text.len(),
            root: parsed.value,
            style: Style::default(),
            tokens,
        };
        if document.root.is_none() && !document.tokens.is_empty() {
            return Err(document.fault(0, "there is no value, only comments"));
        }
        document.check_plain()?;
        document.style = Style::of(&document);
        Ok(document)
    }

    /// What the parser lets through although it is no JSON, such as line breaks in strings, serde_json does not.
    fn check_plain(&self) -> Result<(), Fault> {
        if self.root.is_none() || self.beyond_json().is_some() {
            return Ok(());
        }
        match serde_json::from_str::<Value>(self.text) {
            Ok(_) => Ok(()),
            Err(error) => {
                let message = error.to_string();
                let words = message.split(" at line ").next().unwrap_or_default().to_owned();
                Err(Fault { line: error.line(), column: error.column().max(1), fault: words })
            }
        }
    }

    /// Names the first comment or trailing comma.
    pub(super) fn beyond_json(&self) -> Option<Fault> {
        let mut tokens = self.tokens.iter().peekable();
        while let Some(token) = tokens.next() {
            let closes = tokens
                .peek()
                .is_some_and(|next| matches!(next.token, Token::CloseBrace | Token::CloseBracket));
            let what = match token.token {
                Token::CommentLine(_) | Token::CommentBlock(_) => "a comment",
                Token::Comma if closes => "a trailing comma",
                _ => continue,
            };
            return Some(self.fault(token.range.start, what));
        }
        None
    }

    /// Tells whether the file holds nothing.
    pub(super) fn is_blank(&self) -> bool {
        self.root.is_none()
    }

    /// Names a place.
    pub(super) fn fault(&self, at: usize, fault: &str) -> Fault {
        fault_at(self.text, at, fault)
    }

    /// The end of the last token or comment before a place.
    pub(super) fn end_before(&self, at: usize) -> usize {
        self.until(at).last().map_or(0, |token| token.range.end)
    }

    /// Tells whether the last thing before a place is a comment that reaches to the line's end.
    pub(super) fn is_after_line_comment(&self, at: usize) -> bool {
        self.until(at).last().is_some_and(|token| matches!(token.token, Token::CommentLine(_)))
    }

    /// The comma that follows a child, comments aside.
    pub(super) fn comma_after(&self, at: usize) -> Option<Range<usize>> {
        let next = self.from(at).iter().find(|token| !is_comment(token))?;
        (next.token == Token::Comma).then(|| span(next))
    }

    /// The comma that precedes a child, comments aside.
    pub(super) fn comma_before(&self, at: usize) -> Option<Range<usize>> {
        let last = self.until(at).iter().rev().find(|token| !is_comment(token))?;
        (last.token == Token::Comma).then(|| span(last))
    }

    /// The end of the comments that follow a place on its line.
    pub(super) fn end_of_remarks(&self, at: usize) -> usize {
        let mut end = at;
        for token in self.from(at) {
            if !is_comment(token) || has_break(&self.text[end..token.range.start]) {
                break;
            }
            end = token.range.end;
        }
        end
    }

    /// The comments directly inside a container, not those inside its children.
    pub(super) fn comments_beside(&self, container: &Container) -> Vec<&'a str> {
        let inside = |outer: &Range<usize>, token: &TokenAndRange| {
            outer.start <= token.range.start && token.range.end <= outer.end
        };
        self.from(container.range.start)
            .iter()
            .filter(|token| is_comment(token) && inside(&container.range, token))
            .filter(|token| !container.children.iter().any(|child| inside(child, token)))
            .map(|token| &self.text[span(token)])
            .collect()
    }

    /// The white space that the line of a place begins with.
    pub(super) fn indent_at(&self, at: usize) -> &'a str {
        let start = self.text[..at].rfind(['\n', '\r']).map_or(0, |newline| newline + 1);
        let line = &self.text[start..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// The container that our hooks would be put into, if it is there.
    pub(super) fn container(&self, level: Level) -> Option<Container> {
        let root = self.root.as_ref()?.as_object()?;
        match level {
            Level::Root => Some(Container::of_object(root)),
            Level::Hooks => root.get_object("hooks").map(Container::of_object),
            Level::Event(event) => root.get_object("hooks")?.get_array(event).map(Container::of_array),
        }
    }

    /// The tokens and comments that end at a place or before it.
    fn until(&self, at: usize) -> &[TokenAndRange<'a>] {
        &self.tokens[..self.tokens.partition_point(|token| token.range.end <= at)]
    }

    /// The tokens and comments that begin at a place or behind it.
    fn from(&self, at: usize) -> &[TokenAndRange<'a>] {
        &self.tokens[self.tokens.partition_point(|token| token.range.start < at)..]
    }
}

/// Tells whether a line ends in the text.
pub(super) fn has_break(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

fn is_comment(token: &TokenAndRange) -> bool {
    matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
}

fn fault_at(text: &str, at: usize, fault: &str) -> Fault {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Fault {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        fault: fault.to_owned(),
    }
}

fn lower(message: &str) -> String {
    let mut letters = message.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
