//! What members hear: one counter a zone, a ring for what several hear, an outbox for what one
//! hears, the latest values beside them, and a cursor for each member. A frame is encoded once and
//! its bytes are shared by everybody who hears it and by whoever keeps it.
//!
//! How far each member is, and what fits its link, is decided by its `Outbound`.

use std::time::Duration;

use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{Down, ServerFrame, down, server_frame};

use super::deadline::Deadlines;
use super::latest::{Latest, Value};
use super::member::Member;
use super::output::ZoneOutput;
use super::release::Release;
use super::ring::{Entry, Recipients, Ring};
use super::room::Room;
use crate::exchange::Link;
use crate::id::{Leg, SessionId};
use crate::mark::{Mark, hit};
use crate::never;
use crate::stream::{Kept, SendWindow, SharedFrames, merged};
use crate::time::Time;

/// The counter and what is kept under it.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// The last number given to anything.
    pub last: u64,
    pub ring: Ring,
    pub latest: Latest,
    /// How many frames have been made, and how many times one was put on a link.
    pub said: u64,
    pub sent: u64,
    /// Entries at which the ring is next looked through for what everybody has.
    trim_at: usize,
    /// The member that kept the last trimming from going further, and what it needs: while it needs
    /// the same, looking through all members again finds nothing to forget.
    slowest: Option<(SessionId, u64)>,
}

/// The part of the ring that one sender's messages may fill, as a divisor.
const SHARE: usize = 4;
/// All members are walked through for a frame that at least this part of them hears, as a divisor.
const WALK_SHARE: usize = 4;
/// Fewer entries than this are not worth looking through.
const TRIM_LEAST: usize = 64;

impl Stream {
    fn number(&mut self, body: down::Body) -> (u64, SharedFrame) {
        self.last += 1;
        self.said += 1;
        let down = Down { seq: self.last, body: Some(body) };
        (self.last, SharedFrame::new(&ServerFrame { frame: Some(server_frame::Frame::Down(down)) }))
    }
}

impl Room {
    /// Says something to several members.
    pub(crate) fn say(
        &mut self,
        to: Recipients,
        cause: Option<SessionId>,
        body: down::Body,
        out: &mut Release,
    ) {
        let (seq, frame) = self.stream.number(body);
        let (window, size) = (self.window(), frame.len());
        // What is reserved waits with the frame for its cut.
        let mut hearers = Vec::with_capacity(match &to {
            Recipients::Only(sessions) => sessions.len(),
            Recipients::All | Recipients::Except(_) => self.members.len(),
        });
        match &to {
            Recipients::Only(sessions) => {
                for session in sessions.iter() {
                    let member = self.members.get_mut(*session);
                    let link = member.and_then(|member| address(window, member, (seq, size)));
                    hearers.extend(link.map(|link| (*session, link)));
                }
            }
            Recipients::All | Recipients::Except(_) => {
                for (session, member) in self.members.iter_mut() {
                    if to.contains(session) {
                        let link = address(window, member, (seq, size));
                        hearers.extend(link.map(|link| (session, link)));
                    }
                }
            }
        }
        self.stream.sent += hearers.len() as u64;
        out.push_to_many(seq, hearers, &frame);
        self.stream.ring.push(Entry { seq, to, cause, frame });
        self.dirty.any = true;
        self.bound_ring();
    }

    /// Says something to one member and keeps it in its outbox.
    pub(crate) fn say_to(&mut self, session: SessionId, body: down::Body, out: &mut Release) {
        let (seq, frame) = self.stream.number(body);
        let window = self.window();
        self.dirty.any = true;
        self.dirty.members.insert(session);
        let Some(member) = self.members.get_mut(session) else {
            return never!("{seq} is said to session {session}, which is no member");
        };
        if let Some(link) = member.outbound.offer(seq, frame.len(), window) {
            self.stream.sent += 1;
            let frame = frame.clone();
            out.push_numbered(seq, ZoneOutput::Send { session, link, frame });
        }
        let (frames, bytes) = (self.config.outbox_frames_max, self.config.outbox_bytes_max);
        if member.outbound.keep(Kept { seq, frame }, SendWindow { frames, bytes }) {
            hit(Mark::OutboxEvicted);
            self.missed.insert(session);
        }
    }

    /// Sets or clears the latest value of a key. False when there is no room for it.
    pub(crate) fn say_latest(
        &mut self,
        key: String,
        body: down::Body,
        payload: Option<bytes::Bytes>,
        out: &mut Release,
    ) -> bool {
        let size = payload.as_ref().map_or(0, bytes::Bytes::len) + key.len() + 24;
        let (keys_max, bytes_max) = (self.config.latest_keys_max, self.config.latest_bytes_max);
        if payload.is_some() && !self.stream.latest.has_room(&key, size, keys_max, bytes_max) {
            // Cleared keys that everybody knows of make room.
            self.trim();
            if !self.stream.latest.has_room(&key, size, keys_max, bytes_max) {
                hit(Mark::LatestRefused);
                return false;
            }
        }
        let (seq, frame) = self.stream.number(body);
        let (window, size) = (self.window(), frame.len());
        let members = self.members.iter_mut();
        let hearers: Vec<(SessionId, Link)> = members
            .filter_map(|(session, member)| Some((session, address(window, member, (seq, size))?)))
            .collect();
        self.stream.sent += hearers.len() as u64;
        out.push_to_many(seq, hearers, &frame);
        hit(if payload.is_some() { Mark::LatestReplaced } else { Mark::LatestCleared });
        self.stream.latest.set(key, Value { seq, payload, frame });
        self.dirty.any = true;
        true
    }

    /// Puts on a member's link what it has not been sent, as far as its window allows.
    pub(crate) fn pump(&mut self, session: SessionId, out: &mut Release) {
        let window = self.window();
        let Some(member) = self.members.get_mut(session) else {
            return never!("session {session} is sent what waits for it and is no member");
        };
        let shared = Shared { stream: &self.stream, session, joined: member.joined };
        let sent = member.outbound.send_waiting(&shared, window);
        if let (Some(link), Some(newest)) = (member.outbound.link(), sent.last().map(|sent| sent.0))
        {
            self.stream.sent += sent.len() as u64;
            let frames = sent.into_iter().map(|(_, frame)| frame).collect();
            out.push_frames(Some(newest), session, link, frames);
        }
    }

    /// Goes on with the stream of a member that has stayed connected, after the last number it was sent.
    pub(crate) fn go_on(
        &mut self,
        now: Time,
        session: SessionId,
        link: Link,
        at: (Option<(Leg, u64)>, u64),
    ) {
        let Some(member) = self.members.get_mut(session) else {
            return never!("session {session} goes on in place and is no member");
        };
        let shared = Shared { stream: &self.stream, session, joined: member.joined };
        if member.outbound.go_on(link, at, &shared) {
            let service = self.deadlines.service(now);
            member.outbound.expect_by(service.after(self.config.progress));
            self.deadlines.arm(session, member);
        }
    }

    /// Ends the stream of a member that leaves: what it has not acknowledged, in order, is its own from here
    /// on.
    pub(crate) fn close_stream(&mut self, session: SessionId) {
        let last = self.stream.last;
        let Some(member) = self.members.get_mut(session) else {
            return never!("the stream of session {session} ends, which is no member");
        };
        let shared = Shared { stream: &self.stream, session, joined: member.joined };
        let kept = member.outbound.unacknowledged(&shared);
        member.outbound.close(last, kept);
    }

    /// Whether a sender's messages fill more of the ring than one may.
    pub(crate) fn exceeds_share(&mut self, sender: SessionId) -> bool {
        let share = self.config.ring_bytes_max / SHARE;
        if self.stream.ring.bytes_of(sender) <= share {
            return false;
        }
        self.trim();
        self.stream.ring.bytes_of(sender) > share
    }

    /// Forgets what everybody has.
    pub(crate) fn trim(&mut self) {
        if let Some((session, needs)) = self.stream.slowest
            && self.members.get(&session).is_some_and(|member| member.needs_after() == needs)
        {
            return;
        }
        let needs = self.members.iter().map(|(session, member)| (member.needs_after(), *session));
        let (floor, slowest) = needs.min().unzip();
        let floor = floor.unwrap_or(u64::MAX);
        self.stream.slowest = slowest.filter(|_| floor < u64::MAX).map(|session| (session, floor));
        self.stream.ring.trim(floor);
        // The store learns that a key is cleared from the key itself. A zone that is not gated stores
        // its whole state every time.
        let kept = if self.config.durability.is_gated() { self.dirty.said } else { u64::MAX };
        self.stream.latest.trim(floor.min(kept));
    }

    /// Members on a link who missed something for good and can be given the whole state now.
    pub(crate) fn overrun(&mut self) -> Vec<SessionId> {
        let mut due = Vec::new();
        let missed = self.missed.take();
        for session in &missed {
            let member = self.members.get_mut(*session).filter(|member| member.is_active());
            if member.is_some_and(|member| member.outbound.take_overrun()) {
                due.push(*session);
            }
        }
        self.missed.give_back(missed);
        due
    }

    /// A frame is about to leave for a member; false if its link is not the member's any more. From now
    /// on the member is expected to acknowledge it, if it has a number.
    pub(crate) fn leaves(
        &mut self,
        now: Time,
        session: SessionId,
        link: Link,
        number: Option<u64>,
    ) -> bool {
        let progress = self.config.progress;
        let member = self.members.get_mut(session);
        member
            .is_some_and(|m| leaves(&mut self.deadlines, now, progress, (session, m), link, number))
    }

    /// The same for a frame that leaves for several members: keeps those for whom it does.
    pub(crate) fn leaves_for_many(
        &mut self,
        now: Time,
        to: &mut Vec<(SessionId, Link)>,
        number: Option<u64>,
    ) {
        if to.len() < self.members.len() / WALK_SHARE {
            return to.retain(|(session, link)| self.leaves(now, *session, *link, number));
        }
        // Most members hear it: one walk through all is cheaper than a search for each.
        let (deadlines, progress) = (&mut self.deadlines, self.config.progress);
        let mut members = self.members.iter_mut().peekable();
        to.retain(|(session, link)| {
            while members.next_if(|(id, _)| id < session).is_some() {}
            let member = members.next_if(|(id, _)| id == session);
            member.is_some_and(|member| leaves(deadlines, now, progress, member, *link, number))
        });
    }

    /// Compares what is counted and indexed with a search of all members.
    pub(crate) fn check_indexes(&self) -> Result<(), String> {
        self.members.check()?;
        for (session, member) in self.members.iter().filter(|(_, member)| member.is_active()) {
            if member.outbound.is_overrun_unseen() && !self.missed.contains(*session) {
                return Err(format!("{session} has missed something and nobody looks at it"));
            }
            let next = member.next_deadline();
            if next.is_some_and(|next| member.alarm_at.is_none_or(|at| at > next)) {
                return Err(format!("{session} has a deadline at {next:?} that nobody looks at"));
            }
            let newest = member.outbound.own().back().map_or(0, |kept| kept.seq);
            if newest > self.dirty.said && !self.dirty.members.contains(*session) {
                return Err(format!("{newest} was said to {session} and is in no cut to come"));
            }
            let is_untold = member.inbound.unacked() > 0 && member.outbound.link().is_some();
            if is_untold && !self.untold.contains(*session) {
                let applied = member.inbound.applied();
                return Err(format!("nobody will tell {session} that {applied} is applied"));
            }
        }
        Ok(())
    }

    fn window(&self) -> SendWindow {
        SendWindow { frames: self.config.window_frames, bytes: self.config.window_bytes }
    }

    /// Without this a zone would keep all it ever said up to its bounds, long after everybody has
    /// it. Looked at again when the ring has doubled, so that a step does not pay for all members.
    fn bound_ring(&mut self) {
        if self.stream.ring.len() >= self.stream.trim_at.max(TRIM_LEAST) {
            self.trim();
            self.stream.trim_at = 2 * self.stream.ring.len();
        }
        let (frames_max, bytes_max) = (self.config.ring_frames_max, self.config.ring_bytes_max);
        let over = |ring: &Ring| ring.len() > frames_max || ring.bytes() > bytes_max;
        if !over(&self.stream.ring) {
            return;
        }
        self.trim();
        while over(&self.stream.ring) {
            let Some(entry) = self.stream.ring.pop() else { break };
            hit(Mark::RingEvicted);
            match &entry.to {
                Recipients::Only(sessions) => {
                    for session in sessions.iter() {
                        self.lose(*session, entry.seq);
                    }
                }
                // As many as heard it when it was said.
                Recipients::All | Recipients::Except(_) => {
                    let meant = self.members.keys().filter(|session| entry.to.contains(**session));
                    for session in meant.copied().collect::<Vec<_>>() {
                        self.lose(session, entry.seq);
                    }
                }
            }
        }
    }

    /// The ring has forgotten an entry that was meant for a session. One that has left meanwhile misses
    /// nothing: what it had not acknowledged then is its own.
    fn lose(&mut self, session: SessionId, seq: u64) {
        if let Some(member) = self.members.get_mut(session)
            && seq > member.joined
            && member.is_active()
            && !member.native
            && member.outbound.lose(seq)
        {
            self.missed.insert(session);
            self.dirty.members.insert(session);
        }
    }
}

/// Whether a frame leaves for a member: not if it was dropped or taken over while the frame waited for its cut.
fn leaves(
    deadlines: &mut Deadlines,
    now: Time,
    progress: Duration,
    (session, member): (SessionId, &mut Member),
    link: Link,
    number: Option<u64>,
) -> bool {
    if member.outbound.link() != Some(link) {
        return false;
    }
    if let Some(number) = number
        && member.outbound.released(number)
        && member.is_active()
    {
        member.outbound.expect_by(deadlines.service(now).after(progress));
        deadlines.arm(session, member);
    }
    true
}

/// What a zone keeps for several members, as one of them hears it.
struct Shared<'a> {
    stream: &'a Stream,
    session: SessionId,
    joined: u64,
}

impl SharedFrames for Shared<'_> {
    fn after(&self, after: u64) -> impl Iterator<Item = (u64, &SharedFrame)> {
        let start = after.max(self.joined.saturating_sub(1));
        let entries = self.stream.ring.after(start).filter(|entry| entry.to.contains(self.session));
        let values = self.stream.latest.after(start).map(|(_, value)| (value.seq, &value.frame));
        merged(entries.map(|entry| (entry.seq, &entry.frame)), values)
    }
}

/// Addresses a frame of several to a member, if it is one that frames are for. Gives the link on which it goes out
/// now; none: it waits for a connection, or for room in the window.
fn address(window: SendWindow, member: &mut Member, (seq, size): (u64, usize)) -> Option<Link> {
    match member.native || !member.is_active() {
        true => None,
        false => member.outbound.offer(seq, size, window),
    }
}
