//! Finding Games: filters and sort expressions in GameLift's grammar over indexed views, page by
//! page, and subscriptions to what a filter matches. Views are never the truth: they are rebuilt
//! from the Games' committed states.

pub(crate) mod backlog;
pub(crate) mod cursor;
pub mod filter;
mod parse;
pub(crate) mod query;
pub(crate) mod shelf;
pub mod subscription;

use std::sync::Arc;

pub use self::filter::{Compare, Filter, FilterError, Operand, Sort, Value};
pub use self::subscription::{CutCause, News};

use crate::command::Target;
use crate::game::GameView;

/// What is searched for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchRequest {
    /// Fleet whose Games are searched, by name or through an alias.
    pub target: Target,
    /// Exact name of a location; none: Games of every location.
    pub location: Option<String>,
    /// Filter expression of at most 1024 characters; empty: every listed Game, full ones included.
    pub filter: String,
    /// In which order; empty: none that means anything, but the same on every page.
    pub sort: String,
    /// Page size, 1 to `page_max`; anything else is refused as invalid.
    pub limit: usize,
    /// Where the last page ended; empty: from the beginning.
    pub cursor: String,
}

/// A page of Games.
#[derive(Clone, PartialEq, Debug)]
pub struct Page {
    /// In the order that was asked for.
    pub games: Vec<Arc<GameView>>,
    /// Where the next page begins; none when there is none.
    pub cursor: Option<String>,
    /// Games and entries of indexes that were looked at to find it.
    pub work: usize,
}
