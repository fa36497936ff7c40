//! The lines out of the directory: orders to a host's process, and changes to a subscriber. Both are
//! bounded, and whoever lets go of its end is gone for the directory, too.

use rejoin_core::id::{HostId, OwnerEpoch};
use rejoin_directory::host::HostOrder;
use rejoin_directory::search::{CutCause, News};
use tokio::sync::{mpsc, oneshot};

use super::mail::Mail;

/// Orders that wait for one host's process. A host runs at most 1,000 Games, and a few orders for
/// each may wait; one that lets more wait is let go and has to register again.
pub(super) const ORDERS_MAX: usize = 8_192;
/// Changes that are on their way to one subscriber; the others wait in the directory, where the newest
/// of each Game replaces the older.
pub(super) const NOTICES_MAX: u64 = 64;

/// What a host's process is told, in order. Dropping this is what a broken connection is: the host is
/// away.
#[derive(Debug)]
pub struct HostOrders {
    pub(super) host: HostId,
    pub(super) lease: OwnerEpoch,
    pub(super) orders: mpsc::Receiver<HostOrder>,
    /// Closed with this: then the host is away.
    pub(super) _hold: oneshot::Sender<()>,
}

impl HostOrders {
    /// Which host.
    #[must_use]
    pub fn host(&self) -> HostId {
        self.host
    }

    /// Which process.
    #[must_use]
    pub fn lease(&self) -> OwnerEpoch {
        self.lease
    }

    /// The next order. None: another process speaks for the host now, too many orders waited, or the
    /// server stops.
    pub async fn next(&mut self) -> Option<HostOrder> {
        self.orders.recv().await
    }
}

/// What a subscriber is told.
#[derive(Clone, PartialEq, Debug)]
pub enum Notice {
    /// A change of what matches.
    News(News),
    /// The subscription is over, and this was the last notice.
    Cut(CutCause),
}

/// The changes of a subscription. The first ones are all that matches now. Dropping this ends the
/// subscription.
#[derive(Debug)]
pub struct Notices {
    pub(super) subscription: u64,
    pub(super) notices: mpsc::Receiver<Notice>,
    pub(super) mail: mpsc::Sender<Mail>,
    /// Changes that were taken and not given back as credit.
    pub(super) taken: u64,
}

impl Notices {
    /// The next change. None after a cut, and when the server stops.
    pub async fn next(&mut self) -> Option<Notice> {
        let notice = self.notices.recv().await?;
        if matches!(notice, Notice::News(_)) {
            self.taken += 1;
            if self.taken >= NOTICES_MAX / 2 {
                let credit = Mail::Credit(self.subscription, std::mem::take(&mut self.taken));
                // An error means that the directory has ended.
                let _ = self.mail.send(credit).await;
            }
        }
        Some(notice)
    }
}
