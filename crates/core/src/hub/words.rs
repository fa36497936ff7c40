//! Words from outside the game: to one session, or to many at once. They go into the session's open
//! leg, wherever that is, so that a client hears each once and in order, over any drop.

use std::collections::BTreeMap;

use bytes::Bytes;
use rejoin_wire::v1::{Down, Message, RefusalCode, down, server_frame};
use rejoin_wire::{Limits, SharedFrame};

use super::own::shared;
use super::zones::ZoneInfo;
use super::{Answer, Audience, Hub};
use crate::exchange::ToZone;
use crate::id::{CallId, SessionId, ZoneId};
use crate::session::Place;
use crate::zone::Delivery;

/// Whether clients would not take it.
pub(super) fn too_large(payload: &Bytes) -> bool {
    payload.len() > Limits::DEFAULT.message_bytes_max
}

impl Hub {
    pub(crate) fn send_message(&mut self, id: SessionId, payload: Bytes) -> Answer {
        if too_large(&payload) {
            return Answer::Refused(RefusalCode::BadPayload);
        }
        let message = Message { payload, ..Message::default() };
        self.say_anywhere(id, down::Body::Message(message))
    }

    /// Says something in the session's open leg, wherever that is.
    pub(crate) fn say_anywhere(&mut self, id: SessionId, body: down::Body) -> Answer {
        let Some(session) = self.sessions.get(&id) else { return Answer::Unknown };
        if session.is_native() {
            match body {
                down::Body::Message(said) => self.tell_native(id, Delivery::Sent(said.payload)),
                down::Body::Call(asked) => {
                    self.tell_native(id, Delivery::Asked(CallId(asked.call), asked.payload));
                }
                _ => {}
            }
            return Answer::Done;
        }
        match &session.place {
            Place::Nowhere => self.say_own(id, body),
            Place::In(zone) => {
                let zone = *zone;
                self.tell_zone(zone, ToZone::Say { session: id, body });
            }
            Place::Joining(_) => return Answer::Refused(RefusalCode::NotMember),
        }
        Answer::Done
    }

    /// Says the same to many. A zone is told once and makes one frame for all its members; outside
    /// zones, sessions whose next number is the same share a frame.
    pub(crate) fn broadcast(&mut self, to: Audience, payload: Bytes) -> Answer {
        if too_large(&payload) {
            return Answer::Refused(RefusalCode::BadPayload);
        }
        if let Audience::Zone(zone) = to
            && !self.zones.contains_key(&zone)
        {
            return Answer::Unknown;
        }
        let (mut told, mut missed) = (0, 0);
        let mut outside: BTreeMap<u64, SharedFrame> = BTreeMap::new();
        for id in self.audience(to) {
            let Some(session) = self.sessions.get(&id) else { continue };
            let reached = match &session.place {
                _ if session.is_native() => {
                    self.tell_native(id, Delivery::Sent(payload.clone()));
                    true
                }
                Place::Nowhere => {
                    self.say_numbered(id, |seq| {
                        outside.entry(seq).or_insert_with(|| said(seq, &payload)).clone()
                    });
                    true
                }
                Place::In(zone) => self.zones.get(zone).and_then(ZoneInfo::owner).is_some(),
                Place::Joining(_) => false,
            };
            if reached {
                told += 1;
            } else {
                missed += 1;
            }
        }
        for zone in self.open_zones(to) {
            self.tell_zone(zone, ToZone::Broadcast { payload: payload.clone() });
        }
        Answer::Told { told, missed }
    }

    fn audience(&self, to: Audience) -> Vec<SessionId> {
        let meant = self.sessions.iter().filter(|(_, session)| {
            let here = match to {
                Audience::Everybody => true,
                Audience::Zone(zone) => session.zone() == Some(zone),
            };
            here && session.ending.is_none()
        });
        meant.map(|(id, _)| *id).collect()
    }

    fn open_zones(&self, to: Audience) -> Vec<ZoneId> {
        match to {
            Audience::Everybody => self.zones.keys().copied().collect(),
            Audience::Zone(zone) => vec![zone],
        }
    }
}

fn said(seq: u64, payload: &Bytes) -> SharedFrame {
    let message = Message { payload: payload.clone(), ..Message::default() };
    shared(server_frame::Frame::Down(Down { seq, body: Some(down::Body::Message(message)) }))
}
