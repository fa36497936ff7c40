//! A player's own books: what it asked for, what it was told, and whether that can be true. Nothing
//! here knows how the server works; the game numbers what it says, and the numbers must fit.

use std::collections::BTreeMap;

use bytes::Bytes;
use rejoin_client::{Event, RequestEnd, Rung, SendId};
use rejoin_core::zone::Message;
use rejoin_wire::v1::{Latest, RungReason, ZoneRef};

use crate::check::Violation;
use crate::speech::{Note, Report, Start};

/// What is heard in one stay in one zone.
#[derive(Clone, Debug)]
struct Stay {
    heard: Start,
    /// The highest version of each key that was heard.
    versions: BTreeMap<String, u64>,
    /// The keys that have a value, and its version.
    shown: BTreeMap<String, u64>,
    /// The keys that have a value by the game's report, if it has answered the last question.
    reported: Option<BTreeMap<String, u64>>,
}

/// A player's books.
#[derive(Clone, Debug, Default)]
pub struct Books {
    /// Which book wishes are numbered in.
    pub book: u64,
    /// Wishes of this book.
    pub wishes: u64,
    /// Those of them that were refused.
    refused: u64,
    sends: BTreeMap<SendId, (u64, u64)>,
    /// A report that is awaited, and how many wishes came before it.
    report: Option<(SendId, u64)>,
    /// Reports that were asked for and answered.
    pub answers: u64,
    /// Something of this book may be lost: counts are not judged.
    loose: bool,
    /// Other clients may speak for the same session.
    pub is_shared: bool,
    /// It has been in a zone that forgets on a crash.
    pub volatile: bool,
    stay: Option<Stay>,
    /// Reports that were right.
    pub reports: u64,
    /// Notes heard.
    pub heard: u64,
    /// The session and zone.
    pub session: Option<u64>,
    /// The zone it is in.
    pub zone: Option<ZoneRef>,
    /// A value of the last report that was judged.
    pub connected: bool,
    found: Vec<Violation>,
}

impl Books {
    /// Books a wish that was taken; its number was drawn before.
    pub fn wished(&mut self, send: SendId) {
        self.sends.insert(send, (self.book, self.wishes));
    }

    /// Books a request for a report.
    pub fn asked(&mut self, send: SendId) {
        self.report = Some((send, self.wishes));
        if let Some(stay) = &mut self.stay {
            stay.reported = None;
        }
    }

    /// Whether a report is awaited.
    #[must_use]
    pub fn awaits_report(&self) -> bool {
        self.report.is_some()
    }

    /// What was found wrong.
    pub fn take_found(&mut self) -> Vec<Violation> {
        std::mem::take(&mut self.found)
    }

    fn fail(&mut self, checker: &'static str, text: String) {
        self.found.push(Violation { checker, text });
    }

    /// Begins another book: what came before may be lost.
    pub fn turn_over(&mut self, book: u64) {
        self.book = book;
        self.wishes = 0;
        self.refused = 0;
        self.loose = false;
        self.report = None;
        self.sends.clear();
    }

    /// Judges what the client tells. `book` is the number of the next book, should one begin.
    pub fn hear(&mut self, event: &Event, book: u64) {
        match event {
            Event::Connected { rung, reason, session, zone, lost_upstream, .. } => {
                self.connected = true;
                self.connected_to(*rung, *reason, *lost_upstream, book);
                self.session = Some(*session);
                self.zone = zone.clone();
            }
            Event::Disconnected { .. } | Event::Stopped { .. } | Event::TakenOver => {
                self.connected = false;
            }
            Event::Left => {
                self.connected = false;
                self.session = None;
                self.zone = None;
                self.stay = None;
                self.turn_over(book);
            }
            Event::Joined { zone, payload, latest, .. } => {
                self.zone = Some(zone.clone());
                self.volatile |= matches!(zone.kind.as_str(), "session" | "memory");
                self.begin_stay(payload.clone(), latest);
            }
            Event::Parted { .. } => {
                self.zone = None;
                self.stay = None;
            }
            Event::Resync { snapshot, latest, zone, .. } => {
                self.zone = zone.clone();
                self.stay = None;
                // Refusals may have been lost with the stream: what was wished so far is not judged.
                self.turn_over(book);
                if zone.is_some() {
                    self.begin_stay(snapshot.clone(), latest);
                }
            }
            Event::Refused { to: Some(send), .. } => {
                let ours = self.sends.remove(send).is_some_and(|(book, _)| book == self.book);
                self.refused += u64::from(ours);
            }
            Event::SendsLost { sends } => {
                self.loose |= sends.iter().any(|send| self.sends.contains_key(send));
            }
            Event::Message { payload } => self.note(payload),
            Event::Latest { key, payload } => self.latest(key, payload.as_ref()),
            Event::Reply { request, payload } => self.reply(*request, payload),
            Event::RequestEnded { request, how } => {
                let ours = self.report.take_if(|(send, _)| send == request).is_some();
                self.answers += u64::from(ours && matches!(how, RequestEnd::Refused(_)));
            }
            // Another client that shares the session has sent more.
            Event::Violation(rejoin_client::Violation::AppliedAhead { .. }) if self.is_shared => {}
            Event::Violation(violation) => {
                self.fail("client-sane", format!("{violation}"));
            }
            _ => {}
        }
    }

    fn connected_to(&mut self, rung: Rung, reason: RungReason, lost_upstream: u64, book: u64) {
        let lossy = matches!(
            reason,
            RungReason::RolledBack | RungReason::ZoneLost | RungReason::UnknownPosition
        );
        match rung {
            Rung::Replayed if lost_upstream > 0 => {
                self.fail("ladder-honest", format!("Replayed, but {lost_upstream} were lost"));
            }
            Rung::Replayed => {}
            Rung::Resynced => {
                if !self.volatile && (lossy || lost_upstream > 0) {
                    let text = format!("{reason:?} with {lost_upstream} lost upstream");
                    self.fail("ladder-honest", text);
                }
                self.turn_over(book);
                self.stay = None;
            }
            Rung::New => {
                self.turn_over(book);
                self.stay = None;
                self.volatile = false;
            }
        }
    }

    fn begin_stay(&mut self, start: Bytes, latest: &[Latest]) {
        let Some(heard) = Start::decode(start) else {
            return self.fail("downstream-once", "a stay without a start".to_owned());
        };
        let mut versions = BTreeMap::new();
        for value in latest {
            if let Ok(Note::Latest(version, _)) = Note::decode(value.payload.clone()) {
                versions.insert(value.key.clone(), version);
            }
        }
        let shown = versions.clone();
        self.stay = Some(Stay { heard, versions, shown, reported: None });
    }

    fn note(&mut self, payload: &Bytes) {
        self.heard += 1;
        let (session, zone) = (self.session, self.zone.clone());
        let Ok(note) = Note::decode(payload.clone()) else { return };
        let Some(stay) = &mut self.stay else {
            return self.fail("downstream-once", format!("{note:?} outside zones"));
        };
        let (count, what) = match &note {
            Note::All(k, _) => (&mut stay.heard.all, *k),
            Note::One(p) => (&mut stay.heard.page.one, *p),
            Note::Some(to) => {
                let mine = to.iter().find(|(who, _)| Some(*who) == session);
                let Some((_, g)) = mine else {
                    return self
                        .fail("downstream-once", format!("{note:?} is not for {session:?}"));
                };
                (&mut stay.heard.page.some, *g)
            }
            _ => return,
        };
        if what != *count + 1 {
            let text = format!("{note:?} after {count} in {zone:?}");
            return self.fail("downstream-once", text);
        }
        *count = what;
    }

    fn latest(&mut self, key: &str, payload: Option<&Bytes>) {
        let Some(stay) = &mut self.stay else {
            return self.fail("latest-order", format!("{key} outside zones"));
        };
        let Some(payload) = payload else {
            stay.shown.remove(key);
            return;
        };
        let Ok(Note::Latest(version, all)) = Note::decode(payload.clone()) else { return };
        let heard = stay.heard.all;
        stay.shown.insert(key.to_owned(), version);
        let known = stay.versions.insert(key.to_owned(), version).unwrap_or_default();
        if version <= known {
            self.fail("latest-order", format!("{key} went from {known} to {version}"));
        } else if all > heard {
            self.fail("latest-order", format!("{key} of {all} came when {heard} had been heard"));
        }
    }

    fn reply(&mut self, request: SendId, payload: &Bytes) {
        let Some((_, wishes)) = self.report.take_if(|(send, _)| *send == request) else { return };
        let Ok(Note::Report(report)) = Note::decode(payload.clone()) else { return };
        self.answers += 1;
        self.compare(&report);
        let count = report.count;
        if self.loose || self.volatile {
            return;
        }
        self.reports += 1;
        let early = self.sends.values().filter(|(book, _)| *book == self.book).count() as u64;
        let granted = wishes - self.refused.min(wishes);
        if count != granted {
            let text = format!(
                "book {}: {wishes} wishes, {} refused, {count} granted ({early} open)",
                self.book, self.refused
            );
            self.fail("upstream-once", text);
        }
    }

    /// A report is said in its place among the ordered messages: what was said before it has been
    /// heard, and nothing that was said after it.
    fn compare(&mut self, report: &Report) {
        let Some(stay) = &mut self.stay else {
            return self.fail("heard-all", "a report outside zones".to_owned());
        };
        let latest = report.latest.iter().map(|(key, version)| (format!("k{key}"), *version));
        stay.reported = Some(latest.collect());
        let heard = stay.heard;
        if heard != report.said {
            self.fail("heard-all", format!("{:?} was said, {heard:?} was heard", report.said));
        }
    }

    /// Nothing changes any more: the latest values that were heard are those that the game has. A player
    /// whose last question has no report is not judged: what it heard since the report before may be newer
    /// than that.
    pub fn check_latest(&mut self) {
        let Some(Stay { shown, reported: Some(reported), .. }) = &self.stay else { return };
        if shown != reported {
            let text = format!("the game has {reported:?}, {shown:?} were heard");
            self.fail("latest-final", text);
        }
    }
}

#[cfg(test)]
mod tests {
    use rejoin_wire::v1::RefusalCode;

    use super::*;

    /// A player in a zone whose game has just reported that it has the value `k1` and no other.
    fn reported() -> Books {
        let mut books = Books { session: Some(1), ..Books::default() };
        let start = Start::default();
        let value = |version| Note::Latest(version, 0).encode();
        let zone = ZoneRef { kind: "cells".to_owned(), name: "z0".to_owned() };
        books.hear(
            &Event::Joined {
                to: None,
                zone,
                payload: start.encode(),
                latest: vec![Latest { key: "k1".to_owned(), payload: value(1) }],
            },
            1,
        );
        books.asked(SendId(1));
        let report = Report { count: 0, last: 0, said: start, latest: vec![(1, 1)] };
        let payload = Note::Report(report).encode();
        books.hear(&Event::Reply { request: SendId(1), payload }, 1);
        assert!(books.take_found().is_empty());
        books
    }

    fn hear_value(books: &mut Books, key: &str) {
        let payload = Some(Note::Latest(1, 0).encode());
        books.hear(&Event::Latest { key: key.to_owned(), payload }, 1);
    }

    #[test]
    fn values_after_the_last_report_are_not_judged_while_another_is_awaited() {
        let mut books = reported();
        books.asked(SendId(2));
        hear_value(&mut books, "k2");
        books.check_latest();
        assert!(books.take_found().is_empty());
    }

    #[test]
    fn values_after_the_last_report_are_not_judged_when_another_was_refused() {
        let mut books = reported();
        books.asked(SendId(2));
        let how = RequestEnd::Refused(RefusalCode::RingShare);
        books.hear(&Event::RequestEnded { request: SendId(2), how }, 1);
        hear_value(&mut books, "k2");
        books.check_latest();
        assert!(books.take_found().is_empty());
    }

    #[test]
    fn values_that_the_game_does_not_have_are_seen_after_its_last_report() {
        let mut books = reported();
        hear_value(&mut books, "k2");
        books.check_latest();
        assert!(books.take_found().iter().any(|found| found.checker == "latest-final"));
    }
}
