//! The stream of events. A reader has a position and nothing else: what it has not read stays in the
//! journal for as long as the journal has it, and if that was too short it gets the number it missed.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event as SseEvent, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use rejoin_core::event::Event;
use rejoin_core::id::SessionId;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::Desk;
use super::query::{AdminError, QueryParameters};
use super::shape;
use crate::journal::{Cursor, EventJournal, Numbered};
use crate::listener::until_stopping;

/// Events that are taken from the journal at once.
const PAGE: usize = 256;

pub(super) async fn stream(
    State(desk): State<Desk>,
    headers: HeaderMap,
    parameters: QueryParameters,
) -> Result<Response, AdminError> {
    let parameters = parameters.only(&["after", "session", "kind"])?;
    let filter = Filter::read(&parameters)?;
    // A browser that comes back by itself says where it was in this header, and is still sent the
    // address it first asked for.
    let last = headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?"));
    let sight = &desk.server.0.sight;
    let (cursor, gap) = start(&sight.journal, last.or(parameters.get("after")))?;
    let Ok(place) = desk.readers.clone().try_acquire_owned() else {
        let sentence = "as many readers as there may be; close one first\n";
        return Ok((StatusCode::SERVICE_UNAVAILABLE, sentence).into_response());
    };
    sight.metrics.event_readers.inc();
    let reader = Reader {
        cursor,
        gap,
        filter,
        page: VecDeque::new(),
        newest: sight.journal.newest(),
        stopping: desk.server.0.stopping.subscribe(),
        desk,
        _place: place,
    };
    let events = stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((Ok::<_, Infallible>(event), reader))
    });
    Ok(Sse::new(events).into_response())
}

/// What a reader missed before it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Gap {
    /// So many events are not kept any more.
    Overrun(u64),
    /// The events of another run of the server; their number is not known.
    Restarted,
}

/// Where a reader starts that names this cursor, or none.
fn start(journal: &EventJournal, cursor: Option<&str>) -> Result<(u64, Option<Gap>), AdminError> {
    let newest = *journal.newest().borrow();
    let Some(text) = cursor else { return Ok((newest, None)) };
    match Cursor::parse(text) {
        Some(Cursor::Start) => Ok((0, None)),
        Some(Cursor::Behind(incarnation, _)) if incarnation != journal.incarnation => {
            Ok((0, Some(Gap::Restarted)))
        }
        Some(Cursor::Behind(_, id)) if id <= newest => Ok((id, None)),
        Some(Cursor::Behind(..)) => {
            let sentence = "after is ahead of everything that has happened; use the id of an event";
            Err(AdminError::Request(sentence.to_owned()))
        }
        None => {
            let sentence = format!("after must be 0 or the id of an event, not {text:?}");
            Err(AdminError::Request(sentence))
        }
    }
}

/// Which events a reader wants.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Filter {
    session: Option<SessionId>,
    /// Places among the kinds; none: all.
    kinds: Vec<usize>,
}

impl Filter {
    fn read(parameters: &QueryParameters) -> Result<Self, AdminError> {
        let session = parameters.number("session")?.map(SessionId);
        let mut kinds = Vec::new();
        for name in parameters.get("kind").into_iter().flat_map(|names| names.split(',')) {
            let Some(kind) = Event::NAMES.iter().position(|known| *known == name) else {
                let known = Event::NAMES.join(", ");
                let sentence = format!("there is no kind of event {name:?}, only: {known}");
                return Err(AdminError::Request(sentence));
            };
            kinds.push(kind);
        }
        Ok(Self { session, kinds })
    }

    fn wants(&self, event: &Event) -> bool {
        let kind = self.kinds.is_empty() || self.kinds.contains(&event.kind());
        kind && (self.session.is_none() || self.session == event.session())
    }
}

/// One reader of the stream, until its request ends.
struct Reader {
    /// The number of the last event that was sent to it or did not pass its filter.
    cursor: u64,
    gap: Option<Gap>,
    filter: Filter,
    page: VecDeque<Arc<Numbered>>,
    newest: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    desk: Desk,
    _place: OwnedSemaphorePermit,
}

impl Reader {
    /// Waits for the next message to send; none when the server stops.
    async fn next(&mut self) -> Option<SseEvent> {
        loop {
            if let Some(gap) = self.gap.take() {
                return Some(self.show_gap(gap));
            }
            while let Some(numbered) = self.page.pop_front() {
                self.cursor = numbered.id;
                if self.filter.wants(&numbered.event) {
                    return Some(self.show(&numbered));
                }
            }
            // Marked as seen before it is read: what comes in between is not slept over.
            self.newest.borrow_and_update();
            let pages = self.desk.server.0.sight.journal.after(self.cursor, PAGE);
            if pages.lost > 0 {
                self.cursor += pages.lost;
                self.gap = Some(Gap::Overrun(pages.lost));
            }
            self.page = pages.events.into();
            if self.page.is_empty() && self.gap.is_none() {
                tokio::select! {
                    () = until_stopping(&mut self.stopping) => return None,
                    changed = self.newest.changed() => changed.ok()?,
                    () = tokio::time::sleep(self.desk.config.heartbeat) => {
                        // The id lets a reader that wants little come back without a gap.
                        return Some(SseEvent::default().comment("beat").id(self.id()));
                    }
                }
            }
        }
    }

    fn id(&self) -> String {
        format!("{}-{}", self.desk.server.0.sight.journal.incarnation, self.cursor)
    }

    fn show(&self, numbered: &Numbered) -> SseEvent {
        let data = shape::event(numbered).to_string();
        SseEvent::default().id(self.id()).event(numbered.event.name()).data(data)
    }

    fn show_gap(&self, gap: Gap) -> SseEvent {
        let data = match gap {
            Gap::Overrun(lost) => json!({"reason": "overrun", "lost": lost.to_string()}),
            Gap::Restarted => json!({"reason": "restarted", "lost": null}),
        };
        SseEvent::default().id(self.id()).event("gap").data(data.to_string())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.desk.server.0.sight.metrics.event_readers.dec();
    }
}
