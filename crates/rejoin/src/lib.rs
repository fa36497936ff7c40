//! Player sessions that outlive connections.
//!
//! A game that embeds the server starts with [`prelude`]; docs/EMBEDDING.md leads through it.
//! Without default features this is the roster, the rules and the frames, and little else:
//!
//! ```
//! use rejoin::id::{ConnectionId, PlayerId};
//! use rejoin::roster::{Connected, PlayerData, Roster, Rules};
//! use rejoin::time::Time;
//!
//! #[derive(Clone, Debug, PartialEq)]
//! struct Hero { coins: u32 }
//!
//! impl PlayerData for Hero {
//!     fn reinitialize(&mut self) { self.coins = 0; }
//! }
//!
//! let mut roster = Roster::new(Rules::default());
//! let (now, ann) = (Time::ZERO, PlayerId([7; 16]));
//! roster.connect(now, ConnectionId(1), ann, Hero { coins: 0 })?;
//! roster.match_started();
//! roster.set(ConnectionId(1), Hero { coins: 5 })?;
//! roster.disconnect(now, ConnectionId(1))?;
//!
//! let back = roster.connect(now, ConnectionId(2), ann, Hero { coins: 0 })?;
//! assert_eq!(back, Connected::Reconnected);
//! assert_eq!(roster.data(&ann), Some(&Hero { coins: 5 }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod prelude;

pub use rejoin_core::{
    account, agent, budget, call, chance, event, exchange, guard, hub, id, mark, roster, scope,
    secret, session, stream, time, timeline, zone,
};
pub use rejoin_wire as wire;
/// Payloads: shared, never copied.
pub use rejoin_wire::Bytes;

#[cfg(feature = "client")]
pub use rejoin_client as client;
#[cfg(feature = "host")]
pub use rejoin_host as host;
#[cfg(feature = "server")]
pub use rejoin_server as server;
#[cfg(feature = "store")]
pub use rejoin_store as store;
#[cfg(feature = "testkit")]
pub use rejoin_testkit as testkit;

/// The pages' examples, compiled and run.
#[cfg(all(doctest, feature = "server", feature = "client", feature = "host", feature = "testkit"))]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/EMBEDDING.md")]
    struct Embedding;
    #[doc = include_str!("../../../docs/DIRECTORY.md")]
    struct Directory;
    #[doc = include_str!("../../../docs/HOSTS.md")]
    struct Hosts;
}
