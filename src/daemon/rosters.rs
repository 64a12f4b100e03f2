//! Who belongs to the team of each session, as its client keeps it: read, compared, noted in the journal.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::event::{Event, What};
use crate::model::moment::Moment;
use crate::model::sight::Sight;
use crate::protocol::team_json::Members;
use crate::store::root::Root;
use crate::store::{journal, team_file};

/// Teams change seldom: their files are read at most this often.
const EVERY: Duration = Duration::from_secs(5);

/// The members of each session's team as they were last noted.
#[derive(Debug, Default)]
pub(super) struct Rosters {
    known: BTreeMap<String, Members>,
    /// Awake time at which they were last looked at.
    looked: Option<Duration>,
}

impl Rosters {
    /// Looks, and notes what has changed.
    pub(super) fn mind(&mut self, root: &Root, sight: &Sight, now: Moment) {
        let is_due = self.looked.is_none_or(|at| now.awake.saturating_sub(at) >= EVERY);
        let Some(teams) = team_file::folder().filter(|folder| is_due && sight.is_active() && folder.is_dir())
        else {
            return;
        };
        self.looked = Some(now.awake);
        self.known.retain(|id, _| sight.living.contains(id));
        for id in &sight.living {
            let Some(found) = team_file::members(&teams, id) else { continue };
            if self.known.get(id) == Some(&found) {
                continue;
            }
            let what = What::Roster { members: found.names.clone(), lead: found.lead.clone() };
            let event = Event { session: id.clone(), ..Event::of_root(now.wall, what) };
            if journal::append(root, &[event]).is_ok() {
                self.known.insert(id.clone(), found);
            }
        }
    }
}
