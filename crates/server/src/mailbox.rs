//! What reaches the hub's task, and the two doors it comes through. The outer door is bounded and
//! its callers wait: connections, and whoever embeds the server. The inner one is for zones, the
//! store and checks, and is emptied first. The hub itself waits for nobody, so no two can wait for
//! each other.

use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{Answer, Command, Hub, HubInput};
use rejoin_core::id::ZoneId;
use std::collections::BTreeMap;
use tokio::sync::{mpsc, oneshot};

/// Messages that wait at each door before senders do.
pub(crate) const DOOR_MAX: usize = 8_192;

/// A question about the hub, answered between two inputs.
pub(crate) type Question = Box<dyn FnOnce(&Hub, &BTreeMap<ZoneId, ZoneName>) + Send>;

/// What comes from outside.
pub(crate) enum Mail {
    Input(HubInput),
    Command(Command, oneshot::Sender<Answer>),
    Ask(Question),
    /// Say goodbye to everybody and end; resolved when the hub has ended.
    Stop(oneshot::Sender<()>),
}

/// The outer door.
pub(crate) type OuterDoor = mpsc::Sender<Mail>;
/// The inner door, for those who only look at it.
pub(crate) type WeakInnerDoor = mpsc::WeakSender<HubInput>;
/// The inner door.
pub(crate) type InnerDoor = mpsc::Sender<HubInput>;
