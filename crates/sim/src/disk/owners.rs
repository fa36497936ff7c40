//! Who may write to the disk. A process that was given up and is only paused still has batches on their
//! way: they arrive late, and one whose scope has been opened since must be refused. Another process can
//! also open scopes while their owner runs. Every opening is compared with the model.

use std::collections::VecDeque;

use rejoin_core::scope::{Batch, Opened, ScopeId};
use rejoin_store::{Memory, Outcome, ScopeKind};
use rejoin_testkit::parts::rng::Rng;

use super::Disk;

/// A batch of a process that is paused.
#[derive(Clone, Debug)]
struct Late {
    batch: Batch,
    /// Its scope has another owner by now.
    is_overtaken: bool,
}

/// What is known of former owners, and of what the store did wrong.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    late: VecDeque<Late>,
    found: Vec<String>,
}

impl Owners {
    /// The store did something that it must not do.
    pub(super) fn fail(&mut self, text: String) {
        self.found.push(text);
    }
}

impl Disk {
    /// Whether a batch of a paused process is still on its way to a scope. The first batch of a scope that
    /// was set aside and that nobody has opened since is not fenced, so such a scope does not rot.
    pub(super) fn is_awaited(&self, scope: ScopeId) -> bool {
        self.owners.late.iter().any(|late| late.batch.scope == scope)
    }

    /// What the store did that it must not do, since this was asked last.
    pub fn take_found(&mut self) -> Vec<String> {
        std::mem::take(&mut self.owners.found)
    }

    /// A scope was opened: former owners have lost it, and it holds what was acknowledged.
    pub(super) fn note_opened(&mut self, scope: ScopeId, opened: &Opened) {
        for late in self.owners.late.iter_mut().filter(|late| late.batch.scope == scope) {
            late.is_overtaken = true;
        }
        let pending = self.pending.get(&scope).into_iter().flatten().map(|(batch, _)| batch);
        if !self.fleeting.contains(&scope)
            && let Err(text) = self.model.compare(scope, opened, pending)
        {
            self.owners.fail(text);
        }
    }

    /// Finds scopes that were acknowledged and are not in the list of all scopes.
    pub fn check_list(&mut self, scopes: &[ScopeId]) {
        for scope in self.model.missing(scopes) {
            self.model.forget(scope);
            self.owners.fail(format!("{scope:?} was acknowledged and is gone"));
        }
    }

    /// The process is given up and stands still: what it submitted arrives later. Says how many batches
    /// that are. The store itself goes on, as one on another machine would.
    pub fn pause(&mut self, rng: &mut Rng) -> usize {
        // A store that is done for ends with its process.
        if self.power_goes || (self.settle().is_err() && self.settle().is_err()) {
            self.crash(rng);
            return 0;
        }
        self.strike("a former process is paused");
        let known = self.scopes();
        let scopes: Vec<ScopeId> = self.pending.keys().copied().collect();
        for scope in scopes {
            // A scope that is not there yet has no owner that a batch could be compared with.
            if self.fleeting.contains(&scope) || known.binary_search(&scope).is_err() {
                self.land_some(scope, rng);
                continue;
            }
            for (batch, _) in self.pending.remove(&scope).unwrap_or_default() {
                self.model.may_land(&batch);
                self.owners.late.push_back(Late { batch, is_overtaken: false });
            }
        }
        self.fleeting.clear();
        self.passing = Memory::default();
        self.apply_is_planned = false;
        self.owners.late.len()
    }

    /// A batch of a paused process arrives.
    pub fn land_late(&mut self) {
        let Some(Late { batch, is_overtaken }) = self.owners.late.pop_front() else { return };
        if self.settle().is_err() {
            return;
        }
        let scope = batch.scope;
        // The end of a scope that is gone already is granted, and changes nothing.
        let is_there = !batch.delete_scope || self.scopes().binary_search(&scope).is_ok();
        match self.store(scope).apply(&batch) {
            Outcome::Fenced { .. } => self.strike("a late batch was refused"),
            Outcome::Committed if is_overtaken && is_there => {
                let (owner, revision) = (batch.owner, batch.revision);
                let text =
                    format!("{scope:?} took revision {revision} of its former owner {owner}");
                self.owners.fail(text);
            }
            Outcome::Committed => self.strike("a late batch landed before the next owner came"),
            Outcome::Full
            | Outcome::Unknown
            | Outcome::Poisoned
            | Outcome::OutOfOrder { .. }
            | Outcome::TooLarge { .. } => {}
        }
    }

    /// Another process opens one scope, all of a kind, or all there are. Says how many that are.
    pub fn overtake(&mut self, rng: &mut Rng) -> usize {
        if self.settle().is_err() {
            return 0;
        }
        let mut scopes = self.scopes();
        scopes.retain(|scope| !self.rotten.contains(scope) && !self.astray.contains(scope));
        scopes.retain(|scope| !self.fleeting.contains(scope));
        if scopes.is_empty() {
            return 0;
        }
        let one = *rng.pick(&scopes);
        match rng.below(4) {
            0 => {}
            1 => scopes.retain(|scope| ScopeKind::of(*scope) == ScopeKind::of(one)),
            _ => scopes = vec![one],
        }
        self.strike("an owner was overtaken");
        for scope in &scopes {
            if let Ok(opened) = self.store(*scope).open_one(*scope) {
                self.note_opened(*scope, &opened);
            }
        }
        scopes.len()
    }
}
