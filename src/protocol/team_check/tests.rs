//! Rules between the files of a session.

use super::*;
use crate::protocol::team_meta::Published;
use crate::protocol::team_msg;

fn text(fault: &Fault) -> String {
    format!("{}: {}", fault.rule.word(), fault.fact)
}

fn meta(roles: &[&str]) -> Meta {
    Meta { roles: roles.iter().map(ToString::to_string).collect(), ..Meta::default() }
}

#[test]
fn a_message_to_nobody_is_found() {
    let check = |to: &str, meta: &Meta, wanted: Option<&str>| {
        let message = team_msg::read(serde_json::json!({"from": "analyst", "to": to}).to_string().as_bytes());
        let found = undeclared(&message.0.expect("a message"), meta, |role| role == "supervisor");
        assert_eq!(found.as_ref().map(text).as_deref(), wanted, "{to}");
    };
    let declared = meta(&["analyst", "planner"]);
    for to in ["", "all", "coordinator", "planner", "supervisor"] {
        check(to, &declared, None);
    }
    let wanted =
        "undeclared-role: a message is addressed to \"planer\"; the declared roles are analyst, planner";
    check("planer", &declared, Some(wanted));
    check("planer", &meta(&[]), None);
}

#[test]
fn a_record_that_lost_a_report_is_found_when_it_had_time_to_be_written() {
    let sent = 1_000_000;
    let mut files = Files::default();
    files.posted.insert("analyst".to_owned(), Report { sent, line: 3 });
    files.posted.insert("planner".to_owned(), Report::default());
    let with = |updated: Option<Millis>| {
        let published = Published { updated, ..Published::default() };
        Meta { published: [("analyst".to_owned(), published)].into(), ..Meta::default() }
    };
    let check = |meta: &Meta, now: Millis, wanted: &[&str]| {
        let found: Vec<String> = behind(meta, &files, now).iter().map(|(_, _, fault)| text(fault)).collect();
        assert_eq!(found, wanted, "{meta:?} at {now}");
    };
    let lost = "meta-behind: meta.json does not have the state_update of \"analyst\" at line 3 of the log";
    check(&with(Some(sent + 5)), sent + 60_000, &[]);
    check(&with(Some(sent - 500)), sent + 60_000, &[]);
    check(&with(Some(sent - 5_000)), sent + 9_000, &[]);
    check(&with(Some(sent - 5_000)), sent + 10_000, &[lost]);
    check(&with(None), sent + 60_000, &[]);
    let mut other = with(Some(sent));
    other.published = [("planner".to_owned(), Published::default())].into();
    check(&other, sent + 60_000, &[lost]);
    check(&Meta { updated: Some(sent - 5_000), ..Meta::default() }, sent + 60_000, &[lost]);
    check(&Meta::default(), sent + 60_000, &[]);
}

#[test]
fn a_task_that_ended_without_a_report_is_found() {
    let task = |id: &str, is_completed| Task { id: id.to_owned(), role: "analyst".to_owned(), is_completed };
    let tasks = [
        task("RESEARCH-001", true),
        task("RESEARCH-002", true),
        task("PLAN-001", false),
        task("DRAFT-001", true),
    ];
    let files = Files { reported: ["RESEARCH-001".to_owned()].into(), ..Files::default() };
    let published = Published { task: "DRAFT-001".to_owned(), ..Published::default() };
    let meta = Meta { published: [("writer".to_owned(), published)].into(), ..Meta::default() };
    let found = unreported(&tasks, &files, &meta);
    assert_eq!(found.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["RESEARCH-002"]);
    let wanted = "never-published: \"RESEARCH-002\" is completed in tasks.json, and analyst sent no state_update of it";
    assert_eq!(text(&never_published(found[0])), wanted);
}

#[test]
fn a_file_that_may_only_grow_is_held_against_its_beginning() {
    let old = Reading {
        file: "wisdom/issues.md".to_owned(),
        bytes: 3,
        hash: of_bytes(b"one"),
        ..Reading::default()
    };
    let check = |bytes: &[u8], wanted: Option<&str>| {
        assert_eq!(grew(&old, bytes).as_ref().map(text).as_deref(), wanted);
    };
    check(b"one", None);
    check(b"one\ntwo", None);
    check(b"on", Some("wisdom-shrank: wisdom/issues.md had 3 bytes and has 2; it is append-only"));
    check(
        b"two\none",
        Some("wisdom-rewritten: the first 3 bytes of wisdom/issues.md were changed; it is append-only"),
    );
}

#[test]
fn an_entry_stays_and_stays_its_creator_s() {
    let entry = |angle: &str, by: &str, line| Entry {
        angle: angle.to_owned(),
        file: String::new(),
        created_by: by.to_owned(),
        line,
    };
    let known = [("a".to_owned(), "R-1".to_owned()), ("b".to_owned(), "R-2".to_owned())].into();
    let (faults, news) = explored(
        &known,
        &[entry("a", "R-1", 2), entry("b", "R-9", 5), entry("c", "R-3", 8), entry("d", "", 9)],
    );
    let faults: Vec<String> = faults.iter().map(|(line, fault)| format!("{line} {}", text(fault))).collect();
    let wanted = "5 cache-changed-by-another: the entry of \"b\" was created by \"R-2\" and is now by \"R-9\"; only its creator updates it";
    assert_eq!(faults, [wanted]);
    assert_eq!(news, [("b".to_owned(), "R-9".to_owned()), ("c".to_owned(), "R-3".to_owned())]);
    let (faults, news) = explored(&known, &[entry("a", "R-1", 2)]);
    assert_eq!(
        text(&faults[0].1),
        "cache-entry-removed: the entry of \"b\" by \"R-2\" is gone; entries never expire within a session"
    );
    assert_eq!(news, [("b".to_owned(), String::new())]);
}

#[test]
fn a_ref_leads_below_the_session_or_the_root_and_never_out() {
    let session = ".workflow/.team/TLS-x";
    let check = |reference: &str, wanted: Option<&[&str]>| {
        let found = places(reference, session, "/home/me/project");
        let wanted = wanted.map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(found, wanted, "{reference}");
    };
    check("artifacts/a.md", Some(&[".workflow/.team/TLS-x/artifacts/a.md", "artifacts/a.md"]));
    check("./artifacts//a.md", Some(&[".workflow/.team/TLS-x/artifacts/a.md", "artifacts/a.md"]));
    let whole = ".workflow/.team/TLS-x/artifacts/a.md";
    check("<session>/artifacts/a.md", Some(&[&format!("{session}/{whole}"), whole]));
    check("/home/me/project/.workflow/.team/TLS-x/artifacts/a.md", Some(&[whole]));
    check("../TLS-y/a.md", Some(&[".workflow/.team/TLS-y/a.md"]));
    check("../../../x.md", Some(&["x.md"]));
    check("../../../../x.md", None);
    check("/etc/passwd", None);
    check("/home/me/project-other/a.md", None);
    check("/home/me/project/../other/a.md", None);
    check("~/a.md", None);
}

#[test]
fn a_report_is_held_against_its_artifact() {
    let update = |reference: &str| Update {
        task: "IMPL-001".to_owned(),
        is_done: true,
        reference: reference.to_owned(),
        has_reference: !reference.is_empty(),
        ..Update::default()
    };
    let check = |update: &Update, target: Option<Target>, has_artifact: bool, wanted: Option<&str>| {
        let found = artifact(update, target.as_ref(), has_artifact);
        assert_eq!(found.as_ref().map(text).as_deref(), wanted, "{target:?}");
    };
    let some = update("artifacts/x.md");
    let named = |name: &str| Some(Target::Artifact(name.to_owned()));
    check(&some, named("IMPL-001-api.md"), true, None);
    for name in ["api.md", "IMPL-0011-api.md", "IMPL-001-api.txt", "IMPL-001-.md"] {
        let wanted =
            format!("artifact-name: the artifact of IMPL-001 is named \"{name}\", not <task-id>-<name>.md");
        check(&some, named(name), true, Some(&wanted));
    }
    check(
        &some,
        Some(Target::Elsewhere),
        true,
        Some("ref-not-artifact: ref leads to no artifact of the session: artifacts/x.md"),
    );
    check(&some, Some(Target::Missing), true, Some("ref-without-file: ref leads to no file: artifacts/x.md"));
    check(&some, Some(Target::Outside), true, Some("ref-outside: ref leads out of the project"));
    check(&update(""), None, true, None);
    check(
        &update(""),
        None,
        false,
        Some("update-without-artifact: IMPL-001 is reported done, and there is no artifact of it"),
    );
    check(&Update { is_done: false, ..update("") }, None, false, None);
}
