//! How scopes and rows are written. All keys of a scope begin alike: the head first, then the rows in
//! the order of their own keys. A row carries the revision that wrote it and a fingerprint; the head
//! carries the number of rows and the sum of their fingerprints, so that a row that is missing, stale,
//! too many or in another's place is seen as well as one that is changed.

use rejoin_core::id::{
    AccountId, GameId, HostId, OwnerEpoch, PlayerId, QueueId, Revision, SessionId, ZoneId,
};
use rejoin_core::scope::ScopeId;

use crate::print::{self, Print};

/// What stands before a row's value: revision and fingerprint.
pub(super) const ROW_HEAD: usize = 16;

const HEAD: u8 = 0;
const ROW: u8 = 1;

/// The bytes that all keys of a scope begin with. None is the beginning of another's.
pub(super) fn scope_bytes(scope: ScopeId) -> Vec<u8> {
    match scope {
        ScopeId::Hub => vec![0],
        ScopeId::Session(SessionId(id)) => with(1, &id.to_be_bytes()),
        ScopeId::Zone(ZoneId(id)) => with(2, &id.to_be_bytes()),
        ScopeId::Player(PlayerId(id)) => with(3, &id),
        ScopeId::Catalogue => vec![4],
        ScopeId::Game(GameId(id)) => with(5, &id),
        ScopeId::Host(HostId(id)) => with(6, &id),
        ScopeId::Queue(QueueId(id)) => with(7, &id),
        ScopeId::Account(AccountId(id)) => with(8, &id),
    }
}

/// The scope that a key belongs to, and what follows its scope's bytes.
pub(super) fn split(key: &[u8]) -> Option<(ScopeId, &[u8])> {
    let (kind, rest) = key.split_first()?;
    let number = || rest.split_first_chunk::<8>().map(|(id, rest)| (u64::from_be_bytes(*id), rest));
    let wide = || rest.split_first_chunk::<16>().map(|(id, rest)| (*id, rest));
    match kind {
        0 => Some((ScopeId::Hub, rest)),
        1 => number().map(|(id, rest)| (ScopeId::Session(SessionId(id)), rest)),
        2 => number().map(|(id, rest)| (ScopeId::Zone(ZoneId(id)), rest)),
        3 => wide().map(|(id, rest)| (ScopeId::Player(PlayerId(id)), rest)),
        4 => Some((ScopeId::Catalogue, rest)),
        5 => wide().map(|(id, rest)| (ScopeId::Game(GameId(id)), rest)),
        6 => wide().map(|(id, rest)| (ScopeId::Host(HostId(id)), rest)),
        7 => wide().map(|(id, rest)| (ScopeId::Queue(QueueId(id)), rest)),
        8 => wide().map(|(id, rest)| (ScopeId::Account(AccountId(id)), rest)),
        _ => None,
    }
}

/// Where a scope's head is.
pub(super) fn head_key(scope: &[u8]) -> Vec<u8> {
    [scope, &[HEAD]].concat()
}

/// Where a row is.
pub(super) fn row_key(scope: &[u8], key: &[u8]) -> Vec<u8> {
    [scope, &[ROW], key].concat()
}

/// The row's own key, of what follows its scope's bytes; none for a head.
pub(super) fn own_key(rest: &[u8]) -> Option<&[u8]> {
    rest.strip_prefix(&[ROW])
}

/// The first key behind all that begin so; none when there is no such key.
pub(super) fn behind(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}

fn with(kind: u8, id: &[u8]) -> Vec<u8> {
    [&[kind], id].concat()
}

/// A row as it is written.
pub(super) fn write_row(scope: &[u8], key: &[u8], revision: Revision, value: &[u8]) -> Vec<u8> {
    let print = print::of_row(scope, key, revision, value);
    let mut written = Vec::with_capacity(ROW_HEAD + value.len());
    written.extend_from_slice(&revision.0.to_le_bytes());
    written.extend_from_slice(&print.to_le_bytes());
    written.extend_from_slice(value);
    written
}

/// The fingerprint that a row says it has; 0 for what is no row.
pub(super) fn stored_print(written: &[u8]) -> Print {
    number_at(written, 8).unwrap_or_default()
}

/// A row's revision, fingerprint and value, if they fit together.
pub(super) fn read_row<'a>(
    scope: &[u8],
    key: &[u8],
    written: &'a [u8],
) -> Option<(Revision, Print, &'a [u8])> {
    let revision = Revision(number_at(written, 0)?);
    let stored = number_at(written, 8)?;
    let value = written.get(ROW_HEAD..)?;
    (print::of_row(scope, key, revision, value) == stored).then_some((revision, stored, value))
}

/// What is kept of a scope as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Head {
    pub(super) owner: OwnerEpoch,
    pub(super) revision: Revision,
    pub(super) rows: u64,
    /// The sum of the rows' fingerprints.
    pub(super) sum: Print,
    /// Of the last batch.
    pub(super) last: Print,
}

impl Head {
    pub(super) fn write(&self, scope: &[u8]) -> Vec<u8> {
        let mut written = Vec::with_capacity(48);
        for number in [self.owner.0, self.revision.0, self.rows, self.sum, self.last] {
            written.extend_from_slice(&number.to_le_bytes());
        }
        let print = print::of_row(scope, &[HEAD], Revision(0), &written);
        written.extend_from_slice(&print.to_le_bytes());
        written
    }

    pub(super) fn read(scope: &[u8], written: &[u8]) -> Option<Self> {
        let fields = written.get(..40).filter(|_| written.len() == 48)?;
        if print::of_row(scope, &[HEAD], Revision(0), fields) != number_at(written, 40)? {
            return None;
        }
        Some(Self {
            owner: OwnerEpoch(number_at(written, 0)?),
            revision: Revision(number_at(written, 8)?),
            rows: number_at(written, 16)?,
            sum: number_at(written, 24)?,
            last: number_at(written, 32)?,
        })
    }

    /// A row is there that was not.
    pub(super) fn add(&mut self, print: Print) {
        self.rows = self.rows.wrapping_add(1);
        self.sum = self.sum.wrapping_add(print);
    }

    /// A row is gone.
    pub(super) fn subtract(&mut self, print: Print) {
        self.rows = self.rows.wrapping_sub(1);
        self.sum = self.sum.wrapping_sub(print);
    }
}

fn number_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk::<8>().map(|number| u64::from_le_bytes(*number))
}

#[cfg(test)]
mod tests {
    //! The layout on disk is a promise to later versions.
    use super::*;

    #[test]
    fn keys_of_a_scope_are_found_between_its_bytes_and_what_is_behind() {
        let scope = scope_bytes(ScopeId::Session(SessionId(u64::MAX)));
        assert_eq!(behind(&scope), Some(vec![2]));
        assert_eq!(behind(&[0xff, 0xff]), None);
        assert!(head_key(&scope) < row_key(&scope, b""));
        assert_eq!(
            split(&row_key(&scope, b"k")),
            Some((ScopeId::Session(SessionId(u64::MAX)), &[1, b'k'][..]))
        );
        assert_eq!(split(&[9, 9]), None);
        assert_eq!(split(&[1, 0]), None);
    }

    #[test]
    fn any_flipped_bit_of_a_row_or_a_head_is_seen() {
        let scope = scope_bytes(ScopeId::Hub);
        let head = Head { owner: OwnerEpoch(3), revision: Revision(9), rows: 1, sum: 5, last: 7 };
        let written = head.write(&scope);
        assert_eq!(Head::read(&scope, &written), Some(head));
        let row = write_row(&scope, b"key", Revision(4), b"value");
        assert!(read_row(&scope, b"key", &row).is_some());
        assert!(read_row(&scope, b"kez", &row).is_none(), "a row in another's place");
        for bit in 0..written.len() * 8 {
            let mut damaged = written.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Head::read(&scope, &damaged), None);
        }
        for bit in 0..row.len() * 8 {
            let mut damaged = row.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read_row(&scope, b"key", &damaged).is_none());
        }
        for length in 0..row.len() {
            assert!(read_row(&scope, b"key", &row[..length]).is_none());
        }
    }
}
