//! Judges the reasons of resyncs. `COLD` is for clients that came without their streams, `OVERRUN`
//! for those that missed more than is kept. Both are judged by what the client's own frames said and
//! by the limits of the world, with no look into the server.

use rejoin_core::zone::ZoneConfig;
use rejoin_wire::v1::{Down, Position, Resync, Rung, RungReason, Welcome, down, hello};

use crate::bureau::KIND;
use crate::link::Who;
use crate::world::World;

/// The largest frame that the game's messages make.
const FRAME_BYTES: usize = 320;

/// How long a disk that stalls or is full keeps a commit waiting.
const SLOW_DISK_US: u64 = 11_000_000;
/// A wake may be planned a little later than it is due.
const SLACK_US: u64 = 500_000;

/// What is known of the streams of a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Streams {
    /// The highest leg that a Welcome or a Resync named.
    leg: u64,
    /// What its client has acknowledged last, as far as the server has read.
    acked: Option<(u64, u64)>,
}

impl World {
    /// The server reads an acknowledgement.
    pub(crate) fn note_ack(&mut self, id: u64, position: &Position) {
        let Some(link) = self.links.get_mut(&id) else { return };
        if !link.in_flight.is_empty() {
            link.in_flight.retain(|sent| *sent > (position.leg, position.seq));
            let serving = self.watch.outage.serving(self.now);
            link.idle_since = link.in_flight.is_empty().then_some(serving);
        }
        if let Some((session, _)) = link.welcomed {
            let streams = self.watch.positions.entry(session).or_default();
            streams.acked = streams.acked.max(Some((position.leg, position.seq)));
        }
    }

    /// A numbered frame goes out.
    pub(crate) fn note_down(&mut self, id: u64, down: &Down) {
        let Some(link) = self.links.get_mut(&id) else { return };
        if let Some(down::Body::Joined(joined)) = &down.body {
            link.leg = joined.leg;
        }
        link.in_flight.push_back((link.leg, down.seq));
        link.idle_since = None;
        if let Some(down::Body::Parted(parted)) = &down.body {
            link.leg = parted.leg;
        }
    }

    /// A Welcome goes out: may it say what it says?
    pub(crate) fn check_welcome(&mut self, id: u64, welcome: &Welcome) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let Who::Player(player) = link.who else { return };
        let resume = link.hello.as_ref().and_then(|hello| match &hello.purpose {
            Some(hello::Purpose::Resume(resume)) => Some(resume),
            _ => None,
        });
        let warm = resume.filter(|resume| !resume.cold);
        let position = warm.map(|resume| resume.position.unwrap_or_default());
        let verdict = match (welcome.rung(), welcome.reason(), position) {
            (Rung::Replayed, _, None) => Some("REPLAYED to a client without its streams"),
            (Rung::Resynced, RungReason::Cold, Some(_)) => Some("COLD to a client that was warm"),
            _ => None,
        };
        let streams = self.watch.positions.entry(welcome.session).or_default();
        // Whether it can be OVERRUN is judged when the Resync comes that says how far the stream is.
        // A client that has not heard of a newer leg was resynced before, for whatever reason; so may
        // be one that shares its session with another client.
        link.overrun = position
            .filter(|_| welcome.reason() == RungReason::Overrun && !self.players[player].shared)
            .filter(|position| position.leg == streams.leg && position.seq > 0)
            .map(|position| (position.leg, position.seq));
        streams.leg = streams.leg.max(welcome.leg);
        streams.acked = None;
        link.leg = welcome.leg;
        if let Some(text) = verdict {
            self.watch.fail("ladder-honest", format!("player {player}: {text}"));
        }
    }

    /// A Resync goes out: has its client missed more than is kept?
    pub(crate) fn check_resync(&mut self, id: u64, resync: &Resync) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let (overrun, welcomed) = (link.overrun.take(), link.welcomed);
        link.leg = resync.leg;
        link.in_flight.clear();
        let idle_since = link.idle_since.take();
        let Who::Player(player) = link.who else { return };
        let Some((session, _)) = welcomed else { return };
        let streams = self.watch.positions.entry(session).or_default();
        let acked = streams.acked.filter(|(leg, _)| *leg == streams.leg);
        streams.leg = streams.leg.max(resync.leg);
        if resync.reason() != RungReason::Overrun {
            return;
        }
        // A member that has acknowledged all it was sent has an open window, and what is said goes out
        // as soon as it is committed.
        let commit = self.longest_commit();
        let now = self.watch.outage.serving(self.now);
        if let Some(since) = idle_since.filter(|since| since + commit < now) {
            let idle = now - since;
            let text = format!("player {player}: overrun, and all was acknowledged {idle} us ago");
            return self.watch.fail("heard-all", text);
        }
        let acked = acked.filter(|_| !self.players[player].shared);
        let Some((leg, seq)) = overrun.or(acked) else { return };
        if leg >> 32 != resync.leg >> 32 {
            return;
        }
        let Some(zone) = &resync.zone else { return };
        let kinds = &self.knobs.hub.kinds;
        let kind = kinds.get(&zone.kind).or_else(|| kinds.get(KIND));
        let Some(least) = kind.map(|kind| least_kept(&kind.config)) else { return };
        let missed = resync.seq.saturating_sub(seq);
        if missed < least {
            let text = format!("player {player}: OVERRUN by {missed}, {least} are kept");
            self.watch.fail("ladder-honest", text);
        }
    }
}

impl World {
    /// The longest time between a change and what it lets out.
    fn longest_commit(&self) -> u64 {
        let faults = &self.knobs.faults;
        let has_slow_disk = faults.disk_stall > 0 || faults.disk_full > 0;
        let disk = if has_slow_disk { SLOW_DISK_US } else { 0 };
        2 * self.knobs.commit_us + self.knobs.mailbox_us + SLACK_US + disk
    }
}

/// A member that missed fewer numbers than this has missed nothing that was given up.
fn least_kept(config: &ZoneConfig) -> u64 {
    let frames = config.ring_frames_max.min(config.outbox_frames_max);
    let bytes = config.ring_bytes_max.min(config.outbox_bytes_max) / FRAME_BYTES;
    frames.min(bytes) as u64
}
