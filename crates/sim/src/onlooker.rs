//! What onlookers look at: every frame the server puts on a connection, holds that end, queues, and
//! at the end who is where.

use rejoin_core::exchange::Hold;
use rejoin_core::hub::Duplicates;
use rejoin_core::id::{SessionId, ZoneId};
use rejoin_core::session::{Place, Session};
use rejoin_wire::v1::{CloseCode, ServerFrame, server_frame};
use rejoin_wire::{Encoding, Limits, SharedFrame, decode_server};

use crate::link::Who;
use crate::world::World;

/// What one step may give out at most: a burst to everybody.
const STEP_OUTPUTS: usize = 4_096;
/// How long a disk that stalls or is full keeps a commit waiting, with all that comes on top.
const DISK_DELAY_US: u64 = 11_000_000;

impl World {
    /// Looks at a frame that the server puts on a connection.
    pub fn check_frame(&mut self, id: u64, frame: &SharedFrame) {
        let decoded = decode_server(Encoding::Protobuf, frame.protobuf().clone(), &Limits::DEFAULT);
        let Ok(ServerFrame { frame: Some(frame) }) = decoded else {
            return self.watch.fail("client-sane", format!("a frame nobody can read: {decoded:?}"));
        };
        self.tell(|| format!("link {id} down: {frame:?}"));
        match frame {
            server_frame::Frame::Welcome(welcome) => {
                let known = self.watch.epochs.entry(welcome.session).or_default();
                if welcome.epoch <= *known {
                    let text = format!("epoch {} after {known}", welcome.epoch);
                    self.watch.fail("single-voice", text);
                    return;
                }
                *known = welcome.epoch;
                if let Some(link) = self.links.get_mut(&id) {
                    link.welcomed = Some((welcome.session, welcome.epoch));
                }
            }
            server_frame::Frame::Down(_) | server_frame::Frame::Applied(_) => {
                let welcomed = self.links.get(&id).and_then(|link| link.welcomed);
                let newest = welcomed.map(|(session, _)| self.watch.epochs.get(&session).copied());
                if let (Some((session, epoch)), Some(newest)) = (welcomed, newest)
                    && newest != Some(epoch)
                {
                    let text = format!("session {session} epoch {epoch}, {newest:?} is newer");
                    self.watch.fail("single-voice", text);
                }
            }
            server_frame::Frame::Refusal(refusal) => self.check_refusal(id, refusal.code()),
            _ => {}
        }
    }

    /// An honest player is told that its session is unknown: is it?
    fn check_refusal(&mut self, id: u64, code: CloseCode) {
        let Some(Who::Player(index)) = self.links.get(&id).map(|link| link.who) else { return };
        let player = &self.players[index];
        let shut_out = matches!(
            code,
            CloseCode::SessionUnknown | CloseCode::TokenRetired | CloseCode::Credential
        );
        if !shut_out || player.shared || player.link != Some(id) {
            return;
        }
        let saved = player.saved.as_ref().map(|saved| SessionId(saved.session));
        let hub = self.node.hub.as_ref();
        let lives = saved.zip(hub).and_then(|(id, hub)| hub.session(id));
        if lives.is_some_and(|session| session.ending.is_none()) {
            let text = format!("player {index} got {code:?}, its session {saved:?} lives");
            self.watch.fail("no-lockout", text);
        }
    }

    /// A session was dropped: how long must it be held?
    pub fn note_drop(&mut self, session: SessionId) {
        let kinds = self.knobs.hub.kinds.iter().map(|(name, kind)| (name, kind.config.hold));
        let timed = |hold: Hold| match hold {
            Hold::Timed(while_) => Some(while_.as_micros() as u64),
            _ => None,
        };
        // It may have left its zone by now, so the shortest of all holds is what can be asked for.
        let holds = kinds.clone().map(|(_, hold)| hold).chain([self.knobs.hub.hold]);
        let shortest = holds.filter_map(timed).min();
        let known = self.node.hub.as_ref().and_then(|hub| hub.session(session));
        let held = known.is_some_and(|session| session.ending.is_none());
        let zone = known.and_then(|session| session.zone());
        let untimed = kinds.filter(|(_, hold)| timed(*hold).is_none());
        let free = untimed.flat_map(|(kind, _)| ["z0", "z1"].map(|name| ZoneId::of(kind, name)));
        let at_will = zone.is_some_and(|zone| free.clone().any(|other| other == zone));
        // One without any hold is ending already when its drop is told.
        let least = shortest.filter(|_| held && !at_will);
        self.watch.dropped.insert(session.0, (self.now, least));
    }

    /// A hold ended: had the server been there for all of it?
    pub fn check_hold(&mut self, session: u64) {
        let Some((dropped, Some(least))) = self.watch.dropped.get(&session).copied() else {
            return;
        };
        let since = dropped.max(self.watch.ready_at).max(self.node.boot_at);
        // Drop and end are told once they are committed, and a stall that is too short to count as
        // one can delay that: give or take both.
        let mut slack = self.knobs.commit_us * 2 + self.knobs.hub.stall.as_micros() as u64;
        let faults = &self.knobs.faults;
        if faults.disk_stall > 0 || faults.disk_full > 0 {
            slack += DISK_DELAY_US;
        }
        let held = self.now - since + slack;
        if held < least {
            let text = format!("session {session} was held {held} us of {least}");
            self.watch.fail("hold-kept", text);
        }
    }

    /// Looks at a zone's figures.
    pub fn check_zone(&mut self, zone: ZoneId) {
        let Some(seat) = self.node.zones.get(&zone) else { return };
        let counts = seat.machine.counts();
        let kinds = || self.knobs.hub.kinds.values().map(|kind| &kind.config);
        let ring = kinds().map(|config| config.ring_frames_max).max().unwrap_or(0);
        // One step may give out more than there is room for; the next is not taken then.
        let held = kinds().map(|config| config.held_outputs_max).max().unwrap_or(0) + STEP_OUTPUTS;
        let members = kinds().map(|config| config.members_max).max().unwrap_or(0);
        for (what, count, most) in [
            ("frames in a ring", counts.ring_frames, ring),
            ("outputs that wait", counts.held, held),
            ("members", counts.members, members),
        ] {
            if count > most {
                self.watch.fail("bounded", format!("{count} {what}, {most} may be"));
            }
        }
    }

    /// A ban that is committed leaves nobody in, however the player comes.
    pub fn check_banned(&mut self) {
        let Some(hub) = self.node.hub.as_ref().filter(|_| !self.watch.banned.is_empty()) else {
            return;
        };
        let now = self.node.time(self.now);
        let stays = |(_, session): &(_, &Session)| {
            session.ending.is_none()
                && self.watch.banned.contains(&session.player)
                && hub.is_banned(now, session.player)
        };
        if let Some((id, _)) = hub.sessions().find(stays) {
            let text = format!("session {id} goes on, and its player is banned");
            self.watch.fail("banned-out", text);
        }
    }

    /// At rest, sessions and zones agree on who is where.
    pub fn check_places(&mut self) {
        let Some(hub) = &self.node.hub else { return };
        let zones = self.node.zones.values().map(|seat| seat.machine.check_indexes());
        for text in zones.chain([hub.check_indexes()]).filter_map(Result::err) {
            self.watch.found.push(crate::check::Violation { checker: "one-place", text });
        }
        for (zone, seat) in &self.node.zones {
            // One that is ending right now may have left its zone, or not yet.
            let here = || hub.sessions().filter(|(_, s)| s.place == Place::In(*zone));
            let staying = here().filter(|(_, session)| session.ending.is_none()).count();
            let (all, members) = (here().count(), seat.machine.counts().members);
            if !(staying..=all).contains(&members) {
                let text =
                    format!("{staying} sessions are in {zone:?}, which has {members} members");
                self.watch.found.push(crate::check::Violation { checker: "one-place", text });
            }
        }
        for (id, session) in hub.sessions() {
            if matches!(session.place, Place::Joining(_)) {
                let text = format!("session {id} is joining for ever");
                self.watch.found.push(crate::check::Violation { checker: "one-place", text });
            }
        }
    }

    /// Everybody is back, unless the settings forbid it.
    pub fn check_back(&mut self) {
        let crowded = self.knobs.hub.sessions_max < 100;
        for index in 0..self.players.len() {
            let player = &self.players[index];
            let excused = player.retired
                || crowded
                || (player.shared && self.knobs.hub.duplicates == Duplicates::RejectNew);
            let buffered = player.client.buffered().0;
            if !excused && !player.was_back {
                let status = player.client.status();
                let text = format!("player {index} is {status:?} with {buffered} unacknowledged");
                self.watch.fail("comes-back", text);
            }
        }
    }
}
