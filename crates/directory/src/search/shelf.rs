//! The Games of one fleet as searches see them: all of them by id, and those that are listed in an
//! index for each field and each declared property. Games with room have some orders of their own,
//! because in most orders those without room come first or lie between.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::sync::Arc;

use rejoin_core::id::GameId;

use super::filter::{Key, Operand};
use crate::game::GameView;
use crate::planted::{Bug, is_armed};

/// Where a listed Game is found without a search for its id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot(u32);

/// An order of the listed Games.
#[derive(Debug)]
pub(crate) struct Index {
    pub by: Operand,
    pub entries: BTreeMap<(Key, GameId), Slot>,
}

impl Index {
    fn set(&mut self, id: GameId, slot: Slot, before: Option<Key>, after: Option<Key>) {
        if before == after {
            return;
        }
        if let Some(before) = before.filter(|_| !is_armed(Bug::IndexEntryKept)) {
            self.entries.remove(&(before, id));
        }
        if let Some(after) = after {
            self.entries.insert((after, id), slot);
        }
    }
}

/// The Games of one fleet.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    all: BTreeMap<GameId, Arc<GameView>>,
    listed: BTreeMap<GameId, Slot>,
    /// The listed Games themselves: one that changes is replaced here, and its entries stay.
    slots: Vec<Option<Arc<GameView>>>,
    free: Vec<Slot>,
    indexes: Vec<Index>,
    /// The listed Games with room, by id and in the orders that are asked for most.
    with_room: BTreeMap<GameId, Slot>,
    roomy: Vec<Index>,
    /// Games that have changed, and that subscribers have not been told of, in their turn.
    changes: Changes,
}

/// What subscribers have not been told yet.
#[derive(Debug, Default)]
struct Changes {
    /// How each was listed when subscribers were last told.
    untold: BTreeMap<GameId, Told>,
    turns: BTreeMap<u64, GameId>,
    last_turn: u64,
}

impl Shelf {
    /// An empty one with these declared properties.
    pub(crate) fn new(declared: &[String]) -> Self {
        let fields = [
            Operand::Name,
            Operand::Capacity,
            Operand::Created,
            Operand::Players,
            Operand::HasRoom,
        ];
        let declared = declared.iter().cloned().map(Operand::Property);
        let all = fields.into_iter().chain(declared);
        let empty = |by| Index { by, entries: BTreeMap::new() };
        let indexes = all.map(empty).collect();
        let roomy = [Operand::Created, Operand::Players].map(empty).into();
        Self { indexes, roomy, ..Self::default() }
    }

    /// The same Games with other declared properties.
    pub(crate) fn redeclare(&mut self, declared: &[String]) {
        let mut anew = Self::new(declared);
        for game in self.all.values() {
            anew.put(game.clone(), false);
        }
        anew.changes = std::mem::take(&mut self.changes);
        *self = anew;
    }

    /// A Game is this now; `is_followed`: somebody wants to be told of changes.
    pub(crate) fn put(&mut self, game: Arc<GameView>, is_followed: bool) {
        let id = game.id;
        self.all.insert(id, game.clone());
        let listed = game.is_listed().then_some(game);
        self.list(id, listed, is_followed);
    }

    /// A Game is forgotten.
    pub(crate) fn remove(&mut self, id: GameId, is_followed: bool) {
        self.all.remove(&id);
        self.list(id, None, is_followed);
    }

    fn list(&mut self, id: GameId, new: Option<Arc<GameView>>, is_followed: bool) {
        let known = self.listed.get(&id).copied();
        let old = known.and_then(|slot| self.at(slot)).cloned();
        if known.is_none() && new.is_none() {
            return;
        }
        let slot = known.unwrap_or_else(|| self.new_slot());
        self.list_with_room(id, slot, old.as_deref(), new.as_deref());
        // A seat that changes moves the Game in few of its indexes.
        let same_spec = match (&old, &new) {
            (Some(old), Some(new)) => Arc::ptr_eq(&old.spec, &new.spec),
            (None, _) | (_, None) => false,
        };
        for index in &mut self.indexes {
            if same_spec && !index.by.is_about_seats() {
                continue;
            }
            let before = old.as_ref().map(|game| index.by.key(game));
            let after = new.as_ref().map(|game| index.by.key(game));
            index.set(id, slot, before, after);
        }
        if new.is_some() {
            self.listed.insert(id, slot);
        } else {
            self.listed.remove(&id);
            self.free.push(slot);
        }
        if let Some(place) = self.slots.get_mut(slot.0 as usize) {
            *place = new;
        }
        if is_followed {
            self.changes.note(id, old);
        }
    }

    fn list_with_room(
        &mut self,
        id: GameId,
        slot: Slot,
        old: Option<&GameView>,
        new: Option<&GameView>,
    ) {
        let has_room = |game: &&GameView| game.free() > 0;
        let (old, new) = (old.filter(has_room), new.filter(has_room));
        for index in &mut self.roomy {
            let before = old.map(|game| index.by.key(game));
            let after = new.map(|game| index.by.key(game));
            index.set(id, slot, before, after);
        }
        if new.is_some() {
            self.with_room.insert(id, slot);
        } else {
            self.with_room.remove(&id);
        }
    }

    fn new_slot(&mut self) -> Slot {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            // There are never more Games than a directory may have.
            Slot(u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX))
        })
    }

    /// The Game in a slot.
    pub(crate) fn at(&self, slot: Slot) -> Option<&Arc<GameView>> {
        self.slots.get(slot.0 as usize)?.as_ref()
    }

    /// A listed Game.
    pub(crate) fn get(&self, id: GameId) -> Option<&Arc<GameView>> {
        self.at(*self.listed.get(&id)?)
    }

    /// All Games above this id, whatever their state.
    pub(crate) fn all_after(
        &self,
        id: Option<GameId>,
    ) -> impl Iterator<Item = &Arc<GameView>> + '_ {
        let from = id.map_or(Bound::Unbounded, Bound::Excluded);
        self.all.range((from, Bound::Unbounded)).map(|(_, game)| game)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn listed(&self) -> &BTreeMap<GameId, Slot> {
        &self.listed
    }

    pub(crate) fn index(&self, by: &Operand) -> Option<&Index> {
        self.indexes.iter().find(|index| index.by == *by)
    }

    pub(crate) fn with_room(&self) -> &BTreeMap<GameId, Slot> {
        &self.with_room
    }

    /// An order of those with room only, where it is kept.
    pub(crate) fn index_with_room(&self, by: &Operand) -> Option<&Index> {
        self.roomy.iter().find(|index| index.by == *by)
    }

    pub(crate) fn has_untold(&self) -> bool {
        !self.changes.turns.is_empty()
    }

    /// The Game that has waited longest for subscribers to be told: how it was listed, and how it is.
    pub(crate) fn next_untold(&mut self) -> Option<Changed> {
        let (_, id) = self.changes.turns.pop_first()?;
        let old = self.changes.untold.remove(&id)?;
        Some(Changed { id, old, new: self.get(id).cloned() })
    }

    /// Nobody wants to be told any more.
    pub(crate) fn forget_untold(&mut self) {
        self.changes = Changes::default();
    }

    /// Up to so many Games above this id as subscribers know them: what they have not been told of is
    /// as it was.
    pub(crate) fn told_after(&self, after: Option<GameId>, count: usize) -> Vec<(GameId, Told)> {
        let from = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let mut listed = self.listed.range(from).peekable();
        let mut untold = self.changes.untold.range(from).peekable();
        let mut told = Vec::new();
        while told.len() < count {
            let next = match (listed.peek(), untold.peek()) {
                (Some((one, _)), Some((other, _))) => **one.min(other),
                (Some((id, _)), None) => **id,
                (None, Some((id, _))) => **id,
                (None, None) => break,
            };
            let now = listed.next_if(|(id, _)| **id == next);
            let then = untold.next_if(|(id, _)| **id == next);
            let game = match then {
                Some((_, old)) => old.clone(),
                None => now.and_then(|(_, slot)| self.at(*slot)).cloned(),
            };
            told.push((next, game));
        }
        told
    }
}

/// How a Game is listed, if it is.
pub(crate) type Told = Option<Arc<GameView>>;

/// A Game that subscribers are to be told of.
#[derive(Debug)]
pub(crate) struct Changed {
    pub id: GameId,
    pub old: Told,
    pub new: Told,
}

impl Changes {
    /// A Game was listed like this and is not any more. The first of several changes counts.
    fn note(&mut self, id: GameId, old: Told) {
        if let Entry::Vacant(untold) = self.untold.entry(id) {
            untold.insert(old);
            self.last_turn += 1;
            self.turns.insert(self.last_turn, id);
        }
    }
}
