//! The clocks of a live connection: when an acknowledgement is due, when silence is too long, and how
//! long a ping took. Decides when; what is sent is the client's.

use std::time::Duration;

use crate::config::Config;
use crate::time::Time;

/// The due times of one live connection.
#[derive(Debug)]
pub(crate) struct Pulse {
    heartbeat: Duration,
    silence: Duration,
    ack_every: u32,
    ack_delay: Duration,
    heard_at: Time,
    /// A sign of life was asked for, and is due by then.
    doubted_until: Option<Time>,
    ping_at: Time,
    /// Frames since the last acknowledgement, and when the next is due.
    owed: u32,
    ack_at: Option<Time>,
    /// The last ping that was not answered, and when it was sent.
    asked: Option<(u64, Time)>,
}

/// A server that names no heartbeat gets this one: a dead link must be noticed.
const HEARTBEAT_DEFAULT: Duration = Duration::from_secs(5);
/// A server cannot make a client ping more often than this.
const HEARTBEAT_MIN: Duration = Duration::from_millis(10);

impl Pulse {
    pub(crate) fn new(now: Time, heartbeat_ms: u32, config: &Config) -> Self {
        let heartbeat = match heartbeat_ms {
            0 => HEARTBEAT_DEFAULT,
            ms => Duration::from_millis(ms.into()).max(HEARTBEAT_MIN),
        };
        // Silence shorter than a heartbeat would end every quiet connection before its first ping.
        let silence = heartbeat.saturating_mul(config.silence_percent) / 100;
        Self {
            heartbeat,
            silence: silence.max(heartbeat.saturating_mul(3) / 2),
            ack_every: config.ack_every.max(1),
            ack_delay: config.ack_delay,
            heard_at: now,
            doubted_until: None,
            ping_at: now.after(heartbeat),
            owed: 0,
            ack_at: None,
            asked: None,
        }
    }

    /// A frame came: silence counts from now on, a doubt is over, and the next ping is a heartbeat away.
    pub(crate) fn heard(&mut self, now: Time) {
        self.heard_at = now;
        self.doubted_until = None;
        self.ping_at = now.after(self.heartbeat);
    }

    /// The connection may be dead: it has half a heartbeat to show that it is not.
    pub(crate) fn doubt(&mut self, now: Time) {
        self.doubted_until.get_or_insert(now.after(self.heartbeat / 2));
    }

    /// A numbered frame came. True: acknowledge at once.
    pub(crate) fn owe(&mut self, now: Time) -> bool {
        self.owed = self.owed.saturating_add(1);
        self.ack_at.get_or_insert(now.after(self.ack_delay));
        self.owed >= self.ack_every
    }

    /// Everything was acknowledged.
    pub(crate) fn acked(&mut self) {
        self.owed = 0;
        self.ack_at = None;
    }

    /// Whether an acknowledgement is due.
    pub(crate) fn is_ack_due(&self, now: Time) -> bool {
        self.ack_at.is_some_and(|at| now >= at)
    }

    /// Whether a ping is due; the next one is then a heartbeat away.
    pub(crate) fn take_ping(&mut self, now: Time) -> bool {
        let due = now >= self.ping_at;
        if due {
            self.ping_at = now.after(self.heartbeat);
        }
        due
    }

    /// A ping was sent.
    pub(crate) fn asked(&mut self, now: Time, nonce: u64) {
        self.asked = Some((nonce, now));
    }

    /// A pong came: how long its ping took, if it was the last one.
    pub(crate) fn answered(&mut self, now: Time, nonce: u64) -> Option<Duration> {
        let (_, sent_at) = self.asked.take_if(|(asked, _)| *asked == nonce)?;
        Some(now.since(sent_at))
    }

    /// Whether nothing was heard for too long.
    pub(crate) fn is_silent(&self, now: Time) -> bool {
        now >= self.silent_at()
    }

    /// When this must be looked at next.
    pub(crate) fn deadline(&self) -> Time {
        let beat = self.ping_at.min(self.silent_at());
        self.ack_at.map_or(beat, |at| at.min(beat))
    }

    fn silent_at(&self) -> Time {
        let silent_at = self.heard_at.after(self.silence);
        self.doubted_until.map_or(silent_at, |at| at.min(silent_at))
    }
}
