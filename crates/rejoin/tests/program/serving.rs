//! The program `rejoin` as a test starts it: on free ports, ended with the test.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rejoin_chaos::Process;

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn rejoin() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rejoin"));
    command.current_dir(env!("CARGO_TARGET_TMPDIR"));
    for name in
        ["LISTEN", "ADMIN_LISTEN", "MEMORY", "DATA", "DEV", "DEMO", "CONFIG", "LOG", "LOG_JSON"]
    {
        command.env_remove(format!("REJOIN_{name}"));
    }
    for name in ["STOP_WITHIN_S", "TCP_LISTEN", "ENET_LISTEN", "TLS_DEV", "GUARD"] {
        command.env_remove(format!("REJOIN_{name}"));
    }
    command
}

pub(crate) fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

pub(crate) fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A server on free ports.
pub(crate) struct Serving {
    pub(crate) child: Process,
    pub(crate) players: String,
    pub(crate) said: Vec<String>,
}

impl Serving {
    pub(crate) fn start(more: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", more)
    }

    pub(crate) fn start_at(listen: &str, more: &[&str]) -> Self {
        let mut command = rejoin();
        command.args(["serve", "--listen", listen, "--admin-listen", "127.0.0.1:0"]);
        command.args(more).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Process::spawn(&mut command).expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut said = Vec::new();
        let mut players = None;
        while let Some(Ok(line)) = lines.next() {
            let word = line.split_whitespace().find(|word| word.starts_with("ws://"));
            players = players.or(word.map(str::to_owned));
            let is_last = line.contains("logins") || line.contains("Never face");
            said.push(line);
            if is_last {
                break;
            }
        }
        // What it says later is read to the end, so that it never waits for us.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self { child, players: players.expect("it says where to connect"), said }
    }
}
