//! What clients ask for besides the steps of a seat: searches, reservations for one player or a party,
//! Games, placements, changes, and the same again with its key. Some of it is asked as a caller from
//! outside, who pays for what it holds open and has a secret.

use std::time::Duration;

use bytes::Bytes;
use rejoin_core::id::{GameId, QueueId};
use rejoin_directory::game::{GameChange, GameSpec};
use rejoin_directory::queue::{Latency, PlacementRequest};
use rejoin_directory::search::SearchRequest;
use rejoin_directory::{Caller, Command, Payer, Secret, Target};

use super::books::Books;
use super::parties::{Fate, Party};
use super::world::{FLEETS, LOCATIONS, Purpose, QUEUES, World};

/// Something that may be asked again with its key.
#[derive(Clone, Debug)]
pub struct Recent {
    /// What.
    pub command: Command,
    /// The caller from outside that asks; none: the server itself.
    pub caller: Option<Caller>,
    /// The party that seats are asked for, and its client.
    pub party: Option<(usize, usize)>,
    /// When.
    pub at: u64,
}

/// Keys are asked again only while nothing can have been forgotten.
const RECENT_US: u64 = 60_000_000;

/// The same command, asked by a caller from outside if there is one.
pub(super) fn asked_by(caller: Option<&Caller>, command: Command) -> Command {
    match caller {
        Some(caller) => Command::For(caller.clone(), Box::new(command)),
        None => command,
    }
}

impl World {
    pub(super) fn look_for_game(&mut self, client: usize) {
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
        let key = if self.rng.per_mille(500) { self.key("r") } else { String::new() };
        let hold = self.rng.per_mille(300).then(|| self.draw_hold());
        let caller = self.caller(client);
        let number = self.new_party(Party {
            game: Some(game),
            hold,
            ..Self::party(client, count, caller.clone())
        });
        let guests = Books::guests(number, &self.books.parties[number].players);
        let command = Command::Reserve { game, guests, key: key.clone(), hold };
        if !key.is_empty() {
            let (command, caller, at) = (command.clone(), caller.clone(), self.now);
            self.recent.push(Recent { command, caller, party: Some((number, client)), at });
        }
        self.ask(Purpose::Reserve(client, number), asked_by(caller.as_ref(), command));
    }

    /// From less than a second to more than a minute.
    pub(super) fn draw_hold(&mut self) -> Duration {
        Duration::from_millis(self.rng.range(500, 70_000))
    }

    /// Who asks: the server itself, or a caller from outside with or without a secret of its own.
    fn caller(&mut self, client: usize) -> Option<Caller> {
        if self.rng.per_mille(600) {
            return None;
        }
        let payer = Some(Payer { key: 1, network: client as u128 });
        let secret = self.rng.per_mille(500).then(|| self.draw_secret());
        Some(Caller { is_outside: true, payer, secret })
    }

    pub(super) fn draw_secret(&mut self) -> Secret {
        let text = format!("{:032x}", self.rng.draw());
        Secret::new(&text).expect("32 digits are a secret")
    }

    /// Players of a client.
    fn party(client: usize, count: usize, caller: Option<Caller>) -> Party {
        Party {
            game: None,
            players: (0..count).map(|index| format!("player-{client}-{index}")).collect(),
            caller,
            hold: None,
            fate: Fate::Asked,
            sends: 0,
            life: 0,
            sent_at_ms: 0,
            open_before: 0,
        }
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
            several_seats: self.rng.per_mille(200),
            ..GameSpec::default()
        };
        let mode = *self.rng.pick(&["duel", "race"]);
        spec.properties.insert("mode".to_owned(), mode.to_owned());
        if self.rng.per_mille(500) {
            spec.properties.insert("color".to_owned(), "red".to_owned());
        }
        spec
    }

    pub(super) fn create(&mut self) {
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
        let (again, at) = (command.clone(), self.now);
        self.recent.push(Recent { command: again, caller: None, party: None, at });
        self.ask(Purpose::Create, command);
    }

    pub(super) fn place(&mut self, client: usize) {
        let count = self.rng.below(4) as usize;
        let mut game = self.spec();
        game.capacity = game.capacity.max(count as u32);
        let caller = self.caller(client);
        let number = self.new_party(Self::party(client, count, caller.clone()));
        let party = Books::guests(number, &self.books.parties[number].players);
        let latencies = party.iter().take(1).map(|guest| Latency {
            player: guest.player.clone(),
            location: LOCATIONS[0].to_owned(),
            ms: 80,
        });
        let latencies = latencies.collect();
        let id = self.key("p");
        let queue = (*self.rng.pick(QUEUES)).to_owned();
        let book = self.books.placements.entry((QueueId::of(&queue), id.clone())).or_default();
        book.party = Some(number);
        book.secret = caller.as_ref().and_then(|caller| caller.secret.clone());
        let request = PlacementRequest { id, game, party, latencies };
        let command = Command::Place { queue, request };
        let (again, at) = (command.clone(), self.now);
        self.recent.push(Recent { command: again, caller: caller.clone(), party: None, at });
        self.ask(Purpose::Place(client), asked_by(caller.as_ref(), command));
    }

    /// A key comes again, with the same request or with another one.
    pub(super) fn again(&mut self) {
        let end = self.now;
        self.recent.retain(|recent| recent.at + RECENT_US > end);
        if self.recent.is_empty() {
            return;
        }
        let Recent { mut command, caller, party, .. } = self.rng.pick(&self.recent).clone();
        let is_other = self.rng.per_mille(400);
        let purpose = match &mut command {
            Command::Create { spec, .. } if is_other => {
                spec.name.push('!');
                Purpose::Other(spec.key.clone())
            }
            Command::Place { request, .. } if is_other => {
                request.game.name.push('!');
                Purpose::Other(request.id.clone())
            }
            // Seats that are over may be forgotten, and their keys with them: then this is a party of
            // its own.
            Command::Reserve { game, guests, hold, .. } if is_other => {
                let players = guests.iter().map(|guest| format!("{}!", guest.player)).collect();
                let party = Party {
                    game: Some(*game),
                    hold: *hold,
                    players,
                    ..Self::party(0, 0, caller.clone())
                };
                let number = self.new_party(party);
                *guests = Books::guests(number, &self.books.parties[number].players);
                Purpose::Whatever
            }
            Command::Reserve { .. } => match party {
                Some((number, client)) => {
                    self.party_again(number);
                    Purpose::Reserve(client, number)
                }
                None => Purpose::Whatever,
            },
            _ => Purpose::Again,
        };
        self.ask(purpose, asked_by(caller.as_ref(), command));
    }

    fn some_game(&mut self) -> Option<GameId> {
        let games: Vec<GameId> = self.books.games.keys().copied().collect();
        (!games.is_empty()).then(|| *self.rng.pick(&games))
    }

    pub(super) fn change_game(&mut self) {
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

    pub(super) fn ask_about(&mut self) {
        if self.rng.per_mille(400) {
            let known: Vec<_> = self.books.placements.keys().cloned().collect();
            if known.is_empty() {
                return;
            }
            let (id, placement) = self.rng.pick(&known).clone();
            let queue = QUEUES.iter().find(|name| rejoin_core::id::QueueId::of(name) == id);
            let queue = queue.copied().unwrap_or_default().to_owned();
            return match self.rng.below(4) {
                0 => self.cancel(id, queue, placement),
                _ => self.ask(Purpose::Whatever, Command::DescribePlacement { queue, placement }),
            };
        }
        let Some(game) = self.some_game() else { return };
        match self.rng.below(2) {
            0 => self.ask(Purpose::Whatever, Command::DescribeGame(game)),
            _ => self.ask(Purpose::Seats(game), Command::ListSeats(game)),
        }
    }

    /// Cancels a placement, as the server itself or with a secret that is the right one or is not.
    fn cancel(&mut self, id: QueueId, queue: String, placement: String) {
        let book = self.books.placements.get(&(id, placement.clone())).cloned().unwrap_or_default();
        let party = book.party.and_then(|number| self.books.parties.get(number));
        let payer = party.and_then(Party::payer);
        let cancel = Command::CancelPlacement { queue, placement };
        if payer.is_none() || self.rng.per_mille(400) {
            return self.ask(Purpose::Whatever, cancel);
        }
        let (purpose, secret) = match book.secret {
            Some(secret) if self.rng.per_mille(500) => (Purpose::RightSecret, Some(secret)),
            _ => (Purpose::WrongSecret, self.wrong_secret()),
        };
        let caller = Caller { is_outside: true, payer, secret };
        self.ask(purpose, asked_by(Some(&caller), cancel));
    }

    /// None, or one that nothing was locked with.
    pub(super) fn wrong_secret(&mut self) -> Option<Secret> {
        self.rng.per_mille(500).then(|| self.draw_secret())
    }
}
