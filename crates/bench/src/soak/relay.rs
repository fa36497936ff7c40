//! A relay of bytes in front of a server. It has many doors; each turns everybody away now and then,
//! and each link through it goes wrong after a while, in a way that its seed decides.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rejoin_core::chance::Chance;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::cut::{Counts, Cut, between};

const BUFFER_BYTES: usize = 4 << 10;
/// Longer than either end waits for a sign of life.
const SILENCE: Duration = Duration::from_secs(30);
const DRIP_BYTES: usize = 7;
const DRIP_EVERY: Duration = Duration::from_millis(10);

/// How links fare.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weather {
    /// How long a link is left alone, twice this at most.
    pub(super) life: Duration,
    /// How long a stall, a drip or a closed door lasts at most.
    pub(super) spell: Duration,
}

/// The relay: it ends when this is dropped.
pub(super) struct Relay {
    pub(super) doors: Vec<SocketAddr>,
    pub(super) counts: Arc<Counts>,
    calm: watch::Sender<bool>,
}

/// What lets bytes through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Valve {
    Open,
    Shut,
    Drip,
    /// Half of the next bytes, and no more.
    Half,
}

/// What every link knows.
#[derive(Clone)]
struct Sky {
    to: SocketAddr,
    weather: Weather,
    counts: Arc<Counts>,
    calm: watch::Receiver<bool>,
}

impl Relay {
    /// Opens doors to a server.
    pub(super) async fn open(
        to: SocketAddr,
        doors: usize,
        weather: Weather,
        mut chance: Chance,
    ) -> Result<Self> {
        let counts = Arc::new(Counts::default());
        let (calm, is_calm) = watch::channel(false);
        let mut addresses = Vec::new();
        for door in 0..doors {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            addresses.push(listener.local_addr()?);
            let sky = Sky { to, weather, counts: counts.clone(), calm: is_calm.clone() };
            tokio::spawn(keep(listener, sky, chance.branch("door", door as u64)));
        }
        Ok(Self { doors: addresses, counts, calm })
    }

    /// From here on nothing goes wrong; links that nothing comes through are cut.
    pub(super) fn calm(&self) {
        self.calm.send_replace(true);
    }
}

/// Keeps a door: lets links through, or turns them away for a while.
async fn keep(listener: TcpListener, sky: Sky, mut chance: Chance) {
    let Weather { life, spell } = sky.weather;
    let mut closes_at = Instant::now() + between(&mut chance, life / 2, life * 2);
    let mut opens_at = closes_at;
    let mut number = 0;
    let mut gone = sky.calm.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Err(_) = gone.wait_for(|_| false) => return,
        };
        let Ok((near, _)) = accepted else { return };
        let (now, is_calm) = (Instant::now(), *sky.calm.borrow());
        if now >= closes_at && !is_calm {
            opens_at = now + between(&mut chance, spell / 8, spell);
            closes_at = opens_at + between(&mut chance, life / 2, life * 2);
        }
        if now < opens_at && !is_calm {
            sky.counts.add(Cut::Refuse);
            reset(near);
            continue;
        }
        number += 1;
        tokio::spawn(carry(near, sky.clone(), chance.branch("link", number)));
    }
}

fn reset(stream: TcpStream) {
    // If it fails the link ends in another way.
    let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
}

/// Carries one link until its end.
async fn carry(near: TcpStream, sky: Sky, chance: Chance) {
    let Ok(far) = TcpStream::connect(sky.to).await else { return reset(near) };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let (valve, gauge) = watch::channel(Valve::Open);
    let ended = {
        let up = pump(&near, &far, gauge.clone());
        let down = pump(&far, &near, gauge);
        tokio::select! {
            () = up => None,
            () = down => None,
            cut = suffer(&valve, &sky, chance) => cut,
        }
    };
    match ended {
        // One end has closed, and so does the other.
        None | Some(Cut::Finish) => {}
        Some(Cut::HalfOpen) => {
            reset(near);
            wait(SILENCE, &sky).await;
            reset(far);
        }
        Some(_) => {
            reset(near);
            reset(far);
        }
    }
}

/// Waits, unless it gets calm.
async fn wait(time: Duration, sky: &Sky) {
    let mut calm = sky.calm.clone();
    tokio::select! {
        () = sleep(time) => {}
        _ = calm.wait_for(|calm| *calm) => {}
    }
}

/// Lets things go wrong until one of them is the end; none: the relay is gone.
async fn suffer(valve: &watch::Sender<Valve>, sky: &Sky, mut chance: Chance) -> Option<Cut> {
    let Weather { life, spell } = sky.weather;
    let least = Duration::from_millis(5);
    loop {
        wait(between(&mut chance, least, life * 2), sky).await;
        if *sky.calm.borrow() {
            return std::future::pending().await;
        }
        let cut = Cut::of_link(&mut chance);
        sky.counts.add(cut);
        match cut {
            Cut::Stall | Cut::Drip => {
                valve.send_replace(if cut == Cut::Stall { Valve::Shut } else { Valve::Drip });
                wait(between(&mut chance, spell / 8, spell), sky).await;
                valve.send_replace(Valve::Open);
            }
            Cut::BlackHole => {
                valve.send_replace(Valve::Shut);
                wait(SILENCE, sky).await;
                return Some(cut);
            }
            Cut::MidFrame => {
                valve.send_replace(Valve::Half);
                wait(spell, sky).await;
                return Some(cut);
            }
            Cut::Reset | Cut::Finish | Cut::HalfOpen | Cut::Refuse => return Some(cut),
        }
    }
}

/// Carries bytes one way until an end is gone, or half of some went out and no more shall.
async fn pump(from: &TcpStream, to: &TcpStream, mut gauge: watch::Receiver<Valve>) {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let Ok(()) = gauge.wait_for(|valve| *valve != Valve::Shut).await.map(drop) else { return };
        tokio::select! {
            biased;
            _ = gauge.changed() => continue,
            ready = from.readable() => if ready.is_err() { return },
        }
        let count = match from.try_read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(_) => return,
        };
        let valve = *gauge.borrow();
        match valve {
            Valve::Open | Valve::Shut => {
                if !put(to, &buffer[..count]).await {
                    return;
                }
            }
            Valve::Drip => {
                for drop in buffer[..count].chunks(DRIP_BYTES) {
                    if !put(to, drop).await {
                        return;
                    }
                    if *gauge.borrow() == Valve::Drip {
                        sleep(DRIP_EVERY).await;
                    }
                }
            }
            Valve::Half => {
                put(to, &buffer[..count / 2]).await;
                // The rest is lost: both ends hear of it when the link is cut.
                return std::future::pending().await;
            }
        }
    }
}

async fn put(to: &TcpStream, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        if to.writable().await.is_err() {
            return false;
        }
        match to.try_write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
    }
    true
}
