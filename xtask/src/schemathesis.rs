//! Asks the real server everything that its description allows and much that it does not, with
//! schemathesis: an outside judge of `/v1`. No answer may be a server's fault, and none may be one that
//! the description does not know.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};

use crate::packages;
use crate::stage::cargo_succeeds;

/// The one that the checks below were chosen with.
const PACKAGE: &str = "schemathesis==4.32.5";
/// What it asks besides that is no fault here: parameters of which just one may be there cannot be
/// described (positive_data_acceptance), and what has ended can still be looked up (use_after_free).
const NOT_CHECKED: &str = "positive_data_acceptance,use_after_free";
/// What it may answer to wrong questions: 431 is the HTTP library's own, for a head that is too large.
const SETTINGS: &str = "[checks.negative_data_rejection]\nexpected-statuses = [\"400\", \"401\", \
    \"403\", \"404\", \"405\", \"409\", \"413\", \"415\", \"422\", \"429\", \"431\"]\n";
/// A subscription has no end to wait for.
const ENDLESS: [&str; 3] = [
    "/v1/subscriptions",
    "/v1/queues/{queue}/events",
    "/v1/queues/{queue}/placements/{placement}/events",
];

/// How to run it.
#[derive(clap::Args)]
pub struct Arguments {
    /// How long it asks.
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    seconds: u32,
    /// Which questions; none: new ones every time.
    #[arg(long)]
    seed: Option<u64>,
}

/// `cargo xtask schemathesis`.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if !cargo_succeeds(&["build", "--package", "rejoin", "--bin", "rejoin"])? {
        return Ok(ExitCode::FAILURE);
    }
    let binary = beside("rejoin").context("the binary is not beside this one")?;
    let judge = match judge() {
        Ok(judge) => judge,
        Err(why) => bail!("{why}"),
    };
    let good = ask(&binary, &judge, arguments.seconds, arguments.seed)?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A program that cargo built into the same folder as this one.
pub fn beside(name: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.with_file_name(name);
    program.exists().then_some(program)
}

/// Where schemathesis is, fetched from PyPI if need be and if we may.
pub fn judge() -> Result<PathBuf, String> {
    Ok(packages::environment("schemathesis", PACKAGE)?.join("bin/schemathesis"))
}

/// A server that is ended with this.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks a server of its own for so many seconds.
pub fn ask(binary: &Path, judge: &Path, seconds: u32, seed: Option<u64>) -> Result<bool> {
    let made = Command::new(binary).args(["key", "new", "--role", "operator"]).output()?;
    let made = String::from_utf8(made.stdout)?;
    let key = made.split_whitespace().find(|word| word.starts_with("rejoin_operator_"));
    let key = key.context("`rejoin key new` printed no key")?.to_owned();
    let hash = made.split("sha256 = \"").nth(1).and_then(|rest| rest.split('"').next());
    let hash = hash.context("`rejoin key new` printed no hash")?;
    let mut server = Command::new(binary);
    server.args(["--memory", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
    // All of it comes from one address.
    server.args(["--guard", "open", "--log", "warn", "--config", "/dev/null"]);
    server.env("REJOIN_DIRECTORY_KEYS", format!("operator:{hash}")).stdout(Stdio::piped());
    let mut served = Served(server.spawn()?);
    let lines = BufReader::new(served.0.stdout.take().context("no output")?).lines();
    let line = lines.map_while(Result::ok).find(|line| line.contains("directory "));
    let line = line.context("the server did not say where its directory is")?;
    let at = line.split_whitespace().nth(1).context("no address")?;
    // It leaves its notes where it is called.
    let notes = judge.parent().context("it is in no folder")?;
    std::fs::write(notes.join("settings.toml"), SETTINGS)?;
    let mut asked = Command::new(judge);
    asked.args(["--config-file", "settings.toml"]);
    asked.args(["run", &format!("{at}/openapi.json"), "--no-color", "--workers", "1"]);
    asked.args(["--header", &format!("Authorization: Bearer {key}")]);
    asked.args(ENDLESS.iter().flat_map(|path| ["--exclude-path", path]));
    asked.args(["--exclude-checks", NOT_CHECKED, "--warnings", "off"]);
    asked.args(["--request-timeout", "30", "--max-time", &seconds.to_string()]);
    if let Some(seed) = seed {
        asked.args(["--seed", &seed.to_string()]);
    }
    Ok(asked.current_dir(notes).status()?.success())
}
