//! The server's side of the world: inputs to the hub and the zones, and what they give out, carried
//! to where it belongs, in order. The server can crash between any two outputs.

use std::sync::Arc;

use rejoin_core::exchange::{Native, ToHub};
use rejoin_core::hub::{AskId, Command, HubInput, HubOutput, SessionCommand};
use rejoin_core::id::{CallId, ConnectionId, OwnerEpoch, SessionId, ZoneId};
use rejoin_core::zone::{Delivery, ZoneInput, ZoneOutput};
use rejoin_directory::seating;
use rejoin_testkit::parts::stamp::Stamp;

use crate::bureau::Asked;
use crate::event::Event;
use crate::node::Way;
use crate::player::Known;
use crate::speech::{Verb, Wish};
use crate::world::World;

impl World {
    /// Gives the hub one input and carries out what follows.
    pub fn hub(&mut self, input: HubInput) {
        if self.node.hub.is_some() && self.node.stalled_until > self.now {
            // A process that stands still hears signals and commands when it runs again.
            return self.node.unheard.push(input);
        }
        let time = self.node.time(self.now);
        self.aim_at_input(&input);
        let Some(hub) = &mut self.node.hub else { return };
        hub.handle(time, input);
        while let Some(output) = self.node.hub.as_mut().and_then(|hub| hub.next_output()) {
            if self.crashes_here() {
                return;
            }
            self.aim_at_output(&output);
            self.carry_out_hub(output);
        }
        self.check_banned();
        self.check_sessions();
        self.check_accounts();
        let Some(deadline) = self.node.hub.as_ref().and_then(|hub| hub.next_deadline()) else {
            return;
        };
        let at = self.node.world_time(deadline).max(self.now);
        if self.node.hub_wake.is_none_or(|planned| at < planned) {
            self.node.hub_wake = Some(at);
            let incarnation = self.node.incarnation;
            self.queue.push(at, Event::HubWake { incarnation });
        }
    }

    fn carry_out_hub(&mut self, output: HubOutput) {
        let incarnation = self.node.incarnation;
        match output {
            HubOutput::Send { connection, frame } => self.send_down(connection, &frame),
            HubOutput::Close { connection, code } => self.close_connection(connection, code),
            HubOutput::Applied { connection, seq } => self.acknowledge(connection, seq),
            HubOutput::ToConnection(connection, message) => {
                self.tell_connection(connection, message);
            }
            HubOutput::Bar { origin, wait } => {
                let now = self.node.time(self.now);
                if let Some(door) = &mut self.node.door {
                    door.bar(now, origin, wait);
                }
            }
            HubOutput::Verify { connection, ask, public_key, text, signature } => {
                let good = self.is_signed(&public_key, &text, &signature);
                let wait = self.rng.below(2_000);
                self.plan(wait, Event::Verified { incarnation, connection, ask, good });
            }
            HubOutput::AskAdmission { connection, ask, .. } => self.ask_admission(connection, ask),
            HubOutput::Compress { connection, bytes_min } => {
                if let Some(link) = self.links.get_mut(&connection.0) {
                    link.compressed_from = Some(bytes_min.max(1) as usize);
                }
            }
            HubOutput::CheckAccount { connection, ask, payload } => {
                self.check_account(connection, ask, &payload);
            }
            HubOutput::RunCallback { session, callback } => self.run_callback(session, callback),
            HubOutput::Warn(_) => {}
            HubOutput::Game(name, news) => self.tell_host(&name, news),
            HubOutput::Seat(request) => {
                self.ask_directory(Asked::Seat(request), seating::command(&request));
            }
            HubOutput::Native { session, delivery } => self.tell_native(session, &delivery),
            HubOutput::ToZone(zone, owner, message) => {
                let at = self.mail_time(Way::ToZone(zone));
                let message = Box::new(message);
                self.queue.push(at, Event::ToZone { incarnation, zone, owner, message });
            }
            HubOutput::OpenZone(spec) => {
                self.node.zones.remove(&spec.id);
                let wait = self.rng.below(self.knobs.commit_us + 1);
                self.plan(wait, Event::OpenZone { incarnation, spec });
            }
            HubOutput::DropZone(zone) => drop(self.node.zones.remove(&zone)),
            HubOutput::Commit(batch) => self.submit(batch),
            HubOutput::Event(event) => self.overhear(&event),
            HubOutput::Answer { ticket, answer } => {
                self.errand_done(ticket, &answer);
                self.order_answered(ticket, &answer);
                if let rejoin_core::hub::Answer::Session(id) = answer {
                    self.natives.push(id.0);
                }
            }
        }
    }

    fn is_signed(&self, public_key: &[u8; 32], text: &[u8], signature: &[u8; 64]) -> bool {
        self.players.iter().any(|player| match player.known {
            Known::Key(secret) => {
                Stamp::public(&secret) == *public_key
                    && Stamp::sign_with(&secret, text) == *signature
            }
            _ => false,
        })
    }

    /// The game decides about a login; once in a while it says no, or does not answer.
    fn ask_admission(&mut self, connection: ConnectionId, ask: AskId) {
        if let Some(account) = self.accounts.shown_on(connection.0) {
            self.aim_order(account, 60_000);
        }
        let mood = if self.quiet { 500 } else { self.rng.below(1_000) };
        if mood >= 30 {
            let (incarnation, good) = (self.node.incarnation, mood >= 50);
            let wait = self.rng.below(60_000);
            self.plan(wait, Event::Admission { incarnation, connection, ask, good });
        }
    }

    /// Gives a zone one input, if it takes any.
    pub fn zone(&mut self, zone: ZoneId, input: ZoneInput) {
        let time = self.node.time(self.now);
        let Some(seat) = self.node.zones.get_mut(&zone) else { return };
        match input {
            ZoneInput::FromHub(..) => seat.mailbox.push_back(input),
            _ if seat.hangs => return self.stuck(zone, None),
            other => {
                seat.machine.handle(time, other);
                self.drain_zone(zone);
            }
        }
        while let Some(seat) = self.node.zones.get_mut(&zone) {
            if !seat.machine.is_accepting() {
                return;
            }
            let Some(input) = seat.mailbox.pop_front() else { return };
            if seat.hangs {
                return self.stuck(zone, Some(input));
            }
            seat.machine.handle(time, input);
            self.drain_zone(zone);
        }
    }

    /// A callback does not return: the driver gives this incarnation up and says so.
    fn stuck(&mut self, zone: ZoneId, input: Option<ZoneInput>) {
        let Some(seat) = self.node.zones.remove(&zone) else { return };
        self.tell(|| format!("stuck {zone}"));
        let (incarnation, owner) = (self.node.incarnation, seat.machine.owner());
        let poisoned = match input {
            Some(ZoneInput::FromHub(to, message)) if to == owner => message.culprit(),
            _ => None,
        };
        let text = "Stuck".to_owned();
        let message = Box::new(ToHub::Faulted { poisoned, stuck: true, left: Vec::new(), text });
        let at = self.mail_time(Way::FromZone(zone));
        self.queue.push(at, Event::ToHub { incarnation, zone, owner, message });
    }

    /// Carries out what a zone gives out.
    pub fn drain_zone(&mut self, zone: ZoneId) {
        while let Some(seat) = self.node.zones.get_mut(&zone) {
            let owner = seat.machine.owner();
            let Some(output) = seat.machine.next_output() else { break };
            if self.crashes_here() {
                return;
            }
            self.carry_out_zone(zone, owner, output);
        }
        self.check_zone(zone);
        let Some(seat) = self.node.zones.get(&zone) else { return };
        let Some(deadline) = seat.machine.next_deadline() else { return };
        let at = self.node.world_time(deadline).max(self.now);
        let incarnation = self.node.incarnation;
        if let Some(seat) = self.node.zones.get_mut(&zone)
            && seat.wake.is_none_or(|planned| at < planned)
        {
            seat.wake = Some(at);
            self.queue.push(at, Event::ZoneWake { incarnation, zone });
        }
    }

    fn carry_out_zone(&mut self, zone: ZoneId, owner: OwnerEpoch, output: ZoneOutput) {
        let incarnation = self.node.incarnation;
        match output {
            ZoneOutput::Send { link, frame, .. } => self.send_down(link.connection, &frame),
            ZoneOutput::SendToMany { to, frame } => {
                for (_, link) in to {
                    self.send_down(link.connection, &frame);
                }
            }
            ZoneOutput::SendAll { link, frames, .. } => {
                for frame in frames {
                    self.send_down(link.connection, &frame);
                }
            }
            ZoneOutput::Applied { link, seq, .. } => self.acknowledge(link.connection, seq),
            ZoneOutput::ToConnection { link, message, .. } => {
                self.tell_connection(link.connection, message);
            }
            ZoneOutput::Native { session, delivery } => self.tell_native(session, &delivery),
            ZoneOutput::ToHub(message) => {
                let at = self.mail_time(Way::FromZone(zone));
                let message = Box::new(message);
                self.queue.push(at, Event::ToHub { incarnation, zone, owner, message });
            }
            ZoneOutput::Commit(batch) => self.submit(batch),
            ZoneOutput::StartJob { job, request } => {
                let wait = self.rng.below(300_000);
                let result = request;
                self.plan(wait, Event::JobDone { incarnation, zone, owner, job, result });
            }
            ZoneOutput::Event(event) => self.overhear(&event),
        }
    }

    /// A session that lives in the server answers most of what it is asked, a while later.
    fn tell_native(&mut self, session: SessionId, delivery: &Delivery) {
        self.tell(|| format!("native {session}: {delivery:?}"));
        let (call, answer): (CallId, Native) = match delivery {
            Delivery::Call(call, _) => {
                let answer = Wish { verb: Verb::Say, book: 0, number: 0, arg: 0 };
                (*call, Arc::new(answer))
            }
            Delivery::Asked(call, question) => (*call, Arc::new(question.clone())),
            _ => return,
        };
        if self.rng.per_mille(600) {
            let incarnation = self.node.incarnation;
            let command = Box::new(Command::Session(session, SessionCommand::Answer(call, answer)));
            let wait = self.rng.below(100_000);
            self.plan(wait, Event::Command { incarnation, command });
        }
    }

    /// When a message that is sent now arrives: behind the last one on its way.
    pub(crate) fn mail_time(&mut self, way: Way) -> u64 {
        let at = self.now + self.rng.below(self.knobs.mailbox_us + 1);
        let last = self.node.mail_at.entry(way).or_default();
        *last = at.max(*last);
        *last
    }
}
