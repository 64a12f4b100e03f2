//! What an edit does to a settings file, shown by whole texts; `round_trip` shows it for files of any formatting.

mod round_trip;

use std::time::Duration;

use super::*;
use crate::protocol::hook_table;

/// One event, so that whole texts stay readable.
fn one(command: &str) -> Vec<Registration> {
    let args = vec!["hook".to_owned()];
    let handler = Handler { command: command.to_owned(), args, rewake: false, timeout: 10 };
    vec![Registration { event: "Stop".to_owned(), matcher: None, handlers: vec![handler] }]
}

fn whole_table() -> Vec<Registration> {
    hook_table::registrations("/opt/watchdog", Some(Duration::from_secs(60)), false)
}

/// Installs one event, and checks that this is done once and can be undone.
fn installed(text: &str) -> String {
    let done = install(text, &one("/opt/watchdog")).unwrap();
    assert_eq!(install(&done, &one("/opt/watchdog")).unwrap(), done, "a second time");
    assert_eq!(uninstall(&done, Some(text)).unwrap().as_deref(), Some(text), "undone");
    done
}

fn refused(text: &str) -> String {
    install(text, &one("/opt/watchdog")).unwrap_err().to_string()
}

#[test]
fn a_blank_file_gets_two_spaces_and_a_newline_and_becomes_blank_again() {
    let done = installed("");
    assert!(done.ends_with("\n}\n"));
    insta::assert_snapshot!(done, @r#"
    {
      "hooks": {
        "Stop": [
          {
            "hooks": [
              {
                "type": "command",
                "command": "/opt/watchdog",
                "args": [
                  "hook"
                ],
                "timeout": 10
              }
            ]
          }
        ]
      }
    }
    "#);
    assert_eq!(installed(" \n\n"), done);
    assert_eq!(installed("\u{feff}"), format!("\u{feff}{done}"));
}

#[test]
fn a_file_that_we_made_is_gone_afterwards() {
    let done = install("", &whole_table()).unwrap();
    assert_eq!(uninstall(&done, None).unwrap(), None);
}

#[test]
fn a_file_that_was_empty_of_settings_stays() {
    for text in ["{}", "{}\n", "{ }", "{\n}\n", " {}", "{\"hooks\":{}}", "{\n  \"hooks\": {\n  }\n}\n"] {
        installed(text);
    }
    // All that was in it besides our hooks has been removed by others: still theirs.
    let done = install("{}\n", &whole_table()).unwrap();
    assert_eq!(uninstall(&done, Some("{\"model\": \"x\"}\n")).unwrap().as_deref(), Some("{}\n"));
}

#[test]
fn foreign_hooks_keep_their_place_and_their_bytes() {
    let text = r#"{
  "model" : "opus",
  "hooks": {
    "PreToolUse": [ { "matcher": "Bash",   "hooks": [ {"type":"command","command":"guard"} ] } ],
    "Stop": [
      {
        "hooks": [{ "type": "command", "command": "say done" }]
      }
    ]
  },
  "permissions": {"allow": ["Bash(ls:*)" , "Read"]}
}
"#;
    insta::assert_snapshot!(installed(text), @r#"
    {
      "model" : "opus",
      "hooks": {
        "PreToolUse": [ { "matcher": "Bash",   "hooks": [ {"type":"command","command":"guard"} ] } ],
        "Stop": [
          {
            "hooks": [{ "type": "command", "command": "say done" }]
          },
          {
            "hooks" : [
              {
                "type" : "command",
                "command" : "/opt/watchdog",
                "args" : [
                  "hook"
                ],
                "timeout" : 10
              }
            ]
          }
        ]
      },
      "permissions": {"allow": ["Bash(ls:*)" , "Read"]}
    }
    "#);
}

#[test]
fn tabs_are_answered_by_tabs() {
    let done = installed("{\n\t\"model\": \"opus\"\n}");
    assert!(done.starts_with(
        "{\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\n\t\t\t\t\"hooks\""
    ));
    assert!(done.ends_with("\n\t\t]\n\t}\n}"));
}

#[test]
fn line_ends_of_two_characters_are_answered_by_the_same() {
    let done = installed("{\r\n    \"model\": \"opus\"\r\n}\r\n");
    assert!(done.starts_with("{\r\n    \"model\": \"opus\",\r\n    \"hooks\": {\r\n        \"Stop\": [\r\n"));
    assert_eq!(done.matches('\n').count(), done.matches("\r\n").count());
    assert!(done.ends_with("\r\n}\r\n"));
}

#[test]
fn a_byte_order_mark_and_the_lack_of_a_last_newline_stay() {
    let done = installed("\u{feff}{\n  \"model\": \"opus\"\n}");
    assert!(done.starts_with("\u{feff}{\n") && done.ends_with("  }\n}"));
    assert!(installed("{\n  \"model\": \"opus\"\n}\n\n\n").ends_with("  }\n}\n\n\n"));
}

#[test]
fn one_line_stays_one_line() {
    insta::assert_snapshot!(installed(r#"{"model":"opus","n":[1,2]}"#), @r#"{"model":"opus","n":[1,2],"hooks":{"Stop":[{"hooks":[{"type":"command","command":"/opt/watchdog","args":["hook"],"timeout":10}]}]}}"#);
    insta::assert_snapshot!(installed(r#"{ "model": "opus", "n": [1, 2] }"#), @r#"{ "model": "opus", "n": [1, 2], "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "/opt/watchdog", "args": ["hook"], "timeout": 10 }] }] } }"#);
    insta::assert_snapshot!(installed(r#"{"hooks":{"Stop":[]},"model":"opus"}"#), @r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"/opt/watchdog","args":["hook"],"timeout":10}]}]},"model":"opus"}"#);
}

#[test]
fn odd_indentation_is_taken_over_from_the_neighbours() {
    let text = "   {\n      \"a\": 1,\n         \"hooks\":\n   {\n \"Other\": [],\n       \"Stop\": [{\n   \"hooks\": []\n }\n       ]}}";
    insta::assert_snapshot!(installed(text).replace(' ', "·"), @r#"
    ···{
    ······"a":·1,
    ·········"hooks":
    ···{
    ·"Other":·[],
    ·······"Stop":·[{
    ···"hooks":·[]
    ·},·{
    ··········"hooks":·[
    ·············{
    ················"type":·"command",
    ················"command":·"/opt/watchdog",
    ················"args":·[
    ···················"hook"
    ················],
    ················"timeout":·10
    ·············}
    ··········]
    ·······}
    ·······]}}
    "#);
}

#[test]
fn comments_and_trailing_commas_stay() {
    let text = r#"// mine
{
  "model": "opus", // the big one
  "hooks": {
    /* nothing but one */
    "Stop": [
      { "hooks": [{ "type": "command", "command": "say done" }] }, // spoken
      // the end
    ],
  },
}
"#;
    insta::assert_snapshot!(installed(text), @r#"
    // mine
    {
      "model": "opus", // the big one
      "hooks": {
        /* nothing but one */
        "Stop": [
          { "hooks": [{ "type": "command", "command": "say done" }] }, // spoken
          {
            "hooks": [
              {
                "type": "command",
                "command": "/opt/watchdog",
                "args": [
                  "hook"
                ],
                "timeout": 10
              }
            ]
          },
          // the end
        ],
      },
    }
    "#);
    for text in [
        "{\n  \"model\": \"opus\" // no comma\n}\n",
        "{\"model\": \"opus\" // no comma\n}",
        "{ /* nothing */ }",
        "{\n  // nothing\n}",
        "{\"hooks\": { /* none */ \"Stop\": [ // none\n ] } }",
    ] {
        installed(text);
    }
}

#[test]
fn what_the_client_would_not_read_is_named() {
    let named = |text: &str| beyond_json(text).unwrap().map(|fault| fault.to_string());
    assert_eq!(named("{\n  // x\n}").as_deref(), Some("line 2, column 3: a comment"));
    assert_eq!(named("{\"a\": [1, 2,]}").as_deref(), Some("line 1, column 12: a trailing comma"));
    assert_eq!(named("\u{feff}{\"a\": \"// no\"}"), None);
}

#[test]
fn what_is_no_json_is_refused_at_its_place() {
    insta::assert_snapshot!(refused("{\n  \"a\": 1\n  \"b\": 2\n}"), @"line 2, column 9: expected comma");
    insta::assert_snapshot!(refused("{\n  \"hooks\": {"), @"line 2, column 12: unterminated object");
    insta::assert_snapshot!(refused("{'a': 1}"), @"line 1, column 2: single-quoted strings are not allowed");
    insta::assert_snapshot!(refused("{\"größe\": nul}"), @"line 1, column 11: unexpected token");
    insta::assert_snapshot!(refused("{\"a\": \"line\nbreak\"}"), @r#"line 2, column 1: control character (\u0000-\u001F) found while parsing a string"#);
    insta::assert_snapshot!(refused("{\"a\": 01}"), @"line 1, column 8: expected comma");
    insta::assert_snapshot!(refused("{} {}"), @"line 1, column 4: text cannot contain more than one JSON value");
    insta::assert_snapshot!(refused("// only this\n"), @"line 1, column 1: there is no value, only comments");
    insta::assert_snapshot!(refused(&"[".repeat(100_000)), @"line 1, column 513: maximum nesting depth exceeded");
    insta::assert_snapshot!(refused("\0"), @"line 1, column 1: unexpected token");
}

#[test]
fn hooks_of_another_shape_are_refused_at_their_place() {
    insta::assert_snapshot!(refused("[1]"), @"line 1, column 1: the file is a list; an object is wanted");
    insta::assert_snapshot!(refused("{\n  \"hooks\": []\n}"), @r#"line 2, column 12: "hooks" is a list; an object is wanted"#);
    insta::assert_snapshot!(refused("{\"hooks\": null}"), @r#"line 1, column 11: "hooks" is null; an object is wanted"#);
    insta::assert_snapshot!(refused("{\"hooks\": {\"Stop\": {}}}"), @r#"line 1, column 20: "hooks.Stop" is an object; a list is wanted"#);
    insta::assert_snapshot!(refused("{\"hooks\": {\"Stop\": [\"x\"]}}"), @r#"line 1, column 21: a group of "hooks.Stop" is a string; an object is wanted"#);
    insta::assert_snapshot!(refused("{\"hooks\": {\"Stop\": [{\"hooks\": true}]}}"), @r#"line 1, column 31: "hooks" of a group of "hooks.Stop" is true or false; a list is wanted"#);
    insta::assert_snapshot!(refused("{\"hooks\": {},\n \"hooks\": {}}"), @r#"line 2, column 2: "hooks" stands here a second time; make one of the two"#);
    insta::assert_snapshot!(refused("{\"hooks\": {\"Stop\": [],\n \"Stop\": []}}"), @r#"line 2, column 2: "Stop" stands here a second time; make one of the two"#);
}

#[test]
fn shapes_of_events_that_we_do_not_use_are_not_our_business() {
    installed("{\"hooks\": {\"PreCompact\": \"?\", \"Setup\": [3]}, \"x\": [{\"hooks\": 1}]}");
}

#[test]
fn another_path_is_replaced_where_it_stands() {
    let text =
        "{\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [] }\n    ],\n    \"Setup\": []\n  }\n}\n";
    let old = install(text, &one("/old/bin/watchdog")).unwrap();
    let new = install(&old, &one("/opt/watchdog")).unwrap();
    assert_eq!(new, old.replace("/old/bin", "/opt"));
    assert_eq!(uninstall(&new, Some(text)).unwrap().as_deref(), Some(text));
}

#[test]
fn an_older_table_is_brought_up_to_date() {
    let older = r#"{
  "hooks": {
    "Stop": [
      { "hooks": [{ "type": "command", "command": "watchdog hook", "timeout": 5 }] },
      { "hooks": [{ "type": "command", "command": "say done" }] }
    ],
    "PreCompact": [
      { "hooks": [{ "type": "command", "command": "/opt/watchdog", "args": ["hook"] }] }
    ]
  }
}
"#;
    insta::assert_snapshot!(install(older, &one("/opt/watchdog")).unwrap(), @r#"
    {
      "hooks": {
        "Stop": [
          {"hooks": [{"type": "command", "command": "/opt/watchdog", "args": ["hook"], "timeout": 10}]},
          { "hooks": [{ "type": "command", "command": "say done" }] }
        ]
      }
    }
    "#);
}

#[test]
fn ours_amid_the_handlers_of_others_gets_a_group_of_its_own_when_it_is_old() {
    let mixed = |ours: &str| {
        format!(
            "{{\"hooks\":{{\"Stop\":[{{\"hooks\":[{{\"command\":\"a\"}},{ours},{{\"command\":\"b\"}}]}}]}}}}"
        )
    };
    let ours = one("/opt/watchdog")[0].handlers[0].value();
    let now = mixed(&ours.to_string());
    assert_eq!(install(&now, &one("/opt/watchdog")).unwrap(), now, "as good as a group of our own");
    let old = mixed("{\"command\":\"/old/watchdog\",\"args\":[\"hook\"]}");
    insta::assert_snapshot!(install(&old, &one("/opt/watchdog")).unwrap(), @r#"{"hooks":{"Stop":[{"hooks":[{"command":"a"},{"command":"b"}]},{"hooks":[{"type":"command","command":"/opt/watchdog","args":["hook"],"timeout":10}]}]}}"#);
}

#[test]
fn a_second_copy_is_taken_out() {
    let once = install("{}", &one("/opt/watchdog")).unwrap();
    let group = one("/opt/watchdog")[0].value();
    let twice = once.replacen("\"Stop\": [", &format!("\"Stop\": [{group},"), 1);
    let done = install(&twice, &one("/opt/watchdog")).unwrap();
    assert_eq!(entries(&twice).unwrap().len(), 2);
    assert_eq!(entries(&done).unwrap().len(), 1);
}

#[test]
fn our_handlers_are_known_by_program_and_word() {
    let is_ours = |handler: &str| {
        let text = format!("{{\"hooks\":{{\"Stop\":[{{\"hooks\":[{handler}]}}]}}}}");
        entries(&text).unwrap().first().map(|entry| format!("{} {}", entry.command, entry.word))
    };
    let exec = |command: &str, args: &str| is_ours(&format!("{{\"command\":{command:?},\"args\":{args}}}"));
    let shell = |command: &str| is_ours(&format!("{{\"command\":{command:?}}}"));
    assert_eq!(exec("/a b/watchdog", "[\"hook\"]").as_deref(), Some("/a b/watchdog hook"));
    assert_eq!(exec("watchdog", "[\"bridge\", \"--x\"]").as_deref(), Some("watchdog bridge"));
    assert_eq!(shell("watchdog hook").as_deref(), Some("watchdog hook"));
    assert_eq!(shell("'/a b/watchdog'  bridge || true").as_deref(), Some("/a b/watchdog bridge"));
    assert_eq!(shell("\"$HOME\"/bin/watchdog hook;").as_deref(), Some("$HOME/bin/watchdog hook"));
    for (command, args) in
        [("/bin/watchdogs", "[\"hook\"]"), ("/bin/watchdog", "[\"status\"]"), ("/bin/watchdog", "[]")]
    {
        assert_eq!(exec(command, args), None, "{command} {args}");
    }
    for command in ["watchdog", "watchdog status", "my-watchdog hook", "echo watchdog hook", "", "\\"] {
        assert_eq!(shell(command), None, "{command}");
    }
}

#[test]
fn events_that_are_not_as_the_table_has_them_are_named() {
    let text = install("{}", &whole_table()).unwrap();
    assert_eq!(outdated(&text, &whole_table()).unwrap(), [""; 0]);
    let fewer = text.replace("PostToolUseFailure", "Other").replace("pending-nudge.json|", "");
    assert_eq!(outdated(&fewer, &whole_table()).unwrap(), ["PostToolUseFailure", "FileChanged"]);
    assert_eq!(outdated("{}", &one("/opt/watchdog")).unwrap(), ["Stop"]);
}

#[test]
fn edits_made_meanwhile_stay() {
    let text = "{\n  \"model\": \"opus\",\n  \"hooks\": {}\n}\n";
    let edited = install(text, &whole_table())
        .unwrap()
        .replace("\"opus\"", "\"haiku\", \"verbose\": true")
        .replace("\"SessionEnd\": [", "\"SessionEnd\": [ { \"hooks\": [] },");
    insta::assert_snapshot!(uninstall(&edited, Some(text)).unwrap().unwrap(), @r#"
    {
      "model": "haiku", "verbose": true,
      "hooks": {
        "SessionEnd": [ { "hooks": [] }
        ]
      }
    }
    "#);
}

#[test]
fn a_backup_that_holds_an_older_installation_counts_without_it() {
    let older = install("", &one("/old/watchdog")).unwrap();
    let done = install(&older, &whole_table()).unwrap();
    assert_eq!(uninstall(&done, Some(&older)).unwrap(), None);
    assert_eq!(without_ours(Some(&older)), None);
    assert_eq!(without_ours(Some("{}")).as_deref(), Some("{}"));
}

#[test]
fn nothing_of_ours_means_nothing_to_take_out() {
    for text in ["", "{}", "{\"hooks\": {\"Stop\": []}}", "{\"hooks\": 3}", "[]", "// x\n[1,]"] {
        assert_eq!(uninstall(text, None).unwrap().as_deref(), Some(text));
    }
    assert!(uninstall("{", None).is_err());
}
