//! Choosing a host: the least loaded, and among equals the first by name.

use rejoin_core::id::{GameId, HostId, QueueId, SeatId};

use super::Directory;
use crate::mark::{Mark, hit};
use crate::moment::Moment;
use crate::queue::core::QueueInput;
use crate::queue::policy::{self, Candidate};

impl Directory {
    /// The hosts of a fleet that could take one more Game.
    fn candidates(&self, fleet: &str) -> Vec<Candidate> {
        let from = (fleet.to_owned(), HostId::default());
        let crew = self.crews.range(from..).take_while(|(of, _)| of == fleet);
        let hosts = crew.filter_map(|(_, id)| Some((*id, self.hosts.get(id)?)));
        let open = hosts.filter_map(|(id, host)| {
            let on_the_way = (id, GameId([0; 16]))..=(id, GameId([0xff; 16]));
            let load = host.load(self.intended.range(on_the_way).count())?;
            let known = host.registration();
            Some(Candidate {
                host: id,
                fleet: known.fleet.clone(),
                location: known.location.clone(),
                name: known.name.clone(),
                load,
                was_tried: false,
            })
        });
        open.collect()
    }

    /// The host for a Game of this fleet and, if it matters, location.
    pub(super) fn pick(&self, fleet: &str, location: &str) -> Option<Candidate> {
        let open = self.candidates(fleet).into_iter();
        let near = open.filter(|host| location.is_empty() || host.location == location);
        near.min_by(|one, other| (one.load, &one.name).cmp(&(other.load, &other.name)))
    }

    /// A placement wants a host.
    pub(super) fn seek(&mut self, now: Moment, id: QueueId, name: &str) {
        let Some(queue) = self.queues.get(&id) else { return };
        let Some((placement, waited)) = queue.seeking(name) else { return };
        let spec = queue.spec();
        let mut fleets: Vec<&str> = spec.destinations.iter().map(|to| to.fleet.as_str()).collect();
        fleets.sort_unstable();
        fleets.dedup();
        let mut candidates: Vec<Candidate> =
            fleets.iter().flat_map(|fleet| self.candidates(fleet)).collect();
        for candidate in &mut candidates {
            candidate.was_tried = placement.tried.contains(&candidate.host);
        }
        let Some(best) = policy::best(spec, &placement.request, waited, candidates) else {
            return hit(Mark::PlacementWaited);
        };
        let party = placement.request.party.len();
        let key = format!("{}/{name}/{}", spec.name, placement.attempts + 1);
        self.intended.insert((best.host, GameId::of(&best.fleet, &key)));
        let seats = self.draw_seats(party);
        let Candidate { host, fleet, location, .. } = best;
        let placement = name.to_owned();
        self.tell_queue(now, id, QueueInput::Found { placement, host, fleet, location, seats });
    }

    pub(super) fn draw_seats(&mut self, count: usize) -> Vec<SeatId> {
        (0..count).map(|_| SeatId(self.chance.bytes())).collect()
    }
}
