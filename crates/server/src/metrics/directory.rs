//! Figures of the directory, and of the requests to it.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use rejoin_directory::Event;
use rejoin_directory::game::{EndCause, SeatEnd};
use rejoin_directory::host::HostEnd;
use rejoin_directory::queue::PlacementEnd;

use super::Desk;

/// How placements end.
const PLACEMENT_ENDS: [&str; 4] = ["fulfilled", "timed_out", "cancelled", "failed"];
/// Statuses of answers, by their first digit.
const STATUSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

#[derive(Debug)]
pub(crate) struct DirectoryFigures {
    /// Games, ended ones that are kept included.
    pub(crate) games: Gauge,
    /// Messages that wait for the directory's task.
    pub(crate) mailbox: Gauge,
    games_started: Counter,
    games_ended: Vec<Counter>,
    seats_reserved: Counter,
    seats_claimed: Counter,
    seats_ended: Vec<Counter>,
    hosts_ended: Vec<Counter>,
    placements_ended: Vec<Counter>,
    requests: Vec<Counter>,
}

impl DirectoryFigures {
    pub(super) fn new(desk: &mut Desk) -> Self {
        let causes = EndCause::ALL.map(EndCause::name);
        let ends = HostEnd::ALL.map(HostEnd::name);
        let seats = SeatEnd::ALL.map(SeatEnd::name);
        let requests = "Requests to the directory over HTTP, by the first digit of their status";
        Self {
            games: desk.gauge("directory_games", "Games, ended ones that are kept included"),
            mailbox: desk.gauge("directory_mailbox_depth", "Messages that wait for the directory"),
            games_started: desk.counter("games_started", "Games that came to run"),
            games_ended: desk.each("games_ended", "Games that ended, by cause", "cause", causes),
            seats_reserved: desk.counter("seats_reserved", "Seats that were reserved"),
            seats_claimed: desk.counter("seats_claimed", "Seats whose players came in"),
            seats_ended: desk.each("seats_ended", "Seats that are over, by how", "end", seats),
            hosts_ended: desk.each("hosts_ended", "Hosts that ended, by cause", "cause", ends),
            placements_ended: desk.each(
                "placements_ended",
                "Placements that ended, by how",
                "end",
                PLACEMENT_ENDS,
            ),
            requests: desk.each("api_requests", requests, "status", STATUSES),
        }
    }

    pub(crate) fn event(&self, event: &Event) {
        match event {
            Event::GameActive { .. } => drop(self.games_started.inc()),
            Event::GameEnded { cause, .. } => {
                count(&self.games_ended, EndCause::ALL.iter().position(|one| one == cause));
            }
            Event::HostEnded { how, .. } => {
                count(&self.hosts_ended, HostEnd::ALL.iter().position(|one| one == how));
            }
            Event::PlacementEnded { end, .. } => {
                let name = PlacementEnd::name(end);
                count(&self.placements_ended, PLACEMENT_ENDS.iter().position(|one| *one == name));
            }
            Event::SeatReserved { .. } => drop(self.seats_reserved.inc()),
            Event::SeatClaimed { .. } => drop(self.seats_claimed.inc()),
            Event::SeatEnded { how, .. } => {
                count(&self.seats_ended, SeatEnd::ALL.iter().position(|one| one == how));
            }
            _ => {}
        }
    }

    pub(crate) fn answered(&self, status: u16) {
        count(&self.requests, Some(usize::from(status / 100).saturating_sub(1)));
    }
}

fn count(counters: &[Counter], place: Option<usize>) {
    if let Some(counter) = place.and_then(|place| counters.get(place)) {
        counter.inc();
    }
}
