//! Sessions that are played by the server, beside players on sockets.

use std::time::Duration;

use bytes::Bytes;
use rejoin_core::agent::{Agent, Cue};
use rejoin_core::call::CallFailed;
use rejoin_core::event::{EndCause, Event};
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{Changes, SessionConfig};
use rejoin_core::id::{PlayerId, SessionId};
use rejoin_core::session::Flags;
use rejoin_core::wire::v1::{PartCause, RefusalCode};
use rejoin_core::zone::{BadPayload, Context, JoinDenied, Message, Sender, Zone, ZoneConfig};
use rejoin_server::{Reach, ServerBuilder, WebConfig};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::client::{PATIENCE, Running, builder, start, start_with, until};

/// What the guarded gate and its visitors say. It cannot be written: whoever tries, fails.
#[derive(Debug)]
enum Talk {
    Password(u32),
    Passed(SessionId),
}

impl Message for Talk {
    fn encode(&self) -> Bytes {
        panic!("a native message is never encoded")
    }

    fn decode(_: Bytes) -> Result<Self, BadPayload> {
        Err(BadPayload("a native message is never decoded".to_owned()))
    }
}

/// Asks everybody who joins for the password.
struct Gate;

impl Zone for Gate {
    type In = Talk;
    type Out = Talk;

    fn on_join(
        &mut self,
        ctx: &mut Context<'_, Talk>,
        who: SessionId,
        request: Bytes,
    ) -> Result<Bytes, JoinDenied> {
        if &request[..] == b"intruder" {
            return Err(JoinDenied("not on the list".to_owned()));
        }
        ctx.call(who, Talk::Password(0), Duration::from_secs(5), who.0.to_be_bytes().to_vec());
        Ok(Bytes::from_static(b"hello"))
    }

    fn on_answer(
        &mut self,
        ctx: &mut Context<'_, Talk>,
        who: SessionId,
        _: Bytes,
        answer: Result<Talk, CallFailed>,
    ) {
        match answer {
            Ok(Talk::Password(7)) => ctx.broadcast(Talk::Passed(who)),
            _ => ctx.part(who),
        }
    }

    fn on_message(&mut self, _: &mut Context<'_, Talk>, _: Sender, message: Talk) {
        assert!(!matches!(message, Talk::Passed(_)), "the gate falls");
    }
}

/// A visitor that tells what happens to it.
struct Visitor {
    password: u32,
    diary: UnboundedSender<String>,
}

impl Visitor {
    fn note(&self, text: impl Into<String>) {
        let _ = self.diary.send(text.into());
    }
}

impl Agent for Visitor {
    type In = Talk;
    type Out = Talk;
    const TICK: Option<Duration> = Some(Duration::from_millis(20));

    fn on_joined(&mut self, _: &mut Cue<'_, Talk>, zone: &ZoneName, payload: Bytes) {
        self.note(format!("joined {} {}", zone.kind, String::from_utf8_lossy(&payload)));
    }

    fn on_refused(&mut self, _: &mut Cue<'_, Talk>, code: RefusalCode, text: &str) {
        self.note(format!("refused {code:?} {text}"));
    }

    fn on_call(&mut self, _: &mut Cue<'_, Talk>, question: &Talk) -> Option<Talk> {
        assert!(matches!(question, Talk::Password(0)));
        Some(Talk::Password(self.password))
    }

    fn on_message(&mut self, cue: &mut Cue<'_, Talk>, message: &Talk) {
        match message {
            Talk::Passed(who) if *who == cue.session() => self.note("passed"),
            _ => self.note("another one passed"),
        }
    }

    fn on_parted(&mut self, _: &mut Cue<'_, Talk>, cause: PartCause) {
        self.note(format!("parted {cause:?}"));
    }

    fn on_zone_lost(&mut self, cue: &mut Cue<'_, Talk>) {
        self.note(format!("zone lost, still a member: {}", cue.zone().is_some()));
    }

    fn on_sent(&mut self, cue: &mut Cue<'_, Talk>, payload: Bytes) {
        match &payload[..] {
            b"break it" => cue.say(Talk::Passed(cue.session())),
            b"panic" => panic!("as asked"),
            b"leave" => cue.leave(),
            other => {
                let zone = String::from_utf8_lossy(other).into_owned();
                let (kind, request) = zone.split_once(' ').unwrap_or((&zone, ""));
                cue.join(ZoneName::new(kind, "one"), request.to_owned());
            }
        }
    }

    fn on_asked(&mut self, cue: &mut Cue<'_, Talk>, _: Bytes) -> Option<Bytes> {
        Some(Bytes::from(cue.zone().map_or("nowhere".to_owned(), |zone| zone.kind.clone())))
    }

    fn on_tick(&mut self, _: &mut Cue<'_, Talk>) {
        if self.password == 99 {
            self.password = 100;
            self.note("tick");
        }
    }

    fn on_ended(&mut self, cause: EndCause) {
        self.note(format!("ended {}", cause.label()));
    }
}

async fn gate() -> Running {
    let config = ZoneConfig { tick: None, ..ZoneConfig::default() };
    let builder: ServerBuilder = builder().zone("gate", config, || Gate);
    start_with(builder, WebConfig::default()).await
}

async fn visit(running: &Running, password: u32) -> (SessionId, UnboundedReceiver<String>) {
    let (diary, notes) = unbounded_channel();
    let visitor = Visitor { password, diary };
    let started = running.server.start_agent(SessionConfig::default(), visitor).await;
    (started.expect("there is room"), notes)
}

async fn next(notes: &mut UnboundedReceiver<String>) -> String {
    let note = tokio::time::timeout(PATIENCE, notes.recv()).await.expect("a note in time");
    note.expect("the agent lives")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_joins_answers_and_hears_without_any_encoding() {
    let running = gate().await;
    let (npc, mut notes) = visit(&running, 7).await;
    running.server.send(npc, "gate").await.expect("it is there");
    assert_eq!(next(&mut notes).await, "joined gate hello");
    assert_eq!(next(&mut notes).await, "passed");
    let asked = running.server.call(npc, "where?", PATIENCE).await;
    assert_eq!(asked, Ok(Bytes::from_static(b"gate")));

    let (wrong, mut wrong_notes) = visit(&running, 8).await;
    running.server.send(wrong, "gate").await.expect("it is there");
    assert_eq!(next(&mut wrong_notes).await, "joined gate hello");
    assert_eq!(next(&mut wrong_notes).await, "parted Kicked");
    // It is told that it parted when its zone says so, which may be before its session has left.
    let refusal = loop {
        running.server.send(wrong, "gate intruder").await.expect("it is there");
        let note = next(&mut wrong_notes).await;
        if !note.starts_with("refused AlreadyJoined") {
            break note;
        }
    };
    assert_eq!(refusal, "refused JoinDenied not on the list");
    running.server.send(wrong, "nowhere").await.expect("it is there");
    assert_eq!(next(&mut wrong_notes).await, "refused UnknownKind ");
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_ticks_and_learns_of_a_fault_of_its_zone_and_of_its_own_end() {
    let running = gate().await;
    let (npc, mut notes) = visit(&running, 99).await;
    assert_eq!(next(&mut notes).await, "tick");
    let (guest, mut guests) = visit(&running, 7).await;
    running.server.send(guest, "gate").await.expect("it is there");
    assert_eq!(next(&mut guests).await, "joined gate hello");
    assert_eq!(next(&mut guests).await, "passed");
    running.server.send(guest, "break it").await.expect("it is there");
    assert_eq!(next(&mut guests).await, "zone lost, still a member: true");

    running.server.send(guest, "leave").await.expect("it is there");
    assert_eq!(next(&mut guests).await, "parted Left");
    assert_eq!(next(&mut guests).await, "ended left");
    running.server.end(npc, EndCause::Kicked).await.expect("it is there");
    assert_eq!(next(&mut notes).await, "ended kicked");
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panicking_agent_ends_its_own_session_with_a_cause_and_nobody_else() {
    let running = gate().await;
    let mut events = running.server.events();
    let (npc, _notes) = visit(&running, 7).await;
    let (other, mut others) = visit(&running, 7).await;
    running.server.send(npc, "panic").await.expect("it is there");
    let cause = loop {
        if let Event::PlayerLeft { session, cause, .. } = events.recv().await.expect("it runs") {
            assert_eq!(session, npc);
            break cause;
        }
    };
    assert_eq!(cause, EndCause::AgentFault);
    running.server.send(other, "gate").await.expect("it is there");
    assert_eq!(next(&mut others).await, "joined gate hello");
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_takes_over_a_session_that_was_played_by_hand() {
    let running = gate().await;
    let server = &running.server;
    let changes = Changes {
        data: Some(Bytes::from_static(b"goblin")),
        flags: Some((Flags::PACKET_LOGGING, true)),
        permissions: Some(3),
        ..Changes::default()
    };
    let config = SessionConfig { player: Some(PlayerId([7; 16])), changes };
    let npc = server.start_session(config).await.expect("there is room");
    let view = server.session(npc).await.expect("it runs").expect("it is there");
    assert_eq!((view.player, &view.data[..]), (PlayerId([7; 16]), &b"goblin"[..]));
    assert!(view.flags.has(Flags::PACKET_LOGGING));
    server.join(npc, ZoneName::new("gate", "one"), Bytes::new()).await.expect("a known kind");
    until("it is a member", async || {
        let view = server.session(npc).await.expect("it runs");
        view.is_some_and(|view| view.zone.is_some())
    })
    .await;
    let (diary, _notes) = unbounded_channel();
    let visitor = Visitor { password: 7, diary };
    server.attach_agent(npc, visitor).await.expect("a native session");
    let asked = server.call(npc, "where?", PATIENCE).await;
    assert_eq!(asked, Ok(Bytes::from_static(b"gate")));
    let stranger = Visitor { password: 7, diary: unbounded_channel().0 };
    server.attach_agent(SessionId(999), stranger).await.expect_err("there is none");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broadcast_reaches_players_in_and_out_of_zones_and_a_move_takes_them_along() {
    let running = start().await;
    let server = &running.server;
    let mut ann = running.anonymous().await;
    let mut bob = running.member("square").await;
    until("bob is a member", async || {
        let sessions = server.sessions().await.expect("it runs");
        sessions.iter().any(|view| view.zone.is_some())
    })
    .await;
    let reach = server.broadcast("news").await;
    assert_eq!(reach, Ok(Reach { told: 2, missed: 0 }));
    for client in [&mut ann, &mut bob] {
        assert_eq!(client.hear("down").await["message"]["payload"], "bmV3cw==");
    }
    let zone = server.zones().await.expect("it runs")[0].0;
    assert_eq!(server.broadcast_to(zone, "here").await, Ok(Reach { told: 1, missed: 0 }));
    assert_eq!(bob.hear("down").await["message"]["payload"], "aGVyZQ==");

    let id = ann.welcome["session"].as_str().expect("an id").parse().expect("a number");
    let moved = server.move_to(SessionId(id), ZoneName::new("relay", "square"), "").await;
    assert_eq!(moved, Ok(zone));
    let joined = ann.hear("down").await;
    assert_eq!(joined["joined"]["zone"]["name"], "square");
    ann.up(1, json!({"message": {"payload": "aGk="}})).await;
    assert_eq!(bob.hear("down").await["message"]["payload"], "aGk=");
    server.part(SessionId(id)).await.expect("it is a member");
    assert_eq!(ann.hear("down").await["parted"]["cause"], "PART_CAUSE_ASKED");
    server.stop().await;
}
