//! The two channels of the hub's task. The external one is for connections and for the program that
//! embeds the server: it is bounded, and its senders wait. The internal one is for zones, the store's
//! thread and the checks of logins, and is emptied first. The hub's task itself never waits for a
//! receiver, so there is no circle in which all wait.

use rejoin_core::hub::{Answer, Command, HubInput, Query, Reply};
use tokio::sync::{mpsc, oneshot};

/// Messages that wait in each channel before its senders do.
pub(crate) const MAILBOX_MAX: usize = 8_192;

/// What the external channel carries.
pub(crate) enum HubMail {
    Input(HubInput),
    Command(Command, oneshot::Sender<Answer>),
    Query(Query, oneshot::Sender<Reply>),
    /// Close every connection and end; resolved when the hub has ended.
    Stop(oneshot::Sender<()>),
}

/// The external channel's sender.
pub(crate) type ExternalSender = mpsc::Sender<HubMail>;
/// The internal channel's sender for metrics, which does not keep the channel open.
pub(crate) type WeakInternalSender = mpsc::WeakSender<HubInput>;
/// The internal channel's sender.
pub(crate) type InternalSender = mpsc::Sender<HubInput>;
