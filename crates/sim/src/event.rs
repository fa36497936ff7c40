//! What can happen next, and when. Events of one instant happen in the order they were planned,
//! but waking comes last: input that waits is fed before a deadline is looked at.

use std::collections::BTreeMap;

use bytes::Bytes;
use rejoin_core::exchange::{ToHub, ToZone};
use rejoin_core::hub::Command;
use rejoin_core::id::{ConnectionId, JobId, OwnerEpoch, Revision, ZoneId};
use rejoin_core::scope::ScopeId;
use rejoin_core::zone::ZoneSpec;
use rejoin_wire::v1::CloseCode;

/// Something that happens.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Event {
    ServerOpened {
        link: u64,
    },
    ClientOpened {
        link: u64,
    },
    ServerBytes {
        link: u64,
        bytes: Bytes,
    },
    ClientBytes {
        link: u64,
        bytes: Bytes,
    },
    ServerClosed {
        link: u64,
        code: Option<CloseCode>,
    },
    ClientClosed {
        link: u64,
        code: Option<CloseCode>,
    },
    ToHub {
        incarnation: u64,
        zone: ZoneId,
        owner: OwnerEpoch,
        message: Box<ToHub>,
    },
    ToZone {
        incarnation: u64,
        zone: ZoneId,
        owner: OwnerEpoch,
        message: Box<ToZone>,
    },
    OpenZone {
        incarnation: u64,
        spec: Box<ZoneSpec>,
    },
    Committed {
        incarnation: u64,
        scope: ScopeId,
        owner: OwnerEpoch,
        revision: Revision,
    },
    Verified {
        incarnation: u64,
        connection: ConnectionId,
        good: bool,
    },
    Admission {
        incarnation: u64,
        connection: ConnectionId,
        good: bool,
    },
    JobDone {
        incarnation: u64,
        zone: ZoneId,
        owner: OwnerEpoch,
        job: JobId,
        result: Bytes,
    },
    Command {
        incarnation: u64,
        command: Box<Command>,
    },
    HubWake {
        incarnation: u64,
    },
    ZoneWake {
        incarnation: u64,
        zone: ZoneId,
    },
    PlayerWake {
        player: usize,
    },
    Act {
        player: usize,
    },
    HostileAct {
        hostile: usize,
    },
    Fault,
    /// A process that said goodbye ends.
    Ended {
        incarnation: u64,
    },
    Restart,
    Quiet,
}

impl Event {
    /// Whether the server must be running and awake for it.
    #[must_use]
    pub fn is_servers(&self) -> bool {
        matches!(
            self,
            Self::ServerOpened { .. }
                | Self::ServerBytes { .. }
                | Self::ServerClosed { .. }
                | Self::ToHub { .. }
                | Self::ToZone { .. }
                | Self::OpenZone { .. }
                | Self::Committed { .. }
                | Self::Verified { .. }
                | Self::Admission { .. }
                | Self::JobDone { .. }
                | Self::Command { .. }
                | Self::HubWake { .. }
                | Self::ZoneWake { .. }
        )
    }

    fn class(&self) -> u8 {
        u8::from(matches!(
            self,
            Self::HubWake { .. } | Self::ZoneWake { .. } | Self::PlayerWake { .. }
        ))
    }

    /// A small name for traces.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::ServerOpened { .. } => "server-opened",
            Self::ClientOpened { .. } => "client-opened",
            Self::ServerBytes { .. } => "server-bytes",
            Self::ClientBytes { .. } => "client-bytes",
            Self::ServerClosed { .. } => "server-closed",
            Self::ClientClosed { .. } => "client-closed",
            Self::ToHub { .. } => "to-hub",
            Self::ToZone { .. } => "to-zone",
            Self::OpenZone { .. } => "open-zone",
            Self::Committed { .. } => "committed",
            Self::Verified { .. } => "verified",
            Self::Admission { .. } => "admission",
            Self::JobDone { .. } => "job-done",
            Self::Command { .. } => "command",
            Self::HubWake { .. } => "hub-wake",
            Self::ZoneWake { .. } => "zone-wake",
            Self::PlayerWake { .. } => "player-wake",
            Self::Act { .. } => "act",
            Self::HostileAct { .. } => "hostile-act",
            Self::Fault => "fault",
            Self::Ended { .. } => "ended",
            Self::Restart => "restart",
            Self::Quiet => "quiet",
        }
    }
}

/// What is planned, soonest first.
#[derive(Debug, Default)]
pub struct Queue {
    events: BTreeMap<(u64, u8, u64), Event>,
    order: u64,
}

impl Queue {
    /// Plans an event.
    pub fn push(&mut self, at: u64, event: Event) {
        self.order += 1;
        self.events.insert((at, event.class(), self.order), event);
    }

    /// Puts off an event, keeping its place among those of the same instant.
    pub fn put_off(&mut self, until: u64, order: u64, event: Event) {
        self.events.insert((until, event.class(), order), event);
    }

    /// The next event: when, its place, what.
    pub fn pop(&mut self) -> Option<(u64, u64, Event)> {
        let ((at, _, order), event) = self.events.pop_first()?;
        Some((at, order, event))
    }

    /// Forgets what the server had planned: it crashed.
    pub fn forget_servers(&mut self) {
        self.events.retain(|_, event| !event.is_servers());
    }
}
