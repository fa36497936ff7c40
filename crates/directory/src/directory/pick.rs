//! Choosing a host: the least loaded, and among equals the first by name.

use std::collections::BTreeSet;

use rejoin_core::id::{GameId, HostId, QueueId, SeatId};

use super::Directory;
use crate::mark::{Mark, hit};
use crate::moment::Moment;
use crate::queue::core::QueueInput;
use crate::queue::policy::{self, Candidate};

impl Directory {
    /// The host for a Game of this fleet and, if it matters, location.
    pub(super) fn pick(&self, fleet: &str, location: &str) -> Option<HostId> {
        let is_near = |host: &HostId| {
            let known = self.hosts.get(host).map(|host| host.registration());
            location.is_empty() || known.is_some_and(|known| known.location == location)
        };
        self.roll.in_order(fleet).map(|(host, _)| host).find(is_near)
    }

    /// The hosts of a fleet that a placement may have to choose from: of each location the first
    /// that has not failed it, and the first that has.
    fn candidates(&self, fleet: &str, tried: &[HostId]) -> Vec<Candidate> {
        let mut seen = BTreeSet::new();
        let mut candidates = Vec::new();
        for (host, load) in self.roll.in_order(fleet) {
            let Some(known) = self.hosts.get(&host).map(|host| host.registration()) else {
                continue;
            };
            let was_tried = tried.contains(&host);
            if seen.insert((&known.location, was_tried)) {
                candidates.push(Candidate {
                    host,
                    fleet: known.fleet.clone(),
                    location: known.location.clone(),
                    name: known.name.clone(),
                    load,
                    was_tried,
                });
            }
        }
        candidates
    }

    /// A placement wants a host.
    pub(super) fn seek(&mut self, now: Moment, id: QueueId, name: &str) {
        let Some(queue) = self.queues.get(&id) else { return };
        let Some((placement, waited)) = queue.seeking(name) else { return };
        let spec = queue.spec();
        let mut fleets: Vec<&str> = spec.destinations.iter().map(|to| to.fleet.as_str()).collect();
        fleets.sort_unstable();
        fleets.dedup();
        let candidates =
            fleets.iter().flat_map(|fleet| self.candidates(fleet, &placement.tried)).collect();
        let Some(best) = policy::best(spec, &placement.request, waited, candidates) else {
            return hit(Mark::PlacementWaited);
        };
        let party = placement.request.party.len();
        let key = format!("{}/{name}/{}", spec.name, placement.attempts + 1);
        self.intend(best.host, GameId::of(&best.fleet, &key));
        let seats = self.draw_seats(party);
        let Candidate { host, fleet, location, .. } = best;
        let placement = name.to_owned();
        self.tell_queue(now, id, QueueInput::Found { placement, host, fleet, location, seats });
    }

    /// A Game is on its way to a host that has not heard of it yet.
    pub(super) fn intend(&mut self, host: HostId, game: GameId) {
        self.intended.insert((host, game));
        self.enrol(host);
    }

    /// The host has heard of it, or never will.
    pub(super) fn unintend(&mut self, host: HostId, game: GameId) {
        if self.intended.remove(&(host, game)) {
            self.enrol(host);
        }
    }

    /// Brings the roll up to date with a host.
    pub(super) fn enrol(&mut self, id: HostId) {
        let Some(host) = self.hosts.get(&id) else {
            return self.roll.set(id, "", "", None);
        };
        let on_the_way = (id, GameId([0; 16]))..=(id, GameId([0xff; 16]));
        let load = host.load(self.intended.range(on_the_way).count());
        let known = host.registration();
        self.roll.set(id, &known.fleet, &known.name, load);
    }

    pub(super) fn draw_seats(&mut self, count: usize) -> Vec<SeatId> {
        (0..count).map(|_| SeatId(self.chance.bytes())).collect()
    }
}
