//! Whoever watches placements, and what is the same for all subscribers: credit, and the end of those who
//! do not read.

use std::sync::Arc;

use rejoin_core::id::QueueId;
use rejoin_core::time::Time;

use super::{Directory, DirectoryOutput};
use crate::command::Answer;
use crate::mark::{Mark, hit};
use crate::queue::PlacementView;
use crate::queue::watch::Watch;
use crate::refusal::{Refusal, What};
use crate::search::CutCause;

impl Directory {
    /// A queue has told what there is to see.
    pub(super) fn watched(
        &mut self,
        now: Time,
        ticket: u64,
        queue: QueueId,
        placement: Option<String>,
        views: Vec<Arc<PlacementView>>,
    ) {
        let outcome = self.new_subscription().map(|id| {
            let watch = Watch::new(now, queue, placement, views, self.config.news_max);
            self.watches.insert(id, watch);
            Answer::Subscribed(id)
        });
        self.answer(ticket, outcome);
    }

    /// A placement's committed state.
    pub(super) fn placement_seen(&mut self, now: Time, view: &Arc<PlacementView>) {
        let mut late = Vec::new();
        for (id, watch) in &mut self.watches {
            watch.note(now, view);
            for news in watch.backlog.take() {
                self.out.push_back(DirectoryOutput::PlacementNews { subscription: *id, news });
            }
            if watch.is_too_slow() {
                late.push(*id);
            }
        }
        for id in late {
            self.cut(id, CutCause::TooSlow);
        }
    }

    /// A queue is gone.
    pub(super) fn forget_queue(&mut self, queue: QueueId) {
        let theirs = self.watches.iter().filter(|(_, watch)| watch.queue == queue);
        let theirs: Vec<u64> = theirs.map(|(id, _)| *id).collect();
        for id in theirs {
            self.cut(id, CutCause::QueueDeleted);
        }
    }

    /// The number of one more subscription, if there may be one.
    pub(super) fn new_subscription(&mut self) -> Result<u64, Refusal> {
        let limit = self.config.subscriptions_max;
        if self.subscriptions.len() + self.watches.len() >= limit {
            return Err(Refusal::LimitReached { what: "subscriptions", limit });
        }
        hit(Mark::Subscribed);
        self.last_subscription += 1;
        Ok(self.last_subscription)
    }

    pub(super) fn unsubscribe(&mut self, id: u64) -> Result<Answer, Refusal> {
        let known = self.subscriptions.remove(&id).is_some() || self.watches.remove(&id).is_some();
        if known { Ok(Answer::Done) } else { Err(Refusal::NotFound(What::Subscription)) }
    }

    pub(super) fn credit(&mut self, id: u64, count: u64) {
        if let Some(subscription) = self.subscriptions.get_mut(&id) {
            subscription.backlog.add_credit(count);
            for news in subscription.backlog.take() {
                self.out.push_back(DirectoryOutput::News { subscription: id, news });
            }
        } else if let Some(watch) = self.watches.get_mut(&id) {
            watch.backlog.add_credit(count);
            for news in watch.backlog.take() {
                self.out.push_back(DirectoryOutput::PlacementNews { subscription: id, news });
            }
        }
    }

    pub(super) fn cut(&mut self, id: u64, cause: CutCause) {
        if self.unsubscribe(id).is_ok() {
            hit(Mark::SubscriberCut);
            self.push(DirectoryOutput::Cut { subscription: id, cause });
        }
    }

    /// Cuts off whoever has not read for too long.
    pub(super) fn cut_slow(&mut self, now: Time) {
        let limit = self.config.news_limit;
        let late = self.waiting_since().filter(|(_, since)| since.after(limit) <= now);
        let late: Vec<u64> = late.map(|(id, _)| id).collect();
        for id in late {
            self.cut(id, CutCause::TooSlow);
        }
    }

    pub(super) fn next_cut(&self) -> Option<Time> {
        let oldest = self.waiting_since().map(|(_, since)| since).min();
        oldest.map(|since| since.after(self.config.news_limit))
    }

    /// Subscribers for whom something waits, and since when.
    fn waiting_since(&self) -> impl Iterator<Item = (u64, Time)> + '_ {
        let games = self.subscriptions.iter().map(|(id, it)| (*id, it.backlog.waits_since()));
        let placements = self.watches.iter().map(|(id, it)| (*id, it.backlog.waits_since()));
        games.chain(placements).filter_map(|(id, since)| Some((id, since?)))
    }
}
