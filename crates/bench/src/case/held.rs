//! Memory of sessions whose connection is gone. They come and are cut in waves. The first wave pays
//! for the buffers of connections, which the allocator keeps; so growth is counted from there.

use anyhow::Result;

use super::{Meter, SECOND, Scene};
use crate::load::{Deaf, Place};
use crate::machine::now;

pub(super) fn play(scene: &mut Scene) -> Result<()> {
    let (all, wave) = (scene.scale.held_sessions, scene.scale.wave);
    let mut load = scene.load(Place::Lobby, wave)?;
    let empty = scene.resident()?;
    let mut base = 0.0;
    let meter = Meter::start(scene.serving.id())?;
    let waves = all.div_ceil(wave);
    for number in 0..=waves {
        scene.gather(&mut load, 0..wave)?;
        for link in 0..wave {
            load.forget(link);
        }
        scene.until(&mut load, now() + SECOND / 5, &mut Deaf)?;
        if number == 0 {
            base = scene.resident()?;
        }
    }
    scene.usage = meter.stop()?;
    let (fresh, held) = (scene.resident()?, (waves * wave) as f64);
    // The last deadlines of the lost connections come within this time.
    let rest = if scene.scale.window > SECOND { 16 * SECOND } else { SECOND / 5 };
    scene.until(&mut load, now() + rest, &mut Deaf)?;
    let rested = scene.resident()?;
    scene.figures.insert("sessions", held + wave as f64);
    scene.figures.insert("bytes each", (fresh - base) / held);
    scene.figures.insert("bytes each, 16 s later", (rested - base) / held);
    scene.figures.insert("bytes each, all growth", (rested - empty) / (held + wave as f64));
    scene.blame(&load);
    Ok(())
}
