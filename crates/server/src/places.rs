//! Where sessions are, as the embedding game decides it: moves, parts, zones that are opened and
//! ended by hand; and words to many sessions at once.

use bytes::Bytes;
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{Answer, Audience, Command, SessionCommand, ZoneCommand};
use rejoin_core::id::{SessionId, ZoneId};

use crate::server::{Server, ServerError};

/// Whom a broadcast reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reach {
    /// Sessions that hear it, once and in order; held ones when they are back.
    pub told: usize,
    /// Sessions that do not: they ended before they could, or too much waits for them already.
    pub missed: usize,
}

impl Server {
    /// Waits until all that ran before the last stop runs again and players are let in.
    ///
    /// # Errors
    /// The server has stopped.
    pub async fn ready(&self) -> Result<(), ServerError> {
        let mut is_ready = self.0.is_ready.clone();
        is_ready.wait_for(|ready| *ready).await.map_err(|_| ServerError::Stopped)?;
        Ok(())
    }

    /// Says something to every session, in zones and outside, held ones included. It goes into each
    /// session's stream as [`send`](Self::send) does, so a client hears it exactly once over any
    /// drop; a zone encodes it once for all its members. Returns when it is committed for all of them.
    ///
    /// # Errors
    /// It is larger than clients take.
    pub async fn broadcast(&self, payload: impl Into<Bytes>) -> Result<Reach, ServerError> {
        self.tell(Audience::Everybody, payload.into()).await
    }

    /// The same to the members of one zone, from outside its game.
    ///
    /// # Errors
    /// There is no such zone, or it is larger than clients take.
    pub async fn broadcast_to(
        &self,
        zone: ZoneId,
        payload: impl Into<Bytes>,
    ) -> Result<Reach, ServerError> {
        self.tell(Audience::Zone(zone), payload.into()).await
    }

    async fn tell(&self, to: Audience, payload: Bytes) -> Result<Reach, ServerError> {
        match self.command(Command::Broadcast(to, payload)).await? {
            Answer::Told { told, missed } => Ok(Reach { told, missed }),
            other => Err(ServerError::Refused(other)),
        }
    }

    /// Takes a session out of its zone. `Event::ZoneParted` tells when it is done.
    ///
    /// # Errors
    /// There is no such session, or it is in no zone.
    pub async fn part(&self, session: SessionId) -> Result<(), ServerError> {
        self.done(Command::Session(session, SessionCommand::Part)).await
    }

    /// Moves a session into a zone, from its present one or from none, opening it if need be. The
    /// zone may still refuse it: then the session is in no zone, and its client is informed.
    ///
    /// # Errors
    /// There is no such session or kind of zone, or it is just on its way into another one.
    pub async fn move_to(
        &self,
        session: SessionId,
        zone: ZoneName,
        payload: impl Into<Bytes>,
    ) -> Result<ZoneId, ServerError> {
        self.zone_of(Command::Session(session, SessionCommand::Move(zone, payload.into()))).await
    }

    /// Opens a zone, if it is not open.
    ///
    /// # Errors
    /// There is no such kind, or no room for another zone.
    pub async fn open_zone(&self, zone: ZoneName) -> Result<ZoneId, ServerError> {
        self.zone_of(Command::Zone(ZoneCommand::Open(zone))).await
    }

    /// Ends a zone: its members are parted and its state is deleted.
    ///
    /// # Errors
    /// There is no such zone.
    pub async fn end_zone(&self, zone: ZoneId) -> Result<(), ServerError> {
        self.done(Command::Zone(ZoneCommand::End(zone))).await
    }

    async fn zone_of(&self, command: Command) -> Result<ZoneId, ServerError> {
        match self.command(command).await? {
            Answer::Zone(zone) => Ok(zone),
            other => Err(ServerError::Refused(other)),
        }
    }
}
