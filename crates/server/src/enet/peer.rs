//! One address that was let as far as ENet: since when, with what its datagrams are sealed, and what of
//! them ENet may see.

use std::sync::Arc;
use std::time::Instant;

use rejoin_core::budget::Budget;
use rejoin_seal::Channel;
use tokio::sync::Notify;

use super::sieve::Sieve;
use crate::accept_guard::AcceptPermit;

/// A peer that ENet may see: an address with its state before and during its connection.
#[derive(Debug)]
pub(super) struct EnetPeer {
    /// ENet's number of its connect; none while it has only begun to encrypt.
    pub(super) connect: Option<u32>,
    /// The number and session that ENet gave it, which stand in the head of each of its datagrams.
    /// None before ENet has answered its connect.
    pub(super) ids: Option<u16>,
    /// What its datagrams are sealed with.
    pub(super) seal: Option<Seal>,
    pub(super) since: Instant,
    /// The permit of its address, until its connection holds it.
    pub(super) permit: Option<AcceptPermit>,
    pub(super) is_connected: bool,
    pub(super) sieve: Sieve,
    /// How many datagrams it has sent.
    pub(super) datagrams: Budget,
    /// Notified when its reader has control commands to charge.
    pub(super) bell: Arc<Notify>,
}

/// Encryption that has begun.
#[derive(Debug)]
pub(super) struct Seal {
    pub(super) channel: Channel,
    /// What the client said, and what it was answered, should that get lost.
    pub(super) first: Vec<u8>,
    pub(super) second: Vec<u8>,
}

impl EnetPeer {
    pub(super) fn new(permit: AcceptPermit, is_proven: bool, since: Instant) -> Self {
        Self {
            connect: None,
            ids: None,
            seal: None,
            since,
            permit: Some(permit),
            is_connected: false,
            sieve: Sieve::new(is_proven),
            datagrams: Budget::default(),
            bell: Arc::default(),
        }
    }
}
