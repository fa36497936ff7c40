//! The way to the directory for everybody: HTTP, hosts, the game that embeds the server. A clone is
//! the same door.

use std::fmt;

use rejoin_core::id::{GameId, HostId, OwnerEpoch, SeatId};
use rejoin_directory::game::Entry;
use rejoin_directory::host::{HostView, HostWord, Registration};
use rejoin_directory::queue::PlacementNews;
use rejoin_directory::{Answer, Caller, Command, Event, Refusal, Target};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::channels::{HostOrders, NOTICES_MAX, Notice, Notices, ORDERS_MAX, Subscriber};
use super::mail::{Asker, DirectoryMail};

/// Why there is no answer to what was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AskError {
    /// The directory's rules say no.
    Refused(Refusal),
    /// More is asked than the directory can take; again in a moment. Nothing was changed.
    Busy,
    /// The server has stopped. Whether something was changed is not known.
    Stopped,
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Busy => f.write_str("the directory has too much to do, try again in a moment"),
            Self::Stopped => f.write_str("the server has stopped"),
        }
    }
}

impl std::error::Error for AskError {}

impl From<Refusal> for AskError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Busy => Self::Busy,
            refusal => Self::Refused(refusal),
        }
    }
}

/// The way to the directory.
#[derive(Clone)]
pub struct DirectoryDoor {
    mail: mpsc::Sender<DirectoryMail>,
    events: broadcast::Sender<Event>,
    search_work_max: usize,
}

impl DirectoryDoor {
    pub(crate) fn new(
        mail: mpsc::Sender<DirectoryMail>,
        events: broadcast::Sender<Event>,
        search_work_max: usize,
    ) -> Self {
        Self { mail, events, search_work_max }
    }

    /// How many Games one search may look at.
    pub(crate) fn search_work_max(&self) -> usize {
        self.search_work_max
    }

    /// A door that leads nowhere: there is no directory.
    pub(crate) fn closed() -> Self {
        let (events, _) = broadcast::channel(1);
        Self { mail: mpsc::channel(1).0, events, search_work_max: 0 }
    }

    /// Asks, and waits for the answer. What it says is durable.
    ///
    /// Subscriptions go through [`subscribe`](Self::subscribe) and [`watch`](Self::watch), which return the
    /// channel of their changes.
    ///
    /// # Errors
    /// The rules refuse it, too much is asked at once, or the server has stopped.
    pub async fn ask(&self, command: Command) -> Result<Answer, AskError> {
        self.answered(|asker| DirectoryMail::Ask(command, asker)).await
    }

    /// Asks at once, and gives back where the answer comes. What is asked so keeps its order.
    pub(crate) fn begin(
        &self,
        command: Command,
    ) -> Result<oneshot::Receiver<Result<Answer, Refusal>>, AskError> {
        let (asker, answer) = oneshot::channel();
        self.put(DirectoryMail::Ask(command, asker))?;
        Ok(answer)
    }

    /// Registers a host's process and listens for its orders. Say [`HostWord::Ready`] next.
    ///
    /// # Errors
    /// As for [`ask`](Self::ask).
    pub async fn register(
        &self,
        registration: Registration,
    ) -> Result<(HostView, HostOrders), AskError> {
        match self.ask(Command::Register(registration)).await? {
            Answer::Host(view) => {
                let orders = self.orders(view.id, view.lease).await?;
                Ok((*view, orders))
            }
            // The answer to a registration is the host.
            _ => Err(AskError::Stopped),
        }
    }

    /// The same for the server itself.
    pub(crate) async fn register_own(
        &self,
        registration: Registration,
        capacity_max: u32,
    ) -> Result<HostOrders, AskError> {
        match self.ask(Command::RegisterOwn { registration, capacity_max }).await? {
            Answer::Host(view) => self.orders(view.id, view.lease).await,
            // The answer to a registration is the host.
            _ => Err(AskError::Stopped),
        }
    }

    /// Listens for the orders to a host's process; an earlier listener with this or an older lease gets
    /// nothing more. When the orders are dropped, the host is away.
    ///
    /// # Errors
    /// The server has stopped.
    pub async fn orders(&self, host: HostId, lease: OwnerEpoch) -> Result<HostOrders, AskError> {
        let (sender, orders) = mpsc::channel(ORDERS_MAX);
        self.send(DirectoryMail::HostHears(host, lease, sender)).await?;
        let hold = self.when_dropped(DirectoryMail::HostDeaf(host, lease));
        Ok(HostOrders { host, lease, orders, _hold: hold })
    }

    /// A word of a host's process. Answers come as orders, or not at all. Questions about seats have
    /// methods of their own: [`accept`](Self::accept) and [`remove`](Self::remove).
    ///
    /// # Errors
    /// The server has stopped.
    pub async fn host_said(
        &self,
        host: HostId,
        lease: OwnerEpoch,
        word: HostWord,
    ) -> Result<(), AskError> {
        self.send(DirectoryMail::HostSaid(host, lease, word)).await
    }

    /// The connection of a host's process is gone. Dropping its [`HostOrders`] says the same.
    ///
    /// # Errors
    /// The server has stopped.
    pub async fn host_left(&self, host: HostId, lease: OwnerEpoch) -> Result<(), AskError> {
        self.send(DirectoryMail::HostLeft(host, lease)).await
    }

    /// A host asks: may the holder of this seat come in? Any error means no.
    ///
    /// # Errors
    /// The seat is not good for this, or the process does not speak for the host.
    pub async fn accept(
        &self,
        (host, lease): (HostId, OwnerEpoch),
        game: GameId,
        seat: SeatId,
        player: Option<String>,
    ) -> Result<Answer, AskError> {
        let word = HostWord::Accept { ticket: 0, game, seat, player };
        self.answered(|asker| DirectoryMail::HostAsked(host, lease, word, asker)).await
    }

    /// The same from a process that counts its entries: if it asks again for the same entry, it gets
    /// the same answer.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept).
    pub async fn admit(
        &self,
        (host, lease): (HostId, OwnerEpoch),
        game: GameId,
        seat: SeatId,
        player: Option<String>,
        entry: Entry,
    ) -> Result<Answer, AskError> {
        let word = HostWord::Admit { ticket: 0, game, seat, player, entry };
        self.answered(|asker| DirectoryMail::HostAsked(host, lease, word, asker)).await
    }

    /// A host says: the holder of this seat is gone.
    ///
    /// # Errors
    /// The seat is not in use, or the process does not speak for the host.
    pub async fn remove(
        &self,
        (host, lease): (HostId, OwnerEpoch),
        game: GameId,
        seat: SeatId,
    ) -> Result<Answer, AskError> {
        let word = HostWord::Remove { ticket: 0, game, seat };
        self.answered(|asker| DirectoryMail::HostAsked(host, lease, word, asker)).await
    }

    /// All Games that match now, and every change from now on, as fast as they are taken.
    ///
    /// # Errors
    /// As for [`ask`](Self::ask).
    pub async fn subscribe(
        &self,
        target: Target,
        location: Option<String>,
        filter: String,
    ) -> Result<Notices, AskError> {
        let command = Command::Subscribe { target, location, filter };
        self.listen(command, Subscriber::Games).await
    }

    /// The same for a caller from outside, which has a share of the subscriptions.
    pub(crate) async fn subscribe_for(
        &self,
        caller: Caller,
        command: Command,
    ) -> Result<Notices, AskError> {
        self.listen(Command::For(caller, Box::new(command)), Subscriber::Games).await
    }

    /// The same of placements.
    pub(crate) async fn watch_for(
        &self,
        caller: Caller,
        command: Command,
    ) -> Result<Notices<PlacementNews>, AskError> {
        self.listen(Command::For(caller, Box::new(command)), Subscriber::Placements).await
    }

    /// All placements of a queue that are under way, or a single one, and what becomes of them from now
    /// on, as fast as it is taken.
    ///
    /// # Errors
    /// As for [`ask`](Self::ask).
    pub async fn watch(
        &self,
        queue: String,
        placement: Option<String>,
    ) -> Result<Notices<PlacementNews>, AskError> {
        self.listen(Command::Watch { queue, placement }, Subscriber::Placements).await
    }

    async fn listen<N>(
        &self,
        command: Command,
        subscriber: impl FnOnce(mpsc::Sender<Notice<N>>) -> Subscriber,
    ) -> Result<Notices<N>, AskError> {
        // One more for the word that it is over.
        let most = usize::try_from(NOTICES_MAX).unwrap_or(usize::MAX).saturating_add(1);
        let (sender, notices) = mpsc::channel(most);
        let subscriber = subscriber(sender);
        let answer =
            self.answered(|asker| DirectoryMail::Subscribe(command, subscriber, asker)).await?;
        // Nothing else is answered to this.
        let Answer::Subscribed(subscription) = answer else { return Err(AskError::Stopped) };
        Ok(Notices { subscription, notices, mail: self.mail.clone(), taken: 0 })
    }

    /// The events from now on. A reader that falls far behind misses some, and gets an error that says
    /// how many it missed.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Ends the directory's task: what is under way is answered, new questions are not.
    pub(crate) async fn stop(&self) {
        let (done, stopped) = oneshot::channel();
        if self.mail.send(DirectoryMail::Stop(done)).await.is_ok() {
            let _ = stopped.await;
        }
    }

    /// Sends this when what is returned is dropped; a drop itself cannot wait for room.
    fn when_dropped(&self, last: DirectoryMail) -> oneshot::Sender<()> {
        let (hold, dropped) = oneshot::channel();
        let mail = self.mail.clone();
        tokio::spawn(async move {
            let _ = dropped.await;
            // An error means that the directory has ended.
            let _ = mail.send(last).await;
        });
        hold
    }

    async fn send(&self, mail: DirectoryMail) -> Result<(), AskError> {
        self.mail.send(mail).await.map_err(|_| AskError::Stopped)
    }

    fn put(&self, mail: DirectoryMail) -> Result<(), AskError> {
        self.mail.try_send(mail).map_err(|error| match error {
            TrySendError::Full(_) => AskError::Busy,
            TrySendError::Closed(_) => AskError::Stopped,
        })
    }

    async fn answered(
        &self,
        mail: impl FnOnce(Asker) -> DirectoryMail,
    ) -> Result<Answer, AskError> {
        let (asker, answer) = oneshot::channel();
        self.put(mail(asker))?;
        Ok(answer.await.map_err(|_| AskError::Stopped)??)
    }
}
