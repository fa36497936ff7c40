//! What the journal says: batches that were accepted and owners that were raised, in order. Written and
//! read here; what is read was checked, and is still not trusted.

use bytes::Bytes;
use rejoin_core::id::{OwnerEpoch, Revision};
use rejoin_core::scope::{Batch, Change, ScopeId};

use super::beneath::{Beneath, Unknown};
use super::layer::Layer;
use super::row;
use crate::memory::Standing;
use crate::print::{self, Print};

const BATCH: u8 = 1;
const RAISED: u8 = 2;
const BEGUN: u8 = 3;
const PUT: u8 = 1;
const DELETE: u8 = 2;
const DELETE_PREFIX: u8 = 3;

/// What is to be kept.
#[derive(Clone, Copy, Debug)]
pub(super) enum Record<'a> {
    /// A batch that was accepted, and its fingerprint.
    Batch(&'a Batch, Print),
    /// A scope has a new owner; where it stands.
    Raised(ScopeId, Standing),
    /// A file's turn begins, and the other one, which the tree may not have yet, ends at this sector.
    Begun(u32),
}

impl Record<'_> {
    /// It is committed, and waits to be brought into the tree.
    pub(super) fn lay(&self, layer: &mut Layer, beneath: &mut impl Beneath) {
        match self {
            Self::Batch(batch, print) => layer.write(batch, *print, beneath),
            Self::Raised(scope, standing) => layer.raise(*scope, *standing),
            Self::Begun(_) => {}
        }
    }
}

/// A group under way. Its bytes begin with how many there are.
#[derive(Debug, Default)]
pub(super) struct Pen(Vec<u8>);

impl Pen {
    /// Writes a group, in the room of the last one.
    pub(super) fn write(&mut self, records: &[Record<'_>]) {
        self.0.clear();
        self.0.extend_from_slice(&[0; 4]);
        for record in records {
            match record {
                Record::Batch(batch, _) => self.batch(batch),
                Record::Raised(scope, (owner, revision, last)) => {
                    self.0.push(RAISED);
                    self.0.extend_from_slice(&row::scope_bytes(*scope));
                    for number in [owner.0, revision.0, *last] {
                        self.0.extend_from_slice(&number.to_le_bytes());
                    }
                }
                Record::Begun(end) => {
                    self.0.push(BEGUN);
                    self.0.extend_from_slice(&end.to_le_bytes());
                }
            }
        }
        let length = (self.0.len() as u32 - 4).to_le_bytes();
        self.0[..4].copy_from_slice(&length);
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn batch(&mut self, batch: &Batch) {
        self.0.push(BATCH);
        self.0.extend_from_slice(&row::scope_bytes(batch.scope));
        self.0.extend_from_slice(&batch.owner.0.to_le_bytes());
        self.0.extend_from_slice(&batch.revision.0.to_le_bytes());
        self.0.push(u8::from(batch.delete_scope));
        self.0.extend_from_slice(&(batch.changes.len() as u32).to_le_bytes());
        for change in &batch.changes {
            match change {
                Change::Put(key, value) => {
                    self.text(PUT, key);
                    self.0.extend_from_slice(&(value.len() as u32).to_le_bytes());
                    self.0.extend_from_slice(value);
                }
                Change::Delete(key) => self.text(DELETE, key),
                Change::DeletePrefix(prefix) => self.text(DELETE_PREFIX, prefix),
            }
        }
    }

    fn text(&mut self, tag: u8, bytes: &[u8]) {
        self.0.push(tag);
        self.0.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }
}

/// Reads a group into what waits to be applied; none when it is no group. Where it begins a file's turn, it says
/// at which sector the other file ends.
pub(super) fn replay(group: &[u8], layer: &mut Layer) -> Option<Option<u32>> {
    let mut begun = None;
    let mut rest = Rest(group);
    let length = rest.small()? as usize;
    rest.0 = rest.0.get(..length)?;
    while !rest.0.is_empty() {
        match rest.byte()? {
            BATCH => {
                let batch = rest.batch()?;
                let print = print::of_batch(&batch);
                layer.write(&batch, print, &mut Unknown);
            }
            RAISED => {
                let scope = rest.scope()?;
                let standing =
                    (OwnerEpoch(rest.number()?), Revision(rest.number()?), rest.number()?);
                layer.raise(scope, standing);
            }
            BEGUN => begun = Some(rest.small()?),
            _ => return None,
        }
    }
    Some(begun)
}

/// What is left to read.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn small(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*bytes))
    }

    fn number(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    fn scope(&mut self) -> Option<ScopeId> {
        let (scope, rest) = row::split(self.0)?;
        self.0 = rest;
        Some(scope)
    }

    fn text(&mut self) -> Option<Bytes> {
        let length = self.small()? as usize;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(Bytes::copy_from_slice(bytes))
    }

    fn batch(&mut self) -> Option<Batch> {
        let scope = self.scope()?;
        let (owner, revision) = (OwnerEpoch(self.number()?), Revision(self.number()?));
        let delete_scope = self.byte()? == 1;
        let mut changes = Vec::new();
        for _ in 0..self.small()? {
            changes.push(match self.byte()? {
                PUT => Change::Put(self.text()?, self.text()?),
                DELETE => Change::Delete(self.text()?),
                DELETE_PREFIX => Change::DeletePrefix(self.text()?),
                _ => return None,
            });
        }
        Some(Batch { scope, owner, revision, changes, delete_scope })
    }
}
