//! What others may plant, what agents may say, and what must never be written down.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use watchdog::model::event::What;

use crate::timed::Timed;
use crate::world::{Past, World, eventually, gone, names};

const MINUTE: i64 = 60;

fn read() -> Value {
    json!({"tool_name": "Read", "tool_use_id": "t"})
}

#[test]
fn a_symlink_in_place_of_a_file_of_ours_is_never_followed() {
    let below_tmp =
        ["activity.json", "pending-nudge.json", "watchdog.pid", "async-rewake-watchdog.pid", "activity.lock"];
    let below_own = [
        "journal.jsonl",
        "watchdog.log",
        "daemon.json",
        "daemon.lock",
        "start.lock",
        "unstored",
        "activity.json.new",
        "pending-nudge.json.new",
        "watchdog.pid.new",
        "daemon.json.new",
        "DEADLOCK.flag.new",
        "flag.told",
        "activity.broken",
    ];
    let places = |world: &World| {
        let tmp = below_tmp.iter().map(|name| world.root.in_tmp(name));
        let own = below_own.iter().map(|name| world.root.in_own(name));
        tmp.chain(own).chain([world.root.flag()]).collect::<Vec<_>>()
    };
    for place in 0..=below_tmp.len() + below_own.len() {
        let world = World::with("build", "[daemon]\ntick = \"100ms\"\n");
        world.root.prepare().unwrap();
        let path = &places(&world)[place];
        let victim = world.beside("victim").join("file");
        fs::write(&victim, "theirs").unwrap();
        fs::remove_file(path).ok();
        symlink(&victim, path).unwrap();
        let events = [
            world.event("SessionStart", &json!({"source": "startup"})),
            world.event("PostToolUse", &read()),
            world.event("StopFailure", &json!({"error": "billing_error"})),
            world.event("UserPromptSubmit", &json!({"prompt": "go"})),
        ];
        for event in &events {
            let ran = world.hook(event);
            assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}: {event}", path.display());
        }
        world.run(&["status"]);
        world.run(&["check", "--act"]);
        world.run(&["start"]);
        world.run(&["stop"]);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "theirs", "{}", path.display());
    }
}

#[test]
fn a_symlink_in_place_of_a_folder_of_ours_is_refused_by_name() {
    for which in 0..3 {
        let world = World::new("build");
        world.root.prepare().unwrap();
        let folder = [world.root.tmp(), world.root.own(), world.root.sessions()][which].clone();
        let victim = world.beside("victim");
        fs::remove_dir_all(&folder).unwrap();
        symlink(&victim, &folder).unwrap();
        let ran = world.run(&["start"]);
        assert_eq!(ran.code, 1);
        assert!(
            ran.err.contains("it is a symlink")
                && ran.err.contains(folder.file_name().unwrap().to_str().unwrap()),
            "{}",
            ran.err
        );
        assert!(world.run(&["status", "--json"]).out.contains("it is a symlink"));
        for event in ["SessionStart", "PostToolUse", "SessionEnd"] {
            assert_eq!(world.hook(&world.event(event, &read())).code, 0);
        }
        assert_eq!(names(&victim), Vec::<String>::new(), "{}", folder.display());
    }
}

#[test]
fn a_folder_that_is_swapped_for_a_link_under_a_living_daemon_is_left_alone() {
    let world = World::with("build", "[rule]\nidle_after = \"1s\"\n[daemon]\ntick = \"100ms\"\n");
    let daemon = world.begin();
    world.backdate(&Past { idle: 0, ..Past::default() });
    let victim = world.beside("victim");
    fs::rename(world.root.own(), world.beside("moved").join("own")).unwrap();
    symlink(&victim, world.root.own()).unwrap();
    // It cannot say so anywhere; the kernel counts how often it woke up.
    let woken = || -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid)).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
        line.trim().parse().unwrap()
    };
    let before = woken();
    eventually("it looks many times", || woken() > before + 30);
    assert_eq!(world.hook(&world.event("PostToolUse", &read())).code, 0);
    assert_eq!((names(&victim), world.pending()), (Vec::new(), None));
    fs::remove_file(world.root.own()).unwrap();
    eventually("it watches again", || world.pending().is_some());
    assert_eq!(world.daemon(), daemon);
}

/// Text that would clear a screen, set a title, break a line, hide or turn round what follows.
const EVIL: &str =
    "evil\u{1b}[2J\u{1b}]0;title\u{7}\r\nsecond\tline\u{9b}31m\u{7f}\u{202e}turned\u{200b}\u{feff}\u{0}end";

/// Tells whether a text is harmless on a terminal.
#[track_caller]
fn is_harmless(what: &str, text: &str, colours: bool) {
    let hides = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    let bad: Vec<char> = text.chars().filter(|c| (c.is_control() && *c != '\n') || hides(*c)).collect();
    assert!(bad.is_empty() && !colours, "{what}: {bad:?} in {text:?}");
}

#[test]
fn no_foreign_field_reaches_a_terminal_or_the_agent_as_it_is() {
    let world = Timed::new("build");
    world.begin();
    let event = |name: &str, more: Value| {
        let mut payload = world.event(name, &more);
        payload["agent_type"] = json!(EVIL);
        payload["agent_id"] = json!(format!("id {EVIL}"));
        world.hook(&payload)
    };
    event("SubagentStart", json!({}));
    event("PreToolUse", json!({"tool_name": format!("tool {EVIL}"), "tool_use_id": EVIL, "tool_input": {}}));
    event("PermissionRequest", json!({"tool_name": format!("tool {EVIL}")}));
    world.hook(&world.event("Notification", &json!({"notification_type": EVIL, "message": EVIL})));
    world.hook(&world.event(EVIL, &json!({})));
    let message = json!({"to": EVIL, "message": EVIL, "summary": EVIL});
    let undelivered =
        json!({"tool_name": "SendMessage", "tool_input": message, "tool_response": {"success": false}});
    let answer = world.hook(&world.event("PostToolUse", &undelivered));
    is_harmless("the answer to a sender", &answer.context("PostToolUse"), false);
    let mut other = world.event("UserPromptSubmit", &json!({"prompt": EVIL}));
    other["session_id"] = json!(format!("session {EVIL}"));
    world.hook(&other);
    fs::write(world.root.state(), format!("- **stage**: build{}\n", EVIL.replace(['\r', '\n', '\t'], "")))
        .unwrap();
    world.looked();
    let shown = |what: &str| {
        let ran = world.run(&["status"]);
        is_harmless(what, &ran.out, false);
        assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
        is_harmless("errors of status", &ran.err, false);
        let json: Value = serde_json::from_str(&world.run(&["status", "--json"]).out).unwrap();
        assert_eq!(json["v"], 1);
    };
    shown("status at work");
    world.pass(40 * MINUTE);
    event("PostToolUse", json!({"tool_name": format!("tool {EVIL}"), "tool_use_id": EVIL}));
    world.pass(40 * MINUTE);
    is_harmless("a nudge", &world.nudge(1), false);
    shown("status with a nudge");
    world.write_pending(&json!({"additionalContext": "", "nudge_n": EVIL}));
    shown("status with a broken nudge");
    world.write_flag(&json!({
        "timestamp": world.now().seconds(), "diagnosis": EVIL, "cause": EVIL, "error": EVIL, "source": EVIL, "error_details": EVIL,
    }));
    shown("status with a flag");
    let failed = json!({"error": EVIL, "error_details": EVIL, "last_assistant_message": EVIL});
    world.hook(&world.event("StopFailure", &failed));
    is_harmless(
        "the note of a failure",
        &world.pending().map_or(String::new(), |nudge| nudge["additionalContext"].to_string()),
        false,
    );
    is_harmless("the log", &world.log(), false);
    for event in world.journal() {
        let line = serde_json::to_string(&event).unwrap();
        is_harmless("the journal", &line, false);
    }
    assert_eq!(world.run(&["ensure"]).code, 0);
    is_harmless("the note in STATE.md", world.state_text().rsplit("> [!NOTE]").next().unwrap(), false);
    world.settings(&format!("[rule]\n\"{}\" = 1\n", EVIL.escape_default()));
    is_harmless("a broken setting", &world.run(&["status"]).err, false);
}

#[test]
fn files_of_a_hundred_megabytes_cost_neither_memory_nor_the_watching() {
    const SIZE: u64 = 100 * 1024 * 1024;
    let world = Timed::new("build");
    let grow = |path: &Path| {
        fs::File::options().append(true).create(true).open(path).unwrap().set_len(SIZE).unwrap();
    };
    let daemon = world.begin();
    world.does("PostToolUse", &read());
    grow(&world.root.state());
    grow(&world.root.activity());
    world.looked();
    assert!(world.status()["faults"].to_string().contains("larger than"));
    world.does("PostToolUse", &read());
    assert!(fs::metadata(world.root.activity()).unwrap().len() < 4096, "work heals it");
    grow(&world.root.pending());
    world.does("PreToolUse", &read());
    assert!(!world.root.pending().exists());
    world.does("PostToolUse", &read());
    world.pass(6 * MINUTE);
    world.nudge(1);
    grow(&world.root.flag());
    assert_eq!(world.judged().reason, "flagged");
    let memory = fs::read_to_string(format!("/proc/{}/status", daemon.pid)).unwrap();
    let peak: u64 = memory
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok())
        .unwrap();
    assert!(peak < 48 * 1024, "{peak} KiB at most");
}

#[test]
fn a_pipe_or_a_device_in_place_of_a_file_holds_up_nobody() {
    let world = Timed::new("build");
    world.root.prepare().unwrap();
    let files = [
        world.root.in_kiln("watchdog.toml"),
        world.root.activity(),
        world.root.pending(),
        world.root.flag(),
        world.root.in_own("journal.jsonl"),
        world.root.in_own("daemon.json"),
        world.root.in_own("activity.json.new"),
        world.root.sessions().join("x.json"),
        world.root.state(),
    ];
    for path in files {
        let before = fs::read(&path).ok();
        for link in [false, true] {
            fs::remove_file(&path).ok();
            if link {
                symlink("/dev/zero", &path).unwrap();
            } else {
                let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
                rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
            }
            for event in
                ["SessionStart", "SubagentStart", "PreToolUse", "PostToolUse", "TeammateIdle", "SessionEnd"]
            {
                let more = json!({"tool_name": "Write", "agent_type": "coder", "source": "startup", "reason": "other"});
                let code = world.hook(&world.event(event, &more)).code;
                assert!(code == 0 || event == "TeammateIdle", "{}: {event}", path.display());
            }
            for command in [&["status"][..], &["check"], &["doctor"], &["stop"]] {
                let ran = world.run(command);
                assert!(!ran.err.contains("panicked"), "{}: {ran:?}", path.display());
            }
        }
        fs::remove_file(&path).ok();
        if let Some(before) = before {
            fs::write(&path, before).unwrap();
        }
    }
    assert_eq!(world.run(&["start"]).code, 0);
}

#[test]
fn json_of_ten_thousand_levels_is_survived_everywhere() {
    let world = Timed::new("build");
    world.begin();
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let payload = format!(
            "{{\"hook_event_name\":\"PostToolUse\",\"session_id\":\"s\",\"cwd\":{},\"tool_name\":\"Deep\",\"tool_input\":{}}}",
            json!(world.path()),
            deep(open, close)
        );
        let ran = crate::world::finish(world.as_client("hook", &world.client), payload.as_bytes());
        assert_eq!(ran, crate::world::Ran::silence());
        assert_eq!(world.activity()["last_activity_source"], "PostToolUse:Deep");
        let files = [
            world.root.activity(),
            world.root.pending(),
            world.root.sessions().join("x.json"),
            world.root.in_own("daemon.json"),
            world.root.flag(),
        ];
        for path in files {
            fs::write(&path, deep(open, close)).unwrap();
            world.run(&["status"]);
            world.does("PostToolUse", &read());
            if path == world.root.flag() {
                assert_eq!(world.status()["exit"], 2);
                fs::remove_file(&path).unwrap();
            }
        }
        let line = format!("{{\"v\":1,\"at\":1,\"event\":\"other\",\"hook\":{}}}\n", deep(open, close));
        fs::write(world.root.in_own("journal.jsonl"), line).unwrap();
        world.does("PostToolUse", &read());
    }
    assert_eq!(world.run(&["stop"]).code, 0);
    let daemon = world.begin();
    world.looked();
    assert_eq!(world.run(&["stop"]).code, 0);
    gone(daemon);
}

/// Things that must not be written down: keys by their look, a line of an `.env`, and words of people and agents. They
/// are put together here, so that nobody who looks for keys finds any.
fn secrets() -> Vec<String> {
    let random = "Zq8vW1xT5yR2pL9mK4nB7cD0fG3hJ6";
    let token = format!("{}{random}.{}{random}.{random}", "ey", "ey");
    vec![
        format!("{}-ant-api03-{random}", "sk"),
        format!("{}_{random}", "ghp"),
        format!("{}{}", "AK", "IAZQ8VW1XT5YR2PL9M"),
        "DB_PASSWORD=correct-horse".to_owned(),
        "the words of the person".to_owned(),
        "the words of the agent".to_owned(),
        "the body of a message".to_owned(),
        token.replace("ey", "eyJ"),
    ]
}

/// A turn of everything, with secrets wherever a payload has room for them.
fn deliveries(all: &str, key: &str) -> Vec<(&'static str, Value)> {
    let input = json!({"command": all, "file_path": all, "content": all, "env": {"KEY": all}});
    let message = json!({"to": "nobody", "message": all, "summary": all, "content": all});
    let bash = |id: &str| json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": input});
    let with = |mut payload: Value, name: &str, value: Value| {
        payload[name] = value;
        payload
    };
    let coder = json!({"agent_id": "c", "agent_type": "coder"});
    let sent = json!({
        "tool_name": "SendMessage", "tool_input": message, "tool_response": {"success": false, "message": all},
    });
    vec![
        ("UserPromptSubmit", json!({"prompt": all})),
        ("PreToolUse", bash("t")),
        ("PermissionRequest", with(bash("t"), "permission_suggestions", json!([all]))),
        ("Notification", json!({"notification_type": "permission_prompt", "message": all, "title": all})),
        ("PostToolUse", with(bash("t"), "tool_response", json!({"stdout": all}))),
        ("PostToolUseFailure", with(bash("u"), "error", json!(all))),
        ("PostToolUse", sent),
        ("SubagentStart", with(coder.clone(), "prompt", json!(all))),
        ("SubagentStop", with(coder, "last_assistant_message", json!(all))),
        (
            "Stop",
            json!({"last_assistant_message": all, "background_tasks": [{"id": "b", "description": all}]}),
        ),
        // What a failure says is kept, for it names the reason; what looks like a key in it is not.
        ("StopFailure", json!({"error": "billing_error", "error_details": format!("key {key} was refused")})),
        ("PreToolUse", bash("v")),
    ]
}

#[test]
fn no_secret_of_a_payload_is_written_down_anywhere() {
    let secrets = secrets();
    let all = secrets.join("\n");
    let world = Timed::new("build");
    world.begin();
    let mut printed = String::new();
    let mut does = |name: &str, more: Value| {
        let ran = world.hook(&world.event(name, &more));
        printed.push_str(&ran.out);
        printed.push_str(&ran.err);
    };
    for (name, more) in deliveries(&all, &secrets[0]) {
        does(name, more);
    }
    world.run(&["ensure"]);
    world.pass(40 * MINUTE);
    world.nudge(1);
    for arguments in [&["status"][..], &["status", "--json"], &["check"], &["config"], &["doctor"]] {
        let ran = world.run(arguments);
        printed.push_str(&ran.out);
        printed.push_str(&ran.err);
    }
    eventually("the nudge is in the log", || world.log().contains("nudged"));
    let lines = secrets.iter().flat_map(|secret| secret.lines());
    for secret in lines {
        assert!(!printed.contains(secret), "{secret} was printed");
        for (path, (content, ..)) in crate::world::listing(&world.root.kiln()) {
            let text = String::from_utf8_lossy(&content);
            assert!(!text.contains(secret), "{secret} is in {}", path.display());
        }
    }
    assert!(world.count(|what| matches!(what, What::Nudged { .. })) >= 2);
    assert!(Past::default().idle > 300);
}
