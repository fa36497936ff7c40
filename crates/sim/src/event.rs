//! What can happen in the world.

use bytes::Bytes;
use rejoin_core::exchange::{ToHub, ToZone};
use rejoin_core::hub::{AccountProof, AskId, Command, HubInput};
use rejoin_core::id::{ConnectionId, GameId, JobId, OwnerEpoch, Revision, ZoneId};
use rejoin_core::scope::ScopeId;
use rejoin_core::seat::{SeatRefusal, SeatRequest};
use rejoin_core::zone::ZoneSpec;
use rejoin_directory::{DirectoryInput, LocalInput};
use rejoin_testkit::parts::queue::Planned;
use rejoin_wire::v1::CloseCode;

use crate::accounts::{Order, Shown};

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
    FromConnection {
        incarnation: u64,
        input: Box<HubInput>,
    },
    ConnectionsWake {
        incarnation: u64,
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
    /// A word on a commit that its scope has heard of, when the next batch is at the store.
    CommittedLate {
        incarnation: u64,
        scope: ScopeId,
        revision: Revision,
    },
    Verified {
        incarnation: u64,
        connection: ConnectionId,
        ask: AskId,
        good: bool,
    },
    Admission {
        incarnation: u64,
        connection: ConnectionId,
        ask: AskId,
        good: bool,
    },
    AccountChecked {
        incarnation: u64,
        connection: ConnectionId,
        ask: AskId,
        proof: Box<AccountProof>,
        shown: Option<Shown>,
    },
    Operator {
        incarnation: u64,
        account: usize,
        order: Order,
    },
    Learn {
        player: usize,
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
    ToDirectory {
        incarnation: u64,
        input: Box<DirectoryInput>,
    },
    DirectoryWake {
        incarnation: u64,
    },
    SeatAnswered {
        incarnation: u64,
        request: SeatRequest,
        verdict: Result<(), SeatRefusal>,
    },
    ToLocalHost {
        incarnation: u64,
        input: Box<LocalInput>,
    },
    Errand {
        incarnation: u64,
        game: GameId,
        command: Box<Command>,
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
    /// A full half of the engine's journal is brought into the tree.
    Apply {
        incarnation: u64,
    },
    /// A batch of a process that is paused arrives at the store.
    Late,
    /// A process that said goodbye ends.
    Ended {
        incarnation: u64,
    },
    Restart,
    Quiet,
}

impl Event {
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
            Self::FromConnection { .. } => "from-connection",
            Self::ConnectionsWake { .. } => "connections-wake",
            Self::OpenZone { .. } => "open-zone",
            Self::Committed { .. } => "committed",
            Self::CommittedLate { .. } => "committed-late",
            Self::Verified { .. } => "verified",
            Self::Admission { .. } => "admission",
            Self::AccountChecked { .. } => "account-checked",
            Self::Operator { .. } => "operator",
            Self::Learn { .. } => "learn",
            Self::JobDone { .. } => "job-done",
            Self::Command { .. } => "command",
            Self::HubWake { .. } => "hub-wake",
            Self::ToDirectory { .. } => "to-directory",
            Self::DirectoryWake { .. } => "directory-wake",
            Self::SeatAnswered { .. } => "seat-answered",
            Self::ToLocalHost { .. } => "to-local-host",
            Self::Errand { .. } => "errand",
            Self::ZoneWake { .. } => "zone-wake",
            Self::PlayerWake { .. } => "player-wake",
            Self::Act { .. } => "act",
            Self::HostileAct { .. } => "hostile-act",
            Self::Fault => "fault",
            Self::Apply { .. } => "apply",
            Self::Late => "late",
            Self::Ended { .. } => "ended",
            Self::Restart => "restart",
            Self::Quiet => "quiet",
        }
    }
}

impl Planned for Event {
    fn is_wake(&self) -> bool {
        matches!(
            self,
            Self::HubWake { .. }
                | Self::ConnectionsWake { .. }
                | Self::ZoneWake { .. }
                | Self::PlayerWake { .. }
                | Self::DirectoryWake { .. }
        )
    }

    fn is_servers(&self) -> bool {
        matches!(
            self,
            Self::ServerOpened { .. }
                | Self::ServerBytes { .. }
                | Self::ServerClosed { .. }
                | Self::ToHub { .. }
                | Self::ToZone { .. }
                | Self::FromConnection { .. }
                | Self::ConnectionsWake { .. }
                | Self::OpenZone { .. }
                | Self::Committed { .. }
                | Self::CommittedLate { .. }
                | Self::Verified { .. }
                | Self::Admission { .. }
                | Self::AccountChecked { .. }
                | Self::Operator { .. }
                | Self::JobDone { .. }
                | Self::Command { .. }
                | Self::HubWake { .. }
                | Self::ZoneWake { .. }
                | Self::ToDirectory { .. }
                | Self::DirectoryWake { .. }
                | Self::SeatAnswered { .. }
                | Self::ToLocalHost { .. }
                | Self::Errand { .. }
                | Self::Apply { .. }
        )
    }
}
