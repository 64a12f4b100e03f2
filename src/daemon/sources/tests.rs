//! What is new is noted once, and what cannot be read is a fault that stands.

use super::*;
use crate::model::event::What;
use crate::model::track::Said;
use crate::store::scratch::project;

/// A source that finds one track, and says it as long as the ledger does not know it.
struct One;

impl Source for One {
    fn look(&mut self, view: &View<'_>) -> News {
        let said = Said { track: "task:.task/a/b".to_owned(), ..Said::default() };
        let is_new = !view.ledger.tracks.is_said(&said);
        let events = is_new.then(|| Event::of_root(view.now.wall, What::Track(Box::new(said))));
        News { events: events.into_iter().collect(), faults: vec!["it cannot be read".to_owned()] }
    }
}

fn at(seconds: u64) -> Moment {
    let awake = Duration::from_secs(seconds);
    Moment { wall: 1_800_000_000_000, awake, boot: awake }
}

#[test]
fn news_is_noted_once_and_a_fault_stands_between_two_looks() {
    let root = project();
    let policy = Policy::default();
    let look = |sources: &mut Sources, now: Moment| {
        let (mut sight, ledger) = (Sight::default(), journal::fold(&root).unwrap());
        let due = sources.mind(&root, &mut sight, &ledger, &policy, now);
        (due, sight.faults.len(), journal::all(&root).unwrap().len())
    };
    let mut sources = Sources::of(vec![Box::new(One)]);
    assert_eq!(look(&mut sources, at(10)), (None, 1, 1));
    assert_eq!(look(&mut sources, at(10)), (Some(EVERY), 1, 1));
    assert_eq!(look(&mut sources, at(11)), (None, 1, 1));
    // A daemon that was started anew.
    let mut sources = Sources::of(vec![Box::new(One)]);
    assert_eq!(look(&mut sources, at(12)), (None, 1, 1));
}
