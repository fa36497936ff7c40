//! Zones that say 200 bytes to each of their members 20 times a second. Counted is what arrives, and
//! how late: after it was said, and after it was due.

use std::collections::HashMap;

use anyhow::Result;
use hdrhistogram::Histogram;

use super::{Meter, SECOND, Scene, histogram};
use crate::load::{Deaf, Ear, Load, Place};
use crate::machine::now;
use crate::serve::zones::{BEAT, PERIOD, Stamp};

struct Listener {
    from: u64,
    to: u64,
    heard: u64,
    zones: usize,
    /// How many have heard which beat of which zone.
    beats: HashMap<(usize, u64), usize>,
    since_said: Histogram<u64>,
    since_due: Histogram<u64>,
}

impl Ear for Listener {
    fn heard(&mut self, _load: &mut Load, link: usize, payload: &[u8], now: u64) {
        let Some(stamp) = Stamp::read(payload) else { return };
        if stamp.due >= self.from && stamp.due < self.to {
            self.heard += 1;
            *self.beats.entry((link % self.zones, stamp.due)).or_default() += 1;
            self.since_said.saturating_record(now.saturating_sub(stamp.said));
            self.since_due.saturating_record(now.saturating_sub(stamp.due));
        }
    }
}

pub(super) fn play(scene: &mut Scene) -> Result<()> {
    let zones = scene.scale.zones;
    let count = zones * scene.scale.members;
    let mut load = scene.load(Place::Zones { kind: BEAT, count: zones }, count)?;
    scene.gather(&mut load, 0..count)?;
    scene.until(&mut load, now() + scene.scale.warm, &mut Deaf)?;

    let from = now();
    let to = from + scene.scale.window;
    let (since_said, since_due) = (histogram()?, histogram()?);
    let beats = HashMap::new();
    let mut ear = Listener { from, to, heard: 0, zones, beats, since_said, since_due };
    let meter = Meter::start(scene.serving.id())?;
    scene.until(&mut load, to, &mut ear)?;
    scene.usage = meter.stop()?;
    // What is under way still counts; what has not come by then has not come.
    scene.until(&mut load, to + SECOND, &mut ear)?;

    let beats = scene.scale.window as f64 / PERIOD.as_nanos() as f64;
    let wanted = beats * count as f64;
    scene.figures.insert("delivered %", (100.0 * ear.heard as f64 / wanted).min(100.0));
    scene
        .figures
        .insert("per second", ear.heard as f64 * SECOND as f64 / scene.scale.window as f64);
    scene.latencies(["p50 µs", "p99 µs"], &ear.since_said);
    scene.latencies(["p50 µs after due", "p99 µs after due"], &ear.since_due);
    let partly = ear.beats.values().filter(|heard| **heard != scene.scale.members).count();
    if partly > 0 || ear.beats.is_empty() {
        let all = ear.beats.len();
        scene.faults.push(format!("{partly} of {all} beats were not heard by every member"));
    }
    scene.figures.insert("max µs", ear.since_said.max() as f64 / 1_000.0);
    scene.blame(&load);
    Ok(())
}
