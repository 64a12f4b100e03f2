//! Colours, pipes, and `status --watch`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;

use super::{parsed, team, watched};
use crate::world::{LIMIT, Running, World, eventually, finish, launch};

const ESCAPE: char = '\u{1b}';

/// Runs a command with its output on a terminal, and returns what the terminal got.
fn on_terminal(mut command: Command) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("a terminal");
    let name = ptsname(&master, Vec::new()).expect("its name").into_string().expect("text");
    let side = File::options().read(true).write(true).open(name).expect("its other side");
    command.stdout(side.try_clone().expect("a copy")).stderr(side);
    let mut child = Running(command.spawn().expect("it starts"));
    // Our copy of the other side goes with the command, or the terminal would never hang up.
    drop(command);
    let mut text = Vec::new();
    // A terminal that hangs up is an error to its reader, and the end.
    File::from(master).read_to_end(&mut text).ok();
    child.0.wait().expect("a child of ours");
    String::from_utf8(text).expect("text")
}

#[test]
fn a_terminal_gets_colours_and_a_pipe_and_a_person_who_wants_none_do_not() {
    let world = World::new("build");
    team(&world, 730);
    let status = || {
        let mut command = world.command(&["status"]);
        command.env("TERM", "xterm");
        command
    };
    let coloured = on_terminal(status());
    assert!(coloured.contains("\u{1b}[1m\u{1b}[31mNOT WATCHED"), "{coloured:?}");
    let mut plain = status();
    plain.env("NO_COLOR", "1");
    let plain = on_terminal(plain);
    assert!(plain.contains("verdict   NOT WATCHED") && !plain.contains(ESCAPE), "{plain:?}");
    let mut dumb = status();
    dumb.env("TERM", "dumb");
    assert!(!on_terminal(dumb).contains(ESCAPE));
    assert!(!finish(status(), b"").out.contains(ESCAPE), "a pipe");
    let mut forced = status();
    forced.env("CLICOLOR_FORCE", "1");
    assert!(finish(forced, b"").out.contains(ESCAPE), "unless it is asked for");
    for arguments in [&["config"][..], &["check"], &["--help"], &["stats"], &["pause", "x"]] {
        let ran = world.run(arguments);
        assert!(!(ran.out + &ran.err).contains(ESCAPE), "{arguments:?}");
    }
}

#[test]
fn whoever_stops_reading_is_no_error() {
    let world = World::new("build");
    for arguments in [&["config", "--defaults"][..], &["generate", "man"], &["status"], &["--help"]] {
        let mut command = world.command(arguments);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        command.stdout(writer).stderr(Stdio::piped());
        let mut child = Running(command.spawn().unwrap());
        let mut words = String::new();
        child.0.stderr.take().unwrap().read_to_string(&mut words).unwrap();
        assert_eq!(words, "", "{arguments:?}");
        let code = child.0.wait().unwrap().code();
        assert!(code.is_some_and(|code| code != 2 && code != 101), "{arguments:?}: {code:?}");
    }
}

/// The lines that a process prints, as they come.
fn lines(process: &mut Running) -> Receiver<String> {
    let out = process.0.stdout.take().expect("a pipe");
    let (sender, lines) = channel();
    thread::spawn(move || {
        // Nobody reads any more once the receiver is gone: then the pipe goes too.
        BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    lines
}

/// Waits for a line that says this.
#[track_caller]
fn until(lines: &Receiver<String>, words: &str) {
    while !lines.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("no line says {words}")).contains(words) {}
}

#[test]
fn a_watched_status_follows_what_happens() {
    let world = World::new("build");
    team(&world, 30);
    watched(&world, "active");
    let mut watching = launch(world.command(&["status", "--watch"]));
    let lines = lines(&mut watching);
    until(&lines, "verdict   healthy");
    until(&lines, "verdict   healthy");
    let now = watchdog::system::clock::now().seconds();
    world.write_flag(&json!({"timestamp": now, "nudge_count": 3, "last_activity_source": "x"}));
    until(&lines, "verdict   FLAGGED");
    world.stage("complete");
    until(&lines, "verdict   nothing to watch: the pipeline is complete");
    assert!(watching.is_running());
    // Whoever stops reading ends it.
    drop(lines);
    let ran = watching.end();
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

#[test]
fn a_watched_status_in_json_is_one_line_each_time() {
    let world = World::new("build");
    team(&world, 30);
    let mut watching = launch(world.command(&["status", "--watch", "--json"]));
    let lines = lines(&mut watching);
    for _ in 0..2 {
        let value = parsed(&lines.recv_timeout(LIMIT).unwrap());
        assert_eq!((&value["v"], &value["exit"]), (&json!(1), &json!(3)));
    }
    drop(lines);
    eventually("it ends", || !watching.is_running());
}
