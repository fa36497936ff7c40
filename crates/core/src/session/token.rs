//! The resume tokens of one session. Valid are the last confirmed one and those issued since, at
//! most four: a Welcome can be lost any number of times, and the token the client still has opens
//! the door all the same. Presenting or confirming a token retires only those issued before it.
//!
//! An attacker gains nothing from a retired token: it is refused, counted, and disturbs nobody.

use std::collections::VecDeque;

use crate::chance::Chance;
use crate::secret::{Secret, SecretHash};

/// How many unconfirmed tokens are kept beside the confirmed one.
pub const ISSUED_MAX: usize = 4;

/// How many retired tokens are remembered, to tell "retired" from "unknown".
const RETIRED_MAX: usize = 4;

/// Which token of a session, in the order of issue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct TokenNumber(pub u32);

/// What became of a token that was presented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presented {
    /// It opens the session.
    Valid(TokenNumber),
    /// It did once.
    Retired,
    /// It never was one of this session.
    Unknown,
}

/// All tokens of one session, as hashes.
#[derive(Clone, Default)]
pub struct Tokens {
    valid: VecDeque<(TokenNumber, SecretHash)>,
    retired: VecDeque<(TokenNumber, SecretHash)>,
    last: TokenNumber,
}

impl Tokens {
    /// Issues the next token. The oldest unconfirmed one gives way when there are too many; the
    /// first in the row, the confirmed one, never does.
    pub fn issue(&mut self, chance: &mut Chance) -> (TokenNumber, Secret) {
        let secret = Secret::mint(chance);
        self.last = TokenNumber(self.last.0.saturating_add(1));
        if self.valid.len() > ISSUED_MAX
            && let Some(dropped) = self.valid.remove(1)
        {
            self.retire(dropped);
        }
        // There are few of them in many sessions: no room is taken in advance.
        self.valid.reserve_exact(1);
        self.valid.push_back((self.last, secret.hash()));
        (self.last, secret)
    }

    /// Looks a token up. All hashes are compared, whichever matches.
    #[must_use]
    pub fn present(&self, token: &Secret) -> Presented {
        let hash = token.hash();
        let find = |row: &VecDeque<(TokenNumber, SecretHash)>| {
            row.iter().fold(
                None,
                |found, (number, known)| {
                    if known.matches(&hash) { Some(*number) } else { found }
                },
            )
        };
        let (valid, retired) = (find(&self.valid), find(&self.retired));
        match (valid, retired) {
            (Some(number), _) => Presented::Valid(number),
            (None, Some(_)) => Presented::Retired,
            (None, None) => Presented::Unknown,
        }
    }

    /// The holder has shown or confirmed this token: those before it are retired. False when there
    /// was nothing left to retire.
    pub fn confirm(&mut self, number: TokenNumber) -> bool {
        let mut changed = false;
        while let Some(front) = self.valid.front().copied().filter(|(first, _)| *first < number) {
            self.valid.pop_front();
            self.retire(front);
            changed = true;
        }
        changed
    }

    /// Whether this is the newest token.
    #[must_use]
    pub fn is_newest(&self, number: TokenNumber) -> bool {
        number == self.last
    }

    /// Rows for the store: number, hash and whether it is valid, oldest first.
    pub fn rows(&self) -> impl Iterator<Item = (u32, [u8; 32], bool)> + '_ {
        let row = |valid| {
            move |(number, hash): &(TokenNumber, SecretHash)| (number.0, *hash.as_bytes(), valid)
        };
        self.retired.iter().map(row(false)).chain(self.valid.iter().map(row(true)))
    }

    /// Rebuilds from [`rows`](Self::rows).
    #[must_use]
    pub fn from_rows(rows: impl Iterator<Item = (u32, SecretHash, bool)>) -> Self {
        let mut tokens = Self::default();
        for (number, hash, valid) in rows {
            let number = TokenNumber(number);
            tokens.last = tokens.last.max(number);
            let row = if valid { &mut tokens.valid } else { &mut tokens.retired };
            row.push_back((number, hash));
        }
        tokens
    }

    /// Gives back spare memory; for sessions that will rest a while.
    pub fn rest(&mut self) {
        self.valid.shrink_to_fit();
        self.retired.shrink_to_fit();
    }

    fn retire(&mut self, token: (TokenNumber, SecretHash)) {
        if self.retired.len() == RETIRED_MAX {
            self.retired.pop_front();
        }
        self.retired.push_back(token);
    }
}

#[cfg(test)]
mod tests {
    //! No lost Welcome may lock a player out, and nothing retired opens the door again.
    use super::*;

    fn chance() -> Chance {
        Chance::from_seed([7; 32])
    }

    #[test]
    fn ten_lost_welcomes_do_not_lock_out_the_confirmed_token() {
        let (mut tokens, mut chance) = (Tokens::default(), chance());
        let (first, confirmed) = tokens.issue(&mut chance);
        tokens.confirm(first);
        let newest = (0..10).map(|_| tokens.issue(&mut chance)).last();
        assert_eq!(tokens.present(&confirmed), Presented::Valid(first));
        let (number, secret) = newest.expect("ten were issued");
        assert_eq!(tokens.present(&secret), Presented::Valid(number));
        assert_eq!(tokens.valid.len(), ISSUED_MAX + 1);
    }

    #[test]
    fn confirming_retires_only_what_was_issued_before() {
        let (mut tokens, mut chance) = (Tokens::default(), chance());
        let issued: Vec<_> = (0..4).map(|_| tokens.issue(&mut chance)).collect();
        assert!(tokens.confirm(issued[2].0));
        let verdicts: Vec<_> = issued.iter().map(|(_, secret)| tokens.present(secret)).collect();
        assert_eq!(verdicts[..2], [Presented::Retired, Presented::Retired]);
        assert_eq!(verdicts[2..], [Presented::Valid(issued[2].0), Presented::Valid(issued[3].0)]);
        assert!(!tokens.confirm(issued[1].0), "an older confirmation changes nothing");
    }

    #[test]
    fn rows_carry_everything_over() {
        let (mut tokens, mut chance) = (Tokens::default(), chance());
        let issued: Vec<_> = (0..6).map(|_| tokens.issue(&mut chance)).collect();
        tokens.confirm(issued[3].0);
        let rows = tokens.rows().map(|(number, hash, valid)| {
            (number, SecretHash::from_slice(&hash).expect("32 bytes"), valid)
        });
        let again = Tokens::from_rows(rows);
        for (_, secret) in &issued {
            assert_eq!(again.present(secret), tokens.present(secret));
        }
        assert_eq!(again.present(&Secret::mint(&mut chance)), Presented::Unknown);
    }
}
