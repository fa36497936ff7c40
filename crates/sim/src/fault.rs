//! What goes wrong, what people do, and what onlookers look at.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use rejoin_core::event::EndCause;
use rejoin_core::exchange::{Hold, ZoneName};
use rejoin_core::hub::{
    Audience, Changes, Command, HubInput, PlayerCommand, SessionCommand, SessionConfig, Whom,
    ZoneCommand,
};
use rejoin_core::id::{PlayerId, SessionId, ZoneId};
use rejoin_core::scope::ScopeId;
use rejoin_core::seat::SeatStep;
use rejoin_core::session::Place;
use rejoin_core::time::WallTime;
use rejoin_testkit::parts::stamp::Stamp;
use rejoin_wire::Encoding;

use crate::event::Event;
use crate::link::Who;
use crate::speech::{Verb, Wish};
use crate::world::World;

/// Simulated time between two looks at whether something goes wrong.
const FAULT_EVERY_US: u64 = 100_000;

impl World {
    /// Everybody begins.
    pub fn begin(&mut self) {
        self.restart();
        self.open_accounts();
        for index in 0..self.players.len() {
            let wait = self.rng.below(500_000);
            self.plan(wait, Event::Act { player: index });
        }
        for hostile in 0..self.hostiles.len() {
            let wait = self.rng.below(1_000_000);
            self.plan(wait, Event::HostileAct { hostile });
        }
        self.plan(FAULT_EVERY_US, Event::Fault);
        let trouble = self.knobs.trouble.as_micros() as u64;
        self.plan(trouble, Event::Quiet);
    }

    /// The server's process starts.
    pub fn restart(&mut self) {
        if self.node.hub.is_some() {
            return;
        }
        if self.node.disk.full_until > self.now {
            // Opening is writing: a server does not start on a full disk.
            let wait = self.node.disk.full_until - self.now;
            return self.plan(wait, Event::Restart);
        }
        if !self.quiet && self.rng.per_mille(self.knobs.faults.crash_in_start / 2) {
            self.tell(|| "stumble".to_owned());
            self.node.stumble(&mut self.rng);
        }
        self.tell(|| "boot".to_owned());
        self.natives.clear();
        let damaged = self.node.boot(self.now, &self.knobs, &mut self.rng);
        for text in damaged {
            self.watch.fail("no-lockout", text);
        }
        if !self.quiet && self.rng.per_mille(self.knobs.faults.crash_in_start) {
            self.node.crash_in = Some(self.rng.range(1, 12));
        }
        // Drains what the start gave out.
        self.hub(HubInput::Wake);
        self.open_bureau();
    }

    /// Whether the server crashes right here.
    pub fn crashes_here(&mut self) -> bool {
        let Some(left) = &mut self.node.crash_in else { return false };
        *left = left.saturating_sub(1);
        if *left > 0 {
            return false;
        }
        self.crash();
        true
    }

    /// The server's process is asked to end, and says goodbye first.
    fn shut_down(&mut self) {
        self.tell(|| "shutdown".to_owned());
        let incarnation = self.node.incarnation;
        let wait = self.rng.below(2_000_000);
        self.plan(wait, Event::Ended { incarnation });
        self.node.is_stopping = true;
        self.hub(HubInput::Shutdown);
    }

    /// The process that said goodbye ends, unless it crashed before.
    pub fn ended(&mut self, incarnation: u64) {
        if self.node.hub.is_some() && self.node.incarnation == incarnation {
            self.crash();
        }
    }

    /// The server's process is gone.
    pub fn crash(&mut self) {
        self.tell(|| "crash".to_owned());
        self.note_crash();
        self.forget_holds();
        let is_paused = !self.quiet && self.rng.per_mille(self.knobs.faults.paused);
        let late = self.node.kill(is_paused, &mut self.rng);
        for _ in 0..late {
            let wait = self.rng.below(8_000_000);
            self.plan(wait, Event::Late);
        }
        if !is_paused && !self.quiet && self.rng.per_mille(self.knobs.faults.rot) {
            self.rot();
        }
        self.node.crash_in = None;
        self.queue.forget_servers();
        let open: Vec<u64> = self.links.keys().copied().collect();
        for id in open {
            let told = !self.rng.per_mille(self.knobs.faults.half_open / 2);
            let way = self.latency();
            let Some(link) = self.links.get_mut(&id) else { continue };
            link.server_open = false;
            link.up_dead = true;
            if !link.down_dead && told {
                let at = link.down_at.max(self.now + way);
                self.queue.push(at, Event::ClientClosed { link: id, code: None });
            }
            link.down_dead = true;
        }
        let wait = self.rng.below(4_000_000);
        self.plan(wait, Event::Restart);
    }

    /// What the server was doing when it crashed.
    fn note_crash(&mut self) {
        let Some(hub) = &self.node.hub else { return };
        let mut doing = BTreeSet::new();
        if !hub.is_ready() {
            doing.insert("crash within recovery");
        }
        for (_, session) in hub.sessions() {
            match session.place() {
                Place::Joining(joining) if joining.to == 0 => {
                    doing.insert("crash within a transfer")
                }
                Place::Joining(_) => doing.insert("crash within a join"),
                _ => false,
            };
            if session.ending().is_some() {
                doing.insert("crash within the end of a session");
            }
            for seating in session.seats() {
                doing.insert(match seating.step {
                    SeatStep::Claiming => "crash within the claim of a seat",
                    SeatStep::Confirming => "crash within the confirmation of a seat",
                    SeatStep::Active => "crash with a seat in use",
                    SeatStep::Abandoning => "crash before a seat was given back",
                    SeatStep::Completing => "crash before a seat was freed",
                });
            }
        }
        for seat in self.node.zones.values() {
            let counts = seat.machine.counts();
            if counts.is_ending {
                doing.insert("crash within the end of a zone");
            } else if counts.parting > 0 {
                doing.insert("crash within a part");
            }
        }
        for name in doing {
            self.node.disk.strike(name);
        }
    }

    /// A row rots while the server is down. Nobody can be promised what was in it.
    fn rot(&mut self) {
        for scope in self.node.disk.rot(&mut self.rng) {
            self.tell(|| format!("rot {scope:?}"));
            match scope {
                ScopeId::Session(session) => self.forgive(session),
                // Whoever was there, is on the way there or has words of it in store may lose them.
                _ => {
                    let sessions: Vec<u64> =
                        self.players.iter().filter_map(|player| player.books.session).collect();
                    self.watch.volatile.extend(sessions);
                }
            }
        }
    }

    /// Something may go wrong.
    pub fn fault(&mut self) {
        if self.quiet {
            return;
        }
        self.plan(FAULT_EVERY_US, Event::Fault);
        let faults = self.knobs.faults.clone();
        if self.node.hub.is_some() {
            if self.rng.per_mille(faults.crash) {
                return if self.rng.per_mille(400) { self.shut_down() } else { self.crash() };
            }
            if self.rng.per_mille(faults.crash_mid) {
                self.node.crash_in = Some(self.rng.range(1, 40));
            }
            if self.rng.per_mille(faults.stall) {
                self.tell(|| "stall".to_owned());
                let until = self.now + self.rng.range(100_000, 20_000_000);
                self.node.stalled_until = self.node.stalled_until.max(until);
                self.node.stalled_since.get_or_insert(self.now);
            }
            if self.rng.per_mille(faults.disk_stall) {
                self.tell(|| "disk stall".to_owned());
                self.node.disk.strike("the disk stalled");
                self.node.disk.stalled_until = self.now + self.rng.range(50_000, 4_000_000);
            }
            if self.rng.per_mille(faults.disk_full) {
                self.tell(|| "disk full".to_owned());
                self.node.disk.strike("the disk was full");
                self.node.disk.full_until = self.now + self.rng.range(50_000, 6_000_000);
                // What began and cannot end is a good moment to die.
                if self.rng.per_mille(250) {
                    self.node.crash_in = Some(self.rng.range(20, 400));
                }
            }
            if self.rng.per_mille(faults.overtaken) {
                self.overtake();
            }
            if self.rng.per_mille(faults.meddle * 5) {
                self.meddle();
            }
            self.operator_looks();
            self.natives_act();
            if self.rng.per_mille(faults.panic) {
                let zones = self.node.zones.len() as u64;
                let index = self.rng.below(zones.max(1)) as usize;
                if let Some(seat) = self.node.zones.values_mut().nth(index) {
                    seat.hangs = true;
                }
            }
        }
        for index in 0..self.players.len() {
            if self.rng.per_mille(faults.freeze) {
                self.tell(|| format!("freeze {index}"));
                let until = self.now + self.rng.range(50_000, 15_000_000);
                // What has been put off until then must not be overtaken.
                let frozen_until = &mut self.players[index].frozen_until;
                *frozen_until = until.max(*frozen_until);
            }
            if self.rng.per_mille(faults.reload) {
                self.reload(index);
            }
            if self.rng.per_mille(faults.twin) {
                self.redial(index);
            }
        }
    }

    /// A page is loaded again: streams and books are gone, what was stored is not.
    pub(crate) fn reload(&mut self, index: usize) {
        self.tell(|| format!("reload {index}"));
        if !self.quiet && self.rng.per_mille(500) {
            self.equip(index);
        }
        if let Some(link) = self.players[index].link.take() {
            self.hang_up(link);
        }
        let seed = self.rng.seed();
        self.players[index].reload(seed);
        let time = self.players[index].time(self.now);
        self.players[index].client.connect(time);
        self.drain_player(index);
    }

    /// The client believes its connection lost while the server believes it alive.
    fn redial(&mut self, index: usize) {
        let Some(link) = self.players[index].link.take() else { return };
        self.tell(|| format!("redial {index}"));
        if let Some(link) = self.links.get_mut(&link) {
            // What was on its way still arrives; nobody tells the server that it ended.
            link.client_open = false;
        }
        let time = self.players[index].time(self.now);
        self.players[index].client.closed(time, None);
        self.drain_player(index);
    }

    fn meddle(&mut self) {
        let sessions: Vec<SessionId> = match &self.node.hub {
            Some(hub) => hub.sessions().map(|(id, _)| id).collect(),
            None => return,
        };
        if sessions.is_empty() {
            return;
        }
        let session = *self.rng.pick(&sessions);
        let to = |command| Some(Command::Session(session, command));
        let name = ZoneName { kind: "cells".to_owned(), name: "z0".to_owned() };
        let payload = Bytes::from_static(&[9]);
        let command = match self.rng.below(14) {
            0 | 1 => to(SessionCommand::Send(payload)),
            2 => to(SessionCommand::Call(payload, Duration::from_millis(900))),
            3 if self.rng.per_mille(250) => {
                self.forgive(session);
                to(SessionCommand::End(EndCause::Kicked))
            }
            4 if self.rng.per_mille(300) => {
                let Some(player) = self.player_of(session) else { return };
                self.forgive(session);
                let until = 1_700_000_000_000 + (self.now + self.rng.below(3_000_000)) / 1_000;
                let (whom, until) = (Whom::Player(player), WallTime(until));
                Some(Command::Player(PlayerCommand::Ban(whom, until, String::new())))
            }
            5 => to(SessionCommand::Configure(Changes {
                permissions: Some(1),
                disconnect_callback: Some(Some(1)),
                hold: Some(Hold::Timed(Duration::from_millis(9_000))),
                ..Changes::default()
            })),
            6 if self.natives.len() < 3 => {
                let data = Some(Bytes::from_static(b"told"));
                let changes = Changes { data, ..Changes::default() };
                Some(Command::StartSession(SessionConfig { player: None, changes }))
            }
            7 if self.node.bureau.is_some() && self.rng.per_mille(500) => {
                return self.seat_native();
            }
            7 | 8 => self.to_native(SessionCommand::Join(name, Bytes::new())),
            9 => {
                let wish = Wish { verb: Verb::Say, book: 0, number: 0, arg: 0 };
                self.to_native(SessionCommand::Say(std::sync::Arc::new(wish)))
            }
            10 => self.to_native(SessionCommand::Part),
            11 => Some(Command::Zone(ZoneCommand::Open(name))),
            12 if self.rng.per_mille(200) => {
                Some(Command::Zone(ZoneCommand::End(ZoneId::of("whole", "z0"))))
            }
            13 if self.rng.per_mille(500) => Some(Command::Broadcast(Audience::Everybody, payload)),
            13 => to(SessionCommand::Move(name, Bytes::new())),
            _ => None,
        };
        let Some(command) = command else { return };
        self.tell(|| format!("meddle {command:?}"));
        self.command(command);
    }

    /// A command for the local session that was started last.
    fn to_native(&self, command: SessionCommand) -> Option<Command> {
        self.natives.last().map(|native| Command::Session(SessionId(*native), command))
    }

    /// Somebody outside the zones wants something.
    pub(crate) fn command(&mut self, command: Command) {
        self.tickets += 1;
        let ticket = self.tickets;
        match &command {
            Command::Player(PlayerCommand::Ban(Whom::Player(player), until, _)) => {
                self.ban_asked(ticket, *player, until.0);
                if self.rng.per_mille(400) {
                    let (incarnation, wait) = (self.node.incarnation, self.rng.below(2_000_000));
                    let unban = PlayerCommand::Unban(Whom::Player(*player));
                    let command = Box::new(Command::Player(unban));
                    self.plan(wait, Event::Command { incarnation, command });
                }
            }
            Command::Player(PlayerCommand::Unban(Whom::Player(player))) => {
                self.ban_asked(ticket, *player, 0)
            }
            Command::Session(session, SessionCommand::Configure(changes))
                if changes.disconnect_callback.flatten().is_some() =>
            {
                self.callbacks.entry(session.0).or_default();
            }
            _ => {}
        }
        self.note_command(&command);
        self.hub(HubInput::Command { ticket, command });
    }

    fn player_of(&self, session: SessionId) -> Option<PlayerId> {
        self.node.hub.as_ref()?.session(session).map(|session| session.player())
    }

    /// Somebody ended this session from outside: its player cannot be blamed.
    fn forgive(&mut self, session: SessionId) {
        for player in &mut self.players {
            if player.books.session == Some(session.0) {
                player.shared = true;
            }
        }
    }

    /// A player does something.
    pub fn act(&mut self, index: usize) {
        if self.quiet {
            return;
        }
        let wait = 1 + self.rng.below(self.knobs.wish_us * 2);
        self.plan(wait, Event::Act { player: index });
        if self.players[index].frozen_until > self.now {
            return;
        }
        if self.logs_in_anew(index) {
            return;
        }
        let time = self.players[index].time(self.now);
        if self.rng.per_mille(4) {
            match self.rng.below(6) {
                0 => self.players[index].client.leave(time),
                1 => self.players[index].client.cancel(time),
                2 if self.rng.per_mille(300) => self.players[index].client.connect_fresh(time),
                _ => self.players[index].client.retry(time),
            }
        } else if !self.players[index].is_connected() {
            self.players[index].client.connect(time);
            if self.rng.per_mille(20) {
                self.players[index].client.retry(time);
            }
        }
        self.wish(index);
        self.drain_player(index);
    }

    fn wish(&mut self, index: usize) {
        let arg = self.rng.draw() >> 8;
        let panics = self.knobs.faults.panic * 2;
        let rare = self.rng.below(1_000);
        let roll = self.rng.below(100);
        let player = &mut self.players[index];
        let is_free = player.books.zone.is_none() && player.is_connected();
        if is_free && self.node.bureau.is_some() && roll < 35 {
            return self.seek_game(index);
        }
        if is_free && roll < 50 {
            let kinds =
                ["cells", "cells", "whole", "hard", "match", "session", "memory", "no-such"];
            let kind = kinds[(arg % 8) as usize];
            let kind = if rare < 900 && kind == "no-such" { "cells" } else { kind };
            let payload = if rare < 20 { &b"deny"[..] } else { b"" };
            let name = format!("z{}", arg / 8 % 2);
            // A full buffer is not this player's worry.
            let _ = player.client.join(kind, name, rare < 980, payload);
            return;
        }
        match roll {
            0..=39 => player.wish(Verb::Say, arg),
            40..=49 => player.wish(Verb::Whisper, arg),
            50..=56 => player.wish(Verb::Group, arg),
            57..=61 => player.wish(Verb::Except, arg),
            62..=70 => player.wish(Verb::Latest, arg),
            71..=72 => player.wish(Verb::Clear, arg),
            73 => player.wish(Verb::Loose, arg),
            74..=75 => player.wish(Verb::Burst, arg),
            76 if rare < panics * 10 => player.wish(Verb::Panic, arg),
            77 if rare < 100 => player.wish(Verb::Kick, arg),
            78 => player.wish(Verb::Transfer, arg),
            79..=80 => player.wish(Verb::Call, arg),
            81 => player.wish(Verb::Timer, arg),
            82 => player.wish(Verb::Job, arg),
            83 if rare < 40 => player.wish(Verb::End, arg),
            84 if rare < 300 => player.wish(Verb::StartMatch, arg),
            85 if rare < 200 => player.wish(Verb::EndMatch, arg),
            86 => player.wish(Verb::Own, arg),
            87 => player.wish(Verb::Avatar, arg),
            88 => player.wish(Verb::MatchData, arg),
            89..=93 => player.ask_report(),
            94 if rare < 200 => player.babble(&mut self.rng),
            95 if rare < 200 => drop(player.client.part()),
            96 if rare < 200 => drop(player.client.join("cells", "z0", true, Bytes::new())),
            97 => drop(player.client.answer(arg, Bytes::new())),
            98 => drop(player.client.send_unreliable(Bytes::from_static(b"may be lost"))),
            _ => {}
        }
    }

    /// Somebody hostile does something.
    pub fn hostile_act(&mut self, index: usize) {
        if self.quiet {
            return;
        }
        let wait = 1 + self.rng.below(300_000);
        self.plan(wait, Event::HostileAct { hostile: index });
        match self.hostiles[index].link {
            None => {
                let link = self.dial(Who::Hostile(index), Encoding::Protobuf);
                self.hostiles[index].begin(link);
            }
            Some(link) if self.rng.per_mille(40) => {
                self.hang_up(link);
                self.hostiles[index].link = None;
            }
            Some(link) => {
                let stolen: Vec<(u64, [u8; 32])> = self
                    .players
                    .iter()
                    .filter(|player| player.tokens.len() > 6)
                    .map(|player| player.tokens[player.tokens.len() - 6])
                    .collect();
                self.hostiles[index].words = self.old_words();
                for _ in 0..self.hostiles[index].appetite(&mut self.rng) {
                    let bytes = self.hostiles[index].next_bytes(&mut self.rng, &stolen);
                    self.send_up(link, &bytes);
                }
            }
        }
    }

    /// No more faults: everybody comes back and asks how things stand.
    pub fn go_quiet(&mut self) {
        self.tell(|| "quiet".to_owned());
        self.quiet = true;
        self.node.crash_in = None;
        self.node.disk.stalled_until = 0;
        self.node.disk.full_until = 0;
        self.knobs.hub.idle = Duration::from_secs(1_800);
        for hostile in 0..self.hostiles.len() {
            if let Some(link) = self.hostiles[hostile].link.take() {
                self.hang_up(link);
            }
        }
        let mut seen: Vec<[u8; 32]> = Vec::new();
        for index in 0..self.players.len() {
            if let crate::player::Known::Key(key) = self.players[index].known {
                let key = Stamp::public(&key);
                if seen.contains(&key) {
                    self.players[index].retired = true;
                }
                seen.push(key);
            }
            self.players[index].retired |= self.is_second_of_account(index);
            let time = self.players[index].time(self.now);
            if self.players[index].retired {
                self.players[index].client.cancel(time);
            } else {
                self.players[index].client.retry(time);
            }
            self.drain_player(index);
        }
    }

    /// Whether everybody who can be back is back, with nothing left to say.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let is_done = |index| {
            let player: &crate::player::Player = &self.players[index];
            player.retired || (player.was_back && !player.is_unanswered(self.now))
        };
        (0..self.players.len()).all(is_done) && self.seats_settled()
    }

    /// How much those still have to say who were not seen with nothing to say.
    #[must_use]
    pub fn unsaid(&self) -> usize {
        let waiting = self.players.iter().filter(|player| !player.retired && !player.was_back);
        waiting.map(|player| player.client.buffered().0).sum()
    }

    /// Keeps everybody trying, and asks those who are in a zone for a last report.
    pub fn nudge(&mut self) {
        self.settle_accounts();
        for index in 0..self.players.len() {
            let player = &mut self.players[index];
            player.was_back |= player.is_connected() && player.client.buffered().0 == 0;
            let since = player.connected_since.unwrap_or(self.now);
            player.connected_since = player.is_connected().then_some(since);
            if player.retired {
                continue;
            }
            let time = self.players[index].time(self.now);
            if !self.players[index].is_connected() {
                self.players[index].client.retry(time);
            } else {
                // Refused outside zones, but heard: nobody idles out.
                self.players[index].ask_report();
            }
            self.drain_player(index);
        }
    }
}
