//! Answering a search within a budget. Where a comparison of the filter leaves few Games, these are
//! gathered and sorted; otherwise the order that is asked for is walked along its index. What can be
//! done neither way within the budget is refused.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use rejoin_core::id::GameId;

use super::cursor::Place;
use super::filter::{Compare, Filter, Key, Operand, Sort, Value};
use super::shelf::{Index, Shelf, Slot};
use crate::game::GameView;
use crate::mark::{Mark, hit};
use crate::refusal::Refusal;

/// Comparisons of a filter that are looked at for a short way.
const WAYS_MAX: usize = 8;

/// What is asked of a shelf.
#[derive(Debug)]
pub(crate) struct Query<'a> {
    pub filter: Option<&'a Filter>,
    pub location: Option<&'a str>,
    pub sort: Option<&'a Sort>,
    pub limit: usize,
    pub after: Option<&'a Place>,
    pub work_max: usize,
}

/// Games in order, and where to go on; none when that was all.
pub(crate) type Found = (Vec<Arc<GameView>>, Option<Place>);

impl Query<'_> {
    /// Asks.
    pub(crate) fn run(&self, shelf: &Shelf) -> Result<Found, Refusal> {
        if let Some(few) = self.few(shelf) {
            hit(Mark::SearchGathered);
            return Ok(self.sorted(few));
        }
        hit(Mark::SearchWalked);
        match self.sort {
            None => self.walk_ids(shelf, false),
            Some(Sort { by: Operand::Id, is_descending }) => self.walk_ids(shelf, *is_descending),
            Some(sort) => match shelf.index(&sort.by) {
                Some(index) => self.walk_index(shelf, index, sort.is_descending),
                None if shelf.listed().len() <= self.work_max => {
                    let all = shelf.listed().values().filter_map(|slot| shelf.at(*slot));
                    Ok(self.sorted(all.filter(|game| self.matches(game)).cloned().collect()))
                }
                None => Err(self.too_broad()),
            },
        }
    }

    pub(crate) fn matches(&self, game: &GameView) -> bool {
        self.location.is_none_or(|location| game.spec.location == location)
            && self.filter.is_none_or(|filter| filter.matches(game))
    }

    fn too_broad(&self) -> Refusal {
        hit(Mark::SearchTooBroad);
        Refusal::TooBroad { work_max: self.work_max }
    }

    /// The matches, if one comparison leaves few enough Games to look at all of them.
    fn few(&self, shelf: &Shelf) -> Option<Vec<Arc<GameView>>> {
        let tests: Vec<&Filter> = match self.filter? {
            Filter::And(all) => all.iter().collect(),
            filter => vec![filter],
        };
        let mut most = self.work_max / 4;
        let mut best: Option<Vec<Slot>> = None;
        for test in tests.into_iter().take(WAYS_MAX) {
            if let Some(slots) = way(shelf, test, most) {
                most = slots.len();
                best = Some(slots);
            }
        }
        let games = best?.into_iter().filter_map(|slot| shelf.at(slot));
        Some(games.filter(|game| self.matches(game)).cloned().collect())
    }

    fn place(&self, game: &GameView) -> Place {
        let key = self.sort.map_or(Key::Missing, |sort| match sort.by {
            // Ids are their own order.
            Operand::Id => Key::Missing,
            ref by => by.key(game),
        });
        Place { key, id: game.id }
    }

    fn order(&self, one: &Place, other: &Place) -> Ordering {
        let missing = |place: &Place| place.key == Key::Missing;
        let plain = (&one.key, one.id).cmp(&(&other.key, other.id));
        match (self.sort.is_some_and(|sort| sort.is_descending), missing(one), missing(other)) {
            (false, ..) => plain,
            (true, true, false) => Ordering::Greater,
            (true, false, true) => Ordering::Less,
            (true, ..) => plain.reverse(),
        }
    }

    fn sorted(&self, games: Vec<Arc<GameView>>) -> Found {
        let mut placed: Vec<(Place, Arc<GameView>)> =
            games.into_iter().map(|game| (self.place(&game), game)).collect();
        if let Some(after) = self.after {
            placed.retain(|(place, _)| self.order(place, after) == Ordering::Greater);
        }
        placed.sort_unstable_by(|(one, _), (other, _)| self.order(one, other));
        let is_more = placed.len() > self.limit;
        placed.truncate(self.limit);
        let last = placed.last().filter(|_| is_more).map(|(place, _)| place.clone());
        (placed.into_iter().map(|(_, game)| game).collect(), last)
    }

    fn walk_ids(&self, shelf: &Shelf, is_descending: bool) -> Result<Found, Refusal> {
        let after = self.after.map(|place| place.id);
        let listed = shelf.listed();
        if is_descending {
            let end = after.map_or(Bound::Unbounded, Bound::Excluded);
            let games = listed.range((Bound::Unbounded, end)).rev();
            self.walk(games.filter_map(|(_, slot)| shelf.at(*slot)))
        } else {
            let start = after.map_or(Bound::Unbounded, Bound::Excluded);
            let games = listed.range((start, Bound::Unbounded));
            self.walk(games.filter_map(|(_, slot)| shelf.at(*slot)))
        }
    }

    fn walk_index(
        &self,
        shelf: &Shelf,
        index: &Index,
        is_descending: bool,
    ) -> Result<Found, Refusal> {
        let game = |(_, slot): (&(Key, GameId), &Slot)| shelf.at(*slot);
        let after = self.after.map(|place| (place.key.clone(), place.id));
        let missing = (Key::Missing, GameId([0; 16]));
        if !is_descending {
            let start = after.map_or(Bound::Unbounded, Bound::Excluded);
            return self.walk(index.entries.range((start, Bound::Unbounded)).filter_map(game));
        }
        let last = match after {
            Some((Key::Missing, id)) => {
                let end = Bound::Excluded((Key::Missing, id));
                let rest = index.entries.range((Bound::Included(missing), end)).rev();
                return self.walk(rest.filter_map(game));
            }
            Some(after) => Bound::Excluded(after),
            None => Bound::Excluded(missing.clone()),
        };
        let known = index.entries.range((Bound::Unbounded, last)).rev();
        let rest = index.entries.range(missing..).rev();
        self.walk(known.chain(rest).filter_map(game))
    }

    /// Takes matches until the page is full. A page that the budget cuts short goes on behind the
    /// last Game that was found; if there is none, nothing would be gained.
    fn walk<'b>(&self, games: impl Iterator<Item = &'b Arc<GameView>>) -> Result<Found, Refusal> {
        let mut page: Vec<Arc<GameView>> = Vec::new();
        for (work, game) in games.enumerate() {
            let is_spent = work >= self.work_max;
            if is_spent && page.is_empty() {
                return Err(self.too_broad());
            }
            if page.len() == self.limit || is_spent {
                let last = page.last().map(|game| self.place(game));
                return Ok((page, last));
            }
            if self.matches(game) {
                page.push(game.clone());
            }
        }
        Ok((page, None))
    }
}

/// The Games that one comparison leaves, if they are fewer than so many.
fn way(shelf: &Shelf, test: &Filter, most: usize) -> Option<Vec<Slot>> {
    let Filter::Test(operand, compare, value) = test else { return None };
    if let (Operand::Id, Compare::Equal, Value::Text(text)) = (operand, compare, value) {
        let slot = GameId::from_hex(text).and_then(|id| shelf.listed().get(&id).copied());
        return Some(slot.into_iter().collect());
    }
    let index = shelf.index(operand)?;
    let key = match value {
        Value::Number(number) => Key::Number(*number),
        Value::Flag(flag) => Key::Number(u64::from(*flag)),
        Value::Text(text) => Key::text(text),
    };
    let first = (key.clone(), GameId([0; 16]));
    let last = (key, GameId([0xff; 16]));
    let range = match compare {
        Compare::Equal => (Bound::Included(first), Bound::Included(last)),
        Compare::Less => (Bound::Unbounded, Bound::Excluded(first)),
        Compare::AtMost => (Bound::Unbounded, Bound::Included(last)),
        Compare::More => (Bound::Excluded(last), Bound::Unbounded),
        Compare::AtLeast => (Bound::Included(first), Bound::Unbounded),
        Compare::Other => return None,
    };
    let slots: Vec<Slot> = index.entries.range(range).take(most).map(|(_, slot)| *slot).collect();
    (slots.len() < most).then_some(slots)
}
