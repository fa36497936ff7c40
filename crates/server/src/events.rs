//! Events by type: a struct for each kind, for listeners that want one kind and nothing else. The
//! fields are those of [`Event`], where each is explained.

use rejoin_core::event::{EndCause, Event, Offence, Rung, Step};
use rejoin_core::exchange::ZoneName;
use rejoin_core::game::{GameEnd, HostEnd, PlacementEnd, SeatEnd};
use rejoin_core::id::{
    ConnectionId, GameId, HostId, ObjectId, PlayerId, SeatId, SessionId, ZoneId,
};
use rejoin_wire::v1::{CloseCode, PartCause};

/// Something that can be listened to: one kind of event, or [`Event`] for all of them.
pub trait Heard: Sized + Send + 'static {
    /// This kind's part of an event; none if the event is of another kind.
    fn of(event: &Event) -> Option<Self>;
}

impl Heard for Event {
    fn of(event: &Event) -> Option<Self> {
        Some(event.clone())
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, PartialEq, Debug)]
            #[allow(missing_docs)]
            pub struct $name { $(pub $field: $type),* }

            impl Heard for $name {
                fn of(event: &Event) -> Option<Self> {
                    match event {
                        Event::$name { $($field),* } => {
                            Some(Self { $($field: $field.clone()),* })
                        }
                        _ => None,
                    }
                }
            }
        )*

        /// The names of the structs, to be compared with the events there are.
        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

kinds! {
    /// A session began.
    PlayerConnected { session: SessionId, player: PlayerId, connection: Option<ConnectionId> }
    /// A connection was given to a session.
    SessionLinked { session: SessionId, connection: ConnectionId }
    /// A session lost its connection and is held.
    PlayerDropped { session: SessionId, code: CloseCode }
    /// A player is back.
    PlayerReturned { session: SessionId, rung: Rung }
    /// A connection gave way to a newer one.
    TakenOver { session: SessionId, old: ConnectionId }
    /// The player did not come back before the hold ended.
    HoldEnded { session: SessionId }
    /// A session ended.
    PlayerLeft { session: SessionId, player: PlayerId, cause: EndCause }
    /// A session became a member of a zone.
    ZoneJoined { session: SessionId, zone: ZoneName }
    /// A session stopped being a member.
    ZoneParted { session: SessionId, zone: ZoneName, cause: PartCause }
    /// An object changed its owner.
    OwnerChanged {
        zone: ZoneId, object: ObjectId, from: Option<PlayerId>, to: Option<PlayerId>,
    }
    /// A match started.
    MatchStarted { zone: ZoneId }
    /// A match ended.
    MatchEnded { zone: ZoneId }
    /// A zone's game code panicked.
    ZoneFault { zone: ZoneId, text: String, closed: bool }
    /// A zone opened.
    ZoneOpened { zone: ZoneId, name: ZoneName }
    /// A zone could not open; what is stored was kept.
    ZoneOpenRefused { zone: ZoneId, text: String }
    /// A zone ended.
    ZoneEnded { zone: ZoneId }
    /// The guard took a step against a connection, or against an address that was not let in.
    GuardStep {
        step: Step,
        connection: Option<ConnectionId>,
        session: Option<SessionId>,
        what: Offence,
    }
    /// A Game was made, and this host is to run it.
    GameCreated { game: GameId, fleet: String, host: HostId }
    /// A Game runs.
    GameActive { game: GameId }
    /// A Game ended.
    GameEnded { game: GameId, cause: GameEnd }
    /// A seat was reserved.
    SeatReserved { game: GameId, seat: SeatId, player: String }
    /// A seat's player is coming in.
    SeatClaimed { game: GameId, seat: SeatId, player: String }
    /// A seat is over.
    SeatEnded { game: GameId, seat: SeatId, player: String, how: SeatEnd }
    /// A host is ready for the first time.
    HostReady { host: HostId }
    /// A host is ready again, with those of its Games that it still runs.
    HostReturned { host: HostId }
    /// A host does not report healthy; if that lasts, it ends.
    HostWarned { host: HostId }
    /// A host is not connected; its Games are hidden.
    HostAway { host: HostId }
    /// A host ended.
    HostEnded { host: HostId, how: HostEnd }
    /// A placement ended.
    PlacementEnded { queue: String, placement: String, end: PlacementEnd }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_event_can_be_listened_to() {
        assert_eq!(NAMES, Event::NAMES);
    }

    #[test]
    fn a_kind_is_found_in_its_event_and_in_no_other() {
        let event = Event::HoldEnded { session: SessionId(3) };
        assert_eq!(HoldEnded::of(&event), Some(HoldEnded { session: SessionId(3) }));
        assert_eq!(ZoneEnded::of(&event), None);
        assert_eq!(Event::of(&event), Some(event));
    }
}
