//! The wire of Rejoin: every frame that a client or a server may put on a connection.
//!
//! This crate owns the frames ([`v1`], generated from `proto/rejoin.proto`), how they become bytes
//! ([`Encoding`], [`SharedFrame`], [`Framer`], [`DEFLATE`]), how large they may be ([`Limits`]), why a connection
//! ends ([`close`]), what a key signs ([`proof`]) and what is added to ENet ([`enet`]). It does no
//! I/O, reads no clock, and knows no rule of the domain: which frame may stand in which state is
//! decided elsewhere.
//!
//! Decoding is total. Any bytes give a frame, "incomplete" or a typed error; never a panic, and
//! never an allocation that is sized by a length which a peer wrote.

mod check;
pub mod close;
mod codec;
mod compression;
mod encoding;
pub mod enet;
mod framing;
mod limits;
#[cfg(feature = "planted")]
pub mod planted;
pub mod proof;
mod redaction;
mod shared;

pub use check::{check_client, check_server};
pub use codec::{
    DecodeError, EncodeError, decode_client, decode_server, encode_client, encode_server,
};
pub use compression::{COMPRESS_BYTES_MIN, DEFLATE, pack_client, unpack_client, unpack_server};
pub use encoding::Encoding;
pub use framing::{Framer, FramingError, PREFIX_BYTES, prefix};
pub use limits::Limits;
pub use shared::SharedFrame;
// Part of the API: every payload is one.
pub use bytes::Bytes;

/// The version of the protocol that this crate speaks.
pub const VERSION: u32 = 1;

/// The frames of version 1, generated from `proto/rejoin.proto`; its comments are the documentation.
pub mod v1 {
    #![allow(missing_docs, unreachable_pub, clippy::all)]

    include!("generated/rejoin.v1.rs");
    #[cfg(feature = "json")]
    include!("generated/rejoin.v1.serde.rs");
}
