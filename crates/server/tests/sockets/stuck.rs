//! Callbacks that really do not return. All zones share one thread, so that the neighbours of the
//! stuck one would hang with it.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rejoin_core::event::Event;
use rejoin_core::id::{SessionId, ZoneId};
use rejoin_core::zone::{Context, JoinDenied, Sender, Zone, ZoneConfig};
use rejoin_server::{ServerBuilder, WebConfig};
use serde_json::json;
use tokio::sync::broadcast;

use crate::client::{PATIENCE, Running, builder, start_with, until};

/// "hang" and "ok" as clients write them.
const HANG: &str = "aGFuZw==";
const OK: &str = "b2s=";

/// Where callbacks hang until the test lets them go.
#[derive(Clone, Default)]
struct Trap(Arc<(Mutex<(usize, bool)>, Condvar)>);

impl Trap {
    fn hang(&self) {
        let (state, bell) = &*self.0;
        let mut state = state.lock().expect("no panic");
        state.0 += 1;
        while !state.1 {
            state = bell.wait(state).expect("no panic");
        }
        state.0 -= 1;
    }

    fn caught(&self) -> usize {
        self.0.0.lock().expect("no panic").0
    }

    fn release(&self) {
        self.0.0.lock().expect("no panic").1 = true;
        self.0.1.notify_all();
    }
}

/// Lets callbacks go even if the test fails: nothing may hang after it.
struct Opened(Trap);

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.release();
    }
}

struct Sticky(Trap);

impl Zone for Sticky {
    type In = Bytes;
    type Out = Bytes;

    fn on_join(
        &mut self,
        _: &mut Context<'_, Bytes>,
        _: SessionId,
        request: Bytes,
    ) -> Result<Bytes, JoinDenied> {
        if &request[..] == b"hang" {
            self.0.hang();
        }
        Ok(Bytes::new())
    }

    fn on_message(&mut self, ctx: &mut Context<'_, Bytes>, from: Sender, message: Bytes) {
        if &message[..] == b"hang" {
            self.0.hang();
            ctx.broadcast(Bytes::from_static(b"too late"));
        }
        ctx.reply(&from, message);
    }
}

const BUDGET: Duration = Duration::from_millis(300);

fn sticky(trap: &Trap) -> ServerBuilder {
    let config = ZoneConfig { callback_budget: BUDGET, tick: None, ..ZoneConfig::default() };
    let trap = trap.clone();
    builder().zone_threads(1).zone("sticky", config, move || Sticky(trap.clone()))
}

async fn start(builder: ServerBuilder) -> (Running, broadcast::Receiver<Event>) {
    let running = start_with(builder, WebConfig::default()).await;
    let events = running.server.events();
    (running, events)
}

async fn next_event<T>(
    events: &mut broadcast::Receiver<Event>,
    mut wanted: impl FnMut(Event) -> Option<T>,
) -> T {
    let found = async {
        loop {
            if let Some(found) = wanted(events.recv().await.expect("the server runs")) {
                return found;
            }
        }
    };
    tokio::time::timeout(PATIENCE, found).await.expect("it happens in time")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stuck_zone_opens_again_and_its_neighbours_notice_nothing() {
    let trap = Trap::default();
    let _opened = Opened(trap.clone());
    let (running, mut events) = start(sticky(&trap)).await;
    let mut ann = running.member_of("sticky", "a").await;
    let mut cid = running.member_of("sticky", "a").await;
    let mut bob = running.member("square").await;
    assert_eq!(ann.ask(2, OK).await["reply"]["payload"], OK);

    ann.up(3, json!({"message": {"payload": HANG}})).await;
    until("the callback hangs", async || trap.caught() == 1).await;
    // The same thread, the same connection, and nothing that the zone had in memory is lost.
    assert_eq!(bob.ask(2, OK).await["reply"]["payload"], OK);
    let (text, closed) = next_event(&mut events, |event| match event {
        Event::ZoneFault { text, closed, .. } => Some((text, closed)),
        _ => None,
    })
    .await;
    assert!(text.starts_with("Stuck:"), "{text}");
    assert!(!closed);

    // Nobody's connection is closed, and the zone that runs again is handed what was never applied. It cannot know
    // what was sent and not acknowledged, and sends that again.
    let refused = ann.hear_new().await;
    assert_eq!(refused["refused"]["code"], "REFUSAL_CODE_ZONE_FAULT", "{refused}");
    assert_eq!(cid.ask(2, OK).await["reply"]["payload"], OK);

    trap.release();
    until("the callback returns", async || trap.caught() == 0).await;
    // What it did is discarded: the next words are answers, and nobody hears "too late".
    for seq in 4..10 {
        assert_eq!(ann.ask(seq, OK).await["reply"]["payload"], OK);
    }
    assert_eq!(cid.ask(3, OK).await["reply"]["payload"], OK);
    assert_eq!(bob.ask(3, OK).await["reply"]["payload"], OK);
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_join_that_hangs_is_refused() {
    let trap = Trap::default();
    let _opened = Opened(trap.clone());
    let (running, _) = start(sticky(&trap)).await;
    let mut bob = running.member("square").await;
    let mut ann = running.anonymous().await;
    let join = json!({"kind": "sticky", "name": "a", "create": true, "payload": HANG});
    ann.up(1, json!({"join": join})).await;
    assert_eq!(ann.hear("down").await["refused"]["code"], "REFUSAL_CODE_ZONE_FAULT");
    assert_eq!(bob.ask(2, OK).await["reply"]["payload"], OK);
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_bound_the_zones_of_the_thread_are_closed_with_a_cause() {
    let trap = Trap::default();
    let _opened = Opened(trap.clone());
    let (running, mut events) = start(sticky(&trap).stuck_threads_max(0)).await;
    let mut ann = running.member_of("sticky", "a").await;
    let mut bob = running.member("square").await;
    ann.up(2, json!({"message": {"payload": HANG}})).await;
    let mut closed = Vec::new();
    while closed.len() < 2 {
        let (zone, text) = next_event(&mut events, |event| match event {
            Event::ZoneOpenRefused { zone, text } => Some((zone, text)),
            _ => None,
        })
        .await;
        assert!(text.starts_with("Stuck:"), "{text}");
        closed.push(zone);
    }
    assert!(closed.contains(&ZoneId::of("sticky", "a")));
    assert!(closed.contains(&ZoneId::of("relay", "square")));
    assert_eq!(ann.closed().await, Some(4053));
    assert_eq!(bob.closed().await, Some(4053));
    assert!(!running.server.is_ready(), "whoever runs it must restart it");
    // Sessions live on, and a zone that would need the thread is refused rather than awaited.
    let mut bob = running.resume(&bob).await;
    bob.up(2, json!({"join": {"kind": "relay", "name": "other", "create": true}})).await;
    assert_eq!(bob.hear("resync").await["reason"], "RUNG_REASON_ZONE_LOST");
    assert_eq!(bob.hear("down").await["refused"]["code"], "REFUSAL_CODE_UNKNOWN_ZONE");
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_does_not_wait_for_a_callback_that_hangs() {
    let trap = Trap::default();
    let _opened = Opened(trap.clone());
    let (running, _) = start(sticky(&trap)).await;
    let mut ann = running.member_of("sticky", "a").await;
    ann.up(2, json!({"message": {"payload": HANG}})).await;
    until("the callback hangs", async || trap.caught() == 1).await;
    let since = Instant::now();
    tokio::time::timeout(PATIENCE, running.server.stop()).await.expect("it stops");
    assert!(since.elapsed() < PATIENCE / 2, "{:?}", since.elapsed());
    assert_eq!(trap.caught(), 1, "it hangs still");
}
