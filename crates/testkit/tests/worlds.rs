//! Worlds as a game's tests use them, with a game that is as small as it can be.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use bytes::Bytes;
use rejoin_core::agent::{Agent, Cue};
use rejoin_core::call::CallFailed;
use rejoin_core::event::{EndCause, Event};
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{Answer, Audience, Command, HubConfig, SessionCommand, SessionConfig};
use rejoin_core::id::SessionId;
use rejoin_core::zone::{Context, RestoreRefused, Saved, Sender, Zone, ZoneConfig};
use rejoin_testkit::{ClientEvent, Rung, Setup, World};

/// Adds up what it is told, tells everybody the sum, and asks whoever says 0.
#[derive(Default)]
struct Sum(u64);

impl Zone for Sum {
    type In = Bytes;
    type Out = Bytes;

    fn on_message(&mut self, ctx: &mut Context<'_, Bytes>, from: Sender, message: Bytes) {
        match message[0] {
            0 => ctx.call(from.session, message, Duration::from_secs(1), &b"how much"[..]),
            255 => panic!("told to"),
            more => self.add(ctx, more),
        }
    }

    fn on_answer(
        &mut self,
        ctx: &mut Context<'_, Bytes>,
        _: SessionId,
        _: Bytes,
        answer: Result<Bytes, CallFailed>,
    ) {
        self.add(ctx, answer.map_or(100, |answer| answer[0]));
    }

    fn save(&self) -> Option<Bytes> {
        Some(Bytes::copy_from_slice(&self.0.to_be_bytes()))
    }

    fn restore(&mut self, _: u32, saved: Saved) -> Result<(), RestoreRefused> {
        let bytes = saved.snapshot.unwrap_or_default();
        let bytes = bytes[..].try_into().map_err(|_| RestoreRefused("8 bytes".to_owned()))?;
        self.0 = u64::from_be_bytes(bytes);
        Ok(())
    }
}

impl Sum {
    fn add(&mut self, ctx: &mut Context<'_, Bytes>, more: u8) {
        self.0 += u64::from(more);
        ctx.broadcast(Bytes::from(self.0.to_string()));
    }
}

fn setup() -> Setup {
    World::of("sum", ZoneConfig { tick: None, ..ZoneConfig::default() }, Sum::default)
}

fn said(byte: u8) -> Bytes {
    Bytes::from(vec![byte])
}

fn told(world: &mut World, who: rejoin_testkit::ClientId) -> Vec<String> {
    let heard: Vec<Bytes> = world.heard(who);
    heard.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
}

#[test]
fn a_created_session_is_listed() {
    let mut world = setup().start(1);
    let Answer::Session(id) = world.command(Command::StartSession(SessionConfig::default())) else {
        panic!("there is room")
    };
    let listed: Vec<SessionId> = world.sessions().iter().map(|view| view.id).collect();
    assert_eq!(listed, [id]);
}

#[test]
fn a_login_creates_the_session_after_one_stepped_tick() {
    for seed in 0..50 {
        let mut world = setup().start(seed);
        let ann = world.client("ann");
        assert!(world.sessions().is_empty(), "nothing happens before time passes");
        world.step();
        let session = world.session_of(ann).expect("she knows her session");
        assert_eq!(world.session(session).map(|view| view.id), Some(session));
        assert_eq!(world.active_count(), 1);
    }
}

#[test]
fn a_cut_link_loses_nothing_in_either_direction() {
    for seed in 0..30 {
        let mut world = setup().start(seed);
        let (ann, bob) = (world.client("ann"), world.client("bob"));
        for who in [ann, bob] {
            world.join(who, "sum", "one");
        }
        world.step();
        world.say(ann, said(1));
        world.cut(ann);
        world.say(ann, said(2));
        world.say(bob, said(3));
        world.run_until("ann is back", |world| world.is_connected(ann));
        world.run(Duration::from_millis(200));
        assert_eq!(world.rung(ann), Some(Rung::Replayed));
        let (hers, his) = (told(&mut world, ann), told(&mut world, bob));
        assert_eq!(hers, his);
        assert_eq!(hers.len(), 3, "seed {seed}: {hers:?}");
        assert_eq!(hers.last().map(String::as_str), Some("6"));
    }
}

#[test]
fn a_silent_cut_is_noticed_by_silence_and_a_long_one_ends_the_hold() {
    let mut world = setup().start(3);
    let ann = world.client("ann");
    world.step();
    let first = world.session_of(ann);
    world.cut_silently(ann);
    world.run_until("she notices", |world| !world.is_connected(ann));
    world.run_until("she is back", |world| world.is_connected(ann));
    assert_eq!((world.session_of(ann), world.rung(ann)), (first, Some(Rung::Replayed)));
    world.disconnect(ann);
    world.run(Duration::from_secs(4));
    assert_eq!((world.sessions().len(), world.active_count()), (1, 0), "held");
    world.run(Duration::from_secs(2));
    assert!(world.sessions().is_empty(), "nobody came back in time");
    world.connect(ann);
    world.run_until("she is back", |world| world.is_connected(ann));
    assert_eq!(world.rung(ann), Some(Rung::New));
}

#[test]
fn a_crash_keeps_what_was_said_and_the_player_goes_on() {
    for seed in 0..30 {
        let mut world = setup().start(seed);
        let ann = world.client("ann");
        world.join(ann, "sum", "one");
        world.step();
        for number in 1..=5 {
            world.say(ann, said(number));
        }
        world.crash();
        assert!(!world.is_up() && world.sessions().is_empty());
        world.run(Duration::from_millis(100));
        world.recover();
        world.run_until("ann is back", |world| world.is_connected(ann));
        world.run(Duration::from_millis(500));
        assert_eq!(told(&mut world, ann), ["1", "3", "6", "10", "15"], "seed {seed}");
    }
}

#[test]
fn a_jump_of_the_clock_does_not_cost_a_session_that_could_have_come_back() {
    let mut world = setup().start(5);
    let ann = world.client("ann");
    world.step();
    let session = world.session_of(ann);
    world.jump(Duration::from_secs(3_600));
    world.run(Duration::from_secs(5));
    assert_eq!(world.session_of(ann), session);
    assert!(world.is_connected(ann));
    world.stall(Duration::from_secs(2));
    world.run(Duration::from_secs(5));
    assert_eq!(world.session_of(ann), session);
}

#[test]
fn a_second_device_takes_over_and_a_reload_is_a_cold_resume() {
    let mut world = setup().start(6);
    let phone = world.client("ann");
    world.step();
    world.reload(phone);
    world.step();
    assert_eq!(world.rung(phone), Some(Rung::Resynced));
    let laptop = world.client("ann");
    world.step();
    assert_eq!(world.session_of(phone), world.session_of(laptop));
    assert!(world.client_events(phone).contains(&ClientEvent::TakenOver));
    assert_eq!(world.sessions().len(), 1);
}

#[test]
fn the_admission_rule_and_the_settings_are_the_games() {
    let rule = |_, ticket: &Bytes| match &ticket[..] {
        b"ticket" => Ok(()),
        _ => Err("no ticket".to_owned()),
    };
    let config = HubConfig { sessions_max: 1, ..HubConfig::default() };
    let mut world = setup().config(config).admission(rule).start(7);
    let (ann, bob) = (world.client_with_ticket("ann", "ticket"), world.client("bob"));
    world.step();
    assert!(world.is_connected(ann) && !world.is_connected(bob));
}

/// Says what it is told to say, and answers with 7.
struct Helper;

impl Agent for Helper {
    type In = Bytes;
    type Out = Bytes;

    fn on_start(&mut self, cue: &mut Cue<'_, Bytes>) {
        if cue.zone().is_none() {
            cue.join(ZoneName::new("sum", "one"), "");
        }
    }

    fn on_call(&mut self, _: &mut Cue<'_, Bytes>, _: &Bytes) -> Option<Bytes> {
        Some(said(7))
    }

    fn on_sent(&mut self, cue: &mut Cue<'_, Bytes>, payload: Bytes) {
        assert_ne!(&payload[..], b"panic", "told to");
        cue.say(payload);
    }
}

#[test]
fn an_agent_plays_beside_clients_and_its_session_outlives_a_crash() {
    let mut world = setup().start(8);
    let ann = world.client("ann");
    world.join(ann, "sum", "one");
    let npc = world.start_agent(SessionConfig::default(), Helper);
    world.step();
    assert_eq!(world.command(Command::Session(npc, SessionCommand::Send(said(0)))), Answer::Done);
    world.step();
    assert_eq!(told(&mut world, ann), ["7"]);

    world.crash();
    world.recover();
    world.attach_agent(npc, Helper);
    world.run_until("ann is back", |world| world.is_connected(ann));
    world.command(Command::Session(npc, SessionCommand::Send(said(5))));
    world.step();
    assert_eq!(told(&mut world, ann), ["12"]);
    let all = world.command(Command::Broadcast(Audience::Everybody, said(1)));
    assert_eq!(all, Answer::Told { told: 2, missed: 0 });
    world.step();
    assert_eq!(world.zones().iter().map(|(_, _, members)| *members).collect::<Vec<_>>(), [2]);
}

#[test]
fn a_fault_fails_the_test_with_its_seed_and_step_unless_it_is_what_the_test_is_about() {
    let play = |setup: Setup| {
        let mut world = setup.start(9);
        let ann = world.client("ann");
        world.join(ann, "sum", "one");
        world.step();
        world.say(ann, said(255));
        world.run(Duration::from_secs(2));
        world.say(ann, said(4));
        world.run(Duration::from_secs(2));
        told(&mut world, ann)
    };
    let failed = catch_unwind(AssertUnwindSafe(|| play(setup()))).expect_err("a zone panicked");
    let text = failed.downcast_ref::<String>().expect("a text");
    assert!(text.contains("told to") && text.contains("seed 9, step 2"), "{text}");
    assert_eq!(play(setup().allow_faults()), ["4"]);

    let mut world = setup().allow_faults().start(9);
    let npc = world.start_agent(SessionConfig::default(), Helper);
    world.command(Command::Session(npc, SessionCommand::Send(Bytes::from_static(b"panic"))));
    world.step();
    let fault = |event: &Event| {
        matches!(event, Event::PlayerLeft { session, cause: EndCause::AgentFault, .. }
            if *session == npc)
    };
    assert!(world.events().iter().any(fault));
    assert!(world.session(npc).is_none());
}

#[test]
fn the_same_seed_gives_the_same_world() {
    let play = |seed| {
        let mut world = setup().start(seed);
        let ann = world.client("ann");
        world.join(ann, "sum", "one");
        world.step();
        world.say(ann, said(1));
        world.crash();
        world.recover();
        world.run(Duration::from_secs(5));
        world.trace()
    };
    assert_eq!(play(11), play(11));
    assert_ne!(play(11), play(12));
}
