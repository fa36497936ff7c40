//! A hero: what the arena knows of one member.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::field::{Place, Way};
use crate::message::Figure;

/// What a hero begins with.
pub(crate) const HEALTH: i32 = 100;
/// What a zap takes.
const ZAP_HURTS: i32 = 34;
/// Ticks between two zaps of one hero.
const ZAP_REST: u64 = 16;
/// Ticks for which nobody hurts a hero that has just come.
const SHIELD: u64 = 40;
/// Ticks in which a point of health grows back.
const HEALING: u64 = 8;

/// One member's hero. It is what a returning player finds again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Hero {
    pub(crate) id: u32,
    pub(crate) session: u64,
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) way: Way,
    pub(crate) health: i32,
    pub(crate) score: u32,
    pub(crate) bot: bool,
    /// The zone's age, in milliseconds, when its connection went.
    pub(crate) away: Option<u64>,
    /// The tick from which it can be hurt.
    shield_until: u64,
    /// The tick from which it may zap.
    zap_from: u64,
}

impl Hero {
    pub(crate) fn new(id: u32, session: u64, name: String, place: Place, tick: u64) -> Self {
        Self {
            id,
            session,
            name,
            place,
            way: Way::default(),
            health: HEALTH,
            score: 0,
            bot: false,
            away: None,
            shield_until: tick + SHIELD,
            zap_from: 0,
        }
    }

    /// A tick passes. Whether anything about it changed that others see.
    pub(crate) fn pass(&mut self, tick: u64) -> bool {
        if self.away.is_some() {
            return false;
        }
        let before = (self.place, self.health);
        if !self.way.is_rest() {
            self.place = self.place.step(self.way);
        }
        if self.health < HEALTH && tick.is_multiple_of(HEALING) {
            self.health += 1;
        }
        before != (self.place, self.health)
    }

    /// Whether it may zap now; it has, if so.
    pub(crate) fn take_zap(&mut self, tick: u64) -> bool {
        let may = self.away.is_none() && tick >= self.zap_from;
        if may {
            self.zap_from = tick + ZAP_REST;
        }
        may
    }

    /// A zap meets it. Whether it was hurt: ghosts and newcomers are not.
    pub(crate) fn meet_zap(&mut self, tick: u64) -> bool {
        let hurts = self.away.is_none() && tick >= self.shield_until;
        if hurts {
            self.health -= ZAP_HURTS;
        }
        hurts
    }

    /// It starts again elsewhere.
    pub(crate) fn restart(&mut self, place: Place, tick: u64) {
        (self.place, self.health, self.shield_until) = (place, HEALTH, tick + SHIELD);
    }

    /// As others see it.
    pub(crate) fn figure(&self, age: Duration, hold: Duration) -> Figure {
        let rest =
            |since: u64| hold.saturating_sub(age.saturating_sub(Duration::from_millis(since)));
        Figure {
            id: self.id,
            name: self.name.clone(),
            x: self.place.x(),
            y: self.place.y(),
            health: self.health,
            score: self.score,
            bot: self.bot,
            away: self.away.map(|since| rest(since).as_millis() as u64),
        }
    }

    /// Its row in `where`.
    pub(crate) fn row(&self) -> [i32; 4] {
        [self.id as i32, self.place.x(), self.place.y(), self.health]
    }
}
