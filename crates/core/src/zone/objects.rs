//! Who owns what in a zone. An object is owned by a player, not by a connection: a drop changes
//! nothing, and the returning player finds its objects. What happens when the owner parts was
//! decided when the object got its owner.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{ObjectId, PlayerId};
use crate::mark::{Mark, hit};

/// What becomes of an object when its owner parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnPart {
    /// It waits for its owner.
    Keep,
    /// It goes to the member who has been there longest; it waits when nobody is left.
    HandOver,
    /// It loses its owner and is listed no more.
    Destroy,
}

/// An owner and the rule for its parting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owned {
    /// The owner, also while away from the zone.
    pub player: PlayerId,
    /// What a part does to it.
    pub on_part: OnPart,
}

/// A change of one object, for events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnerChange {
    /// The object, by the id that the game gave it.
    pub object: ObjectId,
    /// The owner before; none if it had none.
    pub from: Option<PlayerId>,
    /// The owner now; none if it was released or destroyed.
    pub to: Option<PlayerId>,
}

/// All objects with an owner.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    owned: BTreeMap<ObjectId, Owned>,
    by_player: BTreeSet<(PlayerId, ObjectId)>,
}

impl Objects {
    /// Gives an object to a player.
    pub fn set(&mut self, object: ObjectId, owned: Owned) -> OwnerChange {
        hit(Mark::OwnerChanged);
        let from = self.owned.insert(object, owned).map(|before| before.player);
        if let Some(from) = from {
            self.by_player.remove(&(from, object));
        }
        self.by_player.insert((owned.player, object));
        OwnerChange { object, from, to: Some(owned.player) }
    }

    /// Takes an object from whoever owns it.
    pub fn release(&mut self, object: ObjectId) -> Option<OwnerChange> {
        let before = self.owned.remove(&object)?;
        self.by_player.remove(&(before.player, object));
        Some(OwnerChange { object, from: Some(before.player), to: None })
    }

    /// The owner parts; `heir` has been there longest of those who stay.
    pub fn part(&mut self, player: PlayerId, heir: Option<PlayerId>) -> Vec<OwnerChange> {
        let theirs: Vec<ObjectId> = self.owned_by(player).collect();
        let mut changes = Vec::new();
        for object in theirs {
            let Some(owned) = self.get(object) else { continue };
            match (owned.on_part, heir) {
                (OnPart::Keep, _) | (OnPart::HandOver, None) => hit(Mark::OwnedKept),
                (OnPart::HandOver, Some(heir)) => {
                    hit(Mark::OwnedHandedOver);
                    changes.push(self.set(object, Owned { player: heir, ..owned }));
                }
                (OnPart::Destroy, _) => {
                    hit(Mark::OwnedDestroyed);
                    changes.extend(self.release(object));
                }
            }
        }
        changes
    }

    /// Who owns an object.
    #[must_use]
    pub fn owner(&self, object: ObjectId) -> Option<PlayerId> {
        self.owned.get(&object).map(|owned| owned.player)
    }

    /// Who owns an object, and the rule for the owner's parting.
    #[must_use]
    pub fn get(&self, object: ObjectId) -> Option<Owned> {
        self.owned.get(&object).copied()
    }

    /// What a player owns.
    pub fn owned_by(&self, player: PlayerId) -> impl Iterator<Item = ObjectId> + '_ {
        let theirs = (player, ObjectId(0))..=(player, ObjectId(u64::MAX));
        self.by_player.range(theirs).map(|(_, object)| *object)
    }

    /// Every object with an owner, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (ObjectId, Owned)> + '_ {
        self.owned.iter().map(|(object, owned)| (*object, *owned))
    }

    /// How many have an owner.
    #[must_use]
    pub fn len(&self) -> usize {
        self.owned.len()
    }

    /// Whether nothing is owned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.owned.is_empty()
    }
}
