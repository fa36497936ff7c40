//! What of one address's datagrams ENet may see. Nothing that would have to be kept beyond a bound,
//! nothing while its reader is behind, and nothing that no peer of ours sends. What is held back was not
//! acknowledged and comes again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rejoin_wire::DecodeError;
use rejoin_wire::enet::datagram::{Command, Datagram, Kind};
use rejoin_wire::enet::{LOOSE_BYTES_MAX, RELIABLE, UNRELIABLE};

use super::window::ReliableWindow;

/// What may wait for one connection's reader before no more is let in: what a client may have
/// unacknowledged by our own window, and a little. A peer that keeps to the window is never held back
/// while its reader pauses; any other waits for ENet to send again, each time for twice as long.
const WAITING_BYTES_MAX: usize = 384 << 10;
const WAITING_FRAMES_MAX: usize = 384;
/// What a datagram without a message costs at least, as a ping does.
const CONTROL_BYTES_MIN: usize = 64;
/// Proofs of a stranger that may be wrong, as they are when a datagram was late.
const WRONG_PROOFS_MAX: u8 = 8;
/// Times of our answers to a stranger that are remembered.
const TIMES_MAX: usize = 8;

/// How much waits for a connection's reader. ENet's task adds, the reader's task removes.
#[derive(Debug, Default)]
pub(super) struct ReaderBacklog {
    bytes: AtomicUsize,
    frames: AtomicUsize,
    /// Bytes of control commands that were not charged yet.
    control: AtomicUsize,
}

impl ReaderBacklog {
    pub(super) fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
        self.frames.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn remove(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::AcqRel);
        self.frames.fetch_sub(1, Ordering::AcqRel);
    }

    /// A datagram came that carries nothing for the reader but must be charged.
    pub(super) fn add_control(&self, bytes: usize) {
        self.control.fetch_add(bytes.max(CONTROL_BYTES_MIN), Ordering::AcqRel);
    }

    /// What is to be charged by now.
    pub(super) fn take_control(&self) -> Option<usize> {
        Some(self.control.swap(0, Ordering::AcqRel)).filter(|bytes| *bytes > 0)
    }

    fn is_full(&self) -> bool {
        self.bytes.load(Ordering::Acquire) >= WAITING_BYTES_MAX
            || self.frames.load(Ordering::Acquire) >= WAITING_FRAMES_MAX
    }
}

/// A peer without a cookie, which has not proven yet that its address is its own.
#[derive(Debug, Default)]
struct Stranger {
    /// What it may still be sent: no more than it has sent.
    credit: usize,
    /// Our clock as our answers showed it; who has one of them tells it back.
    times: Vec<u16>,
    wrong: u8,
}

/// Decides about one address's datagrams, command by command.
#[derive(Debug)]
pub(super) struct Sieve {
    pub(super) waiting: Arc<ReaderBacklog>,
    stranger: Option<Stranger>,
    reliable: ReliableWindow,
    /// The next reliable number on the other channel: ENet sends one in 65,536 there.
    unreliable_next: u16,
    is_broken: bool,
}

/// What is let through of a datagram.
#[derive(Debug, Default)]
pub(super) struct SieveVerdict {
    /// So many bytes of it.
    pub(super) bytes: usize,
    /// How the peer broke the rules; set for the first time only.
    pub(super) broken: Option<DecodeError>,
    /// There is something in it that has not been delivered yet; its message is charged by itself.
    pub(super) has_message: bool,
}

/// What becomes of one command.
enum Fate {
    Pass,
    /// Not now, and what follows it neither.
    Hold,
    Break(DecodeError),
}

impl Sieve {
    /// For a peer that has proven its address by a cookie, or has not.
    pub(super) fn new(is_proven: bool) -> Self {
        Self {
            waiting: Arc::default(),
            stranger: (!is_proven).then(Stranger::default),
            reliable: ReliableWindow::new(),
            unreliable_next: 1,
            is_broken: false,
        }
    }

    pub(super) fn is_stranger(&self) -> bool {
        self.stranger.is_some()
    }

    /// Bytes came from there.
    pub(super) fn came(&mut self, bytes: usize) {
        if let Some(stranger) = &mut self.stranger {
            stranger.credit += bytes;
        }
    }

    /// Whether it may be sent this.
    pub(super) fn may_send(&mut self, datagram: &[u8]) -> bool {
        let Some(stranger) = &mut self.stranger else { return true };
        let Some(credit) = stranger.credit.checked_sub(datagram.len()) else { return false };
        stranger.credit = credit;
        if let Some(time) = Datagram::read(datagram).and_then(|datagram| datagram.sent_time)
            && stranger.times.len() < TIMES_MAX
        {
            stranger.times.push(time);
        }
        true
    }

    /// How much of a datagram ENet may see.
    pub(super) fn look(&mut self, datagram: &Datagram<'_>, frame_bytes_max: usize) -> SieveVerdict {
        let mut look = SieveVerdict::default();
        for command in datagram.commands() {
            look.has_message |= self.is_undelivered(&command);
            match self.decide(&command, frame_bytes_max) {
                Fate::Pass => look.bytes = command.end,
                Fate::Hold => break,
                Fate::Break(error) => {
                    self.is_broken = true;
                    look.broken = Some(error);
                    break;
                }
            }
        }
        look
    }

    fn decide(&mut self, command: &Command, frame_bytes_max: usize) -> Fate {
        if command.kind.is_message() && (self.is_broken || self.waiting.is_full()) {
            return Fate::Hold;
        }
        let may = match (command.kind, command.channel) {
            (Kind::Acknowledge { sent_time }, _) => self.is_proven_by(sent_time),
            (Kind::Control, _) => true,
            (Kind::Connect { .. }, _) => false,
            (Kind::Fragment(fragment), _) if over(fragment.total, frame_bytes_max) => {
                return too_large("frame", fragment.total, frame_bytes_max);
            }
            (Kind::Reliable, RELIABLE) => {
                self.reliable.take(command.number, command.end - command.at)
            }
            (Kind::Fragment(fragment), RELIABLE) => {
                self.reliable.take_fragment(command.number, &fragment)
            }
            // Nothing may wait there, and if nothing waits here ENet refuses nothing.
            (Kind::Reliable, UNRELIABLE) => self.reliable.is_empty() && self.is_in_turn(command),
            (Kind::Unreliable, UNRELIABLE) => {
                command.number == self.unreliable_next.wrapping_sub(1)
            }
            (Kind::Unsequenced, UNRELIABLE) => true,
            (Kind::UnreliableFragment { total }, _) => {
                return too_large("loose", total, LOOSE_BYTES_MAX);
            }
            _ => return Fate::Break(DecodeError::Malformed { column: 0 }),
        };
        if may { Fate::Pass } else { Fate::Hold }
    }

    fn is_undelivered(&self, command: &Command) -> bool {
        match command.kind {
            Kind::Reliable | Kind::Fragment(_) if command.channel == RELIABLE => {
                !self.reliable.is_delivered(command.number)
            }
            kind => kind.is_message(),
        }
    }

    fn is_in_turn(&mut self, command: &Command) -> bool {
        match command.number.wrapping_sub(self.unreliable_next) {
            0 => {
                self.unreliable_next = self.unreliable_next.wrapping_add(1);
                true
            }
            ahead => ahead > u16::MAX / 2,
        }
    }

    /// A stranger that tells a time of ours has received what we sent; it cannot try often.
    fn is_proven_by(&mut self, sent_time: u16) -> bool {
        let Some(stranger) = &mut self.stranger else { return true };
        if stranger.wrong < WRONG_PROOFS_MAX && stranger.times.contains(&sent_time) {
            self.stranger = None;
            return true;
        }
        stranger.wrong = stranger.wrong.saturating_add(1);
        false
    }

    /// A message came out of ENet.
    pub(super) fn delivered(&mut self, channel: u8) {
        if channel == RELIABLE {
            self.reliable.delivered();
        }
    }
}

fn over(total: u32, max: usize) -> bool {
    usize::try_from(total).map_or(true, |total| total > max)
}

fn too_large(field: &'static str, total: u32, max: usize) -> Fate {
    let len = usize::try_from(total).unwrap_or(usize::MAX);
    Fate::Break(DecodeError::TooLarge { field, len, max })
}
