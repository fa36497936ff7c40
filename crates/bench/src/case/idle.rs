//! Memory of connections that are only there: what the server grew by, divided by their number.

use anyhow::Result;

use super::{Meter, Scene};
use crate::load::{Deaf, Place};
use crate::machine::now;

pub(crate) fn play(scene: &mut Scene) -> Result<()> {
    let count = scene.scale.idle_links;
    let mut load = scene.load(Place::Lobby, count)?;
    let empty = scene.resident()?;
    scene.gather(&mut load, 0..count)?;
    // Heartbeats have gone round once, and buffers are as they stay.
    scene.until(&mut load, now() + 3 * scene.scale.warm, &mut Deaf)?;
    let meter = Meter::start(scene.serving.id())?;
    scene.until(&mut load, now() + scene.scale.window / 2, &mut Deaf)?;
    scene.usage = meter.stop()?;
    let grown = scene.resident()? - empty;
    scene.figures.insert("connections", count as f64);
    scene.figures.insert("empty MiB", empty / f64::from(1 << 20));
    scene.figures.insert("KiB each", grown / 1024.0 / count as f64);
    scene.figures.insert("CPU %", scene.usage.server * 100.0);
    if load.live() < count {
        scene.faults.push(format!("{} of {count} stayed connected", load.live()));
    }
    scene.blame(&load);
    Ok(())
}
