//! What is measured: each case starts a fresh server of one kind, plays its load, and gives figures.

pub(crate) mod echo;
mod fanout;
mod flood;
mod held;
pub(crate) mod idle;
pub(crate) mod inbound;
mod joins;
pub(crate) mod storm;

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, bail};
use hdrhistogram::Histogram;
use mio::Events;
use serde::Serialize;
use tokio_rustls::rustls::ClientConfig;

use crate::load::{Deaf, Ear, Load, Place};
use crate::machine;
use crate::serve::{Kind, Serving};

/// The measured things, by name.
pub(crate) type Figures = BTreeMap<&'static str, f64>;

pub(crate) const SECOND: u64 = 1_000_000_000;
/// How long anything may take that must happen.
const PATIENCE: u64 = 120 * SECOND;
/// Connections that are being opened at a time, where nothing else is said.
const IN_FLIGHT: usize = 64;

/// How much load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) idle_links: usize,
    pub(crate) held_sessions: usize,
    pub(crate) wave: usize,
    pub(crate) echo_links: usize,
    pub(crate) flood_links: usize,
    pub(crate) zones: usize,
    pub(crate) members: usize,
    pub(crate) storm_links: usize,
    pub(crate) joins: usize,
    /// Before counting.
    pub(crate) warm: u64,
    /// While counting.
    pub(crate) window: u64,
}

impl Scale {
    /// What the targets are about.
    pub(crate) const FULL: Self = Self {
        idle_links: 10_000,
        held_sessions: 100_000,
        wave: 2_500,
        echo_links: 1_000,
        flood_links: 200,
        zones: 100,
        members: 50,
        storm_links: 5_000,
        joins: 5_000,
        warm: 2 * SECOND,
        window: 8 * SECOND,
    };
    /// Enough to see that everything works.
    pub(crate) const QUICK: Self = Self {
        idle_links: 50,
        held_sessions: 100,
        wave: 50,
        echo_links: 20,
        flood_links: 4,
        zones: 3,
        members: 5,
        storm_links: 50,
        joins: 50,
        warm: SECOND / 5,
        window: SECOND / 2,
    };
}

/// A case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub(crate) enum Case {
    /// Memory of a connection that is only there.
    Idle,
    /// Memory of a session without a connection.
    Held,
    /// Latency of an echo at a steady rate.
    Echo,
    /// The most echoes a second.
    Flood,
    /// Zones that speak to all their members, 20 times a second.
    Fanout,
    /// All connections are cut and return at once.
    Storm,
    /// Strangers who come in and join a zone.
    Joins,
}

impl Case {
    pub(crate) const ALL: [Self; 7] =
        [Self::Idle, Self::Held, Self::Echo, Self::Flood, Self::Fanout, Self::Storm, Self::Joins];

    /// As it is called in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Held => "held",
            Self::Echo => "echo",
            Self::Flood => "flood",
            Self::Fanout => "fanout",
            Self::Storm => "storm",
            Self::Joins => "joins",
        }
    }

    /// Whether a server of this kind can play it: a bare one holds no sessions.
    pub(crate) fn is_for(self, kind: Kind) -> bool {
        kind == Kind::Ours || self != Self::Held
    }

    /// How often it is worth repeating: memory hardly changes from run to run.
    pub(crate) fn runs(self, asked: usize) -> usize {
        if self == Self::Held { 1 } else { asked }
    }
}

/// One measured run.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub(crate) struct Run {
    pub(crate) case: &'static str,
    pub(crate) server: &'static str,
    pub(crate) number: usize,
    pub(crate) figures: Figures,
    /// Shares of a core while it counted.
    pub(crate) usage: Usage,
    /// What went wrong; empty when all is well.
    pub(crate) faults: Vec<String>,
    pub(crate) seconds: f64,
}

/// Shares of one core.
#[derive(Clone, Copy, PartialEq, Serialize, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) server: f64,
    pub(crate) generator: f64,
    /// All other programs, on both cores.
    pub(crate) others: f64,
}

/// Plays a case once.
pub(crate) fn play(
    case: Case,
    kind: Kind,
    number: usize,
    scale: &Scale,
    server_core: Option<usize>,
) -> Result<Run> {
    let started = machine::now();
    let serving = Serving::start(kind, server_core)?;
    let mut scene = Scene::new(kind, serving, scale);
    match case {
        Case::Idle => idle::play(&mut scene)?,
        Case::Held => held::play(&mut scene)?,
        Case::Echo => echo::play(&mut scene)?,
        Case::Flood => flood::play(&mut scene)?,
        Case::Fanout => fanout::play(&mut scene)?,
        Case::Storm => storm::play(&mut scene)?,
        Case::Joins => joins::play(&mut scene)?,
    }
    let seconds = (machine::now() - started) as f64 / SECOND as f64;
    let Scene { figures, usage, faults, .. } = scene;
    Ok(Run { case: case.name(), server: kind.name(), number, figures, usage, faults, seconds })
}

/// A server and what is found out about it.
pub(crate) struct Scene {
    kind: Kind,
    scale: Scale,
    pub(crate) serving: Serving,
    events: Events,
    pub(crate) figures: Figures,
    pub(crate) usage: Usage,
    pub(crate) faults: Vec<String>,
    /// Connections are encrypted like this.
    tls: Option<Arc<ClientConfig>>,
}

impl Scene {
    pub(crate) fn new(kind: Kind, serving: Serving, scale: &Scale) -> Self {
        Self {
            kind,
            scale: *scale,
            serving,
            events: Events::with_capacity(4_096),
            figures: Figures::new(),
            usage: Usage::default(),
            faults: Vec::new(),
            tls: None,
        }
    }

    /// The same with connections that are encrypted.
    pub(crate) fn encrypted(self, tls: Arc<ClientConfig>) -> Self {
        Self { tls: Some(tls), ..self }
    }

    fn load(&self, place: Place, count: usize) -> Result<Load> {
        let mut load = Load::new(self.kind, self.serving.at, place, count)?;
        if let Some(tls) = &self.tls {
            load.encrypt(Arc::clone(tls));
        }
        Ok(load)
    }

    /// Plays until the instant.
    fn until(&mut self, load: &mut Load, end: u64, ear: &mut impl Ear) -> Result<()> {
        while machine::now() < end {
            load.turn(&mut self.events, end, ear)?;
        }
        Ok(())
    }

    /// Opens connections, so many at a time, until all are live.
    fn gather(&mut self, load: &mut Load, links: std::ops::Range<usize>) -> Result<()> {
        let end = machine::now() + PATIENCE;
        let (mut next, before) = (links.start, load.live());
        while load.live() - before < links.len() {
            while next < links.end && next - links.start < load.live() - before + IN_FLIGHT {
                load.dial(next, false)?;
                next += 1;
            }
            load.turn(&mut self.events, machine::now() + SECOND, &mut Deaf)?;
            if machine::now() > end {
                let (live, all) = (load.live(), load.len());
                bail!("{live} of {all} connections came in, faults {:?}", load.faults);
            }
        }
        Ok(())
    }

    fn resident(&self) -> Result<f64> {
        Ok(machine::resident_bytes(self.serving.id())? as f64)
    }

    /// Notes what went wrong.
    fn blame(&mut self, load: &Load) {
        let faults = load.faults;
        self.figures.insert("retries", faults.retries as f64);
        if faults.lost + faults.refused > 0 {
            let (lost, refused) = (faults.lost, faults.refused);
            self.faults.push(format!("{lost} connections lost, {refused} refused"));
            self.faults.extend(load.words.iter().cloned());
        }
    }

    fn latencies(&mut self, name: [&'static str; 2], histogram: &Histogram<u64>) {
        self.figures.insert(name[0], histogram.value_at_quantile(0.5) as f64 / 1_000.0);
        self.figures.insert(name[1], histogram.value_at_quantile(0.99) as f64 / 1_000.0);
    }
}

/// Nanoseconds up to ten minutes, in three digits.
pub(crate) fn histogram() -> Result<Histogram<u64>> {
    Ok(Histogram::new_with_bounds(1, 600 * SECOND, 3)?)
}

/// Reads what processes use, over a while.
pub(crate) struct Meter {
    server: u32,
    since: u64,
    before: [f64; 4],
}

impl Meter {
    pub(crate) fn start(server: u32) -> Result<Self> {
        Ok(Self { server, since: machine::now(), before: Self::read(server)? })
    }

    fn read(server: u32) -> Result<[f64; 4]> {
        let (idle, all) = machine::idle_and_all();
        let own = machine::cpu_seconds(std::process::id())?;
        Ok([machine::cpu_seconds(server)?, own, idle, all])
    }

    pub(crate) fn stop(self) -> Result<Usage> {
        let seconds = (machine::now() - self.since) as f64 / SECOND as f64;
        let after = Self::read(self.server)?;
        let [server, generator, idle, all] =
            std::array::from_fn(|index| (after[index] - self.before[index]) / seconds);
        Ok(Usage { server, generator, others: (all - idle - server - generator).max(0.0) })
    }
}
