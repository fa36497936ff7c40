//! Parties: players that seats are asked for together. Each guest carries the number of its party and
//! its place in it as data, so a listing of seats tells who belongs together whatever keys, names and
//! crashes there were.

use std::time::Duration;

use bytes::Bytes;
use rejoin_core::id::GameId;
use rejoin_directory::game::{Guest, SeatView};
use rejoin_directory::{Caller, Payer, Refusal, Secret};

use super::books::{Books, MARGIN_MS, Stage, Visit};
use super::world::World;

/// What became of a party.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It was asked for; the answer is under way, or a crash took it.
    Asked,
    /// All of it has seats.
    Seated,
    /// None of it has.
    Refused,
}

/// Players that seats are asked for together.
#[derive(Clone, Debug)]
pub struct Party {
    /// Where; none: a placement finds the Game.
    pub game: Option<GameId>,
    /// Who, in the order of the request.
    pub players: Vec<String>,
    /// The caller from outside that asks; none: the server itself does.
    pub caller: Option<Caller>,
    /// For how long, where the request says so.
    pub hold: Option<Duration>,
    /// The answer so far.
    pub fate: Fate,
    /// How often it was asked for.
    pub sends: u32,
    /// The life of the directory in which it was last asked for.
    pub life: u64,
    /// When it was last asked for, in milliseconds of wall time.
    pub sent_at_ms: u64,
    /// The most seats that its payer can have held open when it was first asked for.
    pub open_before: usize,
}

impl Party {
    /// Who pays for its seats while they are reserved.
    #[must_use]
    pub fn payer(&self) -> Option<Payer> {
        self.caller.as_ref().and_then(|caller| caller.payer)
    }

    /// The secret that its caller has chosen.
    #[must_use]
    pub fn chosen(&self) -> Option<Secret> {
        self.caller.as_ref().and_then(|caller| caller.secret.clone())
    }
}

/// The party of a seat, and the place of its player in it.
#[must_use]
pub fn party_of(seat: &SeatView) -> Option<(usize, usize)> {
    let (party, place) = std::str::from_utf8(&seat.data).ok()?.split_once('/')?;
    Some((party.parse().ok()?, place.parse().ok()?))
}

impl Books {
    /// The guests of a party with its number.
    pub fn guests(number: usize, players: &[String]) -> Vec<Guest> {
        let guests = players.iter().enumerate().map(|(place, player)| {
            let data = Bytes::from(format!("{number}/{place}"));
            Guest { player: player.clone(), data }
        });
        guests.collect()
    }

    /// The most seats that a payer can hold open, if those that ran out before this are surely over.
    #[must_use]
    pub fn open_bound(&self, payer: Payer, life: u64, over_ms: u64) -> usize {
        let theirs = self.parties.iter().enumerate();
        let theirs = theirs.filter(|(_, it)| it.payer() == Some(payer) && it.life == life);
        let counts = theirs.map(|(number, party)| match party.fate {
            Fate::Asked => party.players.len(),
            Fate::Refused => 0,
            Fate::Seated => {
                let visits = self.visits.iter().filter(|visit| visit.party == Some(number));
                visits.filter(|visit| self.may_be_open(visit, over_ms)).count()
            }
        });
        counts.sum()
    }

    fn may_be_open(&self, visit: &Visit, over_ms: u64) -> bool {
        let is_over = self.games.get(&visit.game).is_some_and(|book| book.end.is_some());
        let is_expired = visit.until_ms + MARGIN_MS < over_ms;
        !(is_over || is_expired || visit.is_freed || visit.stage == Stage::Active)
    }
}

impl World {
    /// Enters a party in the books; given back is its number.
    pub(super) fn new_party(&mut self, party: Party) -> usize {
        let mut party = Party { sends: 1, life: self.life, ..party };
        party.sent_at_ms = self.wall_ms();
        if let Some(payer) = party.payer() {
            // A claim may go on when its reservation has run out.
            let claim_ms = self.knobs.config.claim_limit.as_millis() as u64;
            let over_ms = party.sent_at_ms.saturating_sub(claim_ms);
            party.open_before = self.books.open_bound(payer, self.life, over_ms);
        }
        self.books.parties.push(party);
        self.books.parties.len() - 1
    }

    /// A party is asked for again, with the same key.
    pub(super) fn party_again(&mut self, number: usize) {
        let (life, wall) = (self.life, self.wall_ms());
        let Some(party) = self.books.parties.get_mut(number) else { return };
        party.fate = Fate::Asked;
        party.sends += 1;
        (party.life, party.sent_at_ms) = (life, wall);
    }

    /// Seats were promised to a party.
    pub(super) fn party_seated(&mut self, number: usize, seats: &[SeatView]) {
        self.books.parties[number].fate = Fate::Seated;
        let party = &self.books.parties[number];
        // A key that comes again gives the seats that are left of those it gave before.
        if party.sends > 1 {
            return;
        }
        let seated: Vec<&String> = seats.iter().map(|seat| &seat.player).collect();
        if seated != party.players.iter().collect::<Vec<_>>() {
            let text = format!("party {number} is {:?}, seated is {seated:?}", party.players);
            return self.books.fail("seats-true", text);
        }
        let hold = party.hold.unwrap_or(self.knobs.config.seat_hold).as_millis() as u64;
        let (asked, now) = (party.sent_at_ms, self.wall_ms());
        for seat in seats {
            self.check_until(seat, asked + hold, now + hold);
        }
    }

    /// A reservation lasts for as long as was asked for, counted from some instant of the request.
    pub(super) fn check_until(&mut self, seat: &SeatView, least_ms: u64, most_ms: u64) {
        use rejoin_directory::game::SeatState;
        let (SeatState::Reserved { until } | SeatState::Claimed { until, .. }) = seat.state else {
            return;
        };
        if until.0 + MARGIN_MS < least_ms || until.0 > most_ms + MARGIN_MS {
            let text = format!("{:?} until {until:?}, not {least_ms} to {most_ms}", seat.id);
            self.books.fail("seat-kept", text);
        }
    }

    /// A party was refused.
    pub(super) fn party_refused(&mut self, number: usize, refusal: &Refusal) {
        let limit = self.knobs.config.open_seats_max;
        let party = &mut self.books.parties[number];
        party.fate = Fate::Refused;
        let (size, is_first) = (party.players.len(), party.sends == 1);
        let (before, sent, payer) = (party.open_before, party.sent_at_ms, party.payer());
        match refusal {
            Refusal::LimitReached { what, .. } if is_first && what.starts_with("open seats") => {
                // What was asked for since may have been faster.
                let later = self.books.parties.iter().enumerate().filter(|(other, it)| {
                    *other != number && it.payer() == payer && it.sent_at_ms >= sent
                });
                let most = before + later.map(|(_, it)| it.players.len()).sum::<usize>();
                if most + size <= limit {
                    let text =
                        format!("{payer:?} holds {most} of {limit} open, refused are {size}");
                    self.books.fail("leaked", text);
                }
            }
            Refusal::AlreadySeated { seat } => {
                let known = self.books.visit_of(*seat);
                let Some(visit) = known else { return };
                if visit.is_freed || !self.books.parties[number].players.contains(&visit.player) {
                    let text = format!("party {number} is refused for {visit:?}");
                    self.books.fail("seats-true", text);
                }
            }
            _ => {}
        }
    }
}
