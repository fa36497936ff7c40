//! Queues: how a Game finds a host among several fleets and locations. A placement is asked for
//! once, tried until it works or cannot any more, and ends exactly once.

pub(crate) mod core;
pub mod policy;
pub(crate) mod row;
mod unplaced;
pub mod watch;

use std::time::Duration;

pub use rejoin_core::game::PlacementEnd;
use rejoin_core::id::QueueId;
use rejoin_core::time::WallTime;

pub use self::policy::{Destination, LatencyPolicy, Priority};
pub use self::watch::PlacementNews;

use crate::game::{GameSpec, Guest};
use crate::limits;
use crate::print::Print;
use crate::refusal::Refusal;

/// What a queue is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueSpec {
    /// Name of 1 to 128 letters, digits and `-`; the queue's id is derived from it.
    pub name: String,
    /// How long a placement is tried, 10 s to 600 s.
    pub timeout: Duration,
    /// Where Games may be placed, the preferred first.
    pub destinations: Vec<Destination>,
    /// What counts first when several hosts will do.
    pub priority: Vec<Priority>,
    /// Latencies that players accept, and for how long only those. They count where a placement
    /// comes with latencies.
    pub latency: Vec<LatencyPolicy>,
}

impl Default for QueueSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            timeout: Duration::from_secs(600),
            destinations: Vec::new(),
            priority: vec![Priority::Latency, Priority::Destination, Priority::Location],
            latency: Vec::new(),
        }
    }
}

impl QueueSpec {
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        limits::name("queue name", &self.name)?;
        if !(Duration::from_secs(10)..=Duration::from_secs(600)).contains(&self.timeout) {
            return Err(Refusal::Invalid { field: "timeout", must: "10 s to 600 s" });
        }
        if !(1..=limits::DESTINATIONS_MAX).contains(&self.destinations.len()) {
            return Err(Refusal::Invalid { field: "destinations", must: "1 to 10" });
        }
        let mut named = self.destinations.iter().filter_map(|to| to.location.as_deref());
        named.try_for_each(limits::location)?;
        if self.priority.len() > 3 || self.latency.len() > limits::LATENCY_POLICIES_MAX {
            let must = "at most 3 priorities and 10 latency policies";
            return Err(Refusal::Invalid { field: "policies", must });
        }
        Ok(())
    }
}

/// What a player measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Latency {
    /// Player who measured it, 1 to 1024 characters; need not be one of the party.
    pub player: String,
    /// Location it was measured to; one that was not measured passes every cap and counts as the farthest.
    pub location: String,
    /// Round trip in milliseconds, compared with the cap and averaged with those of other players.
    pub ms: u32,
}

/// What is to be placed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlacementRequest {
    /// Its name in the queue, and its idempotency key.
    pub id: String,
    /// The Game; fleet, location and key are the placement's to choose.
    pub game: GameSpec,
    /// Players to reserve seats for, at most 25 and no more than the Game has seats; may be empty.
    pub party: Vec<Guest>,
    /// What players measured; may be empty.
    pub latencies: Vec<Latency>,
}

impl PlacementRequest {
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        limits::key("placement id", &self.id)?;
        self.game.check()?;
        if !self.party.is_empty() {
            Guest::check_party(&self.party)?;
        }
        if self.party.len() > self.game.capacity as usize {
            return Err(Refusal::GameFull { free: self.game.capacity });
        }
        if self.latencies.len() > limits::LATENCIES_MAX {
            return Err(Refusal::Invalid { field: "latencies", must: "at most 1250" });
        }
        let bytes: usize =
            self.latencies.iter().map(|it| it.player.len() + it.location.len()).sum();
        if bytes > limits::LATENCY_BYTES_MAX {
            return Err(Refusal::Invalid { field: "latencies", must: "at most 262144 bytes" });
        }
        for latency in &self.latencies {
            limits::player(&latency.player)?;
            limits::location(&latency.location)?;
        }
        Ok(())
    }

    pub(crate) fn print(&self) -> Print {
        let (game, party) = (self.game.print().to_vec(), Guest::print(&self.party, None).to_vec());
        let latencies: Vec<Vec<u8>> = self
            .latencies
            .iter()
            .map(|it| format!("{}\0{}\0{}", it.player, it.location, it.ms).into_bytes())
            .collect();
        let fixed = [self.id.as_bytes(), &game, &party];
        Print::of(fixed.into_iter().chain(latencies.iter().map(Vec::as_slice)))
    }
}

/// A placement as others may see it.
#[derive(Clone, PartialEq, Debug)]
pub struct PlacementView {
    /// Id of its queue, derived from the queue's name.
    pub queue: QueueId,
    /// Chosen by the caller, 1 to 48 letters, digits and `-`; one of a kind within its queue.
    pub id: String,
    /// When it was asked for, by the wall clock; the queue's `timeout` counts from then.
    pub begun: WallTime,
    /// Tries so far, one under way included; 0 until a host has been found, at most `attempts_max`.
    pub attempts: u32,
    /// How it ended; none while it is pending.
    pub end: Option<PlacementEnd>,
}
