//! The hub's task: feeds the hub one input at a time and carries out its outputs in order. It never
//! waits for a receiver: each queue it fills has a bound, and an answer for when the bound is reached.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ed25519_dalek::{Signature, VerifyingKey};
use rejoin_core::event::Event;
use rejoin_core::hub::{Answer, AskId, Command, Hub, HubInput, HubOutput, SessionCommand, Warning};
use rejoin_core::id::{ConnectionId, SessionId};
use rejoin_core::zone::ZoneSpec;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::MissedTickBehavior;

use crate::accept_guard::AcceptGuard;
use crate::admission::Admission;
use crate::clock::{MonotonicClock, wall};
use crate::connection_table::ConnectionTable;
use crate::directory::GamesHandle;
use crate::identity::IdentityChecker;
use crate::local_sessions::LocalSessions;
use crate::mailbox::{HubMail, InternalSender};
use crate::sight::SharedSight;
use crate::store_thread::{StoreRequest, StoreSender};
use crate::transport::LINGER;
use crate::zones::{Depth, ToThread, ZoneSenders};

/// How many rounds of waiting inputs are fed before the collected messages go to zones and store.
const ROUNDS_MAX: usize = 4;
/// Inputs after which the hub learns how many wait, by which it admits returns, and its deadlines are
/// looked at however many that is: an overload must not keep it from closing those who cause it.
const LOOK_UP_EVERY: usize = 256;
/// How often the wall clock is read.
const WALL_EVERY: Duration = Duration::from_secs(1);
/// How long connections have to take their farewell when the server goes down.
const FAREWELL: Duration = LINGER.saturating_add(Duration::from_millis(500));

/// Called with a session and the number of its disconnect callback.
pub(crate) type Callback = Arc<dyn Fn(SessionId, u64) + Send + Sync>;

/// The task's state.
pub(crate) struct HubTask {
    pub(crate) hub: Hub,
    pub(crate) clock: MonotonicClock,
    pub(crate) connections: ConnectionTable,
    pub(crate) internal: InternalSender,
    pub(crate) accept_guard: AcceptGuard,
    pub(crate) store: StoreSender,
    pub(crate) zones: ZoneSenders,
    pub(crate) sight: SharedSight,
    pub(crate) local_sessions: Arc<LocalSessions>,
    /// The game's rule, and how long it may think.
    pub(crate) admission: Option<(Arc<dyn Admission>, Duration)>,
    /// Looks at passwords and tokens.
    pub(crate) identity: Arc<IdentityChecker>,
    pub(crate) callback: Option<Callback>,
    pub(crate) ready: watch::Sender<bool>,
    pub(crate) games: GamesHandle,
    pub(crate) own: Own,
}

/// The part of the task's state that starts empty.
#[derive(Default)]
pub(crate) struct Own {
    answers: BTreeMap<u64, oneshot::Sender<Answer>>,
    last_ticket: u64,
    /// Requests that have not been sent to the store's thread yet.
    store_requests: Vec<StoreRequest>,
    /// The number of the last `HubInput::Waiting`.
    last_waiting: usize,
    /// Inputs that followed from carrying outputs out.
    follow: VecDeque<HubInput>,
}

impl HubTask {
    /// Runs until a `Stop` comes or all external senders are gone.
    pub(crate) async fn run(
        mut self,
        mut internal: mpsc::Receiver<HubInput>,
        mut external: mpsc::Receiver<HubMail>,
    ) {
        self.carry_out();
        self.send_all();
        let mut walls = tokio::time::interval(WALL_EVERY);
        walls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let stop = loop {
            let deadline = self.hub.next_deadline();
            let sleep = deadline.map_or(WALL_EVERY, |at| self.clock.until(at));
            tokio::select! {
                biased;
                Some(input) = internal.recv() => self.feed(input),
                mail = external.recv() => match mail {
                    Some(HubMail::Stop(done)) => break Some(done),
                    Some(mail) => self.take(mail),
                    None => break None,
                },
                _ = walls.tick() => {
                    self.sight.logbook.tell_suppressed();
                    if let Some(report) = rejoin_core::never::take_first() {
                        self.sight.logbook.impossible(&report);
                    }
                    self.sight.metrics.returns.copy(self.hub.counts(), self.hub.load());
                    self.feed(HubInput::Wall(wall()));
                }
                () = tokio::time::sleep(sleep) => {}
            }
            // Other tasks that can run now may send inputs as well: the more are fed in one go, the
            // fewer threads are woken for them. If there are none, this costs a look at the sockets.
            let mut stopped = None;
            for _ in 0..ROUNDS_MAX {
                tokio::task::yield_now().await;
                if internal.is_empty() && external.is_empty() {
                    self.feed_waiting_count(0);
                    break;
                }
                stopped = self.feed_waiting(&mut internal, &mut external);
                if stopped.is_some() {
                    break;
                }
            }
            if stopped.is_some() {
                break stopped;
            }
            self.wake_if_due();
            self.send_all();
        };
        self.say_goodbye(internal, external).await;
        match stop {
            Some(done) => drop(done.send(())),
            // The server's handle is gone, so nothing else would stop the threads.
            None => {
                self.zones.stop();
                let _ = self.store.send(StoreRequest::Stop);
            }
        }
    }

    /// Feeds what waits in both channels at this instant; what comes meanwhile is for the next time.
    fn feed_waiting(
        &mut self,
        internal: &mut mpsc::Receiver<HubInput>,
        external: &mut mpsc::Receiver<HubMail>,
    ) -> Option<oneshot::Sender<()>> {
        let waiting = (internal.len(), external.len());
        for fed in 0..waiting.0 {
            self.look_up(fed, internal.len() + external.len());
            let Ok(input) = internal.try_recv() else { break };
            self.feed(input);
        }
        let mut stopped = None;
        for fed in 0..waiting.1 {
            self.look_up(fed, internal.len() + external.len());
            match external.try_recv() {
                Ok(HubMail::Stop(done)) => stopped = Some(done),
                Ok(mail) => self.take(mail),
                Err(_) => break,
            }
        }
        stopped
    }

    /// Every [`LOOK_UP_EVERY`] inputs, feeds how many wait and wakes the hub if a deadline has come. What
    /// still waits may be older than such a deadline, by at most what fits into the mailboxes.
    fn look_up(&mut self, fed: usize, waiting: usize) {
        if !fed.is_multiple_of(LOOK_UP_EVERY) {
            return;
        }
        self.feed_waiting_count(waiting);
        if fed > 0 {
            self.wake_if_due();
        }
    }

    /// Feeds the hub how many inputs wait for it, when the number has changed.
    fn feed_waiting_count(&mut self, inputs: usize) {
        if std::mem::replace(&mut self.own.last_waiting, inputs) != inputs {
            self.feed(HubInput::Waiting(inputs));
        }
    }

    fn wake_if_due(&mut self) {
        let now = self.clock.now();
        if self.hub.next_deadline().is_some_and(|at| at <= now) {
            self.feed(HubInput::Wake);
        }
    }

    /// Tells every client that the server goes down, and gives the last frames time to leave.
    async fn say_goodbye(
        &mut self,
        mut internal: mpsc::Receiver<HubInput>,
        mut external: mpsc::Receiver<HubMail>,
    ) {
        self.feed(HubInput::Shutdown);
        self.send_all();
        let end = tokio::time::Instant::now() + FAREWELL;
        while self.connections.len() > 0 {
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(end) => return,
                Some(input) = internal.recv() => self.feed(input),
                Some(mail) = external.recv() => self.take(mail),
                // Connections that were refused tell the hub nothing.
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
            self.send_all();
        }
    }

    fn take(&mut self, mail: HubMail) {
        match mail {
            HubMail::Input(input) => self.feed(input),
            HubMail::Command(command, answer) => {
                self.own.last_ticket += 1;
                let ticket = self.own.last_ticket;
                self.own.answers.insert(ticket, answer);
                let configured = match &command {
                    Command::Session(session, SessionCommand::Configure(changes))
                        if changes.flags.is_some() =>
                    {
                        Some(*session)
                    }
                    _ => None,
                };
                self.feed(HubInput::Command { ticket, command });
                if let Some(session) = configured.and_then(|id| Some((id, self.hub.session(id)?))) {
                    self.sight.follow_flags(session.0, session.1);
                }
            }
            HubMail::Query(query, answer) => drop(answer.send(self.hub.query(&query))),
            // A second stop: the first is being carried out.
            HubMail::Stop(done) => drop(done),
        }
    }

    fn feed(&mut self, input: HubInput) {
        self.hub.handle(self.clock.now(), input);
        self.carry_out();
        while let Some(input) = self.own.follow.pop_front() {
            self.hub.handle(self.clock.now(), input);
            self.carry_out();
        }
    }

    fn carry_out(&mut self) {
        while let Some(output) = self.hub.next_output() {
            self.carry(output);
        }
        let is_ready = self.hub.is_ready();
        self.ready.send_if_modified(|ready| std::mem::replace(ready, is_ready) != is_ready);
    }

    fn carry(&mut self, output: HubOutput) {
        match output {
            HubOutput::Send { connection, frame } => {
                if let Some(refusal) = frame.refusal() {
                    self.sight.login_refused(connection, &refusal);
                }
                self.connections.send(connection, frame);
            }
            HubOutput::Close { connection, code } => self.connections.close(connection, code),
            HubOutput::Applied { connection, seq } => self.connections.acknowledge(connection, seq),
            HubOutput::ToConnection(id, message) => self.connections.tell(id, message),
            HubOutput::Compress { connection, bytes_min } => {
                self.connections.compress(connection, bytes_min);
            }
            HubOutput::Bar { origin, wait } => self.accept_guard.bar(origin, wait),
            HubOutput::Warn(warning) => warn(warning),
            HubOutput::Verify { connection, ask, public_key, text, signature } => {
                self.verify((connection, ask), public_key, text, signature);
            }
            HubOutput::CheckAccount { connection, ask, payload } => {
                let known = |name: &_| self.hub.account_named(name);
                let proof = self.identity.check(&payload, (connection, ask), &self.internal, known);
                if let Some(proof) = proof {
                    self.own.follow.push_back(HubInput::Account { connection, ask, proof });
                }
            }
            HubOutput::AskAdmission { connection, ask, player, payload } => {
                let Some((admission, deadline)) = self.admission.clone() else { return };
                let internal = self.internal.clone();
                let address = self.connections.peer(connection).and_then(|peer| peer.address);
                tokio::spawn(async move {
                    let asked = admission.admit_from(player, payload, address);
                    // The hub has refused by then; this ends a rule that would wait for ever.
                    let Ok(verdict) = tokio::time::timeout(deadline, asked).await else { return };
                    let _ = internal.send(HubInput::Admission { connection, ask, verdict }).await;
                });
            }
            HubOutput::Seat(request) => {
                if let Some(verdict) = self.games.ask(request, &self.internal) {
                    self.own.follow.push_back(HubInput::Seat(request, Err(verdict)));
                }
            }
            HubOutput::Game(zone, news) => self.games.tell(&zone, news),
            HubOutput::RunCallback { session, callback } => {
                if let Some(run) = self.callback.clone() {
                    tokio::task::spawn_blocking(move || run(session, callback));
                }
            }
            HubOutput::Native { session, delivery } => self.local_sessions.tell(session, delivery),
            HubOutput::ToZone(zone, owner, message) => {
                self.zones.put(zone, ToThread::Mail(zone, owner, message));
            }
            HubOutput::OpenZone(spec) => self.open_zone(spec),
            HubOutput::DropZone(zone) => {
                self.sight.watch_mailbox(zone, None);
                self.own.store_requests.push(StoreRequest::DropZone(zone));
                // It hears all that was said to it before it is dropped.
                self.send_all();
            }
            HubOutput::Commit(batch) => self.own.store_requests.push(StoreRequest::Commit(batch)),
            HubOutput::Event(event) => self.tell(event),
            HubOutput::Answer { ticket, answer } => {
                if let Some(asker) = self.own.answers.remove(&ticket) {
                    // An error means that the asker does not wait any more.
                    let _ = asker.send(answer);
                }
            }
        }
    }

    fn tell(&mut self, event: Event) {
        if let Event::PlayerLeft { session, .. } = &event {
            self.local_sessions.forget(*session);
        }
        self.sight.tell(event);
    }

    fn open_zone(&mut self, spec: Box<ZoneSpec>) {
        let depth = Depth::default();
        self.sight.watch_mailbox(spec.id, Some(depth.clone()));
        self.own.store_requests.push(StoreRequest::OpenZone(spec, depth));
        self.send_all();
    }

    /// Wakes the threads of zones and the store's, each once for all its collected messages.
    fn send_all(&mut self) {
        self.zones.send();
        if !self.own.store_requests.is_empty() {
            // An error means that the store has failed, which was logged and reported.
            let _ =
                self.store.send(StoreRequest::Many(std::mem::take(&mut self.own.store_requests)));
        }
    }

    fn verify(
        &self,
        (connection, ask): (ConnectionId, AskId),
        public_key: [u8; 32],
        text: Vec<u8>,
        signature: [u8; 64],
    ) {
        let internal = self.internal.clone();
        // Some 50 µs on an I/O worker, not on the hub's own time.
        tokio::spawn(async move {
            let good = VerifyingKey::from_bytes(&public_key).is_ok_and(|key| {
                // Strict: keys of small order would make one signature good for many texts.
                key.verify_strict(&text, &Signature::from_bytes(&signature)).is_ok()
            });
            let _ = internal.send(HubInput::Verified { connection, ask, good }).await;
        });
    }
}

/// Rare by what it is about, so it passes no gate.
fn warn(warning: Warning) {
    match warning {
        Warning::StoreWentBack { session } => tracing::error!(
            %session,
            "a player shows a token that this folder does not know yet: the folder is an older copy. Players \
             who come back with such a token are resynced; others look like players who missed nothing"
        ),
        Warning::ClockWentBack { by } => tracing::error!(
            by_s = by.as_secs(),
            "the system's clock is behind what it was: it was wrong before, or is now. Bans that were \
             ordered by the wrong clock end at another time than was meant"
        ),
    }
}
