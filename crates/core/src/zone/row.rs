//! What a cut looks like in the store. One value holds one cut: what changed since the last one, or
//! everything when cuts are compacted. Loading folds them, oldest first, into one that holds all.
//!
//! Fields are only ever added: an older program skips what it does not know.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use prost::Message;

use super::fold::Fold;
use crate::exchange::ZoneName;
use crate::scope::{Change, ROW_BYTES_MAX};

/// Rows of cuts since the last compaction start so.
const CUT: &[u8] = b"cut/";

/// Rows of the last compaction start so.
const BASE: &[u8] = b"base/";

/// The format this program writes; it reads this and all before.
pub(crate) const FORMAT: u32 = 1;

/// The wire type of a message within another.
const LENGTH_DELIMITED: usize = 2;

/// A cut after one message in a small zone is no larger.
const CUT_BYTES_USUAL: usize = 256;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Cut {
    #[prost(uint32, tag = "1")]
    pub format: u32,
    /// The last number given to anything.
    #[prost(uint64, tag = "2")]
    pub last: u64,
    #[prost(uint64, tag = "3")]
    pub age_us: u64,
    #[prost(uint64, tag = "4")]
    pub ticks: u64,
    #[prost(bool, tag = "5")]
    pub match_running: bool,
    #[prost(bool, tag = "6")]
    pub ending: bool,
    #[prost(uint64, tag = "7")]
    pub last_job: u64,
    #[prost(uint32, tag = "8")]
    pub game_version: u32,
    /// The game's whole state, when it changed.
    #[prost(bytes = "bytes", optional, tag = "9")]
    pub snapshot: Option<Bytes>,
    /// The cells before this cut are in the snapshot.
    #[prost(bool, tag = "10")]
    pub cells_cleared: bool,
    #[prost(message, repeated, tag = "11")]
    pub cells: Vec<Cell>,
    #[prost(message, repeated, tag = "12")]
    pub members: Vec<MemberRow>,
    #[prost(uint64, repeated, tag = "13")]
    pub gone: Vec<u64>,
    /// Nothing of the ring below this number is kept.
    #[prost(uint64, tag = "14")]
    pub ring_floor: u64,
    #[prost(message, repeated, tag = "15")]
    pub ring: Vec<RingRow>,
    #[prost(message, repeated, tag = "16")]
    pub outbox: Vec<OutboxRow>,
    #[prost(message, repeated, tag = "17")]
    pub latest: Vec<LatestRow>,
    #[prost(message, optional, tag = "18")]
    pub timers: Option<Timers>,
    #[prost(message, optional, tag = "19")]
    pub jobs: Option<Jobs>,
    #[prost(message, repeated, tag = "20")]
    pub objects: Vec<ObjectRow>,
    #[prost(message, repeated, tag = "21")]
    pub players: Vec<PlayerRow>,
    /// Players that are not in this cut have no record any more.
    #[prost(bool, tag = "22")]
    pub all_players: bool,
    /// Which zone this is; in a base only.
    #[prost(string, tag = "23")]
    pub kind: String,
    #[prost(string, tag = "24")]
    pub name: String,
    /// It runs a Game; in every cut.
    #[prost(bool, tag = "25")]
    pub seated: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Cell {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// None: the cell is empty.
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub value: Option<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MemberRow {
    #[prost(uint64, tag = "1")]
    pub session: u64,
    #[prost(bytes = "bytes", tag = "2")]
    pub player: Bytes,
    #[prost(uint64, tag = "3")]
    pub leg: u64,
    #[prost(bool, tag = "4")]
    pub native: bool,
    #[prost(uint64, tag = "5")]
    pub joined: u64,
    #[prost(uint64, tag = "6")]
    pub epoch: u64,
    #[prost(uint64, tag = "7")]
    pub newest: u64,
    #[prost(uint64, tag = "8")]
    pub acked: u64,
    #[prost(uint64, tag = "9")]
    pub lost: u64,
    #[prost(uint64, tag = "10")]
    pub applied: u64,
    #[prost(uint64, repeated, tag = "11")]
    pub poisoned: Vec<u64>,
    #[prost(message, optional, tag = "12")]
    pub leaving: Option<LeavingRow>,
    #[prost(message, repeated, tag = "13")]
    pub calls: Vec<CallRow>,
    #[prost(uint64, tag = "14")]
    pub last_call: u64,
    #[prost(uint64, optional, tag = "15")]
    pub avatar: Option<u64>,
    #[prost(bytes = "bytes", tag = "16")]
    pub data: Bytes,
    #[prost(int32, tag = "17")]
    pub turned: i32,
    #[prost(uint64, tag = "18")]
    pub heard: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct LeavingRow {
    #[prost(int32, tag = "1")]
    pub cause: i32,
    #[prost(uint64, tag = "2")]
    pub last: u64,
    #[prost(string, tag = "3")]
    pub next_kind: String,
    #[prost(string, tag = "4")]
    pub next_name: String,
    #[prost(bytes = "bytes", tag = "5")]
    pub next_payload: Bytes,
    #[prost(bool, tag = "6")]
    pub has_next: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct CallRow {
    #[prost(uint64, tag = "1")]
    pub call: u64,
    #[prost(bytes = "bytes", tag = "2")]
    pub key: Bytes,
    /// What is left until its deadline.
    #[prost(uint64, tag = "3")]
    pub rest_us: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RingRow {
    #[prost(uint64, tag = "1")]
    pub seq: u64,
    /// 0: all; 1: all but the one in `sessions`; 2: only those in `sessions`.
    #[prost(uint32, tag = "2")]
    pub to: u32,
    #[prost(uint64, repeated, tag = "3")]
    pub sessions: Vec<u64>,
    #[prost(uint64, tag = "4")]
    pub cause: u64,
    #[prost(bytes = "bytes", tag = "5")]
    pub frame: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OutboxRow {
    #[prost(uint64, tag = "1")]
    pub session: u64,
    #[prost(uint64, tag = "2")]
    pub seq: u64,
    #[prost(bytes = "bytes", tag = "3")]
    pub frame: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct LatestRow {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(uint64, tag = "2")]
    pub seq: u64,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub payload: Option<Bytes>,
    #[prost(bytes = "bytes", tag = "4")]
    pub frame: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Timers {
    #[prost(message, repeated, tag = "1")]
    pub timers: Vec<TimerRow>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TimerRow {
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// In the zone's age.
    #[prost(uint64, tag = "2")]
    pub due_us: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Jobs {
    #[prost(message, repeated, tag = "1")]
    pub jobs: Vec<JobRow>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct JobRow {
    #[prost(uint64, tag = "1")]
    pub job: u64,
    #[prost(bytes = "bytes", tag = "2")]
    pub key: Bytes,
    #[prost(bytes = "bytes", tag = "3")]
    pub request: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ObjectRow {
    #[prost(uint64, tag = "1")]
    pub object: u64,
    /// Empty: nobody owns it.
    #[prost(bytes = "bytes", tag = "2")]
    pub player: Bytes,
    /// 0: keep, 1: hand over, 2: destroy.
    #[prost(uint32, tag = "3")]
    pub on_part: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PlayerRow {
    #[prost(bytes = "bytes", tag = "1")]
    pub player: Bytes,
    #[prost(bool, tag = "2")]
    pub known: bool,
    /// The session that plays it; 0 while it is away.
    #[prost(uint64, tag = "3")]
    pub session: u64,
    #[prost(bytes = "bytes", tag = "4")]
    pub data: Bytes,
}

/// Encodes a cut. Rows of members and of what was said to them are added one by one: elements of a repeated field may
/// stand anywhere in an encoded message, so they are not gathered in the cut first.
pub(crate) struct Encoder(Vec<u8>);

impl Encoder {
    /// Begins with all that is in the cut itself.
    pub(crate) fn new(cut: &Cut) -> Self {
        let mut encoder = Self(Vec::with_capacity(CUT_BYTES_USUAL));
        written(cut.encode(&mut encoder.0));
        encoder
    }

    pub(crate) fn member(&mut self, row: &MemberRow) {
        self.row(12, row);
    }

    pub(crate) fn ring(&mut self, row: &RingRow) {
        self.row(15, row);
    }

    pub(crate) fn outbox(&mut self, row: &OutboxRow) {
        self.row(16, row);
    }

    /// Adds an element of the repeated field with this tag.
    fn row(&mut self, tag: usize, row: &impl Message) {
        // A key is a varint, as a length is.
        written(prost::encode_length_delimiter(tag << 3 | LENGTH_DELIMITED, &mut self.0));
        written(row.encode_length_delimited(&mut self.0));
    }

    /// The changes that write the cut; a base replaces everything before it.
    pub(crate) fn into_changes(self, revision: u64, is_base: bool) -> Vec<Change> {
        let mut changes = Vec::with_capacity(1);
        if is_base {
            changes.push(Change::DeletePrefix(Bytes::from_static(CUT)));
            changes.push(Change::DeletePrefix(Bytes::from_static(BASE)));
        }
        let mut rest = Bytes::from(self.0);
        let mut part = 0u32;
        loop {
            let value = match rest.len() > ROW_BYTES_MAX {
                true => rest.split_to(ROW_BYTES_MAX),
                false => std::mem::take(&mut rest),
            };
            let prefix = if is_base { BASE } else { CUT };
            let key = [prefix, &revision.to_be_bytes(), &part.to_be_bytes()].concat();
            changes.push(Change::Put(Bytes::from(key), value));
            part += 1;
            if rest.is_empty() {
                return changes;
            }
        }
    }
}

fn written(written: Result<(), prost::EncodeError>) {
    if let Err(error) = written {
        crate::never!("a vector has no room for more: {error}");
    }
}

/// Encoded cuts by their revision, the base first.
type Values = BTreeMap<(u64, bool), BytesMut>;

fn values(rows: &[(Bytes, Bytes)]) -> Result<Values, String> {
    // A base sorts before the cuts that follow it, and parts of a cut follow each other.
    let mut values = Values::new();
    for (key, value) in rows {
        let (is_cut, rest) = match (key.strip_prefix(BASE), key.strip_prefix(CUT)) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(format!("a row with the unknown key {key:?}")),
        };
        let revision = rest.first_chunk::<8>().ok_or("a row whose key has no revision")?;
        let revision = u64::from_be_bytes(*revision);
        values.entry((revision, is_cut)).or_default().extend_from_slice(value);
    }
    Ok(values)
}

/// Folds all rows of a zone's scope into one cut that holds everything.
pub(crate) fn load(rows: &[(Bytes, Bytes)]) -> Result<Option<Cut>, String> {
    let mut whole: Option<Fold> = None;
    for ((revision, _), value) in values(rows)? {
        let cut = Cut::decode(value.freeze()).map_err(|e| format!("cut {revision}: {e}"))?;
        if cut.format > FORMAT {
            return Err(format!(
                "cut {revision} has format {}, this program reads up to {FORMAT}",
                cut.format
            ));
        }
        whole.get_or_insert_default().add(cut);
    }
    Ok(whole.map(Fold::into_cut))
}

/// A zone of which something is kept.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct KeptZone {
    /// Its kind and name.
    pub name: ZoneName,
    /// It runs a Game.
    pub seated: bool,
}

impl KeptZone {
    /// Which zone these rows are of; none when nothing has been committed yet, or nothing readable.
    /// Reads the base for the name and the newest cut for the rest, and of both only these fields: a
    /// start asks this of every zone.
    #[must_use]
    pub fn of(rows: &[(Bytes, Bytes)]) -> Option<Self> {
        let values = values(rows).ok()?;
        let base = Head::decode(values.first_key_value()?.1.clone().freeze()).ok()?;
        let newest = Head::decode(values.last_key_value()?.1.clone().freeze()).ok()?;
        let name = ZoneName { kind: base.kind, name: base.name };
        Some(Self { name, seated: newest.seated })
    }
}

/// The fields of a [`Cut`] that tell which zone it is of; a decoder passes over the others.
#[derive(Clone, PartialEq, Message)]
struct Head {
    #[prost(string, tag = "23")]
    kind: String,
    #[prost(string, tag = "24")]
    name: String,
    #[prost(bool, tag = "25")]
    seated: bool,
}

/// The name of the zone these rows are of; none when nothing has been committed yet.
#[must_use]
pub fn name_of(rows: &[(Bytes, Bytes)]) -> Option<ZoneName> {
    KeptZone::of(rows).map(|kept| kept.name)
}
