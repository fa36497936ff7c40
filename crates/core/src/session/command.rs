//! Commands of the embedding game and of administrators to one session. Each is answered here, or once what it
//! rests on is committed.

use bytes::Bytes;
use rejoin_wire::v1::{Message, RefusalCode, down};

use super::words::too_large;
use super::{SessionContext, SessionCore};
use crate::hub::{Answer, SessionCommand};
use crate::mark::{Mark, hit};

impl SessionCore {
    /// Carries out a command, which is answered with this ticket.
    pub(crate) fn command(
        &mut self,
        cx: &mut SessionContext<'_>,
        ticket: u64,
        command: SessionCommand,
    ) {
        let answer = match command {
            SessionCommand::End(cause) => {
                hit(Mark::Kicked);
                self.end(cx, cause);
                return self.answer_after(ticket, Answer::Done);
            }
            SessionCommand::Configure(_) if self.is_gate_full() => Answer::Busy,
            SessionCommand::Configure(changes) => {
                self.configure(changes);
                return self.answer_after(ticket, Answer::Done);
            }
            SessionCommand::Send(payload) => return self.send_message(cx, ticket, payload),
            SessionCommand::Call(payload, deadline) => {
                return self.open_call(cx, ticket, payload, deadline);
            }
            SessionCommand::Join(name, payload) => {
                return self.join_local(cx, ticket, name, payload, None);
            }
            SessionCommand::TakeSeat(name, seat, payload) => {
                return self.join_local(cx, ticket, name, payload, Some(seat));
            }
            SessionCommand::Part => self.part(cx),
            SessionCommand::Move(name, payload) => return self.move_to(cx, ticket, name, payload),
            SessionCommand::Say(message) => self.say_local(cx, message),
            SessionCommand::Answer(call, message) => self.answer_local(cx, call, message),
        };
        cx.answer(ticket, answer);
    }

    /// Says something, wherever the session is. Its sender is answered when it is sure to be heard.
    fn send_message(&mut self, cx: &mut SessionContext<'_>, ticket: u64, payload: Bytes) {
        if too_large(&payload) {
            return cx.answer(ticket, Answer::Refused(RefusalCode::BadPayload));
        }
        let body = down::Body::Message(Message { payload, ..Message::default() });
        if let Err(answer) = self.say_anywhere(cx, body, Some(ticket)) {
            cx.answer(ticket, answer);
        }
    }
}
