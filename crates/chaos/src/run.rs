//! One run: players come in, the server is killed again and again, then all is quiet and everybody's
//! notes are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::crowd::{Notes, Problem, Progress, ROOM, Talker};
use crate::node::NodeCrowd;
use crate::process::Signal;
use crate::report::{Report, Spans};
use crate::serving::{Serving, Starting, command};

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The binary `rejoin`.
    pub program: PathBuf,
    /// The server's folder.
    pub data: PathBuf,
    /// Players.
    pub clients: usize,
    /// How many of them play with the JavaScript SDK.
    pub js: usize,
    /// Kills.
    pub kills: u32,
    /// Decides when.
    pub seed: u64,
    /// Time between two words of a player.
    pub pace: Duration,
    /// The longest time between two kills.
    pub between: Duration,
    /// How long the server stays down after a kill.
    pub outage: Duration,
    /// How often the server is stopped after the kills, and goes on as if nothing had been.
    pub stops: u32,
    /// How long each time.
    pub stopped: Duration,
    /// How long everybody has to come back and hear everything at the end.
    pub settle: Duration,
}

impl Plan {
    /// A plan with the usual paces.
    #[must_use]
    pub fn new(program: PathBuf, data: PathBuf, clients: usize, kills: u32, seed: u64) -> Self {
        Self {
            program,
            data,
            clients,
            js: 0,
            kills,
            seed,
            pace: Duration::from_millis(100),
            between: Duration::from_millis(1_500),
            outage: Duration::ZERO,
            stops: 0,
            stopped: Duration::from_secs(60),
            settle: Duration::from_secs(60),
        }
    }
}

impl Plan {
    /// Which players play with the JavaScript SDK: spread, so that they share rooms with the others.
    fn js_numbers(&self) -> Vec<usize> {
        let js = self.js.min(self.clients);
        (0..js).map(|number| number * self.clients / js.max(1)).collect()
    }
}

/// SplitMix64: the same kills for the same seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }

    async fn wait(&mut self, most: Duration) {
        let span = Duration::from_millis(self.below(most.as_millis() as u64 + 1));
        tokio::time::sleep(span).await;
    }
}

/// Carries a plan out.
///
/// # Errors
/// The server does not start, or players cannot come in.
pub async fn run(plan: &Plan) -> Result<Report, Problem> {
    let begin = Instant::now();
    let mut draw = Draw(plan.seed);
    let first = Serving::start(&plan.program, &plan.data, "127.0.0.1:0")?;
    let (address, url) = (first.address().to_owned(), first.url());
    let Cast { talkers, mut node, progress } = gather(plan, &url).await?;
    let (phase, phases) = watch::channel(0);
    let playing: Vec<_> =
        talkers.into_iter().map(|talker| talker.talk(plan.pace, phases.clone())).collect();

    let (clients, js) = (plan.clients, plan.js_numbers().len());
    let mut report = Report { clients, js, seed: plan.seed, ..Report::default() };
    let (serving, starts) = disturb(plan, &mut draw, first, &address, &mut report).await?;
    draw.wait(plan.between).await;
    phase.send_replace(1);
    node.as_mut().map_or(Ok(()), |node| node.tell(1))?;
    // Whoever is late has this long; what is missing then is lost.
    let end = Instant::now() + plan.settle;
    while Instant::now() < end && !is_settled(&progress) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // What comes now is too much.
    tokio::time::sleep(Duration::from_millis(300)).await;
    phase.send_replace(2);
    node.as_mut().map_or(Ok(()), |node| node.tell(2))?;
    let mut notes = node.map_or(Ok(Vec::new()), NodeCrowd::notes)?;
    for player in playing {
        notes.push(player.await?);
    }
    drop(serving);
    judge(&mut report, &notes);
    report.starts = Spans::of(starts);
    report.seconds = begin.elapsed().as_secs_f64();
    Ok(report)
}

/// Who takes part.
struct Cast {
    talkers: Vec<Talker>,
    node: Option<NodeCrowd>,
    /// By number.
    progress: Vec<Arc<Progress>>,
}

/// Everybody comes in and joins a room.
async fn gather(plan: &Plan, url: &str) -> Result<Cast, Problem> {
    let mut talkers = Vec::new();
    let mut progress = BTreeMap::new();
    let numbers = plan.js_numbers();
    for index in (0..plan.clients).filter(|index| !numbers.contains(index)) {
        let talker = Talker::enter(url, index).await?;
        progress.insert(index, talker.progress());
        talkers.push(talker);
    }
    let node = match &numbers[..] {
        [] => None,
        numbers => Some(NodeCrowd::enter(url, numbers, plan.pace)?),
    };
    let far = node.iter().flat_map(NodeCrowd::progress).map(Arc::clone);
    progress.extend(numbers.iter().copied().zip(far));
    let progress: Vec<Arc<Progress>> = progress.into_values().collect();
    Ok(Cast { talkers, node, progress })
}

/// Kills and stops the server as planned; gives the one that runs, and how long each start took.
async fn disturb(
    plan: &Plan,
    draw: &mut Draw,
    first: Serving,
    address: &str,
    report: &mut Report,
) -> Result<(Serving, Vec<Duration>), Problem> {
    let mut starts = Vec::new();
    let mut serving = Some(first);
    while report.kills < plan.kills {
        draw.wait(plan.between).await;
        if let Some(serving) = serving.take() {
            serving.kill()?;
            report.kills += 1;
        }
        tokio::time::sleep(plan.outage).await;
        let mut command = command(&plan.program, &plan.data, address);
        command.args(["--log", "error"]);
        let started_at = Instant::now();
        let starting = Starting::start(command)?;
        // Now and then in the middle of its start.
        if report.kills < plan.kills && draw.below(5) == 0 {
            draw.wait(Duration::from_millis(120)).await;
            starting.kill()?;
            report.kills += 1;
            report.kills_while_starting += 1;
            continue;
        }
        serving = Some(starting.ready()?);
        starts.push(started_at.elapsed());
    }
    let mut serving = match serving {
        Some(serving) => serving,
        None => Serving::start(&plan.program, &plan.data, address)?,
    };
    for _ in 0..plan.stops {
        draw.wait(plan.between).await;
        serving.signal(Signal::Stop)?;
        tokio::time::sleep(plan.stopped).await;
        serving.signal(Signal::Continue)?;
        report.stops += 1;
    }
    Ok((serving, starts))
}

/// Whether everybody is here and has heard all that the others said.
fn is_settled(progress: &[Arc<Progress>]) -> bool {
    progress.chunks(ROOM).all(|room| {
        let said: u64 = room.iter().map(|one| one.said.load(Ordering::Relaxed)).sum();
        room.iter().all(|one| {
            let others = said - one.said.load(Ordering::Relaxed);
            let heard = one.heard.load(Ordering::Relaxed);
            !one.is_away.load(Ordering::Relaxed) && heard >= others
        })
    })
}

fn judge(report: &mut Report, notes: &[Notes]) {
    let said: BTreeMap<usize, u32> = notes.iter().map(|note| (note.index, note.said)).collect();
    let mut returns = Vec::new();
    for note in notes {
        report.said += u64::from(note.said);
        report.answered += note.answered;
        report.lost += note.unanswered;
        report.wrong_rungs += note.wrong_rungs;
        report.stopped += u64::from(note.is_stopped);
        returns.extend(note.returns.iter().copied());
        let room = note.index / ROOM * ROOM..(note.index / ROOM + 1) * ROOM;
        for other in room.filter(|other| *other != note.index) {
            let Some(said) = said.get(&other) else { continue };
            compare(report, *said, note.heard.get(&other).map_or(&[], |heard| heard));
        }
    }
    report.returns = Spans::of(returns);
}

fn compare(report: &mut Report, said: u32, heard: &[u32]) {
    report.heard += heard.len() as u64;
    let mut seen = BTreeSet::new();
    for number in heard {
        if seen.last().is_some_and(|last| number < last) && !seen.contains(number) {
            report.reordered += 1;
        }
        if !seen.insert(*number) || *number >= said {
            report.doubled += 1;
        }
    }
    report.lost += (0..said).filter(|number| !seen.contains(number)).count() as u64;
}

#[cfg(test)]
mod tests {
    //! A judge that sees nothing would let everything pass.
    use super::*;

    fn judged(said: u32, heard: &[u32]) -> (u64, u64, u64) {
        let mut report = Report::default();
        compare(&mut report, said, heard);
        (report.lost, report.doubled, report.reordered)
    }

    #[test]
    fn losses_repetitions_and_wrong_orders_are_told_apart() {
        assert_eq!(judged(3, &[0, 1, 2]), (0, 0, 0));
        assert_eq!(judged(4, &[0, 1, 3]), (1, 0, 0));
        assert_eq!(judged(3, &[0, 1, 1, 2]), (0, 1, 0));
        assert_eq!(judged(3, &[0, 2, 1]), (0, 0, 1));
        assert_eq!(judged(2, &[0, 1, 2]), (0, 1, 0), "a word that nobody said");
        assert_eq!(judged(2, &[]), (2, 0, 0));
    }
}
