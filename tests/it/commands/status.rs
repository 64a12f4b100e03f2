//! `status`: is it watching, is the pipeline moving, what happens next and when, who is active, what is pending.

use std::fs;
use std::time::Duration;

use serde_json::json;

use watchdog::model::event::What;

use super::{ago, status, team, tool, watched};
use crate::world::{Past, World, put};

#[test]
fn healthy() {
    let world = World::new("build");
    team(&world, 190);
    ago(&world, 190, "rakim", tool("Bash"));
    watched(&world, "active");
    let (code, text) = status(&world);
    assert_eq!(code, 0);
    insta::assert_snapshot!(text, @"
    verdict   healthy
    watching  yes, by inotify since hh:mm:ss (pid PID)
    project   .kiln (stage build)
    because   .kiln/ is there
    pipeline  stage build; last work 3 min ago (PostToolUse:Read)
    next      nudge 1 of 3 if nothing happens until hh:mm:ss
    pending   nothing

     agent      state      for         doing
     team-lead  working    1 h 00 min
     rakim      working    16 min      Bash for 3 min
     sentinel   turn over  15 min
    ");
}

#[test]
fn nudged() {
    let world = World::new("build");
    team(&world, 730);
    world.backdate(&Past { idle: 730, nudged: Some(130), count: 1, ..Past::default() });
    world.write_pending(&json!({
        "additionalContext": "x", "timestamp": watchdog::system::clock::now().seconds() - 130, "nudge_n": 1,
    }));
    watched(&world, "debounce");
    let (code, text) = status(&world);
    assert_eq!(code, 1);
    insta::assert_snapshot!(text, @"
    verdict   STALLED: no work for 12 min
    watching  yes, by inotify since hh:mm:ss (pid PID)
    project   .kiln (stage build)
    because   .kiln/ is there
    pipeline  stage build; last work 12 min ago (PostToolUse:Read)
    next      nudge 2 of 3 at hh:mm:ss unless work is seen
    pending   nudge 1, staged 2 min ago, not taken yet
    why       nobody-waits: Nobody waits for anything; the next move is team-lead's.
              Root: team-lead.

     agent      state      for         doing
     team-lead  working    1 h 00 min
     sentinel   turn over  15 min
     rakim      working    16 min
    ");
}

#[test]
fn stalled_in_front_of_an_observer() {
    let world = World::with("build", "[daemon]\nmode = \"observe\"\n");
    team(&world, 730);
    watched(&world, "stalled");
    let (code, text) = status(&world);
    assert_eq!(code, 1);
    insta::assert_snapshot!(text, @"
    verdict   STALLED: no work for 12 min
    watching  yes, by inotify since hh:mm:ss (pid PID), observing only
    project   .kiln (stage build)
    because   .kiln/ is there
    pipeline  stage build; last work 12 min ago (PostToolUse:Read)
    next      nudge 1 of 3 now
    pending   nothing
    why       nobody-waits: Nobody waits for anything; the next move is team-lead's.
              Root: team-lead.

     agent      state      for         doing
     team-lead  working    1 h 00 min
     sentinel   turn over  15 min
     rakim      working    16 min
    ");
}

#[test]
fn flagged() {
    let world = World::new("build");
    team(&world, 2410);
    world.write_flag(&json!({
        "timestamp": watchdog::system::clock::now().seconds() - 100, "nudge_count": 3, "last_activity_source": "x",
        "cause": "no_recovery",
        "diagnosis": "Silent for 35 min after 3 nudges. rakim's turn ended 36 min ago. sentinel's turn ended 40 min ago.",
    }));
    watched(&world, "flagged");
    let (code, text) = status(&world);
    assert_eq!(code, 2);
    insta::assert_snapshot!(text, @r#"
    verdict   FLAGGED: nudging did not help; a person has to look
    watching  yes, by inotify since hh:mm:ss (pid PID)
    project   .kiln (stage build)
    because   .kiln/ is there
    pipeline  stage build; last work 40 min ago (PostToolUse:Read)
    next      DEADLOCK.flag lies there; a person has to look
    pending   nothing
    flag      written hh:mm:ss: Silent for 35 min after 3 nudges. rakim's turn ended
              36 min ago. sentinel's turn ended 40 min ago.
              "watchdog ensure" or the next session clears it
    why       nobody-waits: Nobody waits for anything; the next move is team-lead's.
              Root: team-lead.

     agent      state      for         doing
     team-lead  working    1 h 00 min
     sentinel   turn over  15 min
     rakim      working    16 min
    "#);
}

#[test]
fn without_a_daemon() {
    let world = World::new("build");
    team(&world, 730);
    let (code, text) = status(&world);
    assert_eq!(code, 3);
    insta::assert_snapshot!(text, @r#"
    verdict   NOT WATCHED: run "watchdog start"
    watching  no daemon
    project   .kiln (stage build)
    because   .kiln/ is there
    pipeline  stage build; last work 12 min ago (PostToolUse:Read)
    next      nudge 1 of 3 (by a daemon, once one runs) now
    pending   nothing
    why       nobody-waits: Nobody waits for anything; the next move is team-lead's.
              Root: team-lead.

     agent      state      for         doing
     team-lead  working    1 h 00 min
     sentinel   turn over  15 min
     rakim      working    16 min
    "#);
}

#[test]
fn without_a_pipeline() {
    let world = World::new("build");
    fs::remove_file(world.root.state()).unwrap();
    let (code, text) = status(&world);
    assert_eq!(code, 4);
    insta::assert_snapshot!(text, @"
    verdict   nothing to watch: there is no pipeline
    watching  no daemon
    project   .kiln (no stage)
    because   .kiln/ is there
    pipeline  none
    next      there is no pipeline: .kiln/STATE.md names no stage
    pending   nothing
    ");
}

#[test]
fn complete() {
    let world = World::new("complete");
    team(&world, 730);
    let (code, text) = status(&world);
    assert_eq!(code, 4);
    insta::assert_snapshot!(text, @"
    verdict   nothing to watch: the pipeline is complete
    watching  no daemon
    project   .kiln (stage complete)
    because   .kiln/ is there
    pipeline  stage complete; last work 12 min ago (PostToolUse:Read)
    next      the pipeline is complete
    pending   nothing

     agent      state      for         doing
     team-lead  working    1 h 00 min
     sentinel   turn over  15 min
     rakim      working    16 min
    ");
}

#[test]
fn a_fresh_start() {
    let world = World::new("research");
    assert_eq!(world.run(&["start"]).code, 0);
    let (code, text) = status(&world);
    assert_eq!(code, 0);
    insta::assert_snapshot!(text, @"
    verdict   healthy
    watching  yes, by inotify since hh:mm:ss (pid PID)
    project   .kiln (stage research)
    because   .kiln/ is there
    pipeline  stage research; no work has been seen yet
    next      no work has been seen yet
    pending   nothing
    ");
}

#[test]
fn a_person_is_asked() {
    let world = World::new("build");
    team(&world, 730);
    ago(&world, 730, "rakim", tool("Bash"));
    ago(&world, 729, "rakim", What::Permission { tool: "Bash".to_owned() });
    watched(&world, "waits-for-person");
    let (code, text) = status(&world);
    assert_eq!(code, 0);
    insta::assert_snapshot!(text, @"
    verdict   waiting for a person
    watching  yes, by inotify since hh:mm:ss (pid PID)
    project   .kiln (stage build)
    because   .kiln/ is there
    pipeline  stage build; last work 12 min ago (PostToolUse:Read)
    next      rakim waits for a person since hh:mm:ss (permission: Bash); a nudge
              would not help
    pending   nothing

     agent      state      for         doing
     team-lead  working    1 h 00 min
     rakim      working    16 min      asks a person for permission: Bash since
                                       hh:mm:ss
     sentinel   turn over  15 min
    ");
}

#[test]
fn a_tool_runs() {
    let world = World::new("build");
    team(&world, 730);
    ago(&world, 730, "rakim", tool("Bash"));
    watched(&world, "tool-running");
    let (code, text) = status(&world);
    assert_eq!(code, 0);
    insta::assert_snapshot!(text, @"
    verdict   healthy
    watching  yes, by inotify since hh:mm:ss (pid PID)
    project   .kiln (stage build)
    because   .kiln/ is there
    pipeline  stage build; last work 12 min ago (PostToolUse:Read)
    next      rakim runs Bash since hh:mm:ss; that explains silence until hh:mm:ss
    pending   nothing

     agent      state      for         doing
     team-lead  working    1 h 00 min
     rakim      working    16 min      Bash for 12 min
     sentinel   turn over  15 min
    ");
}

#[test]
fn the_api_holds() {
    let world = World::new("build");
    team(&world, 430);
    ago(&world, 430, "", What::ApiError { error: "rate_limit".to_owned(), holds: true, reset_at: None });
    watched(&world, "api-hold");
    let (code, text) = status(&world);
    assert_eq!(code, 0);
    insta::assert_snapshot!(text, @"
    verdict   waiting for the API
    watching  yes, by inotify since hh:mm:ss (pid PID)
    project   .kiln (stage build)
    because   .kiln/ is there
    pipeline  stage build; last work 7 min ago (PostToolUse:Read)
    next      the API answered rate_limit 7 min ago and holds until hh:mm:ss
    pending   nothing

     agent      state      for     doing
     team-lead  turn over  7 min
     sentinel   turn over  15 min
     rakim      working    16 min
    ");
}

#[test]
fn a_daemon_that_just_began_on_a_stall() {
    let world = World::new("build");
    team(&world, 730);
    assert_eq!(world.run(&["start"]).code, 0);
    let (code, text) = status(&world);
    assert_eq!(code, 0);
    insta::assert_snapshot!(text, @"
    verdict   healthy
    watching  yes, by inotify since hh:mm:ss (pid PID)
    project   .kiln (stage build)
    because   .kiln/ is there
    pipeline  stage build; last work 12 min ago (PostToolUse:Read)
    next      the watcher has just begun, could not write, or the clock jumped or
              slept: a moment of grace
    pending   nothing

     agent      state      for         doing
     team-lead  working    1 h 00 min
     sentinel   turn over  15 min
     rakim      working    16 min
    ");
}

#[test]
fn faults_are_shown_with_the_file_they_are_in() {
    let world = World::new("build");
    world.root.prepare().unwrap();
    put(&world.root.activity(), b"{\"last_activity_ts\":17133");
    let past = std::time::SystemTime::UNIX_EPOCH
        + Duration::from_secs((watchdog::system::clock::now().seconds() - 70).unsigned_abs());
    let file = fs::File::options().write(true).open(world.root.activity()).unwrap();
    file.set_modified(past).unwrap();
    put(&world.root.pending(), b"[]");
    watched(&world, "active");
    let (code, text) = status(&world);
    assert_eq!(code, 0);
    insta::assert_snapshot!(text, @"
    verdict   healthy
    watching  yes, by inotify since hh:mm:ss (pid PID)
    project   .kiln (stage build)
    because   .kiln/ is there
    pipeline  stage build; last work 1 min ago
    next      nudge 1 of 3 if nothing happens until hh:mm:ss
    pending   pending-nudge.json cannot be delivered: it holds no text
    fault     activity.json: not JSON: EOF while parsing an object at line 1 column
              25
    ");
}

#[test]
fn a_large_team_is_counted_beyond_twelve() {
    let world = World::new("build");
    team(&world, 30);
    for place in 0..20 {
        ago(&world, 610 - place, &format!("coder-{place}"), What::AgentStart);
    }
    let (_, text) = status(&world);
    assert!(text.ends_with(" and 11 more\n"), "{text}");
    let rows = text.lines().filter(|line| line.contains("working") || line.contains("turn over")).count();
    assert_eq!(rows, 12, "{text}");
}
