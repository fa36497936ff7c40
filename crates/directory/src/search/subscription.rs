//! Subscriptions: what a filter matches, as a stream of added, changed and removed.
//!
//! A subscriber gives credit and is told so many changes. What waits for credit is one change for
//! each Game, the newest; how many may wait and for how long is bounded, and whoever does not read
//! is cut off with a cause.

use std::sync::Arc;

use rejoin_core::id::GameId;
use rejoin_core::time::Time;

use super::backlog::Backlog;
use super::filter::Filter;
use crate::game::GameView;

/// A change of what a filter matches.
#[derive(Clone, PartialEq, Debug)]
pub enum News {
    /// It matches from now on.
    Added(Arc<GameView>),
    /// It still matches, and is this now.
    Changed(Arc<GameView>),
    /// It does not match any more.
    Removed(GameId),
}

impl News {
    /// Which Game.
    #[must_use]
    pub fn game(&self) -> GameId {
        match self {
            Self::Added(game) | Self::Changed(game) => game.id,
            Self::Removed(game) => *game,
        }
    }

    /// One change instead of two; none when they cancel each other.
    fn followed_by(self, next: Self) -> Option<Self> {
        match (self, next) {
            (Self::Added(_), Self::Removed(_)) => None,
            (Self::Added(_), Self::Changed(game) | Self::Added(game)) => Some(Self::Added(game)),
            (Self::Removed(_), Self::Added(game)) => Some(Self::Changed(game)),
            (_, next) => Some(next),
        }
    }
}

/// Why a subscription ended by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutCause {
    /// Its subscriber did not read.
    TooSlow,
    /// Its fleet was deleted.
    FleetDeleted,
    /// Its queue was deleted.
    QueueDeleted,
}

impl CutCause {
    /// Its name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TooSlow => "too_slow",
            Self::FleetDeleted => "fleet_deleted",
            Self::QueueDeleted => "queue_deleted",
        }
    }
}

/// One subscription.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub fleet: String,
    location: Option<String>,
    filter: Option<Filter>,
    pub backlog: Backlog<GameId, News>,
}

impl Subscription {
    pub(crate) fn new(fleet: String, location: Option<String>, filter: Option<Filter>) -> Self {
        Self { fleet, location, filter, backlog: Backlog::new() }
    }

    fn matches(&self, game: Option<&Arc<GameView>>) -> bool {
        let Some(game) = game else { return false };
        let location = self.location.as_ref();
        location.is_none_or(|location| game.spec.location == *location)
            && self.filter.as_ref().is_none_or(|filter| filter.matches(game))
    }

    /// What was listed of a Game, and what is.
    pub(crate) fn note(
        &mut self,
        now: Time,
        id: GameId,
        old: Option<&Arc<GameView>>,
        new: Option<&Arc<GameView>>,
    ) {
        let (was, is) = (self.matches(old), self.matches(new));
        let news = match (was, new.filter(|_| is)) {
            (false, Some(game)) => News::Added(game.clone()),
            (true, Some(game)) => News::Changed(game.clone()),
            (true, None) => News::Removed(id),
            (false, None) => return,
        };
        self.push(now, news);
    }

    pub(crate) fn push(&mut self, now: Time, news: News) {
        self.backlog.push(now, news.game(), news, News::followed_by);
    }
}
