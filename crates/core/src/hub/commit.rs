//! What waits for which commit. Every change of a session is committed once at the end of the input
//! that made it, and whatever the change lets others see waits here until then. Effects of one
//! session keep their order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use prost::Message;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::CloseCode;

use super::connection::Phase;
use super::{Answer, Hub, HubOutput};
use crate::exchange::{Link, ToZone};
use crate::id::{
    AccountId, ConnectionId, OwnerEpoch, PlayerId, Revision, SessionEpoch, SessionId, ZoneId,
};
use crate::scope::{Batch, Change, ScopeId};
use crate::session::{Session, row};
use crate::time::{Time, WallTime};

/// Something that must not be seen before a session's change is committed.
#[derive(Debug)]
pub(crate) enum After {
    /// Give this out.
    Output(HubOutput),
    /// Say this, if the link still is the session's.
    Frame(Link, SharedFrame),
    /// Say the last word.
    Close(ConnectionId, CloseCode),
    /// Refuse a hello.
    Refuse(ConnectionId, CloseCode, &'static str),
    /// Give the connection of this epoch its place.
    Attach(SessionEpoch),
    /// Tell the connection that it has its place, outside zones.
    Welcome(Link, Vec<SharedFrame>),
    /// Ask the zone it is joining in this stay.
    Admit(u32),
    /// Tell a zone.
    Zone(ZoneId, ToZone),
    /// Ask the directory what it has not been asked yet.
    Seats,
    /// A session of an account that is being deleted cannot be returned to any more.
    Ended(AccountId),
}

/// What waits for a player's commit.
#[derive(Debug)]
pub(crate) enum AfterPlayer {
    /// Go on with the login of this connection.
    Decide(ConnectionId),
    /// End the player's sessions if it is banned, and answer the command that said so.
    Banned { ticket: u64 },
    /// Nothing is kept of the player any more, or only a ban.
    Forgotten { ticket: Option<u64> },
}

/// Rows of a player's scope.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct PlayerRow {
    #[prost(bytes = "bytes", tag = "1")]
    pub secret: Bytes,
    #[prost(uint64, optional, tag = "2")]
    pub banned_until_ms: Option<u64>,
    #[prost(string, tag = "3")]
    pub ban_reason: String,
}

/// The row of the hub's scope.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct HubRow {
    /// No session id at or above this has been given out.
    #[prost(uint64, tag = "1")]
    pub id_bound: u64,
    /// The highest wall time seen, so that it never runs backwards.
    #[prost(uint64, tag = "2")]
    pub wall_ms: u64,
}

pub(crate) const PLAYER_ROW: &[u8] = b"player";
pub(crate) const HUB_ROW: &[u8] = b"hub";

/// All commits on their way and what waits for them.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    dirty: BTreeSet<SessionId>,
    effects: BTreeMap<SessionId, Vec<After>>,
    held: BTreeMap<SessionId, VecDeque<(Revision, Vec<After>)>>,
    players: BTreeMap<PlayerId, VecDeque<(Revision, AfterPlayer)>>,
    pub owner: OwnerEpoch,
    revision: Revision,
    /// The next session id.
    pub next_id: u64,
    /// Ids below this are ours to give.
    id_bound: u64,
    /// Bounds on their way to the store.
    pending_bounds: VecDeque<(Revision, u64)>,
}

impl Commits {
    pub(crate) fn new(owner: OwnerEpoch, revision: Revision, id_bound: u64) -> Self {
        let next_id = id_bound.max(1);
        Self { owner, revision, next_id, id_bound: next_id, ..Self::default() }
    }

    /// Whether session ids can be given out.
    pub(crate) fn is_ready(&self) -> bool {
        self.next_id < self.id_bound
    }
}

impl Hub {
    /// The session differs from its scope.
    pub(crate) fn touch(&mut self, session: SessionId) {
        self.commits.dirty.insert(session);
    }

    /// Carries something out once all of the session's changes so far are committed.
    pub(crate) fn after(&mut self, session: SessionId, effect: After) {
        self.commits.effects.entry(session).or_default().push(effect);
    }

    /// Whether all of the session's changes so far are committed.
    pub(crate) fn is_settled(&self, session: SessionId) -> bool {
        !self.commits.dirty.contains(&session) && !self.commits.held.contains_key(&session)
    }

    /// Submits what changed; effects that wait for nothing are carried out at once.
    pub(crate) fn settle_commits(&mut self, now: Time) {
        // Carrying out an effect can change a session again; it does so finitely often.
        loop {
            let dirty = std::mem::take(&mut self.commits.dirty);
            let mut effects = std::mem::take(&mut self.commits.effects);
            if dirty.is_empty() && effects.is_empty() {
                return;
            }
            for session in dirty {
                let waiting = effects.remove(&session).unwrap_or_default();
                self.submit_session(session, waiting);
            }
            for (session, waiting) in effects {
                match self.commits.held.get_mut(&session).and_then(VecDeque::back_mut) {
                    Some((_, last)) => last.extend(waiting),
                    None => self.carry_out(now, session, waiting),
                }
            }
        }
    }

    fn submit_session(&mut self, id: SessionId, waiting: Vec<After>) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.revision = session.revision.next();
        let batch = Batch {
            scope: ScopeId::Session(id),
            owner: session.owner,
            revision: session.revision,
            changes: row::changes(session),
            delete_scope: false,
        };
        self.hold_for(id, batch.revision, waiting);
        self.push(HubOutput::Commit(batch));
    }

    /// Deletes a session's scope; its last effects wait for that.
    pub(crate) fn submit_removal(&mut self, id: SessionId, session: &Session, last: Vec<After>) {
        let mut waiting = self.commits.effects.remove(&id).unwrap_or_default();
        self.commits.dirty.remove(&id);
        waiting.extend(last);
        let batch = Batch {
            scope: ScopeId::Session(id),
            owner: session.owner,
            revision: session.revision.next(),
            changes: vec![Change::DeletePrefix(Bytes::new())],
            delete_scope: true,
        };
        self.hold_for(id, batch.revision, waiting);
        self.push(HubOutput::Commit(batch));
    }

    fn hold_for(&mut self, id: SessionId, revision: Revision, waiting: Vec<After>) {
        self.commits.held.entry(id).or_default().push_back((revision, waiting));
    }

    pub(crate) fn committed(&mut self, now: Time, scope: ScopeId, revision: Revision) {
        match scope {
            ScopeId::Session(session) => {
                while let Some(queue) = self.commits.held.get_mut(&session) {
                    match queue.front() {
                        Some((needed, _)) if *needed <= revision => {
                            let (_, waiting) = queue.pop_front().unwrap_or_default();
                            if queue.is_empty() {
                                self.commits.held.remove(&session);
                            }
                            self.carry_out(now, session, waiting);
                        }
                        Some(_) => break,
                        None => {
                            self.commits.held.remove(&session);
                        }
                    }
                }
            }
            ScopeId::Player(player) => self.player_committed(now, player, revision),
            ScopeId::Account(account) => self.account_committed(now, account, revision),
            ScopeId::Hub => {
                let bounds = &mut self.commits.pending_bounds;
                while bounds.front().is_some_and(|(needed, _)| *needed <= revision) {
                    if let Some((_, bound)) = bounds.pop_front() {
                        self.commits.id_bound = bound;
                    }
                }
            }
            // Zones hear of theirs themselves, and so does the directory.
            _ => {}
        }
    }

    fn carry_out(&mut self, now: Time, session: SessionId, effects: Vec<After>) {
        for effect in effects {
            match effect {
                After::Output(output) => self.push(output),
                After::Frame(link, frame) => {
                    if self.link_of(session) == Some(link) {
                        self.send_shared(link.connection, frame);
                    }
                }
                After::Close(connection, code) => self.close(connection, code, "", 0),
                After::Refuse(connection, code, text) => self.refuse(connection, code, text),
                After::Attach(epoch) => self.attach_now(now, session, epoch),
                After::Welcome(link, frames) => {
                    if self.link_of(session) != Some(link) {
                        continue;
                    }
                    if let Some(known) = self.connections.get_mut(&link.connection) {
                        known.phase = Phase::Live { session, epoch: link.epoch };
                        known.attach = None;
                    }
                    for frame in frames {
                        self.send_shared(link.connection, frame);
                    }
                }
                After::Admit(stay) => self.ask_zone(now, session, stay),
                After::Zone(zone, message) => self.tell_zone(zone, message),
                After::Seats => self.ask_seats(now, session),
                After::Ended(account) => self.forget_account(now, account, 1),
            }
        }
    }

    /// Commits a player's row, then goes on with what waits for it.
    pub(crate) fn commit_player(&mut self, id: PlayerId, then: AfterPlayer) {
        let player = self.players.entry(id).or_default();
        player.revision = player.revision.next();
        player.owner = player.owner.max(OwnerEpoch(1));
        let row = PlayerRow {
            secret: player.secret.map(|hash| hash.as_bytes().to_vec().into()).unwrap_or_default(),
            banned_until_ms: player.banned_until.map(|until| until.0),
            ban_reason: player.ban_reason.clone(),
        };
        let (owner, revision) = (player.owner, player.revision);
        let is_forgotten = matches!(then, AfterPlayer::Forgotten { .. });
        let delete_scope = is_forgotten && player.is_empty();
        let change = if delete_scope {
            // Whatever is kept of this player from now on begins anew.
            self.players.remove(&id);
            Change::DeletePrefix(Bytes::new())
        } else {
            Change::Put(Bytes::from_static(PLAYER_ROW), Bytes::from(row.encode_to_vec()))
        };
        let scope = ScopeId::Player(id);
        let batch = Batch { scope, owner, revision, changes: vec![change], delete_scope };
        self.commits.players.entry(id).or_default().push_back((batch.revision, then));
        self.push(HubOutput::Commit(batch));
    }

    fn player_committed(&mut self, now: Time, player: PlayerId, revision: Revision) {
        while let Some(queue) = self.commits.players.get_mut(&player) {
            match queue.front() {
                Some((needed, _)) if *needed <= revision => {
                    match queue.pop_front().map(|(_, then)| then) {
                        Some(AfterPlayer::Decide(connection)) => self.decide(now, connection),
                        Some(AfterPlayer::Forgotten { ticket }) => {
                            self.quarantined.remove(&player);
                            ticket.into_iter().for_each(|ticket| self.done(ticket));
                            // What comes after may count its revisions from the start again.
                            return;
                        }
                        Some(AfterPlayer::Banned { ticket }) => {
                            self.quarantined.remove(&player);
                            self.end_all_of(now, player);
                            self.push(HubOutput::Answer { ticket, answer: Answer::Done });
                        }
                        None => {}
                    }
                }
                Some(_) => return,
                None => drop(self.commits.players.remove(&player)),
            }
        }
    }

    /// Takes the next session id; none while no more are reserved.
    pub(crate) fn next_session_id(&mut self, now: Time) -> Option<SessionId> {
        let id = self.commits.next_id;
        if id >= self.commits.id_bound {
            return None;
        }
        self.commits.next_id += 1;
        let spare = self.commits.id_bound - self.commits.next_id;
        if spare < self.config.id_block / 2 && self.commits.pending_bounds.is_empty() {
            self.reserve_ids(now);
        }
        Some(SessionId(id))
    }

    /// Reserves the next block of session ids: none is ever given out twice, whatever crashes.
    pub(crate) fn reserve_ids(&mut self, now: Time) {
        let bound = self.commits.id_bound.saturating_add(self.config.id_block.max(1));
        self.commits.revision = self.commits.revision.next();
        let revision = self.commits.revision;
        self.commits.pending_bounds.push_back((revision, bound));
        let WallTime(wall_ms) = self.wall(now);
        let row = HubRow { id_bound: bound, wall_ms };
        self.push(HubOutput::Commit(Batch {
            scope: ScopeId::Hub,
            owner: self.commits.owner,
            revision,
            changes: vec![Change::Put(
                Bytes::from_static(HUB_ROW),
                Bytes::from(row.encode_to_vec()),
            )],
            delete_scope: false,
        }));
    }
}
