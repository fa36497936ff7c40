//! The row of a player's scope.

use bytes::Bytes;
use prost::Message;

use super::core::{Ban, Kept};
use crate::scope::{Change, Opened};
use crate::secret::SecretHash;
use crate::time::WallTime;

const KEY: &[u8] = b"player";

#[derive(Clone, PartialEq, Message)]
struct PlayerRow {
    #[prost(bytes = "bytes", tag = "1")]
    secret: Bytes,
    #[prost(uint64, optional, tag = "2")]
    banned_until_ms: Option<u64>,
    #[prost(string, tag = "3")]
    ban_reason: String,
    /// When a guest came in last. Rows written before that was kept do not have it.
    #[prost(uint64, optional, tag = "4")]
    seen_ms: Option<u64>,
}

/// The row of this player.
pub(super) fn put(kept: &Kept) -> Change {
    let ban = kept.ban.as_deref();
    let row = PlayerRow {
        secret: kept.secret.map(|hash| hash.as_bytes().to_vec().into()).unwrap_or_default(),
        banned_until_ms: ban.map(|ban| ban.until.0),
        ban_reason: ban.map(|ban| ban.reason.clone()).unwrap_or_default(),
        seen_ms: kept.seen.map(|seen| seen.0),
    };
    Change::Put(Bytes::from_static(KEY), row.encode_to_vec().into())
}

/// What a scope says of its player.
///
/// # Errors
/// The row cannot be read.
pub(super) fn read(opened: &Opened) -> Result<Kept, prost::DecodeError> {
    let row = opened.rows.iter().find(|(key, _)| key == KEY);
    let row = row.map_or(Ok(PlayerRow::default()), |(_, value)| PlayerRow::decode(&value[..]))?;
    let ban = |until| Box::new(Ban { until: WallTime(until), reason: row.ban_reason.clone() });
    Ok(Kept {
        secret: SecretHash::from_slice(&row.secret),
        seen: row.seen_ms.map(WallTime),
        ban: row.banned_until_ms.map(ban),
    })
}
