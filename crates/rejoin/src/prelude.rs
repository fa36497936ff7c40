//! What a game needs to write zones and agents and to run a server, in one line:
//! `use rejoin::prelude::*;`.

pub use rejoin_core::agent::{Agent, Cue};
pub use rejoin_core::call::CallFailed;
pub use rejoin_core::event::{EndCause, Event, Rung};
pub use rejoin_core::exchange::{Hold, ZoneName};
pub use rejoin_core::hub::{Changes, HubConfig, SessionConfig, SessionView};
pub use rejoin_core::id::{ObjectId, PlayerId, SessionId, ZoneId};
pub use rejoin_core::zone::{
    BadPayload, Context, Disconnect, Durability, JoinDenied, MemberView, Message, OnPart,
    RestoreRefused, Saved, Sender, State, Zone, ZoneConfig,
};
pub use rejoin_wire::Bytes;
pub use rejoin_wire::v1::{PartCause, RefusalCode};

#[cfg(feature = "server")]
pub use rejoin_server::{
    Admission, Reach, Server, ServerBuilder, ServerError, StartError, Verdict, WebConfig,
};
