//! Randomness as an argument: a stream that the driver seeds once. It spreads reconnects and tells
//! pings apart; no secret comes from it, so it is small and quick rather than unpredictable.

/// A seeded stream of numbers: xoshiro256++.
pub(crate) struct Chance {
    state: [u64; 4],
    /// What comes first, in a test that says which numbers are drawn.
    #[cfg(test)]
    told: std::collections::VecDeque<u64>,
}

impl Chance {
    /// These numbers, and then only zeroes.
    #[cfg(test)]
    pub(crate) fn of_numbers(numbers: impl IntoIterator<Item = u64>) -> Self {
        Self { state: [0; 4], told: numbers.into_iter().collect() }
    }

    /// The stream that belongs to this seed.
    pub(crate) fn from_seed(seed: [u8; 32]) -> Self {
        let mut state = [0; 4];
        for (word, bytes) in state.iter_mut().zip(seed.chunks_exact(8)) {
            *word = bytes.iter().fold(0, |word, byte| (word << 8) | u64::from(*byte));
        }
        if state == [0; 4] {
            // The one state that only ever gives zeroes.
            state[0] = 1;
        }
        let mut chance = Self {
            state,
            #[cfg(test)]
            told: std::collections::VecDeque::new(),
        };
        // A seed of few set bits shows in the first numbers and in none after these.
        for _ in 0..16 {
            chance.number();
        }
        chance
    }

    /// The next number.
    pub(crate) fn number(&mut self) -> u64 {
        #[cfg(test)]
        if let Some(number) = self.told.pop_front() {
            return number;
        }
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// A number of at most `most`.
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        let wide = u128::from(self.number()) * (u128::from(most) + 1);
        (wide >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_stream() {
        let draw = |seed| {
            let mut chance = Chance::from_seed([seed; 32]);
            [0; 8].map(|_| chance.number())
        };
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
        assert_ne!(draw(0), [0; 8]);
    }

    #[test]
    fn numbers_stay_within_their_bound_and_reach_it() {
        let mut chance = Chance::from_seed([1; 32]);
        let drawn: Vec<u64> = (0..200).map(|_| chance.up_to(3)).collect();
        assert!((0..=3).all(|number| drawn.contains(&number)));
        assert!(drawn.iter().all(|number| *number <= 3));
        assert_eq!(chance.up_to(0), 0);
    }
}
