//! What waits for which commit. A session that was changed is committed at the end of the input, or with
//! the next batch while one is at the store; whatever the change lets others see waits in the session's
//! gate until then. Effects of one session keep their order.

use std::collections::{BTreeMap, BTreeSet};

use rejoin_wire::SharedFrame;
use rejoin_wire::v1::CloseCode;

use super::player_gate::PlayerCommits;
use super::{Hub, HubOutput};
use crate::exchange::{Link, ToZone};
use crate::gate::{Gate, Gated};
use crate::id::{
    AccountId, ConnectionId, OwnerEpoch, PlayerId, Revision, SessionEpoch, SessionId, ZoneId,
};
use crate::scope::{Batch, ScopeId};
use crate::session::{Outgoing, Place, Session, row};
use crate::time::Time;

/// Inputs of one session that may wait for the store. A session that has so many takes no numbered frame
/// of its client (they wait, at most a window of them), no command and no other connection.
const INPUTS_MAX: usize = 1_024;

/// Something that must not be seen before a session's change is committed. Its variants are the hub's.
#[derive(Debug)]
pub struct AfterCommit(pub(crate) After);

/// What an [`AfterCommit`] is.
#[derive(Debug)]
pub(crate) enum After {
    /// Give this out.
    Output(HubOutput),
    /// Say this, if the link still is the session's.
    Frame(Outgoing),
    /// Acknowledge the client's stream up to this number.
    Applied { link: Link, seq: u64 },
    /// Say the last word.
    Close(ConnectionId, CloseCode, String),
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
    /// The message of this command is in the session's stream.
    Heard(u64),
    /// Ask the directory what it has not been asked yet.
    Seats,
    /// A session of an account that is being deleted cannot be returned to any more.
    Ended(AccountId),
    /// One of the ends that the order of this ticket waits for is committed.
    EndKept(u64),
    /// That the session of this player, opened with this key, ends is committed.
    EndCommitted(PlayerId, PlayerId),
}

/// All commits on their way and what waits for them.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    /// Sessions whose gates have to be looked at before the input is over.
    stirred: BTreeSet<SessionId>,
    /// Effects of sessions that there are not: they wait for nothing.
    free: Vec<(SessionId, After)>,
    /// Gates of sessions that are gone, until their scopes are.
    closing: BTreeMap<SessionId, Gate<AfterCommit>>,
    /// Sessions with a batch at the store.
    in_flight: BTreeSet<SessionId>,
    /// Players of whom something is on its way, and those to be looked at before the input is over.
    pub(super) players: BTreeMap<PlayerId, PlayerCommits>,
    pub(super) stirred_players: BTreeSet<PlayerId>,
    /// The owner epoch of players that the store does not have yet.
    pub(super) new_owner: OwnerEpoch,
    /// Messages from outside the game so far.
    pub words: u64,
}

impl Gated for AfterCommit {
    fn submit(batch: Batch) -> Self {
        Self(After::Output(HubOutput::Commit(batch)))
    }
}

impl Commits {
    pub(crate) fn new(new_owner: OwnerEpoch) -> Self {
        Self { new_owner, ..Self::default() }
    }

    /// Sessions and players with a commit under way.
    pub(crate) fn under_way(&self) -> usize {
        self.in_flight.len() + self.players.len()
    }
}

/// Whether a session in no zone must let its client's frames wait: too much waits for the store, or the client
/// has not acknowledged a whole window of what it was answered. Each frame has an answer that is kept for it, so
/// a client that reads nothing is read no further.
pub(crate) fn takes_no_frames(session: &Session, window_frames: u32) -> bool {
    let is_full = session.gate.waiting() >= INPUTS_MAX
        || session.downstream.unacked() >= window_frames as usize;
    session.place == Place::Nowhere && is_full
}

impl Hub {
    /// The session differs from its scope.
    pub(crate) fn touch(&mut self, session: SessionId) {
        if let Some(known) = self.sessions.get_mut(&session) {
            known.gate.touch();
            self.commits.stirred.insert(session);
        }
    }

    /// Carries something out once all of the session's changes so far are committed.
    pub(crate) fn after(&mut self, session: SessionId, effect: After) {
        match self.gate_of(session) {
            Some(gate) => {
                gate.after(AfterCommit(effect));
                self.commits.stirred.insert(session);
            }
            None => self.commits.free.push((session, effect)),
        }
    }

    /// Whether all of the session's changes so far are committed.
    pub(crate) fn is_settled(&mut self, session: SessionId) -> bool {
        self.gate_of(session).is_none_or(|gate| gate.is_settled())
    }

    /// Whether so much of the session waits for the store that it takes nothing more.
    pub(crate) fn is_gate_full(&self, session: SessionId) -> bool {
        self.sessions.get(&session).is_some_and(|known| known.gate.waiting() >= INPUTS_MAX)
    }

    fn gate_of(&mut self, session: SessionId) -> Option<&mut Gate<AfterCommit>> {
        match self.sessions.get_mut(&session) {
            Some(known) => Some(&mut known.gate),
            None => self.commits.closing.get_mut(&session),
        }
    }

    /// Submits what changed, and carries out what waits for nothing.
    pub(crate) fn settle_commits(&mut self, now: Time) {
        // Carrying out an effect can change a session again; it does so finitely often.
        loop {
            for (session, effect) in std::mem::take(&mut self.commits.free) {
                self.carry_out(now, session, effect);
            }
            // What is kept of a player goes to the store before the sessions that rest on it.
            if let Some(player) = self.commits.stirred_players.pop_first() {
                self.settle_player(now, player);
                continue;
            }
            match self.commits.stirred.pop_first() {
                Some(session) => self.settle_session(now, session),
                None if self.commits.free.is_empty() => return,
                None => {}
            }
        }
    }

    fn settle_session(&mut self, now: Time, id: SessionId) {
        // What these change goes with the next batch.
        while let Some(AfterCommit(effect)) = self.gate_of(id).and_then(Gate::next_effect) {
            self.carry_out(now, id, effect);
        }
        if let Some(session) = self.sessions.get_mut(&id) {
            session.gate.end_input();
            if session.gate.is_due() {
                let changes = row::changes(session);
                session.gate.submit(changes);
            }
        } else if let Some(gate) = self.commits.closing.get_mut(&id) {
            gate.end_input();
        }
        let Some(gate) = self.gate_of(id) else { return };
        if gate.has_effects() {
            self.commits.stirred.insert(id);
        } else if gate.is_closed() && gate.is_at_rest() {
            self.commits.closing.remove(&id);
        }
    }

    /// Deletes a session's scope; its last effects wait for that.
    pub(crate) fn submit_removal(
        &mut self,
        id: SessionId,
        mut gate: Gate<AfterCommit>,
        last: Vec<After>,
    ) {
        last.into_iter().for_each(|effect| gate.after(AfterCommit(effect)));
        gate.close();
        self.commits.closing.insert(id, gate);
        self.commits.stirred.insert(id);
    }

    pub(crate) fn committed(&mut self, now: Time, scope: ScopeId, revision: Revision) {
        match scope {
            ScopeId::Session(session) => self.session_committed(session, revision),
            ScopeId::Player(player) => self.player_committed(player, revision),
            ScopeId::Account(account) => self.account_committed(now, account, revision),
            ScopeId::Hub => self.hub_row_committed(now, revision),
            // Zones hear of theirs themselves, and so does the directory.
            _ => {}
        }
    }

    fn session_committed(&mut self, id: SessionId, revision: Revision) {
        self.commits.in_flight.remove(&id);
        let window = self.config.window_frames;
        let was_full = self.sessions.get(&id).is_some_and(|known| takes_no_frames(known, window));
        let Some(gate) = self.gate_of(id) else { return };
        gate.committed(revision);
        self.commits.stirred.insert(id);
        if was_full {
            self.ask_for_frames(id);
        }
    }

    fn carry_out(&mut self, now: Time, session: SessionId, effect: After) {
        match effect {
            After::Output(output) => {
                if let HubOutput::Commit(Batch { scope: ScopeId::Session(id), .. }) = &output {
                    self.commits.in_flight.insert(*id);
                }
                self.push(output);
            }
            After::Frame(Outgoing { link, at, frame }) => {
                if self.link_of(session) == Some(link) {
                    self.expect_progress(now, session, link.connection, at);
                    self.send_shared(link.connection, frame);
                }
            }
            After::Applied { link, seq } => {
                if self.link_of(session) == Some(link) {
                    self.push(HubOutput::Applied { connection: link.connection, seq });
                }
            }
            After::Close(connection, code, text) => self.close(connection, code, &text, 0),
            After::Refuse(connection, code, text) => self.refuse(connection, code, text),
            After::Attach(epoch) => self.attach_now(now, session, epoch),
            After::Welcome(link, frames) => {
                if self.link_of(session) != Some(link) {
                    return;
                }
                let known = self.connections.get_mut(&link.connection);
                if let Some(attached) = known.and_then(|known| known.attached_mut()) {
                    attached.is_live = true;
                    attached.pending = None;
                }
                self.start_idleness(now, link.connection);
                self.route(session);
                for frame in frames {
                    self.send_shared(link.connection, frame);
                }
            }
            After::Admit(stay) => self.ask_zone(session, stay),
            After::Zone(zone, message) => self.tell_zone(zone, message),
            After::Heard(ticket) => self.heard(ticket, true),
            After::Seats => self.ask_seats(now, session),
            After::Ended(account) => self.account_session_ended(now, account, session),
            After::EndKept(ticket) => self.end_kept(ticket),
            After::EndCommitted(player, credential) => {
                self.ending_of.remove(&(player, session));
                self.ending_of.remove(&(credential, session));
            }
        }
    }
}
