//! Short plays against a server that is played by hand.

mod hostile;
mod reconnects;
mod script;
mod streams;

use super::*;
