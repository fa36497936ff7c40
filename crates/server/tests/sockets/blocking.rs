//! The server in a loop that is not async.

use std::time::{Duration, Instant};

use rejoin_core::event::{EndCause, Event};
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::SessionConfig;
use rejoin_server::{Reach, WebConfig, blocking};

use crate::client::{PATIENCE, Running, builder};

/// Goes round as a game's loop does, until an event of interest has come.
fn frames_until(server: &mut blocking::Server, wanted: impl Fn(&Event) -> bool) {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if server.try_events().iter().any(&wanted) {
            return;
        }
        std::thread::yield_now();
    }
    panic!("the event never came");
}

#[test]
fn a_loop_that_is_not_async_runs_a_server_frame_by_frame() {
    let mut server = blocking::Server::start(builder()).expect("it starts");
    let address = server.listen("127.0.0.1:0", WebConfig::default()).expect("a free port");
    let npc = server.start_session(SessionConfig::default()).expect("there is room");
    let mut heard = server.deliveries(npc);
    server.join(npc, ZoneName::new("relay", "square"), "").expect("a known kind");
    frames_until(&mut server, |event| matches!(event, Event::ZoneJoined { .. }));
    assert!(heard.try_recv().is_some());

    // A player on a socket, from a runtime of its own.
    let running = Running { server: server.handle(), at: address };
    let player = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().expect("threads");
        runtime.block_on(async {
            let mut ann = running.anonymous().await;
            ann.hear("down").await
        })
    });
    let is_player = |event: &Event| matches!(event, Event::SessionLinked { .. });
    frames_until(&mut server, is_player);
    assert_eq!(server.active_count(), Ok(1));
    assert_eq!(server.sessions().map(|all| all.len()), Ok(2));
    assert_eq!(server.broadcast("hi"), Ok(Reach { told: 2, missed: 0 }));
    assert_eq!(player.join().expect("no panic")["message"]["payload"], "aGk=");

    let unanswered = server.call(npc, "?", Duration::from_millis(10));
    assert!(unanswered.is_err(), "nobody plays the session");
    server.end(npc, EndCause::Kicked).expect("it is there");
    frames_until(&mut server, |event| matches!(event, Event::PlayerLeft { .. }));
    assert_eq!(server.missed_events(), 0);
    let handle = server.handle();
    server.stop();
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    assert!(runtime.block_on(handle.sessions()).is_err(), "it has stopped");
}
