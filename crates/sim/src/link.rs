//! One faked connection: two byte streams with a delay, that can end at any byte, at both ends or
//! at one. Frames are length-prefixed as on a real stream, and cut into pieces at random.

use std::collections::VecDeque;

use rejoin_core::guard::Origin;
use rejoin_core::id::PlayerId;
use rejoin_wire::v1::Hello;
use rejoin_wire::{Encoding, Framer, Limits};

/// Who is at the client's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// An honest player.
    Player(usize),
    /// Somebody who keeps no rule.
    Hostile(usize),
}

/// A connection.
pub struct Link {
    /// Who made it.
    pub who: Who,
    /// The server's end is up.
    pub server_open: bool,
    /// The client's end is up.
    pub client_open: bool,
    /// Nothing more gets through upwards, or downwards.
    pub up_dead: bool,
    /// See `up_dead`.
    pub down_dead: bool,
    /// When the last piece arrives upwards, and downwards.
    pub up_at: u64,
    /// See `up_at`.
    pub down_at: u64,
    /// The server reads nothing before.
    pub paused_until: u64,
    /// What the server has read of a frame.
    pub server: Framer,
    /// What the client has read of a frame.
    pub client: Framer,
    /// The session and epoch it was welcomed to.
    pub welcomed: Option<(u64, u64)>,
    /// The hello that the server has read.
    pub hello: Option<Hello>,
    /// The position of a client that was welcomed as overrun, until its Resync is judged.
    pub overrun: Option<(u64, u64)>,
    /// The leg of the next numbered frame downwards.
    pub leg: u64,
    /// Numbered frames that were sent down and whose acknowledgement the server has not read.
    pub in_flight: VecDeque<(u64, u64)>,
    /// Since when there are none, after there were some, in time without outages; none again after a Resync.
    pub idle_since: Option<u64>,
    /// How frames are written on this transport.
    pub encoding: Encoding,
    /// Where it comes from.
    pub origin: Origin,
    /// The transport is encrypted.
    pub is_encrypted: bool,
    /// The server takes compressed frames here, and compresses those of so many bytes and more.
    pub compressed_from: Option<usize>,
    /// The client knows that compressed frames were agreed on.
    pub is_agreed: bool,
    /// Its hello was a login.
    pub is_login: bool,
    /// The player that the key or secret of its login is alone.
    pub key: Option<PlayerId>,
}

impl Link {
    /// A connection that is being made, from the address that those who keep no rule share.
    #[must_use]
    pub fn new(who: Who, now: u64, encoding: Encoding) -> Self {
        let limits = Limits::DEFAULT;
        Self {
            who,
            server_open: false,
            client_open: false,
            up_dead: false,
            down_dead: false,
            up_at: now,
            down_at: now,
            paused_until: 0,
            server: Framer::new(limits.client_frame_bytes(encoding)),
            client: Framer::new(limits.server_frame_bytes(encoding)),
            welcomed: None,
            hello: None,
            overrun: None,
            leg: 0,
            in_flight: VecDeque::new(),
            idle_since: None,
            encoding,
            origin: Origin::v4(666),
            is_encrypted: false,
            compressed_from: None,
            is_agreed: false,
            is_login: false,
            key: None,
        }
    }
}
