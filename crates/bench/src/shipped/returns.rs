//! Everybody is cut off at once and returns with what a client keeps: how long until the last one is
//! back in its room, *replayed*, and how many were asked to wait.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use mio::Events;

use super::process::Shipped;
use crate::case::{SECOND, histogram};
use crate::load::{Deaf, Ear, Load, Place};
use crate::machine::now;
use crate::serve::Kind;

/// Players of one room of the relay, as a game would have.
const ROOM: usize = 50;
/// How long all of them may take to come in, or back.
const PATIENCE: u64 = 60 * SECOND;

/// What one run showed.
pub(super) struct Shown {
    /// From the first dial until the last was back.
    pub(super) seconds: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) back: usize,
    pub(super) retries: u64,
    pub(super) refused: u64,
    /// Returns that the server asked to wait.
    pub(super) deferred: f64,
    pub(super) words: Vec<String>,
}

struct Clock {
    latency: hdrhistogram::Histogram<u64>,
    last: u64,
}

impl Ear for Clock {
    fn live(&mut self, load: &mut Load, link: usize, now: u64) {
        self.latency.saturating_record(now - load.dialled(link));
        self.last = now;
    }
}

/// So many players from so many addresses.
pub(super) fn play(program: &Path, players: usize, addresses: usize) -> Result<Shown> {
    let server = Shipped::start(program, "")?;
    let place = Place::Zones { kind: "relay", count: players.div_ceil(ROOM) };
    let mut load = Load::new(Kind::Ours, server.at, place, players)?;
    load.shipped(addresses);
    let mut events = Events::with_capacity(4_096);
    let end = now() + PATIENCE;
    // An address has ten logins a second: they come in as fast as that allows.
    for link in 0..players {
        load.dial(link, false)?;
        if link % addresses == addresses - 1 {
            let next = now() + SECOND / 10;
            while now() < next {
                load.turn(&mut events, next, &mut Deaf)?;
            }
        }
    }
    while load.live() < players && now() < end {
        load.turn(&mut events, now() + SECOND / 10, &mut Deaf)?;
    }
    anyhow::ensure!(load.live() == players, "{} of {players} came in", load.live());
    std::thread::sleep(Duration::from_secs(1));
    (0..players).for_each(|link| load.reset(link));
    let rest = now() + SECOND;
    while now() < rest {
        load.turn(&mut events, rest, &mut Deaf)?;
    }
    load.faults = crate::load::Faults::default();
    load.words.clear();
    let mut clock = Clock { latency: histogram()?, last: 0 };
    let start = now();
    for link in 0..players {
        load.dial(link, true)?;
    }
    while load.live() < players && now() < start + PATIENCE {
        load.turn(&mut events, now() + SECOND / 10, &mut clock)?;
    }
    let ms = |quantile| clock.latency.value_at_quantile(quantile) as f64 / 1e6;
    Ok(Shown {
        seconds: clock.last.saturating_sub(start) as f64 / SECOND as f64,
        p50_ms: ms(0.5),
        p99_ms: ms(0.99),
        back: load.live(),
        retries: load.faults.retries,
        refused: load.faults.refused,
        deferred: server.metric("rejoin_returns_deferred_total", "")?,
        words: load.words,
    })
}
