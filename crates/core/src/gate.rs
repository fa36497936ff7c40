//! Durable before visible, for one scope. A machine changes its rows and hands in what the change lets
//! others see; the gate keeps these effects until the batch that contains their cause is committed.
//!
//! At most one batch of a scope is at the store. Changes that are made meanwhile gather and go together
//! in the next one, so the store's queue is bounded by the number of scopes and a slow store makes
//! batches larger instead of more. Effects leave in the order in which they were handed in, also those
//! that come with no change: they wait behind what is under way.
//!
//! The gate never builds rows, and drops an effect only when its owner [abandons](Gate::abandon) what
//! waits. How much may wait is its owner's decision: [`Gate::waiting`] counts inputs, [`Gate::held`]
//! effects.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use crate::id::{OwnerEpoch, Revision};
use crate::planted::{Bug, is_armed};
use crate::scope::{Batch, Change, Opened, ScopeId};

#[cfg(test)]
mod tests;

/// Something that a gate holds back.
pub trait Gated {
    /// The effect that submits a batch. It waits for nothing.
    fn submit(batch: Batch) -> Self;

    /// Whether its buffers stay while nothing waits: for scopes that are seldom at rest.
    const KEEPS_BUFFERS: bool = false;

    /// For how many effects it counts against what may wait.
    fn size(&self) -> usize {
        1
    }

    /// Whether effects leave before they are durable. Only a planted bug says so.
    #[must_use]
    fn leaves_early() -> bool {
        false
    }
}

/// The gate of one scope.
#[derive(Debug)]
pub struct Gate<E> {
    scope: ScopeId,
    owner: OwnerEpoch,
    /// The last revision that was submitted.
    revision: Revision,
    is_closed: bool,
    /// Effects leave when their input ends: the scope is kept, but what it lets others see is not.
    is_passing: bool,
    /// None while nothing waits: there are many scopes, and most of them rest.
    flow: Option<Box<Flow<E>>>,
}

/// Everything that is on its way through a gate.
#[derive(Debug)]
struct Flow<E> {
    /// What the present input lets others see.
    input: VecDeque<E>,
    /// The present input has changed the scope.
    has_changed: bool,
    /// What waits for the batch at the store, and behind it what waits for the next one.
    held: VecDeque<E>,
    /// For how many effects those count.
    held_size: usize,
    /// What waits for the batch at the store.
    under_way: Option<Waiting>,
    /// What waits for the batch after that one, whose changes are in no batch yet.
    next: Option<Waiting>,
    /// Rows for that batch, where the owner hands them in with each input; the last value counts.
    rows: BTreeMap<Bytes, Option<Bytes>>,
    /// What may leave.
    ready: VecDeque<E>,
}

/// How much waits for one batch.
#[derive(Clone, Copy, Default, Debug)]
struct Waiting {
    inputs: usize,
    effects: usize,
}

impl<E> Default for Flow<E> {
    fn default() -> Self {
        Self {
            input: VecDeque::new(),
            has_changed: false,
            held: VecDeque::new(),
            held_size: 0,
            under_way: None,
            next: None,
            rows: BTreeMap::new(),
            ready: VecDeque::new(),
        }
    }
}

impl<E: Gated> Gate<E> {
    /// The gate of a scope that does not exist yet.
    #[must_use]
    pub fn new(scope: ScopeId) -> Self {
        Self::opened(scope, &Opened { owner: OwnerEpoch(1), ..Opened::default() })
    }

    /// The gate of a scope as it was found.
    #[must_use]
    pub fn opened(scope: ScopeId, opened: &Opened) -> Self {
        let Opened { owner, revision, .. } = *opened;
        Self { scope, owner, revision, is_closed: false, is_passing: false, flow: None }
    }

    /// The same for a scope that is kept now and then: effects wait for nothing but the end of their input.
    #[must_use]
    pub fn passing(scope: ScopeId, opened: &Opened) -> Self {
        Self { is_passing: true, ..Self::opened(scope, opened) }
    }

    /// Lets this out once all changes so far, those of the present input included, are durable.
    #[inline]
    pub fn after(&mut self, effect: E) {
        self.flow().input.push_back(effect);
    }

    /// Lets this out at once: it tells of nothing that could be undone.
    pub fn at_once(&mut self, effect: E) {
        self.flow().ready.push_back(effect);
    }

    /// The present input has changed the scope.
    pub fn touch(&mut self) {
        self.flow().has_changed = true;
    }

    /// Ends an input whose changed rows are these. They are submitted now, or with the next batch.
    pub fn settle(&mut self, changes: Vec<Change>) {
        if !changes.is_empty() {
            self.touch();
        }
        self.end_input();
        if self.is_due() && self.flow().rows.is_empty() {
            return self.submit(changes);
        }
        for change in changes {
            let (key, value) = match change {
                Change::Put(key, value) => (key, Some(value)),
                Change::Delete(key) => (key, None),
                // Nothing but the end of a scope deletes by prefix, and that is `close`.
                Change::DeletePrefix(_) => continue,
            };
            self.flow().rows.insert(key, value);
        }
        self.submit_rows();
    }

    /// Ends an input. If [`is_due`](Self::is_due) says so afterwards, its owner describes the rows that
    /// differ and calls [`submit`](Self::submit).
    pub fn end_input(&mut self) {
        if let Some(flow) = self.flow.as_mut() {
            flow.end_input(self.is_passing || E::leaves_early());
        }
    }

    /// Whether changes wait for a batch, and none is at the store.
    #[must_use]
    pub fn is_due(&self) -> bool {
        let may_submit = !self.is_under_way() || is_armed(Bug::TwoBatches);
        may_submit && self.flow.as_ref().is_some_and(|flow| flow.next.is_some())
    }

    /// Whether its owner has to settle it: the present input has left something, an effect may leave, or changes
    /// may be submitted.
    #[must_use]
    pub fn is_unsettled(&self) -> bool {
        let has_left =
            |flow: &Flow<E>| flow.has_changed || !flow.input.is_empty() || !flow.ready.is_empty();
        self.flow.as_deref().is_some_and(has_left) || (self.is_due() && !self.is_closed)
    }

    /// Whether a batch is at the store.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.flow.as_ref().is_some_and(|flow| flow.under_way.is_some())
    }

    /// The owner of the scope, and the revision of the last batch.
    #[must_use]
    pub fn standing(&self) -> (OwnerEpoch, Revision) {
        (self.owner, self.revision)
    }

    /// Submits everything that differs from the store. Only when it [is due](Self::is_due).
    pub fn submit(&mut self, changes: Vec<Change>) {
        debug_assert!(self.is_due(), "a second batch of {:?} under way", self.scope);
        self.revision = self.revision.next();
        let (scope, owner, revision) = (self.scope, self.owner, self.revision);
        let delete_scope = self.is_closed;
        let batch = Batch { scope, owner, revision, changes, delete_scope };
        let flow = self.flow();
        flow.under_way = flow.next.take();
        flow.ready.push_back(E::submit(batch));
    }

    /// Ends the scope: it is deleted with the next batch, and its last effects wait for that.
    pub fn close(&mut self) {
        self.is_closed = true;
        self.touch();
        self.end_input();
        self.flow().rows.clear();
        self.submit_rows();
    }

    /// The scope is durable up to this revision. Only the revision under way releases anything: a late
    /// word about an earlier life of the scope, whose revisions were other ones, does not.
    pub fn committed(&mut self, revision: Revision) {
        let is_meant = revision == self.revision || is_armed(Bug::LateCommitTaken);
        if is_meant
            && let Some(flow) = self.flow.as_mut()
            && let Some(waiting) = flow.under_way.take()
        {
            flow.release(waiting);
            self.submit_rows();
        }
    }

    /// The next effect that may leave.
    #[inline]
    pub fn next_effect(&mut self) -> Option<E> {
        let flow = self.flow.as_mut()?;
        let next = flow.ready.pop_front();
        if !E::KEEPS_BUFFERS && flow.is_at_rest() {
            self.flow = None;
        }
        next
    }

    /// Drops every effect that may not leave yet: none of them ever will.
    pub fn abandon(&mut self) {
        if let Some(flow) = self.flow.as_mut() {
            flow.input.clear();
            flow.held.clear();
            flow.held_size = 0;
            (flow.under_way, flow.next) = (None, None);
        }
    }

    /// Whether an effect may leave now.
    #[must_use]
    pub fn has_effects(&self) -> bool {
        self.flow.as_ref().is_some_and(|flow| !flow.ready.is_empty())
    }

    /// Inputs that wait for the store.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let waiting = self.flow.iter().flat_map(|flow| [flow.under_way, flow.next]);
        waiting.flatten().map(|waiting| waiting.inputs).sum()
    }

    /// Effects that wait for the store, each as often as it [counts](Gated::size).
    #[must_use]
    pub fn held(&self) -> usize {
        self.flow.as_ref().map_or(0, |flow| flow.held_size)
    }

    /// Whether all changes so far are durable.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let is_settled =
            |flow: &Flow<E>| flow.under_way.is_none() && flow.next.is_none() && !flow.has_changed;
        self.flow.as_deref().is_none_or(is_settled)
    }

    /// Whether nothing at all is on its way, not even an effect that may leave.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.flow.as_deref().is_none_or(Flow::is_at_rest)
    }

    /// Whether the scope is deleted, or about to be.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Submits the rows that were handed in, or the end of the scope, if that is due.
    fn submit_rows(&mut self) {
        if !self.is_due() {
            return;
        }
        if self.is_closed {
            return self.submit(vec![Change::DeletePrefix(Bytes::new())]);
        }
        let rows = std::mem::take(&mut self.flow().rows);
        if !rows.is_empty() {
            let change = |(key, value)| match value {
                Some(value) => Change::Put(key, value),
                None => Change::Delete(key),
            };
            self.submit(rows.into_iter().map(change).collect());
        }
    }

    #[inline]
    fn flow(&mut self) -> &mut Flow<E> {
        self.flow.get_or_insert_default()
    }
}

impl<E: Gated> Flow<E> {
    /// Puts what the present input lets others see where it waits; `is_passing`: it waits for nothing.
    fn end_input(&mut self, is_passing: bool) {
        let has_changed = std::mem::take(&mut self.has_changed);
        if is_passing {
            pour(&mut self.ready, &mut self.input);
        }
        if !has_changed && self.input.is_empty() {
            return;
        }
        let waiting = if has_changed || self.next.is_some() {
            self.next.get_or_insert_default()
        } else if let Some(under_way) = self.under_way.as_mut() {
            under_way
        } else {
            return pour(&mut self.ready, &mut self.input);
        };
        waiting.inputs += 1;
        waiting.effects += self.input.len();
        self.held_size += self.input.iter().map(E::size).sum::<usize>();
        pour(&mut self.held, &mut self.input);
    }

    /// Lets out what has waited for a batch.
    fn release(&mut self, waiting: Waiting) {
        if waiting.effects == self.held.len() {
            self.held_size = 0;
            pour(&mut self.ready, &mut self.held);
        } else {
            self.release_first(waiting.effects);
        }
        if let Some(next) = self.next.as_mut().filter(|_| is_armed(Bug::NextReleased)) {
            let effects = std::mem::take(&mut next.effects);
            self.release_first(effects);
        }
    }

    fn release_first(&mut self, effects: usize) {
        let released = self.held.drain(..effects);
        self.ready.extend(released.inspect(|effect| self.held_size -= effect.size()));
    }

    fn is_at_rest(&self) -> bool {
        self.ready.is_empty()
            && self.input.is_empty()
            && !self.has_changed
            && self.under_way.is_none()
            && self.next.is_none()
    }
}

/// Moves all effects behind those that are there. Without those nothing is copied.
fn pour<E>(to: &mut VecDeque<E>, from: &mut VecDeque<E>) {
    if to.is_empty() {
        std::mem::swap(to, from);
    } else {
        to.append(from);
    }
}
