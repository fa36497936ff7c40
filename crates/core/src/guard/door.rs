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
    pub const CAUSES: [Offence; 4] =
        [Offence::Crowd, Offence::Connections, Offence::Connects, Offence::Violations];
}

/// A place that was given; it is given back with [`Door::leave`].
#[derive(PartialEq, Eq, Debug)]
pub struct Ticket {
    origin: Option<(Origin, bool)>,
}

#[derive(Default)]
struct Doorstep {
    open: usize,
    connects: Budget,
    barred_until: Time,
    is_told: bool,
}

impl Rest for Doorstep {
    fn is_at_rest(&self, now: Time) -> bool {
        self.open == 0 && self.connects.is_full(now) && self.barred_until <= now
    }
}

/// How long somebody waits for a place that another must leave first.
const FULL_WAIT: Duration = Duration::from_secs(5);

/// The machine.
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
            return Ok(Ticket { origin: None });
        };
        let (step, is_own) = self.addresses.record(now, origin);
        let refused = if step.barred_until > now {
            Some((Offence::Violations, step.barred_until.since(now)))
        } else if step.open >= self.config.address_connections_max {
            Some((Offence::Connections, FULL_WAIT))
        } else {
            let spent = step.connects.try_spend(now, 1, self.config.address_connects, 0);
            spent.err().map(|wait| (Offence::Connects, wait))
        };
        if let Some((what, wait)) = refused {
            let is_first = !std::mem::replace(&mut step.is_told, true);
            return Err(DoorRefusal { what, wait, step: is_first.then_some(Step::Sever) });
        }
        if step.connects.quarters(now, self.config.address_connects) == 0 {
            step.is_told = false;
        }
        step.open += 1;
        self.open += 1;
        Ok(Ticket { origin: Some((origin, is_own)) })
    }

    /// A connection is gone.
    pub fn leave(&mut self, ticket: Ticket) {
        self.open = self.open.saturating_sub(1);
        if let Some((origin, is_own)) = ticket.origin
            && let Some(step) = self.addresses.again(origin, is_own)
        {
            step.open = step.open.saturating_sub(1);
        }
    }

    /// Lets nobody in from an address for a while. Connections that it has are not touched.
    pub fn bar(&mut self, now: Time, origin: Origin, wait: Duration) {
        let (step, _) = self.addresses.record(now, origin);
        step.barred_until = step.barred_until.max(now.after(wait));
    }

    /// Connections that are open.
    #[must_use]
    pub fn open_count(&self) -> usize {
        self.open
    }
}

#[cfg(test)]
mod tests;
