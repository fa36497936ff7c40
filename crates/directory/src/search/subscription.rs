//! Subscriptions: what a filter matches, as a stream of added, changed and removed.
//!
//! A subscriber gives credit and is told so many changes. What waits for credit is one change for
//! each Game, the newest; how many may wait and for how long is bounded, and whoever does not read
//! is cut off with a cause. What there is at the beginning does not wait: it is looked up Game by
//! Game as there is credit for it, so a subscription may match any number of Games.

use std::collections::BTreeSet;
use std::sync::Arc;

use rejoin_core::id::GameId;
use rejoin_core::time::Time;

use super::backlog::Backlog;
use super::filter::{Compare, Filter, Operand, Value};
use super::query::{self, conjuncts};
use super::shelf::{Changed, Told};
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
    /// Id of the Game that matches, has changed or does not match any more.
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

/// How far a new subscriber has been told what there is, in the order of ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scan {
    /// Everything up to this Game; none: nothing yet. Of what lies above it is told when its turn comes.
    To(Option<GameId>),
    /// Every Game there was has been looked at; all later changes are passed on.
    Done,
}

/// A subscription to the Games of one fleet, with the changes that wait for its credit.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub fleet: String,
    location: Option<String>,
    filter: Option<Filter>,
    pub backlog: Backlog<GameId, News>,
    pub scan: Scan,
}

impl Subscription {
    pub(crate) fn new(fleet: String, location: Option<String>, filter: Option<Filter>) -> Self {
        let (backlog, scan) = (Backlog::new(), Scan::To(None));
        Self { fleet, location, filter, backlog, scan }
    }

    /// What a Game must have, so that this can match it; none: nothing that could be looked up.
    pub(crate) fn anchor(&self) -> Option<Anchor> {
        let tests = conjuncts(self.filter.as_ref()).iter();
        let mut anchors = tests.filter_map(|test| match test {
            Filter::Test(operand, Compare::Equal, Value::Text(text)) => {
                Some(Anchor::Value(operand.clone(), text.clone()))
            }
            Filter::Test(..) | Filter::Or(_) | Filter::And(_) | Filter::Not(_) => None,
        });
        anchors.next().or_else(|| self.location.clone().map(Anchor::Location))
    }

    fn matches(&self, game: Option<&Arc<GameView>>) -> bool {
        let matches = |game| query::matches(self.location.as_deref(), self.filter.as_ref(), game);
        game.is_some_and(|game| matches(game))
    }

    /// A Game has changed.
    pub(crate) fn note(&mut self, now: Time, changed: &Changed) {
        // What lies above it will be told as it is then.
        if matches!(self.scan, Scan::To(known) if known.is_none_or(|known| changed.id > known)) {
            return;
        }
        let (was, is) = (self.matches(changed.old.as_ref()), self.matches(changed.new.as_ref()));
        let news = match (was, changed.new.as_ref().filter(|_| is)) {
            (false, Some(game)) => News::Added(game.clone()),
            (true, Some(game)) => News::Changed(game.clone()),
            (true, None) => News::Removed(changed.id),
            (false, None) => return,
        };
        self.push(now, news);
    }

    /// Goes on telling what there is, until so much waits; `is_end`: there are no others behind these.
    pub(crate) fn tell_first(
        &mut self,
        now: Time,
        games: Vec<(GameId, Told)>,
        is_end: bool,
        waiting_max: usize,
    ) {
        for (id, game) in games {
            if self.backlog.waiting() >= waiting_max {
                return;
            }
            self.scan = Scan::To(Some(id));
            if let Some(game) = game.filter(|game| self.matches(Some(game))) {
                self.push(now, News::Added(game));
            }
        }
        if is_end {
            self.scan = Scan::Done;
        }
    }

    fn push(&mut self, now: Time, news: News) {
        self.backlog.push(now, news.game(), news, News::followed_by);
    }
}

/// Something that a Game has: subscriptions that ask for it are found by it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Anchor {
    /// It is at this place.
    Location(String),
    /// Its id, its name or one of its properties is this.
    Value(Operand, String),
}

impl Anchor {
    /// All that a Game has.
    pub(crate) fn all_of(game: &GameView) -> impl Iterator<Item = Self> + '_ {
        let spec = &game.spec;
        let fixed = [
            Self::Location(spec.location.clone()),
            Self::Value(Operand::Id, game.id.to_string()),
            Self::Value(Operand::Name, spec.name.clone()),
        ];
        let properties = spec.properties.iter();
        let properties = properties
            .map(|(key, value)| Self::Value(Operand::Property(key.clone()), value.clone()));
        fixed.into_iter().chain(properties)
    }
}

/// The subscriptions to one fleet: those that need something of a Game, by that, and the others.
#[derive(Debug, Default)]
pub(crate) struct Audience {
    anchored: BTreeSet<(Anchor, u64)>,
    others: BTreeSet<u64>,
}

impl Audience {
    pub(crate) fn add(&mut self, id: u64, anchor: Option<Anchor>) {
        match anchor {
            Some(anchor) => drop(self.anchored.insert((anchor, id))),
            None => drop(self.others.insert(id)),
        }
    }

    pub(crate) fn remove(&mut self, id: u64, anchor: Option<Anchor>) {
        match anchor {
            Some(anchor) => drop(self.anchored.remove(&(anchor, id))),
            None => drop(self.others.remove(&id)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.anchored.is_empty() && self.others.is_empty()
    }

    pub(crate) fn all(&self) -> Vec<u64> {
        self.anchored.iter().map(|(_, id)| *id).chain(self.others.iter().copied()).collect()
    }

    /// Those that this change may concern.
    pub(crate) fn concerned(&self, changed: &Changed) -> BTreeSet<u64> {
        let mut ids = self.others.clone();
        if self.anchored.is_empty() {
            return ids;
        }
        for game in [&changed.old, &changed.new].into_iter().flatten() {
            for anchor in Anchor::all_of(game) {
                let theirs = (anchor.clone(), 0)..=(anchor, u64::MAX);
                ids.extend(self.anchored.range(theirs).map(|(_, id)| *id));
            }
        }
        ids
    }
}
