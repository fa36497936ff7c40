//! A hub and one zone in one thread, with clients that are not there: a store that says "committed"
//! at once and keeps nothing, so that what is counted is the core's own.

use std::collections::VecDeque;
use std::time::Duration;

use rejoin_core::budget::Rate;
use rejoin_core::chance::Chance;
use rejoin_core::connection::{ConnectionInput, ConnectionOutput, ConnectionSet, applied_frame};
use rejoin_core::exchange::Hold;
use rejoin_core::guard::{GuardConfig, Origin};
use rejoin_core::hub::{Hub, HubConfig, HubInput, HubOutput, Recovered, ZoneKind};
use rejoin_core::id::{ConnectionId, OwnerEpoch, ZoneId};
use rejoin_core::scope::{Batch, Opened, ScopeId};
use rejoin_core::session::Serializer;
use rejoin_core::time::{Time, WallTime};
use rejoin_core::wire::v1::{
    Anonymous, ClientFrame, Down, Hello, Join, Login, Up, client_frame, down, hello, login,
    server_frame, up,
};
use rejoin_core::wire::{Bytes, Encoding, Limits, SharedFrame, VERSION, decode_server};
use rejoin_core::zone::core::ZoneCounts;
use rejoin_core::zone::{
    Context, Durability, Sender, Zone, ZoneConfig, ZoneCore, ZoneInput, ZoneMachine, ZoneOutput,
    ZoneSpec,
};

const KIND: &str = "echo";

/// What ends the zone of a sender; [`START_MATCH`] and [`END_MATCH`] begin and end its match.
pub(crate) const END_ZONE: &[u8] = b"end zone";
/// Starts the match of the sender's zone.
pub(crate) const START_MATCH: &[u8] = b"start match";
/// Ends the match of the sender's zone.
pub(crate) const END_MATCH: &[u8] = b"end match";

/// A game that says to everybody what one says, unless it is one of three orders.
struct Echo;

impl Zone for Echo {
    type In = Bytes;
    type Out = Bytes;

    fn on_message(&mut self, ctx: &mut Context<'_, Bytes>, _from: Sender, message: Bytes) {
        match &message[..] {
            END_ZONE => ctx.end(),
            START_MATCH => ctx.start_match(),
            END_MATCH => ctx.end_match(),
            _ => ctx.broadcast(message),
        }
    }
}

/// What a client must remember to speak and to come back.
#[derive(Clone)]
pub(crate) struct Client {
    /// Its connection.
    pub(crate) connection: ConnectionId,
    /// Its session.
    pub(crate) session: u64,
    /// What opens it again.
    pub(crate) token: Bytes,
    /// The leg it is in.
    pub(crate) leg: u64,
    /// The last number it used.
    pub(crate) number: u64,
}

/// The driver.
pub(crate) struct Driver {
    now: Time,
    /// Where connections come from, if anybody asks.
    origin: Option<Origin>,
    hub: Hub,
    connections: ConnectionSet,
    zone: Option<(ZoneId, OwnerEpoch, ZoneCore<Echo>)>,
    to_hub: VecDeque<HubInput>,
    to_zone: VecDeque<ZoneInput>,
    last_connection: u64,
    /// Frames put on connections.
    pub(crate) sent: u64,
    /// Where frames go that somebody wants to look at.
    pub(crate) heard: Option<Vec<(ConnectionId, SharedFrame)>>,
}

impl Driver {
    /// A hub without sessions, whose zones have this durability. It runs on defaults but for what
    /// would end the measurement: nobody is throttled or rationed, and a hold lasts a day.
    pub(crate) fn new(durability: Durability) -> Self {
        Self::with(durability, GuardConfig::open(), None)
    }

    /// The same with an address that is watched, and may do whatever it likes.
    pub(crate) fn guarded(durability: Durability) -> Self {
        let rate = Rate { per_second: 1 << 30, burst: 1 << 30 };
        let guard =
            GuardConfig { address_messages: rate, address_bytes: rate, ..GuardConfig::default() };
        Self::with(durability, guard, Some(Origin::v4(0x7f00_0001)))
    }

    fn with(durability: Durability, guard: GuardConfig, origin: Option<Origin>) -> Self {
        let hold = Hold::Timed(Duration::from_secs(86_400));
        let rate = Rate { per_second: 1 << 30, burst: 1 << 30 };
        let config = ZoneConfig {
            durability,
            tick: None,
            members_max: 100_000,
            roster_max: 100_000,
            hold,
            ..ZoneConfig::default()
        };
        let kind = ZoneKind { config, client_may_create: true };
        let config = HubConfig {
            anonymous: true,
            hold,
            messages: rate,
            bytes: rate,
            guard,
            returns_per_second: 0,
            kinds: [(KIND.to_owned(), kind)].into(),
            ..HubConfig::default()
        };
        let now = Time::from_millis(1_000);
        let opened = Opened { owner: OwnerEpoch(1), ..Opened::default() };
        let recovered = Recovered { hub: opened, ..Recovered::default() };
        let connections = ConnectionSet::new((&config).into());
        let (hub, _) = Hub::open(now, WallTime(1_700_000_000_000), config, [7; 32], recovered);
        let mut driver = Self {
            now,
            origin,
            hub,
            connections,
            zone: None,
            to_hub: VecDeque::new(),
            to_zone: VecDeque::new(),
            last_connection: 0,
            sent: 0,
            heard: None,
        };
        driver.run();
        driver
    }

    /// Figures of the zone; none before the first join.
    pub(crate) fn zone_counts(&self) -> ZoneCounts {
        self.zone.as_ref().map(|(_, _, zone)| zone.counts()).unwrap_or_default()
    }

    /// The hub.
    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Lets this much time pass and rings what is due.
    pub(crate) fn wait(&mut self, time: Duration) {
        let end = self.now.after(time);
        let next = |driver: &Self| {
            let next = driver.hub.next_deadline().into_iter();
            next.chain(driver.connections.next_deadline()).min().filter(|next| *next <= end)
        };
        while let Some(next) = next(self) {
            self.now = next.max(self.now);
            self.connections.wake(self.now);
            self.input(HubInput::Wake);
        }
        self.now = end;
    }

    /// Opens a connection.
    pub(crate) fn connect(&mut self) -> ConnectionId {
        self.last_connection += 1;
        let connection = ConnectionId(self.last_connection);
        let (serializer, origin) = (Serializer::Protobuf, self.origin);
        self.connections.open(self.now, connection);
        self.input(HubInput::Opened { connection, serializer, origin, is_encrypted: false });
        connection
    }

    /// Cuts a connection.
    pub(crate) fn cut(&mut self, connection: ConnectionId) {
        let spent = self.connections.remove(connection);
        self.input(HubInput::Closed { connection, code: None, spent });
    }

    /// A frame comes in on a connection, decoded.
    pub(crate) fn receive(&mut self, connection: ConnectionId, frame: client_frame::Frame) {
        let frame = Ok(ClientFrame { frame: Some(frame) });
        let received = ConnectionInput::Received { frame, bytes: 64 };
        self.connections.handle(self.now, connection, received);
        self.run();
    }

    /// The next numbered frame of a client.
    pub(crate) fn say(&mut self, client: &mut Client, body: up::Body) {
        client.number += 1;
        let up = Up { seq: client.number, body: Some(body) };
        self.receive(client.connection, client_frame::Frame::Up(up));
    }

    /// Logs an anonymous player in.
    pub(crate) fn log_in(&mut self) -> Client {
        let connection = self.connect();
        let identity = Some(login::Identity::Anonymous(Anonymous {}));
        let login = Login { identity, fresh: false };
        self.greet(connection, hello::Purpose::Login(login))
    }

    /// Says a hello and takes what the Welcome says.
    pub(crate) fn greet(&mut self, connection: ConnectionId, purpose: hello::Purpose) -> Client {
        let hello = Hello {
            version: VERSION,
            server_name: "localhost".to_owned(),
            purpose: Some(purpose),
            capabilities: Vec::new(),
            admission: Bytes::new(),
        };
        let hello = client_frame::Frame::Hello(hello);
        let welcome = self.hear(
            |driver| driver.receive(connection, hello),
            |frame| match frame {
                server_frame::Frame::Welcome(welcome) => Some(welcome),
                _ => None,
            },
        );
        let number = welcome.applied;
        Client {
            connection,
            session: welcome.session,
            token: welcome.token,
            leg: welcome.leg,
            number,
        }
    }

    /// Takes a client into the zone.
    pub(crate) fn join(&mut self, client: &mut Client) {
        let (kind, name) = (KIND.to_owned(), "z".to_owned());
        let join = Join { kind, name, create: true, ..Join::default() };
        client.leg = self.hear(
            |driver| driver.say(client, up::Body::Join(join)),
            |frame| match frame {
                server_frame::Frame::Down(Down {
                    body: Some(down::Body::Joined(joined)), ..
                }) => Some(joined.leg),
                _ => None,
            },
        );
    }

    /// The first frame of a kind that is said while something is done. Later ones are not decoded:
    /// that is not the server's work.
    fn hear<T>(
        &mut self,
        deed: impl FnOnce(&mut Self),
        kind: impl Fn(server_frame::Frame) -> Option<T>,
    ) -> T {
        self.heard = Some(Vec::new());
        deed(self);
        let heard = self.heard.take().unwrap_or_default();
        let decoded = heard.into_iter().filter_map(|(_, frame)| {
            let bytes = frame.protobuf().clone();
            let frame = decode_server(Encoding::Protobuf, bytes, &Limits::DEFAULT);
            frame.expect("the server writes what a client can read").frame
        });
        decoded.filter_map(kind).next().expect("the server answers")
    }

    fn input(&mut self, input: HubInput) {
        self.to_hub.push_back(input);
        self.run();
    }

    /// Carries everything until all is quiet.
    fn run(&mut self) {
        loop {
            while let Some((connection, output)) = self.connections.next_output() {
                self.carry_connection(connection, output);
            }
            while let Some(output) = self.hub.next_output() {
                self.carry_hub(output);
            }
            while let Some((_, _, zone)) = &mut self.zone
                && let Some(output) = zone.next_output()
            {
                self.carry_zone(output);
            }
            if let Some(input) = self.to_hub.pop_front() {
                self.hub.handle(self.now, input);
            } else if let Some((_, _, zone)) = &mut self.zone
                && let Some(input) = self.to_zone.pop_front()
            {
                zone.handle(self.now, input);
            } else {
                return;
            }
        }
    }

    fn carry_connection(&mut self, connection: ConnectionId, output: ConnectionOutput) {
        match output {
            ConnectionOutput::Send(frame) => self.put(connection, frame),
            ConnectionOutput::ToHub(message) => {
                self.to_hub.push_back(HubInput::FromConnection(connection, message));
            }
            ConnectionOutput::ToZone(_, owner, message) => {
                self.to_zone.push_back(ZoneInput::FromHub(owner, message));
            }
            ConnectionOutput::Close(_) => self.close(connection),
            ConnectionOutput::Pause(_) | ConnectionOutput::Event(_) => {}
        }
    }

    fn close(&mut self, connection: ConnectionId) {
        let spent = self.connections.remove(connection);
        self.to_hub.push_back(HubInput::Closed { connection, code: None, spent });
    }

    fn message(&mut self, connection: ConnectionId, input: ConnectionInput) {
        self.connections.handle(self.now, connection, input);
    }

    fn applied(&mut self, connection: ConnectionId, seq: u64) {
        self.message(connection, ConnectionInput::Applied(seq));
        self.put(connection, applied_frame(seq));
    }

    fn carry_hub(&mut self, output: HubOutput) {
        match output {
            HubOutput::Send { connection, frame } => self.put(connection, frame),
            HubOutput::ToZone(_, owner, message) => {
                self.to_zone.push_back(ZoneInput::FromHub(owner, message));
            }
            HubOutput::OpenZone(spec) => self.open_zone(*spec),
            HubOutput::Commit(batch) => self.commit(&batch),
            HubOutput::Close { connection, .. } => self.close(connection),
            HubOutput::Applied { connection, seq } => self.applied(connection, seq),
            HubOutput::ToConnection(connection, message) => {
                self.message(connection, ConnectionInput::Message(message));
            }
            _ => {}
        }
    }

    fn carry_zone(&mut self, output: ZoneOutput) {
        match output {
            ZoneOutput::Send { link, frame, .. } => self.put(link.connection, frame),
            ZoneOutput::SendToMany { to, frame } => {
                for (_, link) in to {
                    self.put(link.connection, frame.clone());
                }
            }
            ZoneOutput::SendAll { link, frames, .. } => {
                for frame in frames {
                    self.put(link.connection, frame);
                }
            }
            ZoneOutput::Applied { link, seq, .. } => self.applied(link.connection, seq),
            ZoneOutput::ToConnection { link, message, .. } => {
                self.message(link.connection, ConnectionInput::Message(message));
            }
            ZoneOutput::ToHub(said) => {
                if let Some((id, owner, _)) = self.zone {
                    self.to_hub.push_back(HubInput::FromZone(id, owner, said));
                }
            }
            ZoneOutput::Commit(batch) => self.commit(&batch),
            _ => {}
        }
    }

    fn open_zone(&mut self, spec: ZoneSpec) {
        let owner = OwnerEpoch(1);
        let opened = Opened { owner, ..Opened::default() };
        let (id, chance) = (spec.id, Chance::from_seed([9; 32]));
        self.zone = Some((id, owner, ZoneCore::open(self.now, spec, Echo, &opened, chance)));
    }

    fn commit(&mut self, batch: &Batch) {
        let Batch { scope, revision, .. } = *batch;
        match scope {
            ScopeId::Zone(_) => self.to_zone.push_front(ZoneInput::Committed(revision)),
            _ => self.to_hub.push_back(HubInput::Committed(scope, revision)),
        }
    }

    fn put(&mut self, connection: ConnectionId, frame: SharedFrame) {
        self.sent += 1;
        if let Some(heard) = &mut self.heard {
            heard.push((connection, frame));
        }
    }
}
