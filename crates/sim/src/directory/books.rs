//! What those outside were told, and what must follow from it. Nothing here asks the directory's
//! code: an oracle that shares a bug with its subject is blind to it.

use std::collections::{BTreeMap, BTreeSet};

use rejoin_core::id::{GameId, QueueId, SeatId};
use rejoin_directory::Secret;
use rejoin_directory::game::{EndCause, GameView, Holder, SeatEnd, SeatState, SeatView, Status};
use rejoin_directory::queue::{PlacementEnd, PlacementView};

use super::parties::Party;
use crate::check::Violation;

/// Every checker of the directory's worlds and what it holds.
pub const CHECKERS: &[(&str, &str)] = &[
    ("oversold", "seats that were promised and seats in use are never more than there are"),
    ("seat-kept", "a seat that was promised is there as long as was said, crashes included"),
    ("seats-true", "the seats of a game are those it counts, and parties are whole or not there"),
    ("secret-kept", "what a caller reserved is given back with its secret, and with no other"),
    ("leaked", "a seat, a place on a host or a game that nobody has returns in the end"),
    ("ends-once", "a game and a placement end once, and no later word says otherwise"),
    ("placed-once", "a placement has one game at a time, and ends with its last and all its seats"),
    ("no-ghost", "no listing shows a game that is over, or whose host is gone for a second"),
    ("search-true", "a page has the games that match, as they are, in their order, and no other"),
    ("news-true", "a subscriber that follows the changes has what a search finds"),
    ("goes-to-sleep", "who is woken does what is due: nobody wakes for ever at one instant"),
    ("one-effect", "a key that comes again for something else is refused"),
    ("one-holder", "nobody uses a seat of another, or one that is in use"),
    ("answered", "a request that is heard is answered, once"),
];

/// How far a client is with a seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// It was promised.
    Reserved,
    /// A claim was promised.
    Claimed,
    /// In use.
    Active,
    /// The client is done with it.
    Over,
}

/// One seat in the books of its client.
#[derive(Clone, Debug)]
pub struct Visit {
    /// Whose.
    pub client: usize,
    /// Where.
    pub game: GameId,
    /// Which.
    pub seat: SeatId,
    /// For whom.
    pub player: String,
    /// The stay it is used with.
    pub holder: Holder,
    /// The host lets the player in.
    pub by_host: bool,
    /// How far.
    pub stage: Stage,
    /// Promised until then, in milliseconds of wall time.
    pub until_ms: u64,
    /// The party it was asked for with.
    pub party: Option<usize>,
    /// What gives it back, where a caller from outside reserved it and knows that.
    pub secret: Option<Secret>,
    /// A caller from outside reserved it: others give it back with its secret only.
    pub is_locked: bool,
    /// When the last question about it was asked, in milliseconds of wall time.
    pub asked_at_ms: u64,
    /// For how long it was last to be extended.
    pub hold_ms: u64,
    /// Its end was asked for: from now on it may be gone.
    pub is_unsure: bool,
    /// A question is under way.
    pub is_waiting: bool,
    /// Its use was asked for, and may have been granted unheard: from now on it must be ended.
    pub is_begun: bool,
    /// Its end was answered: it must never be taken again.
    pub is_freed: bool,
}

/// What is known of a Game.
#[derive(Clone, Debug, Default)]
pub struct GameBook {
    /// The most seats that it was told or asked to have.
    pub capacity: u32,
    /// How it ended.
    pub end: Option<(Status, Option<EndCause>)>,
    /// How often its end was told to whoever listens.
    pub ends: u32,
}

/// What is known of a placement.
#[derive(Clone, Debug, Default)]
pub struct PlacementBook {
    /// Somebody was told that it is under way.
    pub is_known: bool,
    /// How it ended.
    pub end: Option<PlacementEnd>,
    /// How often its end was told to whoever listens.
    pub ends: u32,
    /// Who gets seats with it.
    pub party: Option<usize>,
    /// What cancels it, where a caller from outside knows that.
    pub secret: Option<Secret>,
}

/// All books.
#[derive(Debug, Default)]
pub struct Books {
    /// Seats; entered with [`enter`](Self::enter).
    pub visits: Vec<Visit>,
    /// Where each of them is.
    by_seat: BTreeMap<SeatId, usize>,
    /// Players that seats were asked for together.
    pub parties: Vec<Party>,
    /// Games.
    pub games: BTreeMap<GameId, GameBook>,
    /// Placements.
    pub placements: BTreeMap<(QueueId, String), PlacementBook>,
    /// Keys of Games and placements that were made as they were first asked for.
    pub keys: BTreeSet<String>,
    /// What was broken.
    pub found: Vec<Violation>,
}

/// Clocks differ by rounding.
pub const MARGIN_MS: u64 = 5;

impl Books {
    /// A promise was broken.
    pub fn fail(&mut self, checker: &'static str, text: String) {
        debug_assert!(CHECKERS.iter().any(|(name, _)| *name == checker) || checker == "no-panic");
        self.found.push(Violation { checker, text });
    }

    /// Enters a seat that was promised, unless it is there already.
    pub fn enter(&mut self, visit: Visit) {
        if !self.by_seat.contains_key(&visit.seat) {
            self.by_seat.insert(visit.seat, self.visits.len());
            self.visits.push(visit);
        }
    }

    /// The visit of a seat that was promised.
    #[must_use]
    pub fn visit_of(&self, seat: SeatId) -> Option<&Visit> {
        self.visits.get(*self.by_seat.get(&seat)?)
    }

    /// A Game, as somebody was told.
    pub fn game_told(&mut self, game: &GameView) {
        let book = self.games.entry(game.id).or_default();
        book.capacity = book.capacity.max(game.spec.capacity);
        if game.reserved + game.active > game.spec.capacity {
            let text = format!("{:?}: {} + {}", game.id, game.reserved, game.active);
            self.fail("oversold", text);
            return;
        }
        let told = game.status.is_over().then_some((game.status, game.cause));
        match (book.end, told) {
            (Some(known), told) if told != Some(known) => {
                let text = format!("{:?}: was {known:?}, is {:?}", game.id, game.status);
                self.fail("ends-once", text);
            }
            (None, Some(told)) => book.end = Some(told),
            _ => {}
        }
    }

    /// The end of a Game, as whoever listens was told.
    pub fn game_ended(&mut self, game: GameId, cause: EndCause) {
        let book = self.games.entry(game).or_default();
        book.ends += 1;
        let told = (Status::of_end(cause), Some(cause));
        let is_other = book.end.is_some_and(|known| known != told);
        book.end = Some(told);
        if book.ends > 1 || is_other {
            self.fail("ends-once", format!("{game:?} ended again: {cause:?}"));
        }
    }

    /// A placement, as somebody was told.
    pub fn placement_told(&mut self, view: &PlacementView) {
        let book = self.placements.entry((view.queue, view.id.clone())).or_default();
        book.is_known = true;
        match (&book.end, &view.end) {
            (Some(known), told) if Some(known) != told.as_ref() => {
                let text = format!("{}: was {known:?}, is {told:?}", view.id);
                self.fail("ends-once", text);
            }
            (None, Some(told)) => book.end = Some(told.clone()),
            _ => {}
        }
    }

    /// The end of a placement, as whoever listens was told.
    pub fn placement_ended(&mut self, queue: QueueId, placement: String, end: PlacementEnd) {
        let book = self.placements.entry((queue, placement.clone())).or_default();
        book.ends += 1;
        let is_other = book.end.as_ref().is_some_and(|known| *known != end);
        if book.ends > 1 || is_other {
            self.fail("ends-once", format!("{placement} ended again: {end:?}"));
            return;
        }
        book.end = Some(end);
    }

    /// Whether a seat is surely promised or in use now.
    fn is_sure(visit: &Visit, wall_ms: u64) -> bool {
        let is_kept = visit.stage == Stage::Active || wall_ms + MARGIN_MS < visit.until_ms;
        !visit.is_unsure && visit.stage != Stage::Over && is_kept
    }

    /// A seat was promised in this Game: are there not too many?
    pub fn check_oversold(&mut self, game: GameId, wall_ms: u64) {
        let sure = self.visits.iter().filter(|it| it.game == game && Self::is_sure(it, wall_ms));
        let (count, book) = (sure.count(), self.games.get(&game));
        let Some(capacity) = book.filter(|book| book.end.is_none()).map(|book| book.capacity)
        else {
            return;
        };
        if count > capacity as usize {
            self.fail("oversold", format!("{game:?}: {count} of {capacity}"));
        }
    }

    /// The seats of a Game, as somebody was told.
    pub fn check_seats(&mut self, game: GameId, seats: &[SeatView], wall_ms: u64) {
        // Of a Game that is over only some seats are remembered.
        let is_last = |seat: &SeatView| {
            matches!(seat.state, SeatState::Ended { how: SeatEnd::GameEnded, .. })
        };
        let is_over = self.games.get(&game).is_some_and(|book| book.end.is_some());
        if is_over || seats.iter().any(is_last) {
            return;
        }
        let sure = self.visits.iter().filter(|it| it.game == game && Self::is_sure(it, wall_ms));
        let lost = sure.filter(|visit| {
            let known = seats.iter().find(|seat| seat.id == visit.seat).map(|seat| seat.state);
            match (visit.stage, known) {
                (Stage::Active, Some(SeatState::Active { .. })) => false,
                (Stage::Active, _) => true,
                (_, Some(SeatState::Ended { .. }) | None) => true,
                _ => false,
            }
        });
        let lost: Vec<String> = lost.map(|it| format!("{:?} {:?}", it.seat, it.stage)).collect();
        if !lost.is_empty() {
            self.fail("seat-kept", format!("{game:?}: {}", lost.join(", ")));
        }
    }
}
