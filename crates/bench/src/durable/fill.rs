//! Fills a folder with held sessions, as a server would have: the hub itself takes logins, the game's
//! data and drops, and what it wants to commit goes into the store. Only the sockets are left out.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use bytes::Bytes;
use rejoin_core::hub::{Changes, Command, Hub, HubConfig, HubInput, HubOutput, Recovered};
use rejoin_core::id::{ConnectionId, SessionId};
use rejoin_core::scope::{Batch, ScopeId};
use rejoin_core::session::Serializer;
use rejoin_core::time::{Time, WallTime};
use rejoin_store::{Embedded, Outcome, Store};
use rejoin_wire::v1;

use crate::serve::zones::HOLD;

/// The game's own data of a session.
const DATA: usize = 1_024;
/// Batches that are committed at once.
const GROUP: usize = 4_096;

/// Makes the folder with so many held sessions in it.
pub(super) fn fill(path: &Path, count: u64) -> Result<()> {
    let mut store = Embedded::open(path).map_err(|error| anyhow!("{error}"))?;
    let opened = store.open_one(ScopeId::Hub).map_err(|error| anyhow!("{error}"))?;
    let recovered = Recovered { hub: opened, ..Recovered::default() };
    let config = HubConfig {
        anonymous: true,
        hold: rejoin_core::exchange::Hold::Timed(HOLD),
        // They come as fast as they can be kept.
        returns_per_second: 0,
        ..HubConfig::default()
    };
    let now = Time::from_millis(1_000);
    let (hub, _) = Hub::open(now, WallTime(1_700_000_000_000), config, [7; 32], recovered);
    let mut filler = Filler { hub, now, store, waiting: Vec::new(), begun: None };
    filler.drain()?;
    for number in 1..=count {
        filler.player(number)?;
    }
    filler.commit()
}

struct Filler {
    hub: Hub,
    now: Time,
    store: Embedded,
    waiting: Vec<Batch>,
    begun: Option<SessionId>,
}

impl Filler {
    /// Somebody comes, is given data and is dropped.
    fn player(&mut self, number: u64) -> Result<()> {
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
        let frame = v1::ClientFrame { frame: Some(v1::client_frame::Frame::Hello(hello)) };
        self.put(HubInput::Received { connection, frame: Ok(frame), bytes: 64 })?;
        let Some(session) = self.begun.take() else { bail!("nobody was let in") };
        let data = Some(noise(number));
        let command = Command::Configure(session, Changes { data, ..Changes::default() });
        self.put(HubInput::Command { ticket: number, command })?;
        self.put(HubInput::Closed { connection, code: None })
    }

    fn put(&mut self, input: HubInput) -> Result<()> {
        self.hub.handle(self.now, input);
        self.drain()
    }

    /// The store is told later and says yes at once: nobody outside hears of it before the end.
    fn drain(&mut self) -> Result<()> {
        let mut told = VecDeque::new();
        loop {
            while let Some(output) = self.hub.next_output() {
                let HubOutput::Commit(batch) = output else { continue };
                if let ScopeId::Session(session) = batch.scope {
                    self.begun = Some(session);
                }
                told.push_back(HubInput::Committed(batch.scope, batch.revision));
                self.waiting.push(batch);
            }
            let Some(input) = told.pop_front() else { break };
            self.hub.handle(self.now, input);
        }
        if self.waiting.len() >= GROUP { self.commit() } else { Ok(()) }
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
