//! The search oracle. A searcher walks drawn searches page by page while the world goes on, and at
//! the instant of every page the Games themselves are asked how they are. A Game answers from its own
//! state and not from the views that searches use, so the two can be compared.
//!
//! A Game with a batch at the store is not asked: searches show it as it was before. Of such a Game
//! only what the page itself shows is judged. Every other Game must be on the page if and only if the
//! brute force of [`Query`] says so; that holds at every instant, at rest as well as under load.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rejoin_core::id::GameId;
use rejoin_directory::game::{GameView, SeatFilter, SeatStatus, SeatView};
use rejoin_directory::search::{Page, SearchRequest};
use rejoin_directory::{Answer, Command, Refusal, Target};

use super::Event;
use super::query::Query;
use super::seating::SeatWalk;
use super::world::{FLEETS, Purpose, World};

/// Seats of one Game that are read in pages; a Game of the simulator never has so many.
const PAGED_SEATS_MAX: usize = 500;

/// The search that is being walked.
#[derive(Clone, Debug)]
struct Walk {
    fleet: &'static str,
    query: Query,
    limit: usize,
    /// Where the next page begins, as the directory wrote it; empty: at the beginning.
    cursor: String,
    /// The last Game of the page before, as it was shown.
    last: Option<Arc<GameView>>,
    is_waiting: bool,
}

/// What the Games said at the instant of a page.
#[derive(Debug, Default)]
pub(super) struct Inspection {
    page: Option<Result<Page, Refusal>>,
    /// The Games that had nothing at the store; none: it does not exist any more.
    games: BTreeMap<GameId, Option<Arc<GameView>>>,
    /// All seats of some of them.
    seats: BTreeMap<GameId, Vec<SeatView>>,
    /// Seats of one of them in pages.
    walked: Option<SeatWalk>,
}

/// The searcher and what it compares with.
#[derive(Debug, Default)]
pub struct Inspector {
    /// Games that may be alive: every one that was ever written and is not known to be over.
    open: BTreeSet<GameId>,
    /// Games with a batch at the store.
    pub(super) unsettled: BTreeSet<GameId>,
    walk: Option<Walk>,
    now: Option<Inspection>,
    /// A Game that was listed before; values of filters are drawn from it.
    sample: Option<Arc<GameView>>,
    /// Pages that were compared.
    pub pages: u64,
    /// Games on them.
    pub listed: u64,
    /// Seats that were compared.
    pub seats: u64,
}

impl Inspector {
    /// A batch of this Game is at the store.
    pub(super) fn submitted(&mut self, game: GameId) {
        self.open.insert(game);
        self.unsettled.insert(game);
    }

    /// How many Games may be alive.
    pub(super) fn open_count(&self) -> usize {
        self.open.len()
    }

    /// The directory is gone, and everything that was under way.
    pub(super) fn crash(&mut self) {
        self.unsettled.clear();
        (self.walk, self.now) = (None, None);
    }
}

impl World {
    /// Asks for the next page, or begins another search.
    pub(super) fn inspect(&mut self) {
        let most = if self.is_calm { 4_000_000 } else { 800_000 };
        let next = self.rng.range(1_000, most);
        self.plan(next, Event::Inspect);
        if self.directory.is_none() {
            return;
        }
        if self.inspector.walk.is_none() {
            let query = Query::draw(&mut self.rng, self.inspector.sample.as_deref());
            let (fleet, limit) = (*self.rng.pick(FLEETS), self.rng.range(1, 8) as usize);
            let (cursor, last, is_waiting) = (String::new(), None, false);
            let walk = Walk { fleet, query, limit, cursor, last, is_waiting };
            self.inspector.walk = Some(walk);
        }
        let Some(walk) = self.inspector.walk.as_mut().filter(|walk| !walk.is_waiting) else {
            return;
        };
        walk.is_waiting = true;
        let request = SearchRequest {
            target: Target::Fleet(walk.fleet.to_owned()),
            location: walk.query.location.map(str::to_owned),
            filter: walk.query.filter(),
            sort: walk.query.sort(),
            limit: walk.limit,
            cursor: walk.cursor.clone(),
        };
        self.ask(Purpose::Walk, Command::Search(request));
    }

    /// A page was answered: asks every Game that has nothing at the store, at this very instant.
    pub(super) fn page_answered(&mut self, outcome: Result<Answer, Refusal>) {
        let mut asked = self.inspector.open.clone();
        let page = match outcome {
            Ok(Answer::Page(page)) => {
                asked.extend(page.games.iter().map(|game| game.id));
                Ok(page)
            }
            Ok(other) => {
                return self.books.fail("answered", format!("a search: {other:?}"));
            }
            Err(refusal) => Err(refusal),
        };
        self.inspector.now = Some(Inspection { page: Some(page), ..Inspection::default() });
        let asked: Vec<GameId> = asked.difference(&self.inspector.unsettled).copied().collect();
        let with_seats = self.rng.per_mille(300);
        for game in &asked {
            self.whisper(Purpose::Inspect(*game), Command::DescribeGame(*game));
            if with_seats {
                self.whisper(Purpose::InspectSeats(*game), Command::ListSeats(*game));
            }
        }
        if with_seats && !asked.is_empty() {
            let game = *self.rng.pick(&asked);
            self.walk_seats(game);
        }
    }

    /// Lists seats of a Game in pages, at this very instant.
    fn walk_seats(&mut self, game: GameId) {
        let (client, place) = (self.rng.below(8), self.rng.below(3));
        let player = self.rng.per_mille(300).then(|| format!("player-{client}-{place}"));
        let status = self.rng.per_mille(500).then(|| *self.rng.pick(&SeatStatus::ALL));
        let (filter, limit) = (SeatFilter { player, status }, self.rng.range(1, 4) as usize);
        self.walk_seats_on(SeatWalk { game, filter, limit, found: Vec::new() });
    }

    fn walk_seats_on(&mut self, walk: SeatWalk) {
        let after = walk.found.last().map(|seat| seat.number);
        let (game, filter, limit) = (walk.game, walk.filter.clone(), walk.limit);
        let find = Command::FindSeats { game, filter, after, limit };
        self.whisper(Purpose::WalkSeats(Box::new(walk)), find);
    }

    /// A page of seats.
    pub(super) fn seats_walked(&mut self, mut walk: SeatWalk, outcome: Result<Answer, Refusal>) {
        let Some(inspection) = &mut self.inspector.now else { return };
        let Ok(Answer::Seats(seats)) = outcome else { return };
        let is_full = seats.len() == walk.limit;
        walk.found.extend(seats);
        if is_full && walk.found.len() <= PAGED_SEATS_MAX {
            return self.walk_seats_on(walk);
        }
        inspection.walked = Some(walk);
    }

    /// All seats of a Game.
    pub(super) fn seats_inspected(&mut self, game: GameId, outcome: Result<Answer, Refusal>) {
        let Some(inspection) = &mut self.inspector.now else { return };
        if let Ok(Answer::Seats(seats)) = outcome {
            inspection.seats.insert(game, seats);
        }
    }

    /// A Game said how it is.
    pub(super) fn game_inspected(&mut self, game: GameId, outcome: Result<Answer, Refusal>) {
        let Some(inspection) = &mut self.inspector.now else { return };
        match outcome {
            Ok(Answer::Game(view)) => {
                let is_over = view.status.is_over();
                inspection.games.insert(game, Some(view));
                // It is looked at for the last time.
                if is_over {
                    self.whisper(Purpose::InspectSeats(game), Command::ListSeats(game));
                }
            }
            Err(Refusal::NotFound(_)) => drop(inspection.games.insert(game, None)),
            _ => {}
        }
    }

    /// All that can be answered at this instant is answered.
    pub(super) fn judge_inspection(&mut self) {
        let Some(mut inspection) = self.inspector.now.take() else { return };
        for (game, view) in &inspection.games {
            if view.as_ref().is_none_or(|view| view.status.is_over()) {
                self.inspector.open.remove(game);
            }
        }
        self.judge_all_seats(&inspection);
        self.judge_attempts(&inspection.games);
        let page = inspection.page.take();
        let Some((mut walk, page)) = self.inspector.walk.take().zip(page) else { return };
        walk.is_waiting = false;
        let known = Known { games: &inspection.games, unsettled: self.inspector.unsettled.len() };
        let judged = match &page {
            Ok(page) => known.judge(&walk, page, self.knobs.config.search_work_max),
            Err(refusal) => known.judge_refusal(&walk, refusal),
        };
        if let Err(why) = judged {
            let (filter, sort) = (walk.query.filter(), walk.query.sort());
            let place = format!("{} {:?} [{filter}] [{sort}]", walk.fleet, walk.query.location);
            return self.books.fail("search-true", format!("{place}: {why}"));
        }
        let Ok(page) = page else { return };
        self.inspector.pages += 1;
        self.inspector.listed += page.games.len() as u64;
        if let Some(last) = page.games.last() {
            self.inspector.sample = Some(last.clone());
            walk.last = Some(last.clone());
        }
        // The walk goes on; without a cursor another one begins.
        if let Some(cursor) = page.cursor {
            walk.cursor = cursor;
            self.inspector.walk = Some(walk);
        }
    }
}

impl World {
    fn judge_all_seats(&mut self, inspection: &Inspection) {
        for (game, seats) in &inspection.seats {
            if let Some(Some(view)) = inspection.games.get(game) {
                self.inspector.seats += seats.len() as u64;
                self.judge_seats(view, seats);
            }
        }
        self.judge_payers(&inspection.seats);
        if let Some(walk) = &inspection.walked
            && let Some(seats) = inspection.seats.get(&walk.game)
        {
            self.judge_seat_pages(walk, seats);
        }
    }
}

/// The Games as they are at this instant.
struct Known<'a> {
    games: &'a BTreeMap<GameId, Option<Arc<GameView>>>,
    /// How many could not be asked.
    unsettled: usize,
}

impl Known<'_> {
    /// Compares a page with all Games behind the page before.
    fn judge(&self, walk: &Walk, page: &Page, work_max: usize) -> Result<(), String> {
        let query = &walk.query;
        let is_behind =
            |game: &GameView, last: &GameView| query.order(last, game) == Ordering::Less;
        let mut last = walk.last.clone();
        for game in &page.games {
            if !query.shows(game) || game.spec.fleet != walk.fleet {
                return Err(format!("{:?} does not match and is listed: {game:?}", game.id));
            }
            if last.as_ref().is_some_and(|last| !is_behind(game, last)) {
                return Err(format!("{game:?} is listed behind {last:?}"));
            }
            last = Some(game.clone());
        }
        if page.games.len() > walk.limit || (page.cursor.is_some() && page.games.is_empty()) {
            return Err(format!("a page of {} with {:?}", page.games.len(), page.cursor));
        }
        let is_short = page.games.len() < walk.limit;
        if is_short && page.cursor.is_some() && page.work < work_max {
            return Err(format!("cut short after {} of {work_max}", page.work));
        }
        let mut right: Vec<&Arc<GameView>> = self.games.values().flatten().collect();
        right.retain(|game| game.spec.fleet == walk.fleet && query.shows(game));
        right.retain(|game| walk.last.as_ref().is_none_or(|last| is_behind(game, last)));
        if let (Some(_), Some(last)) = (&page.cursor, page.games.last()) {
            right.retain(|game| query.order(game, last) != Ordering::Greater);
        }
        right.sort_by(|one, other| query.order(one, other));
        let shown = page.games.iter().filter(|game| self.games.contains_key(&game.id));
        let shown: Vec<&Arc<GameView>> = shown.collect();
        if shown == right {
            return Ok(());
        }
        let ids = |games: &[&Arc<GameView>]| games.iter().map(|it| it.id).collect::<Vec<_>>();
        let (shown, right) = (ids(&shown), ids(&right));
        if shown == right {
            return Err(format!("{shown:?} are not shown as they are"));
        }
        Err(format!("shown {shown:?}, right is {right:?}"))
    }

    /// A search may be refused for its cost, and only if there are so many Games.
    fn judge_refusal(&self, walk: &Walk, refusal: &Refusal) -> Result<(), String> {
        let Refusal::TooBroad { work_max } = refusal else {
            return Err(format!("refused: {refusal}"));
        };
        let listed = self.games.values().flatten();
        let listed = listed.filter(|it| it.spec.fleet == walk.fleet && Query::any().shows(it));
        let most = listed.count() + self.unsettled;
        if most <= *work_max {
            return Err(format!("too broad for {work_max}, and there are {most} at most"));
        }
        Ok(())
    }
}
