//! What the store must hold: every scope as it was acknowledged, row by row. Batches that were on their way
//! when their process ended may have landed or not, in order; an opening must show one of these states.
//! Nothing here is shared with the stores.

use std::collections::BTreeMap;

use bytes::Bytes;
use rejoin_core::id::Revision;
use rejoin_core::scope::{Batch, Change, Opened, ScopeId};

/// A scope as it is expected. One that was deleted stands at revision 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Content {
    revision: Revision,
    rows: BTreeMap<Bytes, Bytes>,
}

impl Content {
    fn of(opened: &Opened) -> Self {
        Self { revision: opened.revision, rows: opened.rows.iter().cloned().collect() }
    }

    fn write(&mut self, batch: &Batch) {
        if batch.delete_scope {
            *self = Self::default();
            return;
        }
        self.revision = batch.revision;
        for change in &batch.changes {
            match change {
                Change::Put(key, value) => drop(self.rows.insert(key.clone(), value.clone())),
                Change::Delete(key) => drop(self.rows.remove(key)),
                Change::DeletePrefix(prefix) => self.rows.retain(|key, _| !key.starts_with(prefix)),
            }
        }
    }
}

/// All scopes of which something is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    acknowledged: BTreeMap<ScopeId, Content>,
    /// Batches that were not acknowledged and may have landed, in their order.
    maybe: BTreeMap<ScopeId, Vec<Batch>>,
}

impl Model {
    /// A batch was acknowledged.
    pub(super) fn acknowledge(&mut self, batch: &Batch) {
        // What had not landed until then never will: it would be out of order.
        self.maybe.remove(&batch.scope);
        // Of a scope that was forgotten only the next opening tells, or its next life.
        if batch.revision == Revision(1) {
            self.acknowledged.entry(batch.scope).or_default();
        }
        if let Some(content) = self.acknowledged.get_mut(&batch.scope) {
            content.write(batch);
        }
    }

    /// A batch may land, or has landed.
    pub(super) fn may_land(&mut self, batch: &Batch) {
        self.maybe.entry(batch.scope).or_default().push(batch.clone());
    }

    /// Nothing can be said of a scope any more, before it is opened the next time.
    pub(super) fn forget(&mut self, scope: ScopeId) {
        self.acknowledged.remove(&scope);
        self.maybe.remove(&scope);
    }

    /// Scopes that were acknowledged and are not in this ordered list, although nothing that could have
    /// deleted them was on its way.
    pub(super) fn missing(&self, scopes: &[ScopeId]) -> Vec<ScopeId> {
        let is_lost = |(scope, content): &(&ScopeId, &Content)| {
            let maybe = self.maybe.get(scope).into_iter().flatten();
            content.revision > Revision(0)
                && scopes.binary_search(scope).is_err()
                && !maybe.into_iter().any(|batch| batch.delete_scope)
        };
        self.acknowledged.iter().filter(is_lost).map(|(scope, _)| *scope).collect()
    }

    /// Compares what an opening shows with what it may show. `pending` is on its way at this moment.
    pub(super) fn compare<'a>(
        &mut self,
        scope: ScopeId,
        opened: &Opened,
        pending: impl Iterator<Item = &'a Batch>,
    ) -> Result<(), String> {
        let found = Content::of(opened);
        let mut maybe = self.maybe.remove(&scope).unwrap_or_default();
        maybe.extend(pending.cloned());
        let known = self.acknowledged.insert(scope, found.clone());
        let Some(mut expected) = known else { return Ok(()) };
        let acknowledged = expected.revision;
        if expected == found {
            return Ok(());
        }
        for batch in &maybe {
            expected.write(batch);
            if expected == found {
                return Ok(());
            }
        }
        Err(format!(
            "{scope:?} is at revision {} with {} rows; {acknowledged} was acknowledged, {} more may have landed",
            found.revision,
            found.rows.len(),
            maybe.len()
        ))
    }
}
