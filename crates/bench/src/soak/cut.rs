//! The ways in which a link can go wrong, and how often each has happened.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rejoin_core::chance::Chance;

/// A way in which a link goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cut {
    /// Both ends hear a reset.
    Reset,
    /// Both ends hear an end.
    Finish,
    /// Nothing comes through any more, and nobody is told.
    BlackHole,
    /// The client hears a reset; the server hears nothing.
    HalfOpen,
    /// Nothing comes through for a while, and then all of it.
    Stall,
    /// Half of what was being sent arrives, then a reset.
    MidFrame,
    /// Whoever connects is turned away, for a while.
    Refuse,
    /// A few bytes at a time, for a while.
    Drip,
}

impl Cut {
    pub(super) const ALL: [Self; 8] = [
        Self::Reset,
        Self::Finish,
        Self::BlackHole,
        Self::HalfOpen,
        Self::Stall,
        Self::MidFrame,
        Self::Refuse,
        Self::Drip,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::Finish => "finish",
            Self::BlackHole => "black hole",
            Self::HalfOpen => "half open",
            Self::Stall => "stall",
            Self::MidFrame => "mid-frame",
            Self::Refuse => "refuse",
            Self::Drip => "drip",
        }
    }

    /// What befalls a link; turning away befalls a door.
    pub(super) fn of_link(chance: &mut Chance) -> Self {
        let links = Self::ALL.map(|cut| if cut == Self::Refuse { Self::Reset } else { cut });
        links[chance.below(links.len() as u64) as usize]
    }
}

/// How often each happened.
#[derive(Debug, Default)]
pub(super) struct Counts([AtomicU64; Cut::ALL.len()]);

impl Counts {
    pub(super) fn add(&self, cut: Cut) {
        self.0[cut as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn by_name(&self) -> BTreeMap<&'static str, u64> {
        let counted = Cut::ALL.into_iter().zip(&self.0);
        counted.map(|(cut, count)| (cut.name(), count.load(Ordering::Relaxed))).collect()
    }
}

/// A while between two bounds.
pub(super) fn between(chance: &mut Chance, least: Duration, most: Duration) -> Duration {
    let span = most.saturating_sub(least).as_micros();
    least + Duration::from_micros(chance.below(u64::try_from(span).unwrap_or(u64::MAX)))
}
