//! What whoever looks on is told, once it is durable.

use rejoin_core::id::{GameId, HostId, QueueId};

use crate::game::EndCause;
use crate::host::HostEnd;
use crate::queue::PlacementEnd;

/// Something happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A Game runs.
    GameActive(GameId),
    /// A Game ended.
    GameEnded(GameId, EndCause),
    /// A host does not report healthy; if that lasts, it ends.
    HostWarned(HostId),
    /// A host is not connected; its Games are hidden.
    HostAway(HostId),
    /// A host is ready, for the first time or again.
    HostReady(HostId),
    /// A host ended.
    HostEnded(HostId, HostEnd),
    /// A placement ended.
    PlacementEnded {
        /// In which queue.
        queue: QueueId,
        /// Which.
        placement: String,
        /// How.
        end: PlacementEnd,
    },
}
