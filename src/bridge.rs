//! Waits for this session's nudge and ends with 2, which wakes an idle client; anything else ends it with 0.
//!
//! One bridge for each session of a root. The newest wins: it puts its number into the session's generation file,
//! and an older one that finds another number leaves. A killed bridge blocks nobody, since only numbers and the
//! claim decide.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;

use crate::model::event::{Event, What};
use crate::model::ledger::is_print_mode;
use crate::model::nudge::Nudge;
use crate::model::wording;
use crate::store::config::Layers;
use crate::store::file::{Access, own_folder, read_own, replace};
use crate::store::root::Root;
use crate::store::sessions::{Asker, belongs_to};
use crate::store::{activity_file, flag_file, journal, pending, pid_file, state_file};
use crate::system::process::{Handle, Identity, start_time};
use crate::system::{clients, clock, stdin};

/// Without file events the bridge looks this often.
const POLL: Duration = Duration::from_secs(1);
/// With them it still looks this often, in case one is lost.
const FLOOR: Duration = Duration::from_secs(20);
/// How long a bridge that begins waits for the lock, and one that leaves: a client that ends does not wait long.
const PATIENCE: Duration = Duration::from_secs(2);
const HURRY: Duration = Duration::from_millis(500);

/// Runs the bridge. `arguments` are what follows `watchdog bridge`; only `--root FOLDER` means something.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let wait = || Bridge::open(arguments).and_then(Bridge::wait);
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(wait)).ok().flatten() {
        Some(text) => {
            writeln!(std::io::stderr(), "{text}").ok();
            ExitCode::from(2)
        }
        None => ExitCode::SUCCESS,
    }
}

struct Bridge {
    root: Root,
    session: String,
    pid: Option<i32>,
    client: Option<Handle>,
    /// Where the newest bridge of this session puts its number.
    generation: PathBuf,
    number: String,
    life: Duration,
    stop: Arc<AtomicBool>,
}

impl Bridge {
    /// Makes a bridge. None = there is nothing to wait for: print mode (the client waits for its hooks there), no
    /// root, no active pipeline.
    fn open(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        if is_print_mode(&env::var("CLAUDE_CODE_ENTRYPOINT").unwrap_or_default())
            || env::var("CLAUDE_CODE_SESSION_ATTENDED").is_ok_and(|attended| attended == "0")
        {
            return None;
        }
        let payload = crate::protocol::payload::read(&stdin::read()?)?;
        let explicit = arguments.find(|word| word == "--root").and_then(|_| arguments.next());
        let folders = [
            Some(payload.field("cwd")).filter(|cwd| !cwd.is_empty()).map(PathBuf::from),
            env::current_dir().ok(),
            env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from),
        ];
        let root = Root::find(explicit.or_else(|| env::var_os("KILN_ROOT")).as_ref(), folders)?;
        if !is_active(&root) {
            return None;
        }
        let life = Layers::of_process(&[]).read(Some(&root)).map(|config| config.policy.bridge.life).ok()?;
        let session = wording::plain(payload.session(), 200);
        let pid = env::var("CLAUDE_PID").ok().and_then(|pid| pid.parse().ok());
        let client = pid.and_then(|pid| Identity { pid, start_time: start_time(pid)? }.open());
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP]
        {
            signal_hook::flag::register(signal, Arc::clone(&stop)).ok()?;
        }
        let own = Identity::own();
        root.prepare().ok()?;
        own_folder(&root.in_own("bridges"), 0o700).ok()?;
        let name = crate::store::sessions::path(&root, &session).file_stem()?.to_owned();
        let generation = root.in_own("bridges").join(name);
        Some(Self {
            root,
            session,
            pid,
            client,
            generation,
            number: format!("{}.{}", own.pid, own.start_time),
            life,
            stop,
        })
    }

    /// Waits. Returns the text to wake the client with; none = nothing to say.
    fn wait(self) -> Option<String> {
        self.announce().ok()?;
        let began = clock::now();
        let watch = self.watch();
        loop {
            if self.stop.load(Ordering::Relaxed) || !self.is_wanted() {
                break;
            }
            if let Some(text) = self.claim() {
                self.leave();
                return Some(text);
            }
            let left = self.life.saturating_sub(clock::now().awake_since(began));
            if left.is_zero() || !self.sleep(watch.as_ref(), left) {
                break;
            }
        }
        self.leave();
        None
    }

    fn announce(&self) -> Result<(), crate::store::file::FileError> {
        let _held = activity_file::hold(&self.root, PATIENCE).ok();
        replace(&self.generation, self.number.as_bytes(), &self.root.own(), Access::Private, false)?;
        pid_file::store(&self.root, pid_file::BRIDGE, std::process::id())
    }

    /// Takes its marks away, if they are still its own. Under the lock or not at all: a newer bridge may be about to put its
    /// own in their place, and marks that are left harm nobody.
    fn leave(&self) {
        let Ok(_held) = activity_file::hold(&self.root, HURRY) else { return };
        pid_file::remove_if(&self.root, pid_file::BRIDGE, std::process::id());
        if self.is_newest() {
            fs::remove_file(&self.generation).ok();
        }
    }

    fn is_newest(&self) -> bool {
        read_own(&self.generation, 64).ok().flatten().is_some_and(|found| found == self.number.as_bytes())
    }

    fn is_wanted(&self) -> bool {
        let client_lives = self.client.as_ref().is_none_or(|client| !client.wait(Duration::ZERO));
        client_lives && self.is_newest() && is_active(&self.root)
    }

    fn claim(&self) -> Option<String> {
        let asker = Asker { session: &self.session, pid: self.pid };
        let is_mine = |nudge: &Nudge| {
            nudge.wakes && belongs_to(&self.root, nudge.session.as_deref(), asker, clients::may_live)
        };
        if let Some(nudge) = pending::claim(&self.root, is_mine).ok().flatten() {
            let what = What::Claimed { id: nudge.id, n: nudge.number, via: "bridge".to_owned() };
            let session = self.session.clone();
            let at = clock::now().wall;
            let event = Event { session, ..Event::of_root(at, what) };
            journal::append(&self.root, &[event]).ok();
            return Some(wording::wake(&nudge.text));
        }
        let flag = flag_file::load(&self.root).filter(|flag| flag.source.is_none())?;
        flag_file::claim_wake(&self.root)
            .then(|| wording::wake(&wording::flag_wake(flag.diagnosis.as_deref().unwrap_or_default())))
    }

    fn watch(&self) -> Option<OwnedFd> {
        let watch = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK).ok()?;
        let changes = inotify::WatchFlags::MOVED_TO
            | inotify::WatchFlags::CLOSE_WRITE
            | inotify::WatchFlags::DELETE
            | inotify::WatchFlags::DELETE_SELF;
        for folder in [self.root.tmp(), self.root.home(), self.root.in_own("bridges")] {
            inotify::add_watch(&watch, &folder, changes).ok()?;
        }
        Some(watch)
    }

    /// Sleeps until something happens. Returns false if the client has ended.
    fn sleep(&self, watch: Option<&OwnedFd>, left: Duration) -> bool {
        let most = left.min(if watch.is_some() { FLOOR } else { POLL });
        let timeout =
            Timespec { tv_sec: most.as_secs().cast_signed(), tv_nsec: i64::from(most.subsec_nanos()) };
        let client = self.client.as_ref().map(Handle::fd);
        let mut fds: Vec<PollFd<'_>> =
            watch.into_iter().chain(client).map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        poll(&mut fds, Some(&timeout)).ok();
        if let Some(watch) = watch {
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut reader = inotify::Reader::new(watch, &mut buffer);
            while reader.next().is_ok() {}
        }
        self.client.as_ref().is_none_or(|client| !client.wait(Duration::ZERO))
    }
}

fn is_active(root: &Root) -> bool {
    !root.is_gone() && state_file::stage(root).ok().flatten().is_some_and(|stage| stage != "complete")
}
