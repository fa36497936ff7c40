//! What waits in a session's gate, and what becomes of it once the commit that it rests on is done. Effects of
//! one session keep their order.

use rejoin_wire::SharedFrame;

use super::{FromSession, Outgoing, SessionContext, SessionCore, row};
use crate::exchange::{Link, ToZone};
use crate::gate::Gated;
use crate::hub::HubOutput;
use crate::id::{Revision, SessionEpoch, ZoneId};
use crate::scope::Batch;

/// Inputs of one session that may wait for the store. A session that has so many takes no numbered frame
/// of its client (they wait, at most a window of them), no command and no other connection.
const INPUTS_MAX: usize = 1_024;

/// Something that must not be seen before a session's change is committed.
#[derive(Debug)]
pub(crate) enum AfterCommit {
    /// Give this to the store. It waits for nothing.
    Submit(Batch),
    /// Give this out.
    Output(HubOutput),
    /// Tell another machine of the hub.
    Tell(FromSession),
    /// Say this, if the link still is the session's.
    Frame(Outgoing),
    /// Acknowledge the client's stream up to this number.
    Applied { link: Link, seq: u64 },
    /// Give the connection of this epoch its place.
    Attach(SessionEpoch),
    /// Tell the connection that it has its place, outside zones.
    Welcome(Link, Vec<SharedFrame>),
    /// Ask the zone it is joining in this stay.
    Admit(u32),
    /// Tell a zone.
    Zone(ZoneId, ToZone),
    /// Ask the directory what it has not been asked yet.
    Seats,
}

impl Gated for AfterCommit {
    fn submit(batch: Batch) -> Self {
        Self::Submit(batch)
    }
}

impl SessionCore {
    /// Whether so much waits for the store that it takes nothing more.
    pub(crate) fn is_gate_full(&self) -> bool {
        self.gate.waiting() >= INPUTS_MAX
    }

    /// Whether it is in no zone and must let its client's frames wait: too much waits for the store, or the
    /// client has not acknowledged a whole window of what it was answered. Each frame has an answer that is kept
    /// for it, so a client that reads nothing is read no further.
    pub(super) fn takes_no_frames(&self, cx: &SessionContext<'_>) -> bool {
        let window = cx.config.window_frames as usize;
        self.place.is_lobby() && (self.is_gate_full() || self.downstream.unacked() >= window)
    }

    /// Whether it has so much room again that it asks for what it did not take. With room for one frame it would be
    /// handed all that wait, take one, and be handed the rest again with the next acknowledgement.
    pub(super) fn has_room_again(&self, cx: &SessionContext<'_>) -> bool {
        let window = cx.config.window_frames as usize;
        self.gate.waiting() <= INPUTS_MAX / 2 && self.downstream.unacked() <= window / 2
    }

    /// A batch is durable.
    pub(crate) fn committed(&mut self, cx: &mut SessionContext<'_>, revision: Revision) {
        self.gate.committed(revision);
        self.ask_for_frames(cx);
    }

    /// Whether the present input has left something to [`settle`](Self::settle).
    pub(crate) fn is_unsettled(&self) -> bool {
        self.gate.is_unsettled()
    }

    /// Carries out what may leave, then ends the input: what has changed is submitted now, or with the next batch.
    /// It stops at a message to another machine, which is delivered first. True: there is more to do.
    pub(crate) fn settle(&mut self, cx: &mut SessionContext<'_>) -> bool {
        // What these change goes with the next batch.
        while let Some(effect) = self.gate.next_effect() {
            self.carry_out(cx, effect);
            if !cx.mail.is_empty() {
                return true;
            }
        }
        self.gate.end_input();
        if !self.is_over() && self.gate.is_due() {
            let changes = row::changes(self);
            self.gate.submit(changes);
        }
        self.gate.has_effects()
    }

    fn carry_out(&mut self, cx: &mut SessionContext<'_>, effect: AfterCommit) {
        match effect {
            AfterCommit::Submit(batch) => {
                cx.in_flight.insert(self.id);
                cx.push(HubOutput::Commit(batch));
            }
            AfterCommit::Output(output) => cx.push(output),
            AfterCommit::Tell(message) => cx.tell(self.id, message),
            AfterCommit::Frame(Outgoing { link, at, frame }) => {
                if self.link() == Some(link) {
                    self.expect_progress(cx, at);
                    cx.send(link.connection, frame);
                }
            }
            AfterCommit::Applied { link, seq } => {
                if self.link() == Some(link) {
                    cx.push(HubOutput::Applied { connection: link.connection, seq });
                }
            }
            AfterCommit::Attach(epoch) => self.try_attach(cx, epoch),
            AfterCommit::Welcome(link, frames) => self.welcome(cx, link, frames),
            AfterCommit::Admit(stay) => self.ask_zone(cx, stay),
            AfterCommit::Zone(zone, message) => cx.tell_zone(zone, message),
            AfterCommit::Seats => self.ask_seats(cx),
        }
    }
}
