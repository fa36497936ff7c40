//! The desk on which the stories play: a hub and its zones, the store, the clock and the clients.
//! It carries what the machines say to each other, in order, until all is quiet. It can hold
//! commits back, kill everything but the store, and start again from that.

pub mod clerk;
pub mod client;
pub mod plaza;
pub mod proof;
pub mod store;

mod words;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use ed25519_dalek::{Signature, Verifier, VerifyingKey};
use rejoin_core::chance::Chance;
use rejoin_core::connection::{
    ConnectionInput, ConnectionOutput, ConnectionSet, FromConnection, ToConnection, applied_frame,
};
use rejoin_core::event::Event;
use rejoin_core::exchange::{Link, ToZone};
use rejoin_core::guard::Origin;
use rejoin_core::hub::{Answer, AskId, Hub, HubConfig, HubInput, HubOutput, Recovered, Warning};
use rejoin_core::id::{ConnectionId, JobId, OwnerEpoch, PlayerId, SessionId, ZoneId};
use rejoin_core::scope::ScopeId;
use rejoin_core::session::Serializer;
use rejoin_core::time::{Time, WallTime};
use rejoin_core::wire::v1::{ClientFrame, CloseCode};
use rejoin_core::wire::{
    Bytes, Encoding, Limits, SharedFrame, decode_client, decode_server, encode_client,
};
use rejoin_core::zone::{
    Delivery, KeptZone, ZoneCore, ZoneInput, ZoneMachine, ZoneOutput, ZoneSpec,
};

use self::clerk::Clerk;
use self::client::{Client, Line};
use self::plaza::Plaza;
use self::store::Store;

pub use self::words::{ban, config, join, unban, zone};

/// What the game's admission rule does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Doorman {
    Approves,
    Refuses,
    Sleeps,
}

/// A zone and what waits for it.
pub struct Running {
    pub machine: Box<dyn ZoneMachine>,
    mailbox: VecDeque<ZoneInput>,
}

/// What is on its way to the hub, or to a connection.
enum Mail {
    Hub(HubInput),
    Received(ConnectionId, ConnectionInput),
    Closed(ConnectionId, Option<CloseCode>),
}

pub struct Desk {
    pub now: Time,
    pub config: HubConfig,
    pub hub: Hub,
    pub connections: ConnectionSet,
    pub store: Store,
    pub clients: BTreeMap<&'static str, Client>,
    pub events: Vec<Event>,
    pub answers: BTreeMap<u64, Answer>,
    pub callbacks: Vec<(SessionId, u64)>,
    pub natives: Vec<(SessionId, String)>,
    pub jobs: Vec<(ZoneId, JobId, Bytes)>,
    /// Numbered frames that connections have handed to the hub, each as often as that happened.
    pub handed_on: usize,
    /// Frames as the zones gave them out, for stories about encoding.
    pub sent: Vec<(ConnectionId, SharedFrame)>,
    pub doorman: Doorman,
    /// The last question about an account or an admission, by connection.
    pub asks: BTreeMap<ConnectionId, AskId>,
    /// What the game's rule was shown.
    pub admitted: Vec<Bytes>,
    pub clerk: Clerk,
    /// Where new connections come from.
    pub origin: Option<Origin>,
    /// Addresses that were shut out.
    pub barred: Vec<(Origin, Duration)>,
    /// How far the wall clock of the next start is ahead.
    pub wall_ahead_ms: u64,
    /// What an operator was told.
    pub warnings: Vec<Warning>,
    /// Zones are not opened before this is false again.
    pub hold_zones: bool,
    /// This zone reads its mailbox no further; it still hears of its commits.
    pub asleep: Option<ZoneId>,
    /// The story times what it does: nothing is compared with a search of everything.
    pub is_timed: bool,
    /// A connection that is told its last word stays half open.
    pub half_open: bool,
    /// What is kept of these players is damaged: the next start finds out.
    pub damaged_players: Vec<PlayerId>,
    /// The version of the game that zones are opened with.
    pub version: u32,
    pub zones: BTreeMap<ZoneId, Running>,
    mail: VecDeque<Mail>,
    to_open: VecDeque<ZoneSpec>,
    last_connection: u64,
    last_ticket: u64,
    lives: u8,
}

impl Desk {
    pub fn new(config: HubConfig) -> Self {
        let mut store = Store::default();
        let (now, wall) = (Time::from_millis(1_000), WallTime(1_000_000));
        let recovered = Recovered { hub: store.open(ScopeId::Hub), ..Recovered::default() };
        let (hub, damaged) = Hub::open(now, wall, config.clone(), [7; 32], recovered);
        assert!(damaged.is_empty());
        let connections = ConnectionSet::new((&config).into());
        let mut desk = Self {
            now,
            config,
            hub,
            connections,
            store,
            clients: BTreeMap::new(),
            events: Vec::new(),
            answers: BTreeMap::new(),
            callbacks: Vec::new(),
            natives: Vec::new(),
            jobs: Vec::new(),
            handed_on: 0,
            sent: Vec::new(),
            doorman: Doorman::Approves,
            asks: BTreeMap::new(),
            admitted: Vec::new(),
            clerk: Clerk::default(),
            origin: None,
            barred: Vec::new(),
            wall_ahead_ms: 0,
            warnings: Vec::new(),
            hold_zones: false,
            asleep: None,
            is_timed: false,
            half_open: false,
            damaged_players: Vec::new(),
            version: 1,
            zones: BTreeMap::new(),
            mail: VecDeque::new(),
            to_open: VecDeque::new(),
            last_connection: 0,
            last_ticket: 0,
            lives: 0,
        };
        desk.run();
        desk
    }

    /// Kills everything but the store; connections are gone.
    pub fn crash(&mut self) {
        self.store.crash();
        self.zones.clear();
        self.connections.clear();
        self.mail.clear();
        self.to_open.clear();
        self.jobs.clear();
        for client in self.clients.values_mut() {
            for line in &mut client.lines {
                line.closed.get_or_insert(CloseCode::Unspecified);
            }
        }
    }

    /// Starts again from the store; the clock of the new process starts anywhere.
    pub fn restart(&mut self) {
        self.open_again();
        self.run();
    }

    /// The same without carrying anything: nobody is ready yet.
    pub fn open_again(&mut self) {
        self.lives += 1;
        let mut recovered = Recovered::default();
        for id in self.store.ids() {
            match id {
                ScopeId::Hub => recovered.hub = self.store.open(id),
                ScopeId::Session(session) => {
                    recovered.sessions.push((session, self.store.open(id)));
                }
                ScopeId::Player(player) if self.damaged_players.contains(&player) => {
                    self.store.forget(id);
                    recovered.damaged_players.push(player);
                }
                ScopeId::Player(player) => recovered.players.push((player, self.store.open(id))),
                ScopeId::Account(account) => {
                    recovered.accounts.push((account, self.store.open(id)));
                }
                ScopeId::Zone(_) => recovered.zones.extend(KeptZone::of(&self.store.rows(id))),
                _ => {}
            }
        }
        let seed = [self.lives; 32];
        let wall = WallTime(1_000_000 + self.now.as_millis() + self.wall_ahead_ms);
        let (hub, damaged) = Hub::open(self.now, wall, self.config.clone(), seed, recovered);
        assert!(damaged.is_empty(), "{damaged:?}");
        self.hub = hub;
        self.connections = ConnectionSet::new((&self.config).into());
        self.drain_hub();
    }

    /// Carries everything until all is quiet.
    pub fn run(&mut self) {
        for _ in 0..1_000_000 {
            if !self.step() {
                return self.check();
            }
        }
        panic!("the machines never come to rest");
    }

    /// What is indexed is what a search finds.
    fn check(&self) {
        if !self.is_timed {
            self.hub.check_indexes().expect("the hub's indexes are right");
            for zone in self.zones.values() {
                zone.machine.check_indexes().expect("a zone's indexes are right");
            }
        }
    }

    /// One step: the next input of the hub, of a zone, or of the store.
    fn step(&mut self) -> bool {
        self.drain_hub();
        if let Some(mail) = self.mail.pop_front() {
            self.open_mail(mail);
            return true;
        }
        let ready = self.zones.iter().find(|(id, zone)| {
            let commit = matches!(zone.mailbox.front(), Some(ZoneInput::Committed(_)));
            let reads = self.asleep != Some(**id) && zone.machine.is_accepting();
            !zone.mailbox.is_empty() && (commit || reads)
        });
        if let Some(id) = ready.map(|(id, _)| *id) {
            self.feed_zone(id);
            return true;
        }
        if !self.hold_zones
            && let Some(spec) = self.to_open.pop_front()
        {
            self.open_zone(spec);
            return true;
        }
        match self.store.commit_next() {
            Some((ScopeId::Zone(id), revision)) => {
                if let Some(zone) = self.zones.get_mut(&id) {
                    zone.mailbox.push_front(ZoneInput::Committed(revision));
                }
                true
            }
            Some((scope, revision)) => {
                self.mail.push_back(Mail::Hub(HubInput::Committed(scope, revision)));
                true
            }
            None => false,
        }
    }

    fn open_mail(&mut self, mail: Mail) {
        match mail {
            Mail::Hub(input) => self.hub.handle(self.now, input),
            Mail::Received(connection, input) => self.tell_connection(connection, input),
            Mail::Closed(connection, code) => {
                let spent = self.connections.remove(connection);
                self.hub.handle(self.now, HubInput::Closed { connection, code, spent });
            }
        }
    }

    /// Gives a connection one input, and carries out what follows.
    fn tell_connection(&mut self, connection: ConnectionId, input: ConnectionInput) {
        self.connections.handle(self.now, connection, input);
        self.drain_connections();
    }

    fn drain_connections(&mut self) {
        while let Some((connection, output)) = self.connections.next_output() {
            match output {
                ConnectionOutput::Send(frame) => self.deliver(connection, &frame),
                ConnectionOutput::Close(code) => self.close(connection, code),
                ConnectionOutput::Pause(_) => {}
                ConnectionOutput::ToHub(message) => {
                    let is_numbered = matches!(message, FromConnection::Up { .. });
                    self.handed_on += usize::from(is_numbered);
                    self.mail.push_back(Mail::Hub(HubInput::FromConnection(connection, message)));
                }
                ConnectionOutput::ToZone(zone, owner, message) => {
                    self.tell_zone(zone, owner, message);
                }
                ConnectionOutput::Event(event) => self.events.push(event),
            }
        }
    }

    fn message(&mut self, connection: ConnectionId, message: ToConnection) {
        self.tell_connection(connection, ConnectionInput::Message(message));
    }

    /// Acknowledges what a client sent.
    fn applied(&mut self, connection: ConnectionId, seq: u64) {
        self.tell_connection(connection, ConnectionInput::Applied(seq));
        self.deliver(connection, &applied_frame(seq));
    }

    /// Feeds a zone the next thing in its mailbox.
    pub fn feed_zone(&mut self, id: ZoneId) {
        let Some(zone) = self.zones.get_mut(&id) else { return };
        if let Some(input) = zone.mailbox.pop_front() {
            zone.machine.handle(self.now, input);
        }
        self.drain_zone(id);
    }

    fn open_zone(&mut self, spec: ZoneSpec) {
        let opened = self.store.open(ScopeId::Zone(spec.id));
        let (id, now) = (spec.id, self.now);
        let hard = spec.name.kind == "hard";
        let chance = Chance::from_seed([9; 32]);
        let machine: Box<dyn ZoneMachine> = if self.version == 1 {
            let game = Plaza::<1> { hard, ..Plaza::default() };
            Box::new(ZoneCore::open(now, spec, game, &opened, chance))
        } else {
            let game = Plaza::<2> { hard, ..Plaza::default() };
            Box::new(ZoneCore::open(now, spec, game, &opened, chance))
        };
        self.zones.insert(id, Running { machine, mailbox: VecDeque::new() });
        self.drain_zone(id);
    }

    fn drain_hub(&mut self) {
        while let Some(output) = self.hub.next_output() {
            match output {
                HubOutput::Send { connection, frame } => self.deliver(connection, &frame),
                HubOutput::Close { connection, code } => self.close(connection, code),
                HubOutput::Applied { connection, seq } => self.applied(connection, seq),
                HubOutput::ToConnection(connection, message) => self.message(connection, message),
                HubOutput::Compress { .. } => {}
                HubOutput::Bar { origin, wait } => self.barred.push((origin, wait)),
                HubOutput::Warn(warning) => self.warnings.push(warning),
                HubOutput::Verify { connection, ask, public_key, text, signature } => {
                    let key = VerifyingKey::from_bytes(&public_key);
                    let signature = Signature::from_bytes(&signature);
                    let good = key.is_ok_and(|key| key.verify(&text, &signature).is_ok());
                    self.mail.push_back(Mail::Hub(HubInput::Verified { connection, ask, good }));
                }
                HubOutput::CheckAccount { connection, ask, payload } => {
                    self.asks.insert(connection, ask);
                    if let Some(proof) = proof::of(&self.hub, &payload) {
                        self.mail.push_back(Mail::Hub(HubInput::Account {
                            connection,
                            ask,
                            proof,
                        }));
                    }
                }
                HubOutput::AskAdmission { connection, ask, payload, .. } => {
                    self.asks.insert(connection, ask);
                    self.admitted.push(payload);
                    let verdict = match self.doorman {
                        Doorman::Approves => Ok(()),
                        Doorman::Refuses => Err("not you".to_owned()),
                        Doorman::Sleeps => continue,
                    };
                    self.mail.push_back(Mail::Hub(HubInput::Admission {
                        connection,
                        ask,
                        verdict,
                    }));
                }
                HubOutput::RunCallback { session, callback } => {
                    self.callbacks.push((session, callback));
                }
                HubOutput::Native { session, delivery } => {
                    self.natives.push((session, told(&delivery)));
                }
                HubOutput::ToZone(id, owner, message) => self.tell_zone(id, owner, message),
                HubOutput::Seat(request) => {
                    self.clerk.asked.push(request.ask);
                    if self.clerk.silent {
                        self.clerk.unanswered.push(request);
                        continue;
                    }
                    let verdict = self.clerk.answer(&request);
                    self.mail.push_back(Mail::Hub(HubInput::Seat(request, verdict)));
                }
                HubOutput::Game(_, news) => self.clerk.news.push(news),
                HubOutput::OpenZone(spec) => self.to_open.push_back(*spec),
                HubOutput::DropZone(id) => drop(self.zones.remove(&id)),
                HubOutput::Commit(batch) => self.store.submit(batch),
                HubOutput::Event(event) => self.events.push(event),
                HubOutput::Answer { ticket, answer } => {
                    assert!(self.answers.insert(ticket, answer).is_none(), "answered twice");
                }
            }
        }
    }

    fn tell_zone(&mut self, id: ZoneId, owner: OwnerEpoch, message: ToZone) {
        if let Some(zone) = self.zones.get_mut(&id) {
            zone.mailbox.push_back(ZoneInput::FromHub(owner, message));
        }
    }

    fn send(&mut self, link: Link, frame: &SharedFrame) {
        self.sent.push((link.connection, frame.clone()));
        self.deliver(link.connection, frame);
    }

    fn drain_zone(&mut self, id: ZoneId) {
        let mut outputs = Vec::new();
        let Some(zone) = self.zones.get_mut(&id) else { return };
        let owner = zone.machine.owner();
        while let Some(output) = zone.machine.next_output() {
            outputs.push(output);
        }
        for output in outputs {
            match output {
                ZoneOutput::Send { link, frame, .. } => self.send(link, &frame),
                ZoneOutput::SendToMany { to, frame } => {
                    to.into_iter().for_each(|(_, link)| self.send(link, &frame));
                }
                ZoneOutput::SendAll { link, frames, .. } => {
                    frames.iter().for_each(|frame| self.send(link, frame));
                }
                ZoneOutput::Applied { link, seq, .. } => self.applied(link.connection, seq),
                ZoneOutput::ToConnection { link, message, .. } => {
                    self.message(link.connection, message);
                }
                ZoneOutput::Native { session, delivery } => {
                    self.natives.push((session, told(&delivery)));
                }
                ZoneOutput::ToHub(said) => {
                    self.mail.push_back(Mail::Hub(HubInput::FromZone(id, owner, said)));
                }
                ZoneOutput::Commit(batch) => self.store.submit(batch),
                ZoneOutput::StartJob { job, request } => self.jobs.push((id, job, request)),
                ZoneOutput::Event(event) => self.events.push(event),
            }
        }
    }

    fn deliver(&mut self, connection: ConnectionId, frame: &SharedFrame) {
        let bytes = frame.bytes(Encoding::Protobuf).expect("protobuf is always there");
        let frame = decode_server(Encoding::Protobuf, bytes, &Limits::DEFAULT);
        let frame = frame.expect("the server writes only what a client can read");
        let of = |line: &Line| line.id == connection && line.closed.is_none();
        let owner = self.clients.values_mut().find(|client| client.lines.iter().any(of));
        let answers = owner.map(|client| client.hear(connection, &frame)).unwrap_or_default();
        for answer in answers {
            self.receive(connection, &answer);
        }
    }

    fn close(&mut self, connection: ConnectionId, code: CloseCode) {
        let mut lines = self.clients.values_mut().flat_map(|client| &mut client.lines);
        if let Some(line) = lines.find(|line| line.id == connection) {
            line.closed.get_or_insert(code);
        }
        self.connections.close(connection);
        if !self.half_open {
            self.mail.push_back(Mail::Closed(connection, None));
        }
    }

    /// Puts a frame on its way to the hub, through the encoding and its checks.
    pub fn receive(&mut self, connection: ConnectionId, frame: &ClientFrame) {
        let bytes = encode_client(Encoding::Protobuf, frame).expect("protobuf can hold it");
        self.receive_bytes(connection, bytes);
    }

    pub fn receive_bytes(&mut self, connection: ConnectionId, bytes: Bytes) {
        let len = bytes.len();
        let frame = decode_client(Encoding::Protobuf, bytes, &Limits::DEFAULT);
        let received = ConnectionInput::Received { frame, bytes: len };
        self.mail.push_back(Mail::Received(connection, received));
    }

    pub fn input(&mut self, input: HubInput) {
        self.mail.push_back(Mail::Hub(input));
        self.run();
    }

    /// A transport link is gone.
    pub fn lose(&mut self, connection: ConnectionId, code: Option<CloseCode>) {
        self.mail.push_back(Mail::Closed(connection, code));
        self.run();
    }

    /// The game says yes to what it was asked last about this connection.
    pub fn admit(&mut self, connection: ConnectionId) {
        let ask = self.asks.get(&connection).copied().unwrap_or_default();
        self.input(HubInput::Admission { connection, ask, verdict: Ok(()) });
    }

    /// The zones that the hub has asked for and that are not open yet.
    pub fn take_openings(&mut self) -> Vec<ZoneSpec> {
        self.to_open.drain(..).collect()
    }

    /// Opens a zone and gives what it has to say to the hub, instead of carrying it there.
    pub fn open_aside(&mut self, spec: ZoneSpec) -> HubInput {
        self.open_zone(spec);
        match self.mail.pop_back() {
            Some(Mail::Hub(input)) => input,
            _ => panic!("a zone says that it is open"),
        }
    }

    /// The disk is full, or has room again: everybody hears of it.
    pub fn store_full(&mut self, is_full: bool) {
        for zone in self.zones.values_mut() {
            zone.mailbox.push_back(ZoneInput::StoreFull(is_full));
        }
        self.input(HubInput::StoreFull(is_full));
    }

    pub fn job_done(&mut self, index: usize, result: &str) {
        let (zone, job, _) = self.jobs.remove(index);
        let result = Bytes::copy_from_slice(result.as_bytes());
        if let Some(zone) = self.zones.get_mut(&zone) {
            zone.mailbox.push_back(ZoneInput::JobDone(job, result));
        }
        self.run();
    }

    /// Lets time pass, waking each machine when it asked for that.
    pub fn wait(&mut self, ms: u64) {
        let end = self.now.after(Duration::from_millis(ms));
        while let Some(next) = self.next_deadline().filter(|next| *next <= end) {
            self.now = next.max(self.now);
            self.wake();
        }
        self.now = end;
    }

    /// Time jumps: the process could not run.
    pub fn freeze(&mut self, ms: u64) {
        let gap = Duration::from_millis(ms);
        self.now = self.now.after(gap);
        for zone in self.zones.values_mut() {
            zone.mailbox.push_front(ZoneInput::Stalled(gap));
        }
        self.wake();
    }

    fn next_deadline(&self) -> Option<Time> {
        let zones = self.zones.values().filter_map(|zone| zone.machine.next_deadline());
        zones.chain(self.hub.next_deadline()).chain(self.connections.next_deadline()).min()
    }

    fn wake(&mut self) {
        self.connections.wake(self.now);
        self.drain_connections();
        if self.hub.next_deadline().is_some_and(|at| at <= self.now) {
            self.mail.push_back(Mail::Hub(HubInput::Wake));
        }
        for zone in self.zones.values_mut() {
            if zone.machine.next_deadline().is_some_and(|at| at <= self.now) {
                zone.mailbox.push_back(ZoneInput::Wake);
            }
        }
        self.run();
    }

    fn open_line(&mut self, name: &'static str) -> ConnectionId {
        self.last_connection += 1;
        let id = ConnectionId(self.last_connection);
        let client = self.clients.entry(name).or_insert_with(|| Client::new(name));
        client.lines.push(Line { id, nonce: Bytes::new(), frames: Vec::new(), closed: None });
        let (serializer, origin) = (Serializer::Protobuf, self.origin);
        self.connections.open(self.now, id);
        self.mail.push_back(Mail::Hub(HubInput::Opened {
            connection: id,
            serializer,
            origin,
            is_encrypted: false,
        }));
        id
    }
}

fn told(delivery: &Delivery) -> String {
    let text = |value: &rejoin_core::exchange::Native| {
        value.downcast_ref::<plaza::Text>().expect("the zone's own type").0.clone()
    };
    match delivery {
        Delivery::Joined(..) => "joined".to_owned(),
        Delivery::Message(message) => text(message),
        Delivery::Call(call, message) => format!("call {call} {}", text(message)),
        Delivery::Parted(cause) => format!("parted {cause:?}"),
        Delivery::Rebuilt => "rebuilt".to_owned(),
        Delivery::Refused(code, _) => format!("refused {code:?}"),
        Delivery::Lost => "lost".to_owned(),
        Delivery::Sent(payload) => format!("sent {}", String::from_utf8_lossy(payload)),
        Delivery::Asked(_, payload) => format!("asked {}", String::from_utf8_lossy(payload)),
        Delivery::Ended(cause) => format!("ended {}", cause.label()),
    }
}
