//! The machine under the bench: cores, one clock for all processes, and what a process has used.

use std::fs;

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// Unit of the times in `/proc/PID/stat`: fixed by Linux for all programs.
const TICKS_PER_SECOND: f64 = 100.0;

/// Nanoseconds of the system's monotonic clock; the same in every process.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
        + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// The cores this process may run on.
pub(crate) fn cores() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
}

/// This thread, and those it starts, run on one core only.
pub(crate) fn pin(core: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).with_context(|| format!("core {core} cannot be chosen"))
}

/// File handles that this process may have.
pub(crate) fn handles_max() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current.unwrap_or(u64::MAX)
}

/// What a process holds in memory, exactly counted.
pub(crate) fn resident_bytes(process: u32) -> Result<u64> {
    let path = format!("/proc/{process}/smaps_rollup");
    let text = fs::read_to_string(&path).with_context(|| format!("{path} cannot be read"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kib.with_context(|| format!("{path} names no Rss"))? * 1024)
}

/// Seconds of a core that a process has used.
pub(crate) fn cpu_seconds(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/stat");
    let text = fs::read_to_string(&path).with_context(|| format!("{path} cannot be read"))?;
    // The name in brackets may hold anything, so what follows it is counted.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: f64 = rest.split_whitespace().skip(11).take(2).filter_map(parsed).sum();
    Ok(ticks / TICKS_PER_SECOND)
}

/// Bytes that a process has sent to disks.
pub(crate) fn written_bytes(process: u32) -> Result<u64> {
    let path = format!("/proc/{process}/io");
    let text = fs::read_to_string(&path).with_context(|| format!("{path} cannot be read"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|number| number.parse().ok()).with_context(|| format!("{path} names no bytes"))
}

/// How many programs wanted to run during the last minute.
pub(crate) fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(parsed).unwrap_or(0.0)
}

/// Seconds that all cores together have been idle and busy since the start.
pub(crate) fn idle_and_all() -> (f64, f64) {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = line.split_whitespace().skip(1).take(8).filter_map(parsed).collect();
    let idle = ticks.get(3).unwrap_or(&0.0) + ticks.get(4).unwrap_or(&0.0);
    (idle / TICKS_PER_SECOND, ticks.iter().sum::<f64>() / TICKS_PER_SECOND)
}

fn parsed(word: &str) -> Option<f64> {
    word.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory_and_its_clock_runs() {
        let before = now();
        assert!(resident_bytes(std::process::id()).expect("it is us") > 100_000);
        assert!(cpu_seconds(std::process::id()).expect("it is us") >= 0.0);
        assert!(now() > before);
        assert!(!cores().is_empty());
        assert!(idle_and_all().1 > 0.0);
    }
}
