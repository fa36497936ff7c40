//! A hub and whatever peers say to it, in any order and at any time; and a hub that starts from rows
//! that nobody wrote.

use std::time::Duration;

use rejoin_core::connection::{ConnectionInput, ConnectionOutput, ConnectionSet};
use rejoin_core::hub::{AskId, Hub, HubConfig, HubInput, HubOutput, Recovered, ZoneKind};
use rejoin_core::id::{ConnectionId, OwnerEpoch, PlayerId, Revision, SessionId};
use rejoin_core::scope::Opened;
use rejoin_core::session::Serializer;
use rejoin_core::time::{Time, WallTime};
use rejoin_core::wire::v1::CloseCode;
use rejoin_core::wire::{Bytes, Encoding, Limits, decode_client};
use rejoin_core::zone::ZoneConfig;

/// More than this says nothing new.
const STEPS_MAX: usize = 200;

/// A script of one-byte steps: somebody comes, speaks, goes, is verified or admitted, time passes, the
/// store commits. The hub panics at none, and what it says is for connections that are there.
pub fn hub(data: &[u8]) {
    let mut stage = Stage::new(Recovered::default());
    let mut script = Script(data);
    for _ in 0..STEPS_MAX {
        let Some(step) = script.byte() else { break };
        let connection = ConnectionId(u64::from(step >> 4));
        let ask = stage.last_ask;
        let input = match step & 0x0f {
            0 => stage.newcomer(Serializer::Protobuf),
            1 => stage.newcomer(Serializer::Json),
            2 => stage.gone(connection, None),
            3 => stage.gone(connection, Some(CloseCode::TooSlow)),
            4 | 5 => HubInput::Verified { connection, ask, good: step & 1 == 0 },
            6 => HubInput::Admission { connection, ask, verdict: Ok(()) },
            7 => HubInput::Admission { connection, ask, verdict: Err("no".to_owned()) },
            8 => {
                stage.pass(Duration::from_millis(50 * u64::from(script.byte().unwrap_or(1))));
                HubInput::Wake
            }
            9 => {
                stage.commit_all();
                continue;
            }
            10 => HubInput::StoreFull(step & 0x10 == 0),
            11 => HubInput::Shutdown,
            way => {
                let encoding = if way == 12 { Encoding::Json } else { Encoding::Protobuf };
                let bytes = script.bytes();
                let length = bytes.len();
                let frame = decode_client(encoding, bytes, &Limits::DEFAULT);
                stage.receive(connection, ConnectionInput::Received { frame, bytes: length });
                continue;
            }
        };
        stage.feed(input);
    }
}

/// Any bytes as the rows of a hub, two sessions and a player: what is unreadable is given back by name,
/// and the hub serves all the same.
pub fn rows(data: &[u8]) {
    let mut script = Script(data);
    let mut opened = || {
        let mut rows = Vec::new();
        for _ in 0..script.byte().unwrap_or(0) % 4 {
            // The keys that there are, most of the time: they are a letter or a short word.
            rows.push((script.bytes(), script.bytes()));
        }
        Opened { owner: OwnerEpoch(1), revision: Revision(1), rows }
    };
    let recovered = Recovered {
        hub: opened(),
        sessions: vec![(SessionId(1), opened()), (SessionId(2), opened())],
        players: vec![(PlayerId([1; 16]), opened())],
        ..Recovered::default()
    };
    let mut stage = Stage::new(recovered);
    stage.commit_all();
    for _ in 0..3 {
        stage.pass(Duration::from_secs(60));
        stage.feed(HubInput::Wake);
        stage.commit_all();
    }
    let newcomer = stage.newcomer(Serializer::Protobuf);
    stage.feed(newcomer);
}

/// A hub, its clock, and what it wants committed.
struct Stage {
    hub: Hub,
    connections: ConnectionSet,
    now: Time,
    last: u64,
    /// The last question of any connection.
    last_ask: AskId,
    commits: Vec<HubInput>,
}

impl Stage {
    fn new(recovered: Recovered) -> Self {
        let mut config = HubConfig { anonymous: true, ..HubConfig::default() };
        let kind = ZoneKind { config: ZoneConfig::default(), client_may_create: true };
        config.kinds.insert("relay".to_owned(), kind);
        let now = Time::from_millis(1_000);
        let connections = ConnectionSet::new((&config).into());
        let (hub, _) = Hub::open(now, WallTime(1_000_000), config, [7; 32], recovered);
        let (last_ask, commits) = (AskId(1), Vec::new());
        let mut stage = Self { hub, connections, now, last: 0, last_ask, commits };
        stage.drain();
        stage
    }

    fn newcomer(&mut self, serializer: Serializer) -> HubInput {
        let connection = ConnectionId(self.last);
        self.last += 1;
        self.connections.open(self.now, connection);
        HubInput::Opened { connection, serializer, origin: None, is_encrypted: false }
    }

    fn gone(&mut self, connection: ConnectionId, code: Option<CloseCode>) -> HubInput {
        HubInput::Closed { connection, code, spent: self.connections.remove(connection) }
    }

    fn receive(&mut self, connection: ConnectionId, input: ConnectionInput) {
        self.connections.handle(self.now, connection, input);
        self.drain();
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }

    fn feed(&mut self, input: HubInput) {
        self.connections.wake(self.now);
        self.hub.handle(self.now, input);
        self.drain();
    }

    fn commit_all(&mut self) {
        for committed in std::mem::take(&mut self.commits) {
            self.feed(committed);
        }
    }

    fn drain(&mut self) {
        loop {
            self.drain_hub();
            let Some((connection, output)) = self.connections.next_output() else { return };
            match output {
                ConnectionOutput::ToHub(message) => {
                    self.hub.handle(self.now, HubInput::FromConnection(connection, message));
                }
                ConnectionOutput::Close(_) => self.connections.close(connection),
                ConnectionOutput::Send(_)
                | ConnectionOutput::Pause(_)
                | ConnectionOutput::ToZone(..)
                | ConnectionOutput::Event(_) => {}
            }
        }
    }

    fn drain_hub(&mut self) {
        while let Some(output) = self.hub.next_output() {
            match output {
                HubOutput::ToConnection(connection, message) => {
                    let message = ConnectionInput::Message(message);
                    self.connections.handle(self.now, connection, message);
                }
                HubOutput::Applied { connection, seq } => {
                    self.connections.handle(self.now, connection, ConnectionInput::Applied(seq));
                }
                HubOutput::Commit(batch) => {
                    self.commits.push(HubInput::Committed(batch.scope, batch.revision));
                }
                HubOutput::Close { connection, .. } => {
                    assert!(connection.0 < self.last, "nobody is {connection:?}");
                    self.connections.close(connection);
                }
                HubOutput::Send { connection, .. } => {
                    assert!(connection.0 < self.last, "nobody is {connection:?}");
                }
                HubOutput::Verify { ask, .. }
                | HubOutput::AskAdmission { ask, .. }
                | HubOutput::CheckAccount { ask, .. } => self.last_ask = ask,
                _ => {}
            }
        }
    }
}

/// What is left of the bytes.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// As many as the next byte says, or what there is.
    fn bytes(&mut self) -> Bytes {
        let length = usize::from(self.byte().unwrap_or(0)).min(self.0.len());
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        Bytes::copy_from_slice(bytes)
    }
}
