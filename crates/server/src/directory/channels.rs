//! The channels out of the directory: orders to a host's process, and changes to a subscriber. Both are
//! bounded, and a reader that drops its end is gone for the directory, too.

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

/// The orders to a host's process. Dropping this has the effect of a broken connection: the host
/// counts as away.
#[derive(Debug)]
pub struct HostOrders {
    pub(super) host: HostId,
    pub(super) lease: OwnerEpoch,
    pub(super) orders: mpsc::Receiver<HostOrder>,
    /// Closed with this: then the host is away.
    pub(super) _hold: oneshot::Sender<()>,
}

impl HostOrders {
    /// The id of the host that these orders are for.
    #[must_use]
    pub fn host(&self) -> HostId {
        self.host
    }

    /// The lease of the host's process; a later process of the same host has a higher one.
    #[must_use]
    pub fn lease(&self) -> OwnerEpoch {
        self.lease
    }

    /// Waits for the next order. None: another process speaks for the host now, too many orders waited, or
    /// the server has stopped.
    pub async fn next(&mut self) -> Option<HostOrder> {
        self.orders.recv().await
    }
}

/// What a subscriber receives: changes of Games that match, or of placements.
#[derive(Clone, PartialEq, Debug)]
pub enum Notice<N = News> {
    /// A Game or a placement was added, has changed or has ended.
    News(N),
    /// The subscription is over, and this was the last notice.
    Cut(CutCause),
}

/// The changes of a subscription, which ends when this is dropped. The first ones are all that there is
/// at the moment.
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

/// The sending half of a subscription, which the directory's task holds.
pub(crate) enum Subscriber {
    Games(mpsc::Sender<Notice>),
    Placements(mpsc::Sender<Notice<PlacementNews>>),
}

impl Subscriber {
    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::Games(sender) => sender.is_closed(),
            Self::Placements(sender) => sender.is_closed(),
        }
    }

    // There is room for what has credit and for the cut; an error means that the reader is gone, which
    // the task notices every second.

    pub(super) fn game(&self, news: News) {
        if let Self::Games(sender) = self {
            let _ = sender.try_send(Notice::News(news));
        }
    }

    pub(super) fn placement(&self, news: PlacementNews) {
        if let Self::Placements(sender) = self {
            let _ = sender.try_send(Notice::News(news));
        }
    }

    pub(super) fn cut(&self, cause: CutCause) {
        match self {
            Self::Games(sender) => drop(sender.try_send(Notice::Cut(cause))),
            Self::Placements(sender) => drop(sender.try_send(Notice::Cut(cause))),
        }
    }
}
