//! The bare server: the same WebSocket stack with the same buffers, and nothing that makes a session.
//! What it costs is the floor for any server that stands on this stack.
//!
//! At `/echo` every message comes back. At `/zone/N` a connection hears the beat of zone N.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};

use super::zones::{BEAT_BYTES, Metronome, PERIOD};
use crate::load::FRAME_OVERHEAD;

/// As our server has them.
const BUFFER_BYTES: usize = 4 << 10;
/// Frames that may wait for one connection.
const QUEUE_MAX: usize = 4_096;
/// Frames that are written together when they wait, as our server does.
const FRAMES_PER_FLUSH: usize = 64;

/// Who listens to which zone.
#[derive(Clone, Default)]
struct Zones(Arc<Mutex<BTreeMap<u32, Vec<mpsc::Sender<Bytes>>>>>);

pub(crate) fn start(listener: TcpListener) {
    let routes = Router::new()
        .route("/echo", get(echo))
        .route("/zone/{zone}", get(listen))
        .with_state(Zones::default());
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let _ = socket.set_nodelay(true);
            let service = TowerToHyperService::new(routes.clone());
            tokio::spawn(async move {
                let http = hyper::server::conn::http1::Builder::new();
                // An error is a client that went away.
                let _ = http.serve_connection(TokioIo::new(socket), service).with_upgrades().await;
            });
        }
    });
}

fn sized(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade.read_buffer_size(BUFFER_BYTES).write_buffer_size(BUFFER_BYTES)
}

async fn echo(upgrade: WebSocketUpgrade) -> Response {
    sized(upgrade).on_upgrade(|mut socket: WebSocket| async move {
        while let Some(Ok(message)) = socket.next().await {
            if matches!(message, Message::Binary(_)) && socket.send(message).await.is_err() {
                return;
            }
        }
    })
}

async fn listen(
    State(zones): State<Zones>,
    Path(zone): Path<u32>,
    upgrade: WebSocketUpgrade,
) -> Response {
    sized(upgrade).on_upgrade(move |socket| async move {
        let (mut sink, mut stream) = socket.split();
        let mut queue = zones.enter(zone);
        loop {
            let first = tokio::select! {
                message = stream.next() => match message {
                    Some(Ok(_)) => continue,
                    Some(Err(_)) | None => return,
                },
                Some(bytes) = queue.recv() => bytes,
            };
            let mut next = Some(first);
            let mut more = FRAMES_PER_FLUSH;
            while let Some(bytes) = next {
                if sink.feed(Message::Binary(bytes)).await.is_err() {
                    return;
                }
                more -= 1;
                next = if more > 0 { queue.try_recv().ok() } else { None };
            }
            if sink.flush().await.is_err() {
                return;
            }
        }
    })
}

impl Zones {
    /// One more listener; the first starts the beat.
    fn enter(&self, zone: u32) -> mpsc::Receiver<Bytes> {
        let (sender, queue) = mpsc::channel(QUEUE_MAX);
        let mut zones = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let listeners = zones.entry(zone).or_default();
        listeners.push(sender);
        if listeners.len() == 1 {
            tokio::spawn(self.clone().beat(zone));
        }
        queue
    }

    async fn beat(self, zone: u32) {
        // Zones are spread over the period.
        let start = Instant::now() + PERIOD / 100 * (zone % 100);
        let mut ticks = tokio::time::interval_at(start, PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut metronome = Metronome::default();
        for number in 0_u64.. {
            ticks.tick().await;
            let payload = metronome.stamp(number).payload(BEAT_BYTES + FRAME_OVERHEAD);
            let mut zones = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(listeners) = zones.get_mut(&zone) else { return };
            listeners.retain(|listener| {
                !matches!(
                    listener.try_send(payload.clone()),
                    Err(mpsc::error::TrySendError::Closed(_))
                )
            });
            if listeners.is_empty() {
                zones.remove(&zone);
                return;
            }
        }
    }
}
