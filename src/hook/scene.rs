//! What a hook stands in: the payload, the root it belongs to, the pipeline's stage, the client beside it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::model::event::{Event, What};
use crate::model::moment::Moment;
use crate::model::policy::Policy;
use crate::model::track::MOST_TEXT;
use crate::model::wording::one_line;
use crate::protocol::payload::Payload;
use crate::protocol::translate::{self, Client};
use crate::store::config::Layers;
use crate::store::root::Root;
use crate::store::sessions::{self, Asker, Session};
use crate::store::{activity_file, journal, state_file};
use crate::system::{clock, process};

/// How long a registration waits for the lock; the next event will try again.
const MOMENT: Duration = Duration::from_secs(1);

/// What a hook stands in.
pub(super) struct Scene {
    pub(super) payload: Payload,
    pub(super) root: Root,
    /// The pipeline's stage; none = there is no pipeline.
    pub(super) stage: Option<String>,
    pub(super) now: Moment,
    /// What the payload tells.
    pub(super) event: Event,
    pub(super) client: Option<i32>,
    entry: String,
}

impl Scene {
    /// Finds the root that a payload belongs to: named, by the environment, above the payload's folder, above the
    /// process's, the client's project. None = it belongs to none.
    pub(super) fn find(payload: Payload, explicit: Option<OsString>) -> Option<Self> {
        let explicit = explicit.or_else(|| env::var_os("KILN_ROOT"));
        let folders = [
            Some(payload.field("cwd")).filter(|cwd| !cwd.is_empty()).map(PathBuf::from),
            env::current_dir().ok(),
            env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from),
        ];
        let root = Root::find(explicit.as_ref(), folders)?;
        // A project that is watched for what is in it gets its `.watchdog/` with the first event.
        if !root.is_kiln() && payload.event != "SessionEnd" && !root.tmp().is_dir() {
            root.make_home().ok()?;
        }
        let stage = state_file::stage(&root).ok().flatten();
        let client = env::var("CLAUDE_PID").ok().and_then(|pid| pid.parse().ok()).filter(|pid| *pid > 1);
        let entry = env::var("CLAUDE_CODE_ENTRYPOINT").unwrap_or_default();
        let now = clock::now();
        let event = translate::event(&payload, Client { pid: client, entry: &entry }, now.wall);
        Some(Self { payload, root, stage, now, event, client, entry })
    }

    /// Tells whether there is a pipeline and it is not complete.
    pub(super) fn is_active(&self) -> bool {
        self.stage.as_deref().is_some_and(|stage| stage != "complete")
    }

    /// The stage's name.
    pub(super) fn stage(&self) -> &str {
        self.stage.as_deref().unwrap_or_default()
    }

    /// Who asks for a staged message.
    pub(super) fn asker(&self) -> Asker<'_> {
        Asker { session: &self.event.session, pid: self.client }
    }

    /// Registers the session if it is not known: any event may be the first that is seen of it. Returns false for a
    /// straggler: the session has said that it ended, and this event does not begin it anew.
    pub(super) fn register(&self) -> bool {
        let begins = matches!(self.payload.event.as_str(), "SessionStart" | "UserPromptSubmit");
        let id = &self.event.session;
        if id.is_empty() || (sessions::is_there(&self.root, id) && self.payload.event != "SessionStart") {
            return true;
        }
        if !begins && journal::fold_lines_with(&self.root, &[id]).is_ok_and(|ledger| ledger.has_ended(id)) {
            return false;
        }
        let source = match self.payload.field("source") {
            "" => &self.payload.event,
            source => source,
        };
        let session = Session {
            v: 1,
            session_id: id.clone(),
            pid: self.client,
            start_time: self.client.and_then(process::start_time),
            entry: self.entry.clone(),
            source: source.to_owned(),
            since: self.now.wall,
        };
        // Hooks come in crowds, and the file belongs to whoever holds the lock. Somebody else may have been faster.
        let held = activity_file::hold(&self.root, MOMENT);
        if self.payload.event == "SessionStart" || !sessions::is_there(&self.root, id) {
            self.note_fault(held.and_then(|_held| sessions::store(&self.root, &session)));
            self.note_folder();
            self.retire_earlier(&session);
        }
        true
    }

    /// Where a session works below the root, if it does: a task folder may be its own.
    fn note_folder(&self) {
        let folder = Path::new(self.payload.field("cwd")).canonicalize().ok();
        let below = folder.as_ref().and_then(|folder| folder.strip_prefix(self.root.path()).ok()?.to_str());
        if let Some(folder) = below.filter(|folder| !folder.is_empty()) {
            let folder = one_line(folder, MOST_TEXT);
            self.journal(&[Event {
                agent: String::new(),
                name: String::new(),
                ..self.of_session(What::WorksIn { folder })
            }]);
        }
    }

    /// A client has one session at a time: what it had before is over, even if it never said so.
    fn retire_earlier(&self, session: &Session) {
        for earlier in sessions::all(&self.root) {
            let same_client = session.start_time.is_some()
                && (earlier.pid, earlier.start_time) == (session.pid, session.start_time);
            if same_client && earlier.session_id != session.session_id {
                self.note_fault(sessions::end(&self.root, &earlier.session_id).map(|_| ()));
            }
        }
    }

    /// Appends events to the journal. Where that fails nothing else can be told.
    pub(super) fn journal(&self, events: &[Event]) {
        if journal::append(&self.root, events).is_err() && self.root.prepare().is_ok() {
            journal::append(&self.root, events).ok();
        }
    }

    /// Notes a fault.
    pub(super) fn fault(&self, fault: &str) {
        self.journal(&[self.of_session(What::Fault { fault: fault.to_owned() })]);
    }

    /// Makes an event of this session and agent.
    pub(super) fn of_session(&self, what: What) -> Event {
        Event {
            session: self.event.session.clone(),
            agent: self.event.agent.clone(),
            name: self.event.name.clone(),
            ..Event::of_root(self.now.wall, what)
        }
    }

    /// Reads the settings; broken ones are a fault, and the built-in ones count.
    pub(super) fn policy(&self) -> Policy {
        match Layers::of_process(&[]).read(Some(&self.root)) {
            Ok(config) => config.policy,
            Err(error) => {
                self.fault(&error.to_string());
                Policy::default()
            }
        }
    }
}
