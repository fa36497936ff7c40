//! The example's process, and those who play on it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, Lines};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

use super::asker::PATIENCE;

/// Ended with the test, by its id.
pub(crate) struct GameServer {
    child: Child,
    said: Receiver<String>,
    at: String,
}

impl GameServer {
    pub(crate) fn start(server: &str, fleet: &str, name: &str, folder: &Path, key: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_external-host"));
        command.args([server, fleet, name]).arg(folder).env("REJOIN_HOST_KEY", key);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let (heard, said) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = heard.send(line);
            }
        });
        let mut server = Self { child, said, at: String::new() };
        let first = server.next();
        server.at = first.strip_prefix("players ").expect("an address").to_owned();
        server
    }

    fn next(&mut self) -> String {
        self.said.recv_timeout(PATIENCE).expect("it says something in time")
    }

    /// Reads what it says up to this line.
    pub(crate) fn until(&mut self, line: &str) {
        while self.next() != line {}
    }

    /// SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it ran");
        self.child.wait().expect("it is over");
    }
}

impl Drop for GameServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A player's connection to the example.
pub(crate) struct Guest {
    heard: Lines<tokio::io::BufReader<OwnedReadHalf>>,
    says: OwnedWriteHalf,
}

impl Guest {
    pub(crate) async fn join(host: &GameServer, game: &str, ticket: &str, player: &str) -> Self {
        let socket = TcpStream::connect(&host.at).await.expect("it listens");
        let (read, says) = socket.into_split();
        let mut guest = Self { heard: tokio::io::BufReader::new(read).lines(), says };
        guest.say(&format!("join {game} {ticket} {player}")).await;
        guest
    }

    pub(crate) async fn say(&mut self, line: &str) {
        self.says.write_all(format!("{line}\n").as_bytes()).await.expect("it reads");
    }

    pub(crate) async fn hear(&mut self) -> String {
        let line = timeout(PATIENCE, self.heard.next_line()).await.expect("in time");
        line.expect("a text").expect("the connection is there")
    }
}
