//! Command lines, targets, items, and the signals that follow.

mod read_back;

use serde_json::json;

use super::*;
use crate::protocol::checklist;
use crate::protocol::worker_signal;

const NOW: Millis = 1_782_381_900_123;

fn parsed(step: &str, reason: Option<&str>, options: &[&'static str]) -> Result<Command, String> {
    command(&Line { step, reason, options: options.to_vec() })
}

fn end(ending: Ending) -> End {
    let (reason, no) = (String::new(), false);
    End { ending, reason, already_fixed: no, mark_last: no, skip_learnings: no, skip_checklist: no }
}

#[test]
fn the_commands_of_the_protocol_are_understood() {
    for (step, reason, options, wanted) in [
        ("start", None, &[][..], Command::Start),
        ("START", None, &[], Command::Start),
        ("1", None, &[], Command::Step(1)),
        ("12", None, &[], Command::Step(12)),
        ("complete", None, &[], Command::End(end(Ending::Complete))),
        ("complete", None, &["mark-last"], Command::End(End { mark_last: true, ..end(Ending::Complete) })),
        (
            "no-change",
            Some(" gone\nnow "),
            &["already-fixed", "skip-learnings", "skip-checklist"],
            Command::End(End {
                reason: "gone now".to_owned(),
                already_fixed: true,
                skip_learnings: true,
                skip_checklist: true,
                ..end(Ending::NoChange)
            }),
        ),
        (
            "blocked",
            Some("no simulator"),
            &["mark-last"],
            Command::End(End { reason: "no simulator".to_owned(), mark_last: true, ..end(Ending::Blocked) }),
        ),
    ] {
        assert_eq!(parsed(step, reason, options), Ok(wanted), "{step}");
    }
}

#[test]
fn a_command_line_that_means_nothing_says_what_is_wanted() {
    let long = "x".repeat(LONGEST_REASON + 1);
    for (step, reason, options, told) in [
        ("0", None, &[][..], "\"0\" is no step: start, the number of an item from 1,"),
        ("-1", None, &[], "\"-1\" is no step:"),
        ("1.5", None, &[], "\"1.5\" is no step:"),
        ("", None, &[], "\"\" is no step:"),
        ("done", None, &[], "\"done\" is no step:"),
        ("failed", None, &[], "\"failed\" is no step:"),
        ("99999999999999999999999", None, &[], "\"99999999999999999999999\" is no step:"),
        ("start", Some("x"), &[], "--reason does not go with start"),
        ("2", None, &["mark-last"], "--mark-last does not go with 2"),
        ("complete", None, &["already-fixed"], "--already-fixed does not go with complete"),
        ("blocked", Some("x"), &["skip-learnings"], "--skip-learnings does not go with blocked"),
        ("blocked", None, &[], "blocked needs --reason \"…\""),
        ("no-change", Some("  "), &[], "no-change needs --reason \"…\""),
        ("blocked", Some(&long), &[], "the reason has 2001 characters; put details into artifacts/"),
    ] {
        let error = parsed(step, reason, options).unwrap_err();
        assert!(error.starts_with(told), "{step}: {error}");
    }
}

#[test]
fn a_key_in_a_reason_is_masked() {
    let key = "token ghp_0123456789abcdefghijABCDEFGHIJ012345 is refused";
    let Ok(Command::End(end)) = parsed("blocked", Some(key), &[]) else { panic!("a command") };
    assert_eq!(end.reason, "token [masked] is refused");
}

#[test]
fn a_signal_file_is_named_after_its_checklist() {
    for (checklist, signal) in [
        ("TASK.md", "SIGNAL.json"),
        ("CHECKLIST.md", "SIGNAL.json"),
        ("SELF-REVIEW.md", "SELF-REVIEW-SIGNAL.json"),
        ("SELF-REVIEW-FIX.md", "SELF-REVIEW-FIX-SIGNAL.json"),
        ("CI-FIX.md", "CI-FIX-SIGNAL.json"),
        ("QA.md", "QA-SIGNAL.json"),
    ] {
        assert_eq!(target(checklist).unwrap().signal, signal);
    }
    for name in
        ["", ".md", "..", "TASK", "TASK.txt", "../TASK.md", "a/b.md", "a\\b.md", ".hidden.md", "a\0.md"]
    {
        assert!(target(name).unwrap_err().contains("is no checklist"), "{name}");
    }
}

#[test]
fn a_manifest_names_the_active_checklist_or_is_refused() {
    let read = |text: &str| manifest(text.as_bytes());
    assert_eq!(read("{\"checklist\": \"SELF-REVIEW.md\"}").unwrap().signal, "SELF-REVIEW-SIGNAL.json");
    assert_eq!(read("{\"checklist\": \" TASK.md \", \"more\": 1}").unwrap().signal, "SIGNAL.json");
    for (text, told) in [
        ("", "not JSON (line 1, column 0)"),
        ("[]", "checklist: the name of a .md file is wanted"),
        ("{}", "checklist: the name of a .md file is wanted"),
        ("{\"checklist\": 1}", "checklist: the name of a .md file is wanted"),
        ("{\"checklist\": \"../x.md\"}", "checklist: \"../x.md\" is no checklist:"),
    ] {
        assert!(read(text).unwrap_err().starts_with(told), "{text}");
    }
}

fn chosen(command: &Command, text: &str) -> Result<Option<usize>, String> {
    let items = checklist::items(text.as_bytes());
    choose(command, &items).map(|item| item.map(|item| item.number))
}

#[test]
fn a_command_ticks_the_item_that_is_meant() {
    let last = |ending| Command::End(End { mark_last: true, ..end(ending) });
    let (one, two) = ("- [x] a\n- [ ] b\n- [x] c\n", "- [x] a\n- [ ] b\n- [ ] c\n");
    for (command, text, wanted) in [
        (Command::Start, one, None),
        (Command::Step(2), one, Some(2)),
        (Command::Step(1), one, Some(1)),
        (Command::End(end(Ending::Complete)), two, None),
        (last(Ending::Complete), one, Some(2)),
        (last(Ending::NoChange), one, Some(2)),
        (last(Ending::Complete), "- [x] a\n- [x] b\n", Some(2)),
        (last(Ending::Complete), "no list", None),
        (last(Ending::Blocked), two, Some(3)),
        (Command::End(End { mark_last: true, skip_checklist: true, ..end(Ending::Complete) }), two, Some(3)),
    ] {
        assert_eq!(chosen(&command, text), Ok(wanted), "{command:?}");
    }
    for (command, text, told) in [
        (Command::Step(4), one, "there is no item 4: it has 3 of them"),
        (Command::Step(1), "none", "there is no item 1: it has no line \"- [ ] …\""),
        (
            last(Ending::Complete),
            two,
            "2 items are still open (2 b, 3 c); mark them by their numbers, or waive that with --skip-checklist",
        ),
    ] {
        assert_eq!(chosen(&command, text), Err(told.to_owned()));
    }
    let many = chosen(&last(Ending::NoChange), &"- [ ] a\n".repeat(9)).unwrap_err();
    assert!(many.starts_with("9 items are still open (1 a, 2 a, 3 a, 4 a, 5 a, …);"), "{many}");
}

#[test]
fn a_step_does_not_take_an_end_back_but_ends_a_block() {
    for (status, objects) in [
        ("running", false),
        ("blocked", false),
        ("complete", true),
        ("done", true),
        ("failed", true),
        ("strange", false),
    ] {
        let before = json!({"status": status});
        let before = before.as_object().unwrap();
        assert_eq!(objection(&Command::Step(1), before).is_some(), objects, "{status}");
        assert_eq!(objection(&Command::Start, before), None);
        assert_eq!(objection(&Command::End(end(Ending::Complete)), before), None);
    }
}

fn written(
    command: &Command,
    checklist: &str,
    before: &Value,
    item: Option<&Item>,
    report: Option<&str>,
) -> Value {
    let before = before.as_object().unwrap();
    let value =
        signal(command, Scene { checklist, before, item, attempt: "new-attempt", report, open: 2, now: NOW });
    let reading = worker_signal::read(value.to_string().as_bytes());
    assert!(reading.signal.is_some() && reading.faults.is_empty(), "{value}: {:?}", reading.faults);
    value
}

#[test]
fn who_the_signal_is_of_is_carried_through() {
    let before = json!({
        "role": "worker", "contextId": "c-1", "attemptId": "a-1", "prNumber": 7, "status": "blocked",
        "outcome": "partial", "disposition": "blocked", "reason": "old", "step": "Build", "needsSelfReview": false,
        "artifactWaivers": {"learnings": true}, "evidence": {"reportPath": "x"}, "timestamp": "old",
    });
    let items = checklist::items(b"- [ ] Build\n- [ ] Test it\n");
    let step = written(&Command::Step(2), "TASK.md", &before, Some(&items[1]), None);
    let pretty = serde_json::to_string_pretty(&step).unwrap();
    insta::assert_snapshot!(pretty, @r#"
    {
      "role": "worker",
      "contextId": "c-1",
      "attemptId": "a-1",
      "status": "running",
      "checklistTiming": {
        "schemaVersion": 1,
        "source": "TASK.md",
        "events": [
          {
            "stepNumber": 2,
            "label": "Test it",
            "checkedAt": "2026-06-25T10:05:00.123Z"
          }
        ]
      },
      "step": "Test it",
      "prNumber": 7,
      "timestamp": "2026-06-25T10:05:00.123Z"
    }
    "#);
    let start = written(&Command::Start, "TASK.md", &before, None, None);
    assert_eq!((&start["attemptId"], &start["contextId"]), (&json!("new-attempt"), &json!("c-1")));
    assert_eq!((&start["status"], &start["step"]), (&json!("running"), &json!("started")));
}

#[test]
fn what_violates_the_schema_is_not_carried_on() {
    let tick = json!({"stepNumber": 1, "label": "a", "checkedAt": "2026-06-25T10:05:00Z"});
    let before = json!({
        "role": 7, "contextId": ["c"], "attemptId": null, "prNumber": "12", "step": {}, "checklistTiming": {
            "source": 1, "events": [tick, 5, {"stepNumber": 0, "label": "a", "checkedAt": "2026-06-25T10:05:00Z"},
                {"stepNumber": 2, "label": "b", "checkedAt": "yesterday"}],
        },
    });
    let next = written(&Command::Start, "TASK.md", &before, None, None);
    assert_eq!(next["checklistTiming"], json!({"schemaVersion": 1, "source": "TASK.md", "events": [tick]}));
    assert_eq!((next.get("role"), next.get("contextId"), next.get("prNumber")), (None, None, None));
}

#[test]
fn every_ending_says_what_the_matrix_wants() {
    let reason = || "why".to_owned();
    for (end, report, status, outcome, disposition) in [
        (end(Ending::Complete), Some("artifacts/report.md"), "complete", "success", "fixed"),
        (
            End { reason: reason(), ..end(Ending::NoChange) },
            Some("artifacts/no-change-report.md"),
            "complete",
            "success",
            "not_reproducible",
        ),
        (
            End { reason: reason(), already_fixed: true, ..end(Ending::NoChange) },
            Some("artifacts/no-change-report.md"),
            "complete",
            "success",
            "already_fixed",
        ),
        (End { reason: reason(), ..end(Ending::Blocked) }, None, "blocked", "partial", "blocked"),
    ] {
        let said = end.reason.clone();
        let value = written(&Command::End(end), "TASK.md", &json!({}), None, report);
        let found = (&value["status"], &value["outcome"], &value["disposition"]);
        assert_eq!(found, (&json!(status), &json!(outcome), &json!(disposition)));
        assert_eq!(value["evidence"]["reportPath"], report.map_or(json!(null), |path| json!(path)));
        assert_eq!(value["reason"], if said.is_empty() { json!(null) } else { json!(said) });
        assert_eq!(value.get("artifactWaivers"), None);
    }
    let waived = End { skip_learnings: true, skip_checklist: true, mark_last: true, ..end(Ending::Complete) };
    let value = written(&Command::End(waived), "TASK.md", &json!({}), None, Some("artifacts/report.md"));
    assert_eq!(value["artifactWaivers"], json!({"learnings": true, "checklist": true}));
}

#[test]
fn a_role_is_named_after_its_file_unless_it_is_named_already() {
    for (checklist, before, wanted) in [
        ("TASK.md", json!({}), json!(null)),
        ("SELF-REVIEW.md", json!({}), json!("self-review")),
        ("SELF-REVIEW-FIX.md", json!({}), json!("self-review-fix")),
        ("CI-FIX.md", json!({}), json!("ci-fix")),
        ("QA.md", json!({}), json!(null)),
        ("SELF-REVIEW.md", json!({"role": "reviewer-2"}), json!("reviewer-2")),
    ] {
        assert_eq!(written(&Command::Start, checklist, &before, None, None)["role"], wanted);
    }
}

#[test]
fn the_history_of_ticks_grows_when_an_item_is_ticked() {
    let open = checklist::items(b"- [ ] a\n- [ ] b\n");
    let done = checklist::items(b"- [x] a\n- [x] b\n");
    let steps = |value: &Value| -> Vec<u64> {
        let events = value["checklistTiming"]["events"].as_array().unwrap();
        events.iter().map(|event| event["stepNumber"].as_u64().unwrap()).collect()
    };
    let first = written(&Command::Step(1), "TASK.md", &json!({}), Some(&open[0]), None);
    let again = written(&Command::Step(1), "TASK.md", &first, Some(&done[0]), None);
    assert_eq!((steps(&first), steps(&again)), (vec![1], vec![1]));
    // It had been ticked by a command that was killed before it wrote the signal.
    let late = written(&Command::Step(2), "TASK.md", &first, Some(&done[1]), None);
    assert_eq!(steps(&late), [1, 2]);
    // The checklist was made anew: it is ticked once more.
    let anew = written(&Command::Step(1), "TASK.md", &late, Some(&open[0]), None);
    assert_eq!(steps(&anew), [1, 2, 1]);
    let started = written(&Command::Start, "TASK.md", &anew, None, None);
    assert_eq!(steps(&started), [1, 2, 1]);
}
