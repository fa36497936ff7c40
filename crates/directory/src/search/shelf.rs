//! The Games of one fleet as searches see them: all of them by id, and those that are listed in an
//! index for each field and each declared property.

use std::collections::BTreeMap;
use std::sync::Arc;

use rejoin_core::id::GameId;

use super::filter::{Key, Operand};
use crate::game::GameView;

/// Where a listed Game is found without a search for its id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot(u32);

/// An order of the listed Games.
#[derive(Debug)]
pub(crate) struct Index {
    pub by: Operand,
    pub entries: BTreeMap<(Key, GameId), Slot>,
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
        let indexes = all.map(|by| Index { by, entries: BTreeMap::new() }).collect();
        Self { indexes, ..Self::default() }
    }

    /// The same Games with other declared properties.
    pub(crate) fn redeclare(&mut self, declared: &[String]) {
        let mut anew = Self::new(declared);
        for game in self.all.values() {
            anew.put(game.clone());
        }
        *self = anew;
    }

    /// A Game is this now. Returns what was listed of it before.
    pub(crate) fn put(&mut self, game: Arc<GameView>) -> Option<Arc<GameView>> {
        let id = game.id;
        self.all.insert(id, game.clone());
        let listed = game.is_listed().then_some(game);
        self.list(id, listed)
    }

    /// A Game is forgotten.
    pub(crate) fn remove(&mut self, id: GameId) -> Option<Arc<GameView>> {
        self.all.remove(&id);
        self.list(id, None)
    }

    fn list(&mut self, id: GameId, new: Option<Arc<GameView>>) -> Option<Arc<GameView>> {
        let known = self.listed.get(&id).copied();
        let old = known.and_then(|slot| self.at(slot)).cloned();
        if known.is_none() && new.is_none() {
            return None;
        }
        let slot = known.unwrap_or_else(|| self.new_slot());
        // A seat that changes moves the Game in few of its indexes.
        let same_spec = match (&old, &new) {
            (Some(old), Some(new)) => Arc::ptr_eq(&old.spec, &new.spec),
            _ => false,
        };
        for index in &mut self.indexes {
            if same_spec && !index.by.is_about_seats() {
                continue;
            }
            let before = old.as_ref().map(|game| index.by.key(game));
            let after = new.as_ref().map(|game| index.by.key(game));
            if before == after {
                continue;
            }
            if let Some(before) = before {
                index.entries.remove(&(before, id));
            }
            if let Some(after) = after {
                index.entries.insert((after, id), slot);
            }
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
        old
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
        let from = id.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        self.all.range((from, std::ops::Bound::Unbounded)).map(|(_, game)| game)
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
}
