//! Folders come and go while events pour in.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::unbounded_channel;

use super::Watch;

#[test]
fn folders_come_and_go_while_events_pour_in_and_nobody_waits_for_the_other_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let is_over = AtomicBool::new(false);
    let (done, ended) = mpsc::channel();
    thread::scope(|scope| {
        for writer in 0..2 {
            let (path, is_over) = (&path, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    fs::write(path.join(format!("{writer}")), "x").unwrap();
                }
            });
        }
        let path = path.clone();
        // Not of the scope: if it hangs, the test fails instead of waiting for it.
        thread::spawn(move || {
            let (hints, mut heard) = unbounded_channel();
            let mut watch = Watch::new(&[], &hints);
            for _ in 0..300 {
                watch.follow(0, std::slice::from_ref(&path));
                watch.follow(0, &[]);
            }
            watch.follow(0, std::slice::from_ref(&path));
            done.send(heard.blocking_recv().is_some()).ok();
        });
        let heard = ended.recv_timeout(Duration::from_secs(120));
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(heard, Ok(true));
    });
}
