//! The players: each says numbered words to those in its room, asks the server for echoes, and notes
//! all it hears. What a client was told is the only truth to compare with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rejoin_client::driver::{Events, Options, Player};
use rejoin_client::{Event, Rung};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Players that hear each other.
pub const ROOM: usize = 8;
/// Far above what anything takes: whatever hangs ends, and is told.
const PATIENCE: Duration = Duration::from_secs(180);
/// Every so many words a request.
const REQUEST_EVERY: u32 = 8;

/// Why a player could not take part.
pub type Problem = Box<dyn std::error::Error + Send + Sync>;

/// How far a player is, for whoever waits for the end.
#[derive(Debug, Default)]
pub struct Progress {
    /// Words it has said.
    pub said: AtomicU64,
    /// Words it has heard.
    pub heard: AtomicU64,
    /// It is not connected.
    pub is_away: AtomicBool,
}

/// One player that takes part.
pub struct Talker {
    player: Player,
    events: Events,
    index: usize,
    progress: Arc<Progress>,
}

/// What became of it.
#[derive(Debug, Default)]
pub struct Notes {
    /// Which player.
    pub index: usize,
    /// How many words it said.
    pub said: u32,
    /// Requests that were answered with themselves.
    pub answered: u64,
    /// Requests that ended otherwise.
    pub unanswered: u64,
    /// The numbers it heard of each other, as they came.
    pub heard: BTreeMap<usize, Vec<u32>>,
    /// Returns that were not `Replayed`.
    pub wrong_rungs: u64,
    /// From each drop to its return.
    pub returns: Vec<Duration>,
    /// It gave up or was ended.
    pub is_stopped: bool,
}

impl Notes {
    fn hear(&mut self, dropped_at: &mut Option<Instant>, event: &Event) {
        match event {
            Event::Message { payload } => {
                let text = String::from_utf8_lossy(payload);
                let mut words = text.split(' ');
                let mut number = || words.next().and_then(|word| word.parse::<u32>().ok());
                if let (Some(from), Some(number)) = (number(), number()) {
                    self.heard.entry(from as usize).or_default().push(number);
                }
            }
            Event::Connected { rung, .. } => {
                self.wrong_rungs += u64::from(*rung != Rung::Replayed);
                self.returns.extend(dropped_at.take().map(|at| at.elapsed()));
            }
            Event::Disconnected { .. } => *dropped_at = dropped_at.or(Some(Instant::now())),
            Event::Stopped { .. } | Event::TakenOver | Event::Left | Event::Parted { .. } => {
                self.is_stopped = true;
            }
            _ => {}
        }
    }
}

impl Talker {
    /// Comes in and joins its room.
    ///
    /// # Errors
    /// It is not let in.
    pub async fn enter(url: &str, index: usize) -> Result<Self, Problem> {
        let mut options = Options::new();
        options.events_max = 4_096;
        let (player, mut events) = timeout(PATIENCE, Player::connect(url, options)).await??;
        player.join("relay", &format!("room-{}", index / ROOM), true, "").await?;
        let joined = async {
            while let Some(event) = events.next().await {
                if matches!(event, Event::Joined { .. }) {
                    return true;
                }
            }
            false
        };
        if !timeout(PATIENCE, joined).await? {
            return Err("the client ended before it was in its room".into());
        }
        Ok(Self { player, events, index, progress: Arc::default() })
    }

    /// How far it is, now and later.
    #[must_use]
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Talks until `phase` is 1, and listens until it is 2.
    #[must_use]
    pub fn talk(self, pace: Duration, phase: watch::Receiver<u8>) -> JoinHandle<Notes> {
        let Self { player, mut events, index, progress } = self;
        tokio::spawn(async move {
            let talk = speak(player, index, pace, phase.clone(), Arc::clone(&progress));
            let speaking = tokio::spawn(talk);
            let mut listening = phase;
            let mut notes = Notes { index, ..Notes::default() };
            let mut dropped_at = None;
            loop {
                tokio::select! {
                    biased;
                    event = events.next() => match event {
                        Some(event) => {
                            notes.hear(&mut dropped_at, &event);
                            if matches!(event, Event::Message { .. }) {
                                progress.heard.fetch_add(1, Ordering::Relaxed);
                            }
                            progress.is_away.store(dropped_at.is_some(), Ordering::Relaxed);
                        }
                        None => {
                            notes.is_stopped = true;
                            break;
                        }
                    },
                    over = listening.wait_for(|phase| *phase == 2) => {
                        drop(over);
                        break;
                    }
                }
            }
            // Whoever is away at the end has not come back.
            notes.is_stopped |= dropped_at.is_some();
            if let Ok((said, answered, unanswered)) = speaking.await {
                (notes.said, notes.answered, notes.unanswered) = (said, answered, unanswered);
            }
            notes
        })
    }
}

/// Words said, requests answered, requests not.
async fn speak(
    player: Player,
    index: usize,
    pace: Duration,
    mut phase: watch::Receiver<u8>,
    progress: Arc<Progress>,
) -> (u32, u64, u64) {
    let (mut said, mut asked) = (0, 0u64);
    let mut answers = Vec::new();
    while *phase.borrow() == 0 {
        // A full buffer is not a lost word: it was never taken.
        if player.send(format!("{index} {said}")).await.is_ok() {
            said += 1;
            progress.said.store(said.into(), Ordering::Relaxed);
        }
        if said % REQUEST_EVERY == 1 {
            asked += 1;
            let (player, text) = (player.clone(), format!("echo {index} {asked}"));
            answers.push(tokio::spawn(async move {
                let answer = timeout(PATIENCE, player.request(text.clone())).await;
                matches!(answer, Ok(Ok(answer)) if answer == text)
            }));
        }
        let _ = timeout(pace, phase.wait_for(|phase| *phase > 0)).await;
    }
    let mut answered = 0;
    for answer in answers {
        answered += u64::from(answer.await.unwrap_or(false));
    }
    (said, answered, asked - answered)
}
