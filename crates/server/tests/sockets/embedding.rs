//! What a game that embeds the server can do.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rejoin_core::event::EndCause;
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{Answer, SessionConfig};
use rejoin_core::id::{PlayerId, SessionId};
use rejoin_core::zone::{Context, Delivery, Sender, Zone, ZoneConfig};
use rejoin_server::relay::{Fact, Heard, Order, Said};
use rejoin_server::{ServerError, WebConfig};
use serde_json::json;

use crate::client::{PATIENCE, builder, hello, start, start_with, until};

fn square() -> ZoneName {
    ZoneName { kind: "relay".to_owned(), name: "square".to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_native_session_plays_with_clients() {
    let running = start().await;
    let server = &running.server;
    let npc = server.start_session(SessionConfig::default()).await.expect("there is room");
    let mut heard = server.deliveries(npc);
    server.join(npc, square(), Bytes::new()).await.expect("the kind is known");
    let joined = heard.recv().await.expect("it listens");
    assert!(matches!(joined, Delivery::Joined(..)));

    let mut ann = running.member("square").await;
    ann.up(2, json!({"message": {"payload": "aGk="}})).await;
    let Some(Delivery::Message(message)) = heard.recv().await else { panic!("a message") };
    let said = message.downcast_ref::<Heard>().expect("the zone's own type");
    assert_eq!((&said.fact, &said.body[..]), (&Fact::Bare, &b"hi"[..]));
    let answer = Arc::new(Said { order: Order::Bare, body: Bytes::from_static(b"ho") });
    server.say(npc, answer).await.expect("it runs");
    assert_eq!(ann.hear("down").await["message"]["payload"], "aG8=");

    assert_eq!(server.sessions().await.expect("it runs").len(), 2);
    assert_eq!(server.zones().await.expect("it runs")[0].1, square());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_sent_to_asked_and_ended() {
    let running = start().await;
    let server = running.server.clone();
    let mut ann = running.anonymous().await;
    let id: u64 = ann.welcome["session"].as_str().expect("an id").parse().expect("a number");
    let id = SessionId(id);
    assert_eq!(server.session(id).await.expect("it runs").map(|view| view.id), Some(id));
    server.send(id, "psst").await.expect("it is there");
    assert_eq!(ann.hear("down").await["message"]["payload"], "cHNzdA==");

    let asking = server.clone();
    let asked = tokio::spawn(async move { asking.call(id, "well?", PATIENCE).await });
    let call = ann.hear("down").await["call"]["call"].clone();
    ann.up(1, json!({"answer": {"call": call, "payload": "eWVz"}})).await;
    assert_eq!(asked.await.expect("no panic"), Ok(Bytes::from_static(b"yes")));

    server.end(id, EndCause::Kicked).await.expect("it is there");
    let unknown = server.end(id, EndCause::Kicked).await;
    assert!(matches!(unknown, Ok(()) | Err(ServerError::Refused(Answer::Unknown))));
    until("the connection is closed", async || server.connection_count() == 0).await;
    server.stop().await;
    assert_eq!(server.active_count().await, Err(ServerError::Stopped));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_game_decides_who_comes_in_and_silence_is_a_no() {
    let rule = |_: PlayerId, payload: Bytes| async move {
        match &payload[..] {
            b"ticket" => Ok(()),
            b"panic" => panic!("the rule fails"),
            b"sleep" => std::future::pending().await,
            _ => Err("no ticket".to_owned()),
        }
    };
    let mut config = rejoin_core::hub::HubConfig { anonymous: true, ..Default::default() };
    let deadline = Duration::from_millis(300);
    config.admission = rejoin_core::hub::Admission::Ask(deadline);
    let builder = builder().config(config).admission(rule);
    let running = start_with(builder, WebConfig::default()).await;
    let refused = "CLOSE_CODE_ADMISSION_REFUSED";
    let silent = "CLOSE_CODE_ADMISSION_TIMEOUT";
    for (payload, code) in [
        ("dGlja2V0", None),
        ("bm8=", Some(refused)),
        ("cGFuaWM=", Some(silent)),
        ("c2xlZXA=", Some(silent)),
    ] {
        let mut client = running.dial().await;
        client.hear("challenge").await;
        let mut hello = hello(json!({"login": {"anonymous": {}}}));
        hello["hello"]["admission"] = payload.into();
        client.say(hello).await;
        match code {
            None => drop(client.hear("welcome").await),
            Some(code) => assert_eq!(client.hear("refusal").await["code"], code),
        }
    }
    running.server.stop().await;
}

/// Panics when asked to, counts ticks, and has outside work done.
#[derive(Default)]
struct Fragile;

impl Zone for Fragile {
    type In = Bytes;
    type Out = Bytes;

    fn on_message(&mut self, ctx: &mut Context<'_, Bytes>, from: Sender, message: Bytes) {
        match &message[..] {
            b"panic" => panic!("as asked"),
            b"job" => ctx.start_job(from.session.0.to_be_bytes().to_vec(), message),
            _ => ctx.reply(&from, Bytes::from(ctx.tick().to_string())),
        }
    }

    fn on_job(&mut self, ctx: &mut Context<'_, Bytes>, key: Bytes, result: Bytes) {
        let session = key[..].try_into().map(u64::from_be_bytes).expect("our own key");
        ctx.send(SessionId(session), result);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn zones_tick_work_outside_and_survive_their_own_panics() {
    let config = ZoneConfig { tick: Some(Duration::from_millis(10)), ..ZoneConfig::default() };
    let shout = |_: &ZoneName, request: Bytes| Bytes::from(request.to_ascii_uppercase());
    let builder = builder().zone("fragile", config, Fragile::default).jobs(shout);
    let running = start_with(builder, WebConfig::default()).await;
    let mut ann = running.anonymous().await;
    ann.up(1, json!({"join": {"kind": "fragile", "name": "a", "create": true}})).await;
    let joined = ann.hear("down").await;
    ann.leg = joined["joined"]["leg"].as_str().expect("a leg").to_owned();

    ann.up(2, json!({"message": {"payload": "am9i"}})).await;
    assert_eq!(ann.hear("down").await["message"]["payload"], "Sk9C");

    ann.up(3, json!({"message": {"payload": "cGFuaWM="}})).await;
    // The zone that runs again is handed what was not applied: refused, and never applied.
    let refused = ann.hear("down").await;
    assert_eq!(refused["refused"]["to"], "3", "{refused}");
    tokio::time::sleep(Duration::from_millis(50)).await;
    ann.up(4, json!({"message": {"payload": "dGljaw==", "wantsReply": true}})).await;
    let ticks = ann.hear("down").await["reply"]["payload"].clone();
    assert_ne!(ticks, "MA==", "it never ticked");
    running.server.stop().await;
}
