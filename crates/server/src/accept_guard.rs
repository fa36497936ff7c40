//! The guard that is asked for each accepted socket before anything is read of it. The rules are those
//! of the core's `Door`; this gives it the clock and real addresses, and a permit returns its place when
//! it is dropped. The lock is taken when a connection comes or goes, never for a message.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rejoin_core::guard::{Door, DoorRefusal, Origin, Ticket};
use rejoin_core::hub::HubConfig;

use crate::clock::MonotonicClock;

/// Decides which addresses may connect. A clone is the same guard.
#[derive(Clone)]
pub(crate) struct AcceptGuard {
    rules: Arc<Mutex<Door>>,
    clock: MonotonicClock,
}

/// A connection's place among those of its address, until this is dropped.
pub(crate) struct AcceptPermit {
    guard: AcceptGuard,
    ticket: Option<Ticket>,
}

impl fmt::Debug for AcceptPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AcceptPermit").field(&self.ticket).finish()
    }
}

impl AcceptGuard {
    pub(crate) fn new(config: &HubConfig, clock: MonotonicClock) -> Self {
        Self { rules: Arc::new(Mutex::new(Door::new(config.guard))), clock }
    }

    pub(crate) fn admit(&self, address: IpAddr) -> Result<AcceptPermit, DoorRefusal> {
        let now = self.clock.now();
        let ticket = self.rules().admit(now, Some(origin_of(address)))?;
        Ok(AcceptPermit { guard: self.clone(), ticket: Some(ticket) })
    }

    /// Whether a request over HTTP may be answered.
    pub(crate) fn request(&self, address: IpAddr) -> Result<(), DoorRefusal> {
        let now = self.clock.now();
        self.rules().request(now, origin_of(address))
    }

    /// Charges an address for the length of an answer. Most are short and cost nothing more.
    pub(crate) fn answered(&self, address: IpAddr, bytes: u64) {
        let more = Door::requests_for(bytes);
        if more > 0 {
            self.rules().charge_requests(self.clock.now(), origin_of(address), more);
        }
    }

    pub(crate) fn bar(&self, origin: Origin, wait: Duration) {
        self.rules().bar(self.clock.now(), origin, wait);
    }

    fn rules(&self) -> std::sync::MutexGuard<'_, Door> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AcceptPermit {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.guard.rules().leave(ticket);
        }
    }
}

/// What budgets count by: an IPv4 address, or the /64 network of an IPv6 address.
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
