//! What the hub's task knows of the directory: where to ask about seats, and which host to tell what
//! became of a Game's zone. It waits for neither.

use std::collections::BTreeMap;

use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::HubInput;
use rejoin_core::seat::{GameNews, SeatRefusal, SeatRequest};
use rejoin_directory::{LocalInput, seating};
use tokio::sync::mpsc::UnboundedSender;

use super::door::DirectoryDoor;
use crate::mailbox::InternalSender;

/// What the hub's task asks the directory and the server's own hosts with.
#[derive(Default)]
pub(crate) struct GamesHandle {
    pub(crate) directory: Option<DirectoryDoor>,
    /// By kind of zone. Unbounded, because the hub's task never waits for a receiver; there are a few
    /// messages for each zone, and zones are bounded.
    pub(crate) hosts: BTreeMap<String, UnboundedSender<LocalInput>>,
}

impl GamesHandle {
    /// Asks the directory about a seat; the answer goes to the hub. Returns a refusal if there is no
    /// directory or it takes no questions now.
    pub(crate) fn ask(&self, request: SeatRequest, hub: &InternalSender) -> Option<SeatRefusal> {
        // Without a directory there are no seats.
        let Some(directory) = &self.directory else { return Some(SeatRefusal::Unknown) };
        let Ok(answer) = directory.begin(seating::command(&request)) else {
            return Some(SeatRefusal::Unavailable);
        };
        let hub = hub.clone();
        tokio::spawn(async move {
            let verdict = match answer.await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(refusal)) => Err(seating::refusal(&refusal)),
                Err(_) => Err(SeatRefusal::Unavailable),
            };
            // An error means that the hub has ended.
            let _ = hub.send(HubInput::Seat(request, verdict)).await;
        });
        None
    }

    /// Tells the host of a Game what became of its zone.
    pub(crate) fn tell(&self, zone: &ZoneName, news: GameNews) {
        let host = self.hosts.get(&zone.kind);
        if let (Some(host), Some(input)) = (host, LocalInput::news(zone, news)) {
            // An error means that the host has ended.
            let _ = host.send(input);
        }
    }
}
