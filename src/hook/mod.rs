//! One event of a client: read from stdin, noted, answered, a millisecond, exit 0.
//!
//! Whatever fails inside, the session that is watched must not feel it: nothing but an answer goes to stdout, and
//! only a teammate's feedback, a wake and the refusal of a task end with 2, each with a text on stderr. Nothing but a
//! guard (`watchdog hook --guards`) ever refuses anything.

mod answer;
mod failure;
mod guards;
mod heartbeat;
mod help;
mod scene;
mod session;
mod subctl;
mod taking;
mod teammate;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use scene::Scene;

use crate::protocol::hook_table::GUARDS;
use crate::protocol::{payload, translate};
use crate::store::file::{FileError, chain};
use crate::system::stdin;

/// What a hook says to its client.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Reply {
    /// Nothing.
    #[default]
    Silence,
    /// JSON on stdout, exit 0.
    Answer(String),
    /// Text on stderr, exit 2: a teammate goes on, an idle session wakes, a task is not made or not done.
    Wake(String),
}

/// Handles one event. `arguments` are what follows `watchdog hook`; only `--root FOLDER` and `--guards` mean something.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    // A panic is a defect of ours; the client must not see its text, nor its exit status.
    std::panic::set_hook(Box::new(|_| {}));
    let reply = catch_unwind(AssertUnwindSafe(|| reply(arguments))).unwrap_or_default();
    match reply {
        Reply::Silence => ExitCode::SUCCESS,
        Reply::Answer(text) => {
            answer::print(&text);
            ExitCode::SUCCESS
        }
        Reply::Wake(text) => {
            answer::print_wake(&text);
            ExitCode::from(2)
        }
    }
}

fn reply(arguments: impl Iterator<Item = OsString>) -> Reply {
    let Some(payload) = stdin::read().and_then(|bytes| payload::read(&bytes)) else { return Reply::Silence };
    let arguments: Vec<OsString> = arguments.collect();
    let Some(mut scene) = Scene::find(payload, explicit_root(&arguments)) else { return Reply::Silence };
    // They are the Kiln protocol's: a project that is watched for something else knows nothing of them.
    scene.guards = arguments.iter().any(|word| word == GUARDS) && scene.root.kiln().is_dir();
    // A project may come with links in place of our folders: nothing is read, written or removed through them. The
    // commands say so by name; here there is no place of ours where it could be said.
    if scene.root.check().is_err() {
        return Reply::Silence;
    }
    if scene.payload.event == "SessionEnd" {
        scene.note_fault(session::end(&scene));
        return Reply::Silence;
    }
    // Outside an active pipeline a hook does nothing at all. A session that has ended sends stragglers.
    if !scene.is_active() || !scene.register() {
        return Reply::Silence;
    }
    handle(&mut scene)
}

fn handle(scene: &mut Scene) -> Reply {
    match scene.payload.event.as_str() {
        "SessionStart" => session::start(scene),
        "UserPromptSubmit" | "PreToolUse" => begin(scene),
        "PostToolUse" | "PostToolUseFailure" => {
            scene.note_fault(heartbeat::beat(scene, |_| ()));
            if matches!(scene.payload.tool(), "Write" | "Edit") {
                session::keep_daemon(scene);
            }
            if let Some(refusal) = guards::after_tool(scene) {
                return guards::object(scene, &refusal);
            }
            let texts = help::sent(scene).into_iter().chain(subctl::told(scene));
            answer::contexts(&scene.payload.event, texts)
        }
        "SubagentStart" => {
            help::turn_over(scene);
            teammate::started(scene)
        }
        "SubagentStop" => {
            if let Some(refusal) = guards::before_stop(scene) {
                return guards::keep(scene, &refusal);
            }
            help::turn_over(scene);
            teammate::stopped(scene);
            Reply::Silence
        }
        "TeammateIdle" => teammate::idle(scene),
        "StopFailure" => {
            help::turn_over(scene);
            scene.note_fault(failure::note(scene));
            Reply::Silence
        }
        "FileChanged" => match taking::wake(scene) {
            Reply::Silence => guards::file_changed(scene),
            reply => reply,
        },
        "TaskCreated" | "TaskCompleted" => {
            scene.journal(std::slice::from_ref(&scene.event));
            guards::task(scene).map_or(Reply::Silence, |refusal| guards::refuse(scene, &refusal))
        }
        "Stop" => {
            help::turn_over(scene);
            let events = [Some(scene.event.clone()), translate::background(&scene.payload, scene.now.wall)];
            scene.journal(&events.into_iter().flatten().collect::<Vec<_>>());
            Reply::Silence
        }
        _ => {
            scene.journal(std::slice::from_ref(&scene.event));
            Reply::Silence
        }
    }
}

/// The lead's prompt or a tool call begins.
fn begin(scene: &Scene) -> Reply {
    if let Some(refusal) = guards::before_tool(scene) {
        return guards::deny(scene, &refusal);
    }
    let taken = if scene.event.is_lead() { taking::take(scene) } else { None };
    scene.note_fault(heartbeat::beat(scene, |_| ()));
    if scene.payload.event == "UserPromptSubmit" {
        help::turn_over(scene);
    }
    answer::contexts(&scene.payload.event, taken.into_iter().chain(help::goes_on(scene)))
}

fn explicit_root(arguments: &[OsString]) -> Option<OsString> {
    let place = arguments.iter().position(|word| word == "--root")?;
    arguments.get(place + 1).cloned()
}

impl Scene {
    /// Notes in the journal that something failed; the hook itself goes on.
    fn note_fault(&self, result: Result<(), FileError>) {
        if let Err(error) = result {
            self.fault(&chain(&error));
        }
    }
}
