//! Which host is the best for a placement. Pure: the same candidates give the same choice.

use std::time::Duration;

use rejoin_core::id::HostId;

use super::{Latency, PlacementRequest, QueueSpec};

/// Where a Game may be placed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Destination {
    /// Name of the fleet itself, never of an alias; it must exist when the queue is put.
    pub fleet: String,
    /// One of its locations; none: any.
    pub location: Option<String>,
}

/// What counts when several hosts will do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
    /// The lowest average latency of the party.
    Latency,
    /// The order of the queue's destinations.
    Destination,
    /// The names of locations.
    Location,
}

/// What latency is accepted, and for how long only that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LatencyPolicy {
    /// The longest round trip of any player that is accepted, in milliseconds.
    pub max_ms: u32,
    /// After this the next policy counts; none: until the end.
    pub lasts: Option<Duration>,
}

/// A host that could take one more Game.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Candidate {
    pub host: HostId,
    pub fleet: String,
    pub location: String,
    pub name: String,
    pub load: usize,
    /// It failed this placement before.
    pub was_tried: bool,
}

/// The highest latency that is accepted after this time; none: any. Policies count from the lowest
/// cap up, each for its time; when the last has run out, nothing is accepted that it would not.
pub(crate) fn cap(spec: &QueueSpec, waited: Duration) -> Option<u32> {
    let mut policies = spec.latency.clone();
    policies.sort_by_key(|policy| policy.max_ms);
    let mut end = Duration::ZERO;
    for policy in &policies {
        end = end.saturating_add(policy.lasts.unwrap_or(Duration::MAX));
        if waited < end {
            return Some(policy.max_ms);
        }
    }
    policies.last().map(|policy| policy.max_ms)
}

/// How long after this time another cap counts.
pub(crate) fn next_cap_after(spec: &QueueSpec, waited: Duration) -> Option<Duration> {
    let mut policies = spec.latency.clone();
    policies.sort_by_key(|policy| policy.max_ms);
    let mut end = Duration::ZERO;
    for policy in &policies {
        end = end.saturating_add(policy.lasts?);
        if waited < end {
            return Some(end);
        }
    }
    None
}

/// How long after its beginning a placement may come to another cap.
pub(crate) fn cap_ends(spec: &QueueSpec) -> Vec<Duration> {
    let mut ends = Vec::new();
    while let Some(next) = next_cap_after(spec, ends.last().copied().unwrap_or_default()) {
        ends.push(next);
    }
    ends
}

/// The best of the candidates; none when none will do.
pub(crate) fn best(
    spec: &QueueSpec,
    request: &PlacementRequest,
    waited: Duration,
    candidates: Vec<Candidate>,
) -> Option<Candidate> {
    let has_latencies = !request.latencies.is_empty();
    let cap = cap(spec, waited).filter(|_| has_latencies);
    let good = candidates.into_iter().filter_map(|candidate| {
        let place = spec.destinations.iter().position(|it| it.takes(&candidate))?;
        let measured = measured(&request.latencies, &candidate.location);
        if let Some(cap) = cap
            && measured.iter().any(|ms| *ms > cap)
        {
            return None;
        }
        // Where nobody measured anything, nothing is known, and that is the worst.
        let average = match measured.len() as u64 {
            0 => u64::MAX,
            count => measured.iter().map(|ms| u64::from(*ms)).sum::<u64>() / count,
        };
        let order: Vec<(u64, String)> = spec
            .priority
            .iter()
            .map(|priority| match priority {
                Priority::Latency if has_latencies => (average, String::new()),
                Priority::Latency => (0, String::new()),
                Priority::Destination => (place as u64, String::new()),
                Priority::Location => (0, candidate.location.clone()),
            })
            .collect();
        let rank = (candidate.was_tried, order, candidate.load, candidate.name.clone());
        Some((rank, candidate))
    });
    good.min_by(|(one, _), (other, _)| one.cmp(other)).map(|(_, candidate)| candidate)
}

impl Destination {
    fn takes(&self, candidate: &Candidate) -> bool {
        let location = self.location.as_ref();
        self.fleet == candidate.fleet && location.is_none_or(|it| *it == candidate.location)
    }
}

fn measured(latencies: &[Latency], location: &str) -> Vec<u32> {
    latencies.iter().filter(|it| it.location == location).map(|it| it.ms).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::GameSpec;

    fn candidate(name: &str, fleet: &str, location: &str, load: usize) -> Candidate {
        Candidate {
            host: HostId::of(fleet, name),
            fleet: fleet.to_owned(),
            location: location.to_owned(),
            name: name.to_owned(),
            load,
            was_tried: false,
        }
    }

    fn queue(latency: Vec<LatencyPolicy>) -> QueueSpec {
        let to = |fleet: &str| Destination { fleet: fleet.to_owned(), location: None };
        QueueSpec { destinations: vec![to("first"), to("second")], latency, ..QueueSpec::default() }
    }

    fn request(latencies: &[(&str, u32)]) -> PlacementRequest {
        let latencies = latencies.iter().map(|(location, ms)| Latency {
            player: "ann".to_owned(),
            location: (*location).to_owned(),
            ms: *ms,
        });
        PlacementRequest {
            id: "p".to_owned(),
            game: GameSpec::default(),
            party: Vec::new(),
            latencies: latencies.collect(),
        }
    }

    fn chosen(queue: &QueueSpec, request: &PlacementRequest, waited_s: u64) -> Option<String> {
        let candidates = vec![
            candidate("a", "second", "east", 0),
            candidate("b", "first", "west", 1),
            candidate("c", "first", "west", 0),
            candidate("d", "first", "north", 5),
            candidate("e", "third", "east", 0),
        ];
        let best = best(queue, request, Duration::from_secs(waited_s), candidates);
        best.map(|best| best.name)
    }

    #[test]
    fn without_latencies_the_order_of_destinations_counts_then_names_of_locations() {
        assert_eq!(chosen(&queue(Vec::new()), &request(&[]), 0).as_deref(), Some("d"));
    }

    #[test]
    fn with_latencies_the_lowest_average_counts_and_then_the_load() {
        let near = request(&[("west", 20), ("north", 80), ("east", 30)]);
        assert_eq!(chosen(&queue(Vec::new()), &near, 0).as_deref(), Some("c"));
    }

    #[test]
    fn a_cap_keeps_far_hosts_out_until_its_time_is_over() {
        let caps = vec![
            LatencyPolicy { max_ms: 100, lasts: None },
            LatencyPolicy { max_ms: 50, lasts: Some(Duration::from_secs(10)) },
        ];
        let queue = queue(caps);
        let far = request(&[("west", 80), ("north", 200), ("east", 150)]);
        assert_eq!(chosen(&queue, &far, 9), None);
        assert_eq!(next_cap_after(&queue, Duration::ZERO), Some(Duration::from_secs(10)));
        assert_eq!(chosen(&queue, &far, 10).as_deref(), Some("c"));
        assert_eq!(next_cap_after(&queue, Duration::from_secs(10)), None);
    }

    #[test]
    fn a_host_that_failed_is_the_last_choice() {
        let mut first = candidate("a", "first", "west", 0);
        first.was_tried = true;
        let others = vec![first.clone(), candidate("b", "second", "zoo", 9)];
        let (queue, request) = (queue(Vec::new()), request(&[]));
        let found = best(&queue, &request, Duration::ZERO, others).map(|it| it.name);
        assert_eq!(found.as_deref(), Some("b"));
        let found = best(&queue, &request, Duration::ZERO, vec![first]).map(|it| it.name);
        assert_eq!(found.as_deref(), Some("a"));
    }
}
