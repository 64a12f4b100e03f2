//! A line of the journal is one flat object: what every event has must not share a name with what one of them tells.

use std::collections::BTreeSet;

/// Names of the fields of a type, as a text of this room declares them, set in by so many blanks.
fn names<'a>(text: &'a str, name: &str, blanks: usize) -> BTreeSet<&'a str> {
    let from = format!("pub {name} {{");
    let text = text.split(from.as_str()).nth(1).and_then(|rest| rest.split("\n}\n").next()).unwrap();
    let fields = text.lines().filter_map(|line| {
        let inner = line.strip_prefix(&" ".repeat(blanks)).filter(|inner| !inner.starts_with(' '))?;
        let (name, _) = inner.strip_prefix("pub ").unwrap_or(inner).split_once(": ")?;
        name.chars().all(|c| c.is_ascii_lowercase() || c == '_').then_some(name)
    });
    fields.collect()
}

#[test]
fn no_event_tells_something_under_a_name_that_all_have() {
    let here = include_str!("../event.rs");
    let mut common = names(here, "struct Event", 4);
    assert!(common.contains("heads") && common.remove("task") && common.remove("what"), "{common:?}");
    common.extend(["task_change", "event"]);
    let track = include_str!("../track.rs");
    let mut own = names(here, "enum What", 8);
    let boxed = [
        (track, "struct Said"),
        (track, "struct Posting"),
        (track, "struct Finding"),
        (include_str!("../plan.rs"), "struct PlanNews"),
        (include_str!("../reading.rs"), "struct Reading"),
        (include_str!("../reading.rs"), "struct Exploration"),
    ];
    // Each variant that is a type of its own is in the list.
    let is_boxed = |line: &&str| line.starts_with("    ") && line.ends_with("),") && !line.contains("///");
    let variants = here.split("pub enum What {").nth(1).unwrap().split("\n}\n").next().unwrap();
    assert_eq!(variants.lines().filter(is_boxed).count(), boxed.len());
    for (text, name) in boxed {
        own.extend(names(text, name, 4));
    }
    assert!(own.contains("task") && own.contains("reset_at"), "{own:?}");
    assert_eq!(common.intersection(&own).collect::<Vec<_>>(), Vec::<&&str>::new());
}
