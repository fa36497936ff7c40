//! The engine's apply thread, stepped by the simulator: a full half of the journal waits over the tree
//! until its event comes, and then the apply is done, finds no room, meets a failed sync, or loses power
//! in the middle.

use rejoin_core::scope::ScopeId;
use rejoin_store::StoreError;
use rejoin_store::embedded::disk::Part;
use rejoin_testkit::parts::rng::Rng;

use super::{Disk, Kept};

/// What becomes of an apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is done.
    Done,
    /// After so many writes the tree finds no room.
    NoRoom(u64),
    /// Its sync fails.
    SyncFails,
    /// The power goes after so many writes and syncs.
    PowerGoes(u64),
}

impl Fate {
    /// One that is not well.
    #[must_use]
    pub fn draw_bad(rng: &mut Rng) -> Self {
        match rng.below(4) {
            0 | 1 => Self::NoRoom(rng.below(8)),
            2 => Self::SyncFails,
            _ => Self::PowerGoes(rng.below(16)),
        }
    }
}

impl Disk {
    /// Whether a full half of the engine's journal waits to be applied, and no event is planned for it.
    /// The caller plans one.
    pub fn wants_apply(&mut self) -> bool {
        let awaits = self.awaits_apply();
        awaits && !std::mem::replace(&mut self.apply_is_planned, true)
    }

    pub(super) fn awaits_apply(&self) -> bool {
        matches!(&self.kept, Kept::Engine(_, Some(store)) if store.awaits_apply())
    }

    /// The time of an apply has come. The store hears of its end with the next group.
    pub fn apply(&mut self, fate: Fate) {
        self.apply_is_planned = false;
        if !self.awaits_apply() {
            // The other half was full before, and the store did not wait.
            return;
        }
        let Kept::Engine(platter, Some(store)) = &mut self.kept else { return };
        match fate {
            Fate::Done => {}
            Fate::NoRoom(writes) => platter.fill_in(Part::Tree, Some(writes)),
            Fate::SyncFails => platter.fail_syncs(true),
            Fate::PowerGoes(calls) => platter.die_in(calls),
        }
        store.step_apply();
        platter.fill_in(Part::Tree, None);
        platter.fail_syncs(false);
        self.power_goes = matches!(fate, Fate::PowerGoes(_));
        self.strike(match fate {
            Fate::Done => "a half was applied beside commits",
            Fate::NoRoom(_) => "an apply found no room",
            Fate::SyncFails => "a sync failed in an apply",
            Fate::PowerGoes(_) => "crash within an apply",
        });
    }

    /// Lets the store notice what became of an apply, as the real driver does when it opens a zone.
    ///
    /// # Errors
    /// The apply found no room: the next try does it again. Or its sync failed: the process must end.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        self.store(ScopeId::Hub).open(&[]).map(drop)
    }
}
