//! How a session and a guest secret are written down. Each record names its server: a token is worth
//! something to one server only, and whoever shows it to another gives it away.
//!
//! A record is a version (one byte, 1), the length of the server's name (one byte), the name, and
//! the rest: session and epoch (eight bytes each, highest first) and token, or the secret.

use crate::identity::{ResumeState, Secret};

const VERSION: u8 = 1;

/// What became of reading a record.
pub(super) enum Read<T> {
    /// The record is whole and belongs to this server.
    Value(T),
    /// It belongs to another server.
    Foreign,
    /// The record is cut off, of another version, or not a record at all.
    Damaged,
}

pub(super) fn write_session(server: &str, state: &ResumeState) -> Vec<u8> {
    let mut record = head(server);
    record.extend_from_slice(&state.session.to_be_bytes());
    record.extend_from_slice(&state.epoch.to_be_bytes());
    record.extend_from_slice(state.token.expose());
    record
}

pub(super) fn read_session(server: &str, record: &[u8]) -> Read<ResumeState> {
    read(server, record, |rest| {
        let (session, rest) = rest.split_first_chunk()?;
        let (epoch, token) = rest.split_first_chunk()?;
        let (session, epoch) = (u64::from_be_bytes(*session), u64::from_be_bytes(*epoch));
        Some(ResumeState { session, token: Secret::from_slice(token)?, epoch })
    })
}

pub(super) fn write_secret(server: &str, secret: &Secret) -> Vec<u8> {
    let mut record = head(server);
    record.extend_from_slice(secret.expose());
    record
}

pub(super) fn read_secret(server: &str, record: &[u8]) -> Read<Secret> {
    read(server, record, Secret::from_slice)
}

pub(super) fn write_server_key(server: &str, key: &[u8; 32]) -> Vec<u8> {
    let mut record = head(server);
    record.extend_from_slice(key);
    record
}

pub(super) fn read_server_key(server: &str, record: &[u8]) -> Read<[u8; 32]> {
    read(server, record, |key| key.try_into().ok())
}

fn head(server: &str) -> Vec<u8> {
    // No name is longer than 253 bytes, which is asked before the player starts.
    let len = u8::try_from(server.len()).unwrap_or(u8::MAX);
    let mut record = vec![VERSION, len];
    record.extend_from_slice(server.as_bytes());
    record
}

fn read<T>(server: &str, record: &[u8], value: impl FnOnce(&[u8]) -> Option<T>) -> Read<T> {
    let [VERSION, len, rest @ ..] = record else {
        return Read::Damaged;
    };
    match rest.split_at_checked(usize::from(*len)) {
        Some((name, rest)) if name == server.as_bytes() => {
            value(rest).map_or(Read::Damaged, Read::Value)
        }
        Some(_) => Read::Foreign,
        None => Read::Damaged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_by_its_own_server_only() {
        let state = ResumeState { session: 7, token: Secret::new([3; 32]), epoch: 9 };
        let record = write_session("play.example", &state);
        let Read::Value(back) = read_session("play.example", &record) else {
            panic!("it is its own record");
        };
        assert_eq!((back.session, back.epoch, back.token.expose()), (7, 9, &[3; 32]));
        assert!(matches!(read_session("evil.example", &record), Read::Foreign));
        assert!(matches!(read_secret("play.example", &record), Read::Damaged));
    }

    #[test]
    fn no_part_of_a_record_is_one() {
        let record = write_secret("play.example", &Secret::new([5; 32]));
        assert!(matches!(read_secret("play.example", &record), Read::Value(_)));
        for len in 0..record.len() {
            assert!(!matches!(read_secret("play.example", &record[..len]), Read::Value(_)));
        }
    }
}
