//! Frames and bytes in both directions. Many connections count at once, so each counts in one of a
//! few places that share no cache line, chosen by its id; a scrape gets the sums. They only grow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use rejoin_core::id::ConnectionId;

/// Separate places. A power of two, and a few for each core of a usual machine.
const PLACES: usize = 32;

/// One place, on a cache line pair of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct TrafficCounters {
    received: AtomicU64,
    received_bytes: AtomicU64,
    sent: AtomicU64,
    sent_bytes: AtomicU64,
}

/// The counters. Clones are the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic(Arc<[TrafficCounters; PLACES]>);

impl Traffic {
    pub(crate) fn receive(&self, connection: ConnectionId, bytes: u64) {
        let place = self.place(connection);
        place.received.fetch_add(1, Ordering::Relaxed);
        place.received_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn send(&self, connection: ConnectionId, bytes: u64) {
        let place = self.place(connection);
        place.sent.fetch_add(1, Ordering::Relaxed);
        place.sent_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn place(&self, connection: ConnectionId) -> &TrafficCounters {
        &self.0[(connection.0 % PLACES as u64) as usize]
    }

    fn sum(&self, of: impl Fn(&TrafficCounters) -> &AtomicU64) -> u64 {
        self.0.iter().map(|place| of(place).load(Ordering::Relaxed)).sum()
    }
}

impl Collector for Traffic {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let sums = [
            ("frames_received", "Frames of clients", self.sum(|place| &place.received)),
            ("bytes_received", "Bytes of their frames", self.sum(|place| &place.received_bytes)),
            ("frames_sent", "Frames that were written to clients", self.sum(|place| &place.sent)),
            ("bytes_sent", "Bytes of these frames", self.sum(|place| &place.sent_bytes)),
        ];
        for (name, help, sum) in sums {
            let sum = ConstCounter::new(sum);
            sum.encode(encoder.encode_descriptor(name, help, None, sum.metric_type())?)?;
        }
        Ok(())
    }
}
