//! Questions to the client from outside zones. Whoever asked always hears how it ended.

use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::v1::{Call, RefusalCode, Refused, down};

use super::words::too_large;
use super::{Flags, SessionContext, SessionCore};
use crate::call::{CallFailed, OpenCall};
use crate::hub::{Alarm, Answer};
use crate::id::CallId;
use crate::mark::{Mark, hit};
use crate::time::millis_u32;

impl SessionCore {
    /// Asks the client. The answer comes with the ticket.
    pub(crate) fn open_call(
        &mut self,
        cx: &mut SessionContext<'_>,
        ticket: u64,
        payload: Bytes,
        deadline: Duration,
    ) {
        let refusal = match too_large(&payload) {
            true => Some(Answer::Refused(RefusalCode::BadPayload)),
            false => self.refuses_words(),
        };
        if let Some(answer) = refusal {
            return cx.answer(ticket, answer);
        }
        let key = Bytes::copy_from_slice(&ticket.to_be_bytes());
        let due = cx.at.now.after(deadline);
        let call = self.calls.get_or_insert_default().open(key, due);
        self.flags.set(Flags::AWAITING_RESPONSE, true);
        cx.alarms.set(cx.at.now, deadline, Alarm::Call(self.id));
        let call = CallId(call.0 | CallId::HUB).0;
        let body = Call { call, payload, deadline_ms: millis_u32(deadline) };
        // It takes messages: that was asked above.
        let _ = self.say_anywhere(cx, down::Body::Call(body), None);
    }

    /// The deadline of a call has come.
    pub(crate) fn calls_due(&mut self, cx: &mut SessionContext<'_>) {
        let due = self.calls.as_mut().map(|calls| calls.expire(cx.at.now)).unwrap_or_default();
        for call in due {
            hit(Mark::CallTimeout);
            self.call_ended(cx, &call, Err(CallFailed::Timeout));
        }
    }

    /// The client answered a call that was made from outside zones.
    ///
    /// # Errors
    /// No such call is open.
    pub(super) fn answered(
        &mut self,
        cx: &mut SessionContext<'_>,
        call: CallId,
        payload: Bytes,
    ) -> Result<(), RefusalCode> {
        let call = CallId(call.0 & !CallId::HUB);
        let Some(open) = self.calls.as_mut().and_then(|calls| calls.answer(call)) else {
            hit(Mark::CallUnknown);
            cx.counts.unknown_answers_total += 1;
            return Err(RefusalCode::UnknownCall);
        };
        hit(Mark::CallAnswered);
        self.call_ended(cx, &open, Ok(payload));
        Ok(())
    }

    /// The client answered in its zone, with the frame `to`. If nothing was asked it hears so.
    pub(super) fn answered_in_zone(
        &mut self,
        cx: &mut SessionContext<'_>,
        call: CallId,
        to: u64,
        payload: Bytes,
    ) {
        if let Err(code) = self.answered(cx, call, payload) {
            let refused = Refused { to, code: code.into(), ..Refused::default() };
            // Where it does not arrive, its call is over as well.
            let _ = self.say_anywhere(cx, down::Body::Refused(refused), None);
        }
    }

    /// A call from outside zones ended: its asker is told.
    fn call_ended(
        &mut self,
        cx: &mut SessionContext<'_>,
        call: &OpenCall,
        result: Result<Bytes, CallFailed>,
    ) {
        if self.calls.as_ref().is_none_or(|calls| calls.is_empty()) {
            self.calls = None;
            let zone_awaits = self.place.inside().is_some_and(|inside| inside.awaits);
            self.flags.set(Flags::AWAITING_RESPONSE, zone_awaits);
        }
        match call.key[..].try_into() {
            Ok(ticket) => cx.answer(u64::from_be_bytes(ticket), Answer::Called(result)),
            Err(_) => crate::never!("{:?} has a call without a ticket", self.id),
        }
    }

    /// The session ends: its client answers nothing any more.
    pub(super) fn fail_calls(&mut self, cx: &mut SessionContext<'_>) {
        for call in self.calls.take().map(|mut calls| calls.take_all()).unwrap_or_default() {
            self.call_ended(cx, &call, Err(CallFailed::Gone));
        }
    }

    /// Its zone waits for an answer of its client, or does not any more.
    pub(super) fn set_awaiting(&mut self, is_open: bool) {
        let own = self.calls.as_ref().is_some_and(|calls| !calls.is_empty());
        if let Some(inside) = self.inside_mut() {
            inside.awaits = is_open;
        }
        self.flags.set(Flags::AWAITING_RESPONSE, is_open || own);
    }
}
