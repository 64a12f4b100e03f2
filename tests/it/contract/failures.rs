//! The API ended the lead's turn: what StopFailure leaves for each of its values.

use serde_json::json;

use watchdog::model::event::What;

use crate::world::{Past, Ran, World};

/// An error's name, whether it is flagged at once, and a phrase of the note that tells its class.
const TABLE: &[(&str, bool, &str)] = &[
    ("rate_limit", false, "limited for now"),
    ("overloaded", false, "limited for now"),
    ("authentication_failed", true, "needs a person"),
    ("oauth_org_not_allowed", true, "needs a person"),
    ("billing_error", true, "needs a person"),
    ("account_on_hold", true, "needs a person"),
    ("model_not_found", true, "needs a person"),
    ("cloud_credential_error", true, "needs a person"),
    ("server_error", false, "over at the next attempt"),
    ("invalid_request", false, "over at the next attempt"),
    ("max_output_tokens", false, "over at the next attempt"),
    ("unknown", false, "Nothing is known"),
    ("something_of_next_year", false, "Nothing is known"),
];

fn fail(world: &World, more: &serde_json::Value) {
    world.silent(&world.event("StopFailure", more));
}

#[test]
fn every_value_leaves_a_note_that_is_not_counted_and_those_for_a_person_leave_the_flag_too() {
    for (error, is_flagged, phrase) in TABLE {
        let world = World::new("build");
        world.backdate(&Past { count: 1, nudged: Some(100), ..Past::default() });
        let before = world.activity();
        fail(&world, &json!({"error": error, "error_details": "the API's own words"}));
        let note = world.pending().unwrap_or_else(|| panic!("{error}: a note"));
        assert_eq!(note["nudge_n"], 0, "{error}");
        assert!(note["timestamp"].is_i64(), "{error}");
        let text = note["additionalContext"].as_str().unwrap();
        assert!(text.contains(error) && text.contains(phrase), "{error}: {text}");
        assert!(text.contains("It said: the API's own words."), "{error}: {text}");
        assert_eq!(world.activity(), before, "{error}: the counter of deadlocks is another one");
        let Some(flag) = world.flag() else {
            assert!(!is_flagged, "{error}");
            continue;
        };
        assert!(is_flagged, "{error}");
        assert_eq!(flag["source"], "stop_failure", "{error}");
        assert_eq!(flag["error"], *error);
        assert_eq!(flag["error_details"], "the API's own words", "{error}");
        assert!(flag["timestamp"].is_i64() && flag.get("nudge_count").is_none(), "{error}: {flag}");
        let escalated =
            world.count(|what| matches!(what, What::Escalated { cause, .. } if cause == "stop_failure"));
        assert_eq!(escalated, 1, "{error}");
    }
}

#[test]
fn a_failure_without_a_name_is_neutral_and_a_fixture_with_other_field_names_is_understood() {
    let world = World::new("build");
    fail(&world, &json!({}));
    assert!(world.pending().unwrap()["additionalContext"].as_str().unwrap().contains("unknown"));
    assert_eq!(world.flag(), None);
    let world = World::new("build");
    fail(&world, &json!({"error_type": "billing_error", "error_message": "credit is used up"}));
    assert_eq!(world.flag().unwrap()["error_details"], "credit is used up");
}

#[test]
fn an_existing_nudge_is_never_overwritten_and_the_flag_comes_all_the_same() {
    let world = World::new("build");
    let nudge = json!({"additionalContext": "nudge 2", "timestamp": 5, "nudge_n": 2});
    for error in ["rate_limit", "server_error", "unknown", "authentication_failed"] {
        world.write_pending(&nudge);
        fail(&world, &json!({"error": error}));
        assert_eq!(world.pending().as_ref(), Some(&nudge), "{error}");
    }
    assert_eq!(world.flag().unwrap()["error"], "authentication_failed");
}

#[test]
fn an_existing_flag_is_never_overwritten() {
    let world = World::new("build");
    let flag = json!({"timestamp": 5, "nudge_count": 3, "last_activity_source": "PostToolUse:Read"});
    world.write_flag(&flag);
    fail(&world, &json!({"error": "billing_error"}));
    assert_eq!(world.flag(), Some(flag));
}

#[test]
fn details_are_bounded_put_on_one_line_and_stripped_of_what_looks_like_a_key() {
    let world = World::new("build");
    let key = format!("sk-ant-{}", "a1b2c3d4".repeat(6));
    let details = format!("line one\nline two \u{1b}[31m {key} {}", "x".repeat(5_000));
    fail(&world, &json!({"error": "billing_error", "error_details": details}));
    let flag = world.flag().unwrap();
    let kept = flag["error_details"].as_str().unwrap();
    assert!(kept.chars().count() <= 500, "{}", kept.len());
    assert!(kept.starts_with("line one line two"), "{kept}");
    let note = world.pending().unwrap()["additionalContext"].as_str().unwrap().to_owned();
    assert!(note.chars().count() <= 2_000);
    let journal = std::fs::read_to_string(world.root.in_own("journal.jsonl")).unwrap();
    for text in [kept, &note, &journal] {
        assert!(!text.contains(&key) && !text.contains('\u{1b}'), "{text}");
    }
}

#[test]
fn what_the_client_shows_in_place_of_an_answer_is_the_details_where_it_gives_none() {
    // As clients do: no `error_details` at all.
    let world = World::new("build");
    let shown = "API Error: 529 mock overloaded_error. This is a server-side issue, usually temporary";
    fail(&world, &json!({"error": "server_error", "last_assistant_message": shown}));
    let text = world.pending().unwrap()["additionalContext"].as_str().unwrap().to_owned();
    assert!(text.contains(&format!("It said: {shown}.")), "{text}");
    assert!(text.contains("limited for now"), "an overloaded API asks to wait: {text}");
}

#[test]
fn the_next_prompt_reads_the_note_once() {
    let world = World::new("build");
    fail(&world, &json!({"error": "rate_limit"}));
    let prompt = world.event("UserPromptSubmit", &json!({"prompt": "go on"}));
    let text = world.hook(&prompt).context("UserPromptSubmit");
    assert!(text.contains("rate_limit"), "{text}");
    assert_eq!(world.hook(&prompt), Ran::silence());
}
