//! The hub: what connects the machines of its node. It owns the handshakes and every session, finds the machine
//! that a message is for, carries messages between them, and keeps indexes and deadlines. What a session decides
//! is in `session/`; its `ZoneRegistry` supervises the zones. It runs no game code and touches no socket.

pub mod config;

mod accounts;
mod alarms;
mod broadcast;
mod command;
mod connections;
mod id_block;
mod login;
mod players;
mod query;
mod recover;
mod sessions;
mod table;
mod zones;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::CloseCode;

pub(crate) use self::accounts::AfterAccount;
pub(crate) use self::alarms::{Alarm, Alarms};
pub use self::command::{Answer, Audience, Command, SessionConfig};
pub use self::config::{AccountPolicy, Admission, Duplicates, HubConfig, ZoneKind};
pub use self::players::{PasswordHash, PlayerCommand, PlayerView, Whom};
pub use self::query::{Query, Reply, SessionReport};
pub use self::recover::Recovered;

use self::broadcast::Tellings;
use self::id_block::IdBlock;
use self::players::Endings;
use self::sessions::Commits;
use self::table::Sessions;
use crate::account::Accounts;
use crate::chance::Chance;
pub use crate::connection::{ConnectionState, FrameKind, Spent, Stage, Verdict, table};
use crate::connection::{FromConnection, ToConnection};
use crate::event::Event;
use crate::exchange::{ToHub, ToZone, ZoneName};
pub use crate::guard::HubLoad;
use crate::guard::{Origin, Rations};
pub use crate::handshake::{AccountProof, AskId};
use crate::handshake::{FromHandshake, HandshakeCore, Peer};
use crate::id::{ConnectionId, OwnerEpoch, PlayerId, Revision, SessionId, ZoneId};
use crate::player::Players;
use crate::scope::{Batch, ScopeId};
use crate::seat::{GameNews, SeatRefusal, SeatRequest};
pub use crate::session::{Changes, SessionView};
use crate::session::{FromSession, Place, Serializer, SessionContext, SessionCore};
use crate::time::{Time, WallTime};
use crate::zone::Delivery;
use crate::zone_registry::ZoneRegistry;

/// What the hub is given.
#[derive(Debug)]
pub enum HubInput {
    /// A transport link is up. Ids are never used twice.
    Opened {
        /// Its id.
        connection: ConnectionId,
        /// How its frames are written.
        serializer: Serializer,
        /// From where; none: from within, and no address is charged for it.
        origin: Option<Origin>,
        /// Nobody on the way can read it: told as a flag of its session.
        is_encrypted: bool,
    },
    /// Others can send in the name of this connection: what breaks the rules on it is no violation of
    /// its address.
    Spoofable(ConnectionId),
    /// What a connection says.
    FromConnection(ConnectionId, FromConnection),
    /// A transport link is gone.
    Closed {
        /// Which.
        connection: ConnectionId,
        /// Why, where the transport ended it itself; none: the peer is just gone.
        code: Option<CloseCode>,
        /// What it has spent.
        spent: Spent,
    },
    /// Whether a signature is good.
    Verified {
        /// The connection that asked.
        connection: ConnectionId,
        /// Its question.
        ask: AskId,
        /// Whether it is good.
        good: bool,
    },
    /// The game's answer whether a player may come in.
    Admission {
        /// The connection that asked.
        connection: ConnectionId,
        /// Its question.
        ask: AskId,
        /// Let in, or the reason why not.
        verdict: Result<(), String>,
    },
    /// What a login has proven of an account.
    Account {
        /// The connection that asked.
        connection: ConnectionId,
        /// Its question.
        ask: AskId,
        /// What the login has proven.
        proof: AccountProof,
    },
    /// A scope is committed up to this revision.
    Committed(ScopeId, Revision),
    /// A zone's message.
    FromZone(ZoneId, OwnerEpoch, ToHub),
    /// Something from outside: the embedding game, an administrator.
    Command {
        /// Repeated in the answer.
        ticket: u64,
        /// What.
        command: Command,
    },
    /// The directory's word on a seat.
    Seat(SeatRequest, Result<(), SeatRefusal>),
    /// The wall clock, now and then.
    Wall(WallTime),
    /// The store has no room, so nothing is committed until it has: true; or it has room again.
    StoreFull(bool),
    /// How many inputs wait for the hub at this instant. Told by the driver when it changes.
    Waiting(usize),
    /// Time has passed. All input that waits is fed before this.
    Wake,
    /// The process is about to end: everybody is told, and nobody is let in any more.
    Shutdown,
}

/// What the hub gives out, to be carried out in order.
#[derive(Debug)]
pub enum HubOutput {
    /// Put this on a connection.
    Send {
        /// Which.
        connection: ConnectionId,
        /// What.
        frame: SharedFrame,
    },
    /// Close a connection once everything before this is on it.
    Close {
        /// Which.
        connection: ConnectionId,
        /// The code for transports that carry one.
        code: CloseCode,
    },
    /// Acknowledge what a client sent up to this number: its connection is told before the frame is put on it.
    Applied {
        /// Which.
        connection: ConnectionId,
        /// Up to which number.
        seq: u64,
    },
    /// Tell a connection. It hears of it before any frame that comes later.
    ToConnection(ConnectionId, ToConnection),
    /// Both sides of a connection may compress frames from here on. Comes before its Welcome.
    Compress {
        /// Which.
        connection: ConnectionId,
        /// The driver leaves shorter frames as they are.
        bytes_min: u32,
    },
    /// Let nobody in from an address for a while, before anything is read of them.
    Bar {
        /// From where.
        origin: Origin,
        /// How long.
        wait: Duration,
    },
    /// Is this an Ed25519 signature of this text by this key?
    Verify {
        /// The connection that asks.
        connection: ConnectionId,
        /// Repeated in the answer.
        ask: AskId,
        /// The key.
        public_key: [u8; 32],
        /// What is signed.
        text: Vec<u8>,
        /// The signature.
        signature: [u8; 64],
    },
    /// Is there a password or a token in this that proves an account?
    CheckAccount {
        /// The connection that asks.
        connection: ConnectionId,
        /// Repeated in the answer.
        ask: AskId,
        /// What the client sent along.
        payload: Bytes,
    },
    /// May this player come in?
    AskAdmission {
        /// The connection that asks.
        connection: ConnectionId,
        /// Repeated in the answer.
        ask: AskId,
        /// Who.
        player: PlayerId,
        /// What the client sent along.
        payload: Bytes,
    },
    /// Run a session's disconnect callback.
    RunCallback {
        /// Whose.
        session: SessionId,
        /// Which.
        callback: u64,
    },
    /// Tell a native session.
    Native {
        /// Who.
        session: SessionId,
        /// What.
        delivery: Delivery,
    },
    /// Tell a zone.
    ToZone(ZoneId, OwnerEpoch, ToZone),
    /// Open a zone's scope and start its machine.
    OpenZone(Box<crate::zone::ZoneSpec>),
    /// The zone's machine is not needed any more.
    DropZone(ZoneId),
    /// Ask the directory. No answer lets nobody in.
    Seat(SeatRequest),
    /// Tell the host of a Game what became of its zone.
    Game(ZoneName, GameNews),
    /// Commit this.
    Commit(Batch),
    /// Tell whoever listens.
    Event(Event),
    /// Tell the operator.
    Warn(Warning),
    /// The answer to a command.
    Answer {
        /// The command's ticket.
        ticket: u64,
        /// What came of it.
        answer: Answer,
    },
}

/// What an operator should hear of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Warning {
    /// A client shows what this session once gave out and does not know: the store holds an earlier state than
    /// it held before. Told once for all sessions of a start.
    StoreWentBack {
        /// The first session that showed it.
        session: SessionId,
    },
    /// The wall clock is so far behind what it was that it must have been wrong before.
    ClockWentBack {
        /// How far.
        by: Duration,
    },
}

/// The hub.
pub struct Hub {
    pub(crate) config: HubConfig,
    pub(crate) chance: Chance,
    pub(crate) connections: BTreeMap<ConnectionId, HandshakeCore>,
    pub(crate) sessions: Sessions,
    /// Messages between machines that are being delivered.
    pub(crate) mail: VecDeque<Mail>,
    pub(crate) players: Players,
    pub(crate) zones: ZoneRegistry,
    pub(crate) alarms: Alarms,
    pub(crate) commits: Commits,
    pub(crate) ids: IdBlock,
    pub(crate) out: VecDeque<HubOutput>,
    pub(crate) wall: (Time, WallTime),
    /// Zones of before are still being opened.
    pub(crate) recovering: bool,
    /// The process is about to end.
    pub(crate) going_down: bool,
    pub(crate) counts: HubCounts,
    /// What addresses and players may do, and how fast all are let in.
    pub(crate) rations: Rations,
    pub(crate) accounts: Accounts<AfterAccount>,
    pub(crate) endings: Endings,
    pub(crate) tellings: Tellings,
    /// Sessions and zones were left out at the start: nothing that concerns them is done.
    pub(crate) players_only: bool,
    /// It was told that the store went back.
    pub(crate) went_back: bool,
}

/// A message from one machine of the hub to another.
pub(crate) enum Mail {
    FromSession(SessionId, FromSession),
    FromHandshake(ConnectionId, FromHandshake),
}

/// Figures of the hub; those that are called totals only grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HubCounts {
    /// Sessions that have begun.
    pub sessions_total: u64,
    /// Returns with nothing lost.
    pub replayed_total: u64,
    /// Returns with the whole state.
    pub resynced_total: u64,
    /// Connections that gave way to a newer one.
    pub takeovers_total: u64,
    /// Retired tokens that were shown.
    pub retired_tokens_total: u64,
    /// Answers to no open call.
    pub unknown_answers_total: u64,
    /// Returns with a valid token that were told to wait.
    pub returns_deferred_total: u64,
    /// Those among them that were told so while the load was below its bound.
    pub returns_deferred_below_bound_total: u64,
    /// The load when a return was last told to wait.
    pub deferred_at: HubLoad,
}

impl Hub {
    /// Takes one input. Afterwards [`next_output`](Self::next_output) is drained.
    pub fn handle(&mut self, now: Time, input: HubInput) {
        let now = self.note_time(now);
        match input {
            HubInput::Opened { connection, serializer, origin, is_encrypted } => {
                self.opened(connection, Peer { serializer, is_encrypted, origin });
            }
            HubInput::Spoofable(connection) => {
                self.with_handshake(connection, |one, _| one.set_spoofable());
            }
            HubInput::FromConnection(connection, message) => {
                self.on_connection_message(connection, message);
            }
            HubInput::Closed { connection, code, spent } => {
                self.closed(connection, code, spent);
            }
            HubInput::Verified { connection, ask, good } => {
                self.with_handshake(connection, |one, cx| one.verified(cx, ask, good));
            }
            HubInput::Admission { connection, ask, verdict } => {
                self.with_handshake(connection, |one, cx| one.admission(cx, ask, verdict));
            }
            HubInput::Account { connection, ask, proof } => {
                self.with_handshake(connection, |one, cx| one.account_proof(cx, ask, proof));
            }
            HubInput::Committed(scope, revision) => self.committed(scope, revision),
            HubInput::FromZone(zone, owner, message) => {
                self.on_zone_message(now, zone, owner, message);
            }
            HubInput::Command { ticket, command } => self.command(ticket, command),
            HubInput::Seat(request, verdict) => {
                let answered = |session: &mut SessionCore, cx: &mut SessionContext<'_>| {
                    session.seat_answered(cx, request, verdict);
                };
                self.with_session(request.session, answered);
            }
            HubInput::Wall(wall) => self.set_wall(now, wall),
            HubInput::StoreFull(is_full) => self.store_full(is_full),
            HubInput::Waiting(inputs) => self.rations.set_waiting(inputs),
            HubInput::Wake => self.wake(),
            HubInput::Shutdown => self.shut_down(),
        }
        self.settle();
    }

    /// The next thing to carry out.
    pub fn next_output(&mut self) -> Option<HubOutput> {
        self.out.pop_front()
    }

    /// Players who are refused because what was kept of them is damaged. `Command::Ban` and
    /// `Command::Unban` decide afresh.
    pub fn quarantined(&self) -> impl Iterator<Item = PlayerId> {
        self.players.damaged()
    }

    /// When it wants to be woken.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        self.alarms.next()
    }

    /// Figures for metrics.
    #[must_use]
    pub fn counts(&self) -> HubCounts {
        self.counts
    }

    /// Live sessions: held ones are not counted.
    #[must_use]
    pub fn active_count(&self) -> usize {
        self.sessions.values().filter(|session| session.connection().is_some()).count()
    }

    /// All sessions.
    pub fn sessions(&self) -> impl Iterator<Item = (SessionId, &SessionCore)> {
        self.sessions.iter().map(|(id, session)| (*id, &**session))
    }

    /// Sessions with ids above this one, in the order of their ids.
    pub fn sessions_after(&self, id: SessionId) -> impl Iterator<Item = (SessionId, &SessionCore)> {
        let above = (std::ops::Bound::Excluded(id), std::ops::Bound::Unbounded);
        self.sessions.range(above).map(|(id, session)| (*id, &**session))
    }

    /// One session.
    #[must_use]
    pub fn session(&self, id: SessionId) -> Option<&SessionCore> {
        self.sessions.get(&id).map(Box::as_ref)
    }

    /// The state of a connection.
    #[must_use]
    pub fn connection_state(&self, connection: ConnectionId) -> ConnectionState {
        let Some(known) = self.connections.get(&connection) else {
            return ConnectionState::Disconnected;
        };
        match known.stage() {
            Stage::AwaitingHello | Stage::Deciding => ConnectionState::Connecting,
            Stage::Closing => ConnectionState::Disconnecting,
            Stage::Live => {
                let session = known.session().and_then(|(session, _)| self.session(session));
                match session.filter(|session| session.is_live_on(connection)) {
                    None => ConnectionState::Connecting,
                    Some(session) if matches!(session.place(), Place::In(_)) => {
                        ConnectionState::InGame
                    }
                    Some(_) => ConnectionState::Connected,
                }
            }
        }
    }

    /// One session as the outside may see it.
    #[must_use]
    pub fn view(&self, id: SessionId) -> Option<SessionView> {
        self.session(id).map(SessionCore::view)
    }

    /// Whether a player is banned now.
    #[must_use]
    pub fn is_banned(&self, player: PlayerId) -> bool {
        self.players.is_banned(self.moment().wall, player)
    }

    /// Whether all that was running before the last crash runs again.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ids.is_ready() && !self.recovering
    }

    pub(crate) fn push(&mut self, output: HubOutput) {
        self.out.push_back(output);
    }

    /// The sessions of a player that can be returned to, oldest first.
    pub(crate) fn sessions_of(&self, player: PlayerId) -> Vec<SessionId> {
        self.sessions.of_player(player).collect()
    }
}
