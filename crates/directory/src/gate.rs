//! What waits for which commit. A part of the directory changes its scope once for each input;
//! whatever the change lets others see waits here until it is durable. Effects keep their order.

use std::collections::VecDeque;

use rejoin_core::id::{OwnerEpoch, Revision};
use rejoin_core::scope::{Batch, Change, Opened, ScopeId};

use crate::effect::Effect;
use crate::planted::{Bug, is_armed};

/// The door of one scope.
#[derive(Debug)]
pub(crate) struct Gate {
    scope: ScopeId,
    owner: OwnerEpoch,
    revision: Revision,
    /// What this input lets others see.
    effects: Vec<Effect>,
    /// What waits for its commit.
    held: VecDeque<(Revision, Vec<Effect>)>,
    /// What may go out.
    out: VecDeque<Effect>,
    is_closed: bool,
}

impl Gate {
    /// The door of a scope that there was not.
    pub(crate) fn new(scope: ScopeId) -> Self {
        Self::opened(scope, &Opened { owner: OwnerEpoch(1), ..Opened::default() })
    }

    /// The door of a scope as it was found.
    pub(crate) fn opened(scope: ScopeId, opened: &Opened) -> Self {
        Self {
            scope,
            owner: opened.owner,
            revision: opened.revision,
            effects: Vec::new(),
            held: VecDeque::new(),
            out: VecDeque::new(),
            is_closed: false,
        }
    }

    /// Lets this out once all changes so far are durable.
    pub(crate) fn after(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Lets this out at once: it tells of nothing that could be undone.
    pub(crate) fn at_once(&mut self, effect: Effect) {
        self.out.push_back(effect);
    }

    /// Ends an input: submits what changed. With no changes its effects wait for the last commit.
    pub(crate) fn settle(&mut self, changes: Vec<Change>) {
        let mut effects = std::mem::take(&mut self.effects);
        if is_armed(Bug::ToldBeforeDurable) {
            self.out.extend(effects.drain(..));
        }
        if !changes.is_empty() {
            self.submit(changes, false, effects);
        } else if let Some((_, last)) = self.held.back_mut() {
            last.extend(effects);
        } else {
            self.out.extend(effects);
        }
    }

    /// Ends the scope; its last effects wait for that.
    pub(crate) fn close(&mut self) {
        let effects = std::mem::take(&mut self.effects);
        self.is_closed = true;
        self.submit(vec![Change::DeletePrefix(bytes::Bytes::new())], true, effects);
    }

    fn submit(&mut self, changes: Vec<Change>, delete_scope: bool, effects: Vec<Effect>) {
        self.revision = self.revision.next();
        let batch = Batch {
            scope: self.scope,
            owner: self.owner,
            revision: self.revision,
            changes,
            delete_scope,
        };
        self.held.push_back((self.revision, effects));
        self.out.push_back(Effect::Commit(batch));
    }

    /// All up to this revision is durable.
    pub(crate) fn committed(&mut self, revision: Revision) {
        while self.held.front().is_some_and(|(needed, _)| *needed <= revision) {
            let (_, effects) = self.held.pop_front().unwrap_or_default();
            self.out.extend(effects);
        }
        if self.held.is_empty() {
            self.held = VecDeque::new();
        }
    }

    pub(crate) fn next(&mut self) -> Option<Effect> {
        let next = self.out.pop_front();
        if next.is_none() {
            // There are many scopes, and most of them rest: none keeps room for later.
            self.out = VecDeque::new();
        }
        next
    }

    /// Commits under way.
    pub(crate) fn uncommitted(&self) -> usize {
        self.held.len()
    }

    /// The scope is deleted, or about to be.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }
}
