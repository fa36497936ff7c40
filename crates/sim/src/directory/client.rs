//! Clients: they look for Games, make them, place them, take seats alone or as a party, come or do
//! not come, and use what is not theirs now and then. What they must not forget, the confirmation
//! and the end of a stay, they say again until it is answered.

use bytes::Bytes;
use rejoin_core::id::{GameId, SeatId, SessionId};
use rejoin_directory::game::{Entry, GameChange, GameSpec, Guest, Holder, SeatState, SeatView};
use rejoin_directory::host::HostWord;
use rejoin_directory::queue::{Latency, PlacementRequest};
use rejoin_directory::search::SearchRequest;
use rejoin_directory::{Answer, Command, Refusal, Target};

use super::Event;
use super::books::{Stage, Visit};
use super::world::{FLEETS, LOCATIONS, Purpose, QUEUES, World};

/// Whether the visit of this number is to a process that counts those it lets in.
fn counts_entries(index: usize) -> bool {
    !index.is_multiple_of(3)
}

/// Something that may be asked again with its key.
#[derive(Clone, Debug)]
pub struct Recent {
    /// What.
    pub command: Command,
    /// When.
    pub at: u64,
}

/// Keys are asked again only while nothing can have been forgotten.
const RECENT_US: u64 = 60_000_000;

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
                self.ask_visit(index, Purpose::Release(index), Command::Release { game, seat });
            }
            Stage::Reserved if dice < 18 => {
                let hold = self.knobs.config.seat_hold;
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
        self.ask(purpose, command);
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

    fn look_for_game(&mut self, client: usize) {
        let filter = *self.rng.pick(&[
            "",
            "has_room = true",
            "properties.mode = 'duel' AND players < 3",
            "NOT (capacity < 2 OR properties.color = 'red')",
        ]);
        let sort = *self.rng.pick(&["", "created DESC", "players ASC", "properties.mode ASC"]);
        let location = self.rng.per_mille(100).then(|| (*self.rng.pick(LOCATIONS)).to_owned());
        let request = SearchRequest {
            target: Target::Fleet((*self.rng.pick(FLEETS)).to_owned()),
            location,
            filter: filter.to_owned(),
            sort: sort.to_owned(),
            limit: self.rng.range(1, 8) as usize,
            cursor: String::new(),
        };
        self.ask(Purpose::Search(client), Command::Search(request));
    }

    /// Reserves in a Game that was found, sometimes more than there is.
    pub(super) fn reserve(&mut self, client: usize, game: GameId) {
        let count = *self.rng.pick(&[1, 1, 1, 2, 3, 5]);
        let guests = self.party(client, count);
        let key = if self.rng.per_mille(500) { self.key("r") } else { String::new() };
        let hold = None;
        let command = Command::Reserve { game, guests, key: key.clone(), hold };
        if !key.is_empty() {
            self.recent.push(Recent { command: command.clone(), at: self.now });
        }
        self.ask(Purpose::Reserve(client, game), command);
    }

    fn party(&mut self, client: usize, count: usize) -> Vec<Guest> {
        let guests = (0..count).map(|index| {
            let player = format!("player-{client}-{index}");
            Guest { player, data: Bytes::from_static(b"data") }
        });
        guests.collect()
    }

    fn key(&mut self, kind: &str) -> String {
        self.keys += 1;
        format!("{kind}-{}", self.keys)
    }

    /// Some names differ only behind what an order looks at.
    fn game_name(&mut self) -> String {
        match self.rng.below(7) {
            5 => format!("{}a", "long ".repeat(13)),
            6 => format!("{}b", "long ".repeat(13)),
            number => format!("game {number}"),
        }
    }

    fn spec(&mut self) -> GameSpec {
        let mut spec = GameSpec {
            name: self.game_name(),
            capacity: self.rng.range(1, 5) as u32,
            accepts: !self.rng.per_mille(50),
            visible: !self.rng.per_mille(50),
            ends_when_empty: !self.rng.per_mille(200),
            data: Bytes::from_static(b"map"),
            ..GameSpec::default()
        };
        let mode = *self.rng.pick(&["duel", "race"]);
        spec.properties.insert("mode".to_owned(), mode.to_owned());
        if self.rng.per_mille(500) {
            spec.properties.insert("color".to_owned(), "red".to_owned());
        }
        spec
    }

    fn create(&mut self) {
        let mut spec = self.spec();
        spec.key = self.key("g");
        if self.rng.per_mille(300) {
            spec.location = (*self.rng.pick(LOCATIONS)).to_owned();
        }
        let target = match self.rng.below(12) {
            0 => Target::Alias("closed".to_owned()),
            1 | 2 => Target::Alias("live".to_owned()),
            _ => Target::Fleet((*self.rng.pick(FLEETS)).to_owned()),
        };
        let command = Command::Create { target, spec };
        self.recent.push(Recent { command: command.clone(), at: self.now });
        self.ask(Purpose::Create, command);
    }

    fn place(&mut self, client: usize) {
        let count = self.rng.below(4) as usize;
        let mut game = self.spec();
        game.capacity = game.capacity.max(count as u32);
        let party = self.party(client, count);
        let latencies = party.iter().take(1).map(|guest| Latency {
            player: guest.player.clone(),
            location: LOCATIONS[0].to_owned(),
            ms: 80,
        });
        let latencies = latencies.collect();
        let id = self.key("p");
        let queue = (*self.rng.pick(QUEUES)).to_owned();
        let request = PlacementRequest { id, game, party, latencies };
        let command = Command::Place { queue, request };
        self.recent.push(Recent { command: command.clone(), at: self.now });
        self.ask(Purpose::Place(client), command);
    }

    /// Asks for the same again, or with the same key for something else.
    fn again(&mut self) {
        let (now, dawn) = (self.now, RECENT_US.min(self.now));
        self.recent.retain(|recent| recent.at + RECENT_US > now || recent.at + dawn > now);
        if self.recent.is_empty() {
            return;
        }
        let at = self.rng.below(self.recent.len() as u64) as usize;
        let mut command = self.recent[at].command.clone();
        if !self.rng.per_mille(300) {
            return self.ask(Purpose::Again, command);
        }
        let purpose = match &mut command {
            Command::Create { spec, .. } => {
                spec.name.push('!');
                Purpose::Other(spec.key.clone())
            }
            Command::Place { request, .. } => {
                request.game.name.push('!');
                Purpose::Other(request.id.clone())
            }
            // Seats that are over may be forgotten, and their keys with them.
            Command::Reserve { guests, .. } => {
                guests[0].player.push('!');
                Purpose::Whatever
            }
            _ => Purpose::Whatever,
        };
        self.ask(purpose, command);
    }

    fn some_game(&mut self) -> Option<GameId> {
        let games: Vec<GameId> = self.books.games.keys().copied().collect();
        (!games.is_empty()).then(|| *self.rng.pick(&games))
    }

    fn change_game(&mut self) {
        let Some(game) = self.some_game() else { return };
        if self.rng.per_mille(300) {
            return self.ask(Purpose::Whatever, Command::Terminate(game));
        }
        let mut change = GameChange::default();
        match self.rng.below(6) {
            0 => {
                let capacity = self.rng.range(1, 6) as u32;
                change.capacity = Some(capacity);
                let book = self.books.games.entry(game).or_default();
                book.capacity = book.capacity.max(capacity);
            }
            1 => change.accepts = Some(self.rng.per_mille(700)),
            2 => change.visible = Some(self.rng.per_mille(700)),
            3 => change.name = Some(self.game_name()),
            _ => {
                // Both are set, replaced and removed; fleets have an index of one of them only.
                let key = *self.rng.pick(&["color", "mode"]);
                let value = *self.rng.pick(&[None, Some("blue"), Some("duel"), Some("race")]);
                change.properties.insert(key.to_owned(), value.map(str::to_owned));
            }
        }
        self.ask(Purpose::Whatever, Command::Update { game, change });
    }

    fn ask_about(&mut self) {
        if self.rng.per_mille(400) {
            let known: Vec<_> = self.books.placements.keys().cloned().collect();
            if known.is_empty() {
                return;
            }
            let (id, placement) = self.rng.pick(&known).clone();
            let queue = QUEUES.iter().find(|name| rejoin_core::id::QueueId::of(name) == id);
            let queue = queue.copied().unwrap_or_default().to_owned();
            let command = match self.rng.below(4) {
                0 => Command::CancelPlacement { queue, placement },
                _ => Command::DescribePlacement { queue, placement },
            };
            return self.ask(Purpose::Whatever, command);
        }
        let Some(game) = self.some_game() else { return };
        match self.rng.below(2) {
            0 => self.ask(Purpose::Whatever, Command::DescribeGame(game)),
            _ => self.ask(Purpose::Seats(game), Command::ListSeats(game)),
        }
    }

    /// Uses a seat that is another's, is over, or was never claimed.
    fn cheat(&mut self) {
        if self.books.visits.is_empty() {
            return;
        }
        let count = self.books.visits.len() as u64;
        let visit = self.books.visits[self.rng.below(count) as usize].clone();
        let Visit { game, seat, player, .. } = visit;
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

    /// Seats were promised.
    pub(super) fn seats_promised(&mut self, client: usize, game: GameId, seats: &[SeatView]) {
        for seat in seats {
            let SeatState::Reserved { until } = seat.state else { continue };
            if self.books.visits.iter().any(|visit| visit.seat == seat.id) {
                continue;
            }
            let by_host = self.rng.per_mille(300);
            self.enter(client, game, seat.id, seat.player.clone(), until.0, by_host);
        }
        let wall = self.wall_ms();
        self.books.check_oversold(game, wall);
    }

    pub(super) fn enter(
        &mut self,
        client: usize,
        game: GameId,
        seat: SeatId,
        player: String,
        until_ms: u64,
        by_host: bool,
    ) {
        self.sessions += 1;
        let holder = Holder { session: SessionId(self.sessions), stay: 1 };
        let stage = Stage::Reserved;
        let (is_unsure, is_waiting, is_begun) = (false, false, false);
        self.books.visits.push(Visit {
            client,
            game,
            seat,
            player,
            holder,
            by_host,
            stage,
            until_ms,
            is_unsure,
            is_waiting,
            is_begun,
        });
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
                if let Some(SeatState::Reserved { until }) = seats.first().map(|seat| seat.state) {
                    visit.until_ms = until.0;
                }
            }
            Ok(_) => {}
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
