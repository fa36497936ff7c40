//! What others may see of a session, and which of its properties they can change.

use bytes::Bytes;

use super::life::Life;
use super::{Flags, Identity, Latency, Place, Presence, Serializer, SessionCore};
use crate::event::EndCause;
use crate::exchange::Hold;
use crate::id::{ConnectionId, Leg, ObjectId, PlayerId, SessionEpoch, SessionId, ZoneId};
use crate::scope::History;
use crate::seat::Seating;
use crate::time::WallTime;
use crate::timeline::Timeline;

/// A session as the outside may see it.
#[derive(Clone, PartialEq, Debug)]
pub struct SessionView {
    /// The id it was given when it began, which no other session gets.
    pub id: SessionId,
    /// The player that it belongs to for all its life.
    pub player: PlayerId,
    /// Rises with each connection that takes the session, so that earlier ones are refused.
    pub epoch: SessionEpoch,
    /// Whether somebody is there.
    pub presence: Presence,
    /// The zone it is in or on its way into; none in the lobby.
    pub zone: Option<ZoneId>,
    /// How its messages are written.
    pub serializer: Serializer,
    /// Measured round trips.
    pub latency: Latency,
    /// How long it is held.
    pub hold: Hold,
    /// What holds of its connection and its frames, see the constants of [`Flags`].
    pub flags: Flags,
    /// Permission bits of its account's role, or those that the server has set since.
    pub permissions: u32,
    /// The object its player controls.
    pub avatar: Option<ObjectId>,
    /// Data of the game, as of the last departure or change outside zones; a zone has its own copy.
    pub data: Bytes,
}

/// Properties that can be given at the start and changed while a session runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Changes {
    /// How long it is held.
    pub hold: Option<Hold>,
    /// Arbitrary data of the game; set while it is in no zone, for a zone has it otherwise.
    pub data: Option<Bytes>,
    /// Runs once a drop.
    pub disconnect_callback: Option<Option<u64>>,
    /// Switches to set and to clear.
    pub flags: Option<(Flags, bool)>,
    /// The new permission bits; they replace all earlier ones.
    pub permissions: Option<u32>,
}

/// What others read of a session; nothing here changes it.
impl SessionCore {
    /// The id it was given when it began.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Whose it is.
    #[must_use]
    pub fn player(&self) -> PlayerId {
        self.player
    }

    /// The player that its key or secret would be alone.
    #[must_use]
    pub fn credential(&self) -> PlayerId {
        self.credential
    }

    /// How the player is known.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Rises with each connection that takes the session, so that earlier ones are refused.
    #[must_use]
    pub fn epoch(&self) -> SessionEpoch {
        self.epoch
    }

    /// Whether a connection or the server speaks for it, or how long it is held.
    #[must_use]
    pub fn presence(&self) -> Presence {
        match &self.life {
            Life::Preconnect => Presence::Preconnect,
            Life::Attached(attached) => Presence::Here(attached.connection),
            Life::Local => Presence::Native,
            Life::Away(away) => Presence::Away(away.until),
        }
    }

    /// The connection that speaks for it.
    #[must_use]
    pub fn connection(&self) -> Option<ConnectionId> {
        self.attached().map(|attached| attached.connection)
    }

    /// Whether it is held.
    #[must_use]
    pub fn is_held(&self) -> bool {
        matches!(self.life, Life::Away(_))
    }

    /// Whether it lives in the server and is given values instead of frames.
    #[must_use]
    pub fn is_native(&self) -> bool {
        self.serializer == Serializer::Native
    }

    /// Whether it is in a zone, on its way into one, or in neither.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The zone it is in or on its way into.
    #[must_use]
    pub fn zone(&self) -> Option<ZoneId> {
        self.place.zone()
    }

    /// The open leg, if it is in no zone; its stay in any case.
    #[must_use]
    pub fn leg(&self) -> Leg {
        self.leg
    }

    /// The highest number consumed of the client's stream, while the session is in no zone.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.inbound.applied()
    }

    /// Why it ends, if it does.
    #[must_use]
    pub fn ending(&self) -> Option<EndCause> {
        self.ending.cause()
    }

    /// How its messages are written.
    #[must_use]
    pub fn serializer(&self) -> Serializer {
        self.serializer
    }

    /// How long it is held where no zone says otherwise.
    #[must_use]
    pub fn hold(&self) -> Hold {
        self.hold
    }

    /// What holds of its connection and its frames, see the constants of [`Flags`].
    #[must_use]
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// When it began.
    #[must_use]
    pub fn began(&self) -> WallTime {
        self.began
    }

    /// What happened to it.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The seat it is in a Game with, and those the directory still has to hear of.
    #[must_use]
    pub fn seats(&self) -> &[Seating] {
        &self.seats
    }

    /// Whether something that was told to the client may be gone.
    #[must_use]
    pub fn history(&self) -> History {
        self.losses.history()
    }

    /// All that is shown of it.
    #[must_use]
    pub fn view(&self) -> SessionView {
        SessionView {
            id: self.id,
            player: self.player,
            epoch: self.epoch,
            presence: self.presence(),
            zone: self.zone(),
            serializer: self.serializer,
            latency: self.latency,
            hold: self.hold,
            flags: self.flags,
            permissions: self.permissions,
            avatar: self.place.inside().and_then(|inside| inside.avatar),
            data: self.data.clone(),
        }
    }

    /// Whether its scope is being deleted, and nothing else of it is left.
    pub(crate) fn is_over(&self) -> bool {
        self.ending.is_over()
    }

    /// Whether its scope is deleted, and nothing waited for that any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_over() && self.gate.is_at_rest()
    }
}

/// Properties that the server, an account's role or a ping's answer sets.
impl SessionCore {
    /// Sets properties, before it begins or while it runs.
    pub(crate) fn configure(&mut self, changes: Changes) {
        self.hold = changes.hold.unwrap_or(self.hold);
        self.permissions = changes.permissions.unwrap_or(self.permissions);
        self.disconnect_callback = changes.disconnect_callback.unwrap_or(self.disconnect_callback);
        if let Some(data) = changes.data {
            self.data = data;
        }
        if let Some((flags, on)) = changes.flags {
            self.flags.set(flags, on);
        }
        self.touch();
    }

    /// Its player's account has another role.
    pub(crate) fn set_permissions(&mut self, permissions: Option<u32>) {
        self.permissions = permissions.unwrap_or(self.permissions);
        self.touch();
    }

    /// Its client has answered a ping.
    pub(crate) fn measure(&mut self, round_trip: std::time::Duration) {
        self.latency.measure(round_trip);
    }
}
