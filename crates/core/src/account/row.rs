//! How an account looks in the store: one row.

use bytes::Bytes;
use prost::Message;

use super::{Account, Holder, Name, Role};
use crate::id::PlayerId;
use crate::scope::Opened;
use crate::time::WallTime;

pub(super) const KEY: &[u8] = b"account";

#[derive(Clone, PartialEq, Message)]
struct Row {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    issuer: String,
    #[prost(string, tag = "3")]
    subject: String,
    #[prost(string, optional, tag = "4")]
    password: Option<String>,
    #[prost(uint32, tag = "5")]
    version: u32,
    /// Its place among `Role::ALL`.
    #[prost(uint32, tag = "6")]
    role: u32,
    #[prost(bool, tag = "7")]
    locked: bool,
    #[prost(bool, tag = "8")]
    leaving: bool,
    #[prost(bytes = "bytes", tag = "9")]
    player: Bytes,
    #[prost(bool, tag = "10")]
    used: bool,
    #[prost(bytes = "bytes", repeated, tag = "11")]
    keys: Vec<Bytes>,
    #[prost(uint64, tag = "12")]
    created_ms: u64,
}

pub(super) fn encode(account: &Account) -> Bytes {
    let bytes = |id: &PlayerId| Bytes::copy_from_slice(&id.0);
    let mut row = Row {
        password: account.password.clone(),
        version: account.version,
        role: Role::ALL.iter().position(|role| *role == account.role).unwrap_or(0) as u32,
        locked: account.locked,
        leaving: account.leaving,
        player: bytes(&account.player),
        used: account.used,
        keys: account.keys.iter().map(bytes).collect(),
        created_ms: account.created.0,
        ..Row::default()
    };
    match &account.holder {
        Holder::Name(name) => row.name = name.as_str().to_owned(),
        Holder::Subject { issuer, subject } => {
            row.issuer.clone_from(issuer);
            row.subject.clone_from(subject);
        }
    }
    row.encode_to_vec().into()
}

/// Reads an account back; a role that is not known is the least.
pub(super) fn decode(opened: &Opened) -> Result<Account, String> {
    let found = opened.rows.iter().find(|(key, _)| key == KEY);
    let (_, value) = found.ok_or("there is no row of the account itself")?;
    let row = Row::decode(value.clone()).map_err(|error| format!("the account's row: {error}"))?;
    let id = |bytes: &Bytes| PlayerId::from_slice(bytes).ok_or("a player's id is not 16 bytes");
    let holder = if row.name.is_empty() {
        Holder::Subject { issuer: row.issuer, subject: row.subject }
    } else {
        Holder::Name(Name::parse(&row.name)?)
    };
    Ok(Account {
        holder,
        password: row.password,
        version: row.version,
        role: Role::ALL.get(row.role as usize).copied().unwrap_or_default(),
        locked: row.locked,
        leaving: row.leaving,
        player: id(&row.player)?,
        used: row.used,
        keys: row.keys.iter().map(id).collect::<Result<_, _>>()?,
        created: WallTime(row.created_ms),
    })
}
