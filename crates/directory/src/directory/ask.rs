//! Commands from outside and questions of hosts, each led to the part that decides.

use rejoin_core::id::{GameId, HostId, OwnerEpoch, QueueId};

use super::{Directory, DirectoryOutput};
use crate::command::{Command, Target};
use crate::effect::NewGame;
use crate::game::core::GameInput;
use crate::game::{Ask, GameSpec};
use crate::host::core::{HostCore, HostInput};
use crate::host::{HostOrder, HostWord, Registration};
use crate::limits;
use crate::mark::{Mark, hit};
use crate::moment::Moment;
use crate::queue::QueueSpec;
use crate::queue::core::{QueueCore, QueueInput};
use crate::refusal::{Refusal, What};

impl Directory {
    pub(super) fn command(&mut self, now: Moment, ticket: u64, command: Command) {
        match command {
            Command::PutFleet(fleet) => {
                let name = fleet.name.clone();
                if self.catalogue.put_fleet(ticket, fleet) {
                    self.redeclare(&name);
                }
                self.drain_catalogue();
            }
            Command::DeleteFleet(name) => self.delete_fleet(ticket, &name),
            Command::PutAlias(alias) => {
                self.catalogue.put_alias(ticket, alias);
                self.drain_catalogue();
            }
            Command::DeleteAlias(name) => {
                self.catalogue.delete_alias(ticket, &name);
                self.drain_catalogue();
            }
            Command::ListCatalogue => {
                self.catalogue.list(ticket);
                self.drain_catalogue();
            }
            Command::Register(registration) => self.register(now, ticket, registration),
            Command::DescribeHost(host) => {
                self.ask_host(now, ticket, host, HostInput::Describe { ticket });
            }
            Command::FindHost(game) => {
                let outcome = self.find_host(game);
                self.answer(ticket, outcome);
            }
            Command::DrainHost(host) => {
                self.ask_host(now, ticket, host, HostInput::Drain { ticket });
            }
            Command::Create { target, spec } => {
                if let Err(refusal) = self.create(now, ticket, &target, spec) {
                    self.answer(ticket, Err(refusal));
                }
            }
            Command::ListGames { target, after, limit } => {
                let outcome = self.list_games(&target, after, limit);
                self.answer(ticket, outcome);
            }
            Command::ListHosts { target, after, limit } => {
                let outcome = self.list_hosts(&target, after, limit);
                self.answer(ticket, outcome);
            }
            Command::ListQueues => {
                let answer = self.list_queues();
                self.answer(ticket, Ok(answer));
            }
            Command::Search(request) => {
                let outcome = self.search(&request).map(crate::Answer::Page);
                self.answer(ticket, outcome);
            }
            Command::Subscribe { target, location, filter } => {
                let outcome = self.subscribe(now.time, &target, location, &filter);
                self.answer(ticket, outcome);
            }
            Command::Unsubscribe(id) => {
                let outcome = self.unsubscribe(id);
                self.answer(ticket, outcome);
            }
            command => self.command_queue(now, ticket, command),
        }
    }

    fn command_queue(&mut self, now: Moment, ticket: u64, command: Command) {
        match command {
            Command::PutQueue(spec) => self.put_queue(now, ticket, spec),
            Command::DeleteQueue(name) => {
                self.ask_queue(now, ticket, &name, QueueInput::Delete { ticket });
            }
            Command::Place { queue, request } => {
                self.ask_queue(now, ticket, &queue, QueueInput::Start { ticket, request });
            }
            Command::CancelPlacement { queue, placement } => {
                self.ask_queue(now, ticket, &queue, QueueInput::Cancel { ticket, placement });
            }
            Command::DescribePlacement { queue, placement } => {
                self.ask_queue(now, ticket, &queue, QueueInput::Describe { ticket, placement });
            }
            Command::Watch { queue, placement } => {
                self.ask_queue(now, ticket, &queue, QueueInput::Watch { ticket, placement });
            }
            command => self.command_game(now, ticket, command),
        }
    }

    fn command_game(&mut self, now: Moment, ticket: u64, command: Command) {
        let (game, ask) = match command {
            Command::DescribeGame(game) => (game, Ask::Describe),
            Command::Update { game, change } => (game, Ask::Update { change: Box::new(change) }),
            Command::Terminate(game) => (game, Ask::Terminate),
            Command::ListSeats(game) => (game, Ask::Seats),
            Command::Reserve { game, guests, key, hold } => {
                let ids = self.draw_seats(guests.len().min(limits::PARTY_MAX));
                (game, Ask::Reserve { guests, key, hold, ids })
            }
            Command::Extend { game, seat, hold } => (game, Ask::Extend { seat, hold }),
            Command::Release { game, seat } => (game, Ask::Release { seat }),
            Command::Claim { game, seat, player, holder } => {
                (game, Ask::Claim { seat, player, holder })
            }
            Command::Confirm { game, seat, holder } => (game, Ask::Confirm { seat, holder }),
            Command::Abandon { game, seat, holder } => (game, Ask::Abandon { seat, holder }),
            Command::Complete { game, seat, holder } => (game, Ask::Complete { seat, holder }),
            // All others were led elsewhere.
            _ => return self.answer(ticket, Err(Refusal::NotFound(What::Game))),
        };
        self.ask_game(now, ticket, game, ask);
    }

    fn ask_game(&mut self, now: Moment, ticket: u64, game: GameId, ask: Ask) {
        if self.games.contains_key(&game) {
            self.tell_game(now, game, GameInput::Ask { ticket, ask });
        } else {
            self.answer(ticket, Err(Refusal::NotFound(What::Game)));
        }
    }

    fn ask_host(&mut self, now: Moment, ticket: u64, host: HostId, input: HostInput) {
        if self.hosts.contains_key(&host) {
            self.tell_host(now, host, input);
        } else {
            self.answer(ticket, Err(Refusal::NotFound(What::Host)));
        }
    }

    fn ask_queue(&mut self, now: Moment, ticket: u64, name: &str, input: QueueInput) {
        let id = QueueId::of(name);
        if self.queues.contains_key(&id) {
            self.tell_queue(now, id, input);
        } else {
            self.answer(ticket, Err(Refusal::NotFound(What::Queue)));
        }
    }

    fn delete_fleet(&mut self, ticket: u64, name: &str) {
        let from = (name.to_owned(), HostId::default());
        let has_hosts = self.crews.range(from..).next().is_some_and(|(fleet, _)| fleet == name);
        let has_games = self.shelves.get(name).is_some_and(|shelf| !shelf.is_empty());
        if self.catalogue.delete_fleet(ticket, name, has_hosts || has_games) {
            self.forget_fleet(name);
        }
        self.drain_catalogue();
    }

    fn put_queue(&mut self, now: Moment, ticket: u64, spec: QueueSpec) {
        let limit = self.config.queues_max;
        let id = QueueId::of(&spec.name);
        let is_new = !self.queues.contains_key(&id);
        let known = spec.destinations.iter().try_for_each(|to| {
            let fleet = self.catalogue.fleet(&to.fleet)?;
            check_location(fleet, to.location.as_deref().unwrap_or_default())
        });
        let is_full = is_new && self.queues.len() >= limit;
        let room =
            if is_full { Err(Refusal::LimitReached { what: "queues", limit }) } else { Ok(()) };
        let checked = spec.check().and(known).and(room);
        if let Err(refusal) = checked {
            return self.answer(ticket, Err(refusal));
        }
        if is_new {
            self.queues.insert(id, QueueCore::create(now, self.config.clone(), id));
        }
        self.tell_queue(now, id, QueueInput::Put { ticket, spec });
    }

    fn register(&mut self, now: Moment, ticket: u64, registration: Registration) {
        let limit = self.config.hosts_max;
        let fleet = self.catalogue.fleet(&registration.fleet);
        let fleet = fleet.and_then(|fleet| check_location(fleet, &registration.location));
        let id = HostId::of(&registration.fleet, &registration.name);
        let is_new = !self.hosts.contains_key(&id);
        let is_full = is_new && self.hosts.len() >= limit;
        let room =
            if is_full { Err(Refusal::LimitReached { what: "hosts", limit }) } else { Ok(()) };
        let checked = registration.check().and(fleet).and(room);
        if let Err(refusal) = checked {
            return self.answer(ticket, Err(refusal));
        }
        if is_new {
            let host = HostCore::create(now.time, self.config.clone(), id);
            self.hosts.insert(id, Box::new(host));
            self.crews.insert((registration.fleet.clone(), id));
        }
        self.tell_host(now, id, HostInput::Register { ticket, registration });
    }

    fn create(
        &mut self,
        now: Moment,
        ticket: u64,
        target: &Target,
        mut spec: GameSpec,
    ) -> Result<(), Refusal> {
        let fleet = self.catalogue.resolve(target)?;
        check_location(fleet, &spec.location)?;
        spec.fleet = fleet.name.clone();
        if spec.key.is_empty() {
            let random: [u8; 16] = self.chance.bytes();
            spec.key = GameId(random).to_string();
        }
        limits::key("idempotency key", &spec.key)?;
        spec.check()?;
        let (id, print) = (GameId::of(&spec.fleet, &spec.key), spec.print());
        if let Some(game) = self.games.get(&id) {
            if !game.was_asked_with(print) {
                hit(Mark::KeyReused);
                return Err(Refusal::KeyReused);
            }
            hit(Mark::CreatedAgain);
            self.ask_game(now, ticket, id, Ask::Describe);
            return Ok(());
        }
        let limit = self.config.games_max;
        if self.games.len() >= limit {
            return Err(Refusal::LimitReached { what: "games", limit });
        }
        let Some(host) = self.pick(&spec.fleet, &spec.location) else {
            hit(Mark::NoHost);
            return Err(Refusal::NoHost);
        };
        let (origin, party) = (None, Vec::new());
        self.create_game(now, NewGame { id, spec, print, host, origin, party });
        self.ask_game(now, ticket, id, Ask::Describe);
        Ok(())
    }

    /// A word of a host's process. Its questions about seats fail closed: whoever does not speak for
    /// the host learns nothing.
    pub(super) fn host_said(
        &mut self,
        now: Moment,
        host: HostId,
        lease: OwnerEpoch,
        word: HostWord,
    ) {
        let Some(known) = self.hosts.get(&host) else {
            let order = HostOrder::Refused(Refusal::NotFound(What::Host));
            return self.push(DirectoryOutput::ToHost { host, lease, order });
        };
        let (ticket, game, ask) = match word {
            HostWord::Accept { ticket, game, seat, player } => {
                (ticket, game, Ask::Accept { host, seat, player, entry: None })
            }
            HostWord::Admit { ticket, game, seat, player, entry } => {
                (ticket, game, Ask::Accept { host, seat, player, entry: Some(entry) })
            }
            HostWord::Remove { ticket, game, seat } => (ticket, game, Ask::Remove { host, seat }),
            word => return self.tell_host(now, host, HostInput::Word { lease, word }),
        };
        if known.is_lease(lease) {
            self.ask_game(now, ticket, game, ask);
        } else {
            hit(Mark::StaleLease);
            self.answer(ticket, Err(Refusal::StaleLease));
        }
    }
}

fn check_location(fleet: &crate::catalogue::FleetSpec, location: &str) -> Result<(), Refusal> {
    if location.is_empty() || fleet.locations.iter().any(|known| known == location) {
        return Ok(());
    }
    Err(Refusal::Invalid { field: "location", must: "one of the fleet's" })
}
