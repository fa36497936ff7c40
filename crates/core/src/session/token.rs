//! The resume tokens of one session. Valid are the last confirmed one and those issued since, at
//! most four: a Welcome can be lost any number of times, and the token the client still has opens
//! the door all the same. Presenting or confirming a token retires only those issued before it.
//!
//! A token is a secret of 160 bits, its number, and a tag over both under a key of the session. What opens the
//! session is the hash of the whole token, which is stored for the valid ones only. The tag alone opens nothing:
//! it tells a token that was retired, however long ago, from one that was never issued, without a list of them.
//! Whoever reads the store can make a tag and not a token.
//!
//! An attacker gains nothing from a retired token: it is refused, counted, and disturbs nobody.

use std::collections::VecDeque;

use crate::chance::Chance;
use crate::secret::{Secret, SecretHash};
use crate::time::Time;

/// How many unconfirmed tokens are kept beside the confirmed one.
pub const ISSUED_MAX: usize = 4;

/// How many retired tokens are remembered by their hash. Only those that carry no number under the present key
/// are: as many as can be valid at once, and the four that were remembered before tokens had numbers.
const RETIRED_MAX: usize = ISSUED_MAX + 1 + 4;

/// Bytes of a token that are drawn by chance; its number and the tag follow.
const SECRET_BYTES: usize = 20;
const NUMBER_END: usize = SECRET_BYTES + 4;

/// What authenticates the numbers in tokens.
pub type TokenKey = [u8; 16];

/// Which token of a session, in the order of issue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct TokenNumber(pub u32);

/// What became of a token that was presented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presented {
    /// It opens the session.
    Valid(TokenNumber),
    /// It opened the session once; a later token has retired it.
    Retired,
    /// It was issued by this session, and the session does not know of it: its scope was put back to an earlier
    /// state.
    Lost,
    /// It never was one of this session.
    Unknown,
}

/// All tokens of one session, as hashes.
#[derive(Clone, Default)]
pub struct Tokens {
    valid: VecDeque<(TokenNumber, SecretHash)>,
    retired: VecDeque<(TokenNumber, SecretHash)>,
    last: TokenNumber,
    /// The key, and the first token under it; none before that is issued.
    key: Option<(TokenKey, TokenNumber)>,
    /// When one was confirmed that retired others.
    confirmed_at: Time,
}

impl Tokens {
    /// Issues the next token. The oldest unconfirmed one gives way when there are too many; the
    /// first in the row, the confirmed one, never does.
    pub fn issue(&mut self, chance: &mut Chance) -> (TokenNumber, Secret) {
        self.last = TokenNumber(self.last.0.saturating_add(1));
        let (key, _) = *self.key.get_or_insert_with(|| (chance.bytes(), self.last));
        let secret = token_of(&key, self.last, chance);
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
        let numbered = self.key.and_then(|(key, _)| number_of(&key, token));
        match (valid, retired, numbered) {
            (Some(number), ..) => Presented::Valid(number),
            (None, Some(_), _) => Presented::Retired,
            // Another token of this number is valid, or none of it was issued yet.
            (None, None, Some(number))
                if number > self.last || self.valid.iter().any(|(known, _)| *known == number) =>
            {
                Presented::Lost
            }
            (None, None, Some(_)) => Presented::Retired,
            (None, None, None) => Presented::Unknown,
        }
    }

    /// The holder has shown or confirmed this token: those before it are retired. False when there
    /// was nothing left to retire.
    pub fn confirm(&mut self, now: Time, number: TokenNumber) -> bool {
        let mut changed = false;
        while let Some(front) = self.valid.front().copied().filter(|(first, _)| *first < number) {
            self.valid.pop_front();
            self.retire(front);
            changed = true;
        }
        if changed {
            self.confirmed_at = now;
        }
        changed
    }

    /// When a token was confirmed last that retired others. A hello on a connection that was opened earlier may show
    /// one of those in good faith.
    #[must_use]
    pub fn confirmed_at(&self) -> Time {
        self.confirmed_at
    }

    /// Whether this is the newest token.
    #[must_use]
    pub fn is_newest(&self, number: TokenNumber) -> bool {
        number == self.last
    }

    /// From now on tokens are issued under another key. Those that are valid stay so. What was issued after
    /// the state that the session was put back to is not known any more, rather than taken for retired.
    pub fn forget_key(&mut self) {
        self.key = None;
    }

    /// The key and the first token under it, for the store.
    #[must_use]
    pub fn key(&self) -> Option<(TokenKey, u32)> {
        self.key.map(|(key, from)| (key, from.0))
    }

    /// Rows for the store: number, hash and whether it is valid, oldest first.
    pub fn rows(&self) -> impl Iterator<Item = (u32, [u8; 32], bool)> + '_ {
        let row = |valid| {
            move |(number, hash): &(TokenNumber, SecretHash)| (number.0, *hash.as_bytes(), valid)
        };
        self.retired.iter().map(row(false)).chain(self.valid.iter().map(row(true)))
    }

    /// Rebuilds from [`rows`](Self::rows) and [`key`](Self::key).
    #[must_use]
    pub fn from_rows(
        rows: impl Iterator<Item = (u32, SecretHash, bool)>,
        key: Option<(TokenKey, u32)>,
    ) -> Self {
        let key = key.map(|(key, from)| (key, TokenNumber(from)));
        let mut tokens = Self { key, ..Self::default() };
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
        if self.key.is_some_and(|(_, from)| token.0 >= from) {
            return;
        }
        if self.retired.len() == RETIRED_MAX {
            self.retired.pop_front();
        }
        self.retired.push_back(token);
    }
}

/// Draws a token that carries its number.
fn token_of(key: &TokenKey, number: TokenNumber, chance: &mut Chance) -> Secret {
    let mut bytes: [u8; 32] = chance.bytes();
    bytes[SECRET_BYTES..NUMBER_END].copy_from_slice(&number.0.to_le_bytes());
    let tag = tag_of(key, &bytes);
    bytes[NUMBER_END..].copy_from_slice(&tag);
    Secret::from_bytes(bytes)
}

/// The number that a token carries, if it was issued under this key.
fn number_of(key: &TokenKey, token: &Secret) -> Option<TokenNumber> {
    let bytes = token.reveal();
    let number = bytes[SECRET_BYTES..].first_chunk().copied().map(u32::from_le_bytes)?;
    let differs = tag_of(key, bytes).into_iter().zip(&bytes[NUMBER_END..]);
    // Without a branch: how much of a tag was guessed does not show.
    let differs = differs.fold(0, |differs, (one, other)| differs | (one ^ other));
    (differs == 0).then_some(TokenNumber(number))
}

/// Over everything before the tag.
fn tag_of(key: &TokenKey, token: &[u8; 32]) -> [u8; 8] {
    let key = blake3::derive_key("rejoin token number v1", key);
    let tag = blake3::keyed_hash(&key, &token[..NUMBER_END]);
    tag.as_bytes().first_chunk().copied().unwrap_or_default()
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
        tokens.confirm(Time::ZERO, first);
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
        assert!(tokens.confirm(Time::ZERO, issued[2].0));
        let verdicts: Vec<_> = issued.iter().map(|(_, secret)| tokens.present(secret)).collect();
        assert_eq!(verdicts[..2], [Presented::Retired, Presented::Retired]);
        assert_eq!(verdicts[2..], [Presented::Valid(issued[2].0), Presented::Valid(issued[3].0)]);
        assert!(!tokens.confirm(Time::ZERO, issued[1].0), "an older confirmation changes nothing");
    }

    #[test]
    fn rows_carry_everything_over() {
        let (mut tokens, mut chance) = (Tokens::default(), chance());
        let issued: Vec<_> = (0..6).map(|_| tokens.issue(&mut chance)).collect();
        tokens.confirm(Time::ZERO, issued[3].0);
        let rows = tokens.rows().map(|(number, hash, valid)| {
            (number, SecretHash::from_slice(&hash).expect("32 bytes"), valid)
        });
        let again = Tokens::from_rows(rows, tokens.key());
        for (_, secret) in &issued {
            assert_eq!(again.present(secret), tokens.present(secret));
        }
        assert_eq!(again.present(&Secret::mint(&mut chance)), Presented::Unknown);
    }

    #[test]
    fn every_retired_token_is_known_as_retired_in_the_same_room() {
        let (mut tokens, mut chance) = (Tokens::default(), chance());
        let mut issued = Vec::new();
        for _ in 0..200 {
            let (number, secret) = tokens.issue(&mut chance);
            tokens.confirm(Time::ZERO, number);
            issued.push(secret);
        }
        let newest = issued.pop().expect("the last one");
        assert!(matches!(tokens.present(&newest), Presented::Valid(_)));
        for secret in &issued {
            assert_eq!(tokens.present(secret), Presented::Retired);
        }
        assert_eq!(tokens.rows().count(), 1, "only the valid one is kept");
        // A tag that does not fit its token is none.
        let mut forged = *issued[7].reveal();
        forged[0] ^= 1;
        assert_eq!(tokens.present(&Secret::from_bytes(forged)), Presented::Unknown);
    }

    #[test]
    fn a_token_issued_after_the_state_that_was_put_back_is_lost() {
        let (mut tokens, mut chance) = (Tokens::default(), chance());
        let (first, _) = tokens.issue(&mut chance);
        tokens.confirm(Time::ZERO, first);
        let mut earlier = tokens.clone();
        let (_, later) = tokens.issue(&mut chance);
        assert_eq!(earlier.present(&later), Presented::Lost);
        let (_, other) = earlier.issue(&mut Chance::from_seed([8; 32]));
        assert_eq!(earlier.present(&later), Presented::Lost, "another one has its number");
        assert!(matches!(earlier.present(&other), Presented::Valid(_)));
        earlier.forget_key();
        let (newest, _) = earlier.issue(&mut Chance::from_seed([9; 32]));
        earlier.confirm(Time::ZERO, newest);
        assert_eq!(earlier.present(&later), Presented::Unknown);
        assert_eq!(earlier.present(&other), Presented::Retired, "the session issued it");
    }

    /// Rows as they were before tokens carried numbers: the valid ones open, the retired ones are known.
    #[test]
    fn tokens_without_numbers_go_on() {
        let mut chance = chance();
        let secrets: Vec<Secret> = (0..6).map(|_| Secret::mint(&mut chance)).collect();
        let rows = (1..).zip(&secrets).map(|(number, secret)| (number, secret.hash(), number > 3));
        let mut tokens = Tokens::from_rows(rows, None);
        assert_eq!(tokens.present(&secrets[2]), Presented::Retired);
        assert_eq!(tokens.present(&secrets[3]), Presented::Valid(TokenNumber(4)));
        let (number, newest) = tokens.issue(&mut chance);
        assert_eq!(number, TokenNumber(7));
        tokens.confirm(Time::ZERO, number);
        for secret in &secrets {
            assert_eq!(tokens.present(secret), Presented::Retired);
        }
        assert!(matches!(tokens.present(&newest), Presented::Valid(_)));
    }
}
