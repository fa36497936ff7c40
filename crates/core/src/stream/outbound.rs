//! What one client is owed of one leg, and how far it has read. A client's link carries at most a window of
//! unacknowledged frames; what does not fit waits. What waits too long is forgotten, and its reader is
//! given the whole state instead.

mod resume;

use std::cmp::Ordering;
use std::collections::VecDeque;

use rejoin_wire::SharedFrame;
use rejoin_wire::v1::RungReason;

use super::sending::Sending;
use super::shared::{SharedFrames, frames_after};
use super::{Kept, OutboxLimits, Tail};
use crate::exchange::{InPlace, Link};
use crate::id::Leg;
use crate::mark::{Mark, hit};
use crate::time::Time;

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

    /// After which number a client goes on that has stayed connected.
    fn go_on_after(&self, InPlace { acked, sent }: InPlace) -> Result<u64, RungReason> {
        let of_this_turn = |at: Option<(Leg, u64)>| at.filter(|(leg, _)| *leg == self.leg);
        let at = of_this_turn(sent).or(of_this_turn(acked)).map(|(_, seq)| seq);
        // A turn begins with a resync, which may have been kept and not sent: it is sent for the same reason again.
        let at = at.or((self.leg.turn == 0).then_some(0)).ok_or_else(|| self.given_up())?;
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
