//! What one client has heard, held against what was said: each thing once, in order, unless the client
//! was told that something is lost.

use super::speech::{Speech, Standing};

/// What was wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Wrongs {
    /// Said and not heard, though nobody said that it was lost.
    pub(super) lost: u64,
    /// Heard twice in a row.
    pub(super) doubled: u64,
    /// Heard after something later.
    pub(super) reordered: u64,
    /// Called lost, and was not; or the other way round.
    pub(super) wrong_rung: u64,
}

impl Wrongs {
    pub(super) fn add(&mut self, other: Self) {
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.reordered += other.reordered;
        self.wrong_rung += other.wrong_rung;
    }

    /// Compares a number with the last one of its stream.
    fn judge(&mut self, last: u64, number: u64) {
        match number.cmp(&last) {
            std::cmp::Ordering::Equal => self.doubled += 1,
            std::cmp::Ordering::Less => self.reordered += 1,
            std::cmp::Ordering::Greater => self.lost += number - last - 1,
        }
    }
}

/// What one client has heard.
#[derive(Clone, Debug, Default)]
pub(super) struct Hearing {
    pub(super) standing: Standing,
    /// The zone tells how far everybody is to whoever comes or was left behind.
    tells: bool,
    /// Numbers that were named as lost.
    pub(super) named: u64,
    pub(super) heard: u64,
    pub(super) wrongs: Wrongs,
}

impl Hearing {
    /// The client has just come in.
    pub(super) fn joined(&mut self, payload: &[u8]) {
        let standing = Standing::read(payload);
        self.tells = standing.is_some();
        self.standing = standing.unwrap_or_default();
    }

    /// The client was told that it is left behind; `is_overrun`: because too much was missed.
    pub(super) fn resynced(&mut self, snapshot: &[u8], is_overrun: bool) {
        let Some(standing) = Standing::read(snapshot) else {
            // This zone does not tell: whoever speaks next may have gone on.
            self.standing = Standing::default();
            return;
        };
        let mut missed = standing.ticks.saturating_sub(self.standing.ticks);
        let mut is_back = standing.ticks < self.standing.ticks;
        for (by, last) in &self.standing.sayings {
            let now = standing.sayings.get(by).copied().unwrap_or(0);
            is_back |= now < *last;
            missed += now.saturating_sub(*last);
        }
        if is_back || (is_overrun && missed == 0) {
            self.wrongs.wrong_rung += 1;
        }
        self.named += missed;
        self.standing = standing;
    }

    /// Something was said.
    pub(super) fn hear(&mut self, speech: Speech) {
        self.heard += 1;
        match speech {
            Speech::Tick { number } => {
                self.wrongs.judge(self.standing.ticks, number);
                self.standing.ticks = self.standing.ticks.max(number);
            }
            Speech::Say { by, number } => {
                let last = self.standing.sayings.get(&by).copied();
                match last {
                    Some(last) => self.wrongs.judge(last, number),
                    // Whoever is not known has not spoken, where the zone tells.
                    None if self.tells => self.wrongs.judge(0, number),
                    None => {}
                }
                let last = self.standing.sayings.entry(by).or_default();
                *last = number.max(*last);
            }
            // Replies come to those who asked.
            Speech::Ask { .. } => self.wrongs.doubled += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hearing() -> Hearing {
        let mut hearing = Hearing::default();
        hearing.joined(&Standing { ticks: 10, ..Standing::default() }.bytes());
        hearing
    }

    fn say(number: u64) -> Speech {
        Speech::Say { by: 1, number }
    }

    #[test]
    fn everything_once_and_in_order_is_right() {
        let mut hearing = hearing();
        for number in 1..5 {
            hearing.hear(say(number));
            hearing.hear(Speech::Tick { number: 10 + number });
        }
        assert_eq!(hearing.wrongs, Wrongs::default());
    }

    #[test]
    fn gaps_repeats_and_the_past_are_counted() {
        let mut hearing = hearing();
        for number in [1, 4, 4, 2] {
            hearing.hear(say(number));
        }
        let wrongs = Wrongs { lost: 2, doubled: 1, reordered: 1, wrong_rung: 0 };
        assert_eq!(hearing.wrongs, wrongs);
        hearing.hear(Speech::Tick { number: 12 });
        assert_eq!(hearing.wrongs.lost, 3);
    }

    #[test]
    fn what_is_named_as_lost_is_not_lost_silently() {
        let mut hearing = hearing();
        hearing.hear(say(1));
        let ahead = Standing { ticks: 20, sayings: [(1, 6)].into() };
        hearing.resynced(&ahead.bytes(), true);
        hearing.hear(say(7));
        assert_eq!((hearing.wrongs, hearing.named), (Wrongs::default(), 15));
        hearing.resynced(&Standing { ticks: 20, sayings: [(1, 7)].into() }.bytes(), true);
        assert_eq!(hearing.wrongs.wrong_rung, 1, "nothing was missed");
        hearing.resynced(&Standing::default().bytes(), false);
        assert_eq!(hearing.wrongs.wrong_rung, 2, "the past came back");
    }
}
