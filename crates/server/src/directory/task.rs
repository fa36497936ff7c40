//! The directory's task: feeds the directory one input at a time and carries out, in order, what it
//! decides. It never waits for a receiver: a host or a subscriber that is too slow is disconnected.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use rejoin_core::id::{HostId, OwnerEpoch};
use rejoin_directory::host::{HostOrder, HostWord};
use rejoin_directory::{
    Answer, Command, Directory, DirectoryInput, DirectoryOutput, Event, Refusal,
};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::MissedTickBehavior;

use super::channels::{NOTICES_MAX, Subscriber};
use super::mail::{Asker, DirectoryMail, FromStore};
use crate::clock::{MonotonicClock, wall};
use crate::sight::SharedSight;
use crate::store_thread::{StoreRequest, StoreSender};
use crate::zones::Surroundings;

/// How often the wall clock is read.
const WALL_EVERY: Duration = Duration::from_secs(1);
/// Questions without an answer yet; more are refused as busy.
const ASKERS_MAX: usize = 65_536;
/// How many rounds of waiting messages are fed before the collected commits go to the store.
const ROUNDS_MAX: usize = 4;
/// How long questions that are under way have for their answers when the server goes down.
const FAREWELL: Duration = Duration::from_secs(2);

/// The task's state.
pub(crate) struct DirectoryTask {
    directory: Directory,
    clock: MonotonicClock,
    store: StoreSender,
    sight: SharedSight,
    events: broadcast::Sender<Event>,
    askers: HashMap<u64, Asker>,
    last_ticket: u64,
    hosts: BTreeMap<HostId, (OwnerEpoch, mpsc::Sender<HostOrder>)>,
    subscribers: HashMap<u64, Subscriber>,
    /// Subscribers whose question is not answered yet, by its ticket.
    openings: HashMap<u64, Subscriber>,
    /// Inputs that followed from carrying outputs out.
    follow: VecDeque<DirectoryInput>,
    /// Requests that have not been sent to the store's thread yet.
    store_requests: Vec<StoreRequest>,
    is_store_full: bool,
}

impl DirectoryTask {
    pub(crate) fn new(
        directory: Directory,
        around: &Surroundings,
        events: broadcast::Sender<Event>,
    ) -> Self {
        Self {
            directory,
            clock: around.clock,
            store: around.store.clone(),
            sight: around.sight.clone(),
            events,
            askers: HashMap::new(),
            last_ticket: 0,
            hosts: BTreeMap::new(),
            subscribers: HashMap::new(),
            openings: HashMap::new(),
            follow: VecDeque::new(),
            store_requests: Vec::new(),
            is_store_full: false,
        }
    }

    /// Runs until it is asked to stop, all senders of mail are gone, or the store has failed. Questions
    /// without an answer then end with an error.
    pub(crate) async fn run(
        mut self,
        mut store: mpsc::Receiver<FromStore>,
        mut mail: mpsc::Receiver<DirectoryMail>,
        mut failure: watch::Receiver<Option<String>>,
    ) {
        self.carry_out();
        self.send_all();
        let mut walls = tokio::time::interval(WALL_EVERY);
        walls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let deadline = self.directory.next_deadline();
            let sleep = deadline.map_or(WALL_EVERY, |at| self.clock.until(at));
            // A timer rounds up to a millisecond, which is long between two steps of a search.
            let is_due = sleep.is_zero();
            tokio::select! {
                biased;
                Some(message) = store.recv() => self.on_store_message(message),
                () = failed(&mut failure) => return,
                some = mail.recv() => match some {
                    Some(DirectoryMail::Stop(done)) => return self.say_goodbye(store, mail, done).await,
                    Some(some) => self.take(some),
                    None => return,
                },
                _ = walls.tick() => {
                    self.feed(DirectoryInput::Wall(wall()));
                    self.forget_unread();
                    self.measure(mail.len());
                }
                () = tokio::task::yield_now(), if is_due => {}
                () = tokio::time::sleep(sleep), if !is_due => {}
            }
            // The more is fed in one go, the more is kept with one write.
            for _ in 0..ROUNDS_MAX {
                tokio::task::yield_now().await;
                if store.is_empty() && mail.is_empty() {
                    break;
                }
                if let Some(done) = self.feed_waiting(&mut store, &mut mail) {
                    return self.say_goodbye(store, mail, done).await;
                }
            }
            let now = self.clock.now();
            if self.directory.next_deadline().is_some_and(|at| at <= now) {
                self.feed(DirectoryInput::Wake);
            }
            self.send_all();
        }
    }

    /// Feeds what waits in both channels at this instant; what comes meanwhile is for the next time.
    fn feed_waiting(
        &mut self,
        store: &mut mpsc::Receiver<FromStore>,
        mail: &mut mpsc::Receiver<DirectoryMail>,
    ) -> Option<oneshot::Sender<()>> {
        while let Ok(message) = store.try_recv() {
            self.on_store_message(message);
        }
        for _ in 0..mail.len() {
            match mail.try_recv() {
                Ok(DirectoryMail::Stop(done)) => return Some(done),
                Ok(some) => self.take(some),
                Err(_) => break,
            }
        }
        None
    }

    /// Nothing new is taken; what was taken is answered as far as the store comes to it.
    async fn say_goodbye(
        mut self,
        mut store: mpsc::Receiver<FromStore>,
        mail: mpsc::Receiver<DirectoryMail>,
        done: oneshot::Sender<()>,
    ) {
        drop(mail);
        self.send_all();
        let end = tokio::time::Instant::now() + FAREWELL;
        while !self.askers.is_empty() {
            tokio::select! {
                () = tokio::time::sleep_until(end) => break,
                Some(message) = store.recv() => self.on_store_message(message),
                else => break,
            }
            self.send_all();
        }
        let _ = done.send(());
    }

    /// Ends subscriptions whose reader is gone.
    fn forget_unread(&mut self) {
        let unread = self.subscribers.iter().filter(|(_, subscriber)| subscriber.is_closed());
        let unread: Vec<u64> = unread.map(|(id, _)| *id).collect();
        for id in unread {
            self.subscribers.remove(&id);
            let command = Command::Unsubscribe(id);
            self.feed(DirectoryInput::Command { ticket: 0, command });
        }
    }

    fn measure(&self, waiting: usize) {
        let gauge = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.sight.metrics.directory.games.set(gauge(self.directory.game_count()));
        self.sight.metrics.directory.mailbox.set(gauge(waiting));
    }

    fn on_store_message(&mut self, message: FromStore) {
        match message {
            FromStore::Committed(scopes) => {
                for (scope, revision) in scopes {
                    self.feed(DirectoryInput::Committed(scope, revision));
                }
            }
            FromStore::Full(is_full) => self.is_store_full = is_full,
        }
    }

    fn take(&mut self, mail: DirectoryMail) {
        match mail {
            DirectoryMail::Ask(command, asker) => self.ask(command, asker),
            DirectoryMail::HostAsked(host, lease, word, asker) => {
                let Some(ticket) = self.ticket(asker) else { return };
                self.feed(DirectoryInput::HostSaid {
                    host,
                    lease,
                    word: with_ticket(word, ticket),
                });
            }
            DirectoryMail::HostSaid(host, lease, word) => {
                // Ticket 0 has no asker: a question that came this way gets no answer.
                self.feed(DirectoryInput::HostSaid { host, lease, word: with_ticket(word, 0) });
            }
            DirectoryMail::HostHears(host, lease, orders) => {
                let is_stale = self.hosts.get(&host).is_some_and(|(known, _)| *known > lease);
                if !is_stale {
                    self.hosts.insert(host, (lease, orders));
                }
            }
            DirectoryMail::HostDeaf(host, lease) => {
                let known = self.hosts.get(&host);
                if known.is_some_and(|(known, orders)| *known == lease && orders.is_closed()) {
                    self.hosts.remove(&host);
                    self.feed(DirectoryInput::HostLeft { host, lease });
                }
            }
            DirectoryMail::HostLeft(host, lease) => {
                if self.hosts.get(&host).is_some_and(|(known, _)| *known == lease) {
                    self.hosts.remove(&host);
                }
                self.feed(DirectoryInput::HostLeft { host, lease });
            }
            DirectoryMail::Subscribe(command, notices, asker) => {
                let Some(ticket) = self.ticket(asker) else { return };
                self.openings.insert(ticket, notices);
                self.feed(DirectoryInput::Command { ticket, command });
            }
            DirectoryMail::Credit(subscription, count) => {
                self.feed(DirectoryInput::Credit { subscription, count });
            }
            // A second stop: the first is being carried out.
            DirectoryMail::Stop(done) => drop(done),
        }
    }

    fn ask(&mut self, command: Command, asker: Asker) {
        if self.is_store_full && command.takes_room() {
            let _ = asker.send(Err(Refusal::Busy));
            return;
        }
        // Without a `Subscriber` there is no one to give them credit.
        if matches!(command, Command::Subscribe { .. } | Command::Watch { .. }) {
            let must = "made with subscribe() or watch()";
            let refusal = Refusal::Invalid { field: "subscription", must };
            let _ = asker.send(Err(refusal));
            return;
        }
        let Some(ticket) = self.ticket(asker) else { return };
        self.feed(DirectoryInput::Command { ticket, command });
    }

    /// A ticket for a question; none when too many wait, and then the asker was refused as busy.
    fn ticket(&mut self, asker: Asker) -> Option<u64> {
        if self.askers.len() >= ASKERS_MAX {
            let _ = asker.send(Err(Refusal::Busy));
            return None;
        }
        self.last_ticket += 1;
        self.askers.insert(self.last_ticket, asker);
        Some(self.last_ticket)
    }

    fn feed(&mut self, input: DirectoryInput) {
        self.directory.handle(self.clock.now(), input);
        self.carry_out();
        while let Some(input) = self.follow.pop_front() {
            self.directory.handle(self.clock.now(), input);
            self.carry_out();
        }
    }

    fn carry_out(&mut self) {
        while let Some(output) = self.directory.next_output() {
            self.carry(output);
        }
    }

    fn carry(&mut self, output: DirectoryOutput) {
        match output {
            DirectoryOutput::Commit(batch) => self.store_requests.push(StoreRequest::Commit(batch)),
            DirectoryOutput::Answer { ticket, outcome } => {
                if let Some(notices) = self.openings.remove(&ticket)
                    && let Ok(Answer::Subscribed(subscription)) = *outcome
                {
                    self.subscribers.insert(subscription, notices);
                    let count = NOTICES_MAX;
                    self.follow.push_back(DirectoryInput::Credit { subscription, count });
                }
                if let Some(asker) = self.askers.remove(&ticket) {
                    // An error means that the asker does not wait any more.
                    let _ = asker.send(*outcome);
                }
            }
            DirectoryOutput::ToHost { host, lease, order } => self.order(host, lease, order),
            DirectoryOutput::News { subscription, news } => {
                if let Some(subscriber) = self.subscribers.get(&subscription) {
                    subscriber.game(news);
                }
            }
            DirectoryOutput::PlacementNews { subscription, news } => {
                if let Some(subscriber) = self.subscribers.get(&subscription) {
                    subscriber.placement(news);
                }
            }
            DirectoryOutput::Cut { subscription, cause } => {
                if let Some(subscriber) = self.subscribers.remove(&subscription) {
                    subscriber.cut(cause);
                }
            }
            DirectoryOutput::Event(event) => self.tell(event),
        }
    }

    /// Sends an order to the host's process that holds this lease. A process that lets its channel fill
    /// up can no longer get its orders complete and in order, so it is disconnected.
    fn order(&mut self, host: HostId, lease: OwnerEpoch, order: HostOrder) {
        let Some((known, orders)) = self.hosts.get(&host) else { return };
        if *known != lease {
            return;
        }
        if let Err(TrySendError::Full(_)) = orders.try_send(order) {
            tracing::warn!(%host, "a host does not take its orders in time and is let go");
            self.hosts.remove(&host);
            self.follow.push_back(DirectoryInput::HostLeft { host, lease });
        }
    }

    fn tell(&mut self, event: Event) {
        self.sight.tell(event.clone());
        // An error means that there are no listeners.
        let _ = self.events.send(event);
    }

    /// Wakes the store's thread once for all collected requests.
    fn send_all(&mut self) {
        if !self.store_requests.is_empty() {
            // An error means that the store has failed, which was logged and reported.
            let _ = self.store.send(StoreRequest::Many(std::mem::take(&mut self.store_requests)));
        }
    }
}

/// Resolves when nothing can be kept any more.
async fn failed(failure: &mut watch::Receiver<Option<String>>) {
    // An error means that the store's thread has ended.
    let _ = failure.wait_for(Option::is_some).await;
}

fn with_ticket(word: HostWord, number: u64) -> HostWord {
    match word {
        HostWord::Accept { game, seat, player, .. } => {
            HostWord::Accept { ticket: number, game, seat, player }
        }
        HostWord::Admit { game, seat, player, entry, .. } => {
            HostWord::Admit { ticket: number, game, seat, player, entry }
        }
        HostWord::Remove { game, seat, .. } => HostWord::Remove { ticket: number, game, seat },
        word => word,
    }
}
