//! Teams of subctl, with the real binary: what senders are told, how tasks and plans are shown, and the queue of plans.

mod plans;

use serde_json::{Value, json};

use watchdog::model::event::What;

use crate::world::{Past, Ran, World, eventually, eventually_some, finish};

/// A worker's prompt as the protocol wants it.
const PROMPT: &str = "GOAL: x\nCONTEXT: x\nDELIVERABLE: x\nDONE WHEN: x\nREPORT BACK: x\nCONSTRAINTS: x";
/// Words that must not be written down anywhere.
const BODY: &str = "the-words-of-the-body";

/// A payload of a worker; the lead's for an empty name.
fn of(world: &World, name: &str, event: &str, more: &Value) -> Value {
    let mut payload = world.event(event, more);
    if !name.is_empty() {
        payload["agent_id"] = json!(format!("a{name}-0011223344556677"));
        payload["agent_type"] = json!(name);
    }
    payload
}

/// Delivers a payload of a session that subctl began in this role; none for an empty one.
fn hook(world: &World, role: &str, payload: &Value) -> Ran {
    let mut command = world.as_client("hook", &world.client);
    if !role.is_empty() {
        command.env("SUBCTL_AGENT_ROLE", role);
    }
    finish(command, payload.to_string().as_bytes())
}

fn call(world: &World, role: &str, name: &str, tool: &str, input: &Value, response: &Value) -> Ran {
    let more = json!({
        "tool_name": tool, "tool_use_id": format!("toolu-{tool}"), "tool_input": input, "tool_response": response,
    });
    hook(world, role, &of(world, name, "PostToolUse", &more))
}

fn send(world: &World, role: &str, from: &str, input: &Value) -> Ran {
    call(world, role, from, "SendMessage", input, &json!({"success": true, "message": "sent"}))
}

fn text(to: &str, words: &str) -> Value {
    json!({"to": to, "summary": "a few words of preview", "message": words})
}

fn create(world: &World, role: &str, name: &str, id: &str, subject: &str) -> Ran {
    let input = json!({"subject": subject, "description": BODY, "activeForm": BODY});
    call(world, role, name, "TaskCreate", &input, &json!({"task": {"id": id, "subject": subject}}))
}

fn update(world: &World, role: &str, name: &str, id: &str, more: &Value) -> Ran {
    let mut input = json!({"taskId": id});
    for (key, value) in more.as_object().unwrap() {
        input[key] = value.clone();
    }
    call(
        world,
        role,
        name,
        "TaskUpdate",
        &input,
        &json!({"success": true, "taskId": id, "updatedFields": []}),
    )
}

fn status(world: &World, state: &str) -> Value {
    json!({"status": state, "x": world.path()})
}

/// A worker begins a turn; one ends it.
fn start(world: &World, name: &str) {
    hook(world, "", &of(world, name, "SubagentStart", &json!({})));
}

fn stop(world: &World, name: &str) {
    hook(world, "", &of(world, name, "SubagentStop", &json!({"last_assistant_message": "Done."})));
}

fn shown(world: &World) -> Value {
    let ran = world.run(&["status", "--json"]);
    serde_json::from_str(&ran.out).expect("JSON")
}

#[track_caller]
fn assert_says(ran: &Ran, words: &str) {
    let said = ran.context("PostToolUse");
    assert!(said.starts_with("KILN DEADLOCK WATCHDOG: by the subctl team protocol: "), "{said}");
    assert!(said.contains(words), "{words}: {said}");
    assert!(!said.contains(BODY), "{said}");
}

/// Every case, told by the environment of the session alone.
#[test]
fn what_the_protocol_says_otherwise_is_told_to_the_sender_once() {
    let world = World::new("build");
    start(&world, "impl-1");
    let once = |words: &str, ran: &dyn Fn() -> Ran| {
        assert_says(&ran(), words);
        assert_eq!(ran(), Ran::silence(), "{words}");
    };
    let sent = |from: &'static str, input: Value| {
        let world = &world;
        move || send(world, "lead", from, &input)
    };
    once(
        "structured JSON of type progress",
        &sent("impl-1", json!({"to": "team-lead", "message": {"type": "progress", "text": BODY}})),
    );
    once("has no summary", &sent("impl-1", json!({"to": "team-lead", "message": BODY})));
    once(
        "carries no request_id",
        &sent(
            "impl-1",
            json!({"to": "team-lead", "message": {"type": "shutdown_response", "approve": false}}),
        ),
    );
    once("is an id", &sent("", text("0b0e7a2e-6f5d-4c1a-9a55-3f0d9c1b2a41", BODY)));
    once(
        "shutdown_request comes from the lead",
        &sent(
            "impl-1",
            json!({"to": "team-lead", "message": {"type": "shutdown_request", "request_id": "s-1", "reason": BODY}}),
        ),
    );
    let spawn = |input: Value, response: Value| {
        let world = &world;
        move || call(world, "lead", "", "Agent", &input, &response)
    };
    let alone = json!({"description": BODY, "prompt": PROMPT, "subagent_type": "general-purpose"});
    once(
        "was begun without team_name",
        &spawn(alone, json!({"status": "completed", "agentId": "a9", "content": BODY})),
    );
    let bare = json!({"description": BODY, "prompt": format!("GOAL: x\n{BODY}"), "name": "impl-2", "team_name": "t"});
    let spawned =
        json!({"status": "teammate_spawned", "agent_id": "aimpl-2-0011223344556677", "name": "impl-2"});
    once(
        "the prompt of impl-2 has no CONTEXT, no DELIVERABLE, no DONE WHEN, no REPORT BACK, no CONSTRAINTS.",
        &spawn(bare, spawned.clone()),
    );
    let whole = json!({"description": BODY, "prompt": PROMPT, "name": "impl-3", "team_name": "t"});
    assert_eq!(spawn(whole, spawned)(), Ran::silence());
    assert_eq!(send(&world, "lead", "", &text("impl-1", "Good work.")), Ran::silence());
    let journal = std::fs::read_to_string(world.root.in_own("journal.jsonl")).unwrap();
    assert!(!journal.contains(BODY), "{journal}");
    assert_eq!(world.count(|what| matches!(what, What::Subctl { role } if role == "lead")), 1);
    assert_eq!(world.count(|what| matches!(what, What::Helped { .. })), 7);
}

#[test]
fn transitions_and_duplicates_of_tasks_are_told_to_whoever_made_them() {
    let world = World::new("build");
    start(&world, "impl-1");
    assert_eq!(create(&world, "lead", "", "1", "Write the loader"), Ran::silence());
    assert_says(
        &create(&world, "lead", "", "2", "  write THE loader "),
        "task 2 has the subject of task 1, which is pending",
    );
    assert_says(&create(&world, "lead", "impl-1", "3", "Another"), "task 3 was made by a worker");
    assert_says(
        &update(&world, "lead", "impl-1", "1", &status(&world, "completed")),
        "task 1 went from pending to completed",
    );
    assert_eq!(
        update(&world, "lead", "", "1", &status(&world, "in_progress")),
        Ran::silence(),
        "the lead takes it back"
    );
    assert_says(
        &update(&world, "lead", "", "1", &status(&world, "completed")),
        "task 1 was set to completed by the lead; it is impl-1's",
    );
    assert_eq!(update(&world, "lead", "impl-1", "2", &status(&world, "in_progress")), Ran::silence());
    assert_says(
        &update(&world, "lead", "impl-1", "2", &status(&world, "blocked")),
        "task 2 is blocked, and metadata.blocker says nothing",
    );
    let failed = json!({"success": false, "error": "Task not found"});
    assert_eq!(
        call(&world, "lead", "impl-1", "TaskUpdate", &json!({"taskId": "1", "status": "blocked"}), &failed),
        Ran::silence()
    );
}

#[test]
fn a_worker_that_is_a_client_of_its_own_is_no_lead() {
    let world = World::new("build");
    let request = json!({"to": "team-lead", "message": {"type": "shutdown_request", "request_id": "s-1", "reason": "x"}});
    assert_says(&send(&world, "worker", "", &request), "shutdown_request comes from the lead");
    assert_says(&create(&world, "worker", "", "1", "Another"), "made by a worker");
    update(&world, "worker", "", "1", &status(&world, "in_progress"));
    assert_eq!(update(&world, "worker", "", "1", &status(&world, "completed")), Ran::silence());
}

#[test]
fn teams_that_do_not_speak_the_protocol_hear_nothing_of_it() {
    let breach = json!({"to": "team-lead", "message": {"type": "progress"}});
    let alone = json!({"prompt": "do it", "subagent_type": "general-purpose"});
    for (settings, role, is_told) in [
        ("", "", false),
        ("[subctl]\nenabled = false\n", "lead", false),
        ("[subctl]\nenabled = true\n", "", true),
        ("", "lead", true),
        ("", "nonsense", false),
    ] {
        let world = World::with("build", settings);
        let spawn = json!({"description": "x", "prompt": PROMPT, "name": "impl-1", "team_name": "t"});
        call(&world, "", "", "Agent", &spawn, &json!({"status": "teammate_spawned", "name": "impl-1"}));
        let told = send(&world, role, "impl-1", &breach) != Ran::silence();
        assert_eq!(told, is_told, "{settings} {role}");
        let told = call(&world, role, "", "Agent", &alone, &json!({"status": "completed"})) != Ran::silence();
        assert_eq!(told, is_told, "{settings} {role}");
        let told = create(&world, role, "impl-1", "1", "x") != Ran::silence();
        assert_eq!(told, is_told, "{settings} {role}");
    }
    // A session without a team is alone: nothing is outside it.
    let world = World::with("build", "[subctl]\nenabled = true\n");
    assert_eq!(call(&world, "", "", "Agent", &alone, &json!({"status": "completed"})), Ran::silence());
}

#[test]
fn a_team_is_known_by_a_request_that_carries_its_plan() {
    let world = World::new("build");
    start(&world, "impl-1");
    let plan = json!({"type": "plan_approval_request", "request_id": "plan-7", "plan_summary": BODY, "plan_body": BODY});
    assert_eq!(send(&world, "", "impl-1", &json!({"to": "team-lead", "message": plan})), Ran::silence());
    assert_says(&send(&world, "", "impl-1", &json!({"to": "team-lead", "message": "x"})), "has no summary");
}

#[test]
fn tasks_and_what_blocks_them_are_shown() {
    let world = World::new("build");
    start(&world, "impl-1");
    create(&world, "lead", "", "1", "Write the loader");
    update(&world, "lead", "impl-1", "1", &status(&world, "in_progress"));
    let blocker = json!({"status": "blocked", "metadata": {"blocker": "the schema of ghp_0123456789abcdefghij is missing"}});
    assert_eq!(update(&world, "lead", "impl-1", "1", &blocker), Ran::silence());
    let shown = shown(&world);
    let task = &shown["tasks"][0];
    assert_eq!(
        (&task["id"], &task["state"], &task["owner"]),
        (&json!("1"), &json!("blocked"), &json!("impl-1")),
        "{shown}"
    );
    assert_eq!(task["blocker"], json!("the schema of [masked] is missing"));
    let wait = shown["waits"].as_array().unwrap().iter().find(|wait| wait["what"] == "task_blocked").unwrap();
    assert_eq!((&wait["from"], &wait["to"]), (&json!("impl-1"), &json!("team-lead")), "{shown}");
    let words = world.run(&["status"]).out;
    assert!(words.contains("blocked   task 1 of impl-1 for ") && words.contains("[masked]"), "{words}");
    let journal = std::fs::read_to_string(world.root.in_own("journal.jsonl")).unwrap();
    assert!(!journal.contains(BODY) && !journal.contains("loader") && !journal.contains("ghp_"), "{journal}");
    // A nudge names what blocks.
    stop(&world, "impl-1");
    world.backdate(&Past { idle: 400, ..Past::default() });
    let why = world.run(&["explain", "--json"]).out;
    assert!(why.contains("task 1 of impl-1 has been blocked since") && why.contains("[masked]"), "{why}");
    update(&world, "lead", "impl-1", "1", &status(&world, "in_progress"));
    let after = self::shown(&world);
    assert_eq!(
        (&after["tasks"][0]["state"], &after["tasks"][0]["blocker"]),
        (&json!("in_progress"), &Value::Null)
    );
}

/// A worker that is done, acknowledged, and told to nobody else.
fn parked(settings: &str) -> World {
    let world = World::with("build", settings);
    hook(&world, "lead", &world.event("UserPromptSubmit", &json!({"prompt": "go on"})));
    start(&world, "impl-1");
    create(&world, "lead", "", "1", "Write the loader");
    update(&world, "lead", "impl-1", "1", &status(&world, "in_progress"));
    update(&world, "lead", "impl-1", "1", &status(&world, "completed"));
    send(&world, "lead", "impl-1", &text("team-lead", "Branch pushed. Ready for shutdown."));
    stop(&world, "impl-1");
    send(&world, "lead", "", &text("impl-1", "Verified, thank you."));
    world
}

#[test]
fn the_lead_is_told_once_of_a_worker_that_is_left_idle() {
    let world = parked("[subctl]\nparked_after = \"1s\"\n[daemon]\ntick = \"200ms\"\n");
    let idle = shown(&world)["idle"].clone();
    assert_eq!((&idle[0]["name"], &idle[0]["why"]), (&json!("impl-1"), &json!("acknowledged")), "{idle}");
    let words = world.run(&["status"]).out;
    assert!(
        words.contains("idle      impl-1 for ") && words.contains("its task is completed and acknowledged"),
        "{words}"
    );
    assert_eq!(world.run(&["start"]).code, 0);
    let noted = eventually_some("a note", || world.pending());
    let said = noted["additionalContext"].as_str().unwrap();
    assert!(said.contains("cause=parked-worker; root=team-lead. impl-1 is idle and has neither a task nor a shutdown_request."), "{said}");
    assert_eq!(noted["nudge_n"], 0);
    let taken = world.hook(&world.event("PreToolUse", &json!({"tool_name": "Read", "tool_input": {}})));
    assert!(taken.context("PreToolUse").contains("parked-worker"));
    let ticks = || world.beacon().map_or(0, |beacon| beacon.last_tick);
    let before = ticks();
    eventually("two more ticks", || ticks() > before + 400);
    assert_eq!(world.count(|what| matches!(what, What::Noted { cause, .. } if cause == "parked-worker")), 1);
    assert_eq!(world.pending(), None);
}

#[test]
fn an_idle_worker_is_not_prodded() {
    let idle = |world: &World| {
        // As a client that loses the end of a turn leaves it: still listed.
        let mut activity = world.activity();
        activity["active_teammates"] = json!({"impl-1": 1});
        world.write_activity(&activity);
        world.hook(&of(world, "impl-1", "TeammateIdle", &json!({"teammate_name": "impl-1"}))).code
    };
    assert_eq!(idle(&parked("")), 0);
    assert_eq!(idle(&parked("[subctl]\nenabled = false\n")), 2);
    // Nor is one that waits for the operator.
    let world = World::new("build");
    start(&world, "impl-1");
    let plan = json!({"type": "plan_approval_request", "request_id": "plan-7", "plan_summary": "x", "plan_body": "y"});
    send(&world, "lead", "impl-1", &json!({"to": "team-lead", "message": plan}));
    assert_eq!(idle(&world), 0);
}
