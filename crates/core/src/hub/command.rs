//! What the embedding game and administrators can ask of the hub, by whom it is addressed to. Each command has a
//! ticket, and its answer is given once what it rests on is committed.

use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::v1::RefusalCode;

use super::{Changes, Hub, HubOutput, PlayerCommand};
use crate::account::Refusal;
use crate::call::CallFailed;
use crate::event::EndCause;
use crate::exchange::{Native, ZoneName};
use crate::id::{CallId, PlayerId, SeatId, SessionId, ZoneId};
use crate::session::Identity;
use crate::zone_registry::{Creator, ZoneRegistry};

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
    /// Ask this of a session.
    Session(SessionId, SessionCommand),
    /// Say something to many sessions at once, wherever they are.
    Broadcast(Audience, Bytes),
    /// Open or end a zone.
    Zone(ZoneCommand),
    /// What operators do with players and their accounts.
    Player(PlayerCommand),
}

/// Something asked of one session.
#[derive(Clone, Debug)]
pub enum SessionCommand {
    /// End it for this cause, from which the close code for its client follows.
    End(EndCause),
    /// Change its properties.
    Configure(Changes),
    /// Say something to it, wherever it is.
    Send(Bytes),
    /// Ask its client something, wherever it is; the answer comes with this command's ticket.
    Call(Bytes, Duration),
    /// A local session joins a zone, opening it if need be.
    Join(ZoneName, Bytes),
    /// A local session joins the zone of a Game with a seat of its player.
    TakeSeat(ZoneName, SeatId, Bytes),
    /// It leaves its zone.
    Part,
    /// It moves to a zone, from its present one or from none, opening it if need be.
    Move(ZoneName, Bytes),
    /// A local session says something in its zone.
    Say(Native),
    /// A local session answers a call: of its zone with a value of the zone's own type, from
    /// outside with `Bytes`.
    Answer(CallId, Native),
}

/// Something asked about a zone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ZoneCommand {
    /// Open it, if it is not open.
    Open(ZoneName),
    /// Open the zone of a Game, if it is not open: its name is the Game's id, and it admits nobody
    /// without a seat, for as long as there is the zone.
    OpenGame(ZoneName),
    /// Part all its members, admit no more, and delete its scope.
    End(ZoneId),
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
        let answer = match command {
            Command::StartSession(config) => {
                let player = config.player.unwrap_or_else(|| PlayerId(self.chance.bytes()));
                let new = self.new_session(player, Identity::Server, None);
                let begun = new.ok().and_then(|id| {
                    self.with_session(id, |one, cx| one.begin_local(cx, ticket, config.changes))
                });
                begun.is_none().then_some(Answer::Full)
            }
            Command::Session(id, command) => {
                let known = self.with_session(id, |one, cx| one.command(cx, ticket, command));
                known.is_none().then_some(Answer::Unknown)
            }
            Command::Broadcast(to, payload) => self.broadcast(ticket, to, &payload),
            Command::Zone(command) => {
                Some(self.zones.carry(&mut self.out, |zones| zone_command(zones, command)))
            }
            Command::Player(command) => {
                self.with_orders(|orders, cx| orders.command(cx, ticket, command));
                None
            }
        };
        // None: whoever the command was given to answers.
        self.out.extend(answer.map(|answer| HubOutput::Answer { ticket, answer }));
    }
}

fn zone_command(zones: &mut ZoneRegistry, command: ZoneCommand) -> Answer {
    let zone = match command {
        ZoneCommand::Open(name) => zones.find(&name, Some(Creator::Server)),
        ZoneCommand::OpenGame(name) => zones.open_game(name),
        ZoneCommand::End(zone) => {
            return if zones.end(zone) { Answer::Done } else { Answer::Unknown };
        }
    };
    zone.map_or_else(Answer::Refused, |zone| Answer::Zone(zone.id))
}
