//! The ground: how large it is, where things stand on it, and which way somebody goes. Whole numbers
//! only, so that every machine computes the same game.

use rejoin_core::chance::Chance;
use serde::{Deserialize, Serialize};

/// Width of the ground in units.
pub const WIDTH: i32 = 1_600;
/// Height of the ground in units.
pub const HEIGHT: i32 = 900;
/// A hero is a disc of this radius.
pub const RADIUS: i32 = 24;
/// Parts of a unit that places are counted in.
const PARTS: i32 = 10;
/// What somebody at full speed covers in a tick, in parts.
const STRIDE: i32 = 160;
/// A way of this length is full speed.
const FULL: i32 = 100;
/// More than this is not looked at: it is full speed in any case.
const ASKED_MAX: i32 = 10_000;
/// Nothing appears closer to the edge than this.
const MARGIN: i32 = 70;

/// A place on the ground, in parts of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Place {
    x: i32,
    y: i32,
}

impl Place {
    /// The place at these units, or the nearest one on the ground.
    pub(crate) fn at(x: i32, y: i32) -> Self {
        let on = |value: i32, end: i32| value.clamp(RADIUS, end - RADIUS) * PARTS;
        Self { x: on(x, WIDTH), y: on(y, HEIGHT) }
    }

    /// A place drawn at random, not closer to an edge than `MARGIN`.
    pub(crate) fn anywhere(chance: &mut Chance) -> Self {
        let mut pick = |end: i32| MARGIN + chance.below((end - 2 * MARGIN) as u64) as i32;
        Self::at(pick(WIDTH), pick(HEIGHT))
    }

    pub(crate) fn x(self) -> i32 {
        (self.x + PARTS / 2) / PARTS
    }

    pub(crate) fn y(self) -> i32 {
        (self.y + PARTS / 2) / PARTS
    }

    /// Where a tick on this way leads; edges stop.
    pub(crate) fn step(self, way: Way) -> Self {
        let least = RADIUS * PARTS;
        let x = self.x + STRIDE * way.0 / FULL;
        let y = self.y + STRIDE * way.1 / FULL;
        Self { x: x.clamp(least, WIDTH * PARTS - least), y: y.clamp(least, HEIGHT * PARTS - least) }
    }

    /// Whether another place is within so many units.
    pub(crate) fn is_near(self, other: Self, units: i32) -> bool {
        let (dx, dy) = (i64::from(self.x - other.x), i64::from(self.y - other.y));
        let reach = i64::from(units) * i64::from(PARTS);
        dx * dx + dy * dy <= reach * reach
    }
}

/// Which way somebody goes and how fast: a vector of at most length 100.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Way(i32, i32);

impl Way {
    /// The way that a client asks for. It may ask for anything: what is too long is shortened.
    pub(crate) fn asked(dx: i32, dy: i32) -> Self {
        let (x, y) = (dx.clamp(-ASKED_MAX, ASKED_MAX), dy.clamp(-ASKED_MAX, ASKED_MAX));
        let length = (x * x + y * y).isqrt().max(FULL);
        Self(x * FULL / length, y * FULL / length)
    }

    pub(crate) fn is_rest(self) -> bool {
        self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_faster_on_the_diagonal_or_by_asking_for_more() {
        assert_eq!(Way::asked(100, 0), Way(100, 0));
        assert_eq!(Way::asked(30, -40), Way(30, -40));
        assert_eq!(Way::asked(i32::MAX, 0), Way(100, 0));
        let Way(x, y) = Way::asked(i32::MIN, i32::MIN);
        assert!(x == y && x * x + y * y <= FULL * FULL, "{x} {y}");
    }

    #[test]
    fn edges_stop() {
        let corner = Place::at(-5_000, 5_000);
        assert_eq!((corner.x(), corner.y()), (RADIUS, HEIGHT - RADIUS));
        assert_eq!(corner.step(Way::asked(-100, 0)), corner);
        assert_eq!(corner.step(Way::asked(100, 0)).x(), RADIUS + 16);
    }

    #[test]
    fn anywhere_is_on_the_ground() {
        let mut chance = Chance::from_seed([3; 32]);
        for _ in 0..1_000 {
            let place = Place::anywhere(&mut chance);
            assert!((MARGIN..=WIDTH - MARGIN).contains(&place.x()));
            assert!((MARGIN..=HEIGHT - MARGIN).contains(&place.y()));
        }
    }
}
