//! The game of the house: it writes down what it hears, says it back to whoever said it, and does
//! what a few verbs ask for.

use std::time::Duration;

use rejoin_core::call::CallFailed;
use rejoin_core::id::SessionId;
use rejoin_core::wire::Bytes;
use rejoin_core::wire::v1::PartCause;
use rejoin_core::zone::{
    BadPayload, Context, Disconnect, JoinDenied, Message, RestoreRefused, Saved, Sender, Zone,
};

use super::Log;

/// What members and zone say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text(pub String);

impl Message for Text {
    fn encode(&self) -> Bytes {
        Bytes::from(self.0.clone().into_bytes())
    }

    fn decode(payload: Bytes) -> Result<Self, BadPayload> {
        let text = String::from_utf8(payload.to_vec());
        text.map(Self).map_err(|error| BadPayload(error.to_string()))
    }
}

pub struct Plaza {
    pub log: Log,
}

type Ctx<'a, 'b> = &'a mut Context<'b, Text>;

impl Zone for Plaza {
    type In = Text;
    type Out = Text;
    const VERSION: u32 = 1;

    fn on_join(&mut self, _: Ctx<'_, '_>, _: SessionId, _: Bytes) -> Result<Bytes, JoinDenied> {
        Ok(Bytes::new())
    }

    fn on_part(&mut self, _: Ctx<'_, '_>, _: SessionId, _: PartCause) {}

    fn on_disconnect(&mut self, _: Ctx<'_, '_>, _: SessionId) -> Disconnect {
        Disconnect::Soft
    }

    fn on_reconnect(&mut self, _: Ctx<'_, '_>, _: SessionId) {}

    fn on_resync(&mut self, _: Ctx<'_, '_>, _: SessionId) -> Bytes {
        Bytes::from_static(b"the plaza")
    }

    fn on_message(&mut self, ctx: Ctx<'_, '_>, from: Sender, Text(text): Text) {
        self.log.lock().expect("no zone panics").push(text.clone());
        let mut words = text.split(' ');
        let (verb, rest) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let who = from.session;
        match verb {
            "ask" => ctx.reply(&from, Text(format!("answer {rest}"))),
            "latest" => ctx.latest("mood", Text(rest.to_owned())),
            "call" => {
                ctx.call(who, Text(rest.to_owned()), Duration::from_secs(5), rest.to_owned());
            }
            "many" => {
                let count: u32 = rest.parse().expect("a number");
                (1..=count).for_each(|i| ctx.send(who, Text(format!("m{i}"))));
            }
            _ => ctx.send(who, Text(text)),
        }
    }

    fn on_unreliable(&mut self, ctx: Ctx<'_, '_>, _: SessionId, message: Text) {
        ctx.broadcast_unreliable(message);
    }

    fn on_answer(
        &mut self,
        ctx: Ctx<'_, '_>,
        _: SessionId,
        key: Bytes,
        answer: Result<Text, CallFailed>,
    ) {
        let key = String::from_utf8_lossy(&key).into_owned();
        ctx.broadcast(Text(match answer {
            Ok(Text(answer)) => format!("{key} {answer}"),
            Err(failed) => format!("{key} {failed:?}"),
        }));
    }

    fn on_job(&mut self, _: Ctx<'_, '_>, _: Bytes, _: Bytes) {}

    fn on_timer(&mut self, _: Ctx<'_, '_>, _: Bytes) {}

    fn save(&self) -> Option<Bytes> {
        Some(Bytes::new())
    }

    fn restore(&mut self, _: u32, _: Saved) -> Result<(), RestoreRefused> {
        Ok(())
    }
}
