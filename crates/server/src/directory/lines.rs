//! The lines out of the directory: orders to a host's process, and changes to a subscriber. Both are
//! bounded, and whoever lets go of its end is gone for the directory, too.

use rejoin_core::id::{HostId, OwnerEpoch};
use rejoin_directory::host::HostOrder;
use rejoin_directory::queue::PlacementNews;
use rejoin_directory::search::{CutCause, News};
use tokio::sync::{mpsc, oneshot};

use super::mail::DirectoryMail;

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

/// What a subscriber is told: changes of Games that match, or what becomes of placements.
#[derive(Clone, PartialEq, Debug)]
pub enum Notice<N = News> {
    /// A change.
    News(N),
    /// The subscription is over, and this was the last notice.
    Cut(CutCause),
}

/// The changes of a subscription. The first ones are all that there is now. Dropping this ends the
/// subscription.
#[derive(Debug)]
pub struct Notices<N = News> {
    pub(super) subscription: u64,
    pub(super) notices: mpsc::Receiver<Notice<N>>,
    pub(super) mail: mpsc::Sender<DirectoryMail>,
    /// Changes that were taken and not given back as credit.
    pub(super) taken: u64,
}

impl<N> Notices<N> {
    /// The next change. None after a cut, and when the server stops.
    pub async fn next(&mut self) -> Option<Notice<N>> {
        let notice = self.notices.recv().await?;
        if matches!(notice, Notice::News(_)) {
            self.taken += 1;
            if self.taken >= NOTICES_MAX / 2 {
                let credit =
                    DirectoryMail::Credit(self.subscription, std::mem::take(&mut self.taken));
                // An error means that the directory has ended.
                let _ = self.mail.send(credit).await;
            }
        }
        Some(notice)
    }
}

/// Where a subscriber hears, as the directory's task has it.
pub(crate) enum Subscriber {
    Games(mpsc::Sender<Notice>),
    Placements(mpsc::Sender<Notice<PlacementNews>>),
}

impl Subscriber {
    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::Games(line) => line.is_closed(),
            Self::Placements(line) => line.is_closed(),
        }
    }

    // There is room for what has credit and for the last word; an error means that nobody reads any
    // more, which is noticed every second.

    pub(super) fn game(&self, news: News) {
        if let Self::Games(line) = self {
            let _ = line.try_send(Notice::News(news));
        }
    }

    pub(super) fn placement(&self, news: PlacementNews) {
        if let Self::Placements(line) = self {
            let _ = line.try_send(Notice::News(news));
        }
    }

    pub(super) fn cut(&self, cause: CutCause) {
        match self {
            Self::Games(line) => drop(line.try_send(Notice::Cut(cause))),
            Self::Placements(line) => drop(line.try_send(Notice::Cut(cause))),
        }
    }
}
