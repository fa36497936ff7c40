//! What one client is owed of one leg, and how far it has read. A client's link carries at most a window of
//! unacknowledged frames; what does not fit waits. What waits too long is forgotten, and its reader is
//! given the whole state instead.

use std::cmp::Ordering;
use std::collections::VecDeque;

use rejoin_wire::SharedFrame;
use rejoin_wire::v1::RungReason;

use super::{Kept, OutboxLimits, Tail};
use crate::exchange::{InPlace, Link, ResumeFrom};
use crate::id::Leg;
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::time::Time;

/// Frames that several readers share: the ring and the latest values of a zone.
pub(crate) trait SharedFrames {
    /// The shared frames after a number that this reader is meant to hear, in the order of their numbers.
    fn after(&self, after: u64) -> impl Iterator<Item = (u64, &SharedFrame)>;
}

/// A session in no zone shares its stream with nobody.
pub(crate) struct NoShared;

impl SharedFrames for NoShared {
    fn after(&self, _: u64) -> impl Iterator<Item = (u64, &SharedFrame)> {
        std::iter::empty()
    }
}

/// How much a link may carry unacknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendWindow {
    pub frames: usize,
    pub bytes: usize,
}

impl From<OutboxLimits> for SendWindow {
    /// A session in no zone may have everything on its link that is kept for it.
    fn from(limits: OutboxLimits) -> Self {
        Self { frames: limits.frames_max, bytes: limits.bytes_max }
    }
}

/// What one reader is owed of the open leg.
#[derive(Debug)]
pub(crate) struct Outbound {
    leg: Leg,
    /// The highest number addressed to this reader.
    newest: u64,
    /// The highest number its client has.
    acked: u64,
    /// The highest number that was forgotten before its client had it.
    lost: u64,
    /// Why the stream before this turn of the leg was given up.
    reset: RungReason,
    /// What was said to this reader alone and is not acknowledged.
    own: VecDeque<Kept>,
    own_bytes: usize,
    /// None while the reader is not connected.
    sending: Option<Box<Sending>>,
}

/// How far the present link is.
#[derive(Debug)]
struct Sending {
    link: Link,
    /// The highest number put on the link; it may still wait for its commit.
    sent: u64,
    /// The highest number that has left.
    left: u64,
    /// Numbers and sizes of what is on the link and not acknowledged.
    in_flight: VecDeque<(u64, usize)>,
    in_flight_bytes: usize,
    resync: Option<Resyncing>,
    /// An acknowledgement is due by then, in service time.
    progress_at: Option<Time>,
}

/// A resync that the client has not acknowledged yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Resyncing {
    seq: u64,
    /// Another one is due once this one is acknowledged.
    again: bool,
}

/// The client acknowledges what it was never sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AckAhead;

/// What came of an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Acked {
    /// It is of an earlier turn of the leg, or nobody is connected: it says nothing.
    Stale,
    /// Taken.
    Taken {
        /// The reader was overrun while a resync was on its way.
        is_overrun: bool,
        /// The client has made progress and owes more: its deadline begins anew.
        is_due: bool,
    },
}

impl Outbound {
    /// A leg of which nothing has been said yet.
    pub(crate) fn new(leg: Leg) -> Self {
        Self {
            leg,
            newest: 0,
            acked: 0,
            lost: 0,
            reset: RungReason::Unspecified,
            own: VecDeque::new(),
            own_bytes: 0,
            sending: None,
        }
    }

    /// A leg as it was stored.
    pub(crate) fn restored(tail: Tail, lost: u64, reset: RungReason) -> Self {
        let Tail { leg, from, last, kept } = tail;
        let own_bytes = kept.iter().map(|kept| kept.frame.len()).sum();
        Self { leg, newest: last, acked: from, lost, reset, own: kept, own_bytes, sending: None }
    }

    /// The reader is connected, and has or will be sent everything up to `sent` by others.
    pub(crate) fn attach(&mut self, link: Link, sent: u64) {
        self.sending = Some(Box::new(Sending {
            link,
            sent,
            left: 0,
            in_flight: VecDeque::new(),
            in_flight_bytes: 0,
            resync: None,
            progress_at: None,
        }));
    }

    /// The link is gone; what was on it may not have arrived.
    pub(crate) fn detach(&mut self) {
        self.sending = None;
        // A reader that is gone may be gone for long.
        self.own.shrink_to_fit();
    }

    /// Keeps a frame for this reader alone, and so many frames and bytes at the most. True: older ones had to
    /// be forgotten for it.
    pub(crate) fn keep(&mut self, kept: Kept, most: SendWindow) -> bool {
        self.own_bytes += kept.frame.len();
        self.own.push_back(kept);
        self.bound(most)
    }

    /// Forgets the oldest own frames until no more are kept than may be. True: there were some.
    pub(crate) fn bound(&mut self, most: SendWindow) -> bool {
        let mut has_lost = false;
        while self.own.len() > most.frames || self.own_bytes > most.bytes {
            let Some(seq) = self.forget_first() else { break };
            self.lost = self.lost.max(seq);
            has_lost = true;
        }
        has_lost
    }

    /// A frame of this number is meant for this reader. Gives the link that it goes out on at once, if the
    /// reader has been sent everything before it and its window has room.
    #[inline]
    pub(crate) fn offer(&mut self, seq: u64, bytes: usize, window: SendWindow) -> Option<Link> {
        let before = std::mem::replace(&mut self.newest, seq);
        let sending = self.sending.as_mut()?;
        if before > sending.sent || !sending.has_room(window) {
            hit(Mark::WindowClosed);
            return None;
        }
        Some(sending.put(seq, bytes))
    }

    /// Puts on the link what is kept and not on it yet, as far as the window allows, and gives that.
    pub(crate) fn send_waiting(
        &mut self,
        shared: &impl SharedFrames,
        window: SendWindow,
    ) -> Vec<(u64, SharedFrame)> {
        let mut sent = Vec::new();
        // Nothing is said past a hole: the reader is given the whole state first.
        let may_send =
            |sending: &&mut Box<Sending>| self.newest > sending.sent && self.lost <= sending.sent;
        if let Some(sending) = self.sending.as_mut().filter(may_send) {
            for (seq, frame) in frames_after(&self.own, shared, sending.sent) {
                if !sending.has_room(window) {
                    hit(Mark::WindowClosed);
                    return sent;
                }
                sending.put(seq, frame.len());
                sent.push((seq, frame.clone()));
            }
            sending.sent = self.newest;
        }
        sent
    }

    /// A frame has left on its link. True: an acknowledgement is due from now on, and there is no deadline
    /// for it yet.
    #[inline]
    pub(crate) fn released(&mut self, seq: u64) -> bool {
        let acked = self.acked;
        self.sending.as_mut().is_some_and(|sending| {
            sending.left = sending.left.max(seq);
            sending.progress_at.is_none() && sending.owes(acked)
        })
    }

    /// The client has everything of a leg up to a number.
    ///
    /// # Errors
    /// It was never sent that.
    pub(crate) fn acknowledge(&mut self, leg: Leg, seq: u64) -> Result<Acked, AckAhead> {
        let sending = match (leg.cmp(&self.leg), self.sending.as_mut()) {
            (Ordering::Greater, _) => return Err(AckAhead),
            (Ordering::Less, _) | (Ordering::Equal, None) => return Ok(Acked::Stale),
            (Ordering::Equal, Some(sending)) if seq > sending.sent => return Err(AckAhead),
            (Ordering::Equal, Some(sending)) => sending,
        };
        let has_progressed = seq > self.acked;
        let resync = sending.resync.take_if(|resync| seq >= resync.seq);
        let is_overrun = resync.is_some_and(|resync| resync.again);
        while sending.in_flight.front().is_some_and(|(number, _)| *number <= seq) {
            if let Some((_, bytes)) = sending.in_flight.pop_front() {
                sending.in_flight_bytes -= bytes;
            }
        }
        if is_overrun {
            self.lost = self.lost.max(sending.sent + 1);
        }
        let owes = sending.owes(self.acked.max(seq));
        if !owes {
            sending.progress_at = None;
        }
        self.forget_through(seq);
        Ok(Acked::Taken { is_overrun, is_due: owes && has_progressed })
    }

    /// Forgets what the client has.
    fn forget_through(&mut self, seq: u64) {
        self.acked = self.acked.max(seq);
        while self.own.front().is_some_and(|kept| kept.seq <= seq) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) -> Option<u64> {
        let kept = self.own.pop_front()?;
        self.own_bytes -= kept.frame.len();
        Some(kept.seq)
    }

    /// A shared frame was forgotten that was meant for this reader. True: its client had not had it.
    pub(crate) fn lose(&mut self, seq: u64) -> bool {
        let is_lost = self.acked < seq;
        if is_lost {
            self.lost = self.lost.max(seq);
        }
        is_lost
    }

    /// Whether the reader is connected, has missed something for good, and is to be given the whole state
    /// now. While one resync is not acknowledged the next waits.
    pub(crate) fn take_overrun(&mut self) -> bool {
        match self.sending.as_deref_mut() {
            Some(Sending { sent, resync: Some(resync), .. }) if self.lost > *sent => {
                resync.again = true;
                false
            }
            Some(Sending { sent, resync: None, .. }) => self.lost > *sent,
            // Nothing is missed; or who is not connected is looked at on its return.
            Some(Sending { resync: Some(_), .. }) | None => false,
        }
    }

    /// Whether [`take_overrun`](Self::take_overrun) has not been asked since something was missed.
    pub(crate) fn is_overrun_unseen(&self) -> bool {
        self.sending.as_ref().is_some_and(|sending| {
            self.lost > sending.sent && !sending.resync.is_some_and(|resync| resync.again)
        })
    }

    /// Whether a client can go on in this leg, and after which number; none: from its start, after what
    /// earlier legs still owe. `next_leg` is the one that a resync would open.
    ///
    /// # Errors
    /// Why it is given the whole state instead.
    pub(crate) fn resume(
        &self,
        from: &ResumeFrom,
        next_leg: Option<Leg>,
    ) -> Result<Option<u64>, RungReason> {
        match from {
            ResumeFrom::Lost(reason) => Err(*reason),
            // A client takes a leg above its own, unless its own is told to be unknown.
            ResumeFrom::RolledBack(leg) => Err(match next_leg {
                Some(next) if *leg < next => RungReason::RolledBack,
                _ => RungReason::UnknownPosition,
            }),
            ResumeFrom::Start => {
                let is_whole = self.leg.turn == 0 && self.lost == 0 && self.acked == 0;
                if is_whole { Ok(None) } else { Err(self.given_up()) }
            }
            ResumeFrom::InPlace(known) => self.go_on_after(*known).map(Some),
            ResumeFrom::Position(leg, seq) => {
                if *leg > self.leg || (*leg == self.leg && *seq > self.newest) {
                    Err(RungReason::UnknownPosition)
                } else if *leg != self.leg || *seq < self.lost.max(self.acked) {
                    Err(self.given_up())
                } else if is_armed(Bug::ResyncedForNothing) && seq % 2 == 0 {
                    Err(RungReason::Overrun)
                } else {
                    Ok(Some(*seq))
                }
            }
        }
    }

    /// After which number a client goes on that has stayed connected.
    fn go_on_after(&self, InPlace { acked, sent }: InPlace) -> Result<u64, RungReason> {
        let of_this_turn = |at: Option<(Leg, u64)>| at.filter(|(leg, _)| *leg == self.leg);
        let at = of_this_turn(sent).or(of_this_turn(acked)).map(|(_, seq)| seq);
        // A turn begins with a resync, which may have been kept and not sent.
        let at = at.or((self.leg.turn == 0).then_some(0)).ok_or(RungReason::RolledBack)?;
        let at = at.max(self.acked);
        if at > self.newest {
            return Err(RungReason::UnknownPosition);
        }
        if at < self.lost { Err(self.given_up()) } else { Ok(at) }
    }

    fn given_up(&self) -> RungReason {
        match self.reset {
            RungReason::RolledBack => RungReason::RolledBack,
            _ => RungReason::Overrun,
        }
    }

    /// Goes on for a client that returns, after the number that [`resume`](Self::resume) gave.
    pub(crate) fn replay(&mut self, link: Link, position: Option<u64>) {
        if let Some(seq) = position {
            self.forget_through(seq);
        }
        self.attach(link, position.unwrap_or(0));
        if let Some(sending) = self.sending.as_mut() {
            // It has that from another link.
            sending.left = sending.sent;
        }
    }

    /// Goes on for a client that has stayed connected and was sent everything up to `sent`. What of that it has
    /// not acknowledged may still be on its way. True: it owes an acknowledgement.
    pub(crate) fn go_on(
        &mut self,
        link: Link,
        (acked, sent): (Option<(Leg, u64)>, u64),
        shared: &impl SharedFrames,
    ) -> bool {
        if let Some((_, seq)) = acked.filter(|(leg, _)| *leg == self.leg) {
            self.forget_through(seq);
        }
        let kept = frames_after(&self.own, shared, self.acked);
        let on_its_way = kept.take_while(|(seq, _)| *seq <= sent);
        let on_its_way: Vec<_> = on_its_way.map(|(seq, frame)| (seq, frame.len())).collect();
        self.attach(link, sent);
        let acked = self.acked;
        self.sending.as_mut().is_some_and(|sending| {
            for (seq, bytes) in on_its_way {
                sending.put(seq, bytes);
            }
            (sending.sent, sending.left) = (sent, sent);
            sending.owes(acked)
        })
    }

    /// Starts afresh after `seq` in another turn of the leg: what came before is given up. The reader, if it
    /// is connected, is being sent the whole state as of that number.
    pub(crate) fn restart(&mut self, leg: Leg, seq: u64, reason: RungReason, link: Option<Link>) {
        *self = Self { newest: seq, acked: seq, reset: reason, ..Self::new(leg) };
        if let Some(link) = link {
            self.attach(link, seq);
            if let Some(sending) = self.sending.as_mut() {
                sending.resync = Some(Resyncing { seq, again: false });
            }
        }
    }

    /// Everything that is not acknowledged, in order.
    pub(crate) fn unacknowledged(&self, shared: &impl SharedFrames) -> VecDeque<Kept> {
        let kept = frames_after(&self.own, shared, self.after());
        let kept = kept.take_while(|(seq, _)| *seq <= self.newest);
        kept.map(|(seq, frame)| Kept { seq, frame: frame.clone() }).collect()
    }

    /// The leg is over with this number: from here on all of its rest is this reader's own.
    pub(crate) fn close(&mut self, last: u64, kept: VecDeque<Kept>) {
        self.newest = last;
        self.own_bytes = kept.iter().map(|kept| kept.frame.len()).sum();
        self.own = kept;
        self.expect_nothing();
    }

    /// The end of the leg, once it is closed or if nothing of it is shared.
    pub(crate) fn tail(&self) -> Tail {
        Tail { leg: self.leg, from: self.after(), last: self.newest, kept: self.own.clone() }
    }

    /// The same where the leg is not needed any more.
    pub(crate) fn into_tail(self) -> Tail {
        Tail { from: self.after(), leg: self.leg, last: self.newest, kept: self.own }
    }

    /// No acknowledgement is due.
    pub(crate) fn expect_nothing(&mut self) {
        if let Some(sending) = self.sending.as_mut() {
            sending.progress_at = None;
        }
    }

    /// An acknowledgement is due by another instant.
    pub(crate) fn expect_by(&mut self, at: Time) {
        if let Some(sending) = self.sending.as_mut() {
            sending.progress_at = Some(at);
        }
    }

    /// When an acknowledgement is due, in service time.
    pub(crate) fn progress_at(&self) -> Option<Time> {
        self.sending.as_ref()?.progress_at
    }

    /// The leg, with the turn of its stream.
    pub(crate) fn leg(&self) -> Leg {
        self.leg
    }

    /// The link of the connected reader.
    pub(crate) fn link(&self) -> Option<Link> {
        self.sending.as_ref().map(|sending| sending.link)
    }

    /// The highest number put on the present link; 0 while there is none.
    pub(crate) fn sent(&self) -> u64 {
        self.sending.as_ref().map_or(0, |sending| sending.sent)
    }

    /// The last number of the present turn that has left on the present link, with its leg; none before the first.
    /// Frames of the turn before may leave when the next has begun already; the resync between them has the number
    /// of the last.
    pub(crate) fn left(&self) -> Option<(Leg, u64)> {
        let sending = self.sending.as_ref()?;
        let before = sending.resync.map_or(0, |resync| resync.seq);
        (sending.left > before).then_some((self.leg, sending.left))
    }

    /// The highest number addressed to this reader.
    pub(crate) fn newest(&self) -> u64 {
        self.newest
    }

    /// The highest number its client has.
    pub(crate) fn acked(&self) -> u64 {
        self.acked
    }

    /// The highest number that was forgotten before its client had it.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Everything after this number is still here.
    pub(crate) fn after(&self) -> u64 {
        self.acked.max(self.lost)
    }

    /// The leg, the number after which everything of it is still here, and its newest number.
    pub(crate) fn ends(&self) -> (Leg, u64, u64) {
        (self.leg, self.after(), self.newest)
    }

    /// Why the stream before this turn was given up.
    pub(crate) fn reset(&self) -> RungReason {
        self.reset
    }

    /// How many frames are kept for this reader alone, and their bytes.
    pub(crate) fn own_size(&self) -> (usize, usize) {
        (self.own.len(), self.own_bytes)
    }

    /// What is kept for this reader alone, in the order of the numbers.
    pub(crate) fn own(&self) -> &VecDeque<Kept> {
        &self.own
    }
}

impl Sending {
    fn has_room(&self, window: SendWindow) -> bool {
        self.in_flight.len() < window.frames && self.in_flight_bytes < window.bytes
    }

    fn put(&mut self, seq: u64, bytes: usize) -> Link {
        self.sent = seq;
        self.in_flight.push_back((seq, bytes));
        self.in_flight_bytes += bytes;
        self.link
    }

    /// Whether something has left that the client has not acknowledged.
    fn owes(&self, acked: u64) -> bool {
        self.left > acked || self.resync.is_some()
    }
}

/// Everything that is kept after a number, for this reader alone or for several, in the order of the numbers.
fn frames_after<'a>(
    own: &'a VecDeque<Kept>,
    shared: &'a impl SharedFrames,
    after: u64,
) -> impl Iterator<Item = (u64, &'a SharedFrame)> {
    let start = own.partition_point(|kept| kept.seq <= after);
    merged(own.range(start..).map(|kept| (kept.seq, &kept.frame)), shared.after(after))
}

/// Two rows of numbered frames as one, in the order of the numbers.
pub(crate) fn merged<'a>(
    one: impl Iterator<Item = (u64, &'a SharedFrame)>,
    other: impl Iterator<Item = (u64, &'a SharedFrame)>,
) -> impl Iterator<Item = (u64, &'a SharedFrame)> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some((seq, _)), Some((first, _))) if first < seq => other.next(),
        (Some(_), _) => one.next(),
        (None, _) => other.next(),
    })
}
