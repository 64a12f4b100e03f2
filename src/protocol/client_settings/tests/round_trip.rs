//! Generated settings files in random formatting: install and uninstall are each other's undoing.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// A choice for every place where a writer is free; used up round and round.
#[derive(Debug, Clone)]
struct Writer {
    choices: Vec<u8>,
    at: usize,
    newline: &'static str,
    /// Comments and trailing commas are used too.
    loose: bool,
}

impl Writer {
    fn choice(&mut self) -> u8 {
        self.at += 1;
        self.choices[self.at % self.choices.len()]
    }

    fn space(&mut self) -> String {
        let newline = self.newline;
        match self.choice() % 16 {
            0..=4 => String::new(),
            5 | 6 => " ".to_owned(),
            7 => "\t".to_owned(),
            8 => newline.to_owned(),
            9 => format!("{newline}  "),
            10 => format!("{newline}\t\t"),
            11 => format!(" {newline}{newline}     "),
            12 if self.loose => " /* remark, { */ ".to_owned(),
            13 if self.loose => format!("// \"remark\" ] {newline}"),
            14 if self.loose => format!("{newline}/**/// x{newline} "),
            _ => format!("{newline}    "),
        }
    }

    fn list(&mut self, open: char, close: char, children: Vec<String>) -> String {
        let mut text = format!("{open}{}", self.space());
        let last = children.len();
        for (index, child) in children.into_iter().enumerate() {
            text.push_str(&child);
            text.push_str(&self.space());
            if index + 1 < last || (self.loose && self.choice() < 128) {
                text.push(',');
                text.push_str(&self.space());
            }
        }
        text.push(close);
        text
    }

    fn write(&mut self, value: &Value) -> String {
        match value {
            Value::Object(fields) => {
                let mut children = Vec::new();
                for (name, value) in fields {
                    let colon = format!("{}:{}", self.space(), self.space());
                    children.push(format!("{}{colon}{}", Value::from(name.as_str()), self.write(value)));
                }
                self.list('{', '}', children)
            }
            Value::Array(list) => {
                let children = list.iter().map(|value| self.write(value)).collect();
                self.list('[', ']', children)
            }
            plain => plain.to_string(),
        }
    }

    fn file(&mut self, value: &Value, mark: bool) -> String {
        let mark = if mark { "\u{feff}" } else { "" };
        format!("{mark}{}{}{}", self.space(), self.write(value), self.space())
    }
}

fn plain_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!("MARK")),
        Just(json!("watchdog hook")),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(("[a-z{}\",]{1,4}", inner), 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Hooks of others, in events that we use and in events that we do not.
fn hooks() -> impl Strategy<Value = Value> {
    let handler = prop_oneof![
        Just(json!({ "type": "command", "command": "MARK" })),
        Just(json!({ "type": "command", "command": "watchdog", "args": [] })),
        Just(json!({ "type": "prompt", "prompt": "{}" })),
        Just(json!({})),
    ];
    let group = (prop::collection::vec(handler, 0..3), any::<bool>()).prop_map(|(handlers, matcher)| {
        if matcher { json!({ "hooks": handlers, "matcher": "Bash" }) } else { json!({ "hooks": handlers }) }
    });
    let event = prop::sample::select(vec!["Stop", "SessionStart", "FileChanged", "PreCompact", "Setup"]);
    let groups = prop::collection::vec(group, 0..3);
    prop::collection::vec((event, groups), 0..4)
        .prop_map(|events| {
            events.into_iter().map(|(event, groups)| (event.to_owned(), json!(groups))).collect()
        })
        .prop_map(Value::Object)
}

fn settings() -> impl Strategy<Value = Value> {
    let field = ("[b-g]{1,3}", plain_value());
    (prop::collection::vec(field, 0..4), prop::option::of(hooks()), any::<prop::sample::Index>()).prop_map(
        |(fields, hooks, at)| {
            let mut fields: Vec<(String, Value)> = fields;
            if let Some(hooks) = hooks {
                fields.insert(at.index(fields.len() + 1), ("hooks".to_owned(), hooks));
            }
            Value::Object(fields.into_iter().collect::<Map<String, Value>>())
        },
    )
}

/// A value, the way it is written, and the text.
fn file(loose: impl Strategy<Value = bool>) -> impl Strategy<Value = (Value, String)> {
    let newline = prop::sample::select(vec!["\n", "\r\n"]);
    (settings(), prop::collection::vec(any::<u8>(), 1..60), newline, loose, any::<bool>()).prop_map(
        |(value, choices, newline, loose, mark)| {
            let text = Writer { choices, at: 0, newline, loose }.file(&value, mark);
            (value, text)
        },
    )
}

fn read(text: &str) -> Value {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap()
}

/// What others have in a file, counted without our code: no handler of `/opt/watchdog`, no list that is empty.
fn of_others(mut value: Value) -> Value {
    let is_ours = |handler: &Value| handler["command"] == "/opt/watchdog";
    let Some(hooks) = value.get_mut("hooks").and_then(Value::as_object_mut) else { return value };
    for groups in hooks.values_mut().filter_map(Value::as_array_mut) {
        groups.retain(|group| !group["hooks"].as_array().is_some_and(|list| list.iter().any(is_ours)));
    }
    hooks.retain(|_, groups| groups.as_array().is_none_or(|groups| !groups.is_empty()));
    if hooks.is_empty() {
        value.as_object_mut().unwrap().shift_remove("hooks");
    }
    value
}

proptest! {
    // An edit of a whole table takes milliseconds in a debug build: a quarter of the usual number of cases.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn uninstall_restores_every_byte((_, text) in file(any::<bool>())) {
        let done = install(&text, &whole_table()).unwrap();
        prop_assert_eq!(entries(&done).unwrap().len(), 16);
        prop_assert_eq!(&install(&done, &whole_table()).unwrap(), &done);
        prop_assert_eq!(uninstall(&done, Some(&text)).unwrap(), Some(text));
    }

    #[test]
    fn without_a_backup_only_what_was_empty_is_lost((value, text) in file(any::<bool>())) {
        let done = install(&text, &whole_table()).unwrap();
        let undone = uninstall(&done, None).unwrap();
        let used = |hooks: &Value| hooks.as_object().unwrap().values().all(|groups| *groups != json!([]));
        let kept = value != json!({}) && value.get("hooks").is_none_or(|hooks| used(hooks) && *hooks != json!({}));
        if kept {
            prop_assert_eq!(undone, Some(text));
        } else if let Some(undone) = undone
            && beyond_json(&text).unwrap().is_none()
        {
            prop_assert_eq!(of_others(read(&undone)), of_others(value));
        }
    }

    #[test]
    fn what_others_have_is_the_same_before_and_after((value, text) in file(Just(false))) {
        let done = install(&text, &whole_table()).unwrap();
        let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let mut before = names(&value);
        if !before.contains(&"hooks".to_owned()) {
            before.push("hooks".to_owned());
        }
        prop_assert_eq!(names(&read(&done)), before);
        prop_assert_eq!(of_others(read(&done)), of_others(value));
    }

    #[test]
    fn edits_made_meanwhile_are_kept_to_the_byte((value, text) in file(any::<bool>()), new in "[a-z]{0,9}") {
        let edit = |text: &str| {
            let text = text.replace("MARK", &new);
            if value == json!({}) { text } else { text.replacen('{', "{ \"zz\" : [ 1 ],\n", 1) }
        };
        // A remark in front may hold the first brace; then the edit is in the remark, and must be kept as well.
        let done = edit(&install(&text, &whole_table()).unwrap());
        prop_assert_eq!(uninstall(&done, Some(&text)).unwrap(), Some(edit(&text)));
    }

    #[test]
    fn hooks_that_others_add_around_ours_are_kept((value, text) in file(Just(false)), first in any::<bool>()) {
        let mut edited = read(&install(&text, &whole_table()).unwrap());
        let mut wanted = value;
        let group = json!({ "hooks": [{ "type": "command", "command": "added" }] });
        let add = |value: &mut Value| {
            let hooks = value.as_object_mut().unwrap().entry("hooks").or_insert_with(|| json!({}));
            let stop = hooks.as_object_mut().unwrap().entry("Stop").or_insert_with(|| json!([]));
            let stop = stop.as_array_mut().unwrap();
            stop.insert(if first { 0 } else { stop.len() }, group.clone());
        };
        add(&mut edited);
        add(&mut wanted);
        let undone = uninstall(&edited.to_string(), Some(&text)).unwrap().unwrap();
        prop_assert_eq!(of_others(read(&undone)), of_others(wanted));
    }

    #[test]
    fn an_older_installation_comes_to_the_same_hooks((value, text) in file(any::<bool>()), keep in any::<u16>()) {
        let older: Vec<Registration> = hook_table::registrations("/old/bin/watchdog", None, false)
            .into_iter()
            .enumerate()
            .filter(|(index, _)| keep & (1 << index) != 0)
            .map(|(_, line)| line)
            .chain(one("/old/bin/watchdog").into_iter().map(|line| Registration { event: "Setup".to_owned(), ..line }))
            .collect();
        let done = install(&install(&text, &older).unwrap(), &whole_table()).unwrap();
        prop_assert_eq!(outdated(&done, &whole_table()).unwrap(), [""; 0]);
        prop_assert_eq!(entries(&done).unwrap().len(), 16);
        prop_assert!(!done.contains("/old/bin"));
        if beyond_json(&text).unwrap().is_none() {
            prop_assert_eq!(of_others(read(&done)), of_others(value));
        }
    }

    #[test]
    fn no_text_makes_us_fall(text in any::<String>(), (_, good) in file(any::<bool>()), at in any::<prop::sample::Index>()) {
        let mut broken = good.clone();
        let places: Vec<usize> = good.char_indices().map(|(place, _)| place).collect();
        let place = places[at.index(places.len())];
        broken.remove(place);
        for text in [text.as_str(), &broken, &good[..place]] {
            if let Ok(done) = install(text, &whole_table()) {
                prop_assert_eq!(outdated(&done, &whole_table()).unwrap(), [""; 0]);
            }
            prop_assert_eq!(uninstall(text, None).is_err(), entries(text).is_err());
        }
    }
}
