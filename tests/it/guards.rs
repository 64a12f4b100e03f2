//! The guards of the Kiln protocol, by the real hook: what is refused, what is told, and that nothing of ours that fails
//! ever refuses anything.

mod open;
mod secrets;
mod state;
mod stop;
mod tasks;

use serde_json::{Value, json};
use watchdog::model::event::What;

use crate::world::{Ran, World, finish};

/// The protocol's schema of TDD evidence, filled in for a testable chunk.
const TDD: &str = "testable: yes\nno_test_waiver_reason: N/A\nassignment_id: asg-7\nmilestone_id: 1\nchunk_id: 2\n\
    current_head_sha_before: 0a1b2c3\ncurrent_head_sha_after: 4d5e6f7a\nred_command: cargo test parser\n\
    red_result_summary: 1 failed\ngreen_command: cargo test parser\ngreen_result_summary: 12 passed\n\
    refactor_command: N/A\nrefactor_result_summary: names only\ntest_files_added_or_changed: tests/parser.rs\n\
    production_files_changed: src/parser.rs\nreviewer_reran_commands: N/A before review\n\
    reviewer_rerun_results: N/A before review\nlimitations: none\n";

/// The protocol's schema of a verdict, filled in for an approval.
const APPROVED: &str = "verdict: APPROVED\nassignment_id: asg-7\nmilestone_id: 1\nchunk_id: 2\n\
    observed_head_sha: 4d5e6f7a\nassignment_head_sha: 0a1b2c3\nhead_changed_unexpectedly: no\n\
    test_requirements: unit tests of the parser\n\
    tdd_evidence_path: .kiln/archive/milestone-1/chunk-2/tdd-evidence.md\n\
    builder_reported_commands: cargo test parser\nbuilder_reported_results: 12 passed\n\
    reviewer_reran_commands: [\"cargo test parser\"]\nreviewer_rerun_results: 12 passed, none ignored\n\
    independent_verification_status: verified\nlsp_diagnostics: used, none\nlimitations: none\n";

/// Where the chunk of the samples is archived.
const CHUNK: &str = ".kiln/archive/milestone-1/chunk-2";

impl World {
    /// Delivers a payload to the hook that holds guards.
    fn guarded(&self, payload: &Value) -> Ran {
        let mut command = self.as_client("hook", &self.client);
        command.arg("--guards");
        finish(command, payload.to_string().as_bytes())
    }

    /// Puts a file into the project.
    fn put(&self, below: &str, text: &str) -> String {
        let path = self.path().join(below);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    }

    /// What the guards have put on record: guard, place, fact.
    fn refusals(&self) -> Vec<(String, String, String)> {
        let of = |what| match what {
            What::Guarded { guard, place, fact } => Some((guard, place, fact)),
            _ => None,
        };
        self.journal().into_iter().filter_map(|event| of(event.what)).collect()
    }

    fn faults(&self) -> Vec<String> {
        let of = |what| match what {
            What::Fault { fault } => Some(fault),
            _ => None,
        };
        self.journal().into_iter().filter_map(|event| of(event.what)).collect()
    }
}

/// An event of an agent of the team, in the shape that clients were seen to send.
fn by(world: &World, name: &str, event: &str, more: &Value) -> Value {
    let mut payload = world.event(
        event,
        &json!({
            "prompt_id": "00000006-0000-4000-8000-000000000006", "permission_mode": "bypassPermissions",
            "agent_id": format!("a{name}-00000000000000a1"), "agent_type": name, "effort": {"level": "medium"},
        }),
    );
    for (key, value) in more.as_object().into_iter().flatten() {
        payload[key] = value.clone();
    }
    payload
}

/// A tool call of an agent, before or after it.
fn call(world: &World, name: &str, event: &str, tool: &str, input: &Value) -> Value {
    by(
        world,
        name,
        event,
        &json!({"tool_name": tool, "tool_input": input, "tool_use_id": "toolu_0000000000000002"}),
    )
}

/// A message that an agent has sent.
fn send(world: &World, name: &str, to: &str, message: &Value) {
    let input = json!({"to": to, "summary": "five words in a preview", "message": message});
    let mut payload = call(world, name, "PostToolUse", "SendMessage", &input);
    payload["tool_response"] = json!({"success": true, "message": format!("Message sent to {to}'s inbox")});
    let ran = world.guarded(&payload);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// The reason of a decision to block.
#[track_caller]
fn reason(ran: &Ran) -> String {
    let answer = ran.answer();
    let reason = answer["reason"].as_str().expect("a reason").to_owned();
    assert_eq!(answer, json!({"decision": "block", "reason": reason}));
    reason
}
