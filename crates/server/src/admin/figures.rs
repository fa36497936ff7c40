//! Figures: all of them for Prometheus, and those of a few sessions, picked by a hash so that the same
//! ones are seen every time. Figures of single sessions are no metrics: there would be one series for
//! each.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::Desk;
use super::query::{AdminError, QueryParameters};
use crate::clock::wall;
use crate::metrics::Levels;
use crate::server::Server;
use crate::tally::Attendance;

/// Sessions in a sample, if nothing is said.
const SAMPLE: usize = 20;
/// The largest sample.
const SAMPLE_MAX: usize = 200;
/// The text format that Prometheus asks for.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) async fn metrics(
    State(desk): State<Desk>,
    parameters: QueryParameters,
) -> Result<impl IntoResponse, AdminError> {
    parameters.only(&[])?;
    let sight = &desk.server.0.sight;
    let text = sight.metrics.text(levels(&desk.server)).map_err(|_| AdminError::Stopped)?;
    Ok(([(header::CONTENT_TYPE, OPEN_METRICS)], text))
}

fn levels(server: &Server) -> Levels {
    let shared = &server.0;
    let internal = shared.internal.upgrade();
    Levels {
        hub_outer: shared.external.max_capacity() - shared.external.capacity(),
        hub_inner: internal.map_or(0, |internal| internal.max_capacity() - internal.capacity()),
        is_ready: server.is_ready(),
        ..shared.sight.levels()
    }
}

pub(super) async fn sessions(
    State(desk): State<Desk>,
    parameters: QueryParameters,
) -> Result<Json<Value>, AdminError> {
    let parameters = parameters.only(&["sample"])?;
    let count = parameters.count("sample", SAMPLE, SAMPLE_MAX)?;
    let tallies = &desk.server.0.sight.tallies;
    let now = wall();
    let shown = tallies.sample(count).into_iter().map(|tally| {
        let figures = tally.figures();
        json!({
            "session": tally.session.to_string(),
            "state": match tally.attendance() {
                Attendance::Native => "native",
                Attendance::Active => "active",
                Attendance::Held => "held",
            },
            "packets_received": figures.received.to_string(),
            "packets_sent": figures.sent.to_string(),
            "bytes_received": figures.received_bytes.to_string(),
            "bytes_sent": figures.sent_bytes.to_string(),
            "duration_seconds": now.0.saturating_sub(tally.began.0) as f64 / 1_000.0,
        })
    });
    let shown: Vec<_> = shown.collect();
    Ok(Json(json!({"sessions_total": tallies.len().to_string(), "sample": shown})))
}
