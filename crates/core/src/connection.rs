//! One connection: the frames of its client, what it may send, and where its numbered frames go. A connection can
//! die at any byte; it never decides anything about its session, nor who its client is.

mod attachment;
mod budget;
mod config;
mod core;
mod message;
mod set;
mod table;

pub use self::budget::Spent;
pub(crate) use self::budget::{PORTION, Pressure, SendBudget, SendLimits, Watch};
pub use self::config::ConnectionConfig;
pub use self::core::{ConnectionCore, ConnectionInput, ConnectionOutput, applied_frame};
pub use self::message::{FromConnection, Route, Routed, ToConnection};
pub use self::set::ConnectionSet;
pub use self::table::{ConnectionState, FrameKind, Stage, Verdict, table};
pub use crate::handshake::AskId;
