//! The rows of players: what is kept of a player, and what waits until that is committed. A player has a
//! gate only while something of it is on its way to the store; there are many players, and most rest.

use bytes::Bytes;
use prost::Message;
use rejoin_wire::v1::CloseCode;

use super::{Hub, HubOutput};
use crate::connection::{AskId, Handshake, LoginClaim};
use crate::gate::{Gate, Gated};
use crate::id::{ConnectionId, OwnerEpoch, PlayerId, Revision};
use crate::scope::{Batch, Change, Opened, ScopeId};
use crate::secret::SecretHash;
use crate::time::{Time, WallTime};

/// What is kept of a player beyond its sessions.
#[derive(Clone, Default)]
pub(crate) struct Player {
    pub secret: Option<SecretHash>,
    /// Until when it is kept out; the end of time for ever.
    pub banned_until: Option<WallTime>,
    /// For people, the banned one among them.
    pub ban_reason: String,
    /// When a guest by secret came in last, to about a day; none for others, and in former rows.
    pub seen: Option<WallTime>,
    /// It is counted among the guests.
    pub is_counted: bool,
    pub owner: OwnerEpoch,
    pub revision: Revision,
}

impl Player {
    /// Whether there is nothing that would have to be kept.
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_guest() && self.banned_until.is_none()
    }

    /// Whether it is a guest by secret of whom something is kept.
    pub(crate) fn is_guest(&self) -> bool {
        self.secret.is_some() || self.seen.is_some()
    }
}

/// Hellos that wait for the commit of one player's ban; more are told to come again.
const WAITING_MAX: usize = 4_096;

pub(crate) const PLAYER_ROW: &[u8] = b"player";

/// The row of a player's scope.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct PlayerRow {
    #[prost(bytes = "bytes", tag = "1")]
    pub secret: Bytes,
    #[prost(uint64, optional, tag = "2")]
    pub banned_until_ms: Option<u64>,
    #[prost(string, tag = "3")]
    pub ban_reason: String,
    /// When a guest came in last. Not in rows of before that was kept.
    #[prost(uint64, optional, tag = "4")]
    pub seen_ms: Option<u64>,
}

impl PlayerRow {
    fn of(player: &Player) -> Self {
        Self {
            secret: player.secret.map(|hash| hash.as_bytes().to_vec().into()).unwrap_or_default(),
            banned_until_ms: player.banned_until.map(|until| until.0),
            ban_reason: player.ban_reason.clone(),
            seen_ms: player.seen.map(|seen| seen.0),
        }
    }
}

/// What waits for a player's commit.
#[derive(Debug)]
pub(crate) enum AfterPlayer {
    /// Nothing but the batch itself: give it to the store.
    Commit(Batch),
    /// End the player's sessions if it is banned, and answer the command that said so.
    Banned { ticket: u64 },
    /// Decide about the hello of this connection.
    Decide(ConnectionId, AskId),
    /// Nothing is kept of the player any more, or only a ban.
    Forgotten { ticket: Option<u64> },
}

impl Gated for AfterPlayer {
    fn submit(batch: Batch) -> Self {
        Self::Commit(batch)
    }
}

/// What is on its way of one player.
#[derive(Debug)]
pub(super) struct PlayerCommits {
    gate: Gate<AfterPlayer>,
    /// Bans, and ends of bans, that are not committed.
    bans: usize,
    /// What waits for a row that is written after the scope is deleted; none: nothing is to be written.
    second_life: Option<Vec<AfterPlayer>>,
}

impl PlayerCommits {
    /// `new_owner`: the owner epoch of a player that the store does not have.
    fn new(id: PlayerId, player: &Player, new_owner: OwnerEpoch) -> Self {
        let is_new = player.owner == OwnerEpoch::default();
        let owner = if is_new { new_owner } else { player.owner };
        let opened = Opened { owner, revision: player.revision, rows: Vec::new() };
        let gate = Gate::opened(ScopeId::Player(id), &opened);
        Self { gate, bans: 0, second_life: None }
    }

    fn held(&self) -> usize {
        self.gate.held() + self.second_life.as_ref().map_or(0, Vec::len)
    }

    /// The player's row has changed. What follows waits until that is committed.
    fn change(&mut self, then: Option<AfterPlayer>) {
        self.bans += usize::from(matches!(then, Some(AfterPlayer::Banned { .. })));
        if self.gate.is_closed() {
            self.second_life.get_or_insert_default().extend(then);
        } else {
            self.gate.touch();
            then.into_iter().for_each(|effect| self.gate.after(effect));
        }
    }
}

impl Hub {
    /// Commits a player's row, then goes on with what waits for it.
    pub(crate) fn commit_player(&mut self, id: PlayerId, then: Option<AfterPlayer>) {
        let player = self.players.entry(id).or_default();
        let is_guest = player.is_guest();
        self.guests.count(std::mem::replace(&mut player.is_counted, is_guest), is_guest);
        let is_forgotten = matches!(then, Some(AfterPlayer::Forgotten { .. }));
        let is_gone = is_forgotten && player.is_empty();
        let new_owner = self.commits.new_owner;
        let commits = self.commits.players.entry(id);
        let commits = commits.or_insert_with(|| PlayerCommits::new(id, player, new_owner));
        let was_closed = commits.gate.is_closed();
        commits.change(then);
        if is_gone {
            if !was_closed {
                commits.gate.close();
            }
            // Whatever is kept of this player from now on begins anew.
            self.players.remove(&id);
        }
        self.commits.stirred_players.insert(id);
    }

    /// Whether a ban of this player, or the end of one, is on its way to the store.
    pub(crate) fn is_ban_coming(&self, player: PlayerId) -> bool {
        self.commits.players.get(&player).is_some_and(|commits| commits.bans > 0)
    }

    /// Decides about this connection once the ban is committed.
    pub(crate) fn wait_for_ban(&mut self, player: PlayerId, id: ConnectionId, claim: LoginClaim) {
        let commits = self.commits.players.get_mut(&player);
        let Some(commits) = commits.filter(|commits| commits.held() < WAITING_MAX) else {
            return self.refuse(id, CloseCode::NotReady, "a ban is being kept; come again");
        };
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let ask = connection.ask(|ask| Handshake::Preparing(ask, Box::new(claim)));
        match &mut commits.second_life {
            Some(effects) => effects.push(AfterPlayer::Decide(id, ask)),
            None => commits.gate.after(AfterPlayer::Decide(id, ask)),
        }
        self.commits.stirred_players.insert(player);
    }

    pub(super) fn player_committed(&mut self, id: PlayerId, revision: Revision) {
        if let Some(commits) = self.commits.players.get_mut(&id) {
            commits.gate.committed(revision);
            self.commits.stirred_players.insert(id);
        }
    }

    /// Submits what changed of a player, and carries out what waits for nothing.
    pub(super) fn settle_player(&mut self, now: Time, id: PlayerId) {
        while let Some(commits) = self.commits.players.get_mut(&id) {
            commits.gate.end_input();
            if commits.gate.is_due()
                && let Some(player) = self.players.get(&id)
            {
                let row = Bytes::from(PlayerRow::of(player).encode_to_vec());
                commits.gate.submit(vec![Change::Put(Bytes::from_static(PLAYER_ROW), row)]);
            }
            match commits.gate.next_effect() {
                Some(effect) => self.after_player(now, id, effect),
                None if !commits.gate.is_at_rest() => return,
                None => self.rest_player(now, id),
            }
        }
    }

    /// Nothing of a player is on its way any more, unless it was deleted and is kept again.
    fn rest_player(&mut self, now: Time, id: PlayerId) {
        let Some(PlayerCommits { gate, bans, second_life }) = self.commits.players.remove(&id)
        else {
            return;
        };
        match (second_life, self.players.get_mut(&id)) {
            (None, Some(player)) => (player.owner, player.revision) = gate.standing(),
            (None, None) => {}
            (Some(effects), Some(player)) => {
                let anew = PlayerCommits::new(id, player, self.commits.new_owner);
                let mut commits = PlayerCommits { bans, ..anew };
                commits.gate.touch();
                effects.into_iter().for_each(|effect| commits.gate.after(effect));
                self.commits.players.insert(id, commits);
            }
            // It was deleted a second time before anything was written.
            (Some(effects), None) => {
                effects.into_iter().for_each(|effect| self.after_player(now, id, effect));
            }
        }
    }

    fn after_player(&mut self, now: Time, id: PlayerId, effect: AfterPlayer) {
        match effect {
            AfterPlayer::Commit(batch) => self.push(HubOutput::Commit(batch)),
            AfterPlayer::Banned { ticket } => {
                if let Some(commits) = self.commits.players.get_mut(&id) {
                    commits.bans -= 1;
                }
                self.quarantined.remove(&id);
                let ended = self.end_all_of(now, id);
                self.done_after(ticket, &ended);
            }
            AfterPlayer::Decide(connection, ask) => self.decide(now, connection, ask),
            AfterPlayer::Forgotten { ticket } => {
                self.quarantined.remove(&id);
                ticket.into_iter().for_each(|ticket| self.end_kept(ticket));
            }
        }
    }
}
