//! The game of these stories. It keeps a log of everything it has applied and does what a message
//! says in plain words, so that a story reads by itself.

use std::time::Duration;

use rejoin_core::call::CallFailed;
use rejoin_core::exchange::ZoneName;
use rejoin_core::id::{ObjectId, SessionId};
use rejoin_core::wire::Bytes;
use rejoin_core::wire::v1::PartCause;
use rejoin_core::zone::{
    BadPayload, Context, Disconnect, JoinDenied, Message, OnPart, Saved, Sender, Zone,
};

/// What members and zone say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text(pub String);

impl Message for Text {
    fn encode(&self) -> Bytes {
        assert!(self.0 != "unspeakable", "asked to panic in encode");
        Bytes::from(self.0.clone().into_bytes())
    }

    fn decode(payload: Bytes) -> Result<Self, BadPayload> {
        assert!(payload != b"unreadable"[..], "asked to panic in decode");
        let text = String::from_utf8(payload.to_vec());
        text.map(Self).map_err(|error| BadPayload(error.to_string()))
    }
}

/// The game; `V` is its version.
#[derive(Default)]
pub struct Plaza<const V: u32> {
    /// Everything that was applied, in order.
    pub log: Vec<String>,
    pub hard: bool,
}

type Ctx<'a, 'b> = &'a mut Context<'b, Text>;

impl<const V: u32> Zone for Plaza<V> {
    type In = Text;
    type Out = Text;
    const VERSION: u32 = V;

    fn on_join(
        &mut self,
        ctx: Ctx<'_, '_>,
        who: SessionId,
        request: Bytes,
    ) -> Result<Bytes, JoinDenied> {
        match &request[..] {
            b"deny" => return Err(JoinDenied("not today".to_owned())),
            b"panic" => panic!("asked to panic in on_join"),
            _ => {}
        }
        self.log.push(format!("join {who}"));
        ctx.broadcast(Text(format!("joined {who}")));
        Ok(request)
    }

    fn on_part(&mut self, ctx: Ctx<'_, '_>, who: SessionId, cause: PartCause) {
        assert!(!self.log.contains(&format!("curse {who}")), "asked to panic in on_part");
        self.log.push(format!("part {who}"));
        ctx.broadcast(Text(format!("parted {who} {cause:?}")));
    }

    fn on_disconnect(&mut self, ctx: Ctx<'_, '_>, who: SessionId) -> Disconnect {
        self.log.push(format!("drop {who}"));
        ctx.broadcast(Text(format!("dropped {who}")));
        if self.hard { Disconnect::Hard } else { Disconnect::Soft }
    }

    fn on_reconnect(&mut self, ctx: Ctx<'_, '_>, who: SessionId) {
        self.log.push(format!("back {who}"));
        ctx.broadcast_except(who, Text(format!("back {who}")));
        match self.log.iter().find_map(|line| line.strip_prefix("on return ")) {
            Some("part") => ctx.part(who),
            Some("greet") => ctx.send(who, Text("greetings".to_owned())),
            Some(name) => ctx.transfer(who, zone("plaza", name), Bytes::new()),
            None => {}
        }
    }

    fn on_resync(&mut self, ctx: Ctx<'_, '_>, who: SessionId) -> Bytes {
        if self.log.iter().any(|line| line == "on resync part") {
            ctx.part(who);
        }
        Bytes::from(self.log.join("|"))
    }

    fn on_message(&mut self, ctx: Ctx<'_, '_>, from: Sender, Text(text): Text) {
        self.log.push(text.clone());
        let mut words = text.splitn(3, ' ');
        let verb = words.next().unwrap_or_default();
        let (one, two) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        self.obey(ctx, from, verb, one, two);
    }

    fn on_unreliable(&mut self, ctx: Ctx<'_, '_>, _: SessionId, message: Text) {
        ctx.broadcast_unreliable(message);
    }

    fn on_answer(
        &mut self,
        ctx: Ctx<'_, '_>,
        who: SessionId,
        key: Bytes,
        answer: Result<Text, CallFailed>,
    ) {
        let key = String::from_utf8_lossy(&key).into_owned();
        self.log.push(format!("answer {key}"));
        ctx.broadcast(Text(match answer {
            Ok(Text(answer)) => format!("answer {key} {answer}"),
            Err(failed) => format!("answer {key} {failed:?}"),
        }));
        match key.as_str() {
            "twice" => ctx.call(who, Text(key), Duration::from_millis(1_000), "once"),
            "goodbye" => ctx.part(who),
            "stubborn" => ctx.call(who, Text(key), Duration::from_millis(1_000), "stubborn"),
            _ => {}
        }
    }

    fn on_job(&mut self, ctx: Ctx<'_, '_>, key: Bytes, result: Bytes) {
        assert!(key != b"panic"[..], "asked to panic in on_job");
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        ctx.broadcast(Text(format!("job {} {}", text(&key), text(&result))));
    }

    fn on_timer(&mut self, ctx: Ctx<'_, '_>, key: Bytes) {
        ctx.broadcast(Text(format!("timer {}", String::from_utf8_lossy(&key))));
    }

    fn save(&self) -> Option<Bytes> {
        assert!(!self.log.iter().any(|line| line == "spoil"), "asked to panic in save");
        Some(Bytes::from(self.log.join("\n")))
    }

    fn restore(
        &mut self,
        version: u32,
        saved: Saved,
    ) -> Result<(), rejoin_core::zone::RestoreRefused> {
        if version != V {
            let text = format!("version {version} was saved, {V} is known");
            return Err(rejoin_core::zone::RestoreRefused(text));
        }
        let text = String::from_utf8_lossy(&saved.snapshot.unwrap_or_default()).into_owned();
        self.log = text.lines().map(str::to_owned).collect();
        Ok(())
    }
}

impl<const V: u32> Plaza<V> {
    fn obey(&mut self, ctx: Ctx<'_, '_>, from: Sender, verb: &str, one: &str, two: &str) {
        let who = from.session;
        let number = |text: &str| text.parse::<u64>().unwrap_or_default();
        match verb {
            "panic" => panic!("asked to panic"),
            "say" => ctx.broadcast(Text(format!("{one} {two}").trim_end().to_owned())),
            "whisper" => ctx.send(SessionId(number(one)), Text(two.to_owned())),
            "both" => ctx.send_to([who, SessionId(number(one))], Text(two.to_owned())),
            "big" => ctx.broadcast(Text("x".repeat(number(one) as usize))),
            "many" => (0..number(one)).for_each(|i| ctx.broadcast(Text(format!("m{i}")))),
            "alone" => (0..number(one)).for_each(|i| ctx.send(who, Text(format!("p{i}")))),
            "latest" => ctx.latest(one, Text(two.to_owned())),
            "clear" => ctx.clear(one),
            "loose" => ctx.broadcast_unreliable(Text(one.to_owned())),
            "part" => ctx.part(SessionId(number(one))),
            "transfer" => ctx.transfer(who, zone(one, two), Bytes::new()),
            "kick" => {
                // With more to hear than there is room for.
                (0..20).for_each(|i| ctx.send(SessionId(number(one)), Text(format!("k{i}"))));
                ctx.transfer(SessionId(number(one)), zone(two, "p"), Bytes::new());
            }
            "deny" => ctx.transfer(who, zone(one, two), &b"deny"[..]),
            "call" => {
                let deadline = Duration::from_millis(1_000);
                ctx.call(who, Text(one.to_owned()), deadline, one.to_owned());
            }
            "after" => ctx.after(Duration::from_millis(number(one)), two.to_owned()),
            "job" => ctx.start_job(one.to_owned(), two.to_owned()),
            "start" => ctx.start_match(),
            "stop" => ctx.end_match(),
            "end" => ctx.end(),
            "avatar" => ctx.set_avatar(who, Some(ObjectId(number(one)))),
            "data" => ctx.set_data(who, one.to_owned()),
            "score" => ctx.set_match_data(from.player, one.to_owned()),
            "own" => {
                let on_part = match two {
                    "hand" => OnPart::HandOver,
                    "destroy" => OnPart::Destroy,
                    _ => OnPart::Keep,
                };
                ctx.set_owner(ObjectId(number(one)), from.player, on_part);
            }
            _ => self.answer(ctx, from, verb, one),
        }
    }

    /// Questions: the answer goes to the one who asked.
    fn answer(&mut self, ctx: Ctx<'_, '_>, from: Sender, verb: &str, one: &str) {
        let text = match verb {
            "mine" => {
                let owned: Vec<_> = ctx.owned_by(from.player).map(|o| o.to_string()).collect();
                owned.join(",")
            }
            "score?" => ctx
                .match_data(from.player)
                .map_or("none".to_owned(), |data| String::from_utf8_lossy(data).into_owned()),
            "who" => {
                let here: Vec<_> = ctx.members().map(|m| m.session.to_string()).collect();
                here.join(",")
            }
            "times" => self.log.iter().filter(|line| *line == one).count().to_string(),
            _ => format!("heard {verb}"),
        };
        ctx.reply(&from, Text(text));
    }
}

fn zone(kind: &str, name: &str) -> ZoneName {
    ZoneName { kind: kind.to_owned(), name: name.to_owned() }
}
