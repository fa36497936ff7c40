//! Searches and subscriptions: the views are changed when a Game's state is committed, and whoever
//! subscribed hears of it in the same step.

use std::ops::Bound;
use std::sync::Arc;

use rejoin_core::id::{GameId, HostId};
use rejoin_core::time::Time;

use super::{Directory, DirectoryOutput};
use crate::command::{Answer, Target};
use crate::game::{GameView, Standing};
use crate::host::{HostAddress, HostView};
use crate::mark::{Mark, hit};
use crate::print::Print;
use crate::queue::QueueSpec;
use crate::refusal::{Refusal, What};
use crate::search::query::Query;
use crate::search::shelf::Shelf;
use crate::search::subscription::{News, Subscription};
use crate::search::{CutCause, Filter, Page, SearchRequest, Sort, cursor};

impl Directory {
    /// A Game's committed state. How its host stands is no part of that, and bad news is shown at
    /// once, however late the commit is.
    pub(super) fn seen(&mut self, now: Time, game: Arc<GameView>) {
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
        let Some(shelf) = self.shelves.get_mut(fleet) else { return };
        let old = shelf.put(game.clone());
        let new = game.is_listed().then_some(&game);
        self.spread(now, fleet, game.id, old.as_ref(), new);
    }

    /// The host of a Game does not stand well.
    pub(super) fn hide(&mut self, now: Time, id: GameId) {
        let fleet = self.games.get(&id).map(|game| game.fleet().to_owned());
        let shelf = fleet.and_then(|fleet| self.shelves.get(&fleet));
        if let Some(game) = shelf.and_then(|shelf| shelf.get(id)).cloned() {
            self.seen(now, game);
        }
    }

    pub(super) fn unlist(&mut self, now: Time, fleet: &str, game: GameId) {
        let Some(shelf) = self.shelves.get_mut(fleet) else { return };
        let old = shelf.remove(game);
        self.spread(now, fleet, game, old.as_ref(), None);
    }

    fn spread(
        &mut self,
        now: Time,
        fleet: &str,
        game: GameId,
        old: Option<&Arc<GameView>>,
        new: Option<&Arc<GameView>>,
    ) {
        if old.is_none() && new.is_none() {
            return;
        }
        let mut late = Vec::new();
        for (id, subscription) in &mut self.subscriptions {
            if subscription.fleet != fleet {
                continue;
            }
            subscription.note(now, game, old, new);
            for news in subscription.backlog.take() {
                self.out.push_back(DirectoryOutput::News { subscription: *id, news });
            }
            if subscription.backlog.waiting() > self.config.news_max {
                late.push(*id);
            }
        }
        for id in late {
            self.cut(id, CutCause::TooSlow);
        }
    }

    pub(super) fn search(&self, request: &SearchRequest) -> Result<Page, Refusal> {
        let fleet = self.catalogue.resolve(&request.target)?;
        let filter = parse(&request.filter, Filter::parse)?;
        let sort = parse(&request.sort, Sort::parse)?;
        if !(1..=self.config.page_max).contains(&request.limit) {
            return Err(Refusal::Invalid { field: "limit", must: "1 to the largest page" });
        }
        let print = Print::of([
            fleet.name.as_bytes(),
            request.location.as_deref().unwrap_or_default().as_bytes(),
            request.filter.as_bytes(),
            request.sort.as_bytes(),
        ]);
        let after = match request.cursor.as_str() {
            "" => None,
            text => Some(cursor::read(text, print)?),
        };
        let query = Query {
            filter: filter.as_ref(),
            location: request.location.as_deref(),
            sort: sort.as_ref(),
            limit: request.limit,
            after: after.as_ref(),
            work_max: self.config.search_work_max,
        };
        let Some(shelf) = self.shelves.get(&fleet.name) else {
            return Ok(Page { games: Vec::new(), cursor: None });
        };
        let (games, last) = query.run(shelf)?;
        Ok(Page { games, cursor: last.map(|place| cursor::write(&place, print)) })
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
        let Some(seen) = self.seen_hosts.get_mut(&host) else { return };
        match (seen.games.binary_search(&game), runs) {
            (Err(place), true) => seen.games.insert(place, game),
            (Ok(place), false) => drop(seen.games.remove(place)),
            _ => {}
        }
    }

    pub(super) fn list_queues(&self) -> Answer {
        Answer::Queues(self.seen_queues.values().map(|queue| QueueSpec::clone(queue)).collect())
    }

    pub(super) fn subscribe(
        &mut self,
        now: Time,
        target: &Target,
        location: Option<String>,
        filter: &str,
    ) -> Result<Answer, Refusal> {
        let fleet = self.catalogue.resolve(target)?.name.clone();
        let filter = parse(filter, Filter::parse)?;
        let query = Query {
            filter: filter.as_ref(),
            location: location.as_deref(),
            sort: None,
            limit: self.config.news_max,
            after: None,
            work_max: self.config.search_work_max,
        };
        let found = self.shelves.get(&fleet).map(|shelf| query.run(shelf)).transpose()?;
        let (games, more) = found.unwrap_or_default();
        if more.is_some() {
            hit(Mark::SearchTooBroad);
            return Err(Refusal::TooBroad { work_max: self.config.news_max });
        }
        let id = self.new_subscription()?;
        let mut subscription = Subscription::new(fleet, location, filter);
        for game in games {
            subscription.push(now, News::Added(game));
        }
        self.subscriptions.insert(id, subscription);
        Ok(Answer::Subscribed(id))
    }

    /// A fleet was made or changed: its shelf follows what is declared.
    pub(super) fn redeclare(&mut self, fleet: &str) {
        let Ok(known) = self.catalogue.fleet(fleet) else { return };
        if let Some(shelf) = self.shelves.get_mut(fleet) {
            shelf.redeclare(&known.indexed);
        }
    }

    /// A fleet is gone.
    pub(super) fn forget_fleet(&mut self, fleet: &str) {
        self.shelves.remove(fleet);
        let theirs = self.subscriptions.iter().filter(|(_, it)| it.fleet == fleet);
        let theirs: Vec<u64> = theirs.map(|(id, _)| *id).collect();
        for id in theirs {
            self.cut(id, CutCause::FleetDeleted);
        }
    }
}

fn parse<T>(
    text: &str,
    read: impl FnOnce(&str) -> Result<T, crate::search::FilterError>,
) -> Result<Option<T>, Refusal> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    read(text).map(Some).map_err(Refusal::Filter)
}
