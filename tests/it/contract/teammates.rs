//! Agents other than the lead: who is listed as working, what they are told, what is acknowledged.

use serde_json::{Value, json};

use crate::world::{Past, Ran, World};

fn agent(world: &World, event: &str, id: &str, name: &str) -> Value {
    world.event(event, &json!({"agent_id": id, "agent_type": name}))
}

fn idle(world: &World, name: &str) -> Ran {
    let more = json!({"agent_id": format!("a{name}-1"), "agent_type": name, "teammate_name": name});
    world.hook(&world.event("TeammateIdle", &more))
}

fn listed(world: &World) -> Vec<String> {
    world.activity()["active_teammates"].as_object().expect("a map").keys().cloned().collect()
}

#[test]
fn a_start_adds_a_teammate_and_only_the_last_stop_of_its_name_removes_it() {
    let world = World::new("build");
    world.hook(&agent(&world, "SubagentStart", "a1", "kiln:dial-a-coder"));
    world.hook(&agent(&world, "SubagentStart", "a2", "kiln:dial-a-coder"));
    world.hook(&agent(&world, "SubagentStop", "a1", "kiln:dial-a-coder"));
    assert_eq!(listed(&world), ["dial-a-coder"], "a2 is still in its turn");
    world.hook(&agent(&world, "SubagentStop", "zz", ""));
    world.hook(&world.event("SubagentStop", &json!({"agent_id": "yy"})));
    assert_eq!(listed(&world), ["dial-a-coder"], "a stop without a name is nobody's");
    world.hook(&agent(&world, "SubagentStart", "a3", "general-purpose"));
    world.hook(&agent(&world, "SubagentStart", "a3", "general-purpose"));
    assert_eq!(listed(&world), ["dial-a-coder", "general-purpose"], "starting twice is one agent");
    world.hook(&agent(&world, "SubagentStop", "a2", "kiln:dial-a-coder"));
    assert_eq!(listed(&world), ["general-purpose"]);
}

#[test]
fn a_start_without_a_name_lists_nobody_and_is_still_a_sign_of_work() {
    let world = World::new("build");
    world.backdate(&Past::default());
    world.silent(&agent(&world, "SubagentStart", "x1", ""));
    assert_eq!(listed(&world), Vec::<String>::new());
    assert_eq!(world.activity()["last_activity_source"], "SubagentStart");
}

#[test]
fn teammate_idle_removes_nobody() {
    let world = World::new("build");
    world.backdate(&Past { teammates: json!({"rakim": 1, "sentinel": 2}), ..Past::default() });
    for name in ["rakim", "sentinel", "rakim", "rakim", "stranger"] {
        idle(&world, name);
        assert_eq!(world.activity()["active_teammates"], json!({"rakim": 1, "sentinel": 2}), "{name}");
    }
}

#[test]
fn a_teammate_that_is_still_listed_is_told_so_twice_per_quiet_period_and_then_left_alone() {
    let world = World::new("build");
    world.backdate(&Past { teammates: json!({"rakim": 1}), ..Past::default() });
    let codes: Vec<i32> = (0..6).map(|_| idle(&world, "rakim").code).collect();
    assert_eq!(codes, [2, 2, 0, 0, 0, 0]);
    // Real work of that teammate begins the next quiet period; work of others does not.
    world.hook(&world.event("PreToolUse", &json!({"tool_name": "Read", "tool_use_id": "t0"})));
    assert_eq!(idle(&world, "rakim").code, 0);
    let tool =
        json!({"agent_id": "arakim-1", "agent_type": "rakim", "tool_name": "Read", "tool_use_id": "t1"});
    world.hook(&world.event("PreToolUse", &tool));
    let codes: Vec<i32> = (0..3).map(|_| idle(&world, "rakim").code).collect();
    assert_eq!(codes, [2, 2, 0]);
}

#[test]
fn the_feedback_names_the_teammate_and_the_stage_on_standard_error_alone() {
    let world = World::new("build");
    world.backdate(&Past { teammates: json!({"rakim": 1}), ..Past::default() });
    let told = idle(&world, "kiln:rakim");
    assert_eq!((told.code, told.out.as_str()), (2, ""));
    assert!(told.err.starts_with("KILN DEADLOCK WATCHDOG: rakim is going idle"), "{told:?}");
    assert!(told.err.contains("(stage build)"), "{told:?}");
}

#[test]
fn nobody_else_gets_feedback() {
    let world = World::new("build");
    world.backdate(&Past { teammates: json!({"rakim": 1}), ..Past::default() });
    assert_eq!(idle(&world, "stranger"), Ran::silence(), "not listed");
    assert_eq!(world.hook(&world.event("TeammateIdle", &json!({}))), Ran::silence(), "not named");
    world.stage("awaiting_user");
    assert_eq!(idle(&world, "rakim"), Ran::silence(), "an exempt phase");
}

#[test]
fn two_teammates_that_alternate_are_told_twice_each() {
    let world = World::new("build");
    world.backdate(&Past { teammates: json!({"rakim": 1, "sentinel": 2}), ..Past::default() });
    let codes: Vec<i32> =
        (0..4).flat_map(|_| [idle(&world, "rakim").code, idle(&world, "sentinel").code]).collect();
    assert_eq!(codes, [2, 2, 2, 2, 0, 0, 0, 0]);
}

#[test]
fn a_spawn_is_acknowledged_in_the_protocols_form_and_in_the_form_that_clients_honour() {
    let world = World::new("build");
    let answer = world.hook(&agent(&world, "SubagentStart", "a2c92feb", "kiln:rakim")).answer();
    let text = "SubagentStart: agent_type=rakim agent_id=a2c92feb — spawn acknowledged";
    assert_eq!(
        answer,
        json!({
            "additionalContext": text,
            "hookSpecificOutput": {"hookEventName": "SubagentStart", "additionalContext": text},
        })
    );
}

#[test]
fn only_agents_of_the_roster_are_acknowledged_and_the_roster_is_a_setting() {
    let world = World::new("build");
    world.silent(&agent(&world, "SubagentStart", "a1", "general-purpose"));
    world.silent(&agent(&world, "SubagentStart", "a2", "explorer"));
    world.settings("[agents]\nroster = [\"explor*\"]\n");
    world.silent(&agent(&world, "SubagentStart", "a3", "rakim"));
    let text =
        world.hook(&agent(&world, "SubagentStart", "a4", "explorer")).answer()["additionalContext"].clone();
    assert_eq!(text, "SubagentStart: agent_type=explorer agent_id=a4 — spawn acknowledged");
}

fn unknown_recipient(world: &World, to: &str, by: &Value) -> Ran {
    let mut payload = world.event(
        "PostToolUse",
        &json!({
            "tool_name": "SendMessage", "tool_use_id": "toolu_9",
            "tool_input": {"to": to, "summary": "five words in a preview", "message": "REVIEW_REQUEST: please"},
            "tool_response": {"success": false, "message": format!("No agent named '{to}' is reachable.")},
        }),
    );
    for (key, value) in by.as_object().into_iter().flatten() {
        payload[key] = value.clone();
    }
    world.hook(&payload)
}

#[test]
fn the_sender_of_an_undeliverable_message_learns_the_names_that_exist_the_nearest_first() {
    let world = World::new("build");
    for (id, name) in [("a1", "sentinel"), ("a2", "rakim"), ("a3", "sphinx")] {
        world.hook(&agent(&world, "SubagentStart", id, name));
    }
    let text = unknown_recipient(&world, "sphynx", &json!({})).context("PostToolUse");
    assert!(
        text.starts_with("KILN DEADLOCK WATCHDOG: the message to \"sphynx\" was not delivered"),
        "{text}"
    );
    assert!(text.contains("nearest first: sphinx, "), "{text}");
    assert!(text.contains("rakim") && text.contains("sentinel"), "{text}");
    assert!(!text.contains("team-lead"), "the sender itself is no recipient: {text}");
}

#[test]
fn a_teammate_that_misses_learns_of_the_lead_and_not_of_itself() {
    let world = World::new("build");
    for (id, name) in [("a1", "rakim"), ("a2", "sphinx")] {
        world.hook(&agent(&world, "SubagentStart", id, name));
    }
    let by = json!({"agent_id": "a1", "agent_type": "rakim"});
    let text = unknown_recipient(&world, "teamlead", &by).context("PostToolUse");
    assert!(text.contains("nearest first: team-lead, sphinx."), "{text}");
}

#[test]
fn a_delivered_message_is_answered_with_nothing() {
    let world = World::new("build");
    let sent = json!({
        "tool_name": "SendMessage", "tool_use_id": "t", "tool_input": {"to": "sphinx", "message": "hello"},
        "tool_response": {"success": true},
    });
    world.silent(&world.event("PostToolUse", &sent));
    assert_eq!(world.activity()["last_activity_source"], "PostToolUse:SendMessage");
}
