//! The seats of a Game by brute force. At an instant at which a Game has nothing at the store it lists
//! all its seats, and they are counted and compared with the books of those who asked for them.

use std::collections::BTreeMap;

use rejoin_core::id::GameId;
use rejoin_directory::game::{GameView, SeatFilter, SeatState, SeatStatus, SeatView};

use super::books::MARGIN_MS;
use super::parties::{Fate, party_of};
use super::world::World;

/// A listing of seats in pages, with a filter, and what came of it so far.
#[derive(Clone, Debug)]
pub struct SeatWalk {
    /// The Game.
    pub game: GameId,
    /// Which seats are wanted.
    pub filter: SeatFilter,
    /// Seats of one page.
    pub limit: usize,
    /// All pages so far.
    pub found: Vec<SeatView>,
}

fn status(seat: &SeatView) -> SeatStatus {
    match seat.state {
        SeatState::Reserved { .. } => SeatStatus::Reserved,
        SeatState::Claimed { .. } => SeatStatus::Claimed,
        SeatState::Active { .. } => SeatStatus::Active,
        SeatState::Ended { .. } => SeatStatus::Ended,
    }
}

impl World {
    /// Judges all seats of a Game.
    pub(super) fn judge_seats(&mut self, game: &GameView, seats: &[SeatView]) {
        let wall = self.wall_ms();
        self.books.check_seats(game.id, seats, wall);
        let checks = [
            self.miscounted(game, seats),
            self.unreturned(game, seats),
            self.misused(seats),
            self.parted(game.id, seats),
        ];
        for (checker, why) in checks.into_iter().flatten() {
            self.books.fail(checker, format!("{:?}: {why}", game.id));
        }
    }

    /// Seats in pages are the seats of the list that the filter leaves.
    pub(super) fn judge_seat_pages(&mut self, walk: &SeatWalk, seats: &[SeatView]) {
        let mut right = seats.to_vec();
        right.retain(|seat| {
            walk.filter.player.as_ref().is_none_or(|player| *player == seat.player)
                && walk.filter.status.is_none_or(|wanted| wanted == status(seat))
        });
        if right != walk.found {
            let text = format!("{walk:?}, right is {right:?}");
            self.books.fail("seats-true", text);
        }
    }

    /// The numbers of a Game are those of its seats, and each player has one.
    fn miscounted(&self, game: &GameView, seats: &[SeatView]) -> Option<(&'static str, String)> {
        let count = |wanted: &[SeatStatus]| {
            seats.iter().filter(|seat| wanted.contains(&status(seat))).count()
        };
        let waiting = count(&[SeatStatus::Reserved, SeatStatus::Claimed]);
        let active = count(&[SeatStatus::Active]);
        if (waiting, active) != (game.reserved as usize, game.active as usize) {
            let said = (game.reserved, game.active);
            return Some(("seats-true", format!("says {said:?}, has {:?}", (waiting, active))));
        }
        if waiting + active > game.spec.capacity as usize {
            return Some(("oversold", format!("{waiting} + {active} of {}", game.spec.capacity)));
        }
        if seats.windows(2).any(|pair| pair[0].number >= pair[1].number) {
            return Some(("seats-true", format!("out of order: {seats:?}")));
        }
        let mut seated: BTreeMap<&str, &SeatView> = BTreeMap::new();
        let live = seats.iter().filter(|seat| status(seat) != SeatStatus::Ended);
        for seat in live.filter(|_| !game.spec.several_seats) {
            if let Some(other) = seated.insert(&seat.player, seat) {
                return Some(("seats-true", format!("one player has {other:?} and {seat:?}")));
            }
        }
        None
    }

    /// What has run out or was given back is not taken any more.
    fn unreturned(&self, game: &GameView, seats: &[SeatView]) -> Option<(&'static str, String)> {
        let (wall, time) = (self.wall_ms(), self.time().0);
        let is_late = |seat: &&SeatView| match seat.state {
            SeatState::Reserved { until } => until.0 + MARGIN_MS < wall,
            SeatState::Claimed { by, .. } => by.0 + 1_000 * MARGIN_MS < time,
            SeatState::Active { .. } | SeatState::Ended { .. } => false,
        };
        if let Some(seat) = seats.iter().find(is_late) {
            return Some(("leaked", format!("has run out before {wall}: {seat:?}")));
        }
        let mut live = seats.iter().filter(|seat| status(seat) != SeatStatus::Ended);
        let is_freed = |seat: &&SeatView| {
            game.status.is_over() || self.books.visit_of(seat.id).is_some_and(|it| it.is_freed)
        };
        live.find(is_freed).map(|seat| ("leaked", format!("is over and taken: {seat:?}")))
    }

    /// A seat that is claimed or in use has a holder that asked for that.
    fn misused(&self, seats: &[SeatView]) -> Option<(&'static str, String)> {
        let is_right = |seat: &SeatView| {
            let visit = self.books.visit_of(seat.id);
            match seat.state {
                SeatState::Reserved { .. } | SeatState::Ended { .. } => {
                    visit.is_none_or(|visit| visit.player == seat.player)
                }
                SeatState::Claimed { holder, .. } => {
                    visit.is_some_and(|it| it.holder == holder && !it.by_host)
                }
                SeatState::Active { holder: Some(holder) } => {
                    visit.is_some_and(|it| it.holder == holder && !it.by_host && it.is_begun)
                }
                SeatState::Active { holder: None } => {
                    visit.is_some_and(|it| it.by_host && it.is_begun)
                }
            }
        };
        let wrong = seats.iter().find(|seat| !is_right(seat))?;
        let visit = self.books.visit_of(wrong.id);
        Some(("one-holder", format!("{wrong:?} and {visit:?}")))
    }

    /// Parties are seated whole or not at all.
    fn parted(&self, game: GameId, seats: &[SeatView]) -> Option<(&'static str, String)> {
        let ended = seats.iter().filter(|seat| status(seat) == SeatStatus::Ended);
        let ended: Vec<u64> = ended.map(|seat| seat.number).collect();
        // Seats that are over are forgotten when there are too many, the lowest numbers first.
        let has_forgotten = ended.len() >= self.knobs.config.seats_kept_max;
        let is_forgotten = |number: u64| has_forgotten && ended.iter().all(|it| number < *it);
        let mut parties: BTreeMap<usize, Vec<(usize, &SeatView)>> = BTreeMap::new();
        for seat in seats {
            let Some((party, place)) = party_of(seat) else {
                return Some(("seats-true", format!("no party asked for {seat:?}")));
            };
            parties.entry(party).or_default().push((place, seat));
        }
        for (number, present) in parties {
            let party = self.books.parties.get(number)?;
            let is_refused = party.fate == Fate::Refused && party.sends == 1;
            if is_refused || party.game.is_some_and(|asked| asked != game) {
                return Some(("seats-true", format!("{party:?} was refused, seated {present:?}")));
            }
            let (place, first) = present[0];
            let base = first.number.saturating_sub(place as u64);
            let is_there = |place: usize| {
                let seat = present.iter().find(|(it, _)| *it == place);
                seat.is_some_and(|(_, seat)| {
                    seat.number == base + place as u64 && seat.player == party.players[place]
                })
            };
            let places = 0..party.players.len();
            let mut absent = places.filter(|it| !is_there(*it) && !is_forgotten(base + *it as u64));
            if let Some(place) = absent.next() {
                let text = format!("place {place} of {party:?} is missing, seated {present:?}");
                return Some(("seats-true", text));
            }
            if present.len() > party.players.len() {
                return Some(("seats-true", format!("{party:?} is seated twice: {present:?}")));
            }
        }
        None
    }

    /// No payer has more seats open than it may.
    pub(super) fn judge_payers(&mut self, seats: &BTreeMap<GameId, Vec<SeatView>>) {
        let mut open = BTreeMap::new();
        let is_open =
            |seat: &&SeatView| matches!(status(seat), SeatStatus::Reserved | SeatStatus::Claimed);
        for seat in seats.values().flatten().filter(is_open) {
            let Some((number, _)) = party_of(seat) else { continue };
            let party = &self.books.parties[number];
            // After a crash it is not known any more who pays.
            let Some(payer) = party.payer().filter(|_| party.sends == 1) else { continue };
            if party.life == self.life && party.game.is_some() {
                *open.entry(payer).or_insert(0usize) += 1;
            }
        }
        let limit = self.knobs.config.open_seats_max;
        if let Some((payer, count)) = open.into_iter().find(|(_, count)| *count > limit) {
            self.books.fail("oversold", format!("{payer:?} has {count} of {limit} open"));
        }
    }
}
