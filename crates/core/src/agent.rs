//! Agents: sessions that live in the server and play by themselves. A game implements [`Agent`]; an
//! [`AgentCore`] owns it, tells it what its session is told, and turns what it wants into commands
//! of the hub. Zones see no difference to a player.
//!
//! It is a machine of the same shape as the others: one input at an instant that the driver names,
//! then all outputs. So the same agent plays on a server and in a simulation. A panic in a callback
//! ends this agent and its session, and nobody else notices.

mod cue;

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::v1::{PartCause, RefusalCode};

pub use self::cue::Cue;

use crate::event::EndCause;
use crate::exchange::{Native, ZoneName};
use crate::hub::{Command, SessionCommand};
use crate::id::{CallId, SessionId};
use crate::time::Time;
use crate::zone::{Delivery, Message, panic_text};

/// Somebody who is played by the server: an NPC, a referee, a bot that fills a seat. Everything but
/// the two message types has a default.
#[allow(unused_variables)]
pub trait Agent: Send + 'static {
    /// What it hears: the `Out` of the zones it joins.
    type In: Message;
    /// What it says: the `In` of the zones it joins.
    type Out: Message;

    /// How often `on_tick` is called; never, if nothing is said.
    const TICK: Option<Duration> = None;

    /// It begins. [`Cue::zone`] says where its session is, if that has been running before.
    fn on_start(&mut self, cue: &mut Cue<'_, Self::Out>) {}

    /// It is a member of a zone, with what the game sends along.
    fn on_joined(&mut self, cue: &mut Cue<'_, Self::Out>, zone: &ZoneName, payload: Bytes) {}

    /// Something it wanted was refused: a join, a move, a part, a message.
    fn on_refused(&mut self, cue: &mut Cue<'_, Self::Out>, code: RefusalCode, text: &str) {}

    /// Its zone says something, to it or to several. The value is shared with whoever hears it, too.
    fn on_message(&mut self, cue: &mut Cue<'_, Self::Out>, message: &Self::In) {}

    /// Its zone asks something. None: it does not answer, and the game's deadline passes.
    fn on_call(&mut self, cue: &mut Cue<'_, Self::Out>, question: &Self::In) -> Option<Self::Out> {
        None
    }

    /// Somebody outside the zones says something: `Server::send` or a broadcast.
    fn on_sent(&mut self, cue: &mut Cue<'_, Self::Out>, payload: Bytes) {}

    /// Somebody outside the zones asks something: `Server::call`. None: no answer.
    fn on_asked(&mut self, cue: &mut Cue<'_, Self::Out>, question: Bytes) -> Option<Bytes> {
        None
    }

    /// It is no member any more.
    fn on_parted(&mut self, cue: &mut Cue<'_, Self::Out>, cause: PartCause) {}

    /// Its zone was opened again from its last cut. Still a member ([`Cue::zone`] tells), it may have
    /// said things that were never heard; otherwise it is in no zone now.
    fn on_zone_lost(&mut self, cue: &mut Cue<'_, Self::Out>) {}

    /// It fell behind, and so many messages were dropped. Joins, parts and endings never are.
    fn on_lagged(&mut self, cue: &mut Cue<'_, Self::Out>, missed: u64) {}

    /// Called once per [`TICK`](Self::TICK). After a late call the next is a whole tick away.
    fn on_tick(&mut self, cue: &mut Cue<'_, Self::Out>) {}

    /// Its session has ended; there is nobody left to speak for.
    fn on_ended(&mut self, cause: EndCause) {}
}

/// What an agent is given.
#[derive(Clone, Debug)]
pub enum AgentInput {
    /// It begins, in this zone if its session has been running before.
    Start(Option<ZoneName>),
    /// What its session is told.
    Told(Delivery),
    /// A command of its own was refused.
    Refused(RefusalCode),
    /// So many deliveries were dropped before the next one.
    Lagged(u64),
    /// Time has passed.
    Wake,
}

/// An agent of any game, as a driver sees it.
pub trait AgentMachine: Send {
    /// Takes one input. Afterwards [`next_output`](Self::next_output) is drained.
    fn handle(&mut self, now: Time, input: AgentInput);
    /// The next command for the hub.
    fn next_output(&mut self) -> Option<Command>;
    /// When it wants to be woken.
    fn next_deadline(&self) -> Option<Time>;
    /// Whether it has ended; none of its commands but the last ones matter any more.
    fn is_over(&self) -> bool;
    /// What its panic said, if it ended with one.
    fn fault(&self) -> Option<&str>;
}

/// The machine around an agent.
pub struct AgentCore<A: Agent> {
    agent: A,
    session: SessionId,
    zone: Option<ZoneName>,
    tick_at: Option<Time>,
    over: bool,
    fault: Option<String>,
    out: VecDeque<Command>,
}

impl<A: Agent> AgentCore<A> {
    /// The agent that plays this session.
    #[must_use]
    pub fn new(session: SessionId, agent: A) -> Self {
        let (zone, out) = (None, VecDeque::new());
        Self { agent, session, zone, tick_at: None, over: false, fault: None, out }
    }

    /// Runs one callback; what it recorded counts only if it returns.
    fn step<R>(
        &mut self,
        now: Time,
        callback: impl FnOnce(&mut A, &mut Cue<'_, A::Out>) -> R,
    ) -> Option<R> {
        let (agent, session, zone) = (&mut self.agent, self.session, self.zone.as_ref());
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut cue = Cue::new(now, session, zone);
            let result = callback(agent, &mut cue);
            (result, cue.into_commands())
        }));
        match outcome {
            Ok((result, commands)) => {
                self.out.extend(commands);
                Some(result)
            }
            Err(panic) => {
                self.fail(panic_text(panic.as_ref()));
                None
            }
        }
    }

    fn fail(&mut self, text: String) {
        self.over = true;
        self.fault = Some(text);
        self.out.clear();
        self.out
            .push_back(Command::Session(self.session, SessionCommand::End(EndCause::AgentFault)));
    }

    /// A value of its zone as the agent's own type; an agent of another game is a fault.
    fn value<'a>(&mut self, value: &'a Native) -> Option<&'a A::In> {
        let found = (&**value as &dyn Any).downcast_ref::<A::In>();
        if found.is_none() {
            let name = std::any::type_name::<A::In>();
            self.fail(format!("it hears values of {name}, and its zone says another type"));
        }
        found
    }

    fn told(&mut self, now: Time, delivery: Delivery) {
        match delivery {
            Delivery::Joined(zone, payload) => {
                self.zone = Some(zone.clone());
                self.step(now, |agent, cue| agent.on_joined(cue, &zone, payload));
            }
            Delivery::Message(value) => {
                if let Some(message) = self.value(&value) {
                    self.step(now, |agent, cue| agent.on_message(cue, message));
                }
            }
            Delivery::Call(call, value) => {
                if let Some(question) = self.value(&value) {
                    let answer = self.step(now, |agent, cue| agent.on_call(cue, question));
                    self.answer(call, answer.flatten().map(crate::zone::native));
                }
            }
            Delivery::Asked(call, question) => {
                let answer = self.step(now, |agent, cue| agent.on_asked(cue, question));
                self.answer(call, answer.flatten().map(crate::zone::native));
            }
            Delivery::Parted(cause) => {
                self.zone = None;
                self.step(now, |agent, cue| agent.on_parted(cue, cause));
            }
            Delivery::Rebuilt => drop(self.step(now, |agent, cue| agent.on_zone_lost(cue))),
            Delivery::Lost => {
                self.zone = None;
                self.step(now, |agent, cue| agent.on_zone_lost(cue));
            }
            Delivery::Refused(code, text) => {
                self.step(now, |agent, cue| agent.on_refused(cue, code, &text));
            }
            Delivery::Sent(payload) => {
                self.step(now, |agent, cue| agent.on_sent(cue, payload));
            }
            Delivery::Ended(cause) => {
                self.step(now, |agent, _| agent.on_ended(cause));
                self.over = true;
                self.out.clear();
            }
        }
    }

    fn answer(&mut self, call: CallId, answer: Option<Native>) {
        self.out
            .extend(answer.map(|answer| {
                Command::Session(self.session, SessionCommand::Answer(call, answer))
            }));
    }
}

impl<A: Agent> AgentMachine for AgentCore<A> {
    fn handle(&mut self, now: Time, input: AgentInput) {
        if self.over {
            return;
        }
        match input {
            AgentInput::Start(zone) => {
                self.zone = zone;
                self.tick_at = A::TICK.map(|tick| now.after(tick));
                self.step(now, |agent, cue| agent.on_start(cue));
            }
            AgentInput::Told(delivery) => self.told(now, delivery),
            AgentInput::Refused(code) => {
                self.step(now, |agent, cue| agent.on_refused(cue, code, ""));
            }
            AgentInput::Lagged(missed) => {
                self.step(now, |agent, cue| agent.on_lagged(cue, missed));
            }
            AgentInput::Wake => {
                if self.tick_at.is_some_and(|at| now >= at) {
                    // Counted from now: one that was late does not hurry after the lost ticks.
                    self.tick_at = A::TICK.map(|tick| now.after(tick));
                    self.step(now, |agent, cue| agent.on_tick(cue));
                }
            }
        }
    }

    fn next_output(&mut self) -> Option<Command> {
        self.out.pop_front()
    }

    fn next_deadline(&self) -> Option<Time> {
        self.tick_at.filter(|_| !self.over)
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }
}

#[cfg(test)]
mod tests;
