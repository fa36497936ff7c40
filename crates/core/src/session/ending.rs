//! The end of a session: its zone parts it, the directory hears of its seats, its scope is deleted last.

use super::life::{Away, Life};
use super::{AfterCommit, FromSession, Place, SessionContext, SessionCore};
use crate::event::{EndCause, Event};
use crate::exchange::ToZone;
use crate::hub::HubOutput;
use crate::mark::{Mark, hit};
use crate::orders::EndOf;
use crate::timeline::What;
use crate::zone::Delivery;

/// Whether a session goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Ending {
    /// It goes on, and can be returned to.
    #[default]
    None,
    /// It ends for this reason; its zone or the directory still has a part of it.
    UnderWay(EndCause),
    /// Nothing of it is left anywhere else, and its scope is being deleted.
    Over(EndCause),
}

impl Ending {
    pub(super) fn cause(self) -> Option<EndCause> {
        match self {
            Self::None => None,
            Self::UnderWay(cause) | Self::Over(cause) => Some(cause),
        }
    }

    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Over(_))
    }
}

impl SessionCore {
    /// Whether it is on its way out.
    pub(super) fn is_ending(&self) -> bool {
        self.ending != Ending::None
    }

    /// Ends the session: its zone parts it first.
    pub(crate) fn end(&mut self, cx: &mut SessionContext<'_>, cause: EndCause) {
        if self.is_ending() {
            return;
        }
        self.lose_voice(cx, cause);
        self.timeline.record(cx.at.wall, What::Ending, cause as u32);
        let zone = match &self.place {
            Place::In(inside) => Some(inside.zone),
            Place::Joining(joining) => joining.asked.map(|_| joining.zone),
            Place::Lobby(_) => None,
        };
        match zone {
            Some(zone) => {
                self.touch();
                let (session, stay, cause) = (self.id, self.leg.stay, cause.part_cause());
                self.after(AfterCommit::Zone(zone, ToZone::Part { session, stay, cause }));
            }
            None => self.finish_end(cx, None),
        }
    }

    /// After a start: it was ending in no zone.
    pub(crate) fn end_again(&mut self, cx: &mut SessionContext<'_>) {
        if let Some(cause) = std::mem::take(&mut self.ending).cause() {
            self.end(cx, cause);
        }
    }

    /// Marks the session as ending and takes its voice; its connection is told once that is committed.
    pub(super) fn lose_voice(&mut self, cx: &mut SessionContext<'_>, cause: EndCause) {
        self.ending = Ending::UnderWay(cause);
        let (player, credential, connection) = (self.player, self.credential, self.connection());
        self.detach(cx, Life::Away(Away::default()));
        self.after(AfterCommit::Tell(FromSession::EndCommitted { player, credential }));
        if let Some(connection) = connection {
            cx.tell(self.id, FromSession::Fence(connection));
            let ended = FromSession::Ended { connection, player, cause };
            self.after(AfterCommit::Tell(ended));
        }
    }

    /// Nothing of the session is anywhere else: its scope goes. `last`: what leaves after that.
    pub(super) fn finish_end(&mut self, cx: &mut SessionContext<'_>, last: Option<AfterCommit>) {
        self.fail_words(cx);
        self.let_seats_go();
        if !self.seats.is_empty() {
            return self.linger(last);
        }
        self.fail_calls(cx);
        let Some(cause) = self.ending.cause() else {
            return crate::never!("{:?} is at its end, and nobody has ended it", self.id);
        };
        last.into_iter().for_each(|effect| self.after(effect));
        if self.is_native() {
            self.tell_local(Delivery::Ended(cause));
        }
        self.after_event(Event::PlayerLeft { session: self.id, player: self.player, cause });
        self.ending = Ending::Over(cause);
        self.gate.close();
    }

    /// Waits for the directory, which has to hear of a seat. After that the session ends in no zone.
    fn linger(&mut self, last: Option<AfterCommit>) {
        hit(Mark::SeatLingered);
        self.downstream.clear_earlier();
        if !self.place.is_lobby() {
            self.leave_place();
        }
        self.touch();
        last.into_iter().for_each(|effect| self.after(effect));
        self.after(AfterCommit::Seats);
    }

    /// Something waits until the end of this session is committed.
    pub(crate) fn count_end(&mut self, awaits: EndOf) {
        self.after(AfterCommit::Tell(FromSession::EndKept(awaits)));
    }

    /// Answers a command once everything so far is committed.
    pub(crate) fn answer_after(&mut self, ticket: u64, answer: crate::hub::Answer) {
        self.after(AfterCommit::Output(HubOutput::Answer { ticket, answer }));
    }
}
