//! What came of a soak: all accounts together, the cuts by kind, and memory over time.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;

use super::hearing::Wrongs;
use super::visitor::Account;
use crate::machine;
use crate::report::lines;

const MIB: f64 = 1_048_576.0;
/// Memory is flat when the last quarter is at most this much above the third; before both all buffers
/// have grown to what they need.
const FLAT_RATIO: f64 = 1.02;
const FLAT_MIB: f64 = 0.5;
/// Below this the quarters are too short to tell anything.
const FLAT_SAMPLES: usize = 120;

/// Memory of the servers, over time.
pub(super) struct Watch {
    servers: Vec<u32>,
    started: Instant,
    samples: Vec<(f64, f64)>,
}

impl Watch {
    pub(super) fn new(servers: Vec<u32>) -> Self {
        Self { servers, started: Instant::now(), samples: Vec::new() }
    }

    pub(super) fn look(&mut self) -> Result<()> {
        let mut bytes = 0;
        for server in &self.servers {
            bytes += machine::resident_bytes(*server)?;
        }
        self.samples.push((self.started.elapsed().as_secs_f64(), bytes as f64 / MIB));
        Ok(())
    }
}

/// The result.
#[derive(Serialize)]
pub(super) struct Tally {
    seed: u64,
    clients: usize,
    seconds: f64,
    /// From the last cut until all had heard all.
    aftermath_seconds: f64,
    lost: u64,
    doubled: u64,
    reordered: u64,
    wrong_rung: u64,
    said: u64,
    heard: u64,
    asked: u64,
    answered: u64,
    /// What clients were told is lost.
    named_as_lost: u64,
    outcomes_unknown: u64,
    rungs: BTreeMap<&'static str, u64>,
    cuts: BTreeMap<&'static str, u64>,
    reconnect_ms: BTreeMap<&'static str, f64>,
    memory_mib: BTreeMap<&'static str, f64>,
    /// None: it was too short to tell.
    is_memory_flat: Option<bool>,
    oddities: Vec<String>,
    #[serde(skip)]
    samples: Vec<(f64, f64)>,
}

impl Tally {
    pub(super) fn new(
        seed: u64,
        time: Duration,
        aftermath: Duration,
        accounts: Vec<Account>,
        cuts: Vec<BTreeMap<&'static str, u64>>,
        watch: Watch,
    ) -> Self {
        let mut wrongs = Wrongs::default();
        let mut rungs: BTreeMap<&'static str, u64> = BTreeMap::new();
        let mut away = Vec::new();
        for account in &accounts {
            wrongs.add(account.wrongs);
            away.extend(account.away.iter().map(|time| time.as_secs_f64() * 1_000.0));
            for (rung, count) in &account.rungs {
                *rungs.entry(rung).or_default() += count;
            }
        }
        let mut all_cuts: BTreeMap<&'static str, u64> = BTreeMap::new();
        for (cut, count) in cuts.into_iter().flatten() {
            *all_cuts.entry(cut).or_default() += count;
        }
        let sum = |pick: fn(&Account) -> u64| accounts.iter().map(pick).sum();
        Self {
            seed,
            clients: accounts.len(),
            seconds: time.as_secs_f64(),
            aftermath_seconds: aftermath.as_secs_f64(),
            lost: wrongs.lost,
            doubled: wrongs.doubled,
            reordered: wrongs.reordered,
            wrong_rung: wrongs.wrong_rung,
            said: sum(|account| account.said),
            heard: sum(|account| account.heard),
            asked: sum(|account| account.asked),
            answered: sum(|account| account.answered),
            named_as_lost: sum(|account| account.named),
            outcomes_unknown: sum(|account| account.unknown),
            rungs,
            cuts: all_cuts,
            reconnect_ms: quantiles(away),
            memory_mib: ends(&watch.samples),
            is_memory_flat: is_flat(&watch.samples),
            oddities: accounts.into_iter().flat_map(|account| account.oddities).collect(),
            samples: watch.samples,
        }
    }

    /// Nothing was wrong, something was cut, and memory did not grow.
    pub(super) fn is_good(&self) -> bool {
        let wrongs = self.lost + self.doubled + self.reordered + self.wrong_rung;
        let is_cut = self.cuts.values().sum::<u64>() > 0;
        wrongs == 0 && is_cut && self.heard > 0 && self.is_memory_flat != Some(false)
    }

    pub(super) fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{} clients, {:.0} s, seed {}: lost {}, doubled {}, reordered {}, wrong rung {}\n",
            self.clients,
            self.seconds,
            self.seed,
            self.lost,
            self.doubled,
            self.reordered,
            self.wrong_rung
        );
        // Writing to a string does not fail, here and below.
        let _ = writeln!(
            text,
            "said {}, heard {}, asked {}, answered {}; named as lost {}, outcomes unknown {}",
            self.said,
            self.heard,
            self.asked,
            self.answered,
            self.named_as_lost,
            self.outcomes_unknown
        );
        let _ = writeln!(text, "rungs      {:?}", self.rungs);
        let _ = writeln!(text, "cuts       {:?}", self.cuts);
        let _ = writeln!(text, "reconnect  {:.0?} ms", self.reconnect_ms);
        let flat = match self.is_memory_flat {
            Some(true) => "flat",
            Some(false) => "NOT FLAT",
            None => "too short to tell",
        };
        let _ = writeln!(text, "memory     {:.1?} MiB, {flat}", self.memory_mib);
        let _ = write!(text, "all was heard {:.1} s after the last cut", self.aftermath_seconds);
        for oddity in self.oddities.iter().take(20) {
            let _ = write!(text, "\n  {oddity}");
        }
        text
    }

    /// Writes result and picture into a folder.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
        std::fs::write(folder.join("soak.json"), self.json()? + "\n")?;
        let title = format!("Memory of the servers, {} clients, links cut at random", self.clients);
        std::fs::write(folder.join("soak.svg"), lines(&title, "MiB", &self.samples))?;
        Ok(())
    }
}

fn quantiles(mut values: Vec<f64>) -> BTreeMap<&'static str, f64> {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let last = values.len().saturating_sub(1);
        values.get((last as f64 * share) as usize).copied().unwrap_or(0.0)
    };
    BTreeMap::from([("p50", at(0.5)), ("p99", at(0.99)), ("max", at(1.0))])
}

fn ends(samples: &[(f64, f64)]) -> BTreeMap<&'static str, f64> {
    let values = || samples.iter().map(|sample| sample.1);
    BTreeMap::from([
        ("first", values().next().unwrap_or(0.0)),
        ("last", values().next_back().unwrap_or(0.0)),
        ("min", values().fold(f64::MAX, f64::min)),
        ("max", values().fold(0.0, f64::max)),
    ])
}

fn is_flat(samples: &[(f64, f64)]) -> Option<bool> {
    let quarter = samples.len() / 4;
    if samples.len() < FLAT_SAMPLES {
        return None;
    }
    let middle = |part: &[(f64, f64)]| {
        let mut values: Vec<f64> = part.iter().map(|sample| sample.1).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let early = middle(&samples[2 * quarter..3 * quarter]);
    let late = middle(&samples[3 * quarter..]);
    Some(late <= early * FLAT_RATIO + FLAT_MIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_grows_is_not_flat() {
        let grown = |slope: f64| -> Vec<(f64, f64)> {
            (0..400).map(|second| (f64::from(second), 100.0 + slope * f64::from(second))).collect()
        };
        assert_eq!(is_flat(&grown(0.0)), Some(true));
        assert_eq!(is_flat(&grown(1.0)), Some(false));
        // Little, but for ever.
        assert_eq!(is_flat(&grown(0.03)), Some(false));
        assert_eq!(is_flat(&grown(1.0)[..100]), None);
    }
}
