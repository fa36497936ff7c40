//! The zones of the bench, and the stamp that they and the bare server put into what they send.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use rejoin_core::exchange::Hold;
use rejoin_core::zone::{Context, Durability, Sender, Zone, ZoneConfig};

use crate::machine::now;

/// Answers a request with itself, and says nothing of its own: whoever comes and goes is no news.
pub(crate) const ECHO: &str = "echo";
/// Says what a member says to the others; the relay of the server, at 20 Hz.
pub(crate) const RELAY: &str = "relay";
/// Says 200 bytes to all members, 20 times a second.
pub(crate) const BEAT: &str = "beat";
/// Time between two beats.
pub(crate) const PERIOD: Duration = Duration::from_millis(50);
const PERIOD_NANOS: u64 = 50_000_000;
/// One more than the beats that a zone makes up for.
const LATE_MAX: u64 = 6;
/// Bytes of a beat.
pub(crate) const BEAT_BYTES: usize = 200;
/// Nobody is given up while the bench counts.
pub(crate) const HOLD: Duration = Duration::from_secs(3_600);

/// How the zones of the bench run: they hold everybody.
pub(crate) fn config(durability: Durability, tick: Option<Duration>) -> ZoneConfig {
    ZoneConfig { durability, tick, hold: Hold::Timed(HOLD), ..ZoneConfig::default() }
}

/// When a beat was due and when it was said, so that a late one is seen as late.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    /// When it was said.
    pub(crate) said: u64,
    /// When it should have been.
    pub(crate) due: u64,
}

impl Stamp {
    /// The stamp and as many more bytes as are asked for.
    pub(crate) fn payload(self, bytes: usize) -> Bytes {
        let mut payload = BytesMut::with_capacity(bytes);
        payload.put_u64(self.said);
        payload.put_u64(self.due);
        payload.resize(bytes, b'.');
        payload.freeze()
    }

    /// The stamp at the start of a payload.
    pub(crate) fn read(payload: &[u8]) -> Option<Self> {
        let number =
            |at: usize| Some(u64::from_be_bytes(payload.get(at..at + 8)?.try_into().ok()?));
        Some(Self { said: number(0)?, due: number(8)? })
    }
}

/// Times of a beat that never slips: the first one is the anchor. A server that is later than it would
/// make up for has left beats out, and those that it left out were not said.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Metronome {
    anchor: Option<(u64, u64)>,
}

impl Metronome {
    /// The stamp of the beat with this number.
    pub(crate) fn stamp(&mut self, number: u64) -> Stamp {
        let said = now();
        let (first, at) = self.anchor.get_or_insert((number, said));
        let due = *at + number.saturating_sub(*first) * PERIOD_NANOS;
        if said < due {
            // The first ones were late: nothing is due after it was said.
            *at -= (due - said).min(*at);
            return Stamp { said, due: said };
        }
        let late = (said - due) / PERIOD_NANOS;
        let left_out = if late > LATE_MAX { late * PERIOD_NANOS } else { 0 };
        *at += left_out;
        Stamp { said, due: due + left_out }
    }
}

/// The zone that echoes.
#[derive(Default)]
pub(crate) struct Echo;

impl Zone for Echo {
    type In = Bytes;
    type Out = Bytes;

    fn on_message(&mut self, ctx: &mut Context<'_, Bytes>, from: Sender, message: Bytes) {
        ctx.reply(&from, message);
    }
}

/// The zone that beats.
#[derive(Default)]
pub(crate) struct Beat(Metronome);

impl Zone for Beat {
    type In = Bytes;
    type Out = Bytes;

    fn on_message(&mut self, ctx: &mut Context<'_, Bytes>, from: Sender, message: Bytes) {
        ctx.reply(&from, message);
    }

    fn on_tick(&mut self, ctx: &mut Context<'_, Bytes>) {
        let number = ctx.tick();
        ctx.broadcast(self.0.stamp(number).payload(BEAT_BYTES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_as_it_was_written() {
        let stamp = Stamp { said: 7, due: 5 };
        assert_eq!(Stamp::read(&stamp.payload(200)), Some(stamp));
        assert_eq!(stamp.payload(200).len(), 200);
        assert_eq!(Stamp::read(&[0; 15]), None);
    }

    #[test]
    fn a_beat_that_comes_late_is_still_due_when_it_was() {
        let mut metronome = Metronome { anchor: Some((10, now() - 3 * PERIOD_NANOS)) };
        let (first, second) = (metronome.stamp(11), metronome.stamp(12));
        assert_eq!(second.due - first.due, PERIOD_NANOS);
        assert!(first.said - first.due >= 2 * PERIOD_NANOS);
    }

    #[test]
    fn nothing_is_due_after_it_was_said() {
        let mut metronome = Metronome { anchor: Some((0, now() + PERIOD_NANOS)) };
        for number in 0..3 {
            let stamp = metronome.stamp(number);
            assert!(stamp.due <= stamp.said);
        }
    }

    #[test]
    fn beats_that_were_left_out_are_not_counted_as_said() {
        let mut metronome = Metronome { anchor: Some((0, now() - 100 * PERIOD_NANOS)) };
        let late = metronome.stamp(1);
        assert!(late.said - late.due < PERIOD_NANOS);
        let next = metronome.stamp(2);
        assert!(next.due > late.due && next.due <= next.said);
    }
}
