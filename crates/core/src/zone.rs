//! Zones: running game logic with members and a tick. A game implements [`Zone`]; a [`ZoneCore`]
//! owns it and does everything else: members, streams, cuts, timers, ownership, matches.
//!
//! Game code is plain and synchronous. A callback reads its [`Context`] and records effects there;
//! they count only if it returns. It never waits, never reads a clock, and holds nothing that is
//! not in its own fields or cells, so the same zone runs on a server and in a simulation.

pub mod config;
pub mod context;
pub mod core;
pub mod message;
pub mod objects;

mod attach;
mod clock;
mod cut;
mod deadline;
mod departure;
mod describe;
mod fold;
mod latest;
mod local;
mod member;
mod member_set;
mod members;
mod membership;
mod output;
mod release;
mod restore;
mod ring;
mod room;
mod row;
mod step;
mod stream;
mod upstream;

use std::collections::BTreeMap;

use bytes::Bytes;

pub use self::config::{Durability, ZoneConfig};
pub use self::context::{Context, MemberView, Sender};
pub use self::core::{ZoneCore, ZoneInput, ZoneMachine, ZoneSpec};
pub use self::message::{BadPayload, Message};
pub use self::objects::{OnPart, OwnerChange};
pub use self::output::{Delivery, ZoneOutput};
pub use self::row::{KeptZone, name_of};

pub(crate) use self::core::{native, panic_text};

use crate::call::CallFailed;
use crate::id::SessionId;
use rejoin_wire::v1::PartCause;

/// What a drop means to a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disconnect {
    /// The member stays, held.
    Soft,
    /// The member is parted now; its session lives on for its hold.
    Hard,
}

/// How a zone keeps its state through cuts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// `save` gives all of it, at every cut. Right for small states.
    Whole,
    /// The zone puts what changed into cells; `save`, if it gives anything, replaces them all when
    /// cuts are compacted.
    Cells,
}

/// A join the game does not want.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JoinDenied(pub String);

/// A state the game cannot start from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RestoreRefused(pub String);

/// What was saved: the last snapshot, if any, and the cells put since.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Saved {
    /// From `save`.
    pub snapshot: Option<Bytes>,
    /// From `put`.
    pub cells: BTreeMap<Bytes, Bytes>,
}

/// The game's part of a zone. Everything but the two message types has a default.
#[allow(unused_variables)]
pub trait Zone: Send + 'static {
    /// What members say.
    type In: Message;
    /// What the zone says.
    type Out: Message;

    /// The version of what `save` and the cells hold.
    const VERSION: u32 = 1;
    /// How state is kept.
    const STATE: State = State::Whole;

    /// A session asks to join. What is returned goes to the joiner with its `Joined`.
    ///
    /// # Errors
    /// Refuses the session; nothing else happens.
    fn on_join(
        &mut self,
        ctx: &mut Context<'_, Self::Out>,
        who: SessionId,
        request: Bytes,
    ) -> Result<Bytes, JoinDenied> {
        Ok(Bytes::new())
    }

    /// A member has left. It does not hear what is said here.
    fn on_part(&mut self, ctx: &mut Context<'_, Self::Out>, who: SessionId, cause: PartCause) {}

    /// A parting changed whose an object is, by the rule it was given with its owner. Runs before
    /// `on_part`. What the game itself changes is not told again.
    fn on_owner(&mut self, ctx: &mut Context<'_, Self::Out>, change: OwnerChange) {}

    /// A member's connection is gone.
    fn on_disconnect(&mut self, ctx: &mut Context<'_, Self::Out>, who: SessionId) -> Disconnect {
        Disconnect::Soft
    }

    /// A member is back; this runs before anything is said to it again.
    fn on_reconnect(&mut self, ctx: &mut Context<'_, Self::Out>, who: SessionId) {}

    /// The whole state as this member may see it, for one that could not go on where it was.
    fn on_resync(&mut self, ctx: &mut Context<'_, Self::Out>, who: SessionId) -> Bytes {
        Bytes::new()
    }

    /// A member says something.
    fn on_message(&mut self, ctx: &mut Context<'_, Self::Out>, from: Sender, message: Self::In) {}

    /// A member says something that may be lost.
    fn on_unreliable(
        &mut self,
        ctx: &mut Context<'_, Self::Out>,
        who: SessionId,
        message: Self::In,
    ) {
    }

    /// A call ended.
    fn on_answer(
        &mut self,
        ctx: &mut Context<'_, Self::Out>,
        who: SessionId,
        key: Bytes,
        answer: Result<Self::In, CallFailed>,
    ) {
    }

    /// Outside work came back.
    fn on_job(&mut self, ctx: &mut Context<'_, Self::Out>, key: Bytes, result: Bytes) {}

    /// A timer rang.
    fn on_timer(&mut self, ctx: &mut Context<'_, Self::Out>, key: Bytes) {}

    /// Called once per period of the zone's `tick`; late ticks are made up for, up to a bound.
    fn on_tick(&mut self, ctx: &mut Context<'_, Self::Out>) {}

    /// The whole state, if it is not in cells.
    fn save(&self) -> Option<Bytes> {
        None
    }

    /// Takes up what an earlier incarnation saved. Called once, before anything else.
    ///
    /// # Errors
    /// Refuses a version or bytes it does not know: the zone does not start and the data is kept.
    fn restore(&mut self, version: u32, saved: Saved) -> Result<(), RestoreRefused> {
        if version == Self::VERSION {
            Ok(())
        } else {
            Err(RestoreRefused(format!("version {version} was saved, {} is known", Self::VERSION)))
        }
    }
}
