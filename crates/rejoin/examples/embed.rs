//! A server with a zone of its own and an NPC, in one file: `cargo run --example embed`. Players
//! connect by WebSocket and join `tavern/one`; here two barkeepers talk, and that is all.

use rejoin::prelude::*;

/// Whatever a guest says, everybody in the tavern hears.
struct Tavern;

impl Zone for Tavern {
    type In = Bytes;
    type Out = Bytes;

    fn on_message(&mut self, ctx: &mut Context<'_, Bytes>, from: Sender, message: Bytes) {
        ctx.broadcast_except(from.session, message);
    }
}

/// Joins the tavern, greets, and leaves when it is greeted.
struct Barkeeper;

impl Agent for Barkeeper {
    type In = Bytes;
    type Out = Bytes;

    fn on_start(&mut self, cue: &mut Cue<'_, Bytes>) {
        cue.join(ZoneName::new("tavern", "one"), "");
    }

    fn on_joined(&mut self, cue: &mut Cue<'_, Bytes>, _: &ZoneName, _: Bytes) {
        cue.say(Bytes::from("good evening"));
    }

    fn on_message(&mut self, cue: &mut Cue<'_, Bytes>, heard: &Bytes) {
        println!("session {} hears {:?}", cue.session(), String::from_utf8_lossy(heard));
        cue.leave();
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = ServerBuilder::new().zone("tavern", ZoneConfig::default(), || Tavern).start()?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("players connect to ws://{}/play", listener.local_addr()?);
    let door = server.clone();
    tokio::spawn(async move { door.listen(listener, WebConfig::default()).await });

    let mut events = server.events();
    server.start_agent(SessionConfig::default(), Barkeeper).await?;
    server.start_agent(SessionConfig::default(), Barkeeper).await?;
    // A real game would wait for ctrl-c here.
    loop {
        if let Event::PlayerLeft { session, cause, .. } = events.recv().await? {
            println!("session {session} ended: {}", cause.label());
            break;
        }
    }
    server.stop().await;
    Ok(())
}
