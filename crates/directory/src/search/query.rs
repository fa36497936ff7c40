//! A search under way. Where a comparison of the filter leaves few Games, these are gathered and
//! sorted; otherwise the order that is asked for is walked along its index. What can be done neither
//! way within the budget is refused.
//!
//! A search goes on in steps, and each looks at a bounded number of Games, so that whatever else the
//! directory is asked waits for one step and not for a search. Between two steps Games come and go
//! as they do between two pages: each Game is judged as it is when the search comes to it.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use rejoin_core::id::GameId;
use rejoin_core::never;

use super::cursor::{self, Place};
use super::filter::{Compare, Filter, Key, Operand, Sort, Value};
use super::shelf::{Index, Shelf};
use super::{Page, SearchRequest};
use crate::game::GameView;
use crate::mark::{Mark, hit};
use crate::print::Print;
use crate::refusal::Refusal;

/// Comparisons of a filter that are looked at for a short way.
const WAYS_MAX: usize = 8;

/// The key of Games in the order of their ids.
static MISSING: Key = Key::Missing;

/// A search under way: what was asked for, how far it is, and the best matches so far.
#[derive(Debug)]
pub(crate) struct Search {
    /// Fleet whose Games are searched, looked up by name or alias when the search began.
    pub fleet: String,
    location: Option<String>,
    filter: Option<Filter>,
    sort: Option<Sort>,
    limit: usize,
    after: Option<Place>,
    print: Print,
    work_max: usize,
    /// Games and entries of indexes that it has looked at.
    work: usize,
    /// How many of them the walk along the order has looked at.
    walked: usize,
    stage: Stage,
    /// The best so far, in order; at most one more than the page has.
    best: Vec<(Place, Arc<GameView>)>,
}

/// How far a search is.
#[derive(Debug, Default)]
enum Stage {
    /// Looks for a comparison that leaves few Games.
    Narrow(Narrowing),
    /// Looks at those that a comparison left.
    Gather(std::vec::IntoIter<GameId>),
    /// Walks along the order that is asked for.
    Walk { at: Option<Place> },
    /// Looks at all of them, because there is no such order.
    All { at: Option<GameId> },
    /// Has found what there is.
    #[default]
    Over,
}

/// How far a search is with the comparisons of its filter.
#[derive(Debug, Default)]
struct Narrowing {
    /// The comparison that is looked at.
    test: usize,
    /// The last entry of its index that was looked at.
    at: Option<(Key, GameId)>,
    /// The Games that it leaves so far.
    ids: Vec<GameId>,
    /// The fewest that a comparison has left.
    few: Option<Vec<GameId>>,
    /// Entries of indexes that were looked at.
    looked: usize,
}

impl Narrowing {
    /// Looks at so many entries of one comparison's index. A comparison that leaves `most` or more Games,
    /// or as many as another one, is given up.
    fn look_at(&mut self, test: &Filter, shelf: &Shelf, most: usize, room: usize) -> Step {
        let most = self.few.as_ref().map_or(most, Vec::len);
        let way = match test {
            Filter::Test(Operand::Id, Compare::Equal, Value::Text(text)) => {
                let id = GameId::from_hex(text).filter(|id| shelf.get(*id).is_some());
                self.few = Some(id.into_iter().collect());
                None
            }
            Filter::Test(operand, compare, value) => {
                shelf.index(operand).zip(range(*compare, value))
            }
            Filter::Or(_) | Filter::And(_) | Filter::Not(_) => None,
        };
        let Some((index, (start, last))) = way else {
            self.test += 1;
            return Step::Next;
        };
        let start = self.at.clone().map_or(start, Bound::Excluded);
        let room = room.min(most.saturating_sub(self.ids.len()));
        let mut entries = index.entries.range((start, last));
        let mut seen = 0;
        for (place, _) in entries.by_ref().take(room) {
            self.ids.push(place.1);
            self.at = Some(place.clone());
            seen += 1;
        }
        self.looked += seen;
        let is_over = seen < room || entries.next().is_none();
        if self.ids.len() < most && !is_over {
            return Step::More;
        }
        let found = std::mem::take(&mut self.ids);
        if is_over && found.len() < most {
            self.few = Some(found);
        }
        (self.at, self.test) = (None, self.test + 1);
        Step::Next
    }
}

/// How one step ended.
enum Step {
    /// There is more to look at.
    More,
    /// The stage is another one now.
    Next,
    /// All that there is was looked at.
    Done,
    /// The page is full, or the budget is spent: the next one begins behind the last Game.
    Full,
}

impl Search {
    /// A search of the Games of this fleet.
    pub(crate) fn new(
        fleet: String,
        request: SearchRequest,
        page_max: usize,
        work_max: usize,
    ) -> Result<Self, Refusal> {
        let filter = read(&request.filter, Filter::parse).map_err(Refusal::Filter)?;
        let sort = read(&request.sort, Sort::parse).map_err(Refusal::Sort)?;
        if !(1..=page_max).contains(&request.limit) {
            return Err(Refusal::Invalid { field: "limit", must: "1 to the largest page" });
        }
        let print = Print::of([
            fleet.as_bytes(),
            request.location.as_deref().unwrap_or_default().as_bytes(),
            request.filter.as_bytes(),
            request.sort.as_bytes(),
        ]);
        let after = match request.cursor.as_str() {
            "" => None,
            text => Some(cursor::read(text, print)?),
        };
        let stage = Stage::Narrow(Narrowing::default());
        let (location, limit) = (request.location, request.limit);
        Ok(Self {
            fleet,
            location,
            filter,
            sort,
            limit,
            after,
            print,
            work_max,
            work: 0,
            walked: 0,
            stage,
            best: Vec::new(),
        })
    }

    /// Looks at up to `budget` entries more, and returns the page once it is complete. Without a shelf
    /// the fleet has no Games, and the page is empty.
    pub(crate) fn step(
        &mut self,
        shelf: Option<&Shelf>,
        budget: usize,
    ) -> Option<Result<Page, Refusal>> {
        match shelf {
            Some(shelf) => self.look(shelf, budget),
            None => Some(Ok(self.page(false))),
        }
    }

    fn look(&mut self, shelf: &Shelf, budget: usize) -> Option<Result<Page, Refusal>> {
        let end = self.work.saturating_add(budget);
        while self.work < end {
            // A stage that has more to look at puts itself back.
            let step = match std::mem::take(&mut self.stage) {
                Stage::Narrow(narrowing) => self.narrow(shelf, end, narrowing),
                Stage::Gather(ids) => Ok(self.gather(shelf, end, ids)),
                Stage::Walk { at } => self.walk(shelf, end, at),
                Stage::All { at } => Ok(self.look_at_all(shelf, end, at)),
                Stage::Over => Ok(Step::Done),
            };
            match step {
                Err(refusal) => return Some(Err(refusal)),
                Ok(Step::Done) => return Some(Ok(self.page(false))),
                Ok(Step::Full) => return Some(Ok(self.page(true))),
                Ok(Step::More) => return None,
                // A stage that looked at nothing costs a little, too.
                Ok(Step::Next) => self.work += 1,
            }
        }
        None
    }

    /// Games and entries of indexes that it has looked at so far.
    pub(crate) fn work(&self) -> usize {
        self.work
    }

    fn page(&mut self, is_more: bool) -> Page {
        let is_more = is_more || self.best.len() > self.limit;
        self.best.truncate(self.limit);
        let last = self.best.last().filter(|_| is_more);
        let cursor = last.map(|(place, _)| cursor::write(place, self.print));
        let games = std::mem::take(&mut self.best).into_iter().map(|(_, game)| game).collect();
        Page { games, cursor, work: self.work }
    }

    fn matches(&self, game: &GameView) -> bool {
        matches(self.location.as_deref(), self.filter.as_ref(), game)
    }

    fn too_broad(&self) -> Refusal {
        hit(Mark::SearchTooBroad);
        Refusal::TooBroad { work_max: self.work_max }
    }

    /// The comparisons of which every match must pass each.
    fn tests(&self) -> &[Filter] {
        conjuncts(self.filter.as_ref())
    }

    /// Looks for the comparison that leaves the fewest Games.
    fn narrow(&mut self, shelf: &Shelf, end: usize, mut so: Narrowing) -> Result<Step, Refusal> {
        match self.tests().get(so.test).filter(|_| so.test < WAYS_MAX) {
            Some(test) => {
                let room = end - self.work;
                let before = so.looked;
                let step = so.look_at(test, shelf, self.work_max / 4, room);
                self.work += so.looked - before;
                self.stage = Stage::Narrow(so);
                Ok(step)
            }
            None => self.begin_looking(shelf, so.few).map(|()| Step::Next),
        }
    }

    fn begin_looking(&mut self, shelf: &Shelf, few: Option<Vec<GameId>>) -> Result<(), Refusal> {
        self.best.clear();
        let has_order = |by: &Operand| *by == Operand::Id || shelf.index(by).is_some();
        self.stage = if let Some(few) = few {
            hit(Mark::SearchGathered);
            Stage::Gather(few.into_iter())
        } else if self.sort.as_ref().is_none_or(|sort| has_order(&sort.by)) {
            hit(Mark::SearchWalked);
            self.walked = 0;
            Stage::Walk { at: self.after.clone() }
        } else if shelf.listed().len() <= self.work_max {
            hit(Mark::SearchWalked);
            Stage::All { at: None }
        } else {
            return Err(self.too_broad());
        };
        Ok(())
    }

    fn gather(&mut self, shelf: &Shelf, end: usize, mut ids: std::vec::IntoIter<GameId>) -> Step {
        while self.work < end {
            match ids.next() {
                Some(id) => {
                    self.work += 1;
                    if let Some(game) = shelf.get(id).filter(|game| self.matches(game)) {
                        self.offer(game.clone());
                    }
                }
                None => return Step::Done,
            }
        }
        self.stage = Stage::Gather(ids);
        Step::More
    }

    fn look_at_all(&mut self, shelf: &Shelf, end: usize, mut at: Option<GameId>) -> Step {
        let start = at.map_or(Bound::Unbounded, Bound::Excluded);
        let listed = shelf.listed().range((start, Bound::Unbounded));
        for (id, slot) in listed.take(end - self.work) {
            self.work += 1;
            at = Some(*id);
            if let Some(game) = shelf.at(*slot).filter(|game| self.matches(game)) {
                self.offer(game.clone());
            }
        }
        if self.work < end {
            return Step::Done;
        }
        self.stage = Stage::All { at };
        Step::More
    }

    /// A match, wherever its place is. Only those that can be on the page are kept.
    fn offer(&mut self, game: Arc<GameView>) {
        let place = self.place(&game);
        if self.after.as_ref().is_some_and(|it| self.order(&place, it) != Ordering::Greater) {
            return;
        }
        let found = self.best.binary_search_by(|(known, _)| self.order(known, &place));
        let index = found.unwrap_or_else(|index| index);
        if index <= self.limit {
            self.best.insert(index, (place, game));
            self.best.truncate(self.limit + 1);
        }
    }

    fn place(&self, game: &GameView) -> Place {
        let key = self.sort.as_ref().map_or(Key::Missing, |sort| match sort.by {
            // Ids are their own order.
            Operand::Id => Key::Missing,
            ref by => by.key(game),
        });
        Place { key, id: game.id }
    }

    fn order(&self, one: &Place, other: &Place) -> Ordering {
        let missing = |place: &Place| place.key == Key::Missing;
        let plain = (&one.key, one.id).cmp(&(&other.key, other.id));
        let is_descending = self.sort.as_ref().is_some_and(|sort| sort.is_descending);
        match (is_descending, missing(one), missing(other)) {
            (false, ..) => plain,
            (true, true, false) => Ordering::Greater,
            (true, false, true) => Ordering::Less,
            (true, ..) => plain.reverse(),
        }
    }

    /// Takes matches along the order until the page is full. A page that the budget cuts short goes on
    /// behind the last Game that was found; if there is none, nothing would be gained.
    fn walk(&mut self, shelf: &Shelf, end: usize, at: Option<Place>) -> Result<Step, Refusal> {
        let is_descending = self.sort.as_ref().is_some_and(|it| it.is_descending);
        // Games without room are the first in many orders: who wants room walks past none of them.
        let roomy = self.tests().contains(&Filter::has_room());
        match self.sort.as_ref().map(|sort| sort.by.clone()) {
            None | Some(Operand::Id) => {
                let ids = if roomy { shelf.with_room() } else { shelf.listed() };
                let at = at.map(|place| place.id);
                if is_descending {
                    let last = at.map_or(Bound::Unbounded, Bound::Excluded);
                    let walk = ids.range((Bound::Unbounded, last)).rev();
                    self.along(shelf, end, walk.map(|(id, slot)| (&MISSING, *id, *slot)))
                } else {
                    let start = at.map_or(Bound::Unbounded, Bound::Excluded);
                    let walk = ids.range((start, Bound::Unbounded));
                    self.along(shelf, end, walk.map(|(id, slot)| (&MISSING, *id, *slot)))
                }
            }
            Some(by) => {
                let narrow = if roomy { shelf.index_with_room(&by) } else { None };
                match narrow.or_else(|| shelf.index(&by)) {
                    Some(index) => self.walk_index(shelf, index, end, at, is_descending),
                    // The fleet does not declare it any more.
                    None => self.begin_looking(shelf, None).map(|()| Step::Next),
                }
            }
        }
    }

    fn walk_index(
        &mut self,
        shelf: &Shelf,
        index: &Index,
        end: usize,
        at: Option<Place>,
        is_descending: bool,
    ) -> Result<Step, Refusal> {
        let at = at.map(|place| (place.key, place.id));
        let missing = (Key::Missing, GameId([0; 16]));
        if !is_descending {
            let start = at.map_or(Bound::Unbounded, Bound::Excluded);
            let walk = index.entries.range((start, Bound::Unbounded));
            return self.along(shelf, end, walk.map(|((key, id), slot)| (key, *id, *slot)));
        }
        let last = match at {
            Some((Key::Missing, id)) => {
                let last = Bound::Excluded((Key::Missing, id));
                let rest = index.entries.range((Bound::Included(missing), last)).rev();
                return self.along(shelf, end, rest.map(|((key, id), slot)| (key, *id, *slot)));
            }
            Some(at) => Bound::Excluded(at),
            None => Bound::Excluded(missing.clone()),
        };
        let known = index.entries.range((Bound::Unbounded, last)).rev();
        let rest = index.entries.range(missing..).rev();
        let walk = known.chain(rest);
        self.along(shelf, end, walk.map(|((key, id), slot)| (key, *id, *slot)))
    }

    fn along<'b>(
        &mut self,
        shelf: &'b Shelf,
        end: usize,
        walk: impl Iterator<Item = (&'b Key, GameId, super::shelf::Slot)>,
    ) -> Result<Step, Refusal> {
        let mut last = None;
        for (key, id, slot) in walk {
            let is_spent = self.walked >= self.work_max;
            if is_spent && self.best.is_empty() {
                return Err(self.too_broad());
            }
            if self.best.len() == self.limit || is_spent {
                return Ok(Step::Full);
            }
            if self.work >= end {
                match last {
                    Some((key, id)) => {
                        let at = Some(Place { key: Key::clone(key), id });
                        self.stage = Stage::Walk { at };
                    }
                    None => never!("a search goes on with nothing left to spend"),
                }
                return Ok(Step::More);
            }
            (self.work, self.walked, last) = (self.work + 1, self.walked + 1, Some((key, id)));
            if let Some(game) = shelf.at(slot).filter(|game| self.matches(game)) {
                let place = self.place(game);
                self.best.push((place, game.clone()));
            }
        }
        Ok(Step::Done)
    }
}

/// Whether a Game is at this place and passes this filter.
pub(crate) fn matches(location: Option<&str>, filter: Option<&Filter>, game: &GameView) -> bool {
    location.is_none_or(|location| game.spec.location == location)
        && filter.is_none_or(|filter| filter.matches(game))
}

/// The parts of a filter that must all hold.
pub(crate) fn conjuncts(filter: Option<&Filter>) -> &[Filter] {
    match filter {
        None => &[],
        Some(Filter::And(all)) => all,
        Some(filter) => std::slice::from_ref(filter),
    }
}

/// An expression; an empty one is none.
pub(crate) fn read<T, E>(
    text: &str,
    read: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, E> {
    if text.trim().is_empty() { Ok(None) } else { read(text).map(Some) }
}

type Range = (Bound<(Key, GameId)>, Bound<(Key, GameId)>);

/// The entries of an index that a comparison leaves; none if that is nearly all.
fn range(compare: Compare, value: &Value) -> Option<Range> {
    let key = match value {
        Value::Number(number) => Key::Number(*number),
        Value::Flag(flag) => Key::Number(u64::from(*flag)),
        Value::Text(text) => Key::text(text),
    };
    let first = (key.clone(), GameId([0; 16]));
    let last = (key, GameId([0xff; 16]));
    Some(match compare {
        Compare::Equal => (Bound::Included(first), Bound::Included(last)),
        Compare::Less => (Bound::Unbounded, Bound::Excluded(first)),
        Compare::AtMost => (Bound::Unbounded, Bound::Included(last)),
        Compare::More => (Bound::Excluded(last), Bound::Unbounded),
        Compare::AtLeast => (Bound::Included(first), Bound::Unbounded),
        Compare::Other => return None,
    })
}
