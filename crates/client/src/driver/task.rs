//! The one task of a player: it takes what happens first, tells the client, and carries out what the
//! client decides, in order.
//!
//! There is one connection or none, and the task owns it: when the client closes it or opens another,
//! the old one is dropped and can report nothing any more. Events that the game has not taken stop
//! the reading and the clock of the client, not its commands: a game that sends and hears in one
//! loop must not wait for itself.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use rejoin_wire::{COMPRESS_BYTES_MIN, DEFLATE, Encoding, pack_client, unpack_server};
use tokio::sync::mpsc;
use tokio::time::Sleep;

use super::address::Address;
use super::clock::Clock;
use super::command::{Command, ReplyTo};
use super::error::{OpenError, RequestError};
use super::key::chance;
use super::line::{Known, Line, News, dial};
use super::options::Options;
use super::trust::Trust;
use super::vault::Vault;
use crate::client::{Client, Status};
use crate::config::Config;
use crate::event::{Event, Output, SendId};
use crate::time::Time;

/// Starts a player; gives the ends that its handles hold.
pub(super) async fn start(
    url: &str,
    options: Options,
) -> Result<(mpsc::Sender<Command>, mpsc::Receiver<Event>), OpenError> {
    let home = Address::parse(url)?;
    let Options { login, storage, mut config, is_fresh, events_max, commands_max, .. } = options;
    let Options { roots, encryption, server_key, compression, .. } = options;
    let trust = Trust::new(&roots)?;
    if !home.scheme.is_web {
        // Byte streams have one encoding.
        config.encoding = Encoding::Protobuf;
    }
    if compression && config.encoding == Encoding::Protobuf {
        config.capabilities.push(DEFLATE.to_owned());
    }
    if config.server_name.is_empty() {
        config.server_name.clone_from(&home.host);
    }
    if config.server_name.len() > config.limits.server_name_bytes_max {
        return Err(OpenError::Address { text: "the server's name is too long".to_owned() });
    }
    let vault = Vault::new(storage, config.server_name.clone());
    let found = vault.open(login).await?;
    let seed = chance().map_err(OpenError::Chance)?;
    let client = match found.session {
        Some(session) => Client::with_resume_state(config.clone(), found.identity, seed, session),
        None => Client::new(config.clone(), found.identity, seed),
    };
    let (command_sender, commands) = mpsc::channel(commands_max.max(1));
    let (events, event_receiver) = mpsc::channel(events_max.max(1));
    let task = Task {
        client,
        config,
        home,
        trust,
        known: Known { encryption, key: server_key.or(found.server_key) },
        vault,
        clock: Clock::start(),
        link: Link::None,
        is_compressed: false,
        alarm: Box::pin(tokio::time::sleep(std::time::Duration::ZERO)),
        alarm_at: None,
        commands,
        has_handles: true,
        events,
        backlog: found.failures.into(),
        requests: BTreeMap::new(),
    };
    tokio::spawn(task.run(is_fresh));
    Ok((command_sender, event_receiver))
}

struct Task {
    client: Client,
    config: Config,
    /// Where the game was told to connect.
    home: Address,
    trust: Trust,
    known: Known,
    vault: Vault,
    clock: Clock,
    link: Link,
    /// The server has agreed to compressed frames on this connection.
    is_compressed: bool,
    alarm: Pin<Box<Sleep>>,
    /// When the alarm goes off; none: it does not.
    alarm_at: Option<Time>,
    commands: mpsc::Receiver<Command>,
    has_handles: bool,
    events: mpsc::Sender<Event>,
    /// Events that the channel has no room for.
    backlog: VecDeque<Event>,
    /// Who waits for which reply. No more than the client has open requests.
    requests: BTreeMap<SendId, ReplyTo>,
}

/// The one connection of this task: none, one that is being opened, or one that frames go through.
enum Link {
    None,
    Dialling(Pin<Box<dyn Future<Output = Result<Line, String>> + Send>>),
    Open(Line),
}

/// What happened first.
enum Turn {
    Command(Option<Command>),
    Dialled(Result<Line, String>),
    Heard(News),
    Alarm,
    Told,
    NobodyListens,
}

/// Events beyond the channel before commands have to wait, too. Only commands make them by then,
/// few each: a game that comes here does not take its events at all.
const BACKLOG_MAX: usize = 8_192;
/// Frames that are read before an expired alarm is handled: after a stall of this process they show that the
/// server is alive.
const LATE_FRAMES_MAX: usize = 64;

impl Task {
    async fn run(mut self, is_fresh: bool) {
        let now = self.clock.now();
        if is_fresh {
            self.client.connect_fresh(now);
        } else {
            self.client.connect(now);
        }
        self.drain().await;
        while !self.is_over() {
            match self.turn().await {
                Turn::Command(Some(command)) => self.obey(command),
                Turn::Command(None) => self.has_handles = false,
                Turn::Dialled(dialled) => self.dialled(dialled).await,
                Turn::Heard(news) => self.heard(news),
                Turn::Alarm => self.wake().await,
                Turn::Told => {}
                Turn::NobodyListens => break,
            }
            self.drain().await;
        }
        self.client.cancel(self.clock.now());
        self.drain().await;
    }

    /// Nobody can ask for anything any more, and nothing is under way.
    fn is_over(&self) -> bool {
        let is_resting = matches!(self.client.status(), Status::Idle | Status::Stopped);
        !self.has_handles && is_resting && self.backlog.is_empty()
    }

    async fn turn(&mut self) -> Turn {
        let may_hear = self.backlog.is_empty();
        self.set_alarm();
        tokio::select! {
            permit = self.events.reserve(), if !may_hear => match permit {
                Ok(permit) => {
                    if let Some(event) = self.backlog.pop_front() {
                        permit.send(event);
                    }
                    Turn::Told
                }
                Err(_) => Turn::NobodyListens,
            },
            () = self.events.closed(), if may_hear => Turn::NobodyListens,
            command = self.commands.recv(),
                if self.has_handles && self.backlog.len() < BACKLOG_MAX => Turn::Command(command),
            turn = self.link.next(may_hear) => turn,
            () = &mut self.alarm, if may_hear && self.alarm_at.is_some() => Turn::Alarm,
        }
    }

    fn set_alarm(&mut self) {
        let due = self.client.next_deadline();
        if let Some(at) = due.filter(|_| due != self.alarm_at) {
            self.alarm.as_mut().reset(self.clock.instant(at));
        }
        self.alarm_at = due;
    }

    fn obey(&mut self, command: Command) {
        let now = self.clock.now();
        match command {
            Command::Send(say, answer) => {
                // Whoever asked may have stopped waiting, here and below.
                let _ = answer.send(say.to(&mut self.client));
            }
            Command::SendUnreliable(payload, answer) => {
                // It may be lost, and is better lost here than late.
                let is_behind = matches!(&self.link, Link::Open(socket) if socket.is_behind());
                let sent = if is_behind { Ok(()) } else { self.client.send_unreliable(payload) };
                let _ = answer.send(sent);
            }
            Command::Request(payload, reply_to, answer) => {
                let taken = self.client.request(payload);
                if let Ok(id) = taken {
                    self.requests.insert(id, reply_to);
                }
                let _ = answer.send(taken);
            }
            Command::Steer(steer) => steer.to(now, &mut self.client),
        }
    }

    async fn dialled(&mut self, dialled: Result<Line, String>) {
        let now = self.clock.now();
        match dialled {
            Ok(socket) => {
                if let Some(key) = socket.learned() {
                    // Before anything is said: whoever shows another one later is somebody else.
                    self.known.key = Some(key);
                    let failure = self.vault.store_server_key(&key).await;
                    self.backlog.extend(failure);
                }
                self.link = Link::Open(socket);
                self.client.opened(now);
            }
            Err(text) => {
                self.link = Link::None;
                self.backlog.push_back(Event::DialFailed { text });
                self.client.closed(now, None);
            }
        }
    }

    fn heard(&mut self, news: News) {
        let now = self.clock.now();
        match news {
            News::Frame(bytes) if self.is_compressed => {
                match unpack_server(bytes, &self.config.limits) {
                    Ok(frame) => self.client.received(now, frame),
                    Err(error) => self.client.garbled(now, error),
                }
            }
            News::Frame(bytes) => self.client.received(now, bytes),
            News::Closed(code) => {
                self.link = Link::None;
                self.client.closed(now, code);
            }
            News::Garbled(error) => self.client.garbled(now, error),
        }
    }

    /// The client is woken, unless what has come by now changes its mind.
    async fn wake(&mut self) {
        for _ in 0..LATE_FRAMES_MAX {
            if !self.backlog.is_empty() {
                return;
            }
            let turn = tokio::select! {
                biased;
                turn = self.link.next(true) => turn,
                () = std::future::ready(()) => break,
            };
            match turn {
                Turn::Dialled(dialled) => self.dialled(dialled).await,
                Turn::Heard(news) => self.heard(news),
                Turn::Command(_) | Turn::Alarm | Turn::Told | Turn::NobodyListens => {}
            }
            self.drain().await;
        }
        self.client.wake(self.clock.now());
    }

    /// Carries out what the client decided.
    async fn drain(&mut self) {
        while let Some(output) = self.client.next_output() {
            match output {
                Output::Connect { addresses } => {
                    self.is_compressed = false;
                    self.link = self.dial(&addresses);
                }
                Output::Send(frame) => self.send(frame),
                Output::Close(code) => {
                    if let Link::Open(socket) = std::mem::replace(&mut self.link, Link::None) {
                        socket.close(code).await;
                    }
                }
                Output::StoreToken(state) => {
                    let failure = self.vault.store_session(&state).await;
                    self.backlog.extend(failure);
                }
                Output::StoreSecret(secret) => {
                    let failure = self.vault.store_secret(&secret).await;
                    self.backlog.extend(failure);
                }
                Output::ForgetToken => {
                    let failure = self.vault.forget_session().await;
                    self.backlog.extend(failure);
                }
                Output::Event(event) => {
                    if let Event::Connected { capabilities, .. } = &event {
                        self.is_compressed = capabilities.iter().any(|name| name == DEFLATE);
                    }
                    self.tell(event);
                }
            }
        }
    }

    fn send(&mut self, frame: Bytes) {
        let Link::Open(socket) = &mut self.link else { return };
        socket.push(match self.is_compressed {
            true => pack_client(frame, COMPRESS_BYTES_MIN),
            false => frame,
        });
    }

    fn dial(&self, addresses: &[String]) -> Link {
        let mut known: Vec<Address> =
            addresses.iter().filter_map(|address| self.home.follow(address)).collect();
        if known.is_empty() {
            known.push(self.home.clone());
        }
        let Config { encoding, limits, handshake_timeout, .. } = self.config;
        Link::Dialling(Box::pin(dial(
            known,
            (self.trust.clone(), self.known),
            encoding,
            limits,
            handshake_timeout,
        )))
    }

    /// Ends of requests go to those who asked; everything else to the game, in order.
    fn tell(&mut self, event: Event) {
        let (request, end) = match event {
            Event::Reply { request, payload } => (request, Ok(payload)),
            Event::RequestEnded { request, how } => (request, Err(RequestError::Ended(how))),
            event => {
                let told = if self.backlog.is_empty() { self.try_tell(event) } else { Some(event) };
                return self.backlog.extend(told);
            }
        };
        if let Some(reply_to) = self.requests.remove(&request) {
            // Whoever asked may have stopped waiting.
            let _ = reply_to.send(end);
        }
    }

    /// Gives the event back when there is no room for it.
    fn try_tell(&self, event: Event) -> Option<Event> {
        match self.events.try_send(event) {
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => None,
            Err(mpsc::error::TrySendError::Full(event)) => Some(event),
        }
    }
}

impl Link {
    /// The next thing that comes of it; never, where there is none.
    async fn next(&mut self, may_hear: bool) -> Turn {
        match self {
            Link::None => std::future::pending().await,
            Link::Dialling(dialling) if may_hear => Turn::Dialled(dialling.await),
            Link::Dialling(_) => std::future::pending().await,
            Link::Open(socket) => Turn::Heard(socket.next(may_hear).await),
        }
    }
}
