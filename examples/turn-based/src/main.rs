//! The server of the match: `cargo run -p turn-based [address] [seconds]`. Players join `match/<name>`,
//! and the match waits so many seconds for whoever is absent.

use std::time::Duration;

use rejoin::prelude::*;
use turn_based::{Match, WAIT, config};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:7400".to_owned());
    let seconds = arguments.next().map(|seconds| seconds.parse()).transpose()?;
    let wait = seconds.map_or(WAIT, Duration::from_secs);

    let server = ServerBuilder::new().zone("match", config(wait), Match::default).start()?;
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("players connect to ws://{}/play", listener.local_addr()?);
    println!("a match waits {} s for an absent player", wait.as_secs());
    let door = server.clone();
    tokio::select! {
        () = async move { door.listen(listener, WebConfig::default()).await } => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    server.stop().await;
    Ok(())
}
