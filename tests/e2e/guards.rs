//! The guards on a real client: what it is denied, what it hears of what it wrote, and what it may not stop or call done.

use std::time::Duration;

use serde_json::{Value, json};

use crate::api::{Api, Request};
use crate::client::{Client, UNASKED};
use crate::project::Project;
use crate::wait::{wait_for, wait_until, wait_up_to};

/// Silence is of no matter here.
const CALM: &str = "[daemon]\ntick = \"1s\"\n";

/// A project whose hooks hold the guards, with a recorder on these events besides.
fn guarded(events: &[&str]) -> Project {
    let project = Project::in_flight_without_hooks(CALM);
    let installed = project.watchdog(&["install", "--guards"]);
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    let project = project.with_recorder();
    let recorder = project.scratch().join("hooks/record");
    for event in events {
        let handler = json!({"type": "command", "command": recorder, "args": []});
        project.add_hook(event, json!({"hooks": [handler]}));
    }
    std::fs::create_dir(project.path().join(".kiln/docs")).expect("a new folder");
    project
}

/// What the guards have put on record: the guard, and whether anything is wrong.
fn on_record(project: &Project) -> Vec<String> {
    let name = |line: &Value| line["guard"].as_str().unwrap_or_default().to_owned();
    project.journalled("guarded").iter().map(name).collect()
}

#[test]
fn a_file_of_secrets_is_not_read_and_the_model_hears_why() {
    let project = guarded(&[]);
    project.write(".env", "TOKEN=hunter2");
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    let read = json!({"file_path": project.path().join(".env")});
    let bash = json!({"command": "cat .env"});
    client.prompt(&format!("@tool Read {read}\n@tool Bash {bash}\n@say OVER"));
    project.first_recorded("Stop", "last_assistant_message", "OVER");
    for tool in ["Read", "Bash"] {
        api.first_holding(&format!(
            "KILN GUARD: this call of {tool} was denied: it names a file that matches `.env`"
        ));
    }
    assert!(api.holding("hunter2").is_empty(), "the model has seen the secret");
    assert_eq!(on_record(&project), ["secrets", "secrets"]);
}

#[test]
fn a_mind_is_kept_from_stopping_once() {
    let project = guarded(&[]);
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    let rakim = json!({"name": "rakim", "description": "a mind", "subagent_type": "general-purpose",
                       "prompt": "PROMPT-OF-rakim\n@say DONE"});
    client.prompt(&format!("@tool Agent {rakim}\n@say LEAD-IS-DONE"));
    let words = "rakim is about to stop with work undone.";
    let kept = wait_for("the mind to hear why", || {
        let requests = api.holding("PROMPT-OF-rakim").into_iter();
        requests
            .filter(|request: &Request| !request.holds("LEAD-IS-DONE"))
            .find(|request| request.holds(words))
    });
    assert!(kept.holds(".kiln/docs/codebase-state.md: the file is not there"), "{}", kept.conversation());
    wait_until("the mind's turn to be over", || !project.recorded("TeammateIdle").is_empty());
    let stops = project.recorded("SubagentStop");
    let active: Vec<&Value> = stops.iter().map(|stop| &stop["stop_hook_active"]).collect();
    assert_eq!(active, [&json!(false), &json!(true)]);
    assert_eq!(on_record(&project), ["subagent_stop"]);
}

#[test]
fn the_writer_hears_of_what_it_wrote_and_nobody_is_woken_for_it() {
    let project = guarded(&[]);
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    let write = |text: &str| {
        let input = json!({"file_path": project.path().join(".kiln/docs/patterns.md"), "content": text});
        format!("@tool Write {input}")
    };
    client.prompt(&format!("{}\n@say WRITTEN", write("# Patterns\n")));
    api.first_holding(".kiln/docs/patterns.md: line 1 is no status marker; its first line is exactly");
    project.first_recorded("Stop", "last_assistant_message", "WRITTEN");
    client.prompt(&format!("{}\n@say MENDED", write("<!-- status: complete -->\n# Patterns\n")));
    project.first_recorded("Stop", "last_assistant_message", "MENDED");
    let facts: Vec<Value> = project.journalled("guarded").iter().map(|line| line["fact"].clone()).collect();
    assert_eq!(facts, [json!("line 1"), Value::Null]);
    assert!(api.holding("KILN ASYNC REWAKE: KILN GUARD").is_empty());
}

/// The client sees a folder's new files only if the folder itself is named to it; of files that are named and not there it
/// sees one.
#[test]
fn an_idle_lead_is_woken_by_each_file_that_somebody_else_wrote() {
    let project = guarded(&[]);
    let api = Api::start();
    let client = Client::open(&project, &api, UNASKED);
    client.prompt("@say hello");
    project.first_recorded("Stop", "last_assistant_message", "hello");
    for name in ["architecture", "codebase-state", "patterns"] {
        let path = format!(".kiln/docs/{name}.md");
        let told = format!("KILN ASYNC REWAKE: KILN GUARD: {path} is not as");
        // A client that has just begun does not watch yet, and says nowhere when it does; and a wake that comes while
        // it is about to end a turn may be dropped by it. Each way of being wrong is told once: the file is mended and
        // spoilt again.
        let mut times = 0;
        let woken = wait_for("the lead to be woken", || {
            times += 1;
            let seen = || api.holding(&told).into_iter().next();
            project.write(&path, &format!("# Written {times} times\n"));
            wait_up_to(Duration::from_secs(4), seen).or_else(|| {
                project.write(&path, &format!("<!-- status: complete -->\n# Mended {times} times\n"));
                wait_up_to(Duration::from_secs(1), seen)
            })
        });
        assert!(woken.holds("<task-notification>"), "{}", woken.conversation());
    }
    let mut recorded = on_record(&project);
    recorded.dedup();
    assert_eq!(recorded, ["state_files"]);
}

#[test]
fn a_critical_task_without_its_metadata_is_not_made_and_one_without_proof_not_done() {
    let project = guarded(&["TaskCreated", "TaskCompleted"]);
    let api = Api::start();
    let client =
        Client::open(&project, &api, &[UNASKED, &["--allowedTools", "TaskCreate,TaskUpdate"]].concat());
    let make = |metadata: Value| {
        let input = json!({"subject": "Review chunk 2", "description": "as agreed", "activeForm": "Reviewing",
                           "metadata": metadata});
        format!("@tool TaskCreate {input}")
    };
    client.prompt(&format!("{}\n@say REFUSED", make(json!({"milestone_id": 1}))));
    project.first_recorded("Stop", "last_assistant_message", "REFUSED");
    api.first_holding("role is missing; a review task has `role: {who does it}` in its metadata, or as a line of its description");
    client.prompt(&format!("{}\n@say MADE", make(json!({"milestone_id": 1, "role": "reviewer"}))));
    project.first_recorded("Stop", "last_assistant_message", "MADE");
    let created = project.recorded("TaskCreated");
    let id = created.last().expect("it was recorded")["task_id"].clone();
    client
        .prompt(&format!("@tool TaskUpdate {}\n@say NOT-DONE", json!({"taskId": id, "status": "completed"})));
    project.first_recorded("Stop", "last_assistant_message", "NOT-DONE");
    api.first_holding(
        "verdict_path is missing; a review task is done with `verdict_path: {path of review.md}`",
    );
    // What the completing call itself sets is not in the client's list yet.
    let update = json!({"taskId": id, "status": "completed", "metadata": {"verdict_path": "none/review.md"}});
    client.prompt(&format!("@tool TaskUpdate {update}\n@say NO-FILE"));
    project.first_recorded("Stop", "last_assistant_message", "NO-FILE");
    api.first_holding("verdict_path leads to no file (none/review.md)");
    assert_eq!(on_record(&project), ["task_created", "task_completed", "task_completed"]);
}
