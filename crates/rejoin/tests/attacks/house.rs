//! The program in a process of its own, with settings of the attack's choice, looked at from outside.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rejoin_chaos::{Process, Signal};
use tokio::net::{TcpSocket, TcpStream};

/// How long anything may take that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct House {
    child: Process,
    pub(crate) web: SocketAddr,
    enet: Option<SocketAddr>,
    operators: SocketAddr,
    folder: PathBuf,
}

fn folder() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let (run, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("attack-{run}-{count}"));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

pub(crate) fn rejoin() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rejoin"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("REJOIN_")) {
        command.env_remove(name);
    }
    command
}

impl House {
    /// Starts the program with this settings file.
    pub(crate) fn start(settings: &str) -> Self {
        Self::start_under(settings, &[])
    }

    /// The same in this environment; a path that begins with `./` is in the program's own folder.
    pub(crate) fn start_under(settings: &str, environment: &[(&str, &str)]) -> Self {
        let folder = folder();
        std::fs::write(folder.join("rejoin.toml"), settings).expect("a folder");
        Self::serve(folder, "127.0.0.1:0", environment)
    }

    fn serve(folder: PathBuf, listen: &str, environment: &[(&str, &str)]) -> Self {
        let mut command = rejoin();
        for (name, value) in environment {
            match value.strip_prefix("./") {
                Some(own) => command.env(name, folder.join(own)),
                None => command.env(name, value),
            };
        }
        command.args(["serve", "--listen", listen, "--admin-listen", "127.0.0.1:0"]);
        command.args(["--dev", "--data", "data"]).current_dir(&folder).stdout(Stdio::piped());
        let log = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("log"));
        command.stderr(log.expect("a folder"));
        let mut child = Process::spawn(&mut command).expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let (mut web, mut operators, mut enet) = (None, None, None);
        for line in lines.by_ref().map_while(Result::ok) {
            let address = line.split_once("://").and_then(|(_, rest)| rest.split('/').next());
            let address = address.and_then(|address| address.parse().ok());
            match line.split_whitespace().next() {
                Some("players") => web = address,
                Some("operators") => operators = address,
                Some(word) if word.starts_with("enet://") => {
                    enet = word["enet://".len()..].parse().ok();
                }
                _ => {}
            }
            if line.contains("Never face") {
                break;
            }
        }
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let (web, operators) = (web.expect("it says where"), operators.expect("it says where"));
        Self { child, web, enet, operators, folder }
    }

    /// SIGKILL, and the same again from the same folder at the same address.
    pub(crate) fn kill_and_start_again(mut self) -> Self {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
        let (folder, listen) = (std::mem::take(&mut self.folder), self.web.to_string());
        drop(self);
        Self::serve(folder, &listen, &[])
    }

    /// Runs `rejoin player` at this server; the line goes to its standard input.
    pub(crate) fn player(&self, words: &[&str], line: &str) -> Output {
        let mut command = rejoin();
        command.arg("player").args(words).args(["--data", "data"]).current_dir(&self.folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        // It may not want to read it.
        let _ = child.stdin.take().expect("it is piped").write_all(line.as_bytes());
        child.wait_with_output().expect("it ends")
    }

    /// Where ENet is spoken.
    pub(crate) fn enet(&self) -> SocketAddr {
        self.enet.expect("a door for ENet")
    }

    /// A socket from this address of the attacker's.
    pub(crate) async fn socket_from(&self, host: [u8; 4]) -> std::io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((Ipv4Addr::from(host), 0)))?;
        socket.connect(self.web).await
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        self.child.signal(signal).expect("it runs");
    }

    /// A figure as operators see it: the sum over all series that start so.
    pub(crate) fn figure(&self, series: &str) -> u64 {
        let page = self.ask_operators("/metrics");
        let values = page.lines().filter(|line| line.starts_with(series));
        let values = values.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        values.sum::<f64>() as u64
    }

    pub(crate) fn ask_operators(&self, path: &str) -> String {
        let mut socket = std::net::TcpStream::connect(self.operators).expect("it listens");
        let at = self.operators;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).expect("open");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).expect("text");
        answer
    }

    pub(crate) fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("it runs");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a figure");
        line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
    }

    /// Writes a file of its folder.
    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.join(name), text).expect("a folder");
    }

    pub(crate) fn log(&self) -> Vec<u8> {
        std::fs::read(self.folder.join("log")).expect("it was made")
    }

    /// Waits until something holds.
    pub(crate) async fn until(&self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let end = tokio::time::Instant::now() + PATIENCE;
        while !holds(self) {
            assert!(tokio::time::Instant::now() < end, "never: {what}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for House {
    fn drop(&mut self) {
        // Started again, it belongs to another.
        if !self.folder.as_os_str().is_empty() {
            let _ = self.child.kill();
            let _ = self.child.wait();
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
