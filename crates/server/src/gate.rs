//! The door's guard where sockets are accepted: asked before anything is read of a connection. Its
//! rules are the core's; here it is given the clock and real addresses, and a place that was given is
//! given back when nobody holds it any more. The lock is taken when somebody comes or goes, never
//! for a message.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rejoin_core::guard::{Door, DoorRefusal, Origin, Ticket};
use rejoin_core::hub::HubConfig;

use crate::clock::Clock;
use crate::pace::Rates;

/// Who may come in. A clone is the same door.
#[derive(Clone)]
pub(crate) struct Gate {
    door: Arc<Mutex<Door>>,
    clock: Clock,
    /// What each connection may send.
    pub(crate) rates: Rates,
}

/// Somebody's place, until this is dropped.
pub(crate) struct Place {
    gate: Gate,
    ticket: Option<Ticket>,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Place").field(&self.ticket).finish()
    }
}

impl Gate {
    pub(crate) fn new(config: &HubConfig, clock: Clock) -> Self {
        let lead = config.guard.sever_after;
        let rates = Rates { messages: config.messages, bytes: config.bytes, lead };
        Self { door: Arc::new(Mutex::new(Door::new(config.guard))), clock, rates }
    }

    pub(crate) fn admit(&self, address: IpAddr) -> Result<Place, DoorRefusal> {
        let now = self.clock.now();
        let ticket = self.door().admit(now, Some(origin_of(address)))?;
        Ok(Place { gate: self.clone(), ticket: Some(ticket) })
    }

    /// Whether a request over HTTP may be answered.
    pub(crate) fn request(&self, address: IpAddr) -> Result<(), DoorRefusal> {
        let now = self.clock.now();
        self.door().request(now, origin_of(address))
    }

    /// Charges an address for the length of an answer. Most are short and cost nothing more.
    pub(crate) fn answered(&self, address: IpAddr, bytes: u64) {
        let more = Door::requests_for(bytes);
        if more > 0 {
            self.door().charge_requests(self.clock.now(), origin_of(address), more);
        }
    }

    pub(crate) fn bar(&self, origin: Origin, wait: Duration) {
        self.door().bar(self.clock.now(), origin, wait);
    }

    fn door(&self) -> std::sync::MutexGuard<'_, Door> {
        self.door.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.gate.door().leave(ticket);
        }
    }
}

/// As far as budgets tell addresses apart.
pub(crate) fn origin_of(address: IpAddr) -> Origin {
    match address.to_canonical() {
        IpAddr::V4(v4) => Origin::v4(v4.to_bits()),
        IpAddr::V6(v6) => Origin::v6(v6.to_bits()),
    }
}

/// Whole seconds for a `Retry-After`, at least one.
pub(crate) fn retry_after_s(wait: Duration) -> u64 {
    wait.as_millis().div_ceil(1_000).max(1).try_into().unwrap_or(u64::MAX)
}
