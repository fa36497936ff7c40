//! Work that takes long, in steps: searches, what subscribers are told, and placements that wait for
//! room. Each wake does one bounded step of each, and a driver feeds whatever waits before it wakes
//! the directory. So a seat that is asked for waits for one step of each and never for all of it.

use std::collections::btree_map::Entry;
use std::ops::Bound;

use rejoin_core::id::QueueId;
use rejoin_core::never;
use rejoin_core::time::{Time, WallTime};

use super::{Directory, DirectoryOutput};
use crate::command::Answer;
use crate::moment::Moment;
use crate::search::CutCause;
use crate::search::subscription::Scan;

/// Games and entries of indexes that one step of searches looks at.
pub const SEARCH_STEP: usize = 256;
/// Searches under way; more are refused as busy.
pub(super) const SEARCHES_MAX: usize = 1_024;
/// Filters that one step of telling subscribers asks. One Game is told to the end, whatever it costs.
const TELL_STEP: usize = 256;
/// Games that one step of a new subscription looks at.
const SCAN_STEP: usize = 256;
/// What may wait for a new subscriber before it is told more of what there is.
const SCAN_WAITING_MAX: usize = 64;
/// Placements that are looked after in one step when a host has room.
const SEEK_STEP: usize = 16;

/// How much was looked at in all, for whoever measures: it only grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effort {
    /// Steps of searches.
    pub search_steps: u64,
    /// Games and entries of indexes that searches looked at.
    pub searched: u64,
    /// Filters of subscribers that were asked about a change.
    pub filters: u64,
    /// Placements that a host was sought for.
    pub seeks: u64,
    /// Hosts that were looked at for them.
    pub hosts: u64,
}

/// The placements of a queue that are looked after because a host has room.
#[derive(Debug, Default)]
pub(super) struct Stir {
    /// Behind this one, in the order of their beginnings.
    after: Option<(WallTime, String)>,
    /// Another host has got room meanwhile.
    again: bool,
}

impl Directory {
    /// How much was looked at in all.
    #[must_use]
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// Whether a step is wanted.
    pub(super) fn has_steps(&self) -> bool {
        !self.searches.is_empty()
            || !self.scans.is_empty()
            || !self.stirred.is_empty()
            || !self.untold.is_empty()
    }

    /// One step of everything that takes long.
    pub(super) fn step(&mut self, now: Moment) {
        self.search_step();
        self.tell_step(now.time);
        self.scan_step(now.time);
        self.seek_step(now);
    }

    /// The searches take turns.
    fn search_step(&mut self) {
        if let Some((ticket, mut search)) = self.searches.pop_front() {
            let before = search.work();
            let found = search.step(self.shelves.get(&search.fleet), SEARCH_STEP);
            self.effort.search_steps += 1;
            self.effort.searched += (search.work() - before) as u64;
            match found {
                Some(outcome) => self.answer(ticket, outcome.map(Answer::Page)),
                None => self.searches.push_back((ticket, search)),
            }
        }
    }

    /// Tells subscribers of Games that have changed. The fleets take turns.
    fn tell_step(&mut self, now: Time) {
        let end = self.effort.filters + TELL_STEP as u64;
        while self.effort.filters < end
            && let Some(fleet) = self.next_untold_fleet()
        {
            // The fleet may have been deleted meanwhile, or its last subscriber be gone.
            let Some(shelf) = self.shelves.get_mut(&fleet) else { continue };
            let Some(changed) = shelf.next_untold() else { continue };
            if shelf.has_untold() {
                self.untold.insert(fleet.clone());
            }
            // A change that concerns nobody costs a little, too.
            self.effort.filters += 1;
            let Some(audience) = self.audiences.get(&fleet) else { continue };
            for id in audience.concerned(&changed) {
                self.effort.filters += 1;
                if let Some(subscription) = self.subscriptions.get_mut(&id) {
                    subscription.note(now, &changed);
                    self.tell_subscriber(id);
                }
            }
        }
    }

    /// The fleet whose turn it is among those that have something to tell.
    fn next_untold_fleet(&mut self) -> Option<String> {
        let after = (Bound::Excluded(&self.told_last), Bound::Unbounded);
        let next = self.untold.range::<String, _>(after).next().or(self.untold.first());
        let fleet = next.cloned()?;
        self.untold.remove(&fleet);
        self.told_last.clone_from(&fleet);
        Some(fleet)
    }

    /// Gives a subscriber what it has credit for; one for whom too much waits is cut off.
    pub(super) fn tell_subscriber(&mut self, id: u64) {
        let Some(subscription) = self.subscriptions.get_mut(&id) else {
            return never!("subscription {id} has news and is none");
        };
        for news in subscription.backlog.take() {
            self.out.push_back(DirectoryOutput::News { subscription: id, news });
        }
        let (waiting, since) = (subscription.backlog.waiting(), subscription.backlog.waits_since());
        self.set_waiting(id, since);
        if waiting > self.config.news_max {
            self.cut(id, CutCause::TooSlow);
        }
    }

    /// Tells new subscribers what there is, as far as they read. They take turns.
    fn scan_step(&mut self, now: Time) {
        let next = self.scans.pop_front();
        let (id, subscription) = match next.map(|id| (id, self.subscriptions.get_mut(&id))) {
            Some((id, Some(subscription))) => (id, subscription),
            // Nobody is new, or who was is gone.
            Some((_, None)) | None => return,
        };
        let Scan::To(known) = subscription.scan else {
            return never!("subscription {id} is scanned and knows everything");
        };
        // Changes find room beside what there is.
        let most = SCAN_WAITING_MAX.min(self.config.news_max.div_ceil(2));
        if subscription.backlog.waiting() >= most {
            // It goes on when it gives credit.
            return;
        }
        let games = self.shelves.get(&subscription.fleet);
        let games = games.map(|shelf| shelf.told_after(known, SCAN_STEP)).unwrap_or_default();
        self.effort.filters += games.len() as u64;
        let is_end = games.len() < SCAN_STEP;
        subscription.tell_first(now, games, is_end, most);
        if subscription.scan != Scan::Done {
            self.scans.push_back(id);
        }
        self.tell_subscriber(id);
    }

    /// Whether a new subscriber that has just read goes on being told what there is.
    pub(super) fn go_on_scanning(&mut self, id: u64) {
        let subscription = self.subscriptions.get(&id);
        let is_new = subscription.is_some_and(|it| matches!(it.scan, Scan::To(_)));
        if is_new && !self.scans.contains(&id) {
            self.scans.push_back(id);
        }
    }

    /// A host of this fleet may have room that it had not.
    pub(super) fn stir(&mut self, fleet: &str) {
        let queues = self.queues_of.get(fleet).into_iter().flatten();
        for queue in queues {
            match self.stirs.entry(*queue) {
                Entry::Occupied(mut stir) => stir.get_mut().again = true,
                Entry::Vacant(stir) => {
                    stir.insert(Stir::default());
                    self.stirred.push_back(*queue);
                }
            }
        }
    }

    /// Looks after some placements of a queue that wait for a host. The queues take turns.
    fn seek_step(&mut self, now: Moment) {
        if let Some(id) = self.stirred.pop_front() {
            let stir = self.stirs.remove(&id).unwrap_or_default();
            self.seek_waiting(now, id, stir);
        }
    }

    fn seek_waiting(&mut self, now: Moment, id: QueueId, mut stir: Stir) {
        let mut left = SEEK_STEP;
        while left > 0 && self.has_room_for(id) {
            let next = self.queues.get(&id).and_then(|queue| queue.waiting_after(&stir.after));
            let Some(next) = next else {
                if !std::mem::take(&mut stir.again) {
                    return;
                }
                stir.after = None;
                continue;
            };
            self.seek(now, id, &next.1);
            stir.after = Some(next);
            left -= 1;
        }
        if left == 0 {
            self.stirs.insert(id, stir);
            self.stirred.push_back(id);
        }
    }

    /// Whether any host that a queue leads to could take a Game.
    fn has_room_for(&self, queue: QueueId) -> bool {
        let queue = self.queues.get(&queue);
        queue.is_some_and(|it| it.spec().destinations.iter().any(|to| self.roll.is_open(&to.fleet)))
    }
}
