//! A server in a loop that is not async, as an engine has it: `cargo run --example frames`. Each
//! frame takes what has happened and waits for nothing.

use std::time::{Duration, Instant};

use rejoin::prelude::*;
use rejoin::server::{blocking, relay};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let builder = ServerBuilder::new().zone("relay", relay::config(), relay::Relay::default);
    let mut server = blocking::Server::start(builder)?;
    let address = server.listen("127.0.0.1:0", WebConfig::default())?;
    println!("players connect to ws://{address}/play");

    let goblin = server.start_session(SessionConfig::default())?;
    server.join(goblin, ZoneName::new("relay", "cave"), "")?;
    let end = Instant::now() + Duration::from_secs(10);
    let mut frame = 0_u64;
    let mut is_over = false;
    while !is_over && Instant::now() < end {
        frame += 1;
        for event in server.try_events() {
            println!("{event:?}");
            match event {
                Event::ZoneJoined { session, .. } => server.end(session, EndCause::Kicked)?,
                Event::PlayerLeft { .. } => is_over = true,
                _ => {}
            }
        }
        // The engine draws its frame here.
        std::thread::sleep(Duration::from_millis(16));
    }
    println!("over after some frames: {}", is_over && frame > 0);
    server.stop();
    Ok(())
}
