//! Latency of an echo: each connection asks 20 times a second, at instants that are fixed before. A
//! latency counts from the instant at which the request was due, so that a slow server cannot make
//! the generator ask less and look better for it.

use anyhow::Result;
use hdrhistogram::Histogram;

use super::{Meter, SECOND, Scene, histogram};
use crate::load::{Deaf, Ear, Load, Place};
use crate::machine::now;
use crate::serve::zones::{ECHO, Stamp};

const PER_SECOND: u64 = 20;
const PAYLOAD: usize = 64;
/// Members of one zone, as a game would have.
const MEMBERS: usize = 50;

struct Listener {
    from: u64,
    to: u64,
    latency: Histogram<u64>,
    answered: u64,
}

impl Ear for Listener {
    fn heard(&mut self, _load: &mut Load, _link: usize, payload: &[u8], now: u64) {
        let Some(stamp) = Stamp::read(payload) else { return };
        if stamp.due >= self.from && stamp.due < self.to {
            self.answered += 1;
            self.latency.saturating_record(now.saturating_sub(stamp.due));
        }
    }
}

pub(crate) fn play(scene: &mut Scene) -> Result<()> {
    let count = scene.scale.echo_links;
    let zones = count.div_ceil(MEMBERS);
    let mut load = scene.load(Place::Zones { kind: ECHO, count: zones }, count)?;
    scene.gather(&mut load, 0..count)?;
    scene.until(&mut load, now() + SECOND / 2, &mut Deaf)?;

    let start = now();
    let from = start + scene.scale.warm;
    let to = from + scene.scale.window;
    let gap = SECOND / PER_SECOND / count as u64;
    let mut ear = Listener { from, to, latency: histogram()?, answered: 0 };
    let mut meter = None;
    let (mut number, mut asked) = (0_u64, 0_u64);
    loop {
        let mut due = start + number * gap;
        while due <= now() && due < to {
            let payload = Stamp { said: due, due }.payload(PAYLOAD);
            load.request((number % count as u64) as usize, &payload);
            asked += u64::from(due >= from);
            number += 1;
            due = start + number * gap;
        }
        if meter.is_none() && due >= from {
            meter = Some(Meter::start(scene.serving.id())?);
        }
        if due >= to {
            break;
        }
        load.turn(&mut scene.events, due, &mut ear)?;
    }
    if let Some(meter) = meter {
        scene.usage = meter.stop()?;
    }
    let end = now() + 5 * SECOND;
    while ear.answered < asked && now() < end {
        load.turn(&mut scene.events, now() + SECOND / 20, &mut ear)?;
    }
    scene.latencies(["p50 µs", "p99 µs"], &ear.latency);
    scene.figures.insert("p99.9 µs", ear.latency.value_at_quantile(0.999) as f64 / 1_000.0);
    scene.figures.insert("per second", asked as f64 / (scene.scale.window as f64 / SECOND as f64));
    if ear.answered != asked {
        scene.faults.push(format!("{} of {asked} echoes were answered", ear.answered));
    }
    scene.blame(&load);
    Ok(())
}
