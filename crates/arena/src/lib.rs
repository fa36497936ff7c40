//! The arena: a small game that shows what Rejoin is for. Run after coins in a browser, pull the
//! plug, and come back as the same hero with the same score.
//!
//! It is built as any game would be: a [`Zone`](rejoin_core::zone::Zone) with all the rules
//! ([`Arena`]), an [`Agent`](rejoin_core::agent::Agent) for the bots ([`Bot`]), and a page that uses
//! the JavaScript SDK ([`pages()`]).

pub mod message;

mod arena;
mod bot;
mod field;
mod hero;
mod keeper;
mod name;
mod pages;

pub use self::arena::{Arena, BOTS_MAX, HOLD, config};
pub use self::bot::Bot;
pub use self::field::{HEIGHT, RADIUS, WIDTH};
pub use self::keeper::keep;
pub use self::name::NAME_CHARS_MAX;
pub use self::pages::{closed_page, pages};

/// The kind of zone that an arena is.
pub const KIND: &str = "arena";
