//! Where a session is. Its scope alone decides; every change of place is an intent that is committed first, told to
//! the zone after that, and told again after a crash until the zone has done its part. Each place has the data
//! that only it needs.

use bytes::Bytes;

use super::SessionCore;
use crate::exchange::ZoneName;
use crate::id::{ObjectId, OwnerEpoch, ZoneId};

/// Where a session is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// In no zone: the open leg is the session's own.
    Lobby(Lobby),
    /// On its way into a zone.
    Joining(Box<Joining>),
    /// In a zone.
    In(InZone),
}

/// What is kept of a session in no zone, beside its streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lobby {
    /// Its zone was lost, and its client has not been told yet.
    pub(super) has_lost_zone: bool,
    /// It did not take a numbered frame, and asks for it once it takes one.
    pub(super) owes_resend: bool,
}

/// A join that is under way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Joining {
    /// The zone that it is to be let into, which may still be being opened.
    pub zone: ZoneId,
    /// The same zone by kind and name, for opening it again after a restart.
    pub name: ZoneName,
    /// The number of the Join, 0 for a transfer.
    pub to: u64,
    /// Bytes for the zone's game, from the client's Join, a command or the former zone.
    pub payload: Bytes,
    /// A number that made the zone panic before it could commit the admission.
    pub poisoned: Option<u64>,
    /// The zone has been asked, in its present incarnation.
    pub asked: Option<OwnerEpoch>,
}

/// What is known of a session that a zone has let in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InZone {
    /// The zone that has let it in; its next incarnation may still be being opened.
    pub zone: ZoneId,
    /// The object that its player controls.
    pub(super) avatar: Option<ObjectId>,
    /// The zone waits for an answer of its client.
    pub(super) awaits: bool,
}

impl InZone {
    pub(super) fn new(zone: ZoneId) -> Self {
        Self { zone, avatar: None, awaits: false }
    }
}

impl Place {
    /// The zone that the session is in or on its way into.
    #[must_use]
    pub fn zone(&self) -> Option<ZoneId> {
        match self {
            Self::Lobby(_) => None,
            Self::Joining(joining) => Some(joining.zone),
            Self::In(inside) => Some(inside.zone),
        }
    }

    /// Whether a zone has let the session in.
    #[must_use]
    pub fn is_in(&self, zone: ZoneId) -> bool {
        self.inside().is_some_and(|inside| inside.zone == zone)
    }

    /// Whether the session is in no zone and not on its way into one.
    #[must_use]
    pub fn is_lobby(&self) -> bool {
        self.lobby().is_some()
    }

    pub(super) fn lobby(&self) -> Option<&Lobby> {
        match self {
            Self::Lobby(lobby) => Some(lobby),
            Self::Joining(_) | Self::In(_) => None,
        }
    }

    pub(super) fn inside(&self) -> Option<&InZone> {
        match self {
            Self::In(inside) => Some(inside),
            Self::Lobby(_) | Self::Joining(_) => None,
        }
    }
}

impl SessionCore {
    /// What is kept of it while it is in no zone.
    pub(super) fn lobby_mut(&mut self) -> Option<&mut Lobby> {
        match &mut self.place {
            Place::Lobby(lobby) => Some(lobby),
            Place::Joining(_) | Place::In(_) => None,
        }
    }

    /// What is known of it while it is in a zone.
    pub(super) fn inside_mut(&mut self) -> Option<&mut InZone> {
        match &mut self.place {
            Place::In(inside) => Some(inside),
            Place::Lobby(_) | Place::Joining(_) => None,
        }
    }

    /// Whether it is in no zone and its client knows that: what is said to it goes into its own leg.
    pub(super) fn hears_lobby(&self) -> bool {
        self.place.lobby().is_some_and(|lobby| !lobby.has_lost_zone)
    }
}
