//! Sessions to look at: page by page, or one with its last story, and the switch of its frame log.

use axum::Json;
use axum::extract::{Path, State};
use rejoin_core::hub::Answer;
use rejoin_core::id::SessionId;
use serde_json::{Value, json};

use super::Desk;
use super::query::{AdminError, QueryParameters};
use super::shape;
use crate::frame_log::FrameLog;
use crate::server::ServerError;

/// Sessions on a page, if nothing is said.
const PAGE: usize = 100;
/// The longest page.
const PAGE_MAX: usize = 1_000;

pub(super) async fn list(
    State(desk): State<Desk>,
    parameters: QueryParameters,
) -> Result<Json<Value>, AdminError> {
    let parameters = parameters.only(&["limit", "after"])?;
    let limit = parameters.count("limit", PAGE, PAGE_MAX)?;
    let after = SessionId(parameters.number("after")?.unwrap_or(0));
    let page = desk.server.sessions_after(after, limit).await;
    let page = page.map_err(|_| AdminError::Stopped)?;
    let last = page.last().filter(|_| page.len() == limit).map(|view| view.id.to_string());
    let sessions: Vec<_> = page.iter().map(shape::session).collect();
    Ok(Json(json!({"sessions": sessions, "next_after": last})))
}

pub(super) async fn one(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    parameters: QueryParameters,
) -> Result<Json<Value>, AdminError> {
    parameters.only(&[])?;
    let id = session_id(&id)?;
    let found = desk.server.session_report(id).await.map_err(|_| AdminError::Stopped)?;
    let Some(found) = found else { return Err(AdminError::NoSession) };
    let mut shown = shape::session(&found.view);
    let (began, timeline) = shape::timeline(&found.timeline, found.began);
    shown["began_ms"] = began;
    shown["timeline"] = timeline;
    let log = desk.server.0.sight.tallies.get(id).map_or(FrameLog::Off, |tally| tally.frame_log());
    shown["frame_log"] = log.label().into();
    Ok(Json(shown))
}

pub(super) async fn log_frames(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    parameters: QueryParameters,
) -> Result<Json<Value>, AdminError> {
    let parameters = parameters.only(&["log"])?;
    let id = session_id(&id)?;
    let wanted = parameters.get("log").unwrap_or_default();
    let Some(log) = FrameLog::from_label(wanted) else {
        let sentence = format!("log must be on, payload or off, not {wanted:?}");
        return Err(AdminError::Request(sentence));
    };
    match desk.server.log_frames(id, log).await {
        Ok(()) => Ok(Json(json!({"session": id.to_string(), "frame_log": log.label()}))),
        Err(ServerError::Refused(Answer::Unknown)) => Err(AdminError::NoSession),
        Err(_) => Err(AdminError::Stopped),
    }
}

fn session_id(text: &str) -> Result<SessionId, AdminError> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.map(SessionId).ok_or_else(|| {
        AdminError::Request(format!("a session's id is a whole number from 1 on, not {text:?}"))
    })
}
