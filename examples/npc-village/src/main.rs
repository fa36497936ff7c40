//! The village as a server: `cargo run -p npc-village [address]`. Players join `village/square` with their
//! name, and speak to `Ada`, `Bert` and `Cleo` by saying their names first.

use npc_village::{VILLAGERS, Village, Villager, config};
use rejoin::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7400".to_owned());
    let server = ServerBuilder::new().zone("village", config(), Village::default).start()?;
    for (name, trade) in VILLAGERS {
        server.start_agent(SessionConfig::default(), Villager::new(name, trade)).await?;
    }
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("players connect to ws://{}/play", listener.local_addr()?);
    let door = server.clone();
    tokio::select! {
        () = async move { door.listen(listener, WebConfig::default()).await } => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    server.stop().await;
    Ok(())
}
