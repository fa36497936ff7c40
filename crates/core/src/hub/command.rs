//! What the embedding game and administrators can ask of the hub. Each command has a ticket, and
//! its answer is given once what it rests on is committed.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::v1::{Call, RefusalCode, down};

use super::commit::After;
use super::deadline::Alarm;
use super::words::too_large;
use super::{Hub, HubOutput, PlayerCommand, Whom};
use crate::account::Refusal;
use crate::call::{CallFailed, Calls};
use crate::event::EndCause;
use crate::exchange::{Hold, Native, ZoneName};
use crate::id::{CallId, ObjectId, PlayerId, SeatId, SessionEpoch, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::session::{Flags, Latency, Presence, Serializer, Session};
use crate::time::{Time, WallTime, millis_u32};
use crate::zone_registry::{Creator, ZoneView};

/// How a session that the server starts begins.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SessionConfig {
    /// Whose it is; drawn at random if nobody's.
    pub player: Option<PlayerId>,
    /// The rest of its properties.
    pub changes: Changes,
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
    /// What it may do.
    pub permissions: Option<u32>,
}

/// Something asked from outside.
#[derive(Clone, Debug)]
pub enum Command {
    /// Start a session that lives in the server.
    StartSession(SessionConfig),
    /// End a session.
    EndSession(SessionId, EndCause),
    /// Change a session's properties.
    Configure(SessionId, Changes),
    /// Say something to a session, wherever it is.
    Send(SessionId, Bytes),
    /// Say something to many sessions at once, wherever they are.
    Broadcast(Audience, Bytes),
    /// Ask a session something, wherever it is; the answer comes with this command's ticket.
    Call(SessionId, Bytes, Duration),
    /// A native session joins a zone, opening it if need be.
    Join(SessionId, ZoneName, Bytes),
    /// A native session joins the zone of a Game with a seat of its player.
    TakeSeat(SessionId, ZoneName, SeatId, Bytes),
    /// A session leaves its zone.
    Part(SessionId),
    /// A session moves to a zone, from its present one or from none, opening it if need be.
    Move(SessionId, ZoneName, Bytes),
    /// A native session says something in its zone.
    Say(SessionId, Native),
    /// A native session answers a call: of its zone with a value of the zone's own type, from
    /// outside with `Bytes`.
    Answer(SessionId, CallId, Native),
    /// Open a zone, if it is not open.
    OpenZone(ZoneName),
    /// Open the zone of a Game, if it is not open: its name is the Game's id, and it admits nobody
    /// without a seat, for as long as there is the zone.
    OpenGame(ZoneName),
    /// End a zone.
    EndZone(ZoneId),
    /// Keep a player out until then, and end its sessions.
    Ban(PlayerId, WallTime),
    /// Let a player in again.
    Unban(PlayerId),
    /// What operators do with players and their accounts.
    Player(PlayerCommand),
}

/// Whom a broadcast reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Audience {
    /// Every session, in zones and outside.
    Everybody,
    /// The members of one zone.
    Zone(ZoneId),
}

/// What came of a command.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// A session was started.
    Session(SessionId),
    /// A zone is open or being opened.
    Zone(ZoneId),
    /// It is done.
    Done,
    /// A broadcast is in the streams of so many sessions, and committed there.
    Told {
        /// Sessions that hear it.
        told: usize,
        /// Sessions that do not: they ended before they could, or too much waits for them already.
        missed: usize,
    },
    /// The peer answered a call, or did not.
    Called(Result<Bytes, CallFailed>),
    /// There is no such session or zone.
    Unknown,
    /// It is refused.
    Refused(RefusalCode),
    /// No session can be started now.
    Full,
    /// Too much of this session waits for the store: nothing was done, and it can be asked again.
    Busy,
    /// Nothing was done with the player, because of this.
    PlayerRefused(Refusal),
}

/// A session as the outside may see it.
#[derive(Clone, PartialEq, Debug)]
pub struct SessionView {
    /// Which.
    pub id: SessionId,
    /// Whose.
    pub player: PlayerId,
    /// Its epoch.
    pub epoch: SessionEpoch,
    /// Whether somebody is there.
    pub presence: Presence,
    /// The zone it is in.
    pub zone: Option<ZoneId>,
    /// How its messages are written.
    pub serializer: Serializer,
    /// Measured round trips.
    pub latency: Latency,
    /// How long it is held.
    pub hold: Hold,
    /// Switches.
    pub flags: Flags,
    /// What it may do.
    pub permissions: u32,
    /// The object its player controls.
    pub avatar: Option<ObjectId>,
    /// Game data.
    pub data: Bytes,
}

impl Hub {
    /// One session as the outside may see it.
    #[must_use]
    pub fn view(&self, id: SessionId) -> Option<SessionView> {
        let session = self.sessions.get(&id)?;
        Some(SessionView {
            id,
            player: session.player,
            epoch: session.epoch,
            presence: session.presence,
            zone: session.zone(),
            serializer: session.serializer,
            latency: session.latency,
            hold: session.hold,
            flags: session.flags,
            permissions: session.permissions,
            avatar: session.avatar,
            data: session.data.clone(),
        })
    }

    pub(crate) fn command(&mut self, now: Time, ticket: u64, command: Command) {
        let answer = match command {
            Command::StartSession(config) => return self.start_native(now, ticket, config),
            Command::EndSession(id, cause) => {
                if self.sessions.contains_key(&id) {
                    hit(Mark::Kicked);
                    self.end(now, id, cause);
                    return self.answer_after(id, ticket, Answer::Done);
                }
                Answer::Unknown
            }
            Command::Configure(id, _) if self.is_gate_full(id) => Answer::Busy,
            Command::Configure(id, changes) => match self.sessions.get_mut(&id) {
                Some(session) => {
                    apply(session, changes);
                    self.touch(id);
                    return self.answer_after(id, ticket, Answer::Done);
                }
                None => Answer::Unknown,
            },
            Command::Send(id, payload) => return self.send_message(ticket, id, payload),
            Command::Call(id, payload, deadline) => {
                return self.open_call(now, id, ticket, payload, deadline);
            }
            Command::Join(id, name, payload) => {
                return self.join_native(id, ticket, name, payload, None);
            }
            Command::TakeSeat(id, name, seat, payload) => {
                return self.join_native(id, ticket, name, payload, Some(seat));
            }
            Command::Part(id) => self.part_session(id),
            Command::Move(id, name, payload) => {
                return self.move_session(id, ticket, name, payload);
            }
            Command::Say(id, message) => self.say_native(id, message),
            Command::Answer(id, call, message) => self.answer_native(id, call, message),
            Command::Broadcast(to, payload) => return self.broadcast(ticket, to, payload),
            Command::OpenZone(name) => {
                opened(self.with_zones(|zones| zones.find(&name, Some(Creator::Server))))
            }
            Command::OpenGame(name) => opened(self.with_zones(|zones| zones.open_game(name))),
            Command::EndZone(zone) => match self.with_zones(|zones| zones.end(zone)) {
                true => Answer::Done,
                false => Answer::Unknown,
            },
            Command::Ban(player, until) => {
                let ban = PlayerCommand::Ban(Whom::Player(player), until, String::new());
                return self.player_command(now, ticket, ban);
            }
            Command::Unban(player) => {
                let unban = PlayerCommand::Unban(Whom::Player(player));
                return self.player_command(now, ticket, unban);
            }
            Command::Player(command) => return self.player_command(now, ticket, command),
        };
        self.push(HubOutput::Answer { ticket, answer });
    }

    /// The ban is committed: whatever the player has here ends. Gives the sessions that do,
    /// with those that were ending already.
    pub(crate) fn end_all_of(&mut self, now: Time, player: PlayerId) -> Vec<SessionId> {
        if !self.is_banned(now, player) {
            return Vec::new();
        }
        // Sessions of accounts that were opened with the banned key are not listed under its player.
        let by_key = self.sessions.iter().filter(|(_, one)| one.credential == player);
        let by_key: Vec<SessionId> = by_key.map(|(id, _)| *id).collect();
        let theirs = self.ending_of(player).chain(self.sessions_of(player));
        let all: BTreeSet<SessionId> = theirs.chain(by_key).collect();
        for session in &all {
            hit(Mark::Banned);
            self.end(now, *session, EndCause::Banned);
        }
        all.into_iter().collect()
    }

    pub(crate) fn answer_after(&mut self, id: SessionId, ticket: u64, answer: Answer) {
        self.after(id, After::Output(HubOutput::Answer { ticket, answer }));
    }

    fn open_call(
        &mut self,
        now: Time,
        id: SessionId,
        ticket: u64,
        payload: Bytes,
        deadline: Duration,
    ) {
        let refusal = match too_large(&payload) {
            true => Some(Answer::Refused(RefusalCode::BadPayload)),
            false => self.refuses_words(id),
        };
        let session = self.sessions.get_mut(&id).filter(|_| refusal.is_none());
        let Some(session) = session else {
            let answer = refusal.unwrap_or(Answer::Unknown);
            return self.push(HubOutput::Answer { ticket, answer });
        };
        let key = Bytes::copy_from_slice(&ticket.to_be_bytes());
        let call = session.calls.get_or_insert_default().open(key, now.after(deadline));
        session.flags.set(Flags::AWAITING_RESPONSE, true);
        self.alarms.set(now, deadline, Alarm::Call(id));
        let body = Call {
            call: CallId(call.0 | CallId::HUB).0,
            payload,
            deadline_ms: millis_u32(deadline),
        };
        // It takes messages: that was asked above.
        let _ = self.say_anywhere(id, down::Body::Call(body), None);
    }

    pub(crate) fn calls_due(&mut self, now: Time, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let due = session.calls.as_mut().map(|calls| calls.expire(now)).unwrap_or_default();
        for call in due {
            hit(Mark::CallTimeout);
            self.call_ended(id, &call.key, Err(CallFailed::Timeout));
        }
    }

    /// A call from outside zones ended: its asker is told.
    pub(crate) fn call_ended(
        &mut self,
        id: SessionId,
        key: &Bytes,
        result: Result<Bytes, CallFailed>,
    ) {
        if let Some(session) = self.sessions.get_mut(&id)
            && session.calls.as_ref().is_none_or(|calls| calls.is_empty())
        {
            session.calls = None;
            session.flags.set(Flags::AWAITING_RESPONSE, session.zone_awaits);
        }
        if let Ok(ticket) = key[..].try_into() {
            let ticket = u64::from_be_bytes(ticket);
            self.push(HubOutput::Answer { ticket, answer: Answer::Called(result) });
        }
    }

    pub(crate) fn fail_calls(&mut self, id: SessionId, mut calls: Calls) {
        for call in calls.take_all() {
            self.call_ended(id, &call.key, Err(CallFailed::Gone));
        }
    }
}

fn opened(zone: Result<ZoneView, RefusalCode>) -> Answer {
    match zone {
        Ok(zone) => Answer::Zone(zone.id),
        Err(code) => Answer::Refused(code),
    }
}

pub(super) fn apply(session: &mut Session, changes: Changes) {
    session.hold = changes.hold.unwrap_or(session.hold);
    session.permissions = changes.permissions.unwrap_or(session.permissions);
    session.disconnect_callback =
        changes.disconnect_callback.unwrap_or(session.disconnect_callback);
    if let Some(data) = changes.data {
        session.data = data;
    }
    if let Some((flags, on)) = changes.flags {
        session.flags.set(flags, on);
    }
}
