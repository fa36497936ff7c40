//! One flooder beside a hundred honest players: what they notice of it. The same flooder speaks to a
//! port that only reads in the runs beside, so that what both cost the machine is not blamed on us.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rejoin_wire::v1::{Anonymous, ClientFrame, Hello, Join, Login, client_frame, hello, login, up};
use rejoin_wire::{Encoding, encode_client, v1};

use crate::case::{SECOND, Scale, Scene, echo};
use crate::load::frame::{put_message, put_request, upgrade};
use crate::serve::zones::ECHO;
use crate::serve::{Kind, Serving};

/// What the flood is told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How often each is measured.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Write the table into this folder, as flood.md.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

const HONEST: usize = 100;
const PER_SECOND: u64 = 100_000;
/// Messages in one write.
const BATCH: u64 = 100;
const PAYLOAD: [u8; 32] = [7; 32];
/// Honest players are there by then, and their latencies count.
const BEGIN: Duration = Duration::from_millis(2_500);
/// A flooder that is not severed by then never is.
const END: Duration = Duration::from_secs(8);

/// Severed within six seconds, and what honest players may wait longer.
const SEVERED_MAX: f64 = 6.0;
const RATIO_MAX: f64 = 1.3;

/// What came of one flood.
#[derive(Clone, Copy, Debug)]
struct Flood {
    sent: u64,
    lasted: Duration,
}

/// `rejoin-bench flood`: whether all is as it should be.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let mut rows = Vec::new();
    let mut good = true;
    for number in 1..=arguments.runs.max(1) {
        let (ours, flood) = play(None)?;
        let (sink, _) = play(Some(flood.lasted))?;
        let p99 = |scene: &Scene| scene.figures.get("p99 µs").copied().unwrap_or(f64::NAN);
        let (with, without) = (p99(&ours), p99(&sink));
        let (ratio, severed) = (with / without, flood.lasted.as_secs_f64());
        let faults = ours.faults.len();
        let is_good = faults == 0 && severed <= SEVERED_MAX && ratio <= RATIO_MAX;
        good &= is_good;
        let word = if is_good { "yes" } else { "no" };
        rows.push(format!(
            "| {number} | {} | {severed:.2} | {faults} | {with:.0} | {without:.0} | {ratio:.2} | {word} |",
            flood.sent
        ));
        println!("{}", rows.last().map_or("", String::as_str));
        for fault in &ours.faults {
            println!("  {fault}");
        }
    }
    let table = format!(
        "| run | messages of the flooder | severed after s | honest losses | honest p99 µs | beside a sink | ratio | held |\n\
         |---:|---:|---:|---:|---:|---:|---:|---|\n{}\n",
        rows.join("\n")
    );
    println!("\n{table}");
    if let Some(folder) = &arguments.out {
        let file = folder.join("flood.md");
        std::fs::write(&file, table).with_context(|| format!("{} not written", file.display()))?;
    }
    Ok(good)
}

/// A hundred honest players on a server, and a flooder: to the same, or for so long to a sink.
fn play(sink: Option<Duration>) -> Result<(Scene, Flood)> {
    let serving = Serving::start_guarded()?;
    let scale = Scale { echo_links: HONEST, warm: SECOND, window: 7 * SECOND, ..Scale::FULL };
    let (at, begin) = (serving.at, Instant::now() + BEGIN);
    let flooding = std::thread::spawn(move || match sink {
        None => flood(at, begin, END, true),
        Some(lasted) => flood(drain()?, begin, lasted, false),
    });
    let mut scene = Scene::new(Kind::Ours, serving, &scale);
    echo::play(&mut scene)?;
    let flood = flooding.join().map_err(|_| anyhow::anyhow!("the flooder panicked"))??;
    Ok((scene, flood))
}

/// A port that reads and does nothing else.
fn drain() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let at = listener.local_addr()?;
    std::thread::spawn(move || {
        let Ok((mut socket, _)) = listener.accept() else { return };
        let mut read = vec![0; 64 << 10];
        while matches!(socket.read(&mut read), Ok(1..)) {}
    });
    Ok(at)
}

/// Speaks as fast as it said it would, until it is closed or the time is over.
fn flood(at: SocketAddr, begin: Instant, longest: Duration, is_server: bool) -> Result<Flood> {
    let mut socket = TcpStream::connect(at)?;
    socket.set_nodelay(true)?;
    socket.write_all(upgrade("localhost", "/play").as_bytes())?;
    socket.write_all(&entrance()?)?;
    let (tell, ended) = channel();
    if is_server {
        let mut hearing = socket.try_clone()?;
        std::thread::spawn(move || {
            let mut read = vec![0; 64 << 10];
            while matches!(hearing.read(&mut read), Ok(1..)) {}
            let _ = tell.send(Instant::now());
        });
    }
    // By then it was welcomed; nothing may come before that.
    std::thread::sleep(begin.saturating_duration_since(Instant::now()));
    socket.write_all(&join()?)?;
    let (since, mut sent) = (Instant::now(), 0);
    socket.set_write_timeout(Some(Duration::from_millis(100)))?;
    while since.elapsed() < longest {
        let due = Duration::from_nanos(sent * (SECOND / PER_SECOND));
        std::thread::sleep(due.saturating_sub(since.elapsed()));
        let mut batch = Vec::with_capacity(8 << 10);
        let mut message = Vec::new();
        for number in 0..BATCH {
            message.clear();
            put_request(&mut message, 2 + sent + number, &PAYLOAD);
            put_message(&mut batch, &message);
        }
        if !write_all(&mut socket, &batch, since + longest) {
            break;
        }
        sent += BATCH;
    }
    let end = ended.try_recv().unwrap_or_else(|_| Instant::now());
    Ok(Flood { sent, lasted: end - since })
}

/// False: it was closed, or is not read any more.
fn write_all(socket: &mut TcpStream, mut bytes: &[u8], until: Instant) -> bool {
    while !bytes.is_empty() {
        match socket.write(bytes) {
            Ok(0) => return false,
            Ok(written) => bytes = &bytes[written..],
            Err(error) => {
                let waits = [std::io::ErrorKind::WouldBlock, std::io::ErrorKind::TimedOut];
                if !waits.contains(&error.kind()) || Instant::now() >= until {
                    return false;
                }
            }
        }
    }
    true
}

/// A hello and a join, before anything was heard: who floods does not wait for answers.
fn entrance() -> Result<Vec<u8>> {
    let identity = Some(login::Identity::Anonymous(Anonymous {}));
    let hello = client_frame::Frame::Hello(Hello {
        version: rejoin_wire::VERSION,
        server_name: "localhost".to_owned(),
        purpose: Some(hello::Purpose::Login(Login { fresh: false, identity })),
        ..Hello::default()
    });
    let frame = encode_client(Encoding::Protobuf, &ClientFrame { frame: Some(hello) })?;
    let mut out = Vec::new();
    put_message(&mut out, &frame);
    Ok(out)
}

/// The join that follows the welcome.
fn join() -> Result<Vec<u8>> {
    let (kind, name) = (ECHO.to_owned(), "flooded".to_owned());
    let join = up::Body::Join(Join { kind, name, create: true, ..Join::default() });
    let up = client_frame::Frame::Up(v1::Up { seq: 1, body: Some(join) });
    let frame = encode_client(Encoding::Protobuf, &ClientFrame { frame: Some(up) })?;
    let mut out = Vec::new();
    put_message(&mut out, &frame);
    Ok(out)
}
