//! The hub: what connects the machines of its node. It owns the handshakes and every session, finds the machine
//! that a message is for, carries messages between them, and keeps indexes and deadlines. What a session decides
//! is in `session/`, what a hello is worth in `handshake/`, what operators order in `orders/`; its `ZoneRegistry`
//! supervises the zones. It runs no game code and touches no socket.

pub mod config;

mod alarms;
mod broadcast;
mod command;
mod connections;
mod id_block;
mod input;
mod login;
mod mail;
mod output;
mod query;
mod recover;
mod sessions;
mod table;
mod zones;

use std::collections::{BTreeMap, VecDeque};

pub(crate) use self::alarms::{Alarm, Alarms};
pub(crate) use self::broadcast::Tellings;
pub use self::command::{Answer, Audience, Command, SessionCommand, SessionConfig, ZoneCommand};
pub use self::config::{AccountPolicy, Admission, Duplicates, HubConfig, ZoneKind};
pub use self::input::HubInput;
pub(crate) use self::login::NoSession;
pub(crate) use self::mail::Mail;
pub use self::output::{HubCounts, HubOutput, Warning};
pub use self::query::{Query, Reply, SessionReport};
pub use self::recover::Recovered;
pub(crate) use self::table::Sessions;

use self::id_block::IdBlock;
use self::sessions::Commits;
use crate::account::Accounts;
use crate::chance::Chance;
pub use crate::connection::{ConnectionState, FrameKind, Spent, Stage, Verdict, table};
pub use crate::guard::HubLoad;
use crate::guard::Rations;
pub use crate::handshake::{AccountProof, AskId};
use crate::handshake::{HandshakeCore, Peer};
use crate::id::ConnectionId;
use crate::orders::{AfterAccount, Orders};
pub use crate::orders::{PasswordHash, PlayerCommand, PlayerView, Whom};
use crate::player::Players;
pub use crate::session::{Changes, SessionView};
use crate::session::{SessionContext, SessionCore};
use crate::time::Time;
use crate::zone_registry::ZoneRegistry;

/// The state of a node's hub; a driver hands in inputs and carries out outputs.
pub struct Hub {
    pub(crate) config: HubConfig,
    pub(crate) chance: Chance,
    pub(crate) connections: BTreeMap<ConnectionId, HandshakeCore>,
    pub(crate) sessions: Sessions,
    /// Messages between machines that are being delivered.
    pub(crate) mail: VecDeque<Mail>,
    pub(crate) players: Players,
    pub(crate) accounts: Accounts<AfterAccount>,
    pub(crate) orders: Orders,
    pub(crate) zones: ZoneRegistry,
    pub(crate) alarms: Alarms,
    pub(crate) commits: Commits,
    pub(crate) ids: IdBlock,
    pub(crate) tellings: Tellings,
    /// What addresses and players may do, and how fast all are let in.
    pub(crate) rations: Rations,
    pub(crate) out: VecDeque<HubOutput>,
    pub(crate) counts: HubCounts,
    /// Zones of before are still being opened.
    pub(crate) recovering: bool,
    /// The process is about to end.
    pub(crate) going_down: bool,
    /// Sessions and zones were left out at the start: nothing that concerns them is done.
    pub(crate) players_only: bool,
    /// It was told that the store went back.
    pub(crate) went_back: bool,
}

impl Hub {
    /// Takes one input. Afterwards [`next_output`](Self::next_output) is drained.
    pub fn handle(&mut self, now: Time, input: HubInput) {
        self.alarms.advance(now, self.config.stall);
        match input {
            HubInput::Opened { connection, serializer, origin, is_encrypted } => {
                let peer = Peer { serializer, is_encrypted, origin };
                self.opened(connection, peer);
            }
            HubInput::Spoofable(connection) => {
                self.with_handshake(connection, |one, _| one.set_spoofable());
            }
            HubInput::FromConnection(connection, message) => {
                self.on_connection_message(connection, message);
            }
            HubInput::Closed { connection, code, spent } => {
                self.with_handshake(connection, |one, cx| one.closed(cx, code, spent));
                self.connections.remove(&connection);
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
            HubInput::FromZone(zone, owner, message) => self.on_zone_message(zone, owner, message),
            HubInput::Command { ticket, command } => self.command(ticket, command),
            HubInput::Seat(request, verdict) => {
                let answered = |session: &mut SessionCore, cx: &mut SessionContext<'_>| {
                    session.seat_answered(cx, request, verdict);
                };
                self.with_session(request.session, answered);
            }
            HubInput::Wall(wall) => {
                self.out.extend(self.alarms.set_wall(wall).map(HubOutput::Warn));
                // Now and then guests who were not seen for long are forgotten.
                if !self.players_only && self.is_ready() {
                    let (wall, sessions) = (self.alarms.moment().wall, &self.sessions);
                    self.players.sweep(wall, |one| sessions.of_player(one).next().is_some());
                }
            }
            HubInput::StoreFull(is_full) => self.store_full(is_full),
            HubInput::Waiting(inputs) => self.rations.set_waiting(inputs),
            HubInput::Wake => self.wake(),
            // Sessions are kept, and their holds stand still as while a process is down.
            HubInput::Shutdown => {
                self.going_down = true;
                for id in self.connections.keys().copied().collect::<Vec<_>>() {
                    self.with_handshake(id, HandshakeCore::shut_down);
                }
            }
        }
        self.settle();
    }

    /// The next thing to carry out.
    pub fn next_output(&mut self) -> Option<HubOutput> {
        self.out.pop_front()
    }

    /// When it wants to be woken.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        self.alarms.next()
    }

    /// Whether all that was running before the last crash runs again.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ids.is_ready() && !self.recovering
    }
}
