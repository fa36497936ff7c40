//! The directory of Rejoin, sans-IO: Games that players find and join, the seats they take, the
//! hosts that run the Games, and the queues that find a host.
//!
//! One machine of the usual shape, [`Directory`]: it takes one input at an instant that the driver
//! names, is drained of its outputs, and says when it wants to be woken. Inside are small machines,
//! one for each Game, host and queue, each with a scope of its own. They share nothing and speak by
//! messages that leave only when their cause is durable and may be said twice, so that a crash
//! between any two steps costs nothing but time.

pub mod caller;
pub mod catalogue;
pub mod command;
pub mod config;
pub mod directory;
pub mod game;
pub mod host;
pub mod limits;
pub mod local_host;
pub mod mark;
pub mod moment;
pub mod planted;
pub mod queue;
pub mod refusal;
pub mod search;
pub mod seating;

mod effect;
mod print;

pub use caller::{Caller, Payer, Secret};
pub use command::{Answer, Command, Target};
pub use config::DirectoryConfig;
pub use directory::{Directory, DirectoryInput, DirectoryOutput, Recovered};
pub use local_host::{Agreeable, LocalHooks, LocalHost, LocalInput, LocalOutput};
pub use refusal::{Refusal, What};
pub use rejoin_core::event::Event;
