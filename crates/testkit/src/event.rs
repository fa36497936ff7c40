//! What can happen in a world.

use bytes::Bytes;
use rejoin_core::exchange::{ToHub, ToZone};
use rejoin_core::hub::HubInput;
use rejoin_core::id::{JobId, OwnerEpoch, Revision, SessionId, ZoneId};
use rejoin_core::scope::ScopeId;
use rejoin_core::zone::{Delivery, ZoneSpec};
use rejoin_wire::v1::{CloseCode, RefusalCode};

use crate::parts::queue::Planned;

#[derive(Debug)]
pub(crate) enum Event {
    ServerOpened { link: u64 },
    ClientOpened { link: u64 },
    Up { link: u64, frame: Bytes },
    Down { link: u64, frame: Bytes },
    ServerClosed { link: u64 },
    ClientClosed { link: u64, code: Option<CloseCode> },
    Hub(Box<HubInput>),
    ToHub { zone: ZoneId, owner: OwnerEpoch, message: Box<ToHub> },
    ToZone { zone: ZoneId, owner: OwnerEpoch, message: Box<ToZone> },
    ConnectionsWake,
    OpenZone(Box<ZoneSpec>),
    Committed { scope: ScopeId, owner: OwnerEpoch, revision: Revision },
    JobDone { zone: ZoneId, owner: OwnerEpoch, job: JobId, result: Bytes },
    Told { session: SessionId, delivery: Delivery },
    Refused { session: SessionId, code: RefusalCode },
    HubWake,
    ZoneWake { zone: ZoneId },
    AgentWake { session: SessionId },
    ClientWake { client: usize },
}

impl Planned for Event {
    fn is_wake(&self) -> bool {
        matches!(
            self,
            Self::HubWake
                | Self::ConnectionsWake
                | Self::ZoneWake { .. }
                | Self::AgentWake { .. }
                | Self::ClientWake { .. }
        )
    }

    fn is_servers(&self) -> bool {
        !matches!(
            self,
            Self::ClientOpened { .. }
                | Self::Down { .. }
                | Self::ClientClosed { .. }
                | Self::ClientWake { .. }
        )
    }
}
