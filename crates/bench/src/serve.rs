//! The two servers that are compared, each a process of its own: ours, and a bare one on the same
//! stack. It says where it listens and ends when its standard input does, so that none is left over; a
//! line that it reads before it answers with what it knows of itself.

mod bare;
mod ours;
pub(crate) mod timed;
pub(crate) mod zones;

use std::io::{BufRead, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use rejoin_server::Server;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpSocket};

use self::timed::{Commits, Times};
use crate::machine;

/// Which server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub(crate) enum Kind {
    /// Rejoin, with zones of the bench.
    Ours,
    /// Accepts, echoes and fans out, and nothing else.
    Bare,
    /// Rejoin, with zones of the soak.
    Soak,
    /// Rejoin, with a directory.
    Seats,
}

impl Kind {
    /// As it is called in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Bare => "bare",
            Self::Soak => "soak",
            Self::Seats => "seats",
        }
    }
}

/// What a server is told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    kind: Kind,
    /// Run on this core only.
    #[arg(long)]
    core: Option<usize>,
    /// Keep sessions and zones in this folder; ours only.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Slow down and sever who sends too much, as `rejoin serve` does; ours only.
    #[arg(long)]
    guarded: bool,
    /// Speak TLS, and write the root of its certificate to this file; ours only.
    #[arg(long, value_name = "FILE")]
    tls: Option<PathBuf>,
}

/// What our server tells of itself.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, Debug, Default)]
pub(crate) struct Told {
    pub(crate) commits: Commits,
    pub(crate) sessions: usize,
}

/// How long an answer of a server may take: it is measured under load.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// Lines of a server that nobody has asked for yet.
const LINES_MAX: usize = 64;

/// What stands before the address on the line that the server says.
const SAYS: &str = "listening ";
/// Connections that may wait to be accepted: a storm comes all at once.
const BACKLOG: u32 = 4_096;

/// `rejoin-bench serve`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if let Some(core) = arguments.core {
        machine::pin(core)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = listen()?;
        let address = listener.local_addr()?;
        let ours = match arguments.kind {
            Kind::Ours => {
                let (data, tls) = (arguments.data.as_deref(), arguments.tls.as_deref());
                Some(ours::start(listener, data, arguments.guarded, tls).await?)
            }
            Kind::Bare => {
                bare::start(listener);
                None
            }
            Kind::Soak => {
                crate::soak::serve(listener).await?;
                None
            }
            Kind::Seats => {
                let data = arguments.data.as_deref().context("seats are kept in a folder")?;
                return crate::seats::serving::run(listener, data, SAYS).await;
            }
        };
        println!("{SAYS}{address}");
        match ours {
            Some((server, times)) => answer(server, times).await,
            None => {
                let input = || std::io::stdin().read_to_end(&mut Vec::new());
                tokio::task::spawn_blocking(input).await??;
                Ok(())
            }
        }
    })
}

/// A line for each line, until there are no more.
async fn answer(server: Server, times: Times) -> Result<()> {
    loop {
        let input = || std::io::stdin().lines().next().transpose();
        if tokio::task::spawn_blocking(input).await??.is_none() {
            return Ok(());
        }
        let sessions = server.sessions().await.map_err(|error| anyhow::anyhow!("{error}"))?;
        let told = Told { commits: times.take(), sessions: sessions.len() };
        println!("{}", serde_json::to_string(&told)?);
    }
}

fn listen() -> Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    Ok(socket.listen(BACKLOG)?)
}

/// A server that runs beside us; it ends with this value.
pub(crate) struct Serving {
    child: std::process::Child,
    /// Where it listens.
    pub(crate) at: SocketAddr,
    said: Receiver<String>,
}

impl Serving {
    /// Starts a server, pinned if there is a core for it.
    pub(crate) fn start(kind: Kind, core: Option<usize>) -> Result<Self> {
        let mut command = std::process::Command::new(std::env::current_exe()?);
        command.args(["serve", kind.name()]);
        if let Some(core) = core {
            command.args(["--core", &core.to_string()]);
        }
        Self::heard(&mut command, |line| line.strip_prefix(SAYS))
    }

    /// Starts our server on whatever cores there are; with a folder it is durable.
    pub(crate) fn start_ours(data: Option<&Path>) -> Result<Self> {
        let mut command = std::process::Command::new(std::env::current_exe()?);
        command.args(["serve", Kind::Ours.name()]);
        if let Some(data) = data {
            command.arg("--data").arg(data);
        }
        Self::heard(&mut command, |line| line.strip_prefix(SAYS))
    }

    /// Starts our server with a directory, durable.
    pub(crate) fn start_seats(data: &Path) -> Result<Self> {
        let mut command = std::process::Command::new(std::env::current_exe()?);
        command.args(["serve", Kind::Seats.name(), "--data"]).arg(data);
        Self::heard(&mut command, |line| line.strip_prefix(SAYS))
    }

    /// Starts our server with the budgets that connections have by default.
    pub(crate) fn start_guarded() -> Result<Self> {
        let mut command = std::process::Command::new(std::env::current_exe()?);
        command.args(["serve", Kind::Ours.name(), "--guarded"]);
        Self::heard(&mut command, |line| line.strip_prefix(SAYS))
    }

    /// Starts our server with TLS; the root of its certificate is in the file by then.
    pub(crate) fn start_encrypted(core: Option<usize>, root: &Path) -> Result<Self> {
        let mut command = std::process::Command::new(std::env::current_exe()?);
        command.args(["serve", Kind::Ours.name(), "--tls"]).arg(root);
        if let Some(core) = core {
            command.args(["--core", &core.to_string()]);
        }
        Self::heard(&mut command, |line| line.strip_prefix(SAYS))
    }

    /// Starts the program `rejoin` on free ports.
    pub(crate) fn start_binary(path: &std::path::Path) -> Result<Self> {
        let mut command = std::process::Command::new(path);
        command.args(["serve", "--memory", "--listen", "127.0.0.1:0"]);
        command.args(["--admin-listen", "127.0.0.1:0", "--log", "error", "--guard", "open"]);
        Self::heard(&mut command, |line| line.split_once("ws://")?.1.split('/').next())
    }

    /// Starts it and reads what it says until the address is among it.
    fn heard(
        command: &mut std::process::Command,
        address: impl Fn(&str) -> Option<&str>,
    ) -> Result<Self> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (door, said) = sync_channel(LINES_MAX);
        let mut serving = Self { child, at: SocketAddr::from(([127, 0, 0, 1], 0)), said };
        let out = serving.child.stdout.take().context("its output is piped")?;
        let mut lines = std::io::BufReader::new(out).lines();
        let mut before = Vec::new();
        while let Some(Ok(line)) = lines.next() {
            if let Some(address) = address(line.trim()) {
                serving.at = address.parse()?;
                // What it says later is read to the end, so that it never waits for us.
                std::thread::spawn(move || {
                    let lines = lines.map_while(Result::ok);
                    // What nobody asks for is dropped.
                    lines.for_each(|line| drop(door.try_send(line)));
                });
                return Ok(serving);
            }
            before.push(line);
        }
        bail!("the server did not start: {before:?}");
    }

    /// Asks our server for its figures.
    pub(crate) fn ask(&mut self) -> Result<Told> {
        let input = self.child.stdin.as_mut().context("its input is piped")?;
        writeln!(input, "figures")?;
        let line = self.said.recv_timeout(ANSWER_WITHIN).context("the server does not answer")?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Gives an order to a server that takes them, and reads what it answers.
    pub(crate) fn order<T: serde::de::DeserializeOwned>(&mut self, order: &str) -> Result<T> {
        let input = self.child.stdin.as_mut().context("its input is piped")?;
        writeln!(input, "{order}")?;
        let line = self.said.recv_timeout(ANSWER_WITHIN).context("the server does not answer")?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It is measured, not trusted: there is nothing to say goodbye to.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
