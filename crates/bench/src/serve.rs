//! The two servers that are compared, each a process of its own: ours, and a bare one on the same
//! stack. It says where it listens and ends when its standard input does, so that none is left over.

mod bare;
mod ours;
pub(crate) mod zones;

use std::io::{BufRead, Read};
use std::net::SocketAddr;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use tokio::net::{TcpListener, TcpSocket};

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
}

impl Kind {
    /// As it is called in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Bare => "bare",
            Self::Soak => "soak",
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
}

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
        match arguments.kind {
            Kind::Ours => ours::start(listener).await?,
            Kind::Bare => bare::start(listener),
            Kind::Soak => crate::soak::serve(listener).await?,
        }
        println!("{SAYS}{address}");
        tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
        Ok(())
    })
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

    /// Starts the program `rejoin` on free ports.
    pub(crate) fn start_binary(path: &std::path::Path) -> Result<Self> {
        let mut command = std::process::Command::new(path);
        command.args(["serve", "--memory", "--listen", "127.0.0.1:0"]);
        command.args(["--admin-listen", "127.0.0.1:0", "--log", "error"]);
        Self::heard(&mut command, |line| line.split_once("ws://")?.1.split('/').next())
    }

    /// Starts it and reads what it says until the address is among it.
    fn heard(
        command: &mut std::process::Command,
        address: impl Fn(&str) -> Option<&str>,
    ) -> Result<Self> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut serving = Self { child, at: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let out = serving.child.stdout.take().context("its output is piped")?;
        let mut lines = std::io::BufReader::new(out).lines();
        let mut said = Vec::new();
        while let Some(Ok(line)) = lines.next() {
            if let Some(address) = address(line.trim()) {
                serving.at = address.parse()?;
                // What it says later is read to the end, so that it never waits for us.
                std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
                return Ok(serving);
            }
            said.push(line);
        }
        bail!("the server did not start: {said:?}");
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
