//! The registry of zones. It owns the list of zones with the state of each (opening, open, faulted), the
//! limits on opening one, and the rule for faults: a zone that panicked is opened again from its last cut,
//! and one that panics too often is opened once more only to part its members.
//!
//! It knows no session and no connection. The hub calls it with ids and facts and carries out what
//! [`ZoneRegistry::next_output`] gives before it goes on; which sessions are in a zone is the hub's index.

mod counts;
mod entry;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use rejoin_wire::v1::RefusalCode;

use self::counts::RegistryCounts;
use self::entry::{StartsFrom, ZoneEntry};
use crate::event::Event;
use crate::exchange::{Hold, ToHub, ZoneName};
use crate::guard::Origin;
use crate::hub::ZoneKind;
use crate::id::{GameId, OwnerEpoch, PlayerId, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::seat::GameNews;
use crate::time::Time;
use crate::zone::{KeptZone, ZoneSpec};

/// The settings of a registry, taken from those of the hub.
#[derive(Clone, Debug)]
pub(crate) struct RegistryConfig {
    /// Zones at a time; opening more is refused `CreateDenied`, to the server as well.
    pub zones_max: usize,
    /// Zones at a time that the Joins of one player have opened; more are refused `CreateDenied`.
    pub zones_per_player_max: usize,
    /// Zones at a time that the Joins from one address have opened; more are refused `CreateDenied`.
    pub zones_per_address_max: usize,
    /// A zone that faults more often than this within `faults_within` is closed.
    pub faults_max: u32,
    /// How long a fault counts.
    pub faults_within: Duration,
    /// The kinds of zone that can be opened, by name.
    pub kinds: BTreeMap<String, ZoneKind>,
}

/// The client whose Join opens a zone. The zone counts against its limits for as long as it exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Opener {
    /// The player of the session that joins.
    pub player: PlayerId,
    /// The address of its connection; none for a connection from within, which no address is charged for.
    pub origin: Option<Origin>,
}

/// Who asks for a zone to be opened if it does not exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Creator {
    /// The Join of a client: limits per player and address hold, and the kind must allow it.
    Client(Opener),
    /// The game or an operator: only the limit of all zones holds.
    Server,
}

/// What a zone reports, as far as it concerns the zone and not one of its members.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RegistryInput {
    /// An incarnation is open.
    Opened { match_running: bool },
    /// The zone could not start from what is stored.
    OpenRefused { text: String },
    /// A match has begun or ended.
    Match { running: bool },
    /// A callback panicked, or did not return in time: `stuck`.
    Faulted { stuck: bool, text: String },
    /// The zone has ended, and its scope is deleted.
    Ended,
    /// A message about sessions: only whether it comes from the present incarnation matters here.
    AboutSessions,
}

impl RegistryInput {
    /// The part of a zone's message that concerns the zone itself.
    pub(crate) fn of(message: &ToHub) -> Self {
        match message {
            ToHub::Opened { match_running, .. } => Self::Opened { match_running: *match_running },
            ToHub::OpenRefused { text } => Self::OpenRefused { text: text.clone() },
            ToHub::Match { running } => Self::Match { running: *running },
            ToHub::Faulted { stuck, text, .. } => {
                Self::Faulted { stuck: *stuck, text: text.clone() }
            }
            ToHub::Ended => Self::Ended,
            ToHub::Session(..) | ToHub::Heard { .. } => Self::AboutSessions,
        }
    }
}

/// What the registry wants done, in this order.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum RegistryOutput {
    /// Open the scope of a zone and start its machine.
    OpenZone(Box<ZoneSpec>),
    /// The machine of a zone is not needed any more.
    DropZone(ZoneId),
    /// Ask the incarnation of this owner epoch to end its zone.
    EndZone(ZoneId, OwnerEpoch),
    /// Report to the host of a Game what became of its zone.
    Game(ZoneName, GameNews),
    /// Publish this to listeners, logs and metrics.
    Event(Event),
}

/// A copy of what the hub's sessions need to know of a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ZoneView {
    /// Derived from its kind and name.
    pub id: ZoneId,
    /// The incarnation that can be spoken to; none while the zone is being opened.
    pub owner: Option<OwnerEpoch>,
    /// How long its members are waited for.
    pub hold: Hold,
    /// Whether its last incarnation had a match running.
    pub match_running: bool,
    /// It runs a Game: nobody is in it without a seat.
    pub is_seated: bool,
    /// Its outputs wait for its store.
    pub is_gated: bool,
}

/// The zones that are open or being opened, and how many each player and address has opened.
pub(crate) struct ZoneRegistry {
    config: RegistryConfig,
    zones: BTreeMap<ZoneId, ZoneEntry>,
    counts: RegistryCounts,
    out: VecDeque<RegistryOutput>,
}

impl ZoneRegistry {
    pub(crate) fn new(config: RegistryConfig) -> Self {
        let (zones, counts, out) = Default::default();
        Self { config, zones, counts, out }
    }

    /// The zone of this name. If there is none, the zone is opened for `creator`; with no creator it is
    /// refused.
    pub(crate) fn find(
        &mut self,
        name: &ZoneName,
        creator: Option<Creator>,
    ) -> Result<ZoneView, RefusalCode> {
        if let Some(entry) = self.zones.get(&ZoneId::of(&name.kind, &name.name)) {
            return Ok(entry.view());
        }
        let kind = self.config.kinds.get(&name.kind).ok_or(RefusalCode::UnknownKind)?;
        let (is_allowed, opened_by) = match creator {
            None => return Err(RefusalCode::UnknownZone),
            Some(Creator::Server) => (true, None),
            Some(Creator::Client(opener)) => {
                (kind.client_may_create && self.may_open_more(opener), Some(opener))
            }
        };
        if !is_allowed || self.is_full() {
            return Err(RefusalCode::CreateDenied);
        }
        let mut entry = ZoneEntry::new(name.clone(), kind.config.clone(), StartsFrom::Nothing);
        entry.opened_by = opened_by;
        Ok(self.open(entry))
    }

    /// The zone of a Game, opened unless it exists. Its name is the Game's id.
    pub(crate) fn open_game(&mut self, name: ZoneName) -> Result<ZoneView, RefusalCode> {
        match self.zones.get(&ZoneId::of(&name.kind, &name.name)) {
            Some(entry) if entry.is_seated => {
                if entry.owner().is_some() {
                    entry.tell_host(&mut self.out, GameNews::Opened);
                }
                return Ok(entry.view());
            }
            // A zone of that name was opened without a Game, and sessions may be in it without a seat.
            Some(_) => return Err(RefusalCode::CreateDenied),
            None => {}
        }
        let kind = self.config.kinds.get(&name.kind).ok_or(RefusalCode::UnknownKind)?;
        if GameId::from_hex(&name.name).is_none() {
            return Err(RefusalCode::UnknownZone);
        }
        if self.is_full() {
            return Err(RefusalCode::CreateDenied);
        }
        let mut entry = ZoneEntry::new(name, kind.config.clone(), StartsFrom::Nothing);
        entry.is_seated = true;
        Ok(self.open(entry))
    }

    /// Opens the zones of before the last start, whatever the limits are now. Of two with one name the
    /// one that runs a Game counts. A zone of a kind that does not exist any more is left out.
    pub(crate) fn reopen_kept(&mut self, mut kept: Vec<KeptZone>) {
        kept.sort_by(|one, other| (&one.name, other.seated).cmp(&(&other.name, one.seated)));
        kept.dedup_by(|later, first| later.name == first.name);
        for KeptZone { name, seated } in kept {
            if let Some(kind) = self.config.kinds.get(&name.kind) {
                let mut entry = ZoneEntry::new(name, kind.config.clone(), StartsFrom::Store);
                entry.is_seated = seated;
                self.open(entry);
            }
        }
    }

    /// Takes a message of the incarnation `owner` of a zone. False: the zone does not exist or the
    /// incarnation is an earlier one, and the message must have no effect anywhere.
    #[must_use]
    pub(crate) fn handle(
        &mut self,
        now: Time,
        zone: ZoneId,
        owner: OwnerEpoch,
        input: RegistryInput,
    ) -> bool {
        debug_assert!(self.out.is_empty(), "the outputs are drained after each call");
        let takes = |entry: &&mut ZoneEntry| entry.takes(owner, &input);
        let Some(entry) = self.zones.get_mut(&zone).filter(takes) else {
            hit(Mark::StaleIgnored);
            return false;
        };
        match input {
            RegistryInput::Opened { match_running } => {
                self.counts.opened(entry);
                entry.opened(&mut self.out, owner, match_running);
            }
            RegistryInput::OpenRefused { text } => {
                let event = Event::ZoneOpenRefused { zone, text: text.clone() };
                self.out.push_back(RegistryOutput::Event(event));
                entry.tell_host(&mut self.out, GameNews::Refused(text));
                self.remove(zone);
            }
            RegistryInput::Match { running } => {
                entry.match_running = running;
                entry.tell_host(&mut self.out, GameNews::Match(running));
            }
            RegistryInput::Faulted { stuck, text } => {
                let is_closed = entry.faulted(now, &self.config, stuck);
                let event = Event::ZoneFault { zone, text, closed: is_closed };
                self.out.push_back(RegistryOutput::Event(event));
            }
            RegistryInput::Ended => {
                entry.tell_host(&mut self.out, GameNews::Ended);
                self.remove(zone);
            }
            RegistryInput::AboutSessions => {}
        }
        true
    }

    /// Opens a zone that has faulted again. `poisoned` is the number of a member that caused the fault:
    /// the next incarnation consumes it without running it. It is an argument of its own because the hub
    /// finds it out only after it knows that the zone has faulted.
    pub(crate) fn reopen(&mut self, zone: ZoneId, poisoned: Option<(SessionId, u64)>) {
        match self.zones.get_mut(&zone) {
            Some(entry) => entry.reopen(&mut self.out, poisoned),
            None => debug_assert!(false, "a zone that has faulted stays in the registry"),
        }
    }

    /// Ends a zone; false if there is none. An incarnation that faults does not hear it: the next one is
    /// asked again.
    #[must_use]
    pub(crate) fn end(&mut self, zone: ZoneId) -> bool {
        match self.zones.get_mut(&zone) {
            Some(entry) => {
                entry.end_asked = true;
                entry.tell_end(&mut self.out);
                true
            }
            None => false,
        }
    }

    /// No session is in a zone or on its way there. The zone ends if the Join of a client has opened it and
    /// no session was ever let in. The game cannot end it: it has heard of no member.
    pub(crate) fn end_unused(&mut self, zone: ZoneId) {
        let unused = |entry: &&ZoneEntry| entry.opened_by.is_some() && !entry.is_used;
        if let Some(entry) = self.zones.get(&zone).filter(unused) {
            entry.tell_end(&mut self.out);
        }
    }

    /// A zone has let a session in: from now on only the game or the server ends it.
    pub(crate) fn note_used(&mut self, zone: ZoneId) {
        if let Some(entry) = self.zones.get_mut(&zone) {
            entry.is_used = true;
        }
    }

    pub(crate) fn next_output(&mut self) -> Option<RegistryOutput> {
        self.out.pop_front()
    }

    pub(crate) fn view(&self, zone: ZoneId) -> Option<ZoneView> {
        self.zones.get(&zone).map(ZoneEntry::view)
    }

    /// The incarnation of a zone that can be spoken to.
    pub(crate) fn owner(&self, zone: ZoneId) -> Option<OwnerEpoch> {
        self.zones.get(&zone).and_then(ZoneEntry::owner)
    }

    pub(crate) fn contains(&self, zone: ZoneId) -> bool {
        self.zones.contains_key(&zone)
    }

    /// All zones with their names, in the order of their ids.
    pub(crate) fn names(&self) -> impl Iterator<Item = (ZoneId, &ZoneName)> {
        self.zones.iter().map(|(id, entry)| (*id, &entry.name))
    }

    pub(crate) fn name(&self, zone: ZoneId) -> Option<&ZoneName> {
        self.zones.get(&zone).map(|entry| &entry.name)
    }

    /// Whether there is a kind of zone with this name.
    pub(crate) fn has_kind(&self, kind: &str) -> bool {
        self.config.kinds.contains_key(kind)
    }

    /// The Game of a zone; none if it runs none.
    pub(crate) fn game(&self, zone: ZoneId) -> Option<GameId> {
        self.zones.get(&zone).and_then(ZoneEntry::game)
    }

    /// The zones that run Games: those that have been open since the start, and those that are kept.
    pub(crate) fn games(&self) -> impl Iterator<Item = (GameId, &ZoneName)> {
        let kept = self.zones.values().filter(|entry| entry.is_kept());
        kept.filter_map(|entry| Some((entry.game()?, &entry.name)))
    }

    /// Whether all zones of before the last start are open or gone.
    pub(crate) fn is_settled(&self) -> bool {
        self.counts.awaited() == 0
    }

    /// Compares the counts with a search of all zones, for tests and the simulator.
    pub(crate) fn check_counts(&self) -> Result<(), String> {
        let found = RegistryCounts::of(self.zones.values());
        if found == self.counts {
            return Ok(());
        }
        Err(format!("the counts of zones are {:?}, a search finds {found:?}", self.counts))
    }

    fn is_full(&self) -> bool {
        self.zones.len() >= self.config.zones_max
    }

    fn may_open_more(&self, opener: Opener) -> bool {
        let (by_player, by_address) = self.counts.opened_by(opener);
        by_player < self.config.zones_per_player_max
            && by_address < self.config.zones_per_address_max
    }

    fn open(&mut self, entry: ZoneEntry) -> ZoneView {
        let view = entry.view();
        self.counts.add(&entry);
        self.out.push_back(RegistryOutput::OpenZone(Box::new(entry.spec())));
        let former = self.zones.insert(view.id, entry);
        debug_assert!(former.is_none(), "a zone is opened only if there is none of that name");
        view
    }

    fn remove(&mut self, zone: ZoneId) {
        if let Some(entry) = self.zones.remove(&zone) {
            self.counts.subtract(&entry);
            self.out.push_back(RegistryOutput::DropZone(zone));
        }
    }
}

#[cfg(test)]
mod tests;
