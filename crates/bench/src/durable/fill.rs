//! Fills a folder with held sessions, as a server would have: the hub itself takes logins, the game's
//! data and drops, zones take members, and what they want to commit goes into the store. Only the
//! sockets are left out.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use bytes::Bytes;
use rejoin_core::chance::Chance;
use rejoin_core::connection::FromConnection;
use rejoin_core::hub::{
    Changes, Command, Hub, HubConfig, HubInput, HubOutput, Recovered, SessionCommand, Spent,
    ZoneKind,
};
use rejoin_core::id::{ConnectionId, OwnerEpoch, SessionId, ZoneId};
use rejoin_core::scope::{Batch, Opened, ScopeId};
use rejoin_core::session::Serializer;
use rejoin_core::time::{Time, WallTime};
use rejoin_core::zone::{Durability, ZoneCore, ZoneInput, ZoneMachine, ZoneOutput, ZoneSpec};
use rejoin_store::{Embedded, Outcome, Store};
use rejoin_wire::v1;

use crate::serve::zones::{ECHO, Echo, HOLD, config};

/// The game's own data of a session.
const DATA: usize = 1_024;
/// The first owner of every zone.
const OWNER: OwnerEpoch = OwnerEpoch(1);
/// Batches that are committed at once.
const GROUP: usize = 4_096;

/// Makes the folder with so many held sessions in it, spread over so many zones; outside with none.
pub(super) fn fill(path: &Path, count: u64, zones: u64) -> Result<()> {
    let mut store = Embedded::open(path).map_err(|error| anyhow!("{error}"))?;
    let opened = store.open_one(ScopeId::Hub).map_err(|error| anyhow!("{error}"))?;
    let recovered = Recovered { hub: opened, ..Recovered::default() };
    let config = HubConfig {
        anonymous: true,
        hold: rejoin_core::exchange::Hold::Timed(HOLD),
        // They come as fast as they can be kept.
        returns_per_second: 0,
        zones_max: usize::try_from(zones.max(1))?,
        zones_per_player_max: usize::try_from(zones.max(1))?,
        kinds: [(
            ECHO.to_owned(),
            ZoneKind { config: config(Durability::Full, None), client_may_create: true },
        )]
        .into(),
        ..HubConfig::default()
    };
    let now = Time::from_millis(1_000);
    let (hub, _) = Hub::open(now, WallTime(1_700_000_000_000), config, [7; 32], recovered);
    let zone = None;
    let mut filler = Filler { hub, now, store, waiting: Vec::new(), begun: None, zone };
    filler.drain()?;
    for number in 1..=count {
        // Members of one zone come one after the other: only the latest zone is driven.
        let zone = zones.checked_sub(1).map(|last| (number * zones / (count + 1)).min(last));
        filler.player(number, zone)?;
    }
    filler.commit()
}

struct Filler {
    hub: Hub,
    now: Time,
    store: Embedded,
    waiting: Vec<Batch>,
    begun: Option<SessionId>,
    zone: Option<(ZoneId, ZoneCore<Echo>)>,
}

impl Filler {
    /// A player logs in, is given data, joins a zone if one is named, and is dropped.
    fn player(&mut self, number: u64, zone: Option<u64>) -> Result<()> {
        let connection = ConnectionId(number);
        // Deadlines of connections that are gone come, and go.
        self.now = self.now.after(Duration::from_millis(1));
        self.put(HubInput::Wake)?;
        let (serializer, origin) = (Serializer::Protobuf, None);
        self.put(HubInput::Opened { connection, serializer, origin, is_encrypted: false })?;
        let identity = v1::login::Identity::Anonymous(v1::Anonymous {});
        let login = v1::Login { identity: Some(identity), fresh: false };
        let hello = v1::Hello {
            version: rejoin_wire::VERSION,
            server_name: "localhost".to_owned(),
            purpose: Some(v1::hello::Purpose::Login(login)),
            ..v1::Hello::default()
        };
        let hello = FromConnection::Hello(Box::new(hello));
        self.put(HubInput::FromConnection(connection, hello))?;
        let Some(session) = self.begun.take() else { bail!("nobody was let in") };
        let data = Some(noise(number));
        let command = Command::Session(
            session,
            SessionCommand::Configure(Changes { data, ..Changes::default() }),
        );
        self.put(HubInput::Command { ticket: number, command })?;
        if let Some(zone) = zone {
            let (kind, name) = (ECHO.to_owned(), zone.to_string());
            let join = v1::Join { kind, name, create: true, ..v1::Join::default() };
            let up = v1::Up { seq: 1, body: Some(v1::up::Body::Join(join)) };
            self.put(HubInput::FromConnection(connection, FromConnection::Confirmed))?;
            self.put(HubInput::FromConnection(connection, FromConnection::Up { stay: 1, up }))?;
        }
        self.put(HubInput::Closed { connection, code: None, spent: Spent::default() })
    }

    fn put(&mut self, input: HubInput) -> Result<()> {
        self.hub.handle(self.now, input);
        self.drain()
    }

    /// Carries messages between the hub and the latest zone until all is quiet. A commit counts as
    /// done at once: nothing leaves this process before the end.
    fn drain(&mut self) -> Result<()> {
        let (mut to_hub, mut to_zone) = (VecDeque::new(), VecDeque::new());
        loop {
            while let Some(output) = self.hub.next_output() {
                match output {
                    HubOutput::Commit(batch) => {
                        if let ScopeId::Session(session) = batch.scope {
                            self.begun = Some(session);
                        }
                        to_hub.push_back(HubInput::Committed(batch.scope, batch.revision));
                        self.waiting.push(batch);
                    }
                    HubOutput::OpenZone(spec) => self.open_zone(*spec),
                    HubOutput::ToZone(_, owner, message) => {
                        to_zone.push_back(ZoneInput::FromHub(owner, message));
                    }
                    _ => {}
                }
            }
            while let Some((id, zone)) = &mut self.zone
                && let Some(output) = zone.next_output()
            {
                match output {
                    ZoneOutput::Commit(batch) => {
                        to_zone.push_front(ZoneInput::Committed(batch.revision));
                        self.waiting.push(batch);
                    }
                    ZoneOutput::ToHub(said) => {
                        to_hub.push_back(HubInput::FromZone(*id, OWNER, said));
                    }
                    _ => {}
                }
            }
            if let Some(input) = to_hub.pop_front() {
                self.hub.handle(self.now, input);
            } else if let Some((_, zone)) = &mut self.zone
                && let Some(input) = to_zone.pop_front()
            {
                zone.handle(self.now, input);
            } else {
                break;
            }
        }
        if self.waiting.len() >= GROUP { self.commit() } else { Ok(()) }
    }

    fn open_zone(&mut self, spec: ZoneSpec) {
        let opened = Opened { owner: OWNER, ..Opened::default() };
        let (id, chance) = (spec.id, Chance::from_seed([9; 32]));
        self.zone = Some((id, ZoneCore::open(self.now, spec, Echo, &opened, chance)));
    }

    fn commit(&mut self) -> Result<()> {
        let outcomes = self.store.commit(&std::mem::take(&mut self.waiting));
        match outcomes.into_iter().find(|outcome| *outcome != Outcome::Committed) {
            Some(outcome) => bail!("a session could not be kept: {outcome}"),
            None => Ok(()),
        }
    }
}

/// Bytes that no file system can make smaller.
fn noise(seed: u64) -> Bytes {
    let mut state = seed | 1;
    let words = (0..DATA / 8).flat_map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state ^ (state >> 29)).to_le_bytes()
    });
    words.collect()
}
