//! What a connection keeps of the session that it speaks for: where numbered frames go, and those that are not
//! applied yet. A frame is handed on as soon as it comes and kept until it is applied. When the session changes
//! its place, whoever consumes the frames from then on says so, and all that are kept go there in their order.

use std::collections::VecDeque;

use rejoin_wire::v1::{Position, Up};

use super::message::Routed;
use crate::id::{SessionEpoch, SessionId};
use crate::planted::{Bug, is_armed};
use crate::time::Time;

/// What becomes of a numbered frame that came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    /// It is kept, and to be handed on.
    Next,
    /// It is kept already.
    Kept,
    /// It is consumed. What its client may know to be applied is everything up to this number.
    Applied(u64),
    /// This number should have come.
    Gap(u64),
    /// More is not applied than a client may send.
    BeyondWindow,
}

/// What is kept of a connection that speaks for a session. Instants are in service time.
pub(super) struct Attachment {
    pub session: SessionId,
    pub epoch: SessionEpoch,
    /// Where frames go; none before the Welcome.
    pub routed: Option<Routed>,
    /// The number that comes next.
    next: u64,
    /// The highest number that the client was told is applied. What is routed may know more before that is
    /// committed.
    told: u64,
    /// Frames that came and are not applied, and their sizes.
    unapplied: VecDeque<(Up, usize)>,
    unapplied_bytes: usize,
    /// Its client has sent nothing since the Welcome.
    pub is_unconfirmed: bool,
    /// The last acknowledgement that went to a zone.
    pub acked: Option<(u32, Position)>,
    /// A ping that has not been answered: its nonce and when it was sent.
    pub ping: Option<(u64, Time)>,
    /// The nonce of the next ping.
    pub nonce: u64,
    pub ping_at: Time,
    pub silence_at: Time,
    /// When the client sent the last message.
    pub active_at: Time,
}

impl Attachment {
    pub(super) fn new(session: SessionId, epoch: SessionEpoch, nonce: u64) -> Self {
        Self {
            session,
            epoch,
            routed: None,
            next: 1,
            told: 0,
            unapplied: VecDeque::new(),
            unapplied_bytes: 0,
            is_unconfirmed: true,
            acked: None,
            ping: None,
            nonce,
            ping_at: Time::ZERO,
            silence_at: Time::ZERO,
            active_at: Time::ZERO,
        }
    }

    fn applied(&self) -> u64 {
        self.routed.map_or(0, |routed| routed.applied)
    }

    /// A numbered frame of so many bytes came. It is kept if it is the next.
    pub(super) fn receive(&mut self, up: &Up, bytes: usize, (frames, most): (u32, u32)) -> Arrival {
        if up.seq <= self.applied() {
            return Arrival::Applied(self.told);
        }
        if up.seq != self.next {
            return if up.seq < self.next { Arrival::Kept } else { Arrival::Gap(self.next) };
        }
        // One frame larger than the window goes alone.
        let has_bytes = self.unapplied.is_empty()
            || self.unapplied_bytes.saturating_add(bytes) <= most as usize;
        if self.unapplied.len() >= frames.max(1) as usize || !has_bytes {
            return Arrival::BeyondWindow;
        }
        self.next += 1;
        self.unapplied_bytes += bytes;
        self.unapplied.push_back((up.clone(), bytes));
        Arrival::Next
    }

    /// The client is about to be told that everything up to this number is applied.
    pub(super) fn tell_applied(&mut self, seq: u64) {
        self.told = self.told.max(seq);
        self.apply(seq);
    }

    /// Everything up to this number is consumed.
    pub(super) fn apply(&mut self, seq: u64) {
        if let Some(routed) = &mut self.routed
            && routed.applied < seq
        {
            routed.applied = seq;
            self.next = self.next.max(seq.saturating_add(1));
            while let Some((_, bytes)) = self.unapplied.pop_front_if(|(up, _)| up.seq <= seq) {
                self.unapplied_bytes -= bytes;
            }
        }
    }

    /// Takes the news of where frames go from here on; false if it is older than what is known.
    pub(super) fn route(&mut self, routed: Routed) -> bool {
        let Routed { stay, route, applied } = routed;
        let known = self.routed.map(|known| (known.stay, known.route));
        let is_older = known.is_some_and(|known| (stay, route) < known);
        if is_older && !is_armed(Bug::OlderRouteTaken) {
            return false;
        }
        let before = self.applied();
        self.routed = Some(Routed { applied: before, ..routed });
        match known {
            Some(_) => self.apply(applied),
            // The Welcome says so.
            None => self.tell_applied(applied),
        }
        true
    }

    /// The frames that are not applied, in their order.
    pub(super) fn unapplied(&self) -> impl Iterator<Item = &Up> {
        self.unapplied.iter().map(|(up, _)| up)
    }

    /// The lowest number that the client may still hold.
    pub(super) fn oldest_unacked(&self) -> u64 {
        self.applied().saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    //! A frame is kept until it is applied, and the place that is named last gets what is left.
    use super::super::message::Route;
    use super::*;
    use crate::id::{OwnerEpoch, ZoneId};

    const WINDOW: (u32, u32) = (3, 100);

    fn up(seq: u64) -> Up {
        Up { seq, body: None }
    }

    fn attached(applied: u64) -> Attachment {
        let mut attachment = Attachment::new(SessionId(1), SessionEpoch(1), 0);
        assert!(attachment.route(Routed { stay: 1, route: Route::Session, applied }));
        attachment
    }

    fn left(attachment: &Attachment) -> Vec<u64> {
        attachment.unapplied().map(|up| up.seq).collect()
    }

    #[test]
    fn a_number_is_taken_once_and_in_order() {
        let mut attachment = attached(7);
        assert_eq!(attachment.receive(&up(9), 1, WINDOW), Arrival::Gap(8));
        assert_eq!(attachment.receive(&up(7), 1, WINDOW), Arrival::Applied(7));
        assert_eq!(attachment.receive(&up(8), 1, WINDOW), Arrival::Next);
        assert_eq!(attachment.receive(&up(8), 1, WINDOW), Arrival::Kept);
        attachment.apply(8);
        assert_eq!(attachment.receive(&up(8), 1, WINDOW), Arrival::Applied(7), "not committed");
        attachment.tell_applied(8);
        assert_eq!(attachment.receive(&up(8), 1, WINDOW), Arrival::Applied(8));
        attachment.apply(3);
        assert_eq!(attachment.oldest_unacked(), 9, "what is applied stays applied");
    }

    #[test]
    fn the_window_counts_what_is_not_applied() {
        let mut attachment = attached(0);
        for seq in 1..=3 {
            assert_eq!(attachment.receive(&up(seq), 1, WINDOW), Arrival::Next);
        }
        assert_eq!(attachment.receive(&up(4), 1, WINDOW), Arrival::BeyondWindow);
        attachment.apply(2);
        assert_eq!(attachment.receive(&up(4), 99, WINDOW), Arrival::Next);
        assert_eq!(attachment.receive(&up(5), 1, WINDOW), Arrival::BeyondWindow, "by its bytes");
        attachment.apply(4);
        assert_eq!(attachment.receive(&up(5), 1_000, WINDOW), Arrival::Next, "it goes alone");
    }

    #[test]
    fn an_older_place_is_not_taken_and_a_newer_one_gets_what_is_left() {
        let mut attachment = attached(0);
        for seq in 1..=3 {
            attachment.receive(&up(seq), 1, WINDOW);
        }
        let zone = |owner| Route::Zone(OwnerEpoch(owner), ZoneId(5));
        assert!(attachment.route(Routed { stay: 2, route: Route::Nowhere, applied: 1 }));
        assert!(attachment.route(Routed { stay: 2, route: zone(1), applied: 1 }));
        assert_eq!(left(&attachment), [2, 3]);
        assert!(!attachment.route(Routed { stay: 1, route: Route::Session, applied: 0 }));
        assert!(attachment.route(Routed { stay: 2, route: zone(2), applied: 2 }));
        assert!(!attachment.route(Routed { stay: 2, route: zone(1), applied: 1 }));
        assert_eq!(left(&attachment), [3]);
    }
}
