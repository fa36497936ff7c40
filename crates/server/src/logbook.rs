//! The log lines about sessions, and the gates that keep a peer from filling a disk: each cause has so
//! many lines a second, and lines that are held back are counted and reported. Text that a peer wrote is
//! escaped; addresses are hashed unless the operator wants them.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rejoin_core::event::{EndCause, Event, Step};
use rejoin_core::id::{ConnectionId, SessionId};
use rejoin_core::never::Impossible;

use crate::clock::MonotonicClock;
use crate::tally::ConnectionOrigin;

/// How the log shows where a connection comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Addresses {
    /// As they are.
    Plain,
    /// As a number that is the same for the same address while the server runs, and tells nothing
    /// to a reader who has only the log.
    #[default]
    Hash,
    /// Not at all.
    None,
}

impl Addresses {
    /// As the settings file says it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Hash => "hash",
            Self::None => "none",
        }
    }

    /// Reads a label.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        [Self::Plain, Self::Hash, Self::None].into_iter().find(|one| one.label() == label)
    }
}

/// Lines a second that one cause may write for long.
const LINES_PER_SECOND: u64 = 10;
/// Lines it may write at once after a rest.
const LINES_BURST: u64 = 20;
/// The same for frames: their session was picked by an operator.
const FRAMES_PER_SECOND: u64 = 200;
const FRAMES_BURST: u64 = 400;

/// What a line is about. Each has a gate of its own; there are no others, so the table is bounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cause {
    Created,
    Linked,
    Ended(EndCause),
    Idle,
    Guard(Step),
    ZoneFault,
    SlowTick,
    Request,
    Accept,
    Refused,
    Origin,
    Login,
    Token,
    Listener,
    Frame,
    Host,
    Game,
    Admission,
    Impossible,
}

const CAUSES: [(Cause, &str); 29] = [
    (Cause::Created, "session created"),
    (Cause::Linked, "session linked"),
    (Cause::Idle, "idle timeout"),
    (Cause::ZoneFault, "zone fault"),
    (Cause::SlowTick, "slow tick"),
    (Cause::Request, "a request came to nothing"),
    (Cause::Accept, "no connection can be accepted"),
    (Cause::Refused, "a connection was refused"),
    (Cause::Origin, "a page was refused"),
    (Cause::Login, "a login was refused"),
    (Cause::Token, "a token was refused"),
    (Cause::Listener, "a listener panicked"),
    (Cause::Frame, "frame"),
    (Cause::Host, "host"),
    (Cause::Game, "game ended"),
    (Cause::Admission, "the admission hook gives no verdict"),
    (Cause::Impossible, "a state that the rules exclude"),
    (Cause::Guard(Step::Warn), "guard step: warn"),
    (Cause::Guard(Step::Throttle), "guard step: throttle"),
    (Cause::Guard(Step::Sever), "guard step: sever"),
    (Cause::Ended(EndCause::Left), "session ended: left"),
    (Cause::Ended(EndCause::HoldEnded), "session ended: hold_ended"),
    (Cause::Ended(EndCause::Superseded), "session ended: superseded"),
    (Cause::Ended(EndCause::Idle), "session ended: idle"),
    (Cause::Ended(EndCause::Lifetime), "session ended: lifetime"),
    (Cause::Ended(EndCause::Kicked), "session ended: kicked"),
    (Cause::Ended(EndCause::Banned), "session ended: banned"),
    (Cause::Ended(EndCause::AgentFault), "session ended: agent_fault"),
    (Cause::Ended(EndCause::Locked), "session ended: locked"),
];

/// How many lines of a cause were held back before one that is written; a field that is left out of
/// the line when there were none.
pub(crate) type Suppressed = Option<u64>;

/// One cause's lines: the instant at which it may write a full burst again, and what was held back.
#[derive(Debug, Default)]
struct Gate {
    rested_at: AtomicU64,
    suppressed: AtomicU64,
}

impl Gate {
    /// Whether a line may be written at `now`, and how many were not since the last one.
    fn pass(&self, now: u64, per_second: u64, burst: u64) -> Option<u64> {
        let cost = 1_000_000 / per_second;
        let spend = |rested_at: u64| {
            let after = rested_at.max(now).saturating_add(cost);
            (after <= now.saturating_add(cost.saturating_mul(burst))).then_some(after)
        };
        match self.rested_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend) {
            Ok(_) => Some(self.suppressed.swap(0, Ordering::Relaxed)),
            Err(_) => {
                self.suppressed.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }
}

/// Writes the log lines about sessions, each through the gate of its cause.
#[derive(Debug)]
pub(crate) struct Logbook {
    clock: MonotonicClock,
    addresses: Addresses,
    /// The key of the address hashes; new with every start.
    key: RandomState,
    gates: [Gate; CAUSES.len()],
    suppressed_total: AtomicU64,
}

impl Logbook {
    pub(crate) fn new(clock: MonotonicClock, addresses: Addresses) -> Self {
        Self {
            clock,
            addresses,
            key: RandomState::new(),
            gates: Default::default(),
            suppressed_total: AtomicU64::new(0),
        }
    }

    /// Whether a line of this cause may be written now, and how many were not since the last one.
    pub(crate) fn pass(&self, cause: Cause) -> Option<Suppressed> {
        let index = CAUSES.iter().position(|(one, _)| *one == cause)?;
        let (per_second, burst) = match cause {
            Cause::Frame => (FRAMES_PER_SECOND, FRAMES_BURST),
            _ => (LINES_PER_SECOND, LINES_BURST),
        };
        let passed = self.gates[index].pass(self.clock.now().0, per_second, burst);
        if passed.is_none() {
            self.suppressed_total.fetch_add(1, Ordering::Relaxed);
        }
        passed.map(|suppressed| Some(suppressed).filter(|count| *count > 0))
    }

    /// Tells what was held back by causes that have fallen silent since. Called now and then.
    pub(crate) fn tell_suppressed(&self) {
        let now = self.clock.now().0;
        for ((_, cause), gate) in CAUSES.iter().zip(&self.gates) {
            let is_rested = gate.rested_at.load(Ordering::Relaxed) <= now;
            if is_rested && gate.suppressed.load(Ordering::Relaxed) > 0 {
                let suppressed = gate.suppressed.swap(0, Ordering::Relaxed);
                tracing::warn!(cause, suppressed, "log lines suppressed");
            }
        }
    }

    pub(crate) fn suppressed_total(&self) -> u64 {
        self.suppressed_total.load(Ordering::Relaxed)
    }

    /// An address as the log shows it.
    pub(crate) fn address(&self, address: Option<IpAddr>) -> String {
        match (self.addresses, address) {
            (_, None) => "in-process".to_owned(),
            (Addresses::Plain, Some(address)) => address.to_canonical().to_string(),
            (Addresses::Hash, Some(address)) => {
                format!("#{:016x}", self.key.hash_one(address.to_canonical()))
            }
            (Addresses::None, Some(_)) => "hidden".to_owned(),
        }
    }

    pub(crate) fn created(
        &self,
        session: SessionId,
        connection: Option<ConnectionId>,
        origin: Option<ConnectionOrigin>,
    ) {
        let Some(suppressed) = self.pass(Cause::Created) else { return };
        let transport = origin.map_or("native", |origin| origin.transport.label());
        let address = self.address(origin.and_then(|origin| origin.address));
        match connection {
            Some(connection) => {
                tracing::info!(%session, %connection, transport, %address, suppressed, "session created");
            }
            None => tracing::info!(%session, transport, %address, suppressed, "session created"),
        }
    }

    pub(crate) fn ended(&self, session: SessionId, cause: EndCause, lasted: Duration) {
        if cause == EndCause::Idle
            && let Some(suppressed) = self.pass(Cause::Idle)
        {
            tracing::info!(%session, suppressed, "idle timeout");
        }
        let Some(suppressed) = self.pass(Cause::Ended(cause)) else { return };
        let (cause, lasted_s) = (cause.label(), lasted.as_secs_f64());
        tracing::info!(%session, cause, lasted_s, suppressed, "session ended");
    }

    /// The first report of a `never!` since the last line of this. It is a bug of the server's.
    pub(crate) fn impossible(&self, report: &Impossible) {
        if let Some(suppressed) = self.pass(Cause::Impossible) {
            let Impossible { site, fact } = report;
            tracing::error!(site, fact, suppressed, "a state that the rules exclude");
        }
    }

    /// A host's event; others are not written.
    fn host(&self, event: &Event) {
        let (host, what) = match event {
            Event::HostReady { host } => (host, "is ready"),
            Event::HostReturned { host } => (host, "is ready again"),
            Event::HostWarned { host } => (host, "does not say that it is well"),
            Event::HostAway { host } => (host, "is away; its games are hidden"),
            Event::HostEnded { host, how } => (host, how.name()),
            _ => return,
        };
        if let Some(suppressed) = self.pass(Cause::Host) {
            tracing::info!(%host, what, suppressed, "host");
        }
    }

    /// Lines of events that need nothing but what is in them.
    pub(crate) fn event(&self, event: &Event) {
        match event {
            Event::SessionLinked { session, connection } => {
                if tracing::enabled!(tracing::Level::DEBUG)
                    && let Some(suppressed) = self.pass(Cause::Linked)
                {
                    tracing::debug!(%session, %connection, suppressed, "session linked");
                }
            }
            Event::ZoneFault { zone, text, closed } => {
                if let Some(suppressed) = self.pass(Cause::ZoneFault) {
                    tracing::error!(%zone, ?text, closed, suppressed, "zone fault");
                }
            }
            Event::ZoneOpenRefused { zone, text } => {
                if let Some(suppressed) = self.pass(Cause::ZoneFault) {
                    tracing::error!(%zone, ?text, suppressed, "zone not opened");
                }
            }
            Event::GuardStep { step, connection, session, what } => {
                let Some(suppressed) = self.pass(Cause::Guard(*step)) else { return };
                let (step, what, session) = (step.label(), what.label(), session.map(|id| id.0));
                let connection = connection.map(|id| id.0);
                tracing::info!(step, connection, session, what, suppressed, "guard step");
            }
            Event::GameEnded { game, cause } => {
                if let Some(suppressed) = self.pass(Cause::Game) {
                    tracing::info!(%game, cause = cause.name(), suppressed, "game ended");
                }
            }
            event => self.host(event),
        }
    }
}

#[cfg(test)]
mod tests;
