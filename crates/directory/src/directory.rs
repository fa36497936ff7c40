//! The directory as one machine: it owns the parts, carries their messages, wakes them, and keeps
//! the views that searches look at.

mod ask;
mod find;
mod pick;
mod recover;
mod roll;
mod route;
mod steps;
mod watch;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use rejoin_core::chance::Chance;
use rejoin_core::event::Event;
use rejoin_core::id::{GameId, HostId, OwnerEpoch, QueueId, Revision};
use rejoin_core::never;
use rejoin_core::scope::{Batch, ScopeId};
use rejoin_core::time::{Time, WallTime};

pub use self::recover::Recovered;
pub use self::steps::{Effort, SEARCH_STEP};

use self::roll::Roll;
use self::steps::Stir;

use crate::caller::Payer;
use crate::catalogue::Catalogue;
use crate::command::{Answer, Command};
use crate::config::DirectoryConfig;
use crate::effect::Effect;
use crate::game::core::{GameCore, GameInput};
use crate::host::core::{HostCore, HostInput};
use crate::host::{HostOrder, HostView, HostWord};
use crate::moment::Moment;
use crate::queue::core::{QueueCore, QueueInput};
use crate::queue::watch::Watch;
use crate::queue::{PlacementNews, QueueSpec};
use crate::refusal::Refusal;
use crate::search::query::Search;
use crate::search::shelf::Shelf;
use crate::search::subscription::{Audience, Subscription};
use crate::search::{CutCause, News};

/// What the directory is given.
#[derive(Debug)]
pub enum DirectoryInput {
    /// A question or an order from outside.
    Command {
        /// Repeated in the answer.
        ticket: u64,
        /// Decided when its turn comes; its answer may have to wait for a commit, a host or search steps.
        command: Command,
    },
    /// A word of a host's process.
    HostSaid {
        /// Host that the process registered as; if there is none, the process is sent a refusal.
        host: HostId,
        /// Lease from the registration of the process; any but the host's present one is refused as stale.
        lease: OwnerEpoch,
        /// Message of the process; questions about seats carry a ticket that the driver has set.
        word: HostWord,
    },
    /// The connection of a host's process is gone.
    HostLeft {
        /// Host that the process had registered as; an unknown one is ignored.
        host: HostId,
        /// Lease of that process; ignored if another process has taken over since.
        lease: OwnerEpoch,
    },
    /// A subscriber will read so many changes more.
    Credit {
        /// Number from `Answer::Subscribed`; one that has ended is ignored.
        subscription: u64,
        /// Added to the credit that is left; every change that is passed on uses up one.
        count: u64,
    },
    /// A scope is committed up to this revision.
    Committed(ScopeId, Revision),
    /// The wall clock, now and then.
    Wall(WallTime),
    /// Time has passed, or there is a step to take of something that takes long. All input that waits
    /// is fed before this.
    Wake,
}

/// What the directory gives out, to be carried out in order.
#[derive(Debug)]
pub enum DirectoryOutput {
    /// A batch for the store; the driver reports it with `Committed` once it is durable.
    Commit(Batch),
    /// The answer to a command, or to a host's question.
    Answer {
        /// Ticket of the command or the host's question, by which the driver finds the asker.
        ticket: u64,
        /// The answer, or why the request was refused.
        outcome: Box<Result<Answer, Refusal>>,
    },
    /// An order to a host's process, dropped if another process has taken over.
    ToHost {
        /// Host that the process registered or spoke as; not always known to the directory.
        host: HostId,
        /// Lease of the process that is meant; the driver drops the order if another one is connected.
        lease: OwnerEpoch,
        /// To be delivered in the order given out; after a crash some orders come again.
        order: HostOrder,
    },
    /// A change for a subscriber to Games, within its credit.
    News {
        /// Number from `Answer::Subscribed` of a subscription to Games.
        subscription: u64,
        /// Newest change of one Game; changes that waited before it are joined into it.
        news: News,
    },
    /// A change for a subscriber to placements, within its credit.
    PlacementNews {
        /// Number from `Answer::Subscribed` of a watch of placements.
        subscription: u64,
        /// Newest change of one placement; changes that waited before it are joined into it.
        news: PlacementNews,
    },
    /// A subscription has ended without `Unsubscribe`; nothing more is given out for it.
    Cut {
        /// Number of the subscription, to Games or to placements; it is not used again.
        subscription: u64,
        /// Its subscriber was too slow, or its fleet or queue was deleted.
        cause: CutCause,
    },
    /// Something that happened, for listeners and telemetry; no answer is expected.
    Event(Event),
}

/// Games, hosts, queues, fleets and aliases as one state machine, which does no I/O and reads no clock.
pub struct Directory {
    config: Arc<DirectoryConfig>,
    chance: Chance,
    wall: (Time, WallTime),
    catalogue: Catalogue,
    /// Boxed: nodes of the map are half empty, and a Game is large.
    games: BTreeMap<GameId, Box<GameCore>>,
    hosts: BTreeMap<HostId, Box<HostCore>>,
    /// Hosts by their fleets.
    crews: BTreeSet<(String, HostId)>,
    queues: BTreeMap<QueueId, QueueCore>,
    /// Queues by the fleets that they lead to.
    queues_of: BTreeMap<String, BTreeSet<QueueId>>,
    /// Games on their way to a host that has not heard of them yet.
    intended: BTreeMap<HostId, BTreeSet<GameId>>,
    /// Hosts with room.
    roll: Roll,
    shelves: BTreeMap<String, Shelf>,
    /// Hosts and queues as they may be listed.
    seen_hosts: BTreeMap<HostId, Box<HostView>>,
    seen_queues: BTreeMap<QueueId, Box<QueueSpec>>,
    /// The last hosts that have ended, with the order of their ends.
    ended_hosts: BTreeMap<HostId, (u64, Box<HostView>)>,
    ends: BTreeMap<u64, HostId>,
    /// Seats that are held open, by who pays for them.
    open_seats: BTreeMap<Payer, usize>,
    subscriptions: BTreeMap<u64, Subscription>,
    /// Subscriptions by their fleets.
    audiences: BTreeMap<String, Audience>,
    watches: BTreeMap<u64, Watch>,
    watches_of: BTreeSet<(QueueId, Option<String>, u64)>,
    /// Payers of subscriptions and watches; those of trusted callers have none and are not here.
    subscribers: BTreeMap<u64, Payer>,
    /// Since when something waits for a subscriber of either kind, the longest first.
    waits: BTreeSet<(Time, u64)>,
    waits_of: BTreeMap<u64, Time>,
    last_subscription: u64,
    /// When each part wants to be woken.
    alarms: BTreeSet<(Time, ScopeId)>,
    armed: BTreeMap<ScopeId, Time>,
    /// Messages between the parts.
    mail: VecDeque<Effect>,
    out: VecDeque<DirectoryOutput>,
    /// Searches under way, with their tickets.
    searches: VecDeque<(u64, Search)>,
    /// New subscriptions with a step to take through the Games of their fleet.
    scans: VecDeque<u64>,
    /// Fleets with changed Games that their subscribers have not been sent yet.
    untold: BTreeSet<String>,
    /// The fleet of `untold` whose turn was last; the one after it is next.
    told_last: String,
    /// Queues whose placements are looked after, because a host has room.
    stirred: VecDeque<QueueId>,
    stirs: BTreeMap<QueueId, Stir>,
    effort: Effort,
    /// The instant of the last input.
    latest: Time,
}

/// A step of the wall clock beyond this moves deadlines noticeably.
const WALL_STEP_MS: u64 = 1_000;

impl Directory {
    /// Takes one input. Afterwards [`next_output`](Self::next_output) is drained.
    pub fn handle(&mut self, now: Time, input: DirectoryInput) {
        let moment = self.moment(now);
        self.latest = now;
        match input {
            DirectoryInput::Command { ticket, command } => self.command(moment, ticket, command),
            DirectoryInput::HostSaid { host, lease, word } => {
                self.host_said(moment, host, lease, word);
            }
            DirectoryInput::HostLeft { host, lease } => {
                self.tell_host(moment, host, HostInput::Left { lease });
            }
            DirectoryInput::Credit { subscription, count } => self.credit(subscription, count),
            DirectoryInput::Committed(scope, revision) => self.committed(moment, scope, revision),
            DirectoryInput::Wall(wall) => self.set_wall(now, wall),
            DirectoryInput::Wake => self.wake(moment),
        }
        self.carry(moment);
    }

    /// The next thing to carry out.
    pub fn next_output(&mut self) -> Option<DirectoryOutput> {
        self.out.pop_front()
    }

    /// When it wants to be woken; at once, while there is a step to take of something that takes long.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        let parts = self.alarms.first().map(|(at, _)| *at);
        let step = self.has_steps().then_some(self.latest);
        [parts, self.next_cut(), step].into_iter().flatten().min()
    }

    /// How many Games there are, those that have ended and are kept included.
    #[must_use]
    pub fn game_count(&self) -> usize {
        self.games.len()
    }

    fn moment(&self, now: Time) -> Moment {
        let (since, wall) = self.wall;
        let passed = u64::try_from(now.since(since).as_millis()).unwrap_or(u64::MAX);
        Moment { time: now, wall: WallTime(wall.0.saturating_add(passed)) }
    }

    /// The wall clock never runs backwards, and a step forward wakes every part that has a deadline.
    fn set_wall(&mut self, now: Time, wall: WallTime) {
        let known = self.moment(now).wall;
        self.wall = (now, wall.max(known));
        if wall.0 > known.0.saturating_add(WALL_STEP_MS) {
            let moment = self.moment(now);
            let parts: Vec<ScopeId> = self.armed.keys().copied().collect();
            for part in parts {
                self.wake_part(moment, part);
            }
        }
    }

    fn wake(&mut self, now: Moment) {
        self.cut_slow(now.time);
        while let Some(&(at, part)) = self.alarms.first().filter(|(at, _)| *at <= now.time) {
            self.alarms.remove(&(at, part));
            self.armed.remove(&part);
            self.wake_part(now, part);
            self.carry(now);
        }
        self.step(now);
    }

    fn wake_part(&mut self, now: Moment, part: ScopeId) {
        match part {
            ScopeId::Game(id) => self.tell_game(now, id, GameInput::Wake),
            ScopeId::Host(id) => self.tell_host(now, id, HostInput::Wake),
            ScopeId::Queue(id) => self.tell_queue(now, id, QueueInput::Wake),
            ScopeId::Catalogue
            | ScopeId::Hub
            | ScopeId::Session(_)
            | ScopeId::Zone(_)
            | ScopeId::Player(_)
            | ScopeId::Account(_) => never!("{part:?} has an alarm in the directory"),
        }
    }

    fn committed(&mut self, now: Moment, scope: ScopeId, revision: Revision) {
        match scope {
            ScopeId::Game(id) => self.tell_game(now, id, GameInput::Committed(revision)),
            ScopeId::Host(id) => self.tell_host(now, id, HostInput::Committed(revision)),
            ScopeId::Queue(id) => self.tell_queue(now, id, QueueInput::Committed(revision)),
            ScopeId::Catalogue => {
                self.catalogue.committed(revision);
                self.drain_catalogue();
            }
            ScopeId::Hub
            | ScopeId::Session(_)
            | ScopeId::Zone(_)
            | ScopeId::Player(_)
            | ScopeId::Account(_) => never!("the directory has committed something of {scope:?}"),
        }
    }

    fn arm(&mut self, part: ScopeId, at: Option<Time>) {
        let old = match at {
            Some(at) => self.armed.insert(part, at),
            None => self.armed.remove(&part),
        };
        if old == at {
            return;
        }
        if let Some(old) = old {
            self.alarms.remove(&(old, part));
        }
        if let Some(at) = at {
            self.alarms.insert((at, part));
        }
    }

    fn push(&mut self, output: DirectoryOutput) {
        self.out.push_back(output);
    }

    fn answer(&mut self, ticket: u64, outcome: Result<Answer, Refusal>) {
        self.push(DirectoryOutput::Answer { ticket, outcome: Box::new(outcome) });
    }
}
