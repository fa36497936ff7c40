//! What local sessions say to a zone: values instead of frames, and no numbers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rejoin_wire::v1::RefusalCode;

use super::Zone;
use super::context::Sender;
use super::core::ZoneCore;
use super::message::{BadPayload, Message};
use super::output::Delivery;
use super::upstream::decode;
use crate::call::CallFailed;
use crate::exchange::Native;
use crate::id::{CallId, SessionId};
use crate::mark::{Mark, hit};
use crate::time::Time;

impl<Z: Zone> ZoneCore<Z> {
    pub(crate) fn hear_native(&mut self, now: Time, session: SessionId, message: Native) {
        let Some(member) = self.room.active(session).filter(|member| member.native) else {
            // It has left, and does not know it yet.
            return hit(Mark::StaleIgnored);
        };
        let from = Sender { session, player: member.player, number: 0, wants_reply: false };
        match value_of::<Z::In>(message) {
            Ok(message) => {
                self.step(now, Some((session, 0)), |game, ctx| game.on_message(ctx, from, message));
            }
            Err(BadPayload(text)) => {
                hit(Mark::BadPayload);
                self.tell_native(session, Delivery::Refused(RefusalCode::BadPayload, text));
            }
        }
    }

    /// A native member answers a call of this zone.
    pub(crate) fn answer_native(
        &mut self,
        now: Time,
        session: SessionId,
        call: CallId,
        message: Native,
    ) {
        let Some(member) = self.room.active_mut(session).filter(|member| member.native) else {
            // It has left, and its calls with it.
            return hit(Mark::StaleIgnored);
        };
        let Some(open) = member.calls.answer(call) else {
            hit(Mark::CallUnknown);
            self.unknown_answers += 1;
            return;
        };
        hit(Mark::CallAnswered);
        // Also of a game that keeps cells and changes none: the call is closed.
        self.room.dirty.any = true;
        let answer = value_of::<Z::In>(message).map_err(|_| CallFailed::BadPayload);
        self.step(now, Some((session, 0)), |game, ctx| {
            game.on_answer(ctx, session, open.key, answer);
        });
        self.tell_awaiting(session);
    }
}

/// A value of a native session as the zone's own type; one that its sender still holds is copied by
/// way of its bytes.
fn value_of<M: Message>(value: Native) -> Result<M, BadPayload> {
    let Ok(value) = Arc::downcast::<M>(value) else {
        let text = format!("the zone takes values of {}", std::any::type_name::<M>());
        return Err(BadPayload(text));
    };
    Arc::try_unwrap(value).or_else(|shared| {
        let bytes = catch_unwind(AssertUnwindSafe(|| shared.encode()));
        decode(bytes.map_err(|_| BadPayload("the encoder panicked".to_owned()))?)
    })
}
