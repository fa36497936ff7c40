//! Whoever watches placements, and what is the same for all subscribers: credit, and the end of those who
//! do not read.

use std::sync::Arc;

use rejoin_core::id::QueueId;
use rejoin_core::never;
use rejoin_core::time::Time;

use super::{Directory, DirectoryOutput};
use crate::caller::Payer;
use crate::command::Answer;
use crate::mark::{Mark, hit};
use crate::queue::PlacementView;
use crate::queue::watch::Watch;
use crate::refusal::{Refusal, What};
use crate::search::CutCause;
use crate::search::subscription::Subscription;

/// One key at one address has at most one in so many of the subscriptions.
const PAYER_SHARE: usize = 10;

impl Directory {
    /// A queue has told what there is to see.
    pub(super) fn watched(
        &mut self,
        now: Time,
        ticket: u64,
        queue: QueueId,
        placement: Option<String>,
        views: Vec<Arc<PlacementView>>,
        payer: Option<Payer>,
    ) {
        let outcome = self.new_subscription(payer).map(|id| {
            let watch = Watch::new(now, queue, placement.clone(), views, self.config.news_max);
            self.watches_of.insert((queue, placement, id));
            self.set_waiting(id, watch.backlog.waits_since());
            self.watches.insert(id, watch);
            Answer::Subscribed(id)
        });
        self.answer(ticket, outcome);
    }

    /// A placement's committed state.
    pub(super) fn placement_seen(&mut self, now: Time, view: &Arc<PlacementView>) {
        for placement in [None, Some(view.id.clone())] {
            for id in self.watching(view.queue, placement) {
                if let Some(watch) = self.watches.get_mut(&id) {
                    watch.note(now, view);
                    self.tell_watch(id);
                }
            }
        }
    }

    /// Those who watch this placement, or with none the whole queue.
    fn watching(&self, queue: QueueId, placement: Option<String>) -> Vec<u64> {
        let first = (queue, placement.clone(), 0);
        let theirs = self.watches_of.range(first..=(queue, placement, u64::MAX));
        theirs.map(|(.., id)| *id).collect()
    }

    fn tell_watch(&mut self, id: u64) {
        let Some(watch) = self.watches.get_mut(&id) else {
            return never!("watch {id} has news and is none");
        };
        for news in watch.backlog.take() {
            self.out.push_back(DirectoryOutput::PlacementNews { subscription: id, news });
        }
        let (is_late, since) = (watch.is_too_slow(), watch.backlog.waits_since());
        self.set_waiting(id, since);
        if is_late {
            self.cut(id, CutCause::TooSlow);
        }
    }

    /// A queue is gone.
    pub(super) fn forget_queue(&mut self, queue: QueueId) {
        let theirs = self.watches_of.range((queue, None, 0)..);
        let theirs = theirs.take_while(|(known, ..)| *known == queue);
        let theirs: Vec<u64> = theirs.map(|(.., id)| *id).collect();
        for id in theirs {
            self.cut(id, CutCause::QueueDeleted);
        }
    }

    /// The number of one more subscription, if there may be one. Callers from outside leave room for the
    /// process itself, for hosts and for operators; each key for the others, and each address as well.
    pub(super) fn new_subscription(&mut self, payer: Option<Payer>) -> Result<u64, Refusal> {
        let limit = self.config.subscriptions_max;
        let full = |what, limit| Err(Refusal::LimitReached { what, limit });
        let count = self.subscriptions.len() + self.watches.len();
        if count >= limit {
            return full("subscriptions", limit);
        }
        if let Some(payer) = payer {
            let of_key = |it: &&Payer| it.key == payer.key;
            let of_key = self.subscribers.values().filter(of_key).count();
            let own = self.subscribers.values().filter(|it| **it == payer).count();
            let (all, key, address) =
                (limit.div_ceil(4) * 3, limit.div_ceil(2), limit.div_ceil(PAYER_SHARE));
            if own >= address {
                return full("subscriptions of this key and address", address);
            }
            if of_key >= key {
                return full("subscriptions of this key", key);
            }
            if count >= all {
                return full("subscriptions of clients", all);
            }
            self.subscribers.insert(self.last_subscription + 1, payer);
        }
        hit(Mark::Subscribed);
        self.last_subscription += 1;
        Ok(self.last_subscription)
    }

    pub(super) fn unsubscribe(&mut self, id: u64) -> Result<Answer, Refusal> {
        self.set_waiting(id, None);
        self.subscribers.remove(&id);
        if let Some(subscription) = self.subscriptions.remove(&id) {
            self.leave_audience(id, &subscription);
            Ok(Answer::Done)
        } else if let Some(watch) = self.watches.remove(&id) {
            self.watches_of.remove(&(watch.queue, watch.placement, id));
            Ok(Answer::Done)
        } else {
            Err(Refusal::NotFound(What::Subscription))
        }
    }

    fn leave_audience(&mut self, id: u64, subscription: &Subscription) {
        let Some(audience) = self.audiences.get_mut(&subscription.fleet) else {
            return never!("subscription {id} was in no audience of {}", subscription.fleet);
        };
        audience.remove(id, subscription.anchor());
        if audience.is_empty() {
            self.audiences.remove(&subscription.fleet);
            if let Some(shelf) = self.shelves.get_mut(&subscription.fleet) {
                shelf.forget_untold();
            }
        }
    }

    pub(super) fn credit(&mut self, id: u64, count: u64) {
        if let Some(subscription) = self.subscriptions.get_mut(&id) {
            subscription.backlog.add_credit(count);
            self.tell_subscriber(id);
            self.go_on_scanning(id);
        } else if let Some(watch) = self.watches.get_mut(&id) {
            watch.backlog.add_credit(count);
            self.tell_watch(id);
        }
    }

    pub(super) fn cut(&mut self, id: u64, cause: CutCause) {
        if self.unsubscribe(id).is_ok() {
            hit(Mark::SubscriberCut);
            self.push(DirectoryOutput::Cut { subscription: id, cause });
        }
    }

    /// Cuts off subscribers that have not read for too long.
    pub(super) fn cut_slow(&mut self, now: Time) {
        while let Some((_, id)) = self.waits.first().copied()
            && self.next_cut().is_some_and(|at| at <= now)
        {
            self.cut(id, CutCause::TooSlow);
        }
    }

    pub(super) fn next_cut(&self) -> Option<Time> {
        self.waits.first().map(|(since, _)| since.after(self.config.news_limit))
    }

    /// Since when something waits for a subscriber; none: nothing does.
    pub(super) fn set_waiting(&mut self, id: u64, since: Option<Time>) {
        let old = match since {
            Some(since) => self.waits_of.insert(id, since),
            None => self.waits_of.remove(&id),
        };
        if let Some(old) = old {
            self.waits.remove(&(old, id));
        }
        if let Some(since) = since {
            self.waits.insert((since, id));
        }
    }
}
