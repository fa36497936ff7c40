//! Fleets and aliases: what hosts and requests name. Few, small and seldom changed, so they share
//! one scope.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use rejoin_core::gate::Gate;
use rejoin_core::id::Revision;
use rejoin_core::scope::{Change, Opened, ScopeId};

use crate::command::{Answer, Target};
use crate::config::DirectoryConfig;
use crate::effect::Effect;
use crate::limits;
use crate::mark::{Mark, hit};
use crate::refusal::{Refusal, What};

/// A fleet: the set of hosts among which the host of a Game is chosen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FleetSpec {
    /// 1 to 128 letters, digits and `-`; the ids of its hosts and Games are derived from it.
    pub name: String,
    /// Locations of its hosts, 1 to 100; one cannot be taken away while a host is there.
    pub locations: Vec<String>,
    /// Properties that searches can use quickly.
    pub indexed: Vec<String>,
}

/// Where an alias leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Route {
    /// To a fleet.
    Fleet(String),
    /// To no fleet: requests that use the alias are refused with this message.
    Terminal(String),
}

/// A name that requests can use instead of a fleet's, and that can be led elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AliasSpec {
    /// 1 to 128 letters, digits and `-`; a fleet may have the same name.
    pub name: String,
    /// A fleet that exists, or a message of 1 to 1024 characters.
    pub route: Route,
}

#[derive(Clone, PartialEq, Message)]
struct FleetRow {
    #[prost(string, repeated, tag = "1")]
    locations: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    indexed: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct AliasRow {
    #[prost(string, tag = "1")]
    text: String,
    #[prost(bool, tag = "2")]
    is_terminal: bool,
}

const FLEET: &[u8] = b"fleet/";
const ALIAS: &[u8] = b"alias/";

/// All fleets and aliases.
#[derive(Debug)]
pub(crate) struct Catalogue {
    config: Arc<DirectoryConfig>,
    gate: Gate<Effect>,
    fleets: BTreeMap<String, FleetSpec>,
    aliases: BTreeMap<String, Route>,
}

impl Catalogue {
    pub(crate) fn open(config: Arc<DirectoryConfig>, opened: &Opened) -> Result<Self, String> {
        let gate = Gate::opened(ScopeId::Catalogue, opened);
        let mut catalogue =
            Self { config, gate, fleets: BTreeMap::new(), aliases: BTreeMap::new() };
        for (key, value) in &opened.rows {
            if let Some(name) = key.strip_prefix(FLEET) {
                let row = FleetRow::decode(value.clone()).map_err(|error| error.to_string())?;
                let name = String::from_utf8_lossy(name).into_owned();
                let FleetRow { locations, indexed } = row;
                catalogue.fleets.insert(name.clone(), FleetSpec { name, locations, indexed });
            } else if let Some(name) = key.strip_prefix(ALIAS) {
                let row = AliasRow::decode(value.clone()).map_err(|error| error.to_string())?;
                let name = String::from_utf8_lossy(name).into_owned();
                let route = if row.is_terminal {
                    Route::Terminal(row.text)
                } else {
                    Route::Fleet(row.text)
                };
                catalogue.aliases.insert(name, route);
            }
        }
        Ok(catalogue)
    }

    pub(crate) fn fleet(&self, name: &str) -> Result<&FleetSpec, Refusal> {
        self.fleets.get(name).ok_or(Refusal::NotFound(What::Fleet))
    }

    /// The fleet that is meant.
    pub(crate) fn resolve(&self, target: &Target) -> Result<&FleetSpec, Refusal> {
        match target {
            Target::Fleet(name) => self.fleet(name),
            Target::Alias(name) => {
                match self.aliases.get(name).ok_or(Refusal::NotFound(What::Alias))? {
                    Route::Fleet(fleet) => self.fleet(fleet),
                    Route::Terminal(words) => {
                        hit(Mark::TerminalAlias);
                        Err(Refusal::TerminalAlias(words.clone()))
                    }
                }
            }
        }
    }

    pub(crate) fn put_fleet(&mut self, ticket: u64, fleet: FleetSpec) -> bool {
        let checked = self.check_fleet(&fleet);
        let is_good = checked.is_ok();
        let mut changes = Vec::new();
        if is_good {
            let (locations, indexed) = (fleet.locations.clone(), fleet.indexed.clone());
            let row = FleetRow { locations, indexed }.encode_to_vec();
            changes.push(Change::Put(key(FLEET, &fleet.name), row.into()));
            self.fleets.insert(fleet.name.clone(), fleet);
        }
        self.end(ticket, checked, changes);
        is_good
    }

    fn check_fleet(&self, fleet: &FleetSpec) -> Result<(), Refusal> {
        self.check_busy()?;
        limits::name("fleet name", &fleet.name)?;
        if !(1..=limits::LOCATIONS_MAX).contains(&fleet.locations.len()) {
            return Err(Refusal::Invalid { field: "locations", must: "1 to 100" });
        }
        fleet.locations.iter().try_for_each(|location| limits::location(location))?;
        if fleet.indexed.len() > limits::INDEXES_MAX {
            return Err(Refusal::Invalid { field: "indexed properties", must: "at most 16" });
        }
        for property in &fleet.indexed {
            let must = "1 to 32 characters";
            limits::text("indexed property", property, limits::PROPERTY_KEY_MAX, must)?;
        }
        let limit = self.config.fleets_max;
        if self.fleets.len() >= limit && !self.fleets.contains_key(&fleet.name) {
            return Err(Refusal::LimitReached { what: "fleets", limit });
        }
        Ok(())
    }

    pub(crate) fn delete_fleet(&mut self, ticket: u64, name: &str, is_used: bool) -> bool {
        let is_meant = self.aliases.values().any(|it| matches!(it, Route::Fleet(to) if to == name));
        let outcome = match self.fleets.contains_key(name) {
            false => Err(Refusal::NotFound(What::Fleet)),
            true if is_used || is_meant => Err(Refusal::InUse(What::Fleet)),
            true => Ok(()),
        };
        let mut changes = Vec::new();
        if outcome.is_ok() {
            self.fleets.remove(name);
            changes.push(Change::Delete(key(FLEET, name)));
        }
        let is_done = outcome.is_ok();
        self.end(ticket, outcome, changes);
        is_done
    }

    pub(crate) fn put_alias(&mut self, ticket: u64, alias: AliasSpec) {
        let outcome = self.check_alias(&alias);
        let mut changes = Vec::new();
        if outcome.is_ok() {
            let (text, is_terminal) = match &alias.route {
                Route::Fleet(fleet) => (fleet.clone(), false),
                Route::Terminal(words) => (words.clone(), true),
            };
            let row = AliasRow { text, is_terminal }.encode_to_vec();
            changes.push(Change::Put(key(ALIAS, &alias.name), row.into()));
            self.aliases.insert(alias.name, alias.route);
        }
        self.end(ticket, outcome, changes);
    }

    fn check_busy(&self) -> Result<(), Refusal> {
        let is_busy = self.gate.waiting() >= self.config.uncommitted_max;
        if is_busy { Err(Refusal::Busy) } else { Ok(()) }
    }

    fn check_alias(&self, alias: &AliasSpec) -> Result<(), Refusal> {
        self.check_busy()?;
        limits::name("alias name", &alias.name)?;
        match &alias.route {
            Route::Fleet(fleet) => drop(self.fleet(fleet)?),
            Route::Terminal(words) => {
                limits::text("message", words, limits::NAME_MAX, "1 to 1024 characters")?;
            }
        }
        let limit = self.config.aliases_max;
        if self.aliases.len() >= limit && !self.aliases.contains_key(&alias.name) {
            return Err(Refusal::LimitReached { what: "aliases", limit });
        }
        Ok(())
    }

    pub(crate) fn delete_alias(&mut self, ticket: u64, name: &str) {
        let known = self.aliases.remove(name);
        let outcome = known.map(drop).ok_or(Refusal::NotFound(What::Alias));
        let changes = outcome.iter().map(|()| Change::Delete(key(ALIAS, name))).collect();
        self.end(ticket, outcome, changes);
    }

    pub(crate) fn list(&mut self, ticket: u64) {
        let aliases = self.aliases.iter();
        let aliases =
            aliases.map(|(name, route)| AliasSpec { name: name.clone(), route: route.clone() });
        let answer = Answer::Catalogue(self.fleets.values().cloned().collect(), aliases.collect());
        self.gate.after(Effect::Answer { ticket, outcome: Box::new(Ok(answer)) });
        self.gate.settle(Vec::new());
    }

    pub(crate) fn committed(&mut self, revision: Revision) {
        self.gate.committed(revision);
    }

    pub(crate) fn next_output(&mut self) -> Option<Effect> {
        self.gate.next_effect()
    }

    fn end(&mut self, ticket: u64, outcome: Result<(), Refusal>, changes: Vec<Change>) {
        let outcome = Box::new(outcome.map(|()| Answer::Done));
        self.gate.after(Effect::Answer { ticket, outcome });
        self.gate.settle(changes);
    }
}

fn key(kind: &[u8], name: &str) -> Bytes {
    Bytes::from([kind, name.as_bytes()].concat())
}
