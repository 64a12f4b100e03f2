//! Each of the eleven codes, and what decides between two that would both apply.

use serde_json::json;

use super::*;

const STAMP: &str = "2026-06-25T10:05:00Z";
const AT: Millis = 1_782_381_900_000;

struct Case {
    found: Found,
    question: Question,
    contract: Result<Contract, String>,
    there: &'static [&'static str],
}

impl Case {
    fn of(value: &serde_json::Value) -> Self {
        Self::bytes(value.to_string().as_bytes())
    }

    fn bytes(bytes: &[u8]) -> Self {
        Self {
            found: Found::Bytes(bytes.to_vec()),
            question: Question::default(),
            contract: Ok(Contract::of_flow(Some("fix"))),
            there: &["artifacts/report.md", "artifacts/learnings.md"],
        }
    }

    fn answer(&self) -> Answer {
        let look = |path: &str| if self.there.contains(&path) { Shelf::Full } else { Shelf::Absent };
        probe(&self.found, &self.question, &self.contract, look)
    }

    #[track_caller]
    fn is(&self, code: Code, message: &str) {
        let answer = self.answer();
        assert_eq!((answer.code, answer.message.as_str()), (code, message));
    }
}

fn complete() -> Case {
    Case::of(&json!({"status": "complete", "outcome": "success", "disposition": "fixed", "timestamp": STAMP}))
}

fn found(found: Found) -> Case {
    Case { found, ..complete() }
}

#[test]
fn every_code_is_reached() {
    complete().is(Code::Ready, "the worker says complete");
    found(Found::NoFolder).is(Code::NoSlot, "there is no such folder");
    found(Found::NoPath("why".to_owned())).is(Code::MissingPath, "why");
    found(Found::NoFile).is(Code::Missing, "there is no signal file");
    found(Found::Unreadable("it is a symlink".to_owned()))
        .is(Code::Missing, "the signal file cannot be read: it is a symlink");
    Case::bytes(b"{").is(Code::InvalidJson, "not JSON (line 1, column 1)");
    Case::of(&json!({"timestamp": STAMP}))
        .is(Code::InvalidSchema, "status: missing; running, blocked, complete, failed or done is wanted");
    Case::of(&json!({"status": "running", "timestamp": STAMP}))
        .is(Code::NonTerminal, "the worker says running");
    let question = Question { context: "c-2".to_owned(), ..Question::default() };
    let of_c1 = Case::of(&json!({"status": "complete", "contextId": "c-1", "timestamp": STAMP}));
    Case { question, ..of_c1 }
        .is(Code::ContextMismatch, "it is of context c-1 and role none; asked was context c-2 and role none");
    let floor = |floor| Question { floor: Some(floor), ..Question::default() };
    Case { question: floor(AT + 1000), ..complete() }.is(
        Code::Stale,
        "it was written at 2026-06-25T10:05:00Z, before this attempt began at 2026-06-25T10:05:01Z",
    );
    Case { there: &["artifacts/learnings.md"], ..complete() }
        .is(Code::ArtifactContract, "artifacts/report.md is missing");
    Case { contract: Err("no JSON".to_owned()), ..complete() }
        .is(Code::TerminalContractInfrastructure, "no JSON");
    let names: Vec<&str> = CODES.iter().map(|(_, name, _)| *name).collect();
    insta::assert_snapshot!(names.join(" "), @"ready no_slot missing_path missing invalid_json invalid_schema non_terminal context_mismatch stale artifact_contract terminal_contract_infrastructure");
    for (code, name, status) in CODES {
        assert_eq!((code.word(), code.exit_status()), (name, status));
        assert!(status == 0 || status >= 10, "2 blocks a tool, 64 is a usage error");
    }
}

#[test]
fn a_signal_without_a_strict_stamp_is_ready_for_a_person_alone() {
    let case = Case::of(&json!({"status": "complete", "timestamp": "yesterday"}));
    let told = "timestamp: \"yesterday\" is not a UTC ISO 8601 time such as 2026-06-25T10:05:00Z";
    case.is(Code::Ready, &format!("the worker says complete ({told})"));
    let question = Question { floor: Some(0), ..Question::default() };
    Case { question, ..case }.is(Code::Stale, &format!("nothing says that it is of this attempt: {told}"));
}

#[test]
fn a_floor_is_met_at_the_same_millisecond() {
    for (floor, code) in [(AT - 1, Code::Ready), (AT, Code::Ready), (AT + 1, Code::Stale)] {
        let question = Question { floor: Some(floor), ..Question::default() };
        assert_eq!(Case { question, ..complete() }.answer().code, code, "{floor}");
    }
}

#[test]
fn each_ending_needs_its_own_evidence() {
    let no_change = json!({"status": "done", "disposition": "already_fixed", "timestamp": STAMP,
        "evidence": {"reportPath": "artifacts/no-change-report.md"}});
    Case::of(&no_change).is(Code::ArtifactContract, "artifacts/no-change-report.md is missing");
    let there = &["artifacts/learnings.md", "artifacts/no-change-report.md"];
    Case { there, ..Case::of(&no_change) }.is(Code::Ready, "the worker says done");
    let mut bare = no_change.clone();
    bare["evidence"] = json!(null);
    let answer = Case { there, ..Case::of(&bare) }.answer();
    assert_eq!(answer.code, Code::Ready);
    assert!(
        answer.message.starts_with("the worker says blocked (evidence.reportPath: missing"),
        "{answer:?}"
    );
}

#[test]
fn who_claims_no_success_is_asked_for_no_evidence_whatever_the_contract_says() {
    let (strict, faults) = Contract::read(
        br#"{"commands": {"blocked": {"report": "artifacts/why.md", "artifacts": ["artifacts/log"]}}}"#,
        None,
    );
    assert_eq!(faults, [""; 0]);
    for status in ["blocked", "failed", "done-partial"] {
        let said = if status == "done-partial" { "blocked" } else { status };
        for evidence in [json!(null), json!({"reportPath": "artifacts/why.md", "artifacts": ["../x"]})] {
            let value = json!({"status": status, "evidence": evidence, "timestamp": STAMP});
            for contract in [Ok(Contract::of_flow(None)), Ok(strict.clone()), Err("broken".to_owned())] {
                let case = Case { there: &[], contract, ..Case::of(&value) };
                case.is(Code::Ready, &format!("the worker says {said}"));
            }
        }
    }
}

#[test]
fn what_it_names_itself_must_be_there_and_inside() {
    let named = |path: &str| {
        Case::of(&json!({"status": "complete", "evidence": {"artifacts": [path]}, "timestamp": STAMP}))
    };
    named("artifacts/report.md").is(Code::Ready, "the worker says complete");
    named("./artifacts/report.md").is(Code::Ready, "the worker says complete");
    named("artifacts/run.log").is(Code::ArtifactContract, "artifacts/run.log is missing");
    named("../../etc/passwd")
        .is(Code::ArtifactContract, "../../etc/passwd cannot be read (it lies outside the task folder)");
}

#[test]
fn learnings_that_were_waived_are_not_wanted() {
    let waived = json!({"status": "complete", "artifactWaivers": {"learnings": true}, "timestamp": STAMP});
    Case { there: &["artifacts/report.md"], ..Case::of(&waived) }.is(Code::Ready, "the worker says complete");
}

#[test]
fn any_breach_of_the_schema_is_told_before_the_rest() {
    let value = json!({"status": "running", "prNumber": "x", "contextId": "c-1", "timestamp": STAMP});
    Case::of(&value).is(Code::InvalidSchema, "prNumber: a whole number from 1 is wanted");
}
