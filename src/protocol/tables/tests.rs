//! The built-in tables, and tables with mistakes.

use super::{BUILT_IN, built_in, read};
use crate::model::judge::LEAD;
use crate::model::signals::{Known, Reply, Rules, Signal};

fn rules() -> Rules {
    Rules { tables: built_in().to_vec(), ..Rules::default() }
}

fn agent(name: &str) -> Known<'_> {
    Known { name, ..Known::default() }
}

fn found<'a>(rules: &'a Rules, head: &str, from: &str, to: &str) -> &'a Signal {
    rules.find(head, false, agent(from), agent(to)).map(|(_, signal)| signal).unwrap()
}

#[test]
fn the_built_in_tables_are_read_whole() {
    for text in BUILT_IN {
        read(text).unwrap();
    }
    let names: Vec<String> = built_in().iter().map(|table| table.name.clone()).collect();
    assert_eq!(names, ["kiln", "subctl", "native"]);
}

#[test]
fn every_signal_of_the_kiln_protocol_has_a_row() {
    let rules = rules();
    for head in [
        "READY_BOOTSTRAP",
        "READY",
        "REQUEST_WORKERS",
        "REQUEST_WORKERS_READY",
        "CYCLE_WORKERS",
        "WORKERS_SPAWNED",
        "WORKERS_REJECTED",
        "WORKER_READY",
        "ONBOARDING_COMPLETE",
        "BRAINSTORM_COMPLETE",
        "RESEARCH_COMPLETE",
        "ARCHITECTURE_COMPLETE",
        "ITERATION_UPDATE",
        "QA_REPORT_READY",
        "RECONCILIATION_COMPLETE",
        "QA_PASS",
        "QA_FAIL",
        "MILESTONE_COMPLETE",
        "BUILD_COMPLETE",
        "MILESTONE_TRANSITION",
        "MILESTONE_DONE",
        "FINAL_ARCHIVE_CHECK",
        "ARCHIVE_READY",
        "ARCHIVE_BLOCKED",
        "VALIDATE_PASS",
        "VALIDATE_FAILED",
        "REPORT_COMPLETE",
        "BLOCKED",
        "REVIEW_REQUEST",
        "APPROVED",
        "ALREADY_APPROVED",
        "REJECTED",
        "IMPLEMENTATION_APPROVED",
        "IMPLEMENTATION_BLOCKED",
        "IMPLEMENTATION_REJECTED",
        "ARCHIVE",
    ] {
        assert!(rules.tables[0].signals.iter().any(|signal| signal.head == head), "{head} has no row");
    }
}

/// The rows of the protocol's tables: a sender, a recipient, and the heads that answer it. None = nothing is due.
const ROWS: [(&str, &str, &str, Option<&[&str]>); 41] = [
    ("READY_BOOTSTRAP", "rakim", "team-lead", None),
    ("READY_BOOTSTRAP", "thoth", "team-lead", None),
    ("READY", "sentinel", "krs-one", None),
    ("REQUEST_WORKERS", "krs-one", "team-lead", Some(&["REQUEST_WORKERS_READY", "WORKERS_REJECTED"])),
    ("REQUEST_WORKERS_READY", "team-lead", "krs-one", None),
    ("CYCLE_WORKERS", "krs-one", "team-lead", Some(&["WORKERS_REJECTED"])),
    ("WORKERS_SPAWNED", "team-lead", "krs-one", None),
    ("WORKERS_REJECTED", "team-lead", "krs-one", None),
    ("ONBOARDING_COMPLETE", "alpha", "team-lead", None),
    ("BRAINSTORM_COMPLETE", "da-vinci", "team-lead", None),
    ("RESEARCH_COMPLETE", "mi6", "team-lead", None),
    ("ARCHITECTURE_COMPLETE", "aristotle", "team-lead", None),
    ("ITERATION_UPDATE", "krs-one", "rakim", Some(&["READY"])),
    ("ITERATION_UPDATE", "krs-one", "sentinel", Some(&["READY"])),
    ("QA_REPORT_READY", "ken", "team-lead", None),
    ("QA_REPORT_READY", "ryu", "team-lead", None),
    ("RECONCILIATION_COMPLETE", "denzel", "team-lead", None),
    ("QA_PASS", "judge-dredd", "krs-one", None),
    ("QA_FAIL", "judge-dredd", "krs-one", None),
    ("MILESTONE_COMPLETE", "krs-one", "team-lead", None),
    ("BUILD_COMPLETE", "krs-one", "team-lead", None),
    ("MILESTONE_TRANSITION", "krs-one", "rakim", Some(&["READY"])),
    ("MILESTONE_TRANSITION", "krs-one", "sentinel", Some(&["READY"])),
    ("MILESTONE_TRANSITION", "krs-one", "thoth", None),
    ("MILESTONE_DONE", "krs-one", "thoth", None),
    ("FINAL_ARCHIVE_CHECK", "krs-one", "thoth", Some(&["ARCHIVE_READY", "ARCHIVE_BLOCKED"])),
    ("ARCHIVE_READY", "thoth", "krs-one", None),
    ("ARCHIVE_BLOCKED", "thoth", "krs-one", None),
    ("VALIDATE_PASS", "argus", "team-lead", None),
    ("VALIDATE_FAILED", "argus", "team-lead", None),
    ("REPORT_COMPLETE", "omega", "team-lead", None),
    ("BLOCKED", "coder-1", "team-lead", None),
    ("REVIEW_REQUEST", "coder-1", "reviewer-1", Some(&["APPROVED", "REJECTED", "ALREADY_APPROVED"])),
    ("APPROVED", "reviewer-1", "coder-1", None),
    ("ALREADY_APPROVED", "reviewer-1", "coder-1", None),
    (
        "REJECTED",
        "reviewer-1",
        "coder-1",
        Some(&["REVIEW_REQUEST", "IMPLEMENTATION_REJECTED", "IMPLEMENTATION_BLOCKED"]),
    ),
    ("IMPLEMENTATION_APPROVED", "critical-thinker", "krs-one", Some(&["ITERATION_UPDATE", "CYCLE_WORKERS"])),
    ("IMPLEMENTATION_BLOCKED", "dial-a-coder", "krs-one", Some(&["ITERATION_UPDATE", "CYCLE_WORKERS"])),
    ("IMPLEMENTATION_REJECTED", "dial-a-coder", "krs-one", Some(&["ITERATION_UPDATE", "CYCLE_WORKERS"])),
    ("ARCHIVE", "coder-1", "thoth", None),
    ("LOG", "judge-dredd", "thoth", None),
];

#[test]
fn every_row_of_the_kiln_protocol_says_who_sends_it_to_whom_and_what_answers_it() {
    let rules = rules();
    let table = &rules.tables[0];
    for (head, from, to, answers) in ROWS {
        let to = if to == "team-lead" { LEAD } else { to };
        let from = if from == "team-lead" { LEAD } else { from };
        let row = found(&rules, head, from, to);
        assert!(table.plays_any(agent(from), &row.from), "{head} is not from {from}");
        assert!(table.plays_any(agent(to), &row.to), "{head} is not to {to}");
        assert_eq!(row.reply == Reply::Due, answers.is_some(), "{head}");
        for answer in answers.into_iter().flatten() {
            assert!(
                row.answers.iter().any(|known| known.has_head(answer)),
                "{answer} does not answer {head}"
            );
        }
    }
    // What is operator-visible logging answers nothing; the turns of the named pair do.
    let cycle = found(&rules, "CYCLE_WORKERS", "krs-one", LEAD);
    assert!(!cycle.answers.iter().any(|answer| answer.has_head("WORKERS_SPAWNED")));
    assert!(cycle.answers.iter().any(|answer| answer.started == ["coder_name", "reviewer_name"]));
    assert!(found(&rules, "WORKER_READY", "coder-1", "krs-one").retired);
}

#[test]
fn only_the_seam_obliges_a_persistent_mind_to_the_boss() {
    let rules = rules();
    assert_eq!(found(&rules, "ITERATION_UPDATE", "krs-one", "rakim").reply, Reply::Due);
    assert_eq!(found(&rules, "MILESTONE_TRANSITION", "krs-one", "sentinel").reply, Reply::Due);
    assert_eq!(found(&rules, "MILESTONE_TRANSITION", "krs-one", "thoth").reply, Reply::Never);
    assert_eq!(found(&rules, "QUESTION", "krs-one", "rakim").reply, Reply::Never);
    assert_eq!(found(&rules, "", "coder-1", "rakim").reply, Reply::Due);
}

#[test]
fn a_shutdown_by_the_boss_is_no_assignment() {
    let rules = rules();
    assert_eq!(found(&rules, "shutdown_request", "krs-one", "coder-1").name, "shutdown_request");
    assert_eq!(found(&rules, "ASSIGNMENT", "krs-one", "coder-1").name, "assignment");
}

#[test]
fn names_that_a_signal_gave_a_role_play_that_one_alone() {
    let table = &rules().tables[0];
    let given = Known { name: "coder-9", given: "reviewer", ..Known::default() };
    assert!(table.plays(given, "reviewer") && !table.plays(given, "builder"));
    assert!(table.plays(Known { name: "athos", kind: "dial-a-coder", given: "" }, "builder"));
}

fn fault(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn a_table_with_a_mistake_is_refused_with_line_and_reason() {
    assert_eq!(
        fault("name = \"t\"\n[[signal]]\nhead = \"A\"\nreply = \"perhaps\"\n").split(':').next(),
        Some("line 4")
    );
    assert_eq!(
        fault("name = \"t\"\n[[signal]]\nhaed = \"A\"\nreply = \"none\"\n").split(':').next(),
        Some("line 3")
    );
    assert_eq!(
        fault("name = \"t\"\n\n[[signal]]\nhead = \"A\"\nto = [\"nobody\"]\nreply = \"none\"\n"),
        "line 3: A: \"nobody\" is no role; there are lead"
    );
    assert_eq!(
        fault(
            "name = \"t\"\n[[signal]]\nhead = \"A\"\nreply = \"due\"\nanswers = [{ heads = [\"*\"], from = [\"recipient\"], to = [\"sender\"], astray = [\"boss\"] }]\n"
        ),
        "line 2: A: \"boss\" is no role; there are lead"
    );
    assert_eq!(
        fault("name = \"t\"\n[[signal]]\nhead = \"A\"\nreply = \"due\"\n"),
        "line 2: A: answers are wanted where reply = \"due\", and nowhere else"
    );
    assert_eq!(
        fault("name = \"t\"\n[[signal]]\nhead = \"A\"\nreply = \"none\"\nwithin = \"soon\"\n"),
        "line 2: A: within = \"soon\" is no duration, such as \"60s\" or \"15m\""
    );
    assert!(fault("name = \"t\"\n[[signal]]\nhead = \"A\"\nreply = \"none\"\n[[signal]]\nhead = \"A\"\nreply = \"none\"\n").starts_with("line 5: \"A\" is there already"));
}

#[test]
fn the_subctl_table_is_what_the_model_s_own_tests_go_by() {
    let table = built_in().iter().find(|table| table.name == "subctl").unwrap();
    assert_eq!(**table, crate::model::subctl::fixture::table());
    let (name, row) = crate::model::task::BLOCKED;
    assert!(name == table.name && table.signals.iter().any(|signal| signal.name == row));
}
