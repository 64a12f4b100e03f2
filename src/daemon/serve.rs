//! The daemon itself: a set of roots, each with its lock, served by one loop.

use std::fs::File;
use std::io;
use std::time::Duration;

use anyhow::{Context, bail};
use sd_notify::NotifyState;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tracing::{info, warn};

use super::post::Post;
use super::run::{Order, World, run};
use super::watch::{Hint, Watch};
use crate::store::config::Layers;
use crate::store::file::chain;
use crate::store::lock;
use crate::store::root::Root;
use crate::system::ready::{Starter, notify, watchdog_interval};
use crate::system::timer::Timer;
use crate::system::{clock, launch};

/// How long a new daemon waits for the one before it to let go.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long alerts that are under way may take when the daemon ends by itself.
const LAST_WORDS: Duration = Duration::from_secs(10);
/// The same when it is asked to end: shorter than whoever asks waits before it is killed, or a command that hangs
/// would be left behind.
const FEW_WORDS: Duration = Duration::from_secs(2);

/// What a daemon is asked to do.
#[derive(Debug, Clone)]
pub struct Orders {
    /// The roots.
    pub roots: Vec<Root>,
    /// Wait for the next pipeline instead of leaving.
    pub stay: bool,
    /// Where settings come from.
    pub layers: Layers,
    /// Whom to tell that it watches.
    pub starter: Starter,
}

/// Serves until all roots have been left, or a signal.
///
/// # Errors
/// A root cannot be watched: its settings are broken, its folders are not ours, another daemon watches it, or its
/// pid file cannot be written.
pub fn serve(orders: &Orders) -> anyhow::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    runtime.block_on(async {
        let mut signals = signals()?;
        let (hinted, mut hints) = unbounded_channel();
        let mut daemon = Daemon::open(orders, hinted)?;
        for place in 0..daemon.roots() {
            daemon.look(place);
        }
        if let Err(error) = orders.starter.ready(&daemon.status()) {
            daemon.close("it could not let go of its starter", FEW_WORDS).await;
            return Err(error).context("cannot let go of the starter");
        }
        let stopped = run(&mut daemon, &mut hints, &mut signals).await;
        notify(&[NotifyState::Stopping]);
        let failure = daemon.failure.take();
        let (reason, patience) =
            if stopped { ("a signal", FEW_WORDS) } else { ("nothing is left to watch", LAST_WORDS) };
        daemon.close(reason, patience).await;
        failure.map_or(Ok(()), |failure| bail!(failure))
    })
}

fn signals() -> io::Result<UnboundedReceiver<Order>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (sender, orders) = unbounded_channel();
    for (kind, order) in [
        (SignalKind::terminate(), Order::Stop),
        (SignalKind::interrupt(), Order::Stop),
        (SignalKind::hangup(), Order::Reload),
    ] {
        let mut signal = signal(kind)?;
        let sender = sender.clone();
        tokio::spawn(async move {
            while signal.recv().await.is_some() {
                if sender.send(order).is_err() {
                    return;
                }
            }
        });
    }
    Ok(orders)
}

struct Daemon {
    roots: Vec<Root>,
    posts: Vec<Option<Post>>,
    layers: Layers,
    watch: Watch,
    hints: UnboundedSender<Hint>,
    /// None = no descriptor was left for it.
    timer: Option<Timer>,
    alerts: JoinSet<Vec<String>>,
    /// We are to stay, and cannot: why.
    failure: Option<String>,
    stay: bool,
}

impl Daemon {
    fn open(orders: &Orders, hints: UnboundedSender<Hint>) -> anyhow::Result<Self> {
        let now = clock::now();
        let mut posts = Vec::new();
        for root in &orders.roots {
            let config = orders.layers.read(Some(root))?;
            root.make_home()?;
            let lock = take(root, orders)?;
            posts.push(Some(Post::open(root.clone(), lock, config.policy, orders.stay, now)?));
            info!(root = root.display(), "watching");
        }
        let watch = Watch::new(&orders.roots, &hints);
        let (alerts, timer) = (JoinSet::new(), Timer::new().ok());
        let (roots, layers) = (orders.roots.clone(), orders.layers.clone());
        Ok(Self { roots, posts, layers, watch, hints, timer, alerts, failure: None, stay: orders.stay })
    }

    /// One line for systemd and `status`.
    fn status(&self) -> String {
        let posts: Vec<&Post> = self.posts.iter().flatten().collect();
        match posts.as_slice() {
            [] => "no root is left".to_owned(),
            [post] => format!("{} ({})", post.verdict(), self.watch.words(0)),
            posts => {
                let loud = posts.iter().filter(|post| !post.is_quiet()).count();
                format!("{} roots, {loud} of them stalled ({})", posts.len(), self.watch.words(0))
            }
        }
    }

    async fn close(mut self, reason: &str, patience: Duration) {
        for post in self.posts.iter_mut().filter_map(Option::take) {
            post.close(reason);
        }
        let alerts = &mut self.alerts;
        let told = async { while alerts.join_next().await.is_some() {} };
        tokio::time::timeout(patience, told).await.ok();
        info!(reason, "ended");
    }

    /// Folders made again get a new watch. If looks find changes of which no event told, the watcher is deaf (its
    /// thread died, or the file system sends nothing): it is made anew once, and from then on the tick serves.
    fn mind_the_watch(&mut self, place: usize) {
        self.watch.refresh(place, &self.roots[place]);
        if self.watch.is_dead() {
            self.watch.renew(&self.roots, &self.hints);
            warn!("the thread that watches for file events had died and was made anew");
        }
        let unheard = self.posts[place].as_ref().is_some_and(Post::is_unheard);
        if unheard && self.watch.words(place) == "inotify" {
            self.watch.renew(&self.roots, &self.hints);
            self.watch.set_deaf(place, true);
            warn!("changes were found of which no event told: polling as well");
        }
    }
}

/// Takes a root's lock. A daemon that stays takes the watch over from one that a hook started: that one would end
/// with the session, and a service manager would start us again and again until then.
fn take(root: &Root, orders: &Orders) -> anyhow::Result<File> {
    let found = launch::look(root, clock::now());
    if orders.stay && matches!(&found, launch::Daemon::Running(Some(beacon)) if !beacon.stays) {
        info!(root = root.display(), "taking the watch over");
        // Held until the lock is ours, so that no hook is faster.
        let starts = launch::hold_starts(root)?;
        launch::stop(root, &starts);
        if let Some(lock) = lock::acquire(&root.daemon_lock(), PATIENCE)? {
            return Ok(lock);
        }
    }
    if let Some(lock) = lock::acquire(&root.daemon_lock(), Duration::ZERO)? {
        return Ok(lock);
    }
    if let Some(lock) = lock::acquire(&root.daemon_lock(), PATIENCE)? {
        // Whoever waited here for a starter that was killed would appear after a "stop" of the other one.
        if orders.starter.is_gone() {
            bail!("{}: the starter is gone, and another daemon has watched since", root.display());
        }
        return Ok(lock);
    }
    match launch::look(root, clock::now()) {
        launch::Daemon::Running(Some(beacon)) | launch::Daemon::Stuck(beacon) => {
            bail!(
                "{} is watched by another daemon already (pid {}); \"watchdog stop\" ends it",
                root.display(),
                beacon.pid
            )
        }
        _ => bail!("{} is watched by another daemon already", root.display()),
    }
}

impl World for Daemon {
    fn roots(&self) -> usize {
        self.posts.len()
    }

    fn look(&mut self, place: usize) -> Option<Duration> {
        self.mind_the_watch(place);
        let words = self.watch.words(place);
        let post = self.posts[place].as_mut()?;
        let look = post.look(&words);
        self.watch.follow(place, &post.folders());
        for report in look.reports {
            let alerts = post.policy().alerts.clone();
            self.alerts.spawn(async move { crate::system::alert::send(&alerts, &report).await });
        }
        while let Some(done) = self.alerts.try_join_next() {
            for fault in done.unwrap_or_default() {
                warn!(fault, "alert");
            }
        }
        if let Some(end) = look.end {
            info!(root = post.root().display(), reason = end.words(), "leaving");
            if self.stay && end.is_failure() {
                self.failure = Some(format!("{}: {}", post.root().display(), end.words()));
            }
            if let Some(post) = self.posts[place].take() {
                post.close(end.words());
            }
            self.watch.leave(place);
            return None;
        }
        Some(look.nap)
    }

    fn heard(&mut self, place: usize) {
        self.watch.set_deaf(place, false);
        if let Some(post) = &mut self.posts[place] {
            post.hear();
        }
    }

    fn reload(&mut self) {
        for post in self.posts.iter_mut().flatten() {
            match self.layers.read(Some(post.root())) {
                Ok(config) => {
                    info!(root = post.root().display(), "settings read again");
                    post.set_policy(config.policy);
                }
                // What was in force stays in force.
                Err(error) => warn!(error = chain(&error), "settings not taken"),
            }
        }
    }

    fn ping(&mut self) -> Option<Duration> {
        let interval = watchdog_interval()?;
        notify(&[NotifyState::Watchdog, NotifyState::Status(&self.status())]);
        Some(interval)
    }

    async fn sleep_until(&self, at: Instant) {
        if let Some(timer) = &self.timer
            && timer.wait(at.saturating_duration_since(Instant::now())).await.is_ok()
        {
            return;
        }
        sleep_until(at).await;
    }
}
