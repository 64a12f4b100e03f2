//! Agents that are about to stop with work undone are kept from it, once.

use serde_json::{Value, json};
use watchdog::model::event::What;

use super::{by, reason, send};
use crate::world::{Ran, World};

fn start(world: &World, name: &str) {
    let ran = world.guarded(&by(world, name, "SubagentStart", &json!({})));
    assert_eq!(ran.code, 0, "{ran:?}");
}

fn stop_with(world: &World, name: &str, active: bool, last: &str) -> Ran {
    let more = json!({
        "stop_hook_active": active, "last_assistant_message": last, "session_crons": [],
        "agent_transcript_path": "/home/dev/.claude/projects/x/subagents/agent-a.jsonl", "background_tasks": [],
    });
    world.guarded(&by(world, name, "SubagentStop", &more))
}

fn stop(world: &World, name: &str) -> Ran {
    stop_with(world, name, false, "Done.")
}

fn listed(world: &World) -> Vec<String> {
    world.activity()["active_teammates"].as_object().expect("a map").keys().cloned().collect()
}

#[test]
fn a_mind_does_not_stop_before_its_marker_is_written() {
    let world = World::new("build");
    let minds =
        [("rakim", "codebase-state.md"), ("sentinel", "patterns.md"), ("kiln:numerobis", "architecture.md")];
    for (name, file) in minds {
        start(&world, name);
        let bare = name.trim_start_matches("kiln:");
        let said = reason(&stop(&world, name));
        let wanted = format!(
            "KILN GUARD: {bare} is about to stop with work undone.\n- .kiln/docs/{file}: the file is not there; its first \
             line is exactly `<!-- status: complete -->`"
        );
        assert_eq!(said, wanted);
        assert!(listed(&world).contains(&bare.to_owned()), "it goes on");
        world.put(&format!(".kiln/docs/{file}"), "# State\n");
        assert!(reason(&stop(&world, name)).contains("line 1 is no status marker"));
        world.put(&format!(".kiln/docs/{file}"), "<!-- status: complete -->\n");
        assert_eq!(stop(&world, name), Ran::silence(), "{name}");
        assert!(!listed(&world).contains(&bare.to_owned()), "its turn is over");
    }
    start(&world, "thoth");
    assert_eq!(stop(&world, "thoth"), Ran::silence(), "no mind with a file");
}

#[test]
fn an_agent_that_was_kept_already_may_stop() {
    let world = World::new("build");
    start(&world, "rakim");
    reason(&stop(&world, "rakim"));
    assert_eq!(stop_with(&world, "rakim", true, "Done."), Ran::silence());
    assert_eq!(world.count(|what| matches!(what, What::Guarded { .. })), 1);
    assert_eq!(listed(&world), Vec::<String>::new());
}

#[test]
fn the_end_of_an_agent_that_agreed_to_shut_down_is_not_held_up() {
    let world = World::new("build");
    start(&world, "rakim");
    let response = json!({"type": "shutdown_response", "request_id": "shutdown-1@rakim", "approve": true});
    send(&world, "rakim", "team-lead", &response);
    assert_eq!(stop(&world, "rakim"), Ran::silence());
}

#[test]
fn a_reviewer_s_approval_is_paired_with_word_to_the_boss_by_messages_alone() {
    let world = World::new("build");
    for name in ["krs-one", "critical-thinker"] {
        start(&world, name);
    }
    let says = |to: &str, text: &str| send(&world, "critical-thinker", to, &json!(text));
    says("dial-a-coder", "REJECTED: two findings");
    assert_eq!(stop(&world, "critical-thinker"), Ran::silence(), "a rejection is the builder's");
    start(&world, "critical-thinker");
    says("dial-a-coder", "APPROVED: chunk 2");
    let said = reason(&stop_with(&world, "critical-thinker", false, "IMPLEMENTATION_APPROVED: chunk 2"));
    assert!(
        said.contains("critical-thinker: APPROVED is not paired with IMPLEMENTATION_APPROVED to the boss"),
        "{said}"
    );
    says("team-lead", "IMPLEMENTATION_APPROVED: chunk 2");
    reason(&stop(&world, "critical-thinker"));
    says("krs-one", "IMPLEMENTATION_APPROVED: chunk 2");
    assert_eq!(stop(&world, "critical-thinker"), Ran::silence());
}

#[test]
fn the_names_that_cycle_workers_gave_say_who_reviews() {
    let world = World::new("build");
    start(&world, "krs-one");
    let cycle = "CYCLE_WORKERS: scenario=default, duo_id=d1, coder_name=tintin, reviewer_name=milou, reason=x, chunk=2";
    send(&world, "krs-one", "team-lead", &json!(cycle));
    for name in ["tintin", "milou"] {
        start(&world, name);
    }
    send(&world, "milou", "tintin", &json!("APPROVED: chunk 2"));
    send(&world, "tintin", "milou", &json!("APPROVED: by nobody's leave"));
    assert!(reason(&stop(&world, "milou")).contains("milou: APPROVED is not paired"));
    assert_eq!(stop(&world, "tintin"), Ran::silence(), "it plays the builder");
}

#[test]
fn the_boss_calls_the_build_complete_after_the_archive_is_ready() {
    let world = World::new("build");
    let from = |name: &str, to: &str, text: &str| send(&world, name, to, &json!(text));
    let faults = [
        (None, Some("without a FINAL_ARCHIVE_CHECK to thoth")),
        (Some(("krs-one", "thoth", "FINAL_ARCHIVE_CHECK: milestone_count=1")), Some("before thoth answered")),
        (Some(("thoth", "krs-one", "ARCHIVE_BLOCKED: x")), Some("although thoth answered ARCHIVE_BLOCKED")),
        (Some(("thoth", "krs-one", "ARCHIVE_READY")), None),
    ];
    for (message, fault) in faults {
        if let Some((name, to, text)) = message {
            from(name, to, text);
        }
        start(&world, "krs-one");
        from("krs-one", "team-lead", "BUILD_COMPLETE");
        let ran = stop(&world, "krs-one");
        match fault {
            Some(fault) => assert!(
                reason(&ran).contains(&format!("krs-one: BUILD_COMPLETE was sent {fault}")),
                "{ran:?}"
            ),
            None => assert_eq!(ran, Ran::silence()),
        }
    }
}

/// The journal of a seam that went over: the boss asked both minds two minutes ago, one answered, the boss dispatched.
fn seam(world: &World) {
    use watchdog::model::event::{Event, Message};
    use watchdog::store::journal;
    use watchdog::system::clock;
    let now = clock::now().wall;
    let message = |ago: i64, name: &str, to: &str, head: &str| Event {
        session: crate::world::SESSION.to_owned(),
        agent: format!("a{name}-00000000000000a1"),
        name: name.to_owned(),
        ..Event::of_root(
            now - ago,
            What::ToolEnd {
                tool: "SendMessage".to_owned(),
                id: String::new(),
                failed: false,
                message: Some(Message {
                    to: to.to_owned(),
                    head: head.to_owned(),
                    delivered: true,
                    ..Message::default()
                }),
            },
        )
    };
    world.root.prepare().expect("folders");
    let events = [
        message(120_000, "krs-one", "rakim", "ITERATION_UPDATE"),
        message(120_000, "krs-one", "sentinel", "ITERATION_UPDATE"),
        message(110_000, "rakim", "krs-one", "READY"),
    ];
    journal::append(&world.root, &events).expect("a journal");
}

#[test]
fn the_boss_leaves_a_line_when_it_passes_over_a_silent_mind() {
    let world = World::new("build");
    seam(&world);
    start(&world, "krs-one");
    send(&world, "krs-one", "team-lead", &json!("CYCLE_WORKERS: coder_name=tintin, reviewer_name=milou"));
    let said = reason(&stop(&world, "krs-one"));
    assert!(
        said.contains(".kiln/docs/iter-log.md: the log has no line since ITERATION_UPDATE of "),
        "{said}"
    );
    assert!(said.contains("to sentinel was not answered") && !said.contains("rakim"), "{said}");
    start(&world, "krs-one");
    send(&world, "krs-one", "team-lead", &json!("CYCLE_WORKERS: coder_name=tintin, reviewer_name=milou"));
    world.put(".kiln/docs/iter-log.md", "- sentinel did not answer within 60 s\n");
    assert_eq!(stop(&world, "krs-one"), Ran::silence());
}

#[test]
fn others_stop_as_they_like_and_so_do_all_when_the_guard_is_off() {
    let world = World::new("build");
    for name in ["some-helper", "dial-a-coder", "thoth"] {
        start(&world, name);
        assert_eq!(stop(&world, name), Ran::silence(), "{name}");
    }
    let nameless =
        world.event("SubagentStop", &json!({"agent_id": "x", "agent_type": "", "stop_hook_active": false}));
    assert_eq!(world.guarded(&nameless), Ran::silence(), "an internal helper");
    world.settings("[guards]\nsubagent_stop = false\n");
    start(&world, "rakim");
    assert_eq!(stop(&world, "rakim"), Ran::silence());
    world.settings("");
    start(&world, "rakim");
    let mut plain: Value = by(&world, "rakim", "SubagentStop", &json!({"stop_hook_active": false}));
    assert_eq!(world.hook(&plain), Ran::silence(), "a hook without guards");
    plain["stop_hook_active"] = json!("odd");
    start(&world, "rakim");
    reason(&world.guarded(&plain));
}
