//! The door: who may make a connection at all. Asked before anything is read or written, so that a
//! refusal costs nobody anything. A small machine of its own, because it is asked where sockets are
//! accepted; what the hub knows of an address it is told by [`Door::bar`].

use std::time::Duration;

use super::{Addresses, GuardConfig, Origin, Rest};
use crate::budget::Budget;
use crate::event::{Offence, Step};
use crate::time::Time;

/// Why somebody is not let in, and for how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DoorRefusal {
    /// What is too much.
    pub what: Offence,
    /// When it makes sense to come again.
    pub wait: Duration,
    /// The first refusal since the address was at rest: worth telling.
    pub step: Option<Step>,
}

impl DoorRefusal {
    /// What can be too much at the door.
    pub const CAUSES: [Offence; 5] = [
        Offence::Crowd,
        Offence::Connections,
        Offence::Connects,
        Offence::Requests,
        Offence::Violations,
    ];
}

/// A place that was given; it is given back with [`Door::leave`].
#[derive(PartialEq, Eq, Debug)]
pub struct Ticket {
    /// The networks that are charged for it, and whether each has a record of its own.
    charged: [Option<(Origin, bool)>; 3],
}

#[derive(Default)]
struct Doorstep {
    open: usize,
    connects: Budget,
    requests: Budget,
    barred_until: Time,
    is_told: bool,
}

impl Doorstep {
    /// Why another connection is not let in, and for how long.
    fn refusal(&self, now: Time, guard: &GuardConfig, times: u32) -> Option<(Offence, Duration)> {
        let most = guard.address_connections_max.saturating_mul(times as usize);
        if self.barred_until > now {
            return Some((Offence::Violations, self.barred_until.since(now)));
        }
        if self.open >= most {
            return Some((Offence::Connections, FULL_WAIT));
        }
        let mut connects = self.connects;
        let spent = connects.try_spend(now, 1, guard.address_connects.times(times), 0);
        spent.err().map(|wait| (Offence::Connects, wait))
    }

    /// Why another request is not answered, and for how long.
    fn request_refusal(
        &self,
        now: Time,
        guard: &GuardConfig,
        times: u32,
    ) -> Option<(Offence, Duration)> {
        let mut requests = self.requests;
        let spent = requests.try_spend(now, 1, guard.address_requests.times(times), 0);
        spent.err().map(|wait| (Offence::Requests, wait))
    }
}

impl Rest for Doorstep {
    fn is_at_rest(&self, now: Time) -> bool {
        let budgets = [self.connects, self.requests];
        let is_full = budgets.iter().all(|budget| budget.is_full(now));
        self.open == 0 && is_full && self.barred_until <= now
    }
}

/// How long somebody waits for a place that another must leave first.
const FULL_WAIT: Duration = Duration::from_secs(5);

/// So many bytes of an answer cost another request.
const REQUEST_BYTES: u64 = 16 << 10;

/// Counts connections and requests of each address, and refuses what is over the limits.
pub struct Door {
    config: GuardConfig,
    open: usize,
    addresses: Addresses<Doorstep>,
}

impl Door {
    /// A door with nobody in.
    #[must_use]
    pub fn new(config: GuardConfig) -> Self {
        Self { config, open: 0, addresses: Addresses::new(config.addresses_max) }
    }

    /// Whether a connection may be made; without an origin it comes from within.
    ///
    /// # Errors
    /// There is no room, or this address has had its share.
    pub fn admit(&mut self, now: Time, origin: Option<Origin>) -> Result<Ticket, DoorRefusal> {
        if self.open >= self.config.connections_max {
            return Err(DoorRefusal { what: Offence::Crowd, wait: FULL_WAIT, step: None });
        }
        let Some(origin) = origin else {
            self.open += 1;
            return Ok(Ticket { charged: [None; 3] });
        };
        self.ask(now, origin, Doorstep::refusal)?;
        let mut charged = [None; 3];
        for (place, (network, times)) in charged.iter_mut().zip(origin.networks()) {
            let rate = self.config.address_connects.times(times);
            let (step, is_own) = self.addresses.record(now, network);
            step.connects.spend(now, 1, rate);
            if step.connects.quarters(now, rate) == 0 {
                step.is_told = false;
            }
            step.open += 1;
            *place = Some((network, is_own));
        }
        self.open += 1;
        Ok(Ticket { charged })
    }

    /// Whether a request over HTTP may be answered.
    ///
    /// # Errors
    /// This address has had its share.
    pub fn request(&mut self, now: Time, origin: Origin) -> Result<(), DoorRefusal> {
        self.ask(now, origin, Doorstep::request_refusal)?;
        self.charge_requests(now, origin, 1);
        Ok(())
    }

    /// How many requests an answer of so many bytes costs beside its own.
    #[must_use]
    pub fn requests_for(bytes: u64) -> u32 {
        u32::try_from(bytes / REQUEST_BYTES).unwrap_or(u32::MAX)
    }

    /// Charges an address for so many requests, whether it may have them or not.
    pub fn charge_requests(&mut self, now: Time, origin: Origin, count: u32) {
        for (network, times) in origin.networks() {
            let rate = self.config.address_requests.times(times);
            let (step, _) = self.addresses.record(now, network);
            step.requests.spend(now, count, rate);
        }
    }

    /// Asks every network that an origin lies in, and charges none of them: what one refuses must
    /// not cost its neighbours in another anything.
    fn ask(
        &mut self,
        now: Time,
        origin: Origin,
        refusal: impl Fn(&Doorstep, Time, &GuardConfig, u32) -> Option<(Offence, Duration)>,
    ) -> Result<(), DoorRefusal> {
        for (network, times) in origin.networks() {
            let refused = self
                .addresses
                .look(network)
                .and_then(|step| refusal(step, now, &self.config, times));
            if let Some((what, wait)) = refused {
                let (step, _) = self.addresses.record(now, network);
                let is_first = !std::mem::replace(&mut step.is_told, true);
                return Err(DoorRefusal { what, wait, step: is_first.then_some(Step::Sever) });
            }
        }
        Ok(())
    }

    /// A connection is gone.
    pub fn leave(&mut self, ticket: Ticket) {
        self.open = self.open.saturating_sub(1);
        for (network, is_own) in ticket.charged.into_iter().flatten() {
            if let Some(step) = self.addresses.again(network, is_own) {
                step.open = step.open.saturating_sub(1);
            }
        }
    }

    /// Lets nobody in from an address or network for a while. Connections that it has are not
    /// touched. The record that strangers share is never barred: one of them would bar them all.
    pub fn bar(&mut self, now: Time, origin: Origin, wait: Duration) {
        let (step, is_own) = self.addresses.record(now, origin);
        if is_own {
            step.barred_until = step.barred_until.max(now.after(wait));
        }
    }

    /// Connections that are open.
    #[must_use]
    pub fn open_count(&self) -> usize {
        self.open
    }
}

#[cfg(test)]
mod tests;
