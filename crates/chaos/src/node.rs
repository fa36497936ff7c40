//! Players of the JavaScript SDK, all in one process of Node. They say and note the same as the others.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use serde::Deserialize;

use crate::crowd::{Notes, Problem, Progress, ROOM};
use crate::process::Process;

/// The oldest that has what the SDK needs.
const NODE_MIN: u32 = 20;

/// What the process says, a line each.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Ready,
    /// For each: words said, words heard, whether it is away.
    Progress(Vec<(u64, u64, bool)>),
    Notes(Vec<Written>),
}

/// Notes of one player.
#[derive(Deserialize)]
struct Written {
    index: usize,
    said: u32,
    answered: u64,
    unanswered: u64,
    heard: BTreeMap<usize, Vec<u32>>,
    wrong_rungs: u64,
    returns_ms: Vec<f64>,
    is_stopped: bool,
}

impl From<Written> for Notes {
    fn from(written: Written) -> Self {
        let Written { index, said, answered, unanswered, heard, wrong_rungs, .. } = written;
        let (returns, is_stopped) = (written.returns_ms, written.is_stopped);
        let returns = returns.into_iter().map(|ms| Duration::from_secs_f64(ms.max(0.0) / 1e3));
        let returns = returns.collect();
        Self { index, said, answered, unanswered, heard, wrong_rungs, returns, is_stopped }
    }
}

/// The players. The process ends with this value.
#[derive(Debug)]
pub struct NodeCrowd {
    child: Process,
    /// How far each is, in the order of the numbers.
    progress: Vec<Arc<Progress>>,
    notes: Option<JoinHandle<Option<Vec<Notes>>>>,
}

impl NodeCrowd {
    /// Why there can be none; none if there can.
    #[must_use]
    pub fn missing() -> Option<String> {
        let said = Command::new("node").arg("--version").output().ok();
        let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let major = said.as_deref().and_then(|said| said.trim().strip_prefix('v'));
        let major = major.and_then(|said| said.split('.').next()?.parse::<u32>().ok());
        match major {
            Some(major) if major >= NODE_MIN => None,
            Some(major) => Some(format!("node {major} is too old; {NODE_MIN} is needed")),
            None => Some("there is no node".to_owned()),
        }
    }

    /// Players with these numbers come in and join their rooms.
    ///
    /// # Errors
    /// Node does not start, or they are not let in.
    pub fn enter(url: &str, numbers: &[usize], pace: Duration) -> Result<Self, Problem> {
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let (script, sdk) = (here.join("js/crowd.mjs"), here.join("../../sdk/js/src/index.js"));
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        let mut command = command(&script);
        command.arg(sdk).args([url, &numbers.join(","), &ROOM.to_string()]);
        let mut child = Process::spawn(command.arg(pace.as_millis().to_string()))?;
        let said = child.stdout.take().ok_or("its words are not heard")?;
        let progress: Vec<Arc<Progress>> = numbers.iter().map(|_| Arc::default()).collect();
        let mut crowd = Self { child, progress, notes: None };
        let mut said = BufReader::new(said);
        let mut line = String::new();
        said.read_line(&mut line)?;
        if !matches!(serde_json::from_str(&line), Ok(Line::Ready)) {
            return Err(format!("the players of node did not come in: {line:?}").into());
        }
        let progress = crowd.progress.clone();
        crowd.notes = Some(std::thread::spawn(move || listen(said, &progress)));
        Ok(crowd)
    }

    /// How far each is, now and later.
    #[must_use]
    pub fn progress(&self) -> &[Arc<Progress>] {
        &self.progress
    }

    /// Nothing more is said in phase 1; all is over in phase 2.
    ///
    /// # Errors
    /// The process has ended.
    pub fn tell(&mut self, phase: u8) -> Result<(), Problem> {
        let input = self.child.stdin.as_mut().ok_or("it is not listened to")?;
        Ok(writeln!(input, "{phase}")?)
    }

    /// What became of them, after phase 2.
    ///
    /// # Errors
    /// The process ended without a word.
    pub fn notes(mut self) -> Result<Vec<Notes>, Problem> {
        let listening = self.notes.take().ok_or("nobody listened")?;
        let notes = listening.join().ok().flatten();
        notes.ok_or_else(|| "the players of node ended without their notes".into())
    }
}

fn command(script: &Path) -> Command {
    let mut command = Command::new("node");
    // Node 20 has its own WebSocket behind this; later ones have it anyway.
    command.arg("--experimental-websocket").arg("--no-warnings").arg(script);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

fn listen(said: BufReader<ChildStdout>, progress: &[Arc<Progress>]) -> Option<Vec<Notes>> {
    for line in said.lines().map_while(Result::ok) {
        match serde_json::from_str(&line).ok()? {
            Line::Ready => {}
            Line::Progress(all) => {
                for (one, (said, heard, is_away)) in progress.iter().zip(all) {
                    one.said.store(said, Ordering::Relaxed);
                    one.heard.store(heard, Ordering::Relaxed);
                    one.is_away.store(is_away, Ordering::Relaxed);
                }
            }
            Line::Notes(notes) => return Some(notes.into_iter().map(Notes::from).collect()),
        }
    }
    None
}
