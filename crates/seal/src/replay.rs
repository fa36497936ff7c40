//! Which counters were seen: all that are too old to be told apart count as seen.

/// Words of 64 counters each; one word of them is always being cleared.
const WORDS: usize = 17;
const WORD_BITS: u64 = 64;
/// Counters behind the highest that are told apart.
pub(crate) const WINDOW: u64 = (WORDS as u64 - 1) * WORD_BITS;

/// The counters that were seen: one bit for each of the newest [`WINDOW`], and all before them.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    /// One more than the highest counter seen.
    end: u64,
    words: [u64; WORDS],
}

impl Replay {
    /// Whether a counter may still come.
    pub(crate) fn is_new(&self, counter: u64) -> bool {
        if counter >= self.end {
            return true;
        }
        self.end - counter <= WINDOW && self.words[word(counter)] & bit(counter) == 0
    }

    /// Takes a counter as seen and moves the window up to it. Only for a datagram that was opened: a forged
    /// counter could move the window past all that are still to come.
    pub(crate) fn mark(&mut self, counter: u64) {
        if counter >= self.end {
            let (old, new) = (self.end / WORD_BITS, counter / WORD_BITS);
            // Words that are entered anew hold what is long past.
            let entered = (new - old).min(WORDS as u64);
            let first = if self.end.is_multiple_of(WORD_BITS) { 0 } else { 1 };
            for step in first..=entered {
                self.words[((old + step) % WORDS as u64) as usize] = 0;
            }
            self.end = counter.saturating_add(1);
        }
        self.words[word(counter)] |= bit(counter);
    }
}

fn word(counter: u64) -> usize {
    (counter / WORD_BITS % WORDS as u64) as usize
}

fn bit(counter: u64) -> u64 {
    1 << (counter % WORD_BITS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_agrees_with_a_set() {
        let (mut window, mut seen, mut highest) = (Replay::default(), BTreeSet::new(), 0);
        let mut chance = 9_u64;
        for _ in 0..200_000 {
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            let counter = match chance % 50 {
                0 => highest + chance % 5_000,
                1..=10 => (highest + 3).saturating_sub(chance % 1_500),
                _ => highest + chance % 3,
            };
            let is_old = highest >= WINDOW && counter <= highest - WINDOW;
            assert_eq!(window.is_new(counter), !is_old && !seen.contains(&counter), "{counter}");
            if window.is_new(counter) {
                window.mark(counter);
                seen.insert(counter);
                highest = highest.max(counter);
            }
        }
    }

    #[test]
    fn the_last_counter_is_no_trouble() {
        let mut window = Replay::default();
        window.mark(u64::MAX - 1);
        assert!(!window.is_new(u64::MAX - 1) && window.is_new(u64::MAX) && !window.is_new(0));
    }
}
