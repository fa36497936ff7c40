//! Commands from outside and questions of hosts, each led to the part that decides.

use rejoin_core::id::{GameId, HostId, OwnerEpoch, QueueId};
use rejoin_core::never;

use super::{Directory, DirectoryOutput};
use crate::caller::{Caller, Lock, Payer, Secret};
use crate::catalogue::FleetSpec;
use crate::command::{Answer, Command, Target};
use crate::effect::NewGame;
use crate::game::core::GameInput;
use crate::game::{Ask, Booking, GameSpec};
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
            Command::For(caller, command) => self.command_for(now, ticket, *command, caller),
            command => self.command_for(now, ticket, command, Caller::default()),
        }
    }

    fn command_for(&mut self, now: Moment, ticket: u64, command: Command, caller: Caller) {
        match command {
            Command::PutFleet(fleet) => self.put_fleet(ticket, fleet),
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
            Command::Register(registration) => self.register(now, ticket, registration, None),
            Command::RegisterOwn { registration, capacity_max } => {
                self.register(now, ticket, registration, Some(capacity_max));
            }
            Command::DescribeHost(host) => match self.ended_hosts.get(&host) {
                Some((_, ended)) if !self.hosts.contains_key(&host) => {
                    let view = ended.clone();
                    self.answer(ticket, Ok(Answer::Host(view)));
                }
                Some(_) | None => {
                    self.ask_host(now, ticket, host, HostInput::Describe { ticket });
                }
            },
            Command::FindHost(game) => {
                let outcome = self.find_host(game);
                self.answer(ticket, outcome);
            }
            Command::DrainHost(host) => {
                self.ask_host(now, ticket, host, HostInput::Drain { ticket });
            }
            Command::Create { target, spec } => {
                if let Err(refusal) = self.create(now, ticket, &target, spec, &caller) {
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
                if let Err(refusal) = self.search(ticket, request) {
                    self.answer(ticket, Err(refusal));
                }
            }
            Command::Subscribe { target, location, filter } => {
                let outcome = self.subscribe(&target, location, &filter, caller.payer);
                self.answer(ticket, outcome);
            }
            Command::Unsubscribe(id) => {
                let outcome = self.unsubscribe(id);
                self.answer(ticket, outcome);
            }
            command => self.command_queue(now, ticket, command, caller),
        }
    }

    fn command_queue(&mut self, now: Moment, ticket: u64, command: Command, caller: Caller) {
        match command {
            Command::PutQueue(spec) => self.put_queue(now, ticket, spec),
            Command::DeleteQueue(name) => {
                self.ask_queue(now, ticket, &name, QueueInput::Delete { ticket });
            }
            Command::Place { queue, request } => {
                let drawn = Secret::draw(&mut self.chance);
                let request = Box::new(request);
                let start = QueueInput::Start { ticket, request, caller, drawn };
                self.ask_queue(now, ticket, &queue, start);
            }
            Command::CancelPlacement { queue, placement } => {
                let cancel = QueueInput::Cancel { ticket, placement, caller };
                self.ask_queue(now, ticket, &queue, cancel);
            }
            Command::DescribePlacement { queue, placement } => {
                self.ask_queue(now, ticket, &queue, QueueInput::Describe { ticket, placement });
            }
            Command::Watch { queue, placement } => {
                let payer = caller.payer;
                self.ask_queue(now, ticket, &queue, QueueInput::Watch { ticket, placement, payer });
            }
            command => self.command_game(now, ticket, command, caller),
        }
    }

    fn command_game(&mut self, now: Moment, ticket: u64, command: Command, caller: Caller) {
        let (game, ask) = match command {
            Command::DescribeGame(game) => (game, Ask::Describe),
            Command::Update { game, change } => (game, Ask::Update { change: Box::new(change) }),
            Command::Terminate(game) => (game, Ask::Terminate),
            Command::ListSeats(game) => (game, Ask::Seats),
            Command::FindSeats { game, filter, after, limit } => {
                (game, Ask::FindSeats { filter, after, limit })
            }
            Command::DescribeSeat { game, seat } => (game, Ask::DescribeSeat { seat }),
            Command::Reserve { game, guests, key, hold } => {
                let ids = self.draw_seats(guests.len().min(limits::PARTY_MAX));
                let drawn = Secret::draw(&mut self.chance);
                let room = self.room_for(&caller);
                (
                    game,
                    Ask::Reserve(Box::new(Booking { guests, key, hold, ids, caller, drawn, room })),
                )
            }
            Command::Extend { game, seat, hold } => (game, Ask::Extend { seat, hold }),
            Command::Release { game, seat } => (game, Ask::Release { seat, caller }),
            Command::Claim { game, seat, player, holder } => {
                (game, Ask::Claim { seat, player, holder })
            }
            Command::Confirm { game, seat, holder } => (game, Ask::Confirm { seat, holder }),
            Command::Abandon { game, seat, holder } => (game, Ask::Abandon { seat, holder }),
            Command::Complete { game, seat, holder } => (game, Ask::Complete { seat, holder }),
            // For a caller within another caller's there is no answer but this; the two functions above
            // take the rest.
            Command::For(..) => return self.answer(ticket, Err(Refusal::NotFound(What::Game))),
            command @ (Command::PutFleet(_)
            | Command::DeleteFleet(_)
            | Command::PutAlias(_)
            | Command::DeleteAlias(_)
            | Command::ListCatalogue
            | Command::PutQueue(_)
            | Command::DeleteQueue(_)
            | Command::Register(_)
            | Command::RegisterOwn { .. }
            | Command::ListQueues
            | Command::DescribeHost(_)
            | Command::ListHosts { .. }
            | Command::DrainHost(_)
            | Command::Create { .. }
            | Command::FindHost(_)
            | Command::ListGames { .. }
            | Command::Place { .. }
            | Command::CancelPlacement { .. }
            | Command::DescribePlacement { .. }
            | Command::Search(_)
            | Command::Subscribe { .. }
            | Command::Watch { .. }
            | Command::Unsubscribe(_)) => {
                never!("nobody took {command:?}");
                return self.answer(ticket, Err(Refusal::NotFound(What::Game)));
            }
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

    /// How many more seats a caller may hold open.
    fn room_for(&self, caller: &Caller) -> usize {
        let most = self.config.open_seats_max;
        caller.payer.map_or(usize::MAX, |payer| {
            most.saturating_sub(self.open_seats.get(&payer).copied().unwrap_or_default())
        })
    }

    /// A seat that a payer holds open, or holds open no more.
    pub(super) fn note_open(&mut self, payer: Payer, is_open: bool) {
        let count = self.open_seats.entry(payer).or_default();
        *count = if is_open { *count + 1 } else { count.saturating_sub(1) };
        if *count == 0 {
            self.open_seats.remove(&payer);
        }
    }

    fn put_fleet(&mut self, ticket: u64, fleet: FleetSpec) {
        let from = (fleet.name.clone(), HostId::default());
        let crew = self.crews.range(from..).take_while(|(name, _)| *name == fleet.name);
        let mut hosts = crew.filter_map(|(_, id)| self.hosts.get(id)).filter(|it| !it.is_over());
        let is_left = hosts.any(|host| !fleet.locations.contains(&host.registration().location));
        if is_left {
            return self.answer(ticket, Err(Refusal::InUse(What::Location)));
        }
        let name = fleet.name.clone();
        if self.catalogue.put_fleet(ticket, fleet) {
            self.redeclare(&name);
        }
        self.drain_catalogue();
    }

    fn delete_fleet(&mut self, ticket: u64, name: &str) {
        let from = (name.to_owned(), HostId::default());
        let has_hosts = self.crews.range(from..).next().is_some_and(|(fleet, _)| fleet == name);
        let has_games = self.shelves.get(name).is_some_and(|shelf| !shelf.is_empty());
        let is_led_to = self.queues_of.contains_key(name);
        if self.catalogue.delete_fleet(ticket, name, has_hosts || has_games || is_led_to) {
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
        self.unlead(id);
        self.tell_queue(now, id, QueueInput::Put { ticket, spec });
        self.lead(id);
    }

    /// Enters a queue at the fleets that it leads to.
    pub(super) fn lead(&mut self, id: QueueId) {
        let Some(queue) = self.queues.get(&id) else {
            return never!("{id:?} is entered at its fleets and is no queue");
        };
        for to in &queue.spec().destinations {
            self.queues_of.entry(to.fleet.clone()).or_default().insert(id);
        }
    }

    /// Takes it out again.
    pub(super) fn unlead(&mut self, id: QueueId) {
        let Some(queue) = self.queues.get(&id) else {
            return never!("{id:?} is taken out of its fleets and is no queue");
        };
        for to in &queue.spec().destinations {
            if let Some(queues) = self.queues_of.get_mut(&to.fleet) {
                queues.remove(&id);
                if queues.is_empty() {
                    self.queues_of.remove(&to.fleet);
                }
            }
        }
    }

    fn register(&mut self, now: Moment, ticket: u64, registration: Registration, own: Option<u32>) {
        let limit = self.config.hosts_max;
        let fleet = self.catalogue.fleet(&registration.fleet);
        let fleet = fleet.and_then(|fleet| check_location(fleet, &registration.location));
        let id = HostId::of(&registration.fleet, &registration.name);
        let is_new = !self.hosts.contains_key(&id);
        let is_full = is_new && self.hosts.len() >= limit;
        let room =
            if is_full { Err(Refusal::LimitReached { what: "hosts", limit }) } else { Ok(()) };
        let is_own = self.hosts.get(&id).is_some_and(|host| host.is_own());
        let free = if is_own && own.is_none() {
            let must = "another one: the server itself is this host";
            Err(Refusal::Invalid { field: "name", must })
        } else {
            Ok(())
        };
        let checked = registration.check().and(fleet).and(room).and(free);
        if let Err(refusal) = checked {
            return self.answer(ticket, Err(refusal));
        }
        if is_new {
            let host = HostCore::create(now.time, self.config.clone(), id);
            self.hosts.insert(id, Box::new(host));
            self.crews.insert((registration.fleet.clone(), id));
        }
        self.ended_hosts.remove(&id);
        self.tell_host(now, id, HostInput::Register { ticket, registration, own });
    }

    fn create(
        &mut self,
        now: Moment,
        ticket: u64,
        target: &Target,
        mut spec: GameSpec,
        caller: &Caller,
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
        let host = self.pick(&spec.fleet, &spec.location, spec.capacity)?;
        if let Some(known) = self.hosts.get(&host) {
            // Searches by location find it where it runs, whatever was asked for.
            spec.location.clone_from(&known.registration().location);
        }
        let (origin, party, lock) = (None, Vec::new(), Lock::default());
        self.create_game(now, NewGame { id, spec, print, host, origin, party, lock });
        let ask = if caller.is_outside { Ask::DescribeNew } else { Ask::Describe };
        self.ask_game(now, ticket, id, ask);
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
        let (ticket, game, ask) = match word {
            HostWord::Accept { ticket, game, seat, player } => {
                (ticket, game, Ask::Accept { host, seat, player, entry: None })
            }
            HostWord::Admit { ticket, game, seat, player, entry } => {
                (ticket, game, Ask::Accept { host, seat, player, entry: Some(entry) })
            }
            HostWord::Remove { ticket, game, seat } => (ticket, game, Ask::Remove { host, seat }),
            _ if !self.hosts.contains_key(&host) => return self.refuse_host(host, lease),
            word => return self.tell_host(now, host, HostInput::Word { lease, word }),
        };
        let Some(known) = self.hosts.get(&host) else {
            // Its question has an answer all the same: its asker waits for one.
            self.answer(ticket, Err(Refusal::NotFound(What::Host)));
            return self.refuse_host(host, lease);
        };
        if known.is_lease(lease) {
            self.ask_game(now, ticket, game, ask);
        } else {
            hit(Mark::StaleLease);
            self.answer(ticket, Err(Refusal::StaleLease));
        }
    }

    /// Tells a process that there is no host of this id.
    fn refuse_host(&mut self, host: HostId, lease: OwnerEpoch) {
        let order = HostOrder::Refused(Refusal::NotFound(What::Host));
        self.push(DirectoryOutput::ToHost { host, lease, order });
    }
}

fn check_location(fleet: &crate::catalogue::FleetSpec, location: &str) -> Result<(), Refusal> {
    if location.is_empty() || fleet.locations.iter().any(|known| known == location) {
        return Ok(());
    }
    Err(Refusal::Invalid { field: "location", must: "one of the fleet's" })
}
