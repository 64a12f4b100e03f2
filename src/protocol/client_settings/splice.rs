//! The splices that put a child into a container and take it out again.

use std::ops::Range;

use serde_json::Value;

use super::document::{Container, Document, has_break};

/// Pieces of text, each with the place that it goes to. Places are in order and do not overlap.
pub(super) type Edit = Vec<(Range<usize>, String)>;

/// Carries out an edit on a file whose text begins at `offset`.
pub(super) fn apply(whole: &str, offset: usize, edit: Edit) -> String {
    let mut result = String::with_capacity(whole.len() + 256);
    let mut at = 0;
    for (place, piece) in edit {
        result.push_str(&whole[at..place.start + offset]);
        result.push_str(&piece);
        at = place.end + offset;
    }
    result.push_str(&whole[at..]);
    result
}

/// Writes a value into a blank file.
pub(super) fn begin(document: &Document, value: &Value) -> Edit {
    let text = document.style.render(value, "", true) + document.style.newline;
    vec![(0..document.text.len(), text)]
}

/// Puts a child behind the last one of a container.
pub(super) fn append(document: &Document, to: &Container, name: Option<&str>, value: &Value) -> Edit {
    let style = &document.style;
    let write = |base: &str, tall: bool| match name {
        Some(name) => style.property(name, value, base, tall),
        None => style.render(value, base, tall),
    };
    let outer = document.indent_at(to.range.start);
    let deeper = format!("{}{outer}{}", style.newline, style.unit);
    let Some(last) = to.children.last() else {
        let close = to.range.end - 1;
        let place = document.end_before(close)..close;
        let indent = format!("{outer}{}", style.unit);
        let pad = if name.is_some() { style.pad.as_str() } else { "" };
        let text = if style.tall {
            format!("{deeper}{}{}{outer}", write(&indent, true), style.newline)
        } else {
            format!("{pad}{}{pad}", write(outer, false))
        };
        return vec![(place, text)];
    };
    let lead = &document.text[document.end_before(last.start)..last.start];
    let comma = document.comma_after(last.end);
    let place = document.end_of_remarks(comma.as_ref().map_or(last.end, |comma| comma.end));
    let mut gap = match lead.rfind(['\n', '\r']) {
        Some(newline) => format!("{}{}", style.newline, &lead[newline + 1..]),
        None if to.children.len() > 1 => lead.to_owned(),
        None => style.gap.clone(),
    };
    if !has_break(&gap) && document.is_after_line_comment(place) {
        gap = deeper;
    }
    let base = gap.rfind('\n').map_or(outer, |newline| &gap[newline + 1..]);
    let child = write(base, has_break(&document.text[to.range.clone()]));
    match comma {
        Some(_) => vec![(place..place, format!("{gap}{child},"))],
        None => vec![(last.end..last.end, ",".to_owned()), (place..place, format!("{gap}{child}"))],
    }
}

/// Writes a value in the place of another.
pub(super) fn replace(document: &Document, place: &Range<usize>, value: &Value) -> Edit {
    let tall = has_break(&document.text[place.clone()]);
    vec![(place.clone(), document.style.render(value, document.indent_at(place.start), tall))]
}

/// Takes a child out of a container, with the white space before it and one comma.
pub(super) fn remove(document: &Document, from: &Container, index: usize) -> Edit {
    let child = &from.children[index];
    let mut cut = document.end_before(child.start)..child.end;
    let mut edit = Edit::new();
    let mut behind = child.end;
    if let Some(comma) = document.comma_after(child.end) {
        if document.text[child.end..comma.start].trim().is_empty() {
            cut.end = comma.end;
        } else {
            edit.push((comma.clone(), String::new()));
        }
        behind = cut.end;
    } else if let Some(comma) = document.comma_before(child.start) {
        // Between the comma and the child there may be a comment, which stays.
        edit.push((comma, String::new()));
    }
    // What follows must not end up behind a comment that reaches to the line's end.
    let rest = document.text[behind..].trim_start_matches([' ', '\t']);
    if document.is_after_line_comment(child.start) && !rest.starts_with(['\n', '\r']) {
        cut.start = child.start;
    }
    edit.push((cut, String::new()));
    edit.sort_by_key(|(place, _)| place.start);
    edit
}
