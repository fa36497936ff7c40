//! What can be seen of a server: every event passes here, on its way to the journal, the listeners,
//! the metrics and the log. None of them can block the thread that reports an event.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rejoin_core::event::{Event, Offence, Step};
use rejoin_core::guard::DoorRefusal;
use rejoin_core::hub::Hub;
use rejoin_core::id::{ConnectionId, SessionId, ZoneId};
use rejoin_core::session::{Flags, Presence, SessionCore};
use rejoin_wire::v1::ClientFrame;
use rejoin_wire::{DecodeError, Limits, SharedFrame};
use tokio::sync::broadcast;

use crate::clock::{MonotonicClock, wall};
use crate::connection_table::{ConnectionQueue, ConnectionTable};
use crate::frame_log::{self, FrameLog, LoggedFrame};
use crate::journal::{EventJournal, Incarnation};
use crate::logbook::{Addresses, Cause, Logbook};
use crate::metrics::{Levels, Metrics};
use crate::tally::{Attendance, Seen, Tallies, Tally};
use crate::transport::Peer;
use crate::zones::Depth;

/// Events that a listener may fall behind before it misses some.
const LISTENER_EVENTS_MAX: usize = 4_096;
/// The longest text of an event; the rest of a panic's message is of no use.
const TEXT_CHARS_MAX: usize = 1_024;

/// How much can be seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SightConfig {
    /// Events that are kept for readers of the stream.
    pub journal_events: usize,
    /// How the log shows addresses.
    pub addresses: Addresses,
}

impl Default for SightConfig {
    fn default() -> Self {
        Self { journal_events: 4_096, addresses: Addresses::Hash }
    }
}

/// Everything that looks on.
#[derive(Debug)]
pub(crate) struct Sight {
    pub(crate) journal: EventJournal,
    pub(crate) metrics: Metrics,
    pub(crate) logbook: Logbook,
    pub(crate) tallies: Tallies,
    listeners: broadcast::Sender<Event>,
    connections: ConnectionTable,
    depths: Mutex<BTreeMap<ZoneId, Depth>>,
    limits: Limits,
}

impl Sight {
    pub(crate) fn new(
        config: SightConfig,
        clock: MonotonicClock,
        connections: ConnectionTable,
        limits: Limits,
        incarnation: Incarnation,
    ) -> Self {
        Self {
            journal: EventJournal::new(incarnation, config.journal_events),
            metrics: Metrics::new(),
            logbook: Logbook::new(clock, config.addresses),
            tallies: Tallies::default(),
            listeners: broadcast::channel(LISTENER_EVENTS_MAX).0,
            connections,
            depths: Mutex::default(),
            limits,
        }
    }

    /// What happens from now on.
    pub(crate) fn events(&self) -> broadcast::Receiver<Event> {
        self.listeners.subscribe()
    }

    /// Counts an event, logs it, and hands it to the journal and all listeners.
    pub(crate) fn tell(&self, mut event: Event) {
        if let Event::ZoneFault { text, .. } | Event::ZoneOpenRefused { text, .. } = &mut event
            && let Some((end, _)) = text.char_indices().nth(TEXT_CHARS_MAX)
        {
            text.truncate(end);
        }
        self.count(&event);
        self.metrics.event(&event);
        self.logbook.event(&event);
        self.journal.write(wall(), event, |event| {
            // An error means that there are no listeners.
            let _ = self.listeners.send(event.clone());
        });
    }

    /// Keeps the sessions' tallies and the gauges that follow from them.
    fn count(&self, event: &Event) {
        match event {
            Event::PlayerConnected { session, connection, .. } => {
                let there = connection.map_or(Attendance::Native, |_| Attendance::Active);
                self.add(Tally::new(*session, wall(), there));
                let origin = connection.and_then(|id| self.connections.queue(id)?.seen.origin());
                self.logbook.created(*session, *connection, origin);
            }
            Event::SessionLinked { session, connection } => {
                let Some(tally) = self.tallies.get(*session) else { return };
                self.attend(&tally, Attendance::Active);
                if let Some(queue) = self.connections.queue(*connection) {
                    queue.seen.link(tally);
                }
            }
            Event::PlayerDropped { session, .. } => {
                if let Some(tally) = self.tallies.get(*session) {
                    self.attend(&tally, Attendance::Held);
                }
            }
            Event::PlayerLeft { session, cause, .. } => {
                let Some(tally) = self.tallies.remove(*session) else { return };
                let there = tally.attendance();
                self.gauge(there).dec();
                if there == Attendance::Active {
                    self.metrics.disconnected(cause.close_code());
                }
                let lasted = wall().0.saturating_sub(tally.began.0);
                self.logbook.ended(*session, *cause, Duration::from_millis(lasted));
            }
            _ => {}
        }
    }

    /// Takes up the sessions that were there before the server started.
    pub(crate) fn recover(&self, hub: &Hub) {
        for (id, session) in hub.sessions() {
            let there = match session.presence() {
                Presence::Native => Attendance::Native,
                Presence::Here(_) => Attendance::Active,
                Presence::Preconnect | Presence::Away(_) => Attendance::Held,
            };
            self.add(Tally::new(id, session.began(), there));
            self.follow_flags(id, session);
        }
    }

    fn add(&self, tally: Tally) {
        self.gauge(tally.attendance()).inc();
        self.tallies.add(tally);
    }

    fn attend(&self, tally: &Tally, there: Attendance) {
        let before = tally.attend(there);
        if before != there {
            self.gauge(before).dec();
            self.gauge(there).inc();
        }
    }

    fn gauge(&self, there: Attendance) -> &prometheus_client::metrics::gauge::Gauge {
        match there {
            Attendance::Native => &self.metrics.sessions_native,
            Attendance::Active => &self.metrics.sessions_active,
            Attendance::Held => &self.metrics.sessions_held,
        }
    }

    /// The session's own switch decides whether its frames are logged; only how much of them is
    /// shown is decided here, and not kept anywhere.
    pub(crate) fn follow_flags(&self, id: SessionId, session: &SessionCore) {
        let Some(tally) = self.tallies.get(id) else { return };
        match (session.flags().has(Flags::PACKET_LOGGING), tally.frame_log()) {
            (false, _) => tally.set_frame_log(FrameLog::Off),
            (true, FrameLog::Off) => tally.set_frame_log(FrameLog::On),
            (true, _) => {}
        }
    }

    /// A connection is open.
    pub(crate) fn opened(&self, seen: &Seen, peer: Peer) {
        seen.set_origin(peer.transport, peer.address);
        self.metrics.connection_opened(peer.transport, peer.is_encrypted);
    }

    /// A connection is gone.
    pub(crate) fn closed(&self, connection: ConnectionId, queue: &ConnectionQueue) {
        if let Some(origin) = queue.seen.origin() {
            self.metrics.connection_closed(origin.transport);
        }
        if queue.is_overflowed() {
            let session = queue.seen.tally().map(|tally| tally.session);
            let (step, what) = (Step::Sever, Offence::TooSlow);
            let connection = Some(connection);
            self.tell(Event::GuardStep { step, connection, session, what });
        }
    }

    /// The accept guard has refused a connection.
    pub(crate) fn refused(&self, address: IpAddr, refusal: &DoorRefusal) {
        self.metrics.connect_refused(refusal.what);
        if let Some(step) = refusal.step {
            let (connection, session, what) = (None, None, refusal.what);
            self.tell(Event::GuardStep { step, connection, session, what });
        }
        if let Some(suppressed) = self.logbook.pass(Cause::Refused) {
            let (address, what) = (self.logbook.address(Some(address)), refusal.what.label());
            tracing::info!(%address, what, suppressed, "a connection was refused");
        }
    }

    /// Bytes came. Says whether the frame in them is to be shown.
    pub(crate) fn received(&self, connection: ConnectionId, seen: &Seen, bytes: usize) -> bool {
        self.metrics.traffic.receive(connection, bytes as u64);
        let Some(tally) = seen.tally() else { return false };
        tally.receive(bytes as u64);
        tally.frame_log() != FrameLog::Off
    }

    pub(crate) fn show_received(
        &self,
        seen: &Seen,
        frame: &Result<ClientFrame, DecodeError>,
        bytes: &[u8],
    ) {
        let Some(tally) = seen.tally() else { return };
        if frame_log::is_heard()
            && let Some(suppressed) = self.logbook.pass(Cause::Frame)
        {
            LoggedFrame::received(frame.as_ref().ok()).log(tally, bytes, suppressed);
        }
    }

    /// A frame goes out, as these bytes.
    pub(crate) fn sent(
        &self,
        connection: ConnectionId,
        seen: &Seen,
        frame: &SharedFrame,
        bytes: &[u8],
    ) {
        self.metrics.traffic.send(connection, bytes.len() as u64);
        let Some(tally) = seen.tally() else { return };
        tally.send(bytes.len() as u64);
        if tally.frame_log() != FrameLog::Off
            && frame_log::is_heard()
            && let Some(suppressed) = self.logbook.pass(Cause::Frame)
        {
            LoggedFrame::sent(frame, &self.limits).log(tally, bytes, suppressed);
        }
    }

    /// Where a connection comes from.
    pub(crate) fn address_of(&self, connection: ConnectionId) -> Option<IpAddr> {
        self.connections.queue(connection)?.seen.origin()?.address
    }

    /// A zone's mailbox, to be looked at; nothing when the zone is gone.
    pub(crate) fn watch_mailbox(&self, zone: ZoneId, depth: Option<Depth>) {
        let mut depths = self.depths.lock().unwrap_or_else(PoisonError::into_inner);
        match depth {
            Some(depth) => drop(depths.insert(zone, depth)),
            None => drop(depths.remove(&zone)),
        }
    }

    /// The levels that this knows.
    pub(crate) fn levels(&self) -> Levels {
        let depths = self.depths.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = || depths.values().map(Depth::get);
        Levels {
            zones_open: depths.len(),
            zone_mail: waiting().sum(),
            zone_mail_deepest: waiting().max().unwrap_or(0),
            log_suppressed: self.logbook.suppressed_total(),
            impossible: rejoin_core::never::count(),
            ..Levels::default()
        }
    }
}

/// Shared by all who tell.
pub(crate) type SharedSight = Arc<Sight>;
