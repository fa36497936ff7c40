//! Worlds of the directory: clients that look for Games and take seats, processes that run Games
//! well or badly, a disk that is slow, full or loses power, and a directory that dies between any
//! two of its outputs. The books of those outside say what must hold.

pub mod books;
pub mod client;
pub mod inspection;
pub mod knobs;
pub mod onlooker;
pub mod parties;
pub mod placements;
pub mod process;
pub mod query;
pub mod requests;
pub mod run;
pub mod seating;
pub mod tally;
pub mod world;

use rejoin_core::id::{OwnerEpoch, Revision};
use rejoin_core::scope::ScopeId;
use rejoin_directory::DirectoryInput;
use rejoin_directory::host::HostOrder;
use rejoin_testkit::parts::queue::Planned;

/// Something that happens.
#[derive(Debug)]
pub enum Event {
    /// A client does something.
    Client(usize),
    /// A process does something by itself.
    Process(usize),
    /// An order reaches a process.
    Order {
        /// Which.
        process: usize,
        /// On the connection of this lease.
        lease: OwnerEpoch,
        /// What.
        order: HostOrder,
    },
    /// Something reaches the directory.
    Input(Box<DirectoryInput>),
    /// Somebody looks at what is listed.
    Look,
    /// The searcher asks for its next page.
    Inspect,
    /// A commit of this life of the directory is due.
    Committed {
        /// Which life.
        life: u64,
        /// What.
        scope: ScopeId,
        /// Whose.
        owner: OwnerEpoch,
        /// Up to where.
        revision: Revision,
    },
    /// The directory wanted to be woken.
    Wake {
        /// Which life.
        life: u64,
    },
    /// Something goes wrong.
    Fault,
    /// The directory starts again.
    Boot,
}

impl Planned for Event {
    fn is_wake(&self) -> bool {
        matches!(self, Self::Wake { .. })
    }

    fn is_servers(&self) -> bool {
        matches!(self, Self::Committed { .. } | Self::Wake { .. } | Self::Input(_))
    }
}
