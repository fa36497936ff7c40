//! One connection: the frames of its client, its handshake, and the session that it speaks for. A connection can
//! die at any byte; it never decides anything about its session.

mod attachment;
mod budget;
mod config;
mod core;
mod handshake;
mod known;
mod message;
mod set;
mod table;

pub(crate) use self::budget::{PORTION, Pressure, SendBudget, SendLimits, Watch};
pub use self::config::ConnectionConfig;
pub use self::core::{ConnectionCore, ConnectionInput, ConnectionOutput, applied_frame};
pub use self::handshake::AskId;
pub(crate) use self::handshake::{Handshake, LoginClaim, Signing};
pub(crate) use self::known::{Attached, Connection, ConnectionPhase};
pub use self::message::{FromConnection, Route, Routed, ToConnection};
pub use self::set::ConnectionSet;
pub use self::table::{ConnectionState, FrameKind, Stage, Verdict, table};
