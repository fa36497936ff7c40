//! What the embedding game and administrators can ask of the hub. Each command has a ticket, and
//! its answer is given once what it rests on is committed.

use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::v1::RefusalCode;

use super::{Changes, Hub, HubOutput, PlayerCommand, Whom};
use crate::account::Refusal;
use crate::call::CallFailed;
use crate::event::EndCause;
use crate::exchange::{Native, ZoneName};
use crate::id::{CallId, PlayerId, SeatId, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::session::{Identity, SessionContext, SessionCore};
use crate::time::WallTime;
use crate::zone_registry::{Creator, ZoneView};

/// How a session that the server starts begins.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SessionConfig {
    /// Whose it is; drawn at random if nobody's.
    pub player: Option<PlayerId>,
    /// The rest of its properties.
    pub changes: Changes,
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

impl Hub {
    pub(crate) fn command(&mut self, ticket: u64, command: Command) {
        match command {
            Command::StartSession(config) => self.start_local(ticket, config),
            Command::EndSession(id, cause) => {
                self.ask_of(id, ticket, |session, cx| {
                    hit(Mark::Kicked);
                    session.end(cx, cause);
                    session.answer_after(ticket, Answer::Done);
                });
            }
            Command::Configure(id, changes) => self.ask_of(id, ticket, |session, cx| {
                if session.is_gate_full() {
                    return cx.answer(ticket, Answer::Busy);
                }
                session.configure(changes);
                session.answer_after(ticket, Answer::Done);
            }),
            Command::Send(id, payload) => self.send_message(ticket, id, payload),
            Command::Call(id, payload, deadline) => {
                let number = self.tellings.next_number(self.ids.owner());
                self.ask_of(id, ticket, |session, cx| {
                    session.open_call(cx, ticket, number, payload, deadline);
                });
            }
            Command::Join(id, name, payload) => self.ask_of(id, ticket, |session, cx| {
                session.join_local(cx, ticket, name, payload, None);
            }),
            Command::TakeSeat(id, name, seat, payload) => {
                self.ask_of(id, ticket, |session, cx| {
                    session.join_local(cx, ticket, name, payload, Some(seat));
                });
            }
            Command::Part(id) => self.ask_of(id, ticket, |session, cx| {
                let answer = session.part(cx);
                cx.answer(ticket, answer);
            }),
            Command::Move(id, name, payload) => self.ask_of(id, ticket, |session, cx| {
                session.move_to(cx, ticket, name, payload);
            }),
            Command::Say(id, message) => {
                self.ask_of(id, ticket, |session, cx| {
                    let answer = session.say_local(cx, message);
                    cx.answer(ticket, answer);
                });
            }
            Command::Answer(id, call, message) => {
                self.ask_of(id, ticket, |session, cx| {
                    let answer = session.answer_local(cx, call, message);
                    cx.answer(ticket, answer);
                });
            }
            Command::Broadcast(to, payload) => self.broadcast(ticket, to, &payload),
            Command::OpenZone(name) => {
                let zone = self.with_zones(|zones| zones.find(&name, Some(Creator::Server)));
                self.answer(ticket, opened(zone));
            }
            Command::OpenGame(name) => {
                let zone = self.with_zones(|zones| zones.open_game(name));
                self.answer(ticket, opened(zone));
            }
            Command::EndZone(zone) => {
                let is_known = self.with_zones(|zones| zones.end(zone));
                self.answer(ticket, if is_known { Answer::Done } else { Answer::Unknown });
            }
            Command::Ban(player, until) => {
                let ban = PlayerCommand::Ban(Whom::Player(player), until, String::new());
                self.player_command(ticket, ban);
            }
            Command::Unban(player) => {
                let unban = PlayerCommand::Unban(Whom::Player(player));
                self.player_command(ticket, unban);
            }
            Command::Player(command) => self.player_command(ticket, command),
        }
    }

    pub(crate) fn answer(&mut self, ticket: u64, answer: Answer) {
        self.push(HubOutput::Answer { ticket, answer });
    }

    /// Hands a command to its session, which answers.
    fn ask_of(
        &mut self,
        id: SessionId,
        ticket: u64,
        call: impl FnOnce(&mut SessionCore, &mut SessionContext<'_>),
    ) {
        if self.with_session(id, call).is_none() {
            self.answer(ticket, Answer::Unknown);
        }
    }

    fn start_local(&mut self, ticket: u64, config: SessionConfig) {
        let Some(id) = self.next_session_id() else { return self.answer(ticket, Answer::Full) };
        let player = config.player.unwrap_or_else(|| PlayerId(self.chance.bytes()));
        let (hold, began) = (self.config.hold, self.moment().wall);
        self.sessions.insert(SessionCore::new(id, player, Identity::Server, hold, began));
        self.with_session(id, |session, cx| session.begin_local(cx, ticket, config.changes));
    }
}

fn opened(zone: Result<ZoneView, RefusalCode>) -> Answer {
    match zone {
        Ok(zone) => Answer::Zone(zone.id),
        Err(code) => Answer::Refused(code),
    }
}
