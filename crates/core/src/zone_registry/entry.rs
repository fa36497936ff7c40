//! One zone of the registry: its state, its faults, who opened it and whether it runs a Game. It decides
//! which incarnation may speak for the zone and when the zone has faulted too often; it reads no other zone.

use std::collections::VecDeque;

use super::{Opener, RegistryConfig, RegistryInput, RegistryOutput, ZoneView};
use crate::event::Event;
use crate::exchange::ZoneName;
use crate::id::{GameId, OwnerEpoch, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::seat::GameNews;
use crate::time::Time;
use crate::zone::{ZoneConfig, ZoneSpec};

/// What an incarnation that is being opened starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StartsFrom {
    /// The zone did not exist before.
    Nothing,
    /// What the store holds from before the last start. The hub is not ready before it is open.
    Store,
    /// What an incarnation that faulted has left.
    Fault,
}

/// Whether a zone can be spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ZoneLife {
    /// The driver was asked to open it.
    Opening(StartsFrom),
    /// The incarnation of this owner epoch takes messages.
    Open(OwnerEpoch),
    /// Its incarnation is over. The hub looks for the session that caused it and then asks for the next
    /// incarnation, within the same input.
    Faulted { from: StartsFrom, is_closed: bool },
}

/// What the registry knows of one zone, from its first incarnation to its end.
#[derive(Debug)]
pub(super) struct ZoneEntry {
    pub name: ZoneName,
    pub match_running: bool,
    /// It runs a Game: nobody is in it without a seat.
    pub is_seated: bool,
    /// The client whose Join opened it. Not known after a restart: then it counts for nobody.
    pub opened_by: Option<Opener>,
    /// A session has been let in: from then on it is the game's to end it.
    pub is_used: bool,
    /// It was asked to end: every incarnation is asked again.
    pub end_asked: bool,
    id: ZoneId,
    config: ZoneConfig,
    life: ZoneLife,
    /// When it faulted, as far as that still counts.
    faults: VecDeque<Time>,
}

impl ZoneEntry {
    /// A zone without a Game that no client has opened.
    pub(super) fn new(name: ZoneName, config: ZoneConfig, from: StartsFrom) -> Self {
        Self {
            id: ZoneId::of(&name.kind, &name.name),
            name,
            match_running: false,
            is_seated: false,
            life: ZoneLife::Opening(from),
            opened_by: None,
            is_used: false,
            end_asked: false,
            config,
            faults: VecDeque::new(),
        }
    }

    /// Whether a message of this incarnation counts. While the zone is being opened its owner is not known
    /// yet; then only the outcome of the opening counts. A zone whose state cannot be saved faults
    /// before it has opened.
    pub(super) fn takes(&self, owner: OwnerEpoch, input: &RegistryInput) -> bool {
        match (self.life, input) {
            (ZoneLife::Open(current), _) => current == owner,
            (
                ZoneLife::Opening(_),
                RegistryInput::Opened { .. }
                | RegistryInput::OpenRefused { .. }
                | RegistryInput::Faulted { .. },
            ) => true,
            (
                ZoneLife::Opening(_),
                RegistryInput::Match { .. } | RegistryInput::Ended | RegistryInput::AboutSessions,
            )
            | (ZoneLife::Faulted { .. }, _) => false,
        }
    }

    /// Its incarnation `owner` is open.
    pub(super) fn opened(
        &mut self,
        out: &mut VecDeque<RegistryOutput>,
        owner: OwnerEpoch,
        match_running: bool,
    ) {
        self.life = ZoneLife::Open(owner);
        self.match_running = match_running;
        if self.end_asked {
            self.tell_end(out);
        }
        let event = Event::ZoneOpened { zone: self.id, name: self.name.clone() };
        out.push_back(RegistryOutput::Event(event));
        self.tell_host(out, GameNews::Opened);
        self.tell_host(out, GameNews::Match(match_running));
    }

    /// Its incarnation is over because a callback panicked or is stuck; true if that has happened too
    /// often, so that the next incarnation only parts the members.
    pub(super) fn faulted(&mut self, now: Time, config: &RegistryConfig, stuck: bool) -> bool {
        let mut within = config.faults_within;
        if stuck {
            hit(Mark::ZoneStuck);
            // To be found stuck takes a while: that time does not make its faults rare.
            within += self.config.callback_budget * config.faults_max.saturating_add(1);
        }
        self.faults.push_back(now);
        while self.faults.front().is_some_and(|at| now.since(*at) >= within) {
            self.faults.pop_front();
        }
        let is_closed = self.faults.len() > config.faults_max as usize;
        let from = self.next_start().unwrap_or(StartsFrom::Fault);
        self.life = ZoneLife::Faulted { from, is_closed };
        is_closed
    }

    /// Opens the next incarnation after a fault.
    pub(super) fn reopen(
        &mut self,
        out: &mut VecDeque<RegistryOutput>,
        poisoned: Option<(SessionId, u64)>,
    ) {
        match self.life {
            ZoneLife::Faulted { from, is_closed } => {
                self.life = ZoneLife::Opening(from);
                let spec = ZoneSpec { poisoned, closed: is_closed, ..self.spec() };
                out.push_back(RegistryOutput::OpenZone(Box::new(spec)));
            }
            ZoneLife::Opening(_) | ZoneLife::Open(_) => {
                debug_assert!(false, "only a zone that has faulted is opened again");
            }
        }
    }

    /// Asks the open incarnation to end, if there is one.
    pub(super) fn tell_end(&self, out: &mut VecDeque<RegistryOutput>) {
        if let Some(owner) = self.owner() {
            out.push_back(RegistryOutput::EndZone(self.id, owner));
        }
    }

    /// If the zone runs a Game, its host gets this news.
    pub(super) fn tell_host(&self, out: &mut VecDeque<RegistryOutput>, news: GameNews) {
        if self.is_seated {
            out.push_back(RegistryOutput::Game(self.name.clone(), news));
        }
    }

    /// What its next incarnation is opened with, unless it has faulted.
    pub(super) fn spec(&self) -> ZoneSpec {
        ZoneSpec {
            id: self.id,
            name: self.name.clone(),
            config: self.config.clone(),
            seated: self.is_seated,
            poisoned: None,
            closed: false,
        }
    }

    pub(super) fn view(&self) -> ZoneView {
        ZoneView {
            id: self.id,
            owner: self.owner(),
            hold: self.config.hold,
            match_running: self.match_running,
            is_seated: self.is_seated,
            is_gated: self.config.durability.is_gated(),
        }
    }

    /// The incarnation that can be spoken to.
    pub(super) fn owner(&self) -> Option<OwnerEpoch> {
        match self.life {
            ZoneLife::Open(owner) => Some(owner),
            ZoneLife::Opening(_) | ZoneLife::Faulted { .. } => None,
        }
    }

    /// The Game that it runs.
    pub(super) fn game(&self) -> Option<GameId> {
        self.is_seated.then(|| GameId::from_hex(&self.name.name)).flatten()
    }

    /// Whether it is of before the last start and has not been open since.
    pub(super) fn is_awaited(&self) -> bool {
        self.next_start() == Some(StartsFrom::Store)
    }

    /// Whether it is open, or is opened from what the store or a faulted incarnation has left.
    pub(super) fn is_kept(&self) -> bool {
        self.next_start() != Some(StartsFrom::Nothing)
    }

    /// What the incarnation that is not open yet starts from.
    fn next_start(&self) -> Option<StartsFrom> {
        match self.life {
            ZoneLife::Opening(from) | ZoneLife::Faulted { from, .. } => Some(from),
            ZoneLife::Open(_) => None,
        }
    }
}
