//! What onlookers look at: every frame the server puts on a connection, holds that end, queues, and
//! at the end who is where.

use rejoin_core::hub::Duplicates;
use rejoin_core::id::{SessionId, ZoneId};
use rejoin_core::session::{Place, SessionCore};
use rejoin_wire::v1::{CloseCode, ServerFrame, server_frame};
use rejoin_wire::{Encoding, Limits, SharedFrame, decode_server};

use crate::link::Who;
use crate::world::World;

/// What one step may give out at most: a burst to everybody.
const STEP_OUTPUTS: usize = 4_096;

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
                self.check_login(id, &welcome);
                if let Some(link) = self.links.get_mut(&id) {
                    link.welcomed = Some((welcome.session, welcome.epoch));
                    let who = link.who;
                    self.note_speaker(welcome.session, who);
                }
                self.check_welcome(id, &welcome);
            }
            server_frame::Frame::Down(_)
            | server_frame::Frame::Applied(_)
            | server_frame::Frame::Resync(_)
            | server_frame::Frame::Loose(_) => {
                let welcomed = self.links.get(&id).and_then(|link| link.welcomed);
                let newest = welcomed.map(|(session, _)| self.watch.epochs.get(&session).copied());
                if let (Some((session, epoch)), Some(newest)) = (welcomed, newest)
                    && newest != Some(epoch)
                {
                    let text = format!("session {session} epoch {epoch}, {newest:?} is newer");
                    self.watch.fail("single-voice", text);
                }
                match frame {
                    server_frame::Frame::Resync(resync) => self.check_resync(id, &resync),
                    server_frame::Frame::Down(down) => self.note_down(id, &down),
                    _ => {}
                }
            }
            server_frame::Frame::Refusal(refusal) => {
                self.note_told(id, refusal.retry_after_ms);
                self.check_refusal(id, refusal.code());
            }
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
        if lives.is_some_and(|session| session.ending().is_none()) {
            let text = format!("player {index} got {code:?}, its session {saved:?} lives");
            self.watch.fail("no-lockout", text);
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
        let Some(hub) = self.node.hub.as_ref().filter(|_| !self.bans.is_empty()) else {
            return;
        };
        let stays = |(_, session): &(_, &SessionCore)| {
            let players = [session.player(), session.credential()];
            session.ending().is_none() && players.into_iter().any(|it| self.is_kept_out(it))
        };
        if let Some((id, _)) = hub.sessions().find(stays) {
            let text = format!("session {id} goes on, and its player or key is banned");
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
            let here = || hub.sessions().filter(|(_, s)| s.place().is_in(*zone));
            let staying = here().filter(|(_, session)| session.ending().is_none()).count();
            let (all, members) = (here().count(), seat.machine.counts().members);
            if !(staying..=all).contains(&members) {
                let text =
                    format!("{staying} sessions are in {zone:?}, which has {members} members");
                self.watch.found.push(crate::check::Violation { checker: "one-place", text });
            }
        }
        for (id, session) in hub.sessions() {
            if matches!(session.place(), Place::Joining(_)) {
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
            if player.is_unanswered(self.now) {
                let text = format!("player {index} asked how things stand and hears no answer");
                self.watch.fail("heard-all", text);
            }
            let player = &mut self.players[index];
            if player.is_connected() && !player.retired {
                player.books.check_latest();
            }
            for violation in player.books.take_found() {
                let text = format!("player {index}: {}", violation.text);
                self.watch.fail(violation.checker, text);
            }
        }
    }
}
