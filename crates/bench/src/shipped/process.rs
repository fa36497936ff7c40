//! The program that people start, with the settings that it ships with, in a folder of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// A key of the HTTP interface, as `rejoin key new` makes it.
pub(super) struct ApiKey {
    /// What a client sends.
    pub(super) key: String,
    /// What the server is told of it.
    pub(super) settings: String,
}

impl ApiKey {
    pub(super) fn new(program: &Path, role: &str) -> Result<Self> {
        let made = Command::new(program).args(["key", "new", "--role", role]).output()?;
        let made = String::from_utf8(made.stdout)?;
        let prefix = format!("rejoin_{role}_");
        let key = made.split_whitespace().find(|word| word.starts_with(&prefix));
        let key = key.context("`rejoin key new` printed no key")?.to_owned();
        let name = format!("name = \"{role}\"");
        Ok(Self { key, settings: made.replace("name = \"\"", &name) })
    }
}

/// A server that runs; it ends with this value, and so does its folder.
pub(super) struct Shipped {
    child: Child,
    folder: PathBuf,
    /// Where players connect.
    pub(super) at: SocketAddr,
    admin: SocketAddr,
}

impl Shipped {
    /// Starts the program on free ports; `settings` is its rejoin.toml, empty for the defaults.
    pub(super) fn start(program: &Path, settings: &str) -> Result<Self> {
        let name = format!("rejoin-shipped-{}-{}", std::process::id(), crate::machine::now());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("rejoin.toml"), settings)?;
        let mut command = Command::new(program);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("REJOIN_")) {
            command.env_remove(name);
        }
        command.args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
        command.args(["--log", "error", "--data"]).arg(folder.join("data")).current_dir(&folder);
        let mut child = command.stdout(Stdio::piped()).spawn().context("the server")?;
        let mut addresses = Vec::new();
        let said = child.stdout.take().context("the server's output")?;
        let mut lines = BufReader::new(said).lines();
        for line in lines.by_ref().map_while(Result::ok) {
            let found = ["ws://", "http://"].iter().find_map(|scheme| {
                let rest = line.split_once(scheme)?.1;
                let end = rest.find(|c: char| c != '.' && c != ':' && !c.is_ascii_digit());
                Some((*scheme, rest[..end.unwrap_or(rest.len())].parse::<SocketAddr>().ok()?))
            });
            addresses.extend(found);
            if line.contains("logins") {
                break;
            }
        }
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let at = addresses.iter().find(|(scheme, _)| *scheme == "ws://").map(|(_, at)| *at);
        let at = at.context("the server names no address of players")?;
        let admin = addresses.iter().map(|(_, found)| *found).find(|found| *found != at);
        let admin = admin.context("the server names no address of operators")?;
        Ok(Self { child, folder, at, admin })
    }

    /// The id of its process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The sum of all values of a metric whose labels contain `label`.
    pub(super) fn metric(&self, name: &str, label: &str) -> Result<f64> {
        let text = get(self.admin, "/metrics")?;
        let of_name = text.lines().filter(|line| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with(['{', ' '])) && line.contains(label)
        });
        Ok(of_name.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }
}

impl Drop for Shipped {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The body of a page.
fn get(at: SocketAddr, path: &str) -> Result<String> {
    let mut socket = TcpStream::connect(at)?;
    socket.set_read_timeout(Some(Duration::from_secs(30)))?;
    write!(socket, "GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    if !answer.starts_with("HTTP/1.1 200") {
        bail!("{path}: {}", answer.lines().next().unwrap_or_default());
    }
    Ok(answer)
}
