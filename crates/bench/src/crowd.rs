//! Ten thousand at a time: what a connection costs that is only there, in the open and over TLS; and a
//! storm, in which everybody is cut off and returns at once, beside zones that nobody left and that must
//! hardly notice.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow};
use hdrhistogram::Histogram;
use mio::Events;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::case::{SECOND, Scale, Scene, histogram, idle, storm};
use crate::load::{Ear, Load, Place};
use crate::machine::now;
use crate::serve::zones::{BEAT, Stamp};
use crate::serve::{Kind, Serving};

/// What the crowd is told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many they are.
    #[arg(long, default_value_t = 10_000)]
    links: usize,
    /// How often each is measured.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Write the table into this folder, as crowd.md.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// Members of the zone that nobody left, which speaks 20 times a second.
const MEMBERS: usize = 50;
/// How long they are listened to before the storm.
const CALM: u64 = 5 * SECOND;
/// The server's core; the generator and the listeners have the other.
const CORE: Option<usize> = Some(0);

/// `rejoin-bench crowd`: whether everybody was there in the end.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let mut rows = Vec::new();
    let mut good = true;
    for number in 1..=arguments.runs.max(1) {
        let scale = Scale { idle_links: arguments.links, ..Scale::FULL };
        let scale = Scale { storm_links: arguments.links, ..scale };
        let (open, encrypted) = (idle(&scale, false)?, idle(&scale, true)?);
        let (storm, calm, stormy) = storm(&scale)?;
        for scene in [&open, &encrypted, &storm] {
            good &= scene.faults.is_empty();
            scene.faults.iter().for_each(|fault| println!("  {fault}"));
        }
        let figure = |scene: &Scene, name| scene.figures.get(name).copied().unwrap_or(f64::NAN);
        rows.push(format!(
            "| {number} | {:.1} | {:.1} | {:.2} | {} | {calm:.1} | {stormy:.1} |",
            figure(&open, "KiB each"),
            figure(&encrypted, "KiB each"),
            figure(&storm, "seconds"),
            figure(&storm, "failures"),
        ));
        println!("{}", rows.last().map_or("", String::as_str));
    }
    let table = format!(
        "| run | KiB each | KiB each over TLS | all back after s | failures | p99 ms of other zones before | during the storm |\n\
         |---:|---:|---:|---:|---:|---:|---:|\n{}\n",
        rows.join("\n")
    );
    println!("\n{table}");
    if let Some(folder) = &arguments.out {
        let file = folder.join("crowd.md");
        std::fs::write(&file, table).with_context(|| format!("{} not written", file.display()))?;
    }
    Ok(good)
}

/// Everybody is only there.
fn idle(scale: &Scale, is_encrypted: bool) -> Result<Scene> {
    let mut scene = if is_encrypted {
        let root = std::env::temp_dir().join(format!("rejoin-bench-{}.pem", std::process::id()));
        let serving = Serving::start_encrypted(CORE, &root)?;
        let tls = believing(&root);
        // It is read by now.
        let _ = std::fs::remove_file(&root);
        Scene::new(Kind::Ours, serving, scale).encrypted(tls?)
    } else {
        Scene::new(Kind::Ours, Serving::start(Kind::Ours, CORE)?, scale)
    };
    idle::play(&mut scene)?;
    Ok(scene)
}

/// Believes a server whose certificate is this one.
fn believing(root: &Path) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    let read = CertificateDer::from_pem_file(root);
    roots.add(read.map_err(|error| anyhow!("{}: {error}", root.display()))?)?;
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    Ok(Arc::new(config.with_no_client_auth()))
}

/// Everybody but the listeners is cut off and returns. The listeners' p99 in milliseconds, from when
/// something was due until it was there: before, and from the first dial to the last arrival.
fn storm(scale: &Scale) -> Result<(Scene, f64, f64)> {
    let serving = Serving::start(Kind::Ours, CORE)?;
    let listeners = Listeners::start(&serving)?;
    std::thread::sleep(std::time::Duration::from_nanos(CALM));
    let calm = now();
    let mut scene = Scene::new(Kind::Ours, serving, scale);
    storm::play(&mut scene)?;
    let end = now();
    let seconds = scene.figures.get("seconds").copied().unwrap_or_default();
    let begin = end.saturating_sub((seconds * SECOND as f64) as u64);
    let heard = listeners.stop()?;
    let p99 = |from: u64, to: u64| -> Result<f64> {
        let mut late = histogram()?;
        let within = heard.iter().filter(|(due, _)| (from..to).contains(due));
        within.for_each(|(_, lateness)| late.saturating_record(*lateness));
        Ok(told(&late))
    };
    Ok((scene, p99(calm - CALM + SECOND, calm)?, p99(begin, end)?))
}

fn told(late: &Histogram<u64>) -> f64 {
    late.value_at_quantile(0.99) as f64 / 1_000_000.0
}

/// Members of a zone that stay, on a thread of their own.
struct Listeners {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Result<Vec<(u64, u64)>>>,
}

/// What was due when, and how late it was.
#[derive(Default)]
struct Lateness(Vec<(u64, u64)>);

impl Ear for Lateness {
    fn heard(&mut self, _load: &mut Load, _link: usize, payload: &[u8], now: u64) {
        if let Some(stamp) = Stamp::read(payload) {
            self.0.push((stamp.due, now.saturating_sub(stamp.due)));
        }
    }
}

impl Listeners {
    fn start(serving: &Serving) -> Result<Self> {
        let (at, is_over) = (serving.at, Arc::new(AtomicBool::new(false)));
        let (stopped, there) = (Arc::clone(&is_over), Arc::new(AtomicU64::new(0)));
        let arrived = Arc::clone(&there);
        let thread = std::thread::spawn(move || {
            let place = Place::Zones { kind: BEAT, count: 1 };
            let mut load = Load::new(Kind::Ours, at, place, MEMBERS)?;
            let (mut events, mut ear) = (Events::with_capacity(256), Lateness::default());
            for link in 0..MEMBERS {
                load.dial(link, false)?;
            }
            while !stopped.load(Ordering::Acquire) {
                load.turn(&mut events, now() + SECOND / 10, &mut ear)?;
                arrived.store(load.live() as u64, Ordering::Release);
            }
            Ok(ear.0)
        });
        let end = now() + 10 * SECOND;
        while there.load(Ordering::Acquire) < MEMBERS as u64 {
            if now() > end || thread.is_finished() {
                return Err(anyhow!("the listeners did not come in"));
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Ok(Self { is_over, thread })
    }

    fn stop(self) -> Result<Vec<(u64, u64)>> {
        self.is_over.store(true, Ordering::Release);
        self.thread.join().map_err(|_| anyhow!("the listeners panicked"))?
    }
}
