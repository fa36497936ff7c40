//! Clients: they look for Games, make them, place them, take seats alone or as a party, come or do
//! not come, and use what is not theirs now and then. What they must not forget, the confirmation
//! and the end of a stay, they say again until it is answered.

use rejoin_core::id::{GameId, SeatId, SessionId};
use rejoin_directory::game::{Entry, Holder, SeatState, SeatView};
use rejoin_directory::host::HostWord;
use rejoin_directory::{Answer, Caller, Command, Refusal, Secret};

use super::Event;
use super::books::{Stage, Visit};
use super::parties::Party;
use super::requests::asked_by;
use super::world::{Purpose, World};

/// Whether the visit of this number is to a process that counts those it lets in.
fn counts_entries(index: usize) -> bool {
    !index.is_multiple_of(3)
}

/// A seat that was just promised.
pub(super) const NEW_VISIT: Visit = Visit {
    client: 0,
    game: GameId([0; 16]),
    seat: SeatId([0; 16]),
    player: String::new(),
    holder: Holder { session: SessionId(0), stay: 0 },
    by_host: false,
    stage: Stage::Reserved,
    until_ms: 0,
    party: None,
    secret: None,
    is_locked: false,
    asked_at_ms: 0,
    hold_ms: 0,
    is_unsure: false,
    is_waiting: false,
    is_begun: false,
    is_freed: false,
};

impl World {
    /// A client does something.
    pub(super) fn client_acts(&mut self, client: usize) {
        let next = self.rng.range(20_000, 3_000_000);
        self.plan(next, Event::Client(client));
        if self.directory.is_none() {
            return;
        }
        let mine: Vec<usize> = (0..self.books.visits.len())
            .filter(|index| {
                let visit = &self.books.visits[*index];
                visit.client == client && visit.stage != Stage::Over && !visit.is_waiting
            })
            .collect();
        if !mine.is_empty() && (self.is_calm || self.rng.per_mille(600)) {
            let index = *self.rng.pick(&mine);
            return self.go_on(index);
        }
        if self.is_calm {
            return;
        }
        match self.rng.below(20) {
            0..6 => self.look_for_game(client),
            6..9 => self.create(),
            9..12 => self.place(client),
            12 => self.again(),
            13 | 17 => self.change_game(),
            14 | 15 => self.ask_about(),
            16 => self.cheat(),
            _ => self.look_for_game(client),
        }
    }

    /// The next step with a seat.
    fn go_on(&mut self, index: usize) {
        let visit = self.books.visits[index].clone();
        let Visit { game, seat, holder, .. } = visit;
        let dice = self.rng.below(100);
        match visit.stage {
            // The process that counts its entries asks again; the other has to take back what it asked.
            Stage::Reserved if visit.by_host && visit.is_begun => {
                if counts_entries(index) && !self.is_calm && dice < 50 {
                    self.knock(index);
                } else {
                    self.remove(index);
                }
            }
            Stage::Reserved if self.is_calm || dice < 8 => {
                self.books.visits[index].is_unsure = true;
                self.release(index);
            }
            Stage::Reserved if dice < 18 => {
                let hold = self.draw_hold();
                self.books.visits[index].hold_ms = hold.as_millis() as u64;
                let extend = Command::Extend { game, seat, hold };
                self.ask_visit(index, Purpose::Extend(index), extend);
            }
            Stage::Reserved if dice < 26 => {
                // Nobody comes.
                self.books.visits[index].stage = Stage::Over;
            }
            Stage::Reserved if visit.by_host => self.knock(index),
            Stage::Reserved => {
                let player = visit.player;
                let claim = Command::Claim { game, seat, player, holder };
                self.ask_visit(index, Purpose::Claim(index), claim);
            }
            Stage::Claimed if dice < 15 && !visit.is_begun => {
                let abandon = Command::Abandon { game, seat, holder };
                self.ask_visit(index, Purpose::Abandon(index), abandon);
            }
            // The claim runs out.
            Stage::Claimed if dice < 25 && !visit.is_begun => {
                self.books.visits[index].stage = Stage::Over
            }
            Stage::Claimed => {
                self.books.visits[index].is_begun = true;
                let confirm = Command::Confirm { game, seat, holder };
                self.ask_visit(index, Purpose::Confirm(index), confirm);
            }
            Stage::Active if self.is_calm || dice < 30 => {
                self.books.visits[index].is_unsure = true;
                if visit.by_host {
                    return self.remove(index);
                }
                let complete = Command::Complete { game, seat, holder };
                self.ask_visit(index, Purpose::Complete(index), complete);
            }
            Stage::Active | Stage::Over => {}
        }
    }

    fn ask_visit(&mut self, index: usize, purpose: Purpose, command: Command) {
        self.books.visits[index].is_waiting = true;
        self.books.visits[index].asked_at_ms = self.wall_ms();
        self.ask(purpose, command);
    }

    /// Gives a seat back, as the server itself or with its secret.
    fn release(&mut self, index: usize) {
        let visit = &self.books.visits[index];
        let release = Command::Release { game: visit.game, seat: visit.seat };
        let secret = visit.secret.clone().filter(|_| self.rng.per_mille(500));
        let caller = secret.map(|secret| self.outside(index, Some(secret)));
        self.ask_visit(index, Purpose::Release(index), asked_by(caller.as_ref(), release));
    }

    /// The caller from outside that asked for a seat, with a secret that it shows.
    fn outside(&self, index: usize, secret: Option<Secret>) -> Caller {
        let party = self.books.visits[index].party.and_then(|it| self.books.parties.get(it));
        Caller { is_outside: true, payer: party.and_then(Party::payer), secret }
    }

    /// The process that runs a Game, if it can speak.
    fn runner(&self, game: GameId) -> Option<usize> {
        let runs = |it: &super::process::Process| it.is_ready && it.running.contains(&game);
        self.processes.iter().position(runs)
    }

    /// Shows the seat to the process that runs the Game, which asks the directory.
    fn knock(&mut self, index: usize) {
        let Visit { game, seat, player, .. } = self.books.visits[index].clone();
        let Some(process) = self.runner(game) else { return };
        self.books.visits[index].is_waiting = true;
        self.books.visits[index].is_begun = true;
        let ticket = self.ticket(Purpose::Accept(index));
        let player = Some(player);
        if !counts_entries(index) {
            return self.say(process, HostWord::Accept { ticket, game, seat, player });
        }
        // The same visitor is the same entry, unless the process was started anew meanwhile.
        let entry = Entry {
            process: process as u64 + 100 * self.rng.below(2),
            number: u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1),
        };
        self.say(process, HostWord::Admit { ticket, game, seat, player, entry });
    }

    fn remove(&mut self, index: usize) {
        let Visit { game, seat, .. } = self.books.visits[index].clone();
        // Without anybody who runs it the Game will end, and its seats with it.
        let Some(process) = self.runner(game) else { return };
        self.books.visits[index].is_unsure = true;
        self.books.visits[index].is_waiting = true;
        let ticket = self.ticket(Purpose::Remove(index));
        self.say(process, HostWord::Remove { ticket, game, seat });
    }

    /// Uses a seat that is another's, is over, or was never claimed.
    fn cheat(&mut self) {
        if self.books.visits.is_empty() {
            return;
        }
        let count = self.books.visits.len() as u64;
        let index = self.rng.below(count) as usize;
        let visit = self.books.visits[index].clone();
        let Visit { game, seat, player, .. } = visit;
        if visit.is_locked && self.rng.per_mille(500) {
            let secret = self.wrong_secret();
            let caller = self.outside(index, secret);
            let release = asked_by(Some(&caller), Command::Release { game, seat });
            return self.ask(Purpose::WrongSecret, release);
        }
        self.sessions += 1;
        let holder = Holder { session: SessionId(self.sessions), stay: 1 };
        let command = match self.rng.below(3) {
            0 => Command::Claim { game, seat, player: "nobody".to_owned(), holder },
            // One's own seat, by a second session.
            1 if visit.stage == Stage::Active && !visit.is_unsure => {
                Command::Claim { game, seat, player, holder }
            }
            _ => Command::Confirm { game, seat, holder },
        };
        self.ask(Purpose::Cheat, command);
    }

    /// Seats were promised to a party, and a secret with them if the caller has not chosen one.
    pub(super) fn seats_promised(
        &mut self,
        client: usize,
        number: usize,
        seats: &[SeatView],
        drawn: Option<Secret>,
    ) {
        self.party_seated(number, seats);
        let party = &self.books.parties[number];
        let (Some(game), is_locked) = (party.game, party.caller.is_some()) else { return };
        let secret = party.chosen().or(drawn);
        for seat in seats {
            let SeatState::Reserved { until } = seat.state else { continue };
            let by_host = self.rng.per_mille(300);
            let until_ms = until.0;
            let (player, secret, party) = (seat.player.clone(), secret.clone(), Some(number));
            let visit = Visit { client, by_host, until_ms, secret, is_locked, party, ..NEW_VISIT };
            self.enter(Visit { game, seat: seat.id, player, ..visit });
        }
        let wall = self.wall_ms();
        self.books.check_oversold(game, wall);
    }

    /// Enters a seat in the books, with a session of its own that will use it.
    pub(super) fn enter(&mut self, visit: Visit) {
        self.sessions += 1;
        let holder = Holder { session: SessionId(self.sessions), stay: 1 };
        self.books.enter(Visit { holder, ..visit });
    }

    /// A question about a seat was answered.
    pub(super) fn visit_answered(&mut self, purpose: &Purpose, outcome: &Result<Answer, Refusal>) {
        let (index, next) = match purpose {
            Purpose::Claim(index) => (*index, Stage::Claimed),
            Purpose::Confirm(index) | Purpose::Accept(index) => (*index, Stage::Active),
            Purpose::Abandon(index) | Purpose::Extend(index) => (*index, Stage::Reserved),
            Purpose::Complete(index) | Purpose::Release(index) | Purpose::Remove(index) => {
                (*index, Stage::Over)
            }
            _ => return,
        };
        let visit = &mut self.books.visits[index];
        visit.is_waiting = false;
        match outcome {
            Ok(Answer::Seats(seats)) => {
                visit.stage = next;
                visit.is_freed |= next == Stage::Over;
                if let Some(SeatState::Reserved { until }) = seats.first().map(|seat| seat.state) {
                    visit.until_ms = until.0;
                }
                if let (Purpose::Extend(_), Some(seat)) = (purpose, seats.first()) {
                    let least = visit.asked_at_ms + visit.hold_ms;
                    self.check_until(seat, least, u64::MAX - 1_000);
                }
            }
            // It was given back before.
            Ok(Answer::Done) if next == Stage::Over => {
                visit.stage = next;
                visit.is_freed = true;
            }
            Ok(_) => {}
            Err(Refusal::WrongSecret) => {
                let text = format!("the secret of {:?} does not open it", visit.seat);
                visit.stage = Stage::Over;
                self.books.fail("secret-kept", text);
            }
            // In a moment again.
            Err(Refusal::Busy | Refusal::StaleLease | Refusal::HostAway) => {}
            Err(_) if matches!(purpose, Purpose::Extend(_)) => {}
            // It was never in use; the claim ran out, or the process was not heard.
            Err(Refusal::NotClaimed) if visit.stage != Stage::Active => {
                visit.stage = Stage::Reserved;
                visit.is_begun = false;
            }
            Err(_) => {
                // Told so by the directory; whether that was right is for other checkers to say.
                let was_active = visit.stage == Stage::Active;
                let (stage, game) = (visit.stage, visit.game);
                visit.stage = Stage::Over;
                if was_active && matches!(outcome, Err(Refusal::NotClaimed | Refusal::SeatTaken)) {
                    self.books.fail("seat-kept", format!("{game:?}: {stage:?}, {outcome:?}"));
                }
            }
        }
        let (game, wall) = (self.books.visits[index].game, self.wall_ms());
        self.books.check_oversold(game, wall);
    }
}
