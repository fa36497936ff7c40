//! The most echoes a second: each connection always has four requests under way.

use anyhow::Result;

use super::{Meter, SECOND, Scene};
use crate::load::{Ear, Load, Place};
use crate::machine::now;
use crate::serve::zones::{ECHO, Stamp};

const WINDOW: usize = 4;
const PAYLOAD: usize = 64;
/// Members of one zone, as a game would have.
const MEMBERS: usize = 50;

struct Listener {
    answered: u64,
    payload: bytes::Bytes,
}

impl Ear for Listener {
    fn heard(&mut self, load: &mut Load, link: usize, _payload: &[u8], _now: u64) {
        self.answered += 1;
        load.request(link, &self.payload);
    }
}

pub(super) fn play(scene: &mut Scene) -> Result<()> {
    let count = scene.scale.flood_links;
    let zones = count.div_ceil(MEMBERS);
    let mut load = scene.load(Place::Zones { kind: ECHO, count: zones }, count)?;
    scene.gather(&mut load, 0..count)?;
    let payload = Stamp { said: 0, due: 0 }.payload(PAYLOAD);
    let mut ear = Listener { answered: 0, payload: payload.clone() };
    for request in 0..WINDOW * count {
        load.request(request % count, &payload);
    }
    scene.until(&mut load, now() + scene.scale.warm, &mut ear)?;
    let (before, since) = (ear.answered, now());
    let meter = Meter::start(scene.serving.id())?;
    scene.until(&mut load, since + scene.scale.window, &mut ear)?;
    let seconds = (now() - since) as f64 / SECOND as f64;
    scene.usage = meter.stop()?;
    scene.figures.insert("per second", (ear.answered - before) as f64 / seconds);
    let each = scene.usage.server * seconds * 1e6 / (ear.answered - before).max(1) as f64;
    scene.figures.insert("server µs each", each);
    scene.blame(&load);
    Ok(())
}
