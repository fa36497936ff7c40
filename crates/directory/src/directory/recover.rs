//! Starting from what the store holds. Every part says again what it had not heard the end of, and
//! what hosts and Games say of each other is brought together before anything else is taken.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use rejoin_core::chance::Chance;
use rejoin_core::id::{GameId, HostId, QueueId};
use rejoin_core::scope::{Opened, ScopeId};
use rejoin_core::time::{Time, WallTime};

use super::roll::Roll;
use super::{Directory, Effort};
use crate::catalogue::Catalogue;
use crate::config::DirectoryConfig;
use crate::effect::ToHost;
use crate::game::core::GameCore;
use crate::host::core::{HostCore, HostInput};
use crate::mark::{Mark, hit};
use crate::moment::Moment;
use crate::queue::core::QueueCore;

/// Everything a directory starts from; empty for a new one.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    /// Fleets and aliases.
    pub catalogue: Opened,
    /// The scopes of Games.
    pub games: Vec<(GameId, Opened)>,
    /// The scopes of hosts.
    pub hosts: Vec<(HostId, Opened)>,
    /// The scopes of queues.
    pub queues: Vec<(QueueId, Opened)>,
}

impl Directory {
    /// Starts a directory. `seed` must come from a cryptographic source: seats are drawn from it.
    /// Scopes that cannot be read are given back with the reason, and nothing of theirs is touched.
    ///
    /// # Errors
    /// Fleets and aliases cannot be read; without them nothing can be said.
    pub fn open(
        now: Time,
        wall: WallTime,
        config: DirectoryConfig,
        seed: [u8; 32],
        recovered: Recovered,
    ) -> Result<(Self, Vec<(ScopeId, String)>), String> {
        let config = Arc::new(config);
        let mut directory = Self {
            catalogue: Catalogue::open(config.clone(), &recovered.catalogue)?,
            config,
            chance: Chance::from_seed(seed),
            wall: (now, wall),
            games: BTreeMap::new(),
            hosts: BTreeMap::new(),
            crews: BTreeSet::new(),
            queues: BTreeMap::new(),
            queues_of: BTreeMap::new(),
            intended: BTreeMap::new(),
            roll: Roll::default(),
            shelves: BTreeMap::new(),
            seen_hosts: BTreeMap::new(),
            seen_queues: BTreeMap::new(),
            ended_hosts: BTreeMap::new(),
            ends: BTreeMap::new(),
            open_seats: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
            audiences: BTreeMap::new(),
            watches: BTreeMap::new(),
            watches_of: BTreeSet::new(),
            subscribers: BTreeMap::new(),
            waits: BTreeSet::new(),
            waits_of: BTreeMap::new(),
            last_subscription: 0,
            alarms: BTreeSet::new(),
            armed: BTreeMap::new(),
            mail: VecDeque::new(),
            out: VecDeque::new(),
            searches: VecDeque::new(),
            scans: VecDeque::new(),
            untold: BTreeSet::new(),
            told_last: String::new(),
            stirred: VecDeque::new(),
            stirs: BTreeMap::new(),
            effort: Effort::default(),
            latest: now,
        };
        let damaged = directory.load(directory.moment(now), recovered);
        let moment = directory.moment(now);
        directory.carry(moment);
        directory.release_leftovers(moment);
        directory.carry(moment);
        Ok((directory, damaged))
    }

    fn load(&mut self, now: Moment, recovered: Recovered) -> Vec<(ScopeId, String)> {
        let mut damaged = Vec::new();
        let config = self.config.clone();
        for (id, opened) in &recovered.hosts {
            match HostCore::open(now.time, config.clone(), *id, opened) {
                Ok(host) => self.enter_host(*id, Box::new(host)),
                Err(why) => damaged.push((ScopeId::Host(*id), why)),
            }
        }
        for (id, opened) in &recovered.games {
            match GameCore::open(now, config.clone(), *id, opened) {
                Ok(mut game) => {
                    if let Some(host) = self.hosts.get(&game.host()) {
                        game.set_location(&host.registration().location);
                    }
                    // The clock was there already.
                    self.wall.1 = self.wall.1.max(game.wall());
                    self.enter_game(Box::new(game));
                }
                Err(why) => damaged.push((ScopeId::Game(*id), why)),
            }
        }
        for (id, opened) in &recovered.queues {
            match QueueCore::open(now, config.clone(), *id, opened) {
                Ok(queue) => {
                    self.enter_queue(*id, queue);
                    self.lead(*id);
                }
                Err(why) => damaged.push((ScopeId::Queue(*id), why)),
            }
        }
        damaged
    }

    /// Games that hosts still have in their rows, and that are over or elsewhere.
    fn release_leftovers(&mut self, now: Moment) {
        let mut leftovers = Vec::new();
        for (id, host) in &self.hosts {
            for game in host.games() {
                let known = self.games.get(&game);
                if known.is_none_or(|known| known.is_over() || known.host() != *id) {
                    leftovers.push((*id, game));
                }
            }
        }
        for (host, game) in leftovers {
            hit(Mark::Leftover);
            self.tell_host(now, host, HostInput::Mail(ToHost::Release(game)));
        }
    }
}
