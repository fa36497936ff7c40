//! Short plays against a server that is played by hand.

#[cfg(feature = "json")]
mod conformance;
mod hostile;
mod reconnects;
mod script;
mod streams;

use super::*;
