//! What a layer lies on: the older layer, if one is being applied, and the tree. A deletion asks here whether
//! there is anything for it to delete. If there is not, applying it would change nothing, so the layer need
//! not remember it. What lies beneath a layer only shrinks while the layer is written: the tree gets the older
//! layer, which was asked already, and loses scopes that are deleted anyway. So an answer stays true.

use rejoin_core::scope::ScopeId;

use super::engine::{Engine, Trouble};
use super::layer::Layer;
use super::reading::Reader;

/// Answers what a layer has to know of what it lies on. A "yes" is always right: it costs memory only.
pub(super) trait Beneath {
    /// Whether anything of a scope may be there.
    fn has_scope(&mut self, scope: ScopeId) -> bool;

    /// Whether a row may be there.
    fn has_row(&mut self, scope: ScopeId, key: &[u8]) -> bool;
}

/// Nothing is known, so every deletion is remembered: for what is applied at once, and for a journal that
/// is read at a start.
pub(super) struct Unknown;

impl Beneath for Unknown {
    fn has_scope(&mut self, _scope: ScopeId) -> bool {
        true
    }

    fn has_row(&mut self, _scope: ScopeId, _key: &[u8]) -> bool {
        true
    }
}

/// What the newest layer lies on.
pub(super) struct OlderAndTree<'a> {
    older: Option<&'a Layer>,
    /// None while the engine is closed: then nothing is known of the tree.
    engine: Option<&'a Engine>,
    /// Made when the first deletion asks; most groups have none that does.
    reader: Option<Reader>,
}

impl<'a> OlderAndTree<'a> {
    pub(super) fn new(older: Option<&'a Layer>, engine: Option<&'a Engine>) -> Self {
        Self { older, engine, reader: None }
    }

    /// Asks the tree, which has the older layer already or not: that one was asked first. A tree that cannot
    /// be read may have everything.
    fn tree_says(
        &mut self,
        question: impl FnOnce(&Engine, &mut Option<Reader>) -> Result<bool, Trouble>,
    ) -> bool {
        self.engine.is_none_or(|engine| question(engine, &mut self.reader).unwrap_or(true))
    }
}

impl Beneath for OlderAndTree<'_> {
    fn has_scope(&mut self, scope: ScopeId) -> bool {
        match self.older.and_then(|older| older.standing(scope)) {
            Some(standing) => standing.is_some(),
            None => self.tree_says(|engine, reader| engine.has_scope(reader, scope)),
        }
    }

    fn has_row(&mut self, scope: ScopeId, key: &[u8]) -> bool {
        let told = self.older.and_then(|older| older.has_row(scope, key));
        told.unwrap_or_else(|| self.tree_says(|engine, reader| engine.has_row(reader, scope, key)))
    }
}
