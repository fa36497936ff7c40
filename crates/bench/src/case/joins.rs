//! Strangers who come in, 64 at a time: connection, login, and a zone. The bare server only accepts.

use anyhow::{Result, bail};

use super::{IN_FLIGHT, Meter, PATIENCE, SECOND, Scene, histogram};
use crate::load::{Ear, Load, Place};
use crate::machine::now;
use crate::serve::zones::ECHO;

/// Members of one zone, as a game would have.
const MEMBERS: usize = 50;

struct Listener {
    latency: hdrhistogram::Histogram<u64>,
}

impl Ear for Listener {
    fn live(&mut self, load: &mut Load, link: usize, now: u64) {
        self.latency.saturating_record(now - load.dialled(link));
    }
}

pub(super) fn play(scene: &mut Scene) -> Result<()> {
    let count = scene.scale.joins;
    let zones = count.div_ceil(MEMBERS);
    let mut load = scene.load(Place::Zones { kind: ECHO, count: zones }, count)?;
    let mut ear = Listener { latency: histogram()? };
    let (start, mut next) = (now(), 0);
    let meter = Meter::start(scene.serving.id())?;
    while load.live() < count {
        while next < count && next < load.live() + IN_FLIGHT {
            load.dial(next, false)?;
            next += 1;
        }
        load.turn(&mut scene.events, now() + SECOND, &mut ear)?;
        if now() > start + PATIENCE {
            bail!("{} of {count} joined, faults {:?}", load.live(), load.faults);
        }
    }
    let seconds = (now() - start) as f64 / SECOND as f64;
    scene.usage = meter.stop()?;
    scene.figures.insert("per second", count as f64 / seconds);
    scene.latencies(["p50 µs", "p99 µs"], &ear.latency);
    scene.blame(&load);
    Ok(())
}
