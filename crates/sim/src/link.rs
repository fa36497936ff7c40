//! One faked connection: two byte streams with a delay, that can end at any byte, at both ends or
//! at one. Frames are length-prefixed as on a real stream, and cut into pieces at random.

use std::collections::VecDeque;

use rejoin_core::guard::Origin;
use rejoin_wire::Framer;
use rejoin_wire::v1::Hello;

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
    /// Since when there are none, after there were some; none again after a Resync.
    pub idle_since: Option<u64>,
}

impl Link {
    /// Each honest player has an address; those who keep no rule share one.
    #[must_use]
    pub fn origin(&self) -> Origin {
        match self.who {
            Who::Player(player) => Origin::v6((player as u128 + 1) << 64),
            Who::Hostile(_) => Origin::v4(666),
        }
    }

    /// A connection that is being made.
    #[must_use]
    pub fn new(who: Who, now: u64, client_max: usize, server_max: usize) -> Self {
        Self {
            who,
            server_open: false,
            client_open: false,
            up_dead: false,
            down_dead: false,
            up_at: now,
            down_at: now,
            paused_until: 0,
            server: Framer::new(client_max),
            client: Framer::new(server_max),
            welcomed: None,
            hello: None,
            overrun: None,
            leg: 0,
            in_flight: VecDeque::new(),
            idle_since: None,
        }
    }
}
