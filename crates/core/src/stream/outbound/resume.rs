//! Where a stream goes on for a client that returns, or whose place runs again.

use rejoin_wire::v1::RungReason;

use super::super::sending::Resyncing;
use super::super::shared::{SharedFrames, frames_after};
use super::Outbound;
use crate::exchange::{Link, ResumeFrom};
use crate::id::Leg;
use crate::planted::{Bug, is_armed};

impl Outbound {
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
}
