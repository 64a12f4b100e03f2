//! Sessions begin and end: a daemon is started or kept, a flag is cleared, and the last one takes the transient
//! files with it.

use std::time::Duration;

use super::Reply;
use super::answer;
use super::heartbeat::PATIENCE;
use super::scene::Scene;
use crate::store::file::FileError;
use crate::store::recovery::{Note, recover};
use crate::store::{activity_file, journal, sessions, transient};
use crate::system::{clients, launch};

/// All hooks of a session's end have 1.5 s together: they wait for the lock no longer than this.
const HURRY: Duration = Duration::from_millis(250);

/// A session begins, or goes on after a compaction.
pub(super) fn start(scene: &Scene) -> Reply {
    scene.journal(std::slice::from_ref(&scene.event));
    if scene.payload.field("source") != "compact" {
        scene.note_fault(clear_flag(scene));
    }
    if let Err(error) = launch::ensure(&scene.root, scene.now, &[]) {
        scene.fault(&launch::describe(&error));
    }
    let path = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
    answer::watch_paths(&scene.payload.event, &[path(scene.root.pending()), path(scene.root.flag())])
}

fn clear_flag(scene: &Scene) -> Result<(), FileError> {
    let held = activity_file::hold(&scene.root, PATIENCE)?;
    recover(&scene.root, &held, "SessionStart", Note::Leave, scene.now.wall).map(|_| ())
}

/// Makes sure that a daemon watches, or is about to. That there is none must not keep a session from working, nor must
/// a starter that stands still.
pub(super) fn keep_daemon(scene: &Scene) {
    if let Err(error) = launch::ensure_unless_begun(&scene.root, scene.now) {
        scene.fault(&launch::describe(&error));
    }
}

/// Tells whether a track runs that is worth waiting for.
fn is_awaited(scene: &Scene) -> bool {
    let Ok(ledger) = journal::fold_lines_with(&scene.root, &["\"track\""]) else { return false };
    !ledger.tracks.all.is_empty()
        && ledger.tracks.is_awaited(scene.policy().quiet.person_limit, scene.now.wall)
}

/// A session ends. The last one asks the daemon to end first, since a hook may be killed right after, and removes
/// the transient files; never the flag, and never a daemon that a service manager keeps for the next session.
///
/// # Errors
/// A file is there and stays there.
pub(super) fn end(scene: &Scene) -> Result<(), FileError> {
    if matches!(scene.root.tmp().try_exists(), Ok(false)) {
        return Ok(());
    }
    let goes_on = matches!(scene.payload.field("reason"), "clear" | "resume");
    // Sessions register under this lock: one that begins at this moment is either seen here and keeps its daemon and
    // its files, or it comes after us and finds that there is none.
    let held = activity_file::hold(&scene.root, HURRY).ok();
    let before = sessions::all(&scene.root);
    let known = before.iter().any(|session| session.session_id == scene.event.session);
    let others = sessions::any_other(&scene.root, &scene.event.session, clients::may_live);
    let is_last = !others && (known || before.is_empty());
    let stays = launch::stays(&scene.root);
    // Workers that run are waited for with or without a session.
    let awaited = is_last && !goes_on && is_awaited(scene);
    let stays = stays || awaited;
    if is_last && !goes_on && !stays {
        launch::ask_to_end(&scene.root);
    }
    if known {
        scene.journal(std::slice::from_ref(&scene.event));
        sessions::end(&scene.root, &scene.event.session)?;
    }
    if !is_last || goes_on {
        return Ok(());
    }
    let daemon = if stays { transient::Daemon::Stays } else { transient::Daemon::Ends };
    // Without a pipeline of Kiln the activity is the workers' too.
    if awaited && !scene.root.is_kiln() {
        return transient::remove(&scene.root, daemon);
    }
    transient::remove_all(&scene.root, held, daemon)
}
