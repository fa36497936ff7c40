//! The generator: requests typed onto sockets that stay open, one in flight on each.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::IN_FLIGHT;
use super::cycle::{Act, Desk, Tally, Told, work};
use super::serving::{FLEET, KEY};
use crate::machine;

/// One socket.
struct Wire {
    socket: TcpStream,
    buffer: Vec<u8>,
}

impl Wire {
    async fn open(at: SocketAddr) -> Result<Self> {
        let socket = TcpStream::connect(at).await?;
        socket.set_nodelay(true)?;
        Ok(Self { socket, buffer: Vec::with_capacity(2_048) })
    }

    /// The status and the body.
    async fn ask(&mut self, line: &str, body: &str) -> Result<(u16, String)> {
        let request = format!(
            "{line} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {KEY}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.socket.write_all(request.as_bytes()).await?;
        self.buffer.clear();
        let (mut needed, mut head_end) = (usize::MAX, 0);
        while self.buffer.len() < needed {
            let read = self.socket.read_buf(&mut self.buffer).await?;
            ensure!(read > 0, "the server closed the connection");
            if head_end == 0
                && let Some(end) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n")
            {
                head_end = end + 4;
                let head = std::str::from_utf8(&self.buffer[..end])?;
                let length = head.split("content-length: ").nth(1).context("no length")?;
                let length = length.split("\r\n").next().unwrap_or_default();
                needed = head_end + length.parse::<usize>()?;
            }
        }
        let status = std::str::from_utf8(&self.buffer[9..12])?.parse()?;
        Ok((status, String::from_utf8(self.buffer[head_end..needed].to_vec())?))
    }
}

/// A worker's way.
struct Client {
    wire: Wire,
    game: String,
    stay: u32,
}

impl Desk for Client {
    async fn reserve(&mut self, player: &str) -> Result<Option<String>> {
        let line = format!("POST /v1/games/{}/seats", self.game);
        let body = format!("{{\"players\":[{{\"player\":\"{player}\"}}]}}");
        match self.wire.ask(&line, &body).await? {
            (201, answer) => {
                let id = answer.split("\"id\":\"").nth(1).and_then(|rest| rest.get(..32));
                Ok(Some(id.context("a seat without an id")?.to_owned()))
            }
            (409, _) => Ok(None),
            (status, answer) => bail!("{line}: {status} {answer}"),
        }
    }

    async fn act(&mut self, seat: &str, player: &str, act: Act) -> Result<()> {
        let path = format!("/v1/games/{}/seats/{seat}", self.game);
        if act == Act::Claim {
            self.stay += 1;
        }
        let stay = self.stay;
        let (line, body) = match act {
            Act::Claim => (
                format!("POST {path}/claim"),
                format!("{{\"player\":\"{player}\",\"session\":\"1\",\"stay\":{stay}}}"),
            ),
            Act::Confirm => {
                (format!("POST {path}/confirm"), format!("{{\"session\":\"1\",\"stay\":{stay}}}"))
            }
            Act::Complete => {
                (format!("POST {path}/complete"), format!("{{\"session\":\"1\",\"stay\":{stay}}}"))
            }
            Act::Release => (format!("DELETE {path}"), String::new()),
        };
        let (status, answer) = self.wire.ask(&line, &body).await?;
        ensure!(status == 200, "{line}: {status} {answer}");
        Ok(())
    }
}

/// Eight workers for each Game.
pub(super) async fn play(at: SocketAddr, games: &[String], span: Duration) -> Result<Told> {
    let mut workers = Vec::new();
    for game in games {
        let held = Arc::new(AtomicI64::new(0));
        for number in 0..IN_FLIGHT {
            let client = Client { wire: Wire::open(at).await?, game: game.clone(), stay: 0 };
            let held = held.clone();
            workers.push(tokio::spawn(async move {
                work(client, &format!("player{number}"), &held, span).await
            }));
        }
    }
    let mut all = Vec::new();
    for worker in workers {
        all.push(worker.await??);
    }
    Tally::sum(all)
}

/// Games one after the other, each with the instant of its request as its name.
pub(super) async fn create(at: SocketAddr, count: usize) -> Result<()> {
    let mut wire = Wire::open(at).await?;
    for _ in 0..count {
        let body =
            format!("{{\"fleet\":\"{FLEET}\",\"capacity\":2,\"name\":\"{}\"}}", machine::now());
        let (status, answer) = wire.ask("POST /v1/games", &body).await?;
        ensure!(status == 201, "{status} {answer}");
    }
    Ok(())
}
