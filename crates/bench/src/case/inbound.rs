//! The most ordered messages a second that come in: pairs in the relay's zone at 20 Hz, each always with
//! a window of messages that are not acknowledged yet. What one says the other hears, so a message is
//! kept until it was heard; nothing may be missing at the end.

use anyhow::Result;

use super::{Meter, SECOND, Scene};
use crate::load::{Ear, Load, Place};
use crate::machine::{self, now};
use crate::serve::zones::RELAY;

const PAYLOAD: [u8; 100] = [b'.'; 100];
/// Who hear each other.
const PAIR: usize = 2;
/// Messages of one connection under way: at 50,000 a second, what its player says within a tick or so.
const WINDOW: u64 = 16;

struct Listener {
    /// By connection: the last number that was sent.
    sent: Vec<u64>,
    said: u64,
    applied: Vec<u64>,
    consumed: u64,
    heard: u64,
    is_over: bool,
}

impl Listener {
    fn speak(&mut self, load: &mut Load, link: usize) {
        let room = WINDOW.saturating_sub(self.sent[link] - self.applied[link]);
        if room > 0 && !self.is_over {
            self.sent[link] = load.say(link, &PAYLOAD, room);
            self.said += room;
        }
    }
}

impl Ear for Listener {
    fn heard(&mut self, _load: &mut Load, _link: usize, _payload: &[u8], _now: u64) {
        self.heard += 1;
    }

    fn applied(&mut self, load: &mut Load, link: usize, seq: u64) {
        // The first number was the join's.
        self.consumed += seq.saturating_sub(self.applied[link].max(1));
        self.applied[link] = self.applied[link].max(seq);
        self.speak(load, link);
    }
}

pub(crate) fn play(scene: &mut Scene) -> Result<()> {
    let count = scene.scale.flood_links;
    let mut load = scene.load(Place::Zones { kind: RELAY, count: count / PAIR }, count)?;
    scene.gather(&mut load, 0..count)?;
    let mut ear = Listener {
        sent: vec![1; count],
        said: 0,
        applied: vec![1; count],
        consumed: 0,
        heard: 0,
        is_over: false,
    };
    for link in 0..count {
        ear.speak(&mut load, link);
    }
    scene.until(&mut load, now() + scene.scale.warm, &mut ear)?;
    scene.serving.ask()?;
    let (before, since) = (ear.consumed, now());
    let written = machine::written_bytes(scene.serving.id())?;
    let meter = Meter::start(scene.serving.id())?;
    scene.until(&mut load, since + scene.scale.window, &mut ear)?;
    let seconds = (now() - since) as f64 / SECOND as f64;
    scene.usage = meter.stop()?;
    let consumed = (ear.consumed - before) as f64;
    let commits = scene.serving.ask()?.commits;
    let written = (machine::written_bytes(scene.serving.id())? - written) as f64;
    scene.figures.insert("per second", consumed / seconds);
    scene.figures.insert("server µs each", scene.usage.server * seconds * 1e6 / consumed.max(1.0));
    if commits.groups > 0 {
        scene.figures.insert("commit p50 ms", commits.p50_us / 1e3);
        scene.figures.insert("commit p99 ms", commits.p99_us / 1e3);
        scene.figures.insert("commits a second", commits.groups as f64 / seconds);
        let bytes = consumed * PAYLOAD.len() as f64;
        scene.figures.insert("disk bytes per message byte", written / bytes.max(1.0));
    }
    ear.is_over = true;
    let end = now() + 10 * SECOND;
    while (ear.consumed, ear.heard) != (ear.said, ear.said) && now() < end {
        load.turn(&mut scene.events, now() + SECOND / 20, &mut ear)?;
    }
    if (ear.consumed, ear.heard) != (ear.said, ear.said) {
        let Listener { said, consumed, heard, .. } = ear;
        scene.faults.push(format!("{said} said, {consumed} consumed, {heard} heard"));
    }
    scene.blame(&load);
    Ok(())
}
