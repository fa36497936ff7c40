//! Games and seats in the world: what players ask of the directory, how its words travel, and whether
//! seats and members agree when all is quiet.

use bytes::Bytes;
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{
    Answer as HubAnswer, Command as HubCommand, HubInput, SessionCommand, ZoneCommand,
};
use rejoin_core::id::{GameId, SeatId, SessionId};
use rejoin_core::seat::{GameNews, SeatAsk, SeatRefusal, SeatStep};
use rejoin_directory::catalogue::FleetSpec;
use rejoin_directory::game::{GameSpec, Guest, SeatState};
use rejoin_directory::host::Registration;
use rejoin_directory::{
    Agreeable, Answer, Command, DirectoryInput, DirectoryOutput, LocalHost, LocalInput,
    LocalOutput, Refusal, Target, seating,
};

use crate::bureau::{Asked, Bureau, KIND, LOCATION, Ticket, zone_id, zone_name};
use crate::check::Sleeper;
use crate::event::Event;
use crate::world::World;

/// Games that players ask for; more are not made while so many are known.
const GAMES_MAX: usize = 4;

impl World {
    /// Something happens to the directory, or through it.
    pub fn happen_in_games(&mut self, event: Event) {
        match event {
            Event::ToDirectory { input, .. } => self.directory(*input),
            Event::DirectoryWake { .. } => {
                let bureau = self.node.bureau.as_mut();
                if bureau.and_then(|b| b.wake.take_if(|at| *at <= self.now)).is_some() {
                    self.directory(DirectoryInput::Wake);
                    let again = self.node.bureau.as_ref().and_then(|b| b.wake) == Some(self.now);
                    self.watch.woken(self.now, Sleeper::Directory, again);
                }
            }
            Event::SeatAnswered { request, verdict, .. } => {
                self.hub(HubInput::Seat(request, verdict));
            }
            Event::ToLocalHost { input, .. } => self.local_host(*input),
            Event::Errand { game, command, .. } => self.errand(game, *command),
            _ => {}
        }
    }

    /// The server's own host comes, with whatever it has.
    pub fn open_bureau(&mut self) {
        if self.node.bureau.is_none() {
            return;
        }
        let locations = vec![LOCATION.to_owned()];
        let fleet = FleetSpec { name: KIND.to_owned(), locations, indexed: Vec::new() };
        self.ask_directory(Asked::Nothing, Command::PutFleet(fleet));
        let registration = Registration {
            fleet: KIND.to_owned(),
            name: "local".to_owned(),
            location: LOCATION.to_owned(),
            address: "sim".to_owned(),
            games_max: 100,
            is_reusable: true,
        };
        self.ask_directory(Asked::Register, Command::Register(registration));
        // Drains what the opening gave out.
        self.directory(DirectoryInput::Wake);
    }

    /// Asks the directory, which takes a moment.
    pub fn ask_directory(&mut self, asked: Asked, command: Command) {
        let Some(bureau) = &mut self.node.bureau else { return };
        bureau.tickets += 1;
        let ticket = bureau.tickets;
        bureau.asked.insert(ticket, asked);
        self.send_directory(DirectoryInput::Command { ticket, command });
    }

    fn send_directory(&mut self, input: DirectoryInput) {
        let incarnation = self.node.incarnation;
        let at = self.now + self.rng.below(self.knobs.mailbox_us + 1);
        let Some(bureau) = &mut self.node.bureau else { return };
        bureau.mail_at = bureau.mail_at.max(at);
        let (at, input) = (bureau.mail_at, Box::new(input));
        self.queue.push(at, Event::ToDirectory { incarnation, input });
    }

    /// Gives the directory one input and carries out what follows.
    pub fn directory(&mut self, input: DirectoryInput) {
        let time = self.node.time(self.now);
        let Some(bureau) = &mut self.node.bureau else { return };
        bureau.directory.handle(time, input);
        loop {
            let output = self.node.bureau.as_mut().and_then(|b| b.directory.next_output());
            let Some(output) = output else { break };
            if self.crashes_here() {
                return;
            }
            self.carry_out_directory(output);
        }
        let Some(bureau) = &mut self.node.bureau else { return };
        let Some(deadline) = bureau.directory.next_deadline() else { return };
        let at = self.node.boot_at.saturating_add(deadline.0).max(self.now);
        if bureau.wake.is_none_or(|planned| at < planned) {
            bureau.wake = Some(at);
            let incarnation = self.node.incarnation;
            self.queue.push(at, Event::DirectoryWake { incarnation });
        }
    }

    fn carry_out_directory(&mut self, output: DirectoryOutput) {
        let incarnation = self.node.incarnation;
        match output {
            DirectoryOutput::Commit(batch) => self.submit(batch),
            DirectoryOutput::Answer { ticket, outcome } => {
                let asked = self.node.bureau.as_mut().and_then(|b| b.asked.remove(&ticket));
                if let Some(asked) = asked {
                    self.directory_answered(asked, *outcome);
                }
            }
            DirectoryOutput::ToHost { host, lease, order } => {
                let is_ours = |bureau: &&Bureau| bureau.lease == (host, lease);
                if self.node.bureau.as_ref().filter(is_ours).is_some() {
                    self.tell(|| format!("order {order:?}"));
                    let input = Box::new(LocalInput::Order(order));
                    self.plan(0, Event::ToLocalHost { incarnation, input });
                }
            }
            DirectoryOutput::Event(event) => self.tell(|| format!("directory: {event:?}")),
            DirectoryOutput::News { .. }
            | DirectoryOutput::PlacementNews { .. }
            | DirectoryOutput::Cut { .. } => {}
        }
    }

    fn directory_answered(&mut self, asked: Asked, outcome: Result<Answer, Refusal>) {
        let incarnation = self.node.incarnation;
        match (asked, outcome) {
            (Asked::Seat(request), outcome) => {
                let mut verdict = outcome.map(drop).map_err(|refusal| seating::refusal(&refusal));
                // Once in a while it cannot say, or takes its time.
                let mut wait = self.rng.below(self.knobs.mailbox_us + 1);
                let slow = if request.ask == SeatAsk::Confirm { 150 } else { 30 };
                if !self.quiet && self.rng.per_mille(slow) {
                    wait = self.rng.below(9_000_000);
                }
                if !self.quiet && self.rng.per_mille(10) {
                    verdict = Err(SeatRefusal::Unavailable);
                }
                self.tell(|| format!("seat {request:?}: {verdict:?}"));
                self.plan(wait, Event::SeatAnswered { incarnation, request, verdict });
            }
            (Asked::Register, Ok(Answer::Host(view))) => {
                let zones = self.node.hub.iter().flat_map(|hub| {
                    hub.games().map(|(game, _)| (game, hub.match_running(zone_id(game))))
                });
                let games: Vec<(GameId, Option<bool>)> = zones.collect();
                let mut local = LocalHost::new(Box::new(Agreeable), true);
                local.begin(7_400, games);
                if let Some(bureau) = &mut self.node.bureau {
                    bureau.lease = (view.id, view.lease);
                    bureau.local = Some(local);
                }
                self.drain_local();
            }
            (Asked::Game, Ok(Answer::Game(view))) if !self.games.contains(&view.id) => {
                self.games.push(view.id);
            }
            (Asked::Reserve(player, game), Ok(Answer::Seats(seats))) => {
                let seats = seats.iter().map(|seat| Ticket { game, seat: seat.id });
                self.players[player].tickets.extend(seats);
            }
            (Asked::NativeSeat(session, game), Ok(Answer::Seats(seats))) => {
                let Some(seat) = seats.first() else { return };
                let (name, payload) = (zone_name(game), Bytes::new());
                let take = SessionCommand::TakeSeat(name, seat.id, payload);
                let take = HubCommand::Session(SessionId(session), take);
                let wait = self.rng.below(300_000);
                self.plan(wait, Event::Command { incarnation, command: Box::new(take) });
            }
            (
                Asked::Reserve(_, game) | Asked::NativeSeat(_, game),
                Err(Refusal::NotFound(_) | Refusal::WrongStatus(_)),
            ) => {
                // A Game that was not durable when the server died, or one that has ended.
                self.over.extend(self.games.iter().filter(|known| **known == game));
                self.games.retain(|known| *known != game);
            }
            _ => {}
        }
    }

    /// Gives the server's own host one input and carries out what follows.
    pub fn local_host(&mut self, input: LocalInput) {
        if let Some(local) = self.node.bureau.as_mut().and_then(|bureau| bureau.local.as_mut()) {
            local.handle(input);
        }
        self.drain_local();
    }

    fn drain_local(&mut self) {
        let incarnation = self.node.incarnation;
        loop {
            let local = self.node.bureau.as_mut().and_then(|bureau| bureau.local.as_mut());
            let Some(output) = local.and_then(LocalHost::next_output) else { return };
            if self.crashes_here() {
                return;
            }
            self.tell(|| format!("host: {output:?}"));
            match output {
                LocalOutput::Say(word) => {
                    let Some((host, lease)) = self.node.bureau.as_ref().map(|b| b.lease) else {
                        return;
                    };
                    self.send_directory(DirectoryInput::HostSaid { host, lease, word });
                }
                LocalOutput::Open(game) => {
                    let command =
                        Box::new(HubCommand::Zone(ZoneCommand::OpenGame(zone_name(game))));
                    self.plan(1, Event::Errand { incarnation, game, command });
                }
                LocalOutput::End(game) => {
                    let command = Box::new(HubCommand::Zone(ZoneCommand::End(zone_id(game))));
                    self.plan(1, Event::Errand { incarnation, game, command });
                }
                LocalOutput::Look => {
                    let input = Box::new(LocalInput::Health(true));
                    self.plan(1, Event::ToLocalHost { incarnation, input });
                }
            }
        }
    }

    /// The server's own host wants something of the hub.
    pub fn errand(&mut self, game: GameId, command: HubCommand) {
        self.tickets += 1;
        let ticket = self.tickets;
        if let Some(bureau) = &mut self.node.bureau {
            bureau.errands.insert(ticket, game);
        }
        self.hub(HubInput::Command { ticket, command });
    }

    /// The hub answered a command of the server's own host.
    pub fn errand_done(&mut self, ticket: u64, answer: &HubAnswer) {
        let incarnation = self.node.incarnation;
        let errand = self.node.bureau.as_mut().and_then(|b| b.errands.remove(&ticket));
        let input = match (errand, answer) {
            (Some(game), HubAnswer::Refused(code)) => {
                LocalInput::ZoneRefused(game, format!("{code:?}"))
            }
            (Some(game), HubAnswer::Unknown) => LocalInput::ZoneEnded(game),
            _ => return,
        };
        self.plan(0, Event::ToLocalHost { incarnation, input: Box::new(input) });
    }

    /// What became of a Game's zone reaches the server's own host.
    pub fn tell_host(&mut self, zone: &ZoneName, news: GameNews) {
        let incarnation = self.node.incarnation;
        self.tell(|| format!("{zone:?} {news:?}"));
        let Some(input) = LocalInput::news(zone, news) else { return };
        let wait = self.rng.below(self.knobs.mailbox_us + 1);
        let Some(bureau) = &mut self.node.bureau else { return };
        bureau.news_at = bureau.news_at.max(self.now + wait);
        let (at, input) = (bureau.news_at, Box::new(input));
        self.queue.push(at, Event::ToLocalHost { incarnation, input });
    }

    /// A player outside zones wants to play a Game: it shows a ticket, or asks for one.
    pub fn seek_game(&mut self, index: usize) {
        let player = &mut self.players[index];
        if !player.tickets.is_empty() && self.rng.per_mille(800) {
            let at = self.rng.below(player.tickets.len() as u64) as usize;
            let ticket = player.tickets[at];
            if self.rng.per_mille(700) {
                player.tickets.swap_remove(at);
            }
            let (seat, payload) = match self.rng.below(40) {
                0 => (SeatId([7; 16]).to_string(), &b""[..]),
                1 => (String::new(), &b""[..]),
                2 | 3 => (ticket.seat.to_string(), &b"deny"[..]),
                _ => (ticket.seat.to_string(), &b""[..]),
            };
            let game = ticket.game.to_string();
            // A full buffer is not this player's worry.
            let _ = player.client.join_game(KIND, game, seat, Bytes::from_static(payload));
            return;
        }
        let session = player.books.session.map(SessionId);
        let id = session.and_then(|id| self.node.hub.as_ref()?.session(id));
        let Some(id) = id.map(|session| session.player()) else { return };
        let make =
            self.games.is_empty() || (self.rng.per_mille(100) && self.games.len() < GAMES_MAX);
        if make {
            let (key, capacity) = (format!("k{}", self.rng.below(1_000)), self.rng.range(1, 4));
            let ends_when_empty = self.rng.per_mille(700);
            let capacity = u32::try_from(capacity).unwrap_or(1);
            let spec = GameSpec { key, capacity, ends_when_empty, ..GameSpec::default() };
            let target = Target::Fleet(KIND.to_owned());
            return self.ask_directory(Asked::Game, Command::Create { target, spec });
        }
        let game = *self.rng.pick(&self.games);
        let guests = vec![Guest { player: id.to_string(), data: Bytes::new() }];
        let reserve = Command::Reserve { game, guests, key: String::new(), hold: None };
        self.ask_directory(Asked::Reserve(index, game), reserve);
    }

    /// A seat is reserved for a session that lives in the server; it takes it once it is told which.
    pub fn seat_native(&mut self) {
        let Some(session) = self.natives.last().copied() else { return };
        let known = self.node.hub.as_ref().and_then(|hub| hub.session(SessionId(session)));
        let Some(player) = known.map(|session| session.player().to_string()) else { return };
        if self.games.is_empty() {
            return;
        }
        let game = *self.rng.pick(&self.games);
        let guests = vec![Guest { player, data: Bytes::new() }];
        let reserve = Command::Reserve { game, guests, key: String::new(), hold: None };
        self.ask_directory(Asked::NativeSeat(session, game), reserve);
    }

    /// Whether the directory has heard of every stay.
    #[must_use]
    pub fn seats_settled(&self) -> bool {
        let hub = self.node.hub.iter();
        let mut seats = hub.flat_map(|hub| hub.sessions()).flat_map(|(_, session)| session.seats());
        self.node.bureau.is_none() || seats.all(|seating| seating.step == SeatStep::Active)
    }

    /// At rest, seats and members agree: nobody is in without a seat, and no seat is in use without
    /// somebody in.
    pub fn check_seats(&mut self) {
        // A session that rotted away cannot tell anybody that its stay is over.
        let struck = &self.node.disk.struck;
        let rotted = ["a scope rotted", "a write went astray"];
        if rotted.iter().any(|name| struck.contains_key(name)) {
            return;
        }
        let time = self.node.time(self.now);
        let (Some(hub), Some(bureau)) = (&self.node.hub, &mut self.node.bureau) else { return };
        let mut found = Vec::new();
        let zones: Vec<GameId> = hub.games().map(|(game, _)| game).collect();
        for game in &zones {
            if bureau.is_over(time, *game) == Some(true) {
                found.push(format!("there is a zone of {game}, which is over"));
            }
        }
        for game in self.games.iter().chain(&self.over).chain(&zones) {
            let zone = zone_id(*game);
            let mut members: Vec<(u64, u32)> = hub
                .sessions()
                .filter(|(_, session)| session.place().is_in(zone))
                .map(|(id, session)| (id.0, session.leg().stay))
                .collect();
            members.sort_unstable();
            let mut holders = Vec::new();
            let Some(seats) = bureau.live_seats(time, *game) else { continue };
            for seat in seats {
                match seat.state {
                    SeatState::Active { holder: Some(holder) } => {
                        holders.push((holder.session.0, holder.stay));
                    }
                    SeatState::Claimed { holder, .. } => {
                        found.push(format!("a seat of {game} is claimed for ever by {holder:?}"));
                    }
                    _ => {}
                }
            }
            holders.sort_unstable();
            if members != holders {
                found.push(format!("{game} has members {members:?} and seats of {holders:?}"));
            }
        }
        for text in found {
            self.watch.fail("seat-held", text);
        }
    }
}
