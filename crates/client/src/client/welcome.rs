//! The server lets the client in. All decisions about what survives are on this page: the token is
//! stored before a frame confirms it, the game learns its rung before anything that follows from it,
//! and every send is re-sent, ended or reported.

use std::time::Duration;

use rejoin_wire::v1::{self, Welcome};

use super::{Client, Link};
use crate::buffer::Window;
use crate::downstream::Downstream;
use crate::error::Violation;
use crate::event::{Event, Output, RequestEnd, Rung};
use crate::identity::{Identity, ResumeState, Secret};
use crate::pulse::Pulse;
use crate::time::Time;

impl Client {
    pub(super) fn welcomed(&mut self, now: Time, welcome: Welcome) -> Result<(), Violation> {
        let Link::Answering { resumed, .. } = self.link else {
            return Err(Violation::OutOfState);
        };
        let rung = self.rung(&welcome, resumed)?;
        // On another session nothing that was sent to the last one means anything.
        let is_other = rung == Rung::New || self.session != Some(welcome.session);
        let mut downstream = match resumed {
            Some(_) if !is_other => self.downstream,
            _ => Downstream::Unknown,
        };
        downstream.welcome(rung, welcome.reason(), welcome.leg)?;
        if !is_other {
            self.buffer.check(welcome.applied)?;
        }

        self.downstream = downstream;
        let pulse = Pulse::new(now, welcome.heartbeat_ms, &self.config);
        self.link = Link::Live { since: now, pulse };
        self.store(&welcome)?;
        self.acknowledge();
        let had_session = self.session.replace(welcome.session).is_some();
        self.tell_connected(rung, &welcome);
        if is_other {
            self.lose_sent();
            if had_session {
                self.lose_waiting();
            }
        }
        if rung == Rung::Resynced {
            self.end_requests(welcome.applied);
        }
        self.settle(&welcome);
        let window = Window {
            frames: usize::try_from(welcome.window_frames).unwrap_or(usize::MAX),
            bytes: usize::try_from(welcome.window_bytes).unwrap_or(usize::MAX),
        };
        self.buffer.attach(welcome.applied, window)?;
        self.flush();
        Ok(())
    }

    /// Ends the requests whose answers a lost stream may have carried.
    pub(super) fn end_requests(&mut self, applied: u64) {
        for request in self.ledger.end_up_to(applied) {
            self.tell(Event::RequestEnded { request, how: RequestEnd::OutcomeUnknown });
        }
    }

    /// The rung, if the welcome answers the hello.
    fn rung(&self, welcome: &Welcome, resumed: Option<u64>) -> Result<Rung, Violation> {
        let rung = match welcome.rung() {
            v1::Rung::Replayed => Rung::Replayed,
            v1::Rung::Resynced => Rung::Resynced,
            v1::Rung::New => Rung::New,
            v1::Rung::Unspecified => return Err(Violation::BadWelcome),
        };
        let is_resumed = resumed == Some(welcome.session);
        let answers = match rung {
            Rung::Replayed => is_resumed,
            Rung::Resynced => is_resumed || resumed.is_none(),
            // Ids are never reused, and numbers of a new session start at 1.
            Rung::New => !is_resumed && welcome.applied == 0,
        };
        let known = self.ticket.as_ref().filter(|ticket| ticket.session == welcome.session);
        let is_stale = known.is_some_and(|ticket| welcome.epoch <= ticket.epoch);
        if !answers || is_stale || welcome.session == 0 || welcome.applied > u64::MAX >> 1 {
            return Err(Violation::BadWelcome);
        }
        Ok(rung)
    }

    /// Hands over what must be stored, ahead of the frame that confirms it.
    fn store(&mut self, welcome: &Welcome) -> Result<(), Violation> {
        if let Some(secret) = Secret::from_slice(&welcome.secret)
            && let Identity::Secret(known) = &mut self.identity
        {
            *known = Some(secret.clone());
            self.outputs.push_back(Output::StoreSecret(secret));
        }
        let token = Secret::from_slice(&welcome.token).ok_or(Violation::BadWelcome)?;
        let state = ResumeState { session: welcome.session, token, epoch: welcome.epoch };
        self.ticket = Some(state.clone());
        self.outputs.push_back(Output::StoreToken(state));
        Ok(())
    }

    fn tell_connected(&mut self, rung: Rung, welcome: &Welcome) {
        let mut player = [0; 16];
        // A decoder lets no other length through.
        player.iter_mut().zip(&welcome.player).for_each(|(to, from)| *to = *from);
        let after = self.after.take();
        self.tell(Event::Connected {
            rung,
            reason: welcome.reason(),
            session: welcome.session,
            player,
            zone: welcome.zone.clone(),
            found: welcome.found,
            lost_upstream: welcome.lost_upstream,
            after,
            capabilities: welcome.capabilities.clone(),
        });
    }

    /// Takes over what the server decided about this connection and the next.
    fn settle(&mut self, welcome: &Welcome) {
        self.fresh = false;
        self.held = None;
        self.hold = Duration::from_millis(welcome.hold_ms.into());
        self.message_bytes_max = match usize::try_from(welcome.message_bytes_max) {
            Ok(0) | Err(_) => self.config.limits.message_bytes_max,
            Ok(max) => max.min(self.config.limits.message_bytes_max),
        };
        if !welcome.resume_at.is_empty() {
            self.addresses = welcome.resume_at.clone();
        }
    }
}
