//! The program in a process of its own. It ends with the value that started it.

use std::io::{self, BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};

use crate::process::{Process, Signal};

/// A server that runs.
#[derive(Debug)]
pub struct Serving {
    child: Process,
    address: String,
}

/// A server that was started and may not serve yet.
#[derive(Debug)]
pub struct Starting {
    child: Process,
    said: Lines<BufReader<ChildStdout>>,
}

/// The command that serves from a folder at an address.
#[must_use]
pub fn command(program: &Path, data: &Path, listen: &str) -> Command {
    let mut command = Command::new(program);
    // What the caller's surroundings say is not meant for this one.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("REJOIN_")) {
        command.env_remove(name);
    }
    // All clients are on this machine.
    command.args(["serve", "--listen", listen, "--admin-listen", "127.0.0.1:0"]);
    command.args(["--guard", "open", "--data"]);
    command.arg(data);
    command
}

impl Starting {
    /// Starts a command of [`command`].
    ///
    /// # Errors
    /// The system does not start it.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let mut child = Process::spawn(command.stdout(Stdio::piped()))?;
        let said =
            child.stdout.take().ok_or_else(|| io::Error::other("its words are not heard"))?;
        Ok(Self { child, said: BufReader::new(said).lines() })
    }

    /// Waits until it serves.
    ///
    /// # Errors
    /// It ended before.
    pub fn ready(mut self) -> io::Result<Serving> {
        let mut address = None;
        for line in self.said.by_ref() {
            let line = line?;
            let word = line.split_whitespace().find_map(|word| word.strip_prefix("ws://"));
            address = address.or(word.map(|word| word.trim_end_matches("/play").to_owned()));
            if line.contains("logins") || line.contains("Never face") {
                break;
            }
        }
        let Some(address) = address else {
            let status = self.child.wait()?;
            return Err(io::Error::other(format!("the server did not start: {status}")));
        };
        // What it says later is read to the end, so that it never waits for us.
        std::thread::spawn(move || self.said.map_while(Result::ok).for_each(drop));
        Ok(Serving { child: self.child, address })
    }

    /// SIGKILL, wherever it is.
    ///
    /// # Errors
    /// It cannot be ended.
    pub fn kill(mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }
}

impl Serving {
    /// Starts a server and waits until it serves.
    ///
    /// # Errors
    /// It did not start.
    pub fn start(program: &Path, data: &Path, listen: &str) -> io::Result<Self> {
        let mut command = command(program, data, listen);
        command.args(["--log", "error"]);
        Starting::start(command)?.ready()
    }

    /// The id of its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What a client connects to.
    #[must_use]
    pub fn url(&self) -> String {
        format!("ws://{}/play", self.address)
    }

    /// SIGKILL.
    ///
    /// # Errors
    /// It cannot be ended.
    pub fn kill(mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// It has ended, or the system refuses or has no signals.
    pub fn signal(&mut self, signal: Signal) -> io::Result<()> {
        self.child.signal(signal)
    }

    /// Waits until it has ended by itself; its exit code.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn ended(mut self) -> io::Result<Option<i32>> {
        Ok(self.child.wait()?.code())
    }
}
