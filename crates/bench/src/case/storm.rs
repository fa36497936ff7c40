//! Everybody is cut off with a reset and returns at once, from several addresses: a router that
//! restarts. Ours resumes sessions in their zones, replayed; the bare one accepts strangers.

use anyhow::Result;

use super::{Meter, PATIENCE, SECOND, Scene, histogram};
use crate::load::{Deaf, Ear, Load, Place};
use crate::machine::now;
use crate::serve::zones::ECHO;

/// Members of one zone, as a game would have.
const MEMBERS: usize = 50;

struct Listener {
    latency: hdrhistogram::Histogram<u64>,
    last: u64,
}

impl Ear for Listener {
    fn live(&mut self, load: &mut Load, link: usize, now: u64) {
        self.latency.saturating_record(now - load.dialled(link));
        self.last = now;
    }
}

pub(crate) fn play(scene: &mut Scene) -> Result<()> {
    let count = scene.scale.storm_links;
    let zones = count.div_ceil(MEMBERS);
    let mut load = scene.load(Place::Zones { kind: ECHO, count: zones }, count)?;
    scene.gather(&mut load, 0..count)?;
    scene.until(&mut load, now() + SECOND / 2, &mut Deaf)?;
    let connected = scene.resident()?;
    for link in 0..count {
        load.reset(link);
    }
    scene.until(&mut load, now() + SECOND, &mut Deaf)?;

    let mut ear = Listener { latency: histogram()?, last: 0 };
    let start = now();
    let meter = Meter::start(scene.serving.id())?;
    for link in 0..count {
        load.dial(link, true)?;
    }
    while load.live() < count && now() < start + PATIENCE {
        load.turn(&mut scene.events, now() + SECOND / 10, &mut ear)?;
    }
    scene.usage = meter.stop()?;
    let seconds = ear.last.saturating_sub(start) as f64 / SECOND as f64;
    scene.figures.insert("seconds", seconds);
    scene.figures.insert("per second", load.live() as f64 / seconds.max(1e-9));
    scene.figures.insert("failures", (count - load.live()) as f64 + load.faults.refused as f64);
    scene.latencies(["p50 µs", "p99 µs"], &ear.latency);
    scene.figures.insert("MiB more", (scene.resident()? - connected) / f64::from(1 << 20));
    if load.live() < count {
        scene.faults.push(format!("{} of {count} came back", load.live()));
    }
    scene.blame(&load);
    Ok(())
}
