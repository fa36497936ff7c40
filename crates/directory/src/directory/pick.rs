//! Choosing a host: the least loaded, and among equals the first by name.

use rejoin_core::id::{GameId, HostId, QueueId, SeatId};
use rejoin_core::never;

use super::Directory;
use super::roll::Place;
use crate::mark::{Mark, hit};
use crate::moment::Moment;
use crate::queue::core::QueueInput;
use crate::queue::policy::{self, Candidate};
use crate::refusal::Refusal;

impl Directory {
    /// The host for a Game of this fleet with so many seats and, if it matters, of this location.
    pub(super) fn pick(
        &self,
        fleet: &str,
        location: &str,
        capacity: u32,
    ) -> Result<HostId, Refusal> {
        let capacity_max = |host| self.hosts.get(&host).map_or(0, |host| host.capacity_max());
        let first = |location| {
            let mut hosts = self.roll.in_order(fleet, location);
            hosts.find(|(host, ..)| capacity_max(*host) >= capacity)
        };
        let locations: Vec<&str> = match location {
            "" => self.roll.locations(fleet).collect(),
            location => vec![location],
        };
        let firsts = locations.iter().filter_map(|location| first(location));
        if let Some((host, ..)) = firsts.min_by_key(|(_, load, name)| (*load, *name)) {
            return Ok(host);
        }
        hit(Mark::NoHost);
        let open = locations.iter().flat_map(|location| self.roll.in_order(fleet, location));
        let most = open.map(|(host, ..)| capacity_max(host)).max();
        Err(most.map_or(Refusal::NoHost, |most| Refusal::TooManySeats { most }))
    }

    /// The hosts of a fleet that a placement may have to choose from: of each location the first that
    /// has not failed it, and those that have.
    fn candidates(&self, fleet: &str, tried: &[HostId], capacity: u32) -> Vec<Candidate> {
        let is_large = |host: &HostId| {
            self.hosts.get(host).is_some_and(|host| host.capacity_max() >= capacity)
        };
        let firsts = self.roll.locations(fleet).filter_map(|location| {
            let mut hosts = self.roll.in_order(fleet, location).map(|(host, ..)| host);
            hosts.find(|host| !tried.contains(host) && is_large(host))
        });
        let tried_too = tried.iter().copied().filter(is_large);
        let candidates = firsts.chain(tried_too).filter_map(|host| {
            let known = self.hosts.get(&host)?.registration();
            Some(Candidate {
                host,
                fleet: known.fleet.clone(),
                location: known.location.clone(),
                name: known.name.clone(),
                load: self.roll.load(host)?,
                was_tried: tried.contains(&host),
            })
        });
        candidates.filter(|candidate| candidate.fleet == fleet).collect()
    }

    /// A placement wants a host.
    pub(super) fn seek(&mut self, now: Moment, id: QueueId, name: &str) {
        let Some(queue) = self.queues.get(&id) else {
            return never!("{id:?} seeks a host for {name} and is no queue");
        };
        let Some((placement, waited)) = queue.seeking(name) else {
            // It has ended, or got a host, between the commit that asked for this and now.
            return hit(Mark::StaleMail);
        };
        let spec = queue.spec();
        let mut fleets: Vec<&str> = spec.destinations.iter().map(|to| to.fleet.as_str()).collect();
        fleets.sort_unstable();
        fleets.dedup();
        let (tried, capacity) = (&placement.tried, placement.request.game.capacity);
        let candidates: Vec<Candidate> =
            fleets.iter().flat_map(|fleet| self.candidates(fleet, tried, capacity)).collect();
        self.effort.seeks += 1;
        self.effort.hosts += candidates.len() as u64;
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
        self.intended.entry(host).or_default().insert(game);
        self.enrol(host);
    }

    /// The host has heard of it, or never will. Said again when the Game ends.
    pub(super) fn unintend(&mut self, host: HostId, game: GameId) {
        if let Some(games) = self.intended.get_mut(&host)
            && games.remove(&game)
        {
            if games.is_empty() {
                self.intended.remove(&host);
            }
            self.enrol(host);
        }
    }

    /// Brings the roll up to date with a host.
    pub(super) fn enrol(&mut self, id: HostId) {
        let on_the_way = self.intended.get(&id).map_or(0, |games| games.len());
        let place = self.hosts.get(&id).and_then(|host| {
            let known = host.registration();
            let place = Place { fleet: &known.fleet, location: &known.location, name: &known.name };
            Some((place, host.load(on_the_way)?))
        });
        self.roll.set(id, place);
    }

    pub(super) fn draw_seats(&mut self, count: usize) -> Vec<SeatId> {
        (0..count).map(|_| SeatId(self.chance.bytes())).collect()
    }
}
