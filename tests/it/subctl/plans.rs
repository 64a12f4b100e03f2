//! The queue of plans under living daemons.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use watchdog::model::event::{Event, Message, What};
use watchdog::store::journal;
use watchdog::system::clock;

use super::{BODY, assert_says, of, send, shown, start, stop};
use crate::world::{Past, SESSION, World, eventually, eventually_some};

const ID: &str = "0b0e7a2e-6f5d-4c1a-9a55-3f0d9c1b2a41";
const OTHER: &str = "6f1c2b3a-1111-4222-8333-444455556666";
const QUICK: &str = "[daemon]\ntick = \"200ms\"\n[quiet]\ntell_person_after = \"1s\"\n";

fn minutes_ago(minutes: i64) -> i64 {
    clock::now().wall - minutes * 60_000
}

fn iso(at: i64) -> String {
    DateTime::<Utc>::from_timestamp_millis(at).unwrap().to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn record(id: &str, request: &str, worker: &str, created: i64) -> Value {
    json!({
        "id": id, "request_id": request, "worker_name": worker, "team_id": "backend", "plan_summary": "Refactor",
        "plan_body": BODY, "created_at": iso(created), "status": "pending",
    })
}

fn write(path: &Path, records: &[Value]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, records.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n") + "\n").unwrap();
}

fn records(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Where subctl keeps its queue for the user of this world.
fn queue_of(world: &World) -> PathBuf {
    world.beside("home").join(".local/state/subctl/plan-approvals.jsonl")
}

/// The journal of a worker impl-1 that asked for plan-7 some time ago.
fn asked(world: &World, at: i64) {
    let event = |at: i64, agent: &str, what: What| Event {
        session: SESSION.to_owned(),
        agent: if agent.is_empty() { String::new() } else { format!("a{agent}-0011223344556677") },
        name: agent.to_owned(),
        ..Event::of_root(at, what)
    };
    let message = Message {
        to: "team-lead".to_owned(),
        delivered: true,
        head: "plan_approval_request".to_owned(),
        request_id: "plan-7".to_owned(),
        operator: true,
        ..Message::default()
    };
    let tool = "SendMessage".to_owned();
    let sent = What::ToolEnd { tool, id: String::new(), failed: false, message: Some(message) };
    let events = [
        event(at - 3000, "", What::Prompt { wake: false }),
        event(at - 2000, "impl-1", What::AgentStart),
        event(at, "impl-1", sent),
        event(at + 1000, "impl-1", What::AgentStop),
        event(at + 2000, "", What::Prompt { wake: false }),
        event(at + 3000, "", What::TurnEnd),
    ];
    world.root.prepare().unwrap();
    journal::append(&world.root, &events).unwrap();
    // The client is there, and has just done something.
    world.hook(&world.event("UserPromptSubmit", &json!({"prompt": "go on"})));
    world.hook(&world.event("Stop", &json!({"last_assistant_message": "Forwarded."})));
}

/// Starts a daemon that keeps running.
fn daemon(world: &World) {
    assert_eq!(world.run(&["start"]).code, 0);
    world.daemon();
}

#[test]
fn a_pending_plan_waits_for_the_operator_who_is_told_once() {
    let world = World::new("build");
    let notes = world.beside("notes").join("reports");
    let run = format!("[\"/bin/sh\", \"-c\", \"cat >>'{}'\"]", notes.display());
    world.settings(&format!("{QUICK}\n[[alert]]\non = [\"waiting\"]\nrun = {run}\n"));
    world.begin();
    start(&world, "impl-1");
    let plan = json!({"type": "plan_approval_request", "request_id": "plan-7", "plan_summary": BODY, "plan_body": BODY});
    send(&world, "lead", "impl-1", &json!({"to": "team-lead", "message": plan}));
    stop(&world, "impl-1");
    let queue = queue_of(&world);
    let mine = record(ID, "plan-7", "impl-1", minutes_ago(1));
    write(&queue, &[record(OTHER, "plan-1", "impl-9", minutes_ago(90)), mine.clone()]);
    let plan = eventually_some("the plan is known by its record", || {
        let shown = shown(&world);
        let plans = shown["plans"].as_array()?.clone();
        (plans.len() == 1 && plans[0]["id"] == ID).then(|| plans[0].clone())
    });
    assert_eq!(
        (&plan["request_id"], &plan["worker"], &plan["session"]),
        (&json!("plan-7"), &json!("impl-1"), &json!(SESSION))
    );
    assert!(plan["age_seconds"].as_i64().is_some_and(|age| (60..600).contains(&age)), "{plan}");
    let words = world.run(&["status"]).out;
    assert!(
        words.contains("plan      impl-1 has waited for a decision for ") && words.contains("it expires at"),
        "{words}"
    );
    let reports = || fs::read_to_string(&notes).unwrap_or_default();
    eventually("the operator is told", || reports().contains("impl-1 has waited for a person"));
    // Approved: the answer is the lead's to give from now on.
    let mut decided = mine.clone();
    decided["status"] = json!("approved");
    decided["decided_at"] = json!(iso(clock::now().wall));
    decided["decided_by"] = json!("operator");
    write(&queue, &[record(OTHER, "plan-1", "impl-9", minutes_ago(90)), mine, decided]);
    eventually("nobody waits for the operator", || shown(&world)["plans"] == json!([]));
    let wait = shown(&world)["waits"][0].clone();
    assert_eq!(
        (&wait["from"], &wait["to"], &wait["kind"]),
        (&json!("impl-1"), &json!("team-lead"), &json!("due")),
        "{wait}"
    );
    assert_eq!(world.count(|what| matches!(what, What::PlanTold { .. })), reports().lines().count());
    assert!(
        reports().lines().count() <= 2,
        "once for the message, once for the record at most: {}",
        reports()
    );
    let journal = fs::read_to_string(world.root.in_own("journal.jsonl")).unwrap();
    assert!(!journal.contains(BODY) && !journal.contains("impl-9"), "{journal}");
    assert!(!world.log().contains(BODY));
}

#[test]
fn an_hour_old_request_is_reported_and_the_queue_is_left_alone_without_the_setting() {
    let world = World::with("build", QUICK);
    asked(&world, minutes_ago(61));
    let queue = queue_of(&world);
    write(&queue, &[record(ID, "plan-7", "impl-1", minutes_ago(61))]);
    daemon(&world);
    eventually("the plan is known", || world.count(|what| matches!(what, What::Plan(_))) == 1);
    let noted = eventually_some("the lead is told", || world.pending());
    let said = noted["additionalContext"].as_str().unwrap();
    assert!(
        said.contains(
            "cause=reply-owed; root=team-lead. team-lead owes impl-1 an answer to plan_approval_request"
        ),
        "{said}"
    );
    let words = world.run(&["status"]).out;
    assert!(words.contains("it expired by the"), "{words}");
    assert_eq!(records(&queue).len(), 1);
}

#[test]
fn with_the_setting_one_record_is_appended_and_what_is_others_is_left_alone() {
    let world = World::with("build", &format!("{QUICK}[subctl]\nexpire_plans = true\n"));
    asked(&world, minutes_ago(61));
    let queue = queue_of(&world);
    let before =
        [record(OTHER, "plan-1", "impl-9", minutes_ago(90)), record(ID, "plan-7", "impl-1", minutes_ago(61))];
    write(&queue, &before);
    daemon(&world);
    eventually("it is expired, and that is noted", || {
        world.count(|what| matches!(what, What::Plan(news) if news.status.word() == "expired")) == 1
    });
    let after = records(&queue);
    assert_eq!((after.len(), &after[..2]), (3, &before[..]), "{after:?}");
    let mut wanted = before[1].clone();
    wanted["status"] = json!("expired");
    wanted["decided_at"] = after[2]["decided_at"].clone();
    wanted["decided_by"] = json!("auto-timeout");
    wanted["feedback"] = json!("auto-expired");
    assert_eq!(after[2], wanted);
    // A daemon that is started anew repeats nothing.
    assert_eq!(world.run(&["stop"]).code, 0);
    daemon(&world);
    let ticks = || world.beacon().map_or(0, |beacon| beacon.last_tick);
    let first = eventually_some("a tick", || Some(ticks()).filter(|tick| *tick > 0));
    eventually("more ticks", || ticks() > first + 400);
    assert_eq!((records(&queue).len(), world.count(|what| matches!(what, What::Plan(_)))), (3, 2));
}

#[test]
fn two_daemons_with_one_queue_append_one_record() {
    for _ in 0..3 {
        let worlds = [World::new("build"), World::new("build")];
        let queue = worlds[0].beside("shared").join("queue.jsonl");
        for world in &worlds {
            world.settings(&format!(
                "{QUICK}[subctl]\nexpire_plans = true\nplan_queue = {:?}\n",
                queue.display().to_string()
            ));
            asked(world, minutes_ago(61));
            daemon(world);
        }
        write(&queue, &[record(ID, "plan-7", "impl-1", minutes_ago(61))]);
        for world in &worlds {
            eventually("each knows that it expired", || {
                world.count(|what| matches!(what, What::Plan(news) if news.status.word() == "expired")) == 1
            });
        }
        let states: Vec<Value> = records(&queue).iter().map(|record| record["status"].clone()).collect();
        assert_eq!(states, ["pending", "expired"]);
    }
}

#[test]
fn a_decision_that_came_first_stands() {
    let world = World::with("build", &format!("{QUICK}[subctl]\nexpire_plans = true\n"));
    asked(&world, minutes_ago(61));
    let mut decided = record(ID, "plan-7", "impl-1", minutes_ago(61));
    let before = decided.clone();
    decided["status"] = json!("rejected");
    decided["decided_at"] = json!(iso(minutes_ago(2)));
    decided["decided_by"] = json!("operator");
    decided["feedback"] = json!(BODY);
    let queue = queue_of(&world);
    write(&queue, &[before, decided]);
    daemon(&world);
    eventually("the decision is noted", || {
        world.count(|what| matches!(what, What::Plan(news) if news.status.word() == "rejected")) == 1
    });
    assert_eq!(records(&queue).len(), 2);
    // One that still looked would take the older stamp for news.
    assert_eq!(world.run(&["stop"]).code, 0);
    world.backdate(&Past { idle: 400, ..Past::default() });
    let explained = world.run(&["explain", "--json"]).out;
    assert!(explained.contains("the request was rejected at ") && !explained.contains(BODY), "{explained}");
}

#[test]
fn a_queue_that_is_a_link_is_refused_and_said_so() {
    let world = World::with("build", QUICK);
    asked(&world, minutes_ago(1));
    let queue = queue_of(&world);
    let elsewhere = world.beside("elsewhere").join("queue.jsonl");
    write(&elsewhere, &[record(ID, "plan-7", "impl-1", minutes_ago(1))]);
    fs::create_dir_all(queue.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &queue).unwrap();
    daemon(&world);
    eventually("status says so", || {
        let faults = shown(&world)["faults"].clone();
        faults.as_array().is_some_and(|all| {
            all.iter().any(|fault| fault.as_str().unwrap_or_default().ends_with("it is a symlink"))
        })
    });
    assert_eq!(world.count(|what| matches!(what, What::Plan(_))), 0);
}

#[test]
fn a_team_that_is_known_by_its_queue_is_held_to_the_protocol() {
    let world = World::with("build", &format!("{QUICK}[subctl]\nteams = [\"backend\"]\n"));
    world.begin();
    start(&world, "impl-1");
    write(&queue_of(&world), &[record(ID, "plan-1", "impl-1", minutes_ago(1))]);
    eventually("the plan is known", || world.count(|what| matches!(what, What::Plan(_))) == 1);
    let payload = of(
        &world,
        "impl-1",
        "PostToolUse",
        &json!({
            "tool_name": "SendMessage", "tool_use_id": "t1", "tool_input": {"to": "team-lead", "message": "Done."},
            "tool_response": {"success": true},
        }),
    );
    assert_says(&world.hook(&payload), "has no summary");
}
