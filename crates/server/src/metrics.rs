//! The figures of a server, for Prometheus. Every label value is known when the server starts and has
//! its counter from then on, so the set of series never depends on players, names or zones, and
//! counting is an addition to a handle that is at hand. Traffic is counted in a few separate places
//! that are summed up for each scrape.

mod directory;
mod returns;
mod traffic;

use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::TypedMetric;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};
use rejoin_core::event::{EndCause, Event, Offence, Rung, Step};
use rejoin_core::guard::DoorRefusal;
use rejoin_wire::close;
use rejoin_wire::v1::{CloseCode, RungReason};

pub(crate) use self::directory::DirectoryFigures;
pub(crate) use self::returns::ReturnFigures;
pub(crate) use self::traffic::Traffic;

/// What carries a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transport {
    WebSocket,
    Tcp,
    Enet,
    /// Within the process.
    Local,
}

impl Transport {
    const ALL: [Self; 4] = [Self::WebSocket, Self::Tcp, Self::Enet, Self::Local];

    /// The label in metrics and logs.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::WebSocket => "websocket",
            Self::Tcp => "tcp",
            Self::Enet => "enet",
            Self::Local => "local",
        }
    }
}

type Labels<const N: usize> = [(&'static str, &'static str); N];

/// Why players came back without their streams.
const RESYNC_REASONS: [(RungReason, &str); 5] = [
    (RungReason::Cold, "cold"),
    (RungReason::Overrun, "overrun"),
    (RungReason::RolledBack, "rolled_back"),
    (RungReason::ZoneLost, "zone_lost"),
    (RungReason::UnknownPosition, "unknown_position"),
];

/// The handles of all series, by which they are counted.
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) sessions_active: Gauge,
    pub(crate) sessions_held: Gauge,
    pub(crate) sessions_native: Gauge,
    sessions_created: Counter,
    sessions_disconnected: Vec<Counter>,
    sessions_ended: Vec<Counter>,
    connections: Vec<Gauge>,
    connections_opened: Vec<Counter>,
    connections_encrypted: Vec<Counter>,
    resumes: [Counter; 3],
    resyncs: Vec<Counter>,
    takeovers: Counter,
    replay_frames: Histogram,
    guard_steps: Vec<Counter>,
    connects_refused: Vec<Counter>,
    events: Vec<Counter>,
    pub(crate) traffic: Traffic,
    pub(crate) directory: DirectoryFigures,
    pub(crate) returns: ReturnFigures,
    pub(crate) ticks: Counter,
    pub(crate) ticks_slow: Counter,
    pub(crate) ticks_skipped: Counter,
    tick_lateness: Histogram,
    commits: Counter,
    commits_refused: Counter,
    commit_seconds: Histogram,
    zones: Gauge,
    zone_faults: Counter,
    listener_panics: Counter,
    pub(crate) event_readers: Gauge,
    hub_mailbox: [Gauge; 2],
    zone_mailboxes: [Gauge; 2],
    log_suppressed: Counter,
    impossible: Counter,
    ready: Gauge,
}

/// Values that are read for each scrape.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Levels {
    pub(crate) hub_outer: usize,
    pub(crate) hub_inner: usize,
    pub(crate) zones_open: usize,
    pub(crate) zone_mail: usize,
    pub(crate) zone_mail_deepest: usize,
    pub(crate) log_suppressed: u64,
    pub(crate) impossible: u64,
    pub(crate) is_ready: bool,
}

/// Puts metrics into a registry.
struct Desk(Registry);

impl Desk {
    fn put<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.0.register(name, help, metric.clone());
        metric
    }

    fn counter(&mut self, name: &str, help: &str) -> Counter {
        self.put(name, help, Counter::default())
    }

    fn gauge(&mut self, name: &str, help: &str) -> Gauge {
        self.put(name, help, Gauge::default())
    }

    fn seconds(&mut self, name: &str, help: &str, bounds: &[f64]) -> Histogram {
        let histogram = Histogram::new(bounds.iter().copied());
        self.0.register_with_unit(name, help, Unit::Seconds, histogram.clone());
        histogram
    }

    /// One metric for each value of a label, in the order of the values.
    fn each<M: Metric + TypedMetric + Clone + Default>(
        &mut self,
        name: &str,
        help: &str,
        key: &'static str,
        values: impl IntoIterator<Item = &'static str>,
    ) -> Vec<M> {
        let family = Family::<Labels<1>, M>::default();
        self.0.register(name, help, family.clone());
        values.into_iter().map(|value| family.get_or_create_owned(&[(key, value)])).collect()
    }

    fn disconnected(&mut self) -> Vec<Counter> {
        let help = "Sessions that lost their connection, by the code of its end";
        self.each("sessions_disconnected", help, "reason", codes().map(|row| row.1))
    }

    fn ended(&mut self) -> Vec<Counter> {
        let help = "Sessions that ended for good, by cause";
        self.each("sessions_ended", help, "cause", EndCause::ALL.map(EndCause::label))
    }

    fn hub_mailbox(&mut self) -> [Gauge; 2] {
        let help = "Messages that wait for the hub";
        let doors: Vec<Gauge> = self.each("hub_mailbox_depth", help, "door", ["outer", "inner"]);
        [doors[0].clone(), doors[1].clone()]
    }

    fn zone_mailboxes(&mut self) -> [Gauge; 2] {
        let help = "Messages that wait for zones: all, and those of the deepest";
        let both: Vec<Gauge> = self.each("zone_mailbox_depth", help, "of", ["all", "deepest"]);
        [both[0].clone(), both[1].clone()]
    }

    fn guard_steps(&mut self) -> Vec<Counter> {
        let family = Family::<Labels<2>, Counter>::default();
        let help = "Steps of the guard against connections, by what they were against";
        self.0.register("guard_steps", help, family.clone());
        let cells = Step::ALL.iter().flat_map(|step| Offence::ALL.map(|what| (*step, what)));
        let counter = |(step, what): (Step, Offence)| {
            family.get_or_create_owned(&[("step", step.label()), ("what", what.label())])
        };
        cells.map(counter).collect()
    }
}

impl Desk {
    fn connects_refused(&mut self) -> Vec<Counter> {
        let help = "Connections that were not let in at the door";
        self.each("connections_refused", help, "what", DoorRefusal::CAUSES.map(Offence::label))
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let desk = &mut Desk(Registry::with_prefix("rejoin"));
        let transports = || Transport::ALL.map(Transport::label);
        let encrypted = ("connections_encrypted", "Connections that were opened encrypted");
        let rungs =
            desk.each("resumes", "Welcomes, by rung", "rung", ["replayed", "resynced", "new"]);
        let traffic = Traffic::default();
        desk.0.register_collector(Box::new(traffic.clone()));
        Self {
            directory: DirectoryFigures::new(desk),
            returns: ReturnFigures::new(desk),
            sessions_active: desk.gauge("sessions_active", "Sessions with a live connection"),
            sessions_held: desk.gauge("sessions_held", "Sessions that wait for their player"),
            sessions_native: desk.gauge("sessions_native", "Sessions that live in the server"),
            sessions_created: desk.counter("sessions_created", "Sessions that began"),
            sessions_disconnected: desk.disconnected(),
            sessions_ended: desk.ended(),
            connections: desk.each("connections", "Open connections", "transport", transports()),
            connections_encrypted: desk.each(encrypted.0, encrypted.1, "transport", transports()),
            connections_opened: desk.each(
                "connections_opened",
                "Connections that were opened",
                "transport",
                transports(),
            ),
            resumes: [0, 1, 2].map(|rung: usize| Counter::clone(&rungs[rung])),
            resyncs: desk.each(
                "resyncs",
                "Returns with the whole state, by reason",
                "reason",
                RESYNC_REASONS.map(|(_, label)| label),
            ),
            takeovers: desk.counter("takeovers", "Connections that gave way to a newer one"),
            replay_frames: desk.put(
                "replay_frames",
                "Frames that were said again at a return",
                Histogram::new([0.0, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0]),
            ),
            guard_steps: desk.guard_steps(),
            connects_refused: desk.connects_refused(),
            events: desk.each("events", "Events that were told, by kind", "kind", Event::NAMES),
            traffic,
            ticks: desk.counter("ticks", "Ticks of zones"),
            ticks_slow: desk
                .counter("ticks_slow", "Wake-ups of zones that took longer than a tick"),
            ticks_skipped: desk.counter("ticks_skipped", "Ticks that were given up after a delay"),
            tick_lateness: desk.seconds(
                "tick_lateness",
                "How late zones were woken",
                &[0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0],
            ),
            commits: desk.counter("commits", "Batches that the store applied"),
            commits_refused: desk.counter("commits_refused", "Batches that the store refused"),
            commit_seconds: desk.seconds(
                "commit",
                "How long the store took for a batch",
                &[0.00001, 0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0],
            ),
            zones: desk.gauge("zones_open", "Zones that are open or being opened"),
            zone_faults: desk.counter("zone_faults", "Panics of zones"),
            listener_panics: desk.counter("listener_panics", "Panics of event listeners"),
            event_readers: desk.gauge("event_readers", "Readers of the event stream"),
            hub_mailbox: desk.hub_mailbox(),
            zone_mailboxes: desk.zone_mailboxes(),
            log_suppressed: desk.counter("log_lines_suppressed", "Lines the log held back"),
            impossible: desk.counter("impossible", "States that the rules exclude"),
            ready: desk.gauge("ready", "Whether players are let in"),
            registry: std::mem::take(&mut desk.0),
        }
    }

    /// Everything, in the text format of OpenMetrics.
    pub(crate) fn text(&self, levels: Levels) -> Result<String, fmt::Error> {
        let gauge = |gauge: &Gauge, value: usize| {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        };
        gauge(&self.hub_mailbox[0], levels.hub_outer);
        gauge(&self.hub_mailbox[1], levels.hub_inner);
        gauge(&self.zones, levels.zones_open);
        gauge(&self.zone_mailboxes[0], levels.zone_mail);
        gauge(&self.zone_mailboxes[1], levels.zone_mail_deepest);
        gauge(&self.ready, usize::from(levels.is_ready));
        // Two scrapes at once must not count the same lines twice.
        let raise = |counter: &Counter, value| {
            let inner: &AtomicU64 = counter.inner();
            inner.fetch_max(value, std::sync::atomic::Ordering::Relaxed);
        };
        raise(&self.log_suppressed, levels.log_suppressed);
        raise(&self.impossible, levels.impossible);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }

    pub(crate) fn connection_opened(&self, transport: Transport, is_encrypted: bool) {
        self.connections_encrypted[transport as usize].inc_by(is_encrypted.into());
        self.connections_opened[transport as usize].inc();
        self.connections[transport as usize].inc();
    }

    /// The accept guard has refused a connection.
    pub(crate) fn connect_refused(&self, what: Offence) {
        if let Some(place) = DoorRefusal::CAUSES.iter().position(|known| *known == what) {
            self.connects_refused[place].inc();
        }
    }

    pub(crate) fn connection_closed(&self, transport: Transport) {
        self.connections[transport as usize].dec();
    }

    pub(crate) fn tick_late(&self, late: std::time::Duration) {
        self.tick_lateness.observe(late.as_secs_f64());
    }

    pub(crate) fn committed(&self, is_applied: bool, took: std::time::Duration) {
        let counter = if is_applied { &self.commits } else { &self.commits_refused };
        counter.inc();
        self.commit_seconds.observe(took.as_secs_f64());
    }

    pub(crate) fn listener_panicked(&self) {
        self.listener_panics.inc();
    }

    /// A session lost its connection with this code.
    pub(crate) fn disconnected(&self, code: CloseCode) {
        if let Some(index) = codes().position(|(one, _)| one == code) {
            self.sessions_disconnected[index].inc();
        }
    }

    /// Counts what an event stands for by itself.
    pub(crate) fn event(&self, event: &Event) {
        self.events[event.kind()].inc();
        match event {
            Event::PlayerConnected { connection, .. } => {
                self.sessions_created.inc();
                if connection.is_some() {
                    self.resumes[2].inc();
                }
            }
            Event::PlayerReturned { rung: Rung::Replayed(frames), .. } => {
                self.resumes[0].inc();
                self.replay_frames.observe(*frames as f64);
            }
            Event::PlayerReturned { rung: Rung::Resynced(reason), .. } => {
                self.resumes[1].inc();
                if let Some(index) = RESYNC_REASONS.iter().position(|(one, _)| one == reason) {
                    self.resyncs[index].inc();
                }
            }
            Event::TakenOver { .. } => drop(self.takeovers.inc()),
            Event::PlayerDropped { code, .. } => self.disconnected(*code),
            Event::PlayerLeft { cause, .. } => {
                if let Some(index) = EndCause::ALL.iter().position(|one| one == cause) {
                    self.sessions_ended[index].inc();
                }
            }
            Event::GuardStep { step, what, .. } => {
                let whats = Offence::ALL.len();
                self.guard_steps[*step as usize * whats + *what as usize].inc();
            }
            Event::ZoneFault { .. } => drop(self.zone_faults.inc()),
            event => self.directory.event(event),
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

/// Codes of ends and their labels. What ended without a word is called lost.
fn codes() -> impl Iterator<Item = (CloseCode, &'static str)> {
    let lost = std::iter::once((CloseCode::Unspecified, "lost"));
    lost.chain(close::TABLE.iter().map(|row| (row.code, label_of(row.name))))
}

/// The names of the table in the case that labels have.
fn label_of(name: &'static str) -> &'static str {
    use std::collections::BTreeMap;
    use std::sync::OnceLock;
    static LABELS: OnceLock<BTreeMap<&'static str, String>> = OnceLock::new();
    let labels = LABELS.get_or_init(|| {
        close::TABLE.iter().map(|row| (row.name, row.name.to_ascii_lowercase())).collect()
    });
    labels.get(name).map_or(name, String::as_str)
}

/// The label of a code.
pub(crate) fn code_label(code: CloseCode) -> &'static str {
    codes().find(|(one, _)| *one == code).map_or("lost", |(_, label)| label)
}

#[cfg(test)]
mod tests;
