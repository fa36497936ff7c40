//! A bot: a member that the server plays. It runs after coins, a little slower than people can, and
//! zaps back when it is zapped.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use rejoin_core::agent::{Agent, Cue};
use rejoin_core::exchange::ZoneName;
use rejoin_core::wire::v1::{PartCause, RefusalCode};

use crate::message::{Joining, News, Order, Scene, read, write};

/// Full speed is 100.
const SPEED: i64 = 46;
/// A coin that is so much farther away may still be chosen: bots do not all want the same one.
const TASTE: u64 = 400;
/// Closer than this it stands still, where there is nothing to run after.
const NEAR: i64 = 12;

/// An agent for one arena. It leaves for good when the arena sends it away.
pub struct Bot {
    zone: ZoneName,
    name: &'static str,
    id: u32,
    place: (i32, i32),
    coins: BTreeMap<u32, (i32, i32)>,
    /// What it said last; none when that may not have been heard.
    way: Option<[i32; 2]>,
}

impl Bot {
    /// A bot that joins this arena under this name.
    #[must_use]
    pub fn new(zone: ZoneName, name: &'static str) -> Self {
        Self { zone, name, id: 0, place: (0, 0), coins: BTreeMap::new(), way: None }
    }

    /// The coin it wants: a near one, to its own taste.
    fn wanted(&self) -> Option<(u32, (i32, i32))> {
        let taste = |coin: u32| {
            let mixed =
                (u64::from(coin) * 0x9E37_79B9 + u64::from(self.id)).wrapping_mul(0x85EB_CA6B);
            (mixed >> 16) % TASTE
        };
        let length = |place: &(i32, i32)| {
            let (dx, dy) = self.toward(*place);
            (dx * dx + dy * dy).isqrt() as u64
        };
        let best = self.coins.iter().min_by_key(|(coin, place)| length(place) + taste(**coin));
        best.map(|(coin, place)| (*coin, *place))
    }

    /// Takes in the whole arena.
    fn see(&mut self, scene: &Scene) {
        self.id = scene.you;
        let me = scene.heroes.iter().find(|hero| hero.id == scene.you);
        self.place = me.map_or((0, 0), |hero| (hero.x, hero.y));
        self.coins = scene.coins.iter().map(|[coin, x, y, _]| (*coin as u32, (*x, *y))).collect();
    }

    fn toward(&self, place: (i32, i32)) -> (i64, i64) {
        (i64::from(place.0 - self.place.0), i64::from(place.1 - self.place.1))
    }

    fn way_to(&self, place: (i32, i32)) -> [i32; 2] {
        let (dx, dy) = self.toward(place);
        let length = (dx * dx + dy * dy).isqrt();
        if length < NEAR {
            return [0, 0];
        }
        [(dx * SPEED / length) as i32, (dy * SPEED / length) as i32]
    }
}

impl Agent for Bot {
    type In = News;
    type Out = Order;

    const TICK: Option<Duration> = Some(Duration::from_millis(200));

    fn on_start(&mut self, cue: &mut Cue<'_, Order>) {
        if cue.zone().is_some() {
            // A bot of before a restart: its hero is there, and it must find out which.
            return cue.say(Order::Look);
        }
        cue.join(self.zone.clone(), write(&Joining { name: self.name.to_owned() }));
    }

    fn on_joined(&mut self, cue: &mut Cue<'_, Order>, _: &ZoneName, payload: Bytes) {
        let Ok(scene) = read::<Scene>(&payload) else { return cue.leave() };
        self.see(&scene);
    }

    fn on_message(&mut self, cue: &mut Cue<'_, Order>, news: &News) {
        match news {
            News::Where(rows) => {
                let me = rows.iter().find(|row| row[0] as u32 == self.id);
                self.place = me.map_or(self.place, |row| (row[1], row[2]));
            }
            News::Scene(scene) => self.see(scene),
            News::Coin([coin, x, y, _]) => drop(self.coins.insert(*coin as u32, (*x, *y))),
            News::Took { coin, .. } => drop(self.coins.remove(coin)),
            News::Zap { id, hit } if *id != self.id && hit.contains(&self.id) => {
                cue.say(Order::Zap);
            }
            _ => {}
        }
    }

    fn on_tick(&mut self, cue: &mut Cue<'_, Order>) {
        let wanted = self.wanted();
        let way = wanted.map_or([0, 0], |(_, place)| self.way_to(place));
        if let (Some((coin, _)), [0, 0]) = (wanted, way) {
            // It stands on it and there is none: it missed who took it.
            self.coins.remove(&coin);
        }
        if self.way != Some(way) && cue.zone().is_some() {
            self.way = Some(way);
            cue.say(Order::Go(way));
        }
    }

    fn on_refused(&mut self, cue: &mut Cue<'_, Order>, _: RefusalCode, _: &str) {
        cue.leave();
    }

    fn on_parted(&mut self, cue: &mut Cue<'_, Order>, _: PartCause) {
        cue.leave();
    }

    fn on_zone_lost(&mut self, cue: &mut Cue<'_, Order>) {
        self.way = None;
        if cue.zone().is_none() {
            cue.leave();
        }
    }
}
