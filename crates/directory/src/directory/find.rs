//! What can be found: the views that searches and lists look at. They are changed when a Game's state
//! is committed; searches, and what subscribers are told of a change, are [steps](super::steps).

use std::ops::Bound;
use std::sync::Arc;

use rejoin_core::id::{GameId, HostId};
use rejoin_core::never;

use super::Directory;
use super::steps::SEARCHES_MAX;
use crate::caller::Payer;
use crate::command::{Answer, Target};
use crate::config::DirectoryConfig;
use crate::game::{GameView, Standing};
use crate::host::{HostAddress, HostView};
use crate::mark::{Mark, hit};
use crate::queue::QueueSpec;
use crate::refusal::{Refusal, What};
use crate::search::query::{Search, read};
use crate::search::shelf::Shelf;
use crate::search::subscription::{Audience, Subscription};
use crate::search::{CutCause, Filter, SearchRequest};

impl Directory {
    /// A Game's committed state. How its host stands is no part of that, and bad news is shown at
    /// once, however late the commit is.
    pub(super) fn seen(&mut self, game: Arc<GameView>) {
        let standing = self.games.get(&game.id).map(|game| game.standing());
        let game = match standing.filter(|standing| *standing != Standing::Present) {
            Some(standing) => Arc::new(GameView { standing, ..GameView::clone(&game) }),
            None => game,
        };
        if game.status.is_over() {
            self.unintend(game.host, game.id);
        }
        let fleet = &game.spec.fleet;
        if !self.shelves.contains_key(fleet) {
            let declared = self.catalogue.fleet(fleet).map(|fleet| fleet.indexed.clone());
            let shelf = Shelf::new(&declared.unwrap_or_default());
            self.shelves.insert(fleet.clone(), shelf);
        }
        let is_followed = self.audiences.contains_key(fleet);
        if let Some(shelf) = self.shelves.get_mut(fleet) {
            shelf.put(game.clone(), is_followed);
            if shelf.has_untold() {
                self.untold.insert(fleet.clone());
            }
        }
    }

    /// The host of a Game does not stand well.
    pub(super) fn hide(&mut self, id: GameId) {
        let fleet = self.games.get(&id).map(|game| game.fleet().to_owned());
        let shelf = fleet.and_then(|fleet| self.shelves.get(&fleet));
        if let Some(game) = shelf.and_then(|shelf| shelf.get(id)).cloned() {
            self.seen(game);
        }
    }

    pub(super) fn unlist(&mut self, fleet: &str, game: GameId) {
        let is_followed = self.audiences.contains_key(fleet);
        if let Some(shelf) = self.shelves.get_mut(fleet) {
            shelf.remove(game, is_followed);
            if shelf.has_untold() {
                self.untold.insert(fleet.to_owned());
            }
        }
    }

    /// Begins a search; it is answered when its last step is done.
    pub(super) fn search(&mut self, ticket: u64, request: SearchRequest) -> Result<(), Refusal> {
        if self.searches.len() >= SEARCHES_MAX {
            hit(Mark::Busy);
            return Err(Refusal::Busy);
        }
        let fleet = self.catalogue.resolve(&request.target)?.name.clone();
        let DirectoryConfig { page_max, search_work_max, .. } = *self.config;
        let search = Search::new(fleet, request, page_max, search_work_max)?;
        self.searches.push_back((ticket, search));
        Ok(())
    }

    pub(super) fn list_games(
        &self,
        target: &Target,
        after: Option<GameId>,
        limit: usize,
    ) -> Result<Answer, Refusal> {
        let fleet = self.catalogue.resolve(target)?;
        if !(1..=self.config.page_max).contains(&limit) {
            return Err(Refusal::Invalid { field: "limit", must: "1 to the largest page" });
        }
        let games = self.shelves.get(&fleet.name).into_iter();
        let games = games.flat_map(|shelf| shelf.all_after(after)).take(limit);
        Ok(Answer::Games(games.cloned().collect()))
    }

    pub(super) fn list_hosts(
        &self,
        target: &Target,
        after: Option<HostId>,
        limit: usize,
    ) -> Result<Answer, Refusal> {
        let fleet = &self.catalogue.resolve(target)?.name;
        if !(1..=self.config.page_max).contains(&limit) {
            return Err(Refusal::Invalid { field: "limit", must: "1 to the largest page" });
        }
        let from = (fleet.clone(), after.unwrap_or_default());
        let start = if after.is_some() { Bound::Excluded(from) } else { Bound::Included(from) };
        let crew = self.crews.range((start, Bound::Unbounded)).take_while(|(of, _)| of == fleet);
        let hosts = crew.filter_map(|(_, id)| self.seen_hosts.get(id)).take(limit);
        Ok(Answer::Hosts(hosts.map(|host| HostView::clone(host)).collect()))
    }

    /// From the host's committed state: a host that is not ready yet has no port.
    pub(super) fn find_host(&self, game: GameId) -> Result<Answer, Refusal> {
        let game = self.games.get(&game).ok_or(Refusal::NotFound(What::Game))?;
        let seen = self.seen_hosts.get(&game.host()).ok_or(Refusal::NotFound(What::Host))?;
        let (address, port) = (seen.registration.address.clone(), seen.port);
        Ok(Answer::Address(HostAddress { host: seen.id, address, port }))
    }

    /// Whether a host runs a Game, as it is committed.
    pub(super) fn host_game_seen(&mut self, host: HostId, game: GameId, runs: bool) {
        let Some(seen) = self.seen_hosts.get_mut(&host) else {
            return never!("{host:?} has a Game and was never seen");
        };
        match (seen.games.binary_search(&game), runs) {
            (Err(place), true) => seen.games.insert(place, game),
            (Ok(place), false) => drop(seen.games.remove(place)),
            // The host told of all its Games in the same commit.
            (Ok(_), true) | (Err(_), false) => {}
        }
    }

    pub(super) fn list_queues(&self) -> Answer {
        Answer::Queues(self.seen_queues.values().map(|queue| QueueSpec::clone(queue)).collect())
    }

    pub(super) fn subscribe(
        &mut self,
        target: &Target,
        location: Option<String>,
        filter: &str,
        payer: Option<Payer>,
    ) -> Result<Answer, Refusal> {
        let fleet = self.catalogue.resolve(target)?.name.clone();
        let filter = read(filter, Filter::parse).map_err(Refusal::Filter)?;
        let id = self.new_subscription(payer)?;
        let subscription = Subscription::new(fleet.clone(), location, filter);
        self.audiences.entry(fleet).or_default().add(id, subscription.anchor());
        self.subscriptions.insert(id, subscription);
        self.scans.push_back(id);
        Ok(Answer::Subscribed(id))
    }

    /// A fleet was made or changed: its shelf follows what is declared.
    pub(super) fn redeclare(&mut self, fleet: &str) {
        match (self.catalogue.fleet(fleet), self.shelves.get_mut(fleet)) {
            (Ok(known), Some(shelf)) => shelf.redeclare(&known.indexed),
            // Its shelf is made with its first Game.
            (Ok(_), None) => {}
            (Err(_), _) => never!("the fleet {fleet} was put and is in no catalogue"),
        }
    }

    /// A fleet is gone.
    pub(super) fn forget_fleet(&mut self, fleet: &str) {
        self.shelves.remove(fleet);
        let theirs = self.audiences.get(fleet).map(Audience::all).unwrap_or_default();
        for id in theirs {
            self.cut(id, CutCause::FleetDeleted);
        }
    }
}
