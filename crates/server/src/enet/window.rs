//! How far ahead of what has been delivered a peer may send. ENet keeps whatever comes early, up to
//! tens of thousands of messages, and a few bytes of a message make room for all of it. Here every
//! early number is known, and beyond a bound it is not let in: an honest peer sends it again. What is
//! delivered next is always let in: refused for what came early, nothing would ever be delivered again.

use std::collections::VecDeque;

use rejoin_wire::enet::datagram::Fragment;

/// Numbers ahead of the next one. The largest message of a client takes 128 of them on the smallest
/// datagrams that ENet knows.
const AHEAD_MAX: u16 = 192;
/// Bytes of messages that have begun, before none begins but the one that is delivered next. An honest
/// peer has parts of two of the largest on their way, and what is refused costs it a timeout.
pub(super) const EARLY_BYTES_MAX: usize = 144 << 10;

/// The reliable numbers of one peer on one channel.
#[derive(Debug)]
pub(super) struct ReliableWindow {
    /// The number that is delivered next.
    next: u16,
    /// What was let in from there on: a message, or a piece of one.
    early: VecDeque<Option<Piece>>,
    /// The bytes of the messages that these belong to.
    early_bytes: usize,
}

/// The message that a number belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Piece {
    start: u16,
    count: u16,
    /// Of the whole message.
    bytes: usize,
}

impl ReliableWindow {
    /// ENet counts from one.
    pub(super) fn new() -> Self {
        Self { next: 1, early: VecDeque::new(), early_bytes: 0 }
    }

    /// Whether nothing waits for delivery.
    pub(super) fn is_empty(&self) -> bool {
        self.early.is_empty()
    }

    /// Whether what has this number was delivered before.
    pub(super) fn is_delivered(&self, number: u16) -> bool {
        number.wrapping_sub(self.next) >= u16::MAX / 2
    }

    /// Whether a whole message of so many bytes may come in.
    pub(super) fn take(&mut self, number: u16, bytes: usize) -> bool {
        self.take_piece(number, Piece { start: number, count: 1, bytes })
    }

    /// Whether a piece may come in.
    pub(super) fn take_fragment(&mut self, number: u16, fragment: &Fragment) -> bool {
        let (Ok(count), Ok(index)) =
            (u16::try_from(fragment.count), u16::try_from(fragment.number))
        else {
            return false;
        };
        let is_in_place = fragment.start.wrapping_add(index) == number && index < count;
        // ENet makes one piece what fits into none, and no message is all pieces of no length.
        if !is_in_place || count > AHEAD_MAX || fragment.total < fragment.count {
            return false;
        }
        let bytes = usize::try_from(fragment.total).unwrap_or(usize::MAX);
        self.take_piece(number, Piece { start: fragment.start, count, bytes })
    }

    fn take_piece(&mut self, number: u16, piece: Piece) -> bool {
        let ahead = |number: u16| {
            let ahead = number.wrapping_sub(self.next);
            (ahead < u16::MAX / 2).then_some(ahead)
        };
        let (ahead, start) = match (ahead(number), ahead(piece.start)) {
            (Some(ahead), Some(start)) => (ahead, start),
            // Delivered: ENet says so again, and that may be what is missing.
            (None, None) => return true,
            // A message that is delivered has no pieces to come.
            _ => return false,
        };
        if ahead >= AHEAD_MAX {
            return false;
        }
        let range = usize::from(start)..usize::from(start + piece.count);
        let taken = || self.early.iter().take(range.end).skip(range.start).flatten();
        // Who was here first stays: ENet goes by the first piece, too.
        if taken().any(|other| *other != piece) {
            return false;
        }
        if taken().next().is_some() {
            return true;
        }
        let bytes = self.early_bytes.saturating_add(piece.bytes);
        if start > 0 && bytes > EARLY_BYTES_MAX {
            return false;
        }
        if self.early.len() < range.end {
            self.early.resize(range.end, None);
        }
        self.early_bytes = bytes;
        self.early.range_mut(range).for_each(|place| *place = Some(piece));
        true
    }

    /// The next message was delivered.
    pub(super) fn delivered(&mut self) {
        let (count, bytes) = match self.early.front() {
            Some(Some(piece)) if piece.start == self.next => (piece.count, piece.bytes),
            _ => (1, 0),
        };
        self.early_bytes = self.early_bytes.saturating_sub(bytes);
        self.next = self.next.wrapping_add(count);
        self.early.drain(..usize::from(count).min(self.early.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(start: u16, number: u32, count: u32) -> Fragment {
        Fragment { start, count, number, total: count * 1_000 }
    }

    #[test]
    fn order_is_kept_over_the_end_of_the_numbers() {
        let mut window = ReliableWindow::new();
        for number in 1..=200_000_u32 {
            assert!(window.take(number as u16, 10), "{number}");
            window.delivered();
        }
        assert!(window.is_empty());
    }

    #[test]
    fn what_is_too_far_ahead_comes_again() {
        let mut window = ReliableWindow::new();
        assert!(window.take(AHEAD_MAX, 10) && !window.take(AHEAD_MAX + 1, 10));
        assert!(window.take(1, 10));
        window.delivered();
        assert!(window.take(AHEAD_MAX + 1, 10));
        assert!(window.take(1, 10), "it is old: ENet acknowledges it once more");
    }

    #[test]
    fn pieces_belong_to_one_message_and_stand_in_their_place() {
        let mut window = ReliableWindow::new();
        assert!(window.take_fragment(4, &fragment(3, 1, 3)));
        assert!(!window.take(5, 10), "a piece stands there");
        assert!(!window.take_fragment(5, &fragment(4, 1, 3)), "another message, half over it");
        assert!(!window.take_fragment(5, &fragment(3, 2, 4)), "of another length");
        assert!(!window.take_fragment(7, &fragment(3, 1, 3)), "not where its number is");
        assert!(window.take(1, 10) && window.take(2, 10) && window.take(6, 10));
        window.delivered();
        window.delivered();
        assert!(window.take_fragment(3, &fragment(3, 0, 3)));
        assert!(window.take_fragment(5, &fragment(3, 2, 3)));
        window.delivered();
        assert!(window.take(6, 10), "its own place");
        window.delivered();
        assert!(window.is_empty());
        assert!(!window.take_fragment(7, &fragment(5, 2, 4)), "the rest of what is delivered");
    }

    #[test]
    fn a_million_pieces_are_none() {
        let mut window = ReliableWindow::new();
        assert!(!window.take_fragment(1, &fragment(1, 0, 1 << 20)));
        assert!(!window.take_fragment(1, &Fragment { start: 1, count: 9, number: 0, total: 8 }));
    }

    #[test]
    fn the_next_message_is_let_in_however_much_came_early() {
        let mut window = ReliableWindow::new();
        let large = |start: u16| Fragment { start, count: 40, number: 0, total: 48_000 };
        // The first one is lost on its way.
        for start in [41, 81, 121] {
            assert!(window.take_fragment(start, &large(start)), "{start}");
        }
        assert!(!window.take_fragment(161, &large(161)), "more than may wait");
        assert!(window.take_fragment(122, &Fragment { number: 1, ..large(121) }), "it has begun");
        assert!(window.take_fragment(1, &large(1)), "all the others wait for it");
        window.delivered();
        window.delivered();
        assert!(window.take_fragment(161, &large(161)), "there is room again");
        for _ in 0..3 {
            window.delivered();
        }
        assert!(window.is_empty() && window.early_bytes == 0);
    }
}
