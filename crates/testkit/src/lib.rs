//! A whole world in one thread, for the tests of a game.
//!
//! The rules, the zones and the clients are the real ones; clocks, network and disk are faked. One
//! seed decides all chance, so a failing test fails again. Time passes only when the test says so:
//! a step is one tick of 50 ms. Between two steps a link can be cut, the clock can jump, and the
//! server can crash and come back from its disk.
//!
//! ```
//! use bytes::Bytes;
//! use rejoin_core::zone::{Context, Sender, Zone, ZoneConfig};
//! use rejoin_testkit::{Rung, World};
//!
//! /// Counts what it is told, and tells everybody.
//! #[derive(Default)]
//! struct Counter(u8);
//!
//! impl Zone for Counter {
//!     type In = Bytes;
//!     type Out = Bytes;
//!
//!     fn on_message(&mut self, ctx: &mut Context<'_, Bytes>, _: Sender, message: Bytes) {
//!         self.0 += message[0];
//!         ctx.broadcast(Bytes::from(vec![self.0]));
//!     }
//! }
//!
//! let mut world = World::of("counter", ZoneConfig::default(), Counter::default).start(7);
//! let ann = world.client("ann");
//! world.step();
//! assert_eq!(world.sessions().len(), 1);
//!
//! world.join(ann, "counter", "one");
//! world.step();
//! world.cut(ann);
//! world.say(ann, Bytes::from_static(&[5])); // Waits until she is back.
//! world.run_until("ann is back", |world| world.is_connected(ann));
//! world.step();
//! assert_eq!(world.rung(ann), Some(Rung::Replayed));
//! assert_eq!(world.heard::<Bytes>(ann), [Bytes::from_static(&[5])]);
//! ```
//!
//! When a test panics, the seed, the step and the last things that happened are printed. A zone or
//! an agent that panics fails the test at that step, unless
//! [`allow_faults`](Setup::allow_faults) says that the test is about just that.

mod agents;
mod carry;
mod client;
mod event;
mod lines;
mod node;
pub mod parts;
mod setup;
mod world;

pub use self::client::ClientId;
pub use self::setup::Setup;
pub use self::world::World;
// What clients are told, and how.
pub use rejoin_client::{Event as ClientEvent, Rung, SendId};
