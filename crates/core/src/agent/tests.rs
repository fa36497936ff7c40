//! The machine around an agent, alone.

use std::sync::Arc;

use super::*;

/// Says how often it ticked; falls over when it is told so.
#[derive(Default)]
struct Clock {
    ticks: u32,
    ended: Option<EndCause>,
}

impl Agent for Clock {
    type In = Bytes;
    type Out = Bytes;
    const TICK: Option<Duration> = Some(Duration::from_millis(10));

    fn on_message(&mut self, cue: &mut Cue<'_, Bytes>, message: &Bytes) {
        cue.say(message.clone());
        assert!(!message.is_empty(), "told to");
    }

    fn on_tick(&mut self, cue: &mut Cue<'_, Bytes>) {
        self.ticks += 1;
        cue.say(Bytes::from(self.ticks.to_string()));
    }

    fn on_ended(&mut self, cause: EndCause) {
        self.ended = Some(cause);
    }
}

fn outputs(agent: &mut AgentCore<Clock>) -> Vec<String> {
    std::iter::from_fn(|| agent.next_output()).map(|command| format!("{command:?}")).collect()
}

fn started() -> AgentCore<Clock> {
    let mut agent = AgentCore::new(SessionId(1), Clock::default());
    agent.handle(Time::ZERO, AgentInput::Start(None));
    agent
}

#[test]
fn ticks_come_when_they_are_due_and_lost_ones_are_not_made_up_for() {
    let mut agent = started();
    assert_eq!(agent.next_deadline(), Some(Time::from_millis(10)));
    agent.handle(Time::from_millis(9), AgentInput::Wake);
    assert!(outputs(&mut agent).is_empty());
    agent.handle(Time::from_millis(95), AgentInput::Wake);
    assert_eq!(outputs(&mut agent).len(), 1);
    assert_eq!(agent.next_deadline(), Some(Time::from_millis(105)));
}

#[test]
fn a_panic_takes_back_what_the_callback_wanted_and_ends_the_session() {
    let mut agent = started();
    let empty: Native = Arc::new(Bytes::new());
    agent.handle(Time::ZERO, AgentInput::Told(Delivery::Message(empty)));
    assert_eq!(outputs(&mut agent), ["Session(SessionId(1), End(AgentFault))"]);
    assert!(agent.is_over() && agent.next_deadline().is_none());
    assert!(agent.fault().is_some_and(|text| text.contains("told to")));
    agent.handle(Time::from_millis(10), AgentInput::Wake);
    assert!(outputs(&mut agent).is_empty(), "it is over");
}

#[test]
fn a_value_of_another_type_ends_an_agent_of_another_game() {
    let mut agent = started();
    agent.handle(Time::ZERO, AgentInput::Told(Delivery::Message(Arc::new(7_u32))));
    assert!(agent.fault().is_some_and(|text| text.contains("Bytes")), "{:?}", agent.fault());
}

#[test]
fn an_end_is_told_last_and_nothing_follows() {
    let mut agent = started();
    agent.handle(Time::ZERO, AgentInput::Told(Delivery::Ended(EndCause::Kicked)));
    assert_eq!((agent.agent.ended, agent.is_over()), (Some(EndCause::Kicked), true));
    assert!(agent.fault().is_none() && outputs(&mut agent).is_empty());
}
