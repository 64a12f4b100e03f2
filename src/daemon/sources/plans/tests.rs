//! The queue as one root sees it: what is noted, what is not, and what is expired.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::model::event::Message;
use crate::model::ledger::Ledger;
use crate::model::moment::Moment;
use crate::model::policy::Policy;
use crate::store::scratch::{Scratch, project};
use crate::store::{journal, signals};

/// 2026-05-13T09:00:00Z
const CREATED: i64 = 1_778_662_800_000;
const ID: &str = "0b0e7a2e-6f5d-4c1a-9a55-3f0d9c1b2a41";

struct World {
    project: Scratch,
    policy: Policy,
    source: Plans,
    now: i64,
}

impl World {
    /// A project in which impl-1 asked for its plan plan-7 when the record says.
    fn new() -> Self {
        let project = project();
        let mut policy = Policy::default();
        policy.subctl.plan_queue = project.in_own("queue.jsonl").display().to_string();
        let event = |at: i64, agent: &str, what: What| Event {
            session: "s-1".to_owned(),
            agent: agent.to_owned(),
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
        let sent = What::ToolEnd {
            tool: "SendMessage".to_owned(),
            id: String::new(),
            failed: false,
            message: Some(message),
        };
        let events =
            [event(CREATED - 3000, "impl-1", What::AgentStart), event(CREATED - 1000, "impl-1", sent)];
        journal::append(&project, &events).unwrap();
        Self { project, policy, source: Plans::default(), now: CREATED + 1000 }
    }

    fn queue(&self, records: &[Value]) {
        let text = records.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n") + "\n";
        fs::write(self.path(), text).unwrap();
    }

    fn path(&self) -> &Path {
        Path::new(&self.policy.subctl.plan_queue)
    }

    fn ledger(&self) -> Ledger {
        journal::fold_with(&self.project, signals::rules(&self.policy)).unwrap()
    }

    /// One look; what is new goes to the journal. Returns it in words.
    fn look(&mut self) -> Vec<String> {
        let ledger = self.ledger();
        let awake = Duration::from_secs(1);
        let now = Moment { wall: self.now, awake, boot: awake };
        let news =
            self.source.look(&View { root: &self.project, policy: &self.policy, ledger: &ledger, now });
        journal::append(&self.project, &news.events).unwrap();
        let words = news.events.iter().map(|event| match &event.what {
            What::Plan(plan) => {
                format!("{} {} of {} in {}", plan.request_id, plan.status.word(), plan.worker, event.session)
            }
            What::Found(found) => format!("{} {} {}: {}", found.rule, found.place, found.who, found.fact),
            other => format!("{other:?}"),
        });
        words.chain(news.faults.iter().map(|fault| format!("! {fault}"))).collect()
    }
}

fn record(more: &Value) -> Value {
    let mut record = json!({
        "id": ID, "request_id": "plan-7", "worker_name": "impl-1", "team_id": "backend", "plan_summary": "x",
        "plan_body": "the plan itself", "created_at": "2026-05-13T09:00:00.000Z", "status": "pending",
    });
    for (key, value) in more.as_object().unwrap() {
        record[key] = value.clone();
    }
    record
}

fn of_others() -> Value {
    record(&json!({"id": "6f1c2b3a-1111-4222-8333-444455556666", "request_id": "plan-1", "plan_summary": 7}))
}

const NONE: [&str; 0] = [];

#[test]
fn what_is_ours_is_noted_once_and_what_is_others_never() {
    let mut world = World::new();
    assert_eq!(world.look(), NONE, "there is no queue");
    world.queue(&[of_others(), record(&json!({}))]);
    assert_eq!(world.look(), ["plan-7 pending of impl-1 in s-1"]);
    assert_eq!(world.look(), NONE);
    // A daemon that was started anew.
    world.source = Plans::default();
    assert_eq!(world.look(), NONE);
    let decided = record(
        &json!({"status": "approved", "decided_at": "2026-05-13T09:10:00Z", "decided_by": "operator"}),
    );
    world.queue(&[of_others(), record(&json!({})), decided]);
    assert_eq!(world.look(), ["plan-7 approved of impl-1 in s-1"]);
    assert_eq!(world.look(), NONE);
    world.source = Plans::default();
    assert_eq!(world.look(), NONE);
    let text = fs::read_to_string(world.project.in_own("journal.jsonl")).unwrap();
    assert!(!text.contains("the plan itself"), "no plan is written down");
}

#[test]
fn what_is_wrong_in_a_record_of_ours_is_found_once() {
    let mut world = World::new();
    world.queue(&[of_others(), record(&json!({"plan_summary": "", "feedback": "no"}))]);
    assert_eq!(
        world.look(),
        [
            "plan-7 pending of impl-1 in s-1",
            "plan-record queue.jsonl:2 impl-1: plan_summary is empty; the queue says \"(no summary)\" then; feedback on a pending request",
        ]
    );
    world.source = Plans::default();
    assert_eq!(world.look(), NONE);
    // Other things are wrong in what follows, and in what follows the decision.
    let more = |more: Value| record(&more);
    let first = more(json!({"plan_summary": "", "feedback": "no"}));
    let approved = json!({"status": "approved", "decided_at": "2026-05-13T09:10:00Z", "decided_by": "me"});
    let mut lines = vec![of_others(), first, more(json!({"plan_summary": 7})), more(approved)];
    world.queue(&lines);
    assert_eq!(
        world.look(),
        [
            "plan-7 approved of impl-1 in s-1",
            "plan-record queue.jsonl:3 impl-1: plan_summary is no text",
            "plan-record queue.jsonl:4 impl-1: decided_by is neither \"operator\" nor \"auto-timeout\"",
        ]
    );
    lines.push(more(json!({})));
    world.queue(&lines);
    let again = "plan-record queue.jsonl:5 impl-1: it is pending again after approved (line 4)";
    assert!(world.look().contains(&again.to_owned()));
    assert_eq!(world.look(), NONE);
}

#[test]
fn lines_that_are_no_records_are_faults_while_they_are_among_the_latest() {
    let mut world = World::new();
    fs::write(world.path(), format!("[]\n{}\n", of_others())).unwrap();
    assert_eq!(world.look(), ["! queue.jsonl:1: no JSON object; the line is passed over"]);
    let text = format!("[]\n{}", format!("{}\n", of_others()).repeat(101));
    fs::write(world.path(), text).unwrap();
    assert_eq!(world.look(), NONE);
}

type Change = fn(&mut World);

#[test]
fn what_is_wrong_with_the_queue_is_no_business_of_a_project_without_subctl() {
    let of_none = || World { project: project(), ..World::new() };
    let ways: [(&str, Change, bool); 5] = [
        ("nothing of subctl is known", |_| {}, false),
        ("a setting", |world| world.policy.subctl.enabled = Some(true), true),
        ("a team is named", |world| world.policy.subctl.teams = vec!["another".to_owned()], true),
        (
            "a session has a role",
            |world| {
                let role = What::Subctl { role: "lead".to_owned() };
                let event = Event { session: "s-1".to_owned(), ..Event::of_root(CREATED, role) };
                journal::append(&world.project, &[event]).unwrap();
            },
            true,
        ),
        ("a plan was seen", |world| *world = World::new(), true),
    ];
    for (way, make, is_told) in ways {
        let mut world = of_none();
        make(&mut world);
        let file = world.project.in_own("other.jsonl");
        world.policy.subctl.plan_queue = file.display().to_string();
        fs::write(&file, format!("[]\n{}\n", of_others())).unwrap();
        assert_eq!(world.look().len(), usize::from(is_told), "{way}");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        world.source = Plans::default();
        assert_eq!(world.look().len(), usize::from(is_told), "{way}");
    }
}

#[test]
fn an_hour_old_request_is_expired_only_where_that_was_asked_for() {
    let expired = |world: &World| fs::read_to_string(world.path()).unwrap().matches("auto-expired").count();
    let mut world = World::new();
    world.queue(&[of_others(), record(&json!({}))]);
    world.look();
    world.now = CREATED + LIFE + 1;
    assert_eq!((world.look(), expired(&world)), (vec![], 0), "not without the setting");
    world.policy.subctl.expire_plans = true;
    world.policy.daemon.mode = Mode::Observe;
    assert_eq!((world.look(), expired(&world)), (vec![], 0), "one that observes touches nothing");
    world.policy.daemon.mode = Mode::Act;
    world.now = CREATED + LIFE;
    assert_eq!((world.look(), expired(&world)), (vec![], 0), "an hour is not yet more than an hour");
    world.now = CREATED + LIFE + 1;
    assert_eq!((world.look(), expired(&world)), (vec![], 1));
    assert_eq!(world.look(), ["plan-7 expired of impl-1 in s-1"]);
    assert_eq!((world.look(), expired(&world)), (vec![], 1), "what is others' is left alone");
}

#[test]
fn a_queue_that_cannot_be_read_is_a_fault_that_stands() {
    let mut world = World::new();
    fs::create_dir(world.path()).unwrap();
    for _ in 0..2 {
        let faults = world.look();
        assert!(faults.len() == 1 && faults[0].ends_with("not a regular file"), "{faults:?}");
    }
    world.policy.subctl.enabled = Some(false);
    assert_eq!(world.look(), NONE, "nothing of subctl is looked at");
}
