//! The server of these stories: the real hub and one zone, a store that commits at once, and a
//! WebSocket listener whose connections can be cut in any way a network cuts them.

mod door;
mod plaza;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ed25519_dalek::{Signature, Verifier, VerifyingKey};
use rejoin_client::{Bytes, Encoding, Limits};
use rejoin_core::budget::Rate;
use rejoin_core::chance::Chance;
use rejoin_core::connection::{ConnectionInput, ConnectionOutput, ConnectionSet, applied_frame};
use rejoin_core::exchange::ToZone;
use rejoin_core::hub::{Hub, HubConfig, HubInput, HubOutput, Recovered, ZoneKind};
use rejoin_core::id::{ConnectionId, OwnerEpoch, ZoneId};
use rejoin_core::scope::{Batch, ScopeId};
use rejoin_core::session::Serializer;
use rejoin_core::time::{Time, WallTime};
use rejoin_core::wire::v1::CloseCode;
use rejoin_core::wire::{SharedFrame, decode_client};
use rejoin_core::zone::{ZoneConfig, ZoneCore, ZoneInput, ZoneMachine, ZoneOutput, ZoneSpec};
use rejoin_store::{Memory, Outcome, Store as _};
use tokio::sync::mpsc;
use tokio::time::Instant;

use door::ToSocket;
pub use door::{Cut, upgrade};
use plaza::Plaza;

/// What the zone has applied, in order.
pub type Log = Arc<Mutex<Vec<String>>>;

/// A running server, as long as it is not dropped.
pub struct House {
    pub url: String,
    pub log: Log,
    mail: mpsc::UnboundedSender<Mail>,
    listener: tokio::task::JoinHandle<()>,
}

/// What reaches the hub's task.
enum Mail {
    Opened(ConnectionId, Encoding, mpsc::UnboundedSender<ToSocket>),
    Received(ConnectionId, Bytes),
    Closed(ConnectionId),
    CutAll(Cut),
}

impl House {
    pub async fn open() -> Self {
        let (mail, inbox) = mpsc::unbounded_channel();
        let log = Log::default();
        let (url, listener) = door::listen(mail.clone()).await;
        tokio::spawn(Hall::new(Arc::clone(&log)).run(inbox));
        Self { url, log, mail, listener }
    }

    /// Cuts every connection there is.
    pub fn cut(&self, cut: Cut) {
        let _ = self.mail.send(Mail::CutAll(cut));
    }

    pub fn applied(&self) -> Vec<String> {
        self.log.lock().expect("no zone panics").clone()
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

/// The hub, its zones and all that waits between them.
struct Hall {
    started: Instant,
    hub: Hub,
    connections: ConnectionSet,
    store: Memory,
    zones: BTreeMap<ZoneId, (Box<dyn ZoneMachine>, VecDeque<ZoneInput>)>,
    to_hub: VecDeque<HubInput>,
    sockets: BTreeMap<ConnectionId, (Encoding, mpsc::UnboundedSender<ToSocket>)>,
    log: Log,
}

impl Hall {
    fn new(log: Log) -> Self {
        let mut config = HubConfig { anonymous: true, ..HubConfig::default() };
        config.messages = Rate { per_second: 100_000, burst: 100_000 };
        let zone = ZoneConfig { tick: None, ..ZoneConfig::default() };
        let kind = ZoneKind { config: zone, client_may_create: true };
        config.kinds.insert("plaza".to_owned(), kind);
        let mut store = Memory::default();
        let recovered = Recovered {
            hub: store.open_one(ScopeId::Hub).expect("memory"),
            ..Recovered::default()
        };
        let wall = WallTime(1_700_000_000_000);
        let connections = ConnectionSet::new((&config).into());
        let (hub, damaged) = Hub::open(Time::ZERO, wall, config, [7; 32], recovered);
        assert!(damaged.is_empty());
        Self {
            started: Instant::now(),
            hub,
            connections,
            store,
            zones: BTreeMap::new(),
            to_hub: VecDeque::new(),
            sockets: BTreeMap::new(),
            log,
        }
    }

    async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Mail>) {
        loop {
            while self.step() {}
            let zones = self.zones.values().filter_map(|(zone, _)| zone.next_deadline());
            let others = [self.hub.next_deadline(), self.connections.next_deadline()];
            let due = zones.chain(others.into_iter().flatten()).min();
            let due = due.map_or(Duration::from_secs(3_600), |at| Duration::from_micros(at.0));
            tokio::select! {
                mail = inbox.recv() => match mail {
                    Some(mail) => self.open_mail(mail),
                    None => return,
                },
                () = tokio::time::sleep_until(self.started + due) => self.wake(),
            }
        }
    }

    fn now(&self) -> Time {
        Time(u64::try_from(self.started.elapsed().as_micros()).expect("tests are short"))
    }

    fn open_mail(&mut self, mail: Mail) {
        match mail {
            Mail::Opened(connection, encoding, socket) => {
                self.sockets.insert(connection, (encoding, socket));
                let serializer = match encoding {
                    Encoding::Protobuf => Serializer::Protobuf,
                    Encoding::Json => Serializer::Json,
                };
                self.connections.open(self.now(), connection);
                self.to_hub.push_back(HubInput::Opened {
                    connection,
                    serializer,
                    origin: None,
                    is_encrypted: false,
                });
            }
            Mail::Received(connection, bytes) => {
                let Some((encoding, _)) = self.sockets.get(&connection) else { return };
                let len = bytes.len();
                let frame = decode_client(*encoding, bytes, &Limits::DEFAULT);
                let received = ConnectionInput::Received { frame, bytes: len };
                self.tell_connection(connection, received);
            }
            Mail::Closed(connection) => {
                self.sockets.remove(&connection);
                let spent = self.connections.remove(connection);
                self.to_hub.push_back(HubInput::Closed { connection, code: None, spent });
            }
            Mail::CutAll(cut) => {
                for (_, socket) in self.sockets.values() {
                    let _ = socket.send(ToSocket::Cut(cut));
                }
            }
        }
    }

    fn wake(&mut self) {
        let now = self.now();
        self.connections.wake(now);
        self.drain_connections();
        self.to_hub.push_back(HubInput::Wake);
        for (zone, mailbox) in self.zones.values_mut() {
            if zone.next_deadline().is_some_and(|at| at <= now) {
                mailbox.push_back(ZoneInput::Wake);
            }
        }
    }

    /// One input of the hub or of a zone; false when all is quiet.
    fn step(&mut self) -> bool {
        let now = self.now();
        self.drain_hub();
        if let Some(input) = self.to_hub.pop_front() {
            self.hub.handle(now, input);
            return true;
        }
        let ready = self.zones.iter_mut().find(|(_, (zone, mailbox))| {
            let commit = matches!(mailbox.front(), Some(ZoneInput::Committed(_)));
            !mailbox.is_empty() && (commit || zone.is_accepting())
        });
        let Some((id, (zone, mailbox))) = ready else { return false };
        let id = *id;
        if let Some(input) = mailbox.pop_front() {
            zone.handle(now, input);
        }
        self.drain_zone(id);
        true
    }

    fn tell_zone(&mut self, id: ZoneId, owner: OwnerEpoch, message: ToZone) {
        if let Some((_, mailbox)) = self.zones.get_mut(&id) {
            mailbox.push_back(ZoneInput::FromHub(owner, message));
        }
    }

    fn tell_connection(&mut self, connection: ConnectionId, input: ConnectionInput) {
        self.connections.handle(self.now(), connection, input);
        self.drain_connections();
    }

    fn applied(&mut self, connection: ConnectionId, seq: u64) {
        self.tell_connection(connection, ConnectionInput::Applied(seq));
        self.send(connection, &applied_frame(seq));
    }

    fn close(&mut self, connection: ConnectionId, code: CloseCode) {
        self.connections.close(connection);
        if let Some((_, socket)) = self.sockets.get(&connection) {
            let _ = socket.send(ToSocket::Close(code));
        }
    }

    fn drain_connections(&mut self) {
        while let Some((connection, output)) = self.connections.next_output() {
            match output {
                ConnectionOutput::Send(frame) => self.send(connection, &frame),
                ConnectionOutput::Close(code) => self.close(connection, code),
                ConnectionOutput::ToHub(message) => {
                    self.to_hub.push_back(HubInput::FromConnection(connection, message));
                }
                ConnectionOutput::ToZone(zone, owner, message) => {
                    self.tell_zone(zone, owner, message);
                }
                ConnectionOutput::Pause(_) | ConnectionOutput::Event(_) => {}
            }
        }
    }

    fn drain_hub(&mut self) {
        while let Some(output) = self.hub.next_output() {
            match output {
                HubOutput::Send { connection, frame } => self.send(connection, &frame),
                HubOutput::Close { connection, code } => self.close(connection, code),
                HubOutput::Applied { connection, seq } => self.applied(connection, seq),
                HubOutput::ToConnection(connection, message) => {
                    self.tell_connection(connection, ConnectionInput::Message(message));
                }
                HubOutput::Verify { connection, ask, public_key, text, signature } => {
                    let key = VerifyingKey::from_bytes(&public_key);
                    let signature = Signature::from_bytes(&signature);
                    let good = key.is_ok_and(|key| key.verify(&text, &signature).is_ok());
                    self.to_hub.push_back(HubInput::Verified { connection, ask, good });
                }
                HubOutput::ToZone(id, owner, message) => self.tell_zone(id, owner, message),
                HubOutput::OpenZone(spec) => self.open_zone(*spec),
                HubOutput::DropZone(id) => drop(self.zones.remove(&id)),
                HubOutput::Commit(batch) => self.commit(&batch),
                HubOutput::Compress { .. }
                | HubOutput::Bar { .. }
                | HubOutput::Warn(_)
                | HubOutput::CheckAccount { .. }
                | HubOutput::AskAdmission { .. }
                | HubOutput::RunCallback { .. }
                | HubOutput::Seat(_)
                | HubOutput::Game(..)
                | HubOutput::Native { .. }
                | HubOutput::Event(_)
                | HubOutput::Answer { .. } => {}
            }
        }
    }

    fn open_zone(&mut self, spec: ZoneSpec) {
        let id = spec.id;
        let opened = self.store.open_one(ScopeId::Zone(id)).expect("memory");
        let game = Plaza { log: Arc::clone(&self.log) };
        let zone = ZoneCore::open(self.now(), spec, game, &opened, Chance::from_seed([9; 32]));
        self.zones.insert(id, (Box::new(zone), VecDeque::new()));
        self.drain_zone(id);
    }

    fn drain_zone(&mut self, id: ZoneId) {
        let mut outputs = Vec::new();
        let Some((zone, _)) = self.zones.get_mut(&id) else { return };
        let owner = zone.owner();
        while let Some(output) = zone.next_output() {
            outputs.push(output);
        }
        for output in outputs {
            match output {
                ZoneOutput::Send { link, frame, .. } => self.send(link.connection, &frame),
                ZoneOutput::SendToMany { to, frame } => {
                    for (_, link) in to {
                        self.send(link.connection, &frame);
                    }
                }
                ZoneOutput::SendAll { link, frames, .. } => {
                    for frame in frames {
                        self.send(link.connection, &frame);
                    }
                }
                ZoneOutput::Applied { link, seq, .. } => self.applied(link.connection, seq),
                ZoneOutput::ToConnection { link, message, .. } => {
                    self.tell_connection(link.connection, ConnectionInput::Message(message));
                }
                ZoneOutput::ToHub(said) => {
                    self.to_hub.push_back(HubInput::FromZone(id, owner, said));
                }
                ZoneOutput::Commit(batch) => self.commit(&batch),
                ZoneOutput::Native { .. } | ZoneOutput::StartJob { .. } | ZoneOutput::Event(_) => {}
            }
        }
    }

    fn commit(&mut self, batch: &Batch) {
        assert_eq!(self.store.apply(batch), Outcome::Committed, "the machines write in order");
        match batch.scope {
            ScopeId::Zone(id) => {
                if let Some((_, mailbox)) = self.zones.get_mut(&id) {
                    mailbox.push_front(ZoneInput::Committed(batch.revision));
                }
            }
            scope => self.to_hub.push_back(HubInput::Committed(scope, batch.revision)),
        }
    }

    fn send(&mut self, connection: ConnectionId, frame: &SharedFrame) {
        if let Some((encoding, socket)) = self.sockets.get(&connection) {
            let bytes = frame.bytes(*encoding).expect("the encoding is there");
            let _ = socket.send(ToSocket::Frame(bytes));
        }
    }
}
