//! One client of a soak: a player of the client library that speaks, asks and listens, comes back by
//! itself, and keeps account of all of it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rejoin_client::driver::{Events, Options, Player, Request, RequestError};
use rejoin_client::{Event, RequestEnd, Rung, RungReason};
use rejoin_core::chance::Chance;
use tokio::sync::watch;

use super::cut::between;
use super::hearing::{Hearing, Wrongs};
use super::speech::Speech;

/// What all clients shall do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Speak and listen.
    Play,
    /// Only listen, until all that was said has been heard.
    Listen,
    /// Go.
    End,
}

/// What others may know of a client.
#[derive(Debug, Default)]
pub(super) struct Desk {
    /// How often it began anew.
    lives: AtomicU32,
    /// What it has said in this life.
    said: AtomicU64,
    /// It has heard all that was said to it.
    pub(super) done: AtomicU32,
}

impl Desk {
    /// The name under which client `index` speaks in its present life.
    fn voice(&self, index: usize) -> u32 {
        index as u32 | self.lives.load(Ordering::Acquire) << 20
    }
}

/// Where a client goes and with whom.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) url: String,
    pub(super) kind: &'static str,
    pub(super) zone: String,
    /// All who go there, by index.
    pub(super) members: std::ops::Range<usize>,
    pub(super) desks: Arc<[Desk]>,
    /// Between two sayings or requests, on average.
    pub(super) pace: Duration,
}

/// What came of a client.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    pub(super) wrongs: Wrongs,
    pub(super) said: u64,
    pub(super) heard: u64,
    pub(super) asked: u64,
    pub(super) answered: u64,
    /// Requests that ended unknown, where that is allowed.
    pub(super) unknown: u64,
    /// Numbers and sends that the client was told are lost.
    pub(super) named: u64,
    pub(super) rungs: BTreeMap<&'static str, u64>,
    /// Times from the loss of a connection to the next.
    pub(super) away: Vec<Duration>,
    /// What must not happen, in words.
    pub(super) oddities: Vec<String>,
}

/// Held sessions are kept for 60 s; a session that is gone before this was given up too soon.
const HELD_FOR_CERTAIN: Duration = Duration::from_secs(50);
const REJOIN: Duration = Duration::from_secs(1);
const ODDITIES_MAX: usize = 5;

struct Visitor {
    index: usize,
    place: Place,
    player: Player,
    hearing: Hearing,
    account: Account,
    asked: VecDeque<(u64, Request)>,
    /// Requests that ended without an answer.
    unknown: Vec<u64>,
    /// Streams were lost since: open requests may end unknown.
    excused_up_to: u64,
    is_joined: bool,
    is_first: bool,
    lost_at: Option<Instant>,
    chance: Chance,
}

/// Plays one client to the end.
pub(super) async fn visit(
    index: usize,
    place: Place,
    chance: Chance,
    mut phase: watch::Receiver<Phase>,
) -> Result<Account> {
    let (player, mut events) = Player::connect(&place.url, Options::new())
        .await
        .with_context(|| format!("client {index} does not start"))?;
    let mut visitor = Visitor {
        index,
        place,
        player,
        hearing: Hearing::default(),
        account: Account::default(),
        asked: VecDeque::new(),
        unknown: Vec::new(),
        excused_up_to: 0,
        is_joined: false,
        is_first: true,
        lost_at: None,
        chance,
    };
    visitor.play(&mut events, &mut phase).await?;
    Ok(visitor.settle())
}

impl Visitor {
    async fn play(
        &mut self,
        events: &mut Events,
        phase: &mut watch::Receiver<Phase>,
    ) -> Result<()> {
        let mut join_again: Option<tokio::time::Instant> = None;
        let mut next = tokio::time::Instant::now() + self.pause();
        loop {
            let now_phase = *phase.borrow_and_update();
            match now_phase {
                Phase::End => return Ok(()),
                Phase::Listen => self.tell_if_done(),
                Phase::Play => {}
            }
            let rejoin_at = join_again.unwrap_or(next + REJOIN * 1_000);
            tokio::select! {
                event = events.next() => {
                    let event = event.context("a player ended by itself")?;
                    if self.take(event).await? {
                        join_again = Some(tokio::time::Instant::now() + REJOIN);
                    }
                }
                () = tokio::time::sleep_until(next) => {
                    next = tokio::time::Instant::now() + self.pause();
                    self.collect();
                    if now_phase == Phase::Play && self.is_joined {
                        self.speak().await;
                    }
                }
                () = tokio::time::sleep_until(rejoin_at) => {
                    join_again = None;
                    self.join().await?;
                }
                _ = phase.changed() => {}
            }
        }
    }

    fn pause(&mut self) -> Duration {
        let pace = self.place.pace;
        between(&mut self.chance, pace / 2, pace * 3 / 2)
    }

    fn desk(&self) -> &Desk {
        &self.place.desks[self.index]
    }

    async fn join(&mut self) -> Result<()> {
        let Place { kind, zone, .. } = self.place.clone();
        self.player.join(kind, zone, true, "").await.context("a join is not taken")?;
        Ok(())
    }

    /// Says or asks the next thing. A client whose buffer is full says nothing, and has not said it.
    async fn speak(&mut self) {
        let by = self.desk().voice(self.index);
        if self.chance.below(2) == 0 {
            let number = self.desk().said.load(Ordering::Acquire) + 1;
            // Counted before: others may hear it before this call returns.
            self.desk().said.store(number, Ordering::Release);
            if self.player.send(Speech::Say { by, number }.bytes()).await.is_ok() {
                self.account.said += 1;
            } else {
                self.desk().said.store(number - 1, Ordering::Release);
            }
        } else {
            let number = self.account.asked + 1;
            let asking = self.player.begin_request(Speech::Ask { by, number }.bytes()).await;
            if let Ok(request) = asking {
                self.account.asked = number;
                self.asked.push_back((number, request));
            }
        }
    }

    /// Looks which requests have ended.
    fn collect(&mut self) {
        let mut open = VecDeque::new();
        while let Some((number, mut request)) = self.asked.pop_front() {
            let Some(end) = request.poll_end() else {
                open.push_back((number, request));
                continue;
            };
            match end {
                Ok(bytes) => match Speech::read(&bytes) {
                    Some(Speech::Ask { number: to, .. }) if to == number => {
                        self.account.answered += 1;
                    }
                    other => self.odd(format!("request {number} was answered by {other:?}")),
                },
                // Its end may come here before the event that excuses it does.
                Err(RequestError::Ended(RequestEnd::OutcomeUnknown | RequestEnd::NotSent)) => {
                    self.unknown.push(number);
                }
                Err(error) => {
                    self.account.wrongs.lost += 1;
                    self.odd(format!("request {number}: {error}"));
                }
            }
        }
        self.asked = open;
    }

    /// Deals with an event; true: the client must join again.
    async fn take(&mut self, event: Event) -> Result<bool> {
        match event {
            Event::Connected { rung, reason, after, .. } => {
                let text = format!("{reason:?}, after {after:?}");
                return Ok(self.connected(rung, reason, &text));
            }
            Event::Disconnected { .. } => self.lost_at = self.lost_at.or(Some(Instant::now())),
            Event::Joined { payload, .. } => {
                self.is_joined = true;
                self.hearing.joined(&payload);
            }
            Event::Message { payload } => match Speech::read(&payload) {
                Some(speech) => self.hearing.hear(speech),
                None => self.odd(format!("a message of {} bytes", payload.len())),
            },
            Event::Resync { snapshot, reason, lost_upstream, .. } => {
                self.excused_up_to = self.account.asked;
                self.account.named += lost_upstream;
                self.hearing.resynced(&snapshot, reason == RungReason::Overrun);
            }
            Event::SendsLost { sends } => self.account.named += sends.len() as u64,
            Event::Parted { cause, .. } => {
                self.is_joined = false;
                self.odd(format!("parted: {cause:?}"));
                return Ok(true);
            }
            Event::Refused { code, text, .. } => {
                self.odd(format!("refused: {code:?} {text}"));
                return Ok(!self.is_joined);
            }
            Event::TakenOver | Event::Stopped { .. } => {
                self.odd(format!("{event:?}"));
                self.player.retry().await.context("a player ended by itself")?;
            }
            Event::Violation(_) | Event::Left | Event::StorageFailed { .. } => {
                self.odd(format!("{event:?}"));
            }
            // Dialling fails when a door is shut; notices ask nothing.
            _ => {}
        }
        Ok(false)
    }

    fn connected(&mut self, rung: Rung, reason: RungReason, text: &str) -> bool {
        let away = self.lost_at.take().map(|at| at.elapsed());
        self.account.away.extend(away.filter(|_| !self.is_first));
        // Its very first Welcome was lost on the way: the second login finds the session.
        let is_found = self.is_first && rung == Rung::Resynced && reason == RungReason::Cold;
        let name = match rung {
            _ if is_found => "found",
            Rung::Replayed => "replayed",
            Rung::Resynced => "resynced",
            Rung::New if self.is_first => "first",
            Rung::New => "new",
        };
        *self.account.rungs.entry(name).or_default() += 1;
        if rung != Rung::New && !is_found {
            // The client kept its streams: it can only have been left behind.
            if rung == Rung::Resynced && reason != RungReason::Overrun {
                self.account.wrongs.wrong_rung += 1;
                self.odd(format!("resynced: {text}"));
            }
            return !self.is_joined && rung == Rung::Resynced;
        }
        if !self.is_first {
            if away.is_none_or(|away| away < HELD_FOR_CERTAIN) {
                self.account.wrongs.wrong_rung += 1;
                self.odd(format!("a new session after {away:?}: {text}"));
            }
            self.excused_up_to = self.account.asked;
            self.desk().said.store(0, Ordering::Release);
            self.desk().lives.fetch_add(1, Ordering::AcqRel);
        }
        self.is_first = false;
        self.is_joined = false;
        true
    }

    fn odd(&mut self, text: String) {
        if self.account.oddities.len() < ODDITIES_MAX {
            self.account.oddities.push(format!("client {}: {text}", self.index));
        }
    }

    /// What the others have said and this client has not heard.
    fn missing(&self) -> u64 {
        let others = self.place.members.clone().filter(|other| *other != self.index);
        let missing = others.map(|other| {
            let desk = &self.place.desks[other];
            let said = desk.said.load(Ordering::Acquire);
            let heard = self.hearing.standing.sayings.get(&desk.voice(other)).copied();
            said.saturating_sub(heard.unwrap_or(0))
        });
        missing.sum()
    }

    fn tell_if_done(&mut self) {
        self.collect();
        let is_done = self.is_joined && self.asked.is_empty() && self.missing() == 0;
        self.desk().done.store(u32::from(is_done), Ordering::Release);
    }

    fn settle(mut self) -> Account {
        self.collect();
        for number in std::mem::take(&mut self.unknown) {
            if number <= self.excused_up_to {
                self.account.unknown += 1;
            } else {
                self.account.wrongs.lost += 1;
                self.odd(format!("request {number} ended unknown, though no stream was lost"));
            }
        }
        let missing = self.missing() + self.asked.len() as u64;
        if missing > 0 {
            self.odd(format!("{missing} sayings or replies never came"));
        }
        self.account.wrongs.lost += missing;
        self.account.wrongs.add(self.hearing.wrongs);
        self.account.heard = self.hearing.heard;
        self.account.named += self.hearing.named;
        self.account
    }
}
