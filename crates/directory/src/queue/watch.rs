//! Watching placements: those of a queue that are under way, or a single one, as a stream of what becomes
//! of them. Bounded like subscriptions to Games: a subscriber that does not read is cut off with a cause.

use std::sync::Arc;

use rejoin_core::id::QueueId;
use rejoin_core::time::Time;

use super::PlacementView;
use crate::search::backlog::Backlog;

/// What became of a placement.
#[derive(Clone, PartialEq, Debug)]
pub enum PlacementNews {
    /// It is under way.
    Added(Arc<PlacementView>),
    /// It still is: it is tried with a host, or has to be tried with another.
    Changed(Arc<PlacementView>),
    /// It has ended; nothing more comes of it.
    Ended(Arc<PlacementView>),
}

impl PlacementNews {
    /// The placement as it was committed with this change.
    #[must_use]
    pub fn view(&self) -> &Arc<PlacementView> {
        match self {
            Self::Added(view) | Self::Changed(view) | Self::Ended(view) => view,
        }
    }

    /// The change that a newly committed state is: added before the first try, then changed, ended at last.
    pub(crate) fn of(view: Arc<PlacementView>) -> Self {
        match (&view.end, view.attempts) {
            (Some(_), _) => Self::Ended(view),
            (None, 0) => Self::Added(view),
            (None, _) => Self::Changed(view),
        }
    }

    /// What a new watch begins with: ended if the placement has ended, otherwise added.
    pub(crate) fn first(view: Arc<PlacementView>) -> Self {
        if view.end.is_some() { Self::Ended(view) } else { Self::Added(view) }
    }

    /// Joins a change that waits and a later one; a placement that was not shown yet stays added.
    fn followed_by(self, next: Self) -> Self {
        match (self, next) {
            (Self::Added(_), Self::Changed(view)) => Self::Added(view),
            (_, next) => next,
        }
    }
}

/// A subscription to one placement or to all placements of a queue.
#[derive(Debug)]
pub(crate) struct Watch {
    pub queue: QueueId,
    /// None: all of the queue.
    pub placement: Option<String>,
    pub backlog: Backlog<String, PlacementNews>,
    /// How many may wait: at least those there were at the beginning.
    waiting_max: usize,
}

impl Watch {
    /// With all there is to see now.
    pub(crate) fn new(
        now: Time,
        queue: QueueId,
        placement: Option<String>,
        views: Vec<Arc<PlacementView>>,
        waiting_max: usize,
    ) -> Self {
        let waiting_max = waiting_max.max(views.len());
        let mut watch = Self { queue, placement, backlog: Backlog::new(), waiting_max };
        for view in views {
            watch.push(now, PlacementNews::first(view));
        }
        watch
    }

    /// A placement's committed state.
    pub(crate) fn note(&mut self, now: Time, view: &Arc<PlacementView>) {
        let is_meant = self.placement.as_ref().is_none_or(|name| *name == view.id);
        if self.queue == view.queue && is_meant {
            self.push(now, PlacementNews::of(view.clone()));
        }
    }

    fn push(&mut self, now: Time, news: PlacementNews) {
        let name = news.view().id.clone();
        self.backlog.push(now, name, news, |earlier, next| Some(earlier.followed_by(next)));
    }

    pub(crate) fn is_too_slow(&self) -> bool {
        self.backlog.waiting() > self.waiting_max
    }
}
