//! The zone itself: carries orders out and tells everybody the facts.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use rejoin_core::id::{ObjectId, PlayerId, SessionId};
use rejoin_core::wire::v1::PartCause;
use rejoin_core::zone::{
    Context, Disconnect, JoinDenied, Message, OnPart, OwnerChange, RestoreRefused, Saved, Sender,
    State, Zone,
};

use serde::Deserialize;

use crate::config::RelayConfig;
use crate::fact::{Fact, Heard, Member, Object, Player, Reason, Room};
use crate::host::Host;
use crate::order::{Delivery, Fate, Lead, Of, Order, Said, To, Verb};
use crate::store::{Place, Store};

type Ctx<'a, 'b> = &'a mut Context<'b, Heard>;

/// What an order led to: a version, for a key.
type Outcome = Result<Option<u64>, Refusal>;

/// Why it was not carried out, and the version that stands, for a key.
struct Refusal(Reason, Option<u64>);

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Self(reason, None)
    }
}

/// What a join may ask for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JoinOptions {}

const META: &str = "meta";
const HOST_TIMER: &[u8] = b"host";
const EMPTY_TIMER: &[u8] = b"empty";
/// How long an empty room stays.
const EMPTY_GRACE: Duration = Duration::from_secs(10);

/// A zone of the kind `relay`: its keys, its host and its lock, all of which it keeps in cells.
#[derive(Debug, Default)]
pub struct Relay {
    config: RelayConfig,
    store: Store,
    host: Host,
    locked: bool,
    /// Members who hear only what is said, no facts.
    plain: BTreeSet<SessionId>,
    /// A timer runs for a host who is away. Not kept: whoever returns first starts it again.
    waiting: bool,
}

impl Relay {
    /// An empty room.
    #[must_use]
    pub fn new(config: RelayConfig) -> Self {
        Self { config, ..Self::default() }
    }

    fn room(&self, ctx: Ctx<'_, '_>, you: SessionId) -> Bytes {
        let members = ctx.members().map(|member| Member {
            member: member.session.0,
            player: Player(member.player),
            connected: member.is_connected,
        });
        let objects = ctx
            .objects()
            .map(|(object, player)| Object { object: object.0, player: Player(player) });
        let room = Room {
            you: you.0,
            host: self.host.member.map(|host| host.0),
            term: self.host.term,
            match_running: ctx.is_match_running(),
            locked: self.locked,
            members: members.collect(),
            objects: objects.collect(),
        };
        Heard::from(Fact::Room(room)).encode()
    }

    /// Writes what is neither a key nor a member's number of coming.
    fn keep(&self, ctx: Ctx<'_, '_>) {
        let (host, version) =
            (self.host.member.map_or(0, |host| host.0), self.store.last_version());
        let meta = [host, self.host.term, u64::from(self.locked), version];
        ctx.put(META, meta.map(u64::to_be_bytes).concat());
    }

    fn tell_host(&self, ctx: Ctx<'_, '_>) {
        let member = self.host.member.map(|host| host.0);
        self.tell(ctx, Fact::Host { member, term: self.host.term });
        self.keep(ctx);
    }

    /// Tells a fact to all who want facts.
    fn tell(&self, ctx: Ctx<'_, '_>, fact: Fact) {
        self.tell_others(ctx, None, fact);
    }

    fn tell_others(&self, ctx: Ctx<'_, '_>, except: Option<SessionId>, fact: Fact) {
        match except {
            None if self.plain.is_empty() => ctx.broadcast(fact.into()),
            Some(except) if self.plain.is_empty() => ctx.broadcast_except(except, fact.into()),
            _ => {
                let wanted =
                    |member: &SessionId| Some(*member) != except && !self.plain.contains(member);
                let hearers: Vec<_> =
                    ctx.members().map(|member| member.session).filter(wanted).collect();
                ctx.send_to(hearers, fact.into());
            }
        }
    }

    /// Another host, if somebody who could be is here. `gone` is not.
    fn elect(&mut self, ctx: Ctx<'_, '_>, gone: Option<SessionId>) {
        let before = self.host.term;
        let able = ctx.members().filter(|member| member.is_connected && !member.is_native);
        self.host.elect(able.map(|member| member.session).filter(|member| Some(*member) != gone));
        if self.host.term != before {
            self.tell_host(ctx);
        }
    }

    /// Starts waiting for a host who is away, and elects one if there is none.
    fn see_to_host(&mut self, ctx: Ctx<'_, '_>) {
        let Some(host) = self.host.member else { return self.elect(ctx, None) };
        let is_away = !ctx.members().any(|member| member.session == host && member.is_connected);
        if is_away && !self.waiting {
            self.waiting = true;
            ctx.after(self.config.host_grace, HOST_TIMER);
        } else if !is_away && self.waiting {
            self.waiting = false;
            ctx.cancel(HOST_TIMER);
        }
    }

    fn obey(&mut self, ctx: Ctx<'_, '_>, from: &Sender, order: Order, body: Bytes) -> Outcome {
        let me = from.session;
        match order {
            Order::Send { to, delivery, key } => {
                self.send(ctx, me, to, delivery, &key, body).map(|()| None)
            }
            Order::Set { key, of, only_if } => self.set(ctx, me, &key, of, only_if, body),
            Order::Delete { key, of, only_if } => self.delete(ctx, me, &key, of, only_if),
            Order::Own { object, on_part } => {
                self.own(ctx, ObjectId(object), from.player, on_part).map(|()| None)
            }
            Order::Give { object, to, on_part } => {
                let to = ctx.player_of(SessionId(to)).ok_or(Reason::NoSuchMember)?;
                owned(ctx, ObjectId(object), from.player)?;
                self.change_owner(ctx, ObjectId(object), Some((to, on_part)));
                Ok(None)
            }
            Order::Release { object } => {
                owned(ctx, ObjectId(object), from.player)?;
                self.change_owner(ctx, ObjectId(object), None);
                Ok(None)
            }
            Order::Lead(lead) => self.lead(ctx, me, lead).map(|()| None),
            Order::Echo {} | Order::Bare => Ok(None),
        }
    }

    fn send(
        &mut self,
        ctx: Ctx<'_, '_>,
        me: SessionId,
        to: To,
        delivery: Delivery,
        key: &str,
        body: Bytes,
    ) -> Result<(), Refusal> {
        let one = match to {
            To::All | To::Others => None,
            To::Host => Some(self.host.member.ok_or(Reason::NoHost)?),
            To::Member(member) if ctx.is_member(member) => Some(member),
            To::Member(_) => return Err(Reason::NoSuchMember.into()),
        };
        if delivery == Delivery::Latest {
            if to != To::All {
                return Err(Reason::BadDelivery.into());
            }
            let place = Place::Latest(me);
            let value = self.store.set(&self.config, place, key, me, body.clone())?;
            ctx.put(place.name(key), value.cell());
            let heard = Heard { fact: Fact::Said { from: me.0 }, body };
            ctx.latest(place.name(key), heard);
            return Ok(());
        }
        if !key.is_empty() {
            return Err(Reason::BadKey.into());
        }
        let heard = Heard { fact: Fact::Said { from: me.0 }, body };
        match (delivery, one) {
            (Delivery::Unreliable, Some(member)) => ctx.send_unreliable(member, heard),
            (Delivery::Unreliable, None) if to == To::All => ctx.broadcast_unreliable(heard),
            (Delivery::Unreliable, None) => {
                let others: Vec<_> =
                    ctx.members().map(|other| other.session).filter(|other| *other != me).collect();
                ctx.send_unreliable_to(others, heard);
            }
            (_, Some(member)) => ctx.send(member, heard),
            (_, None) if to == To::All => ctx.broadcast(heard),
            (_, None) => ctx.broadcast_except(me, heard),
        }
        Ok(())
    }

    fn is_at(&self, place: Place, key: &str, only_if: Option<u64>) -> Result<(), Refusal> {
        let version = self.store.version(place, key);
        match only_if {
            Some(wanted) if wanted != version => Err(Refusal(Reason::Version, Some(version))),
            _ => Ok(()),
        }
    }

    fn set(
        &mut self,
        ctx: Ctx<'_, '_>,
        me: SessionId,
        key: &str,
        of: Of,
        only_if: Option<u64>,
        body: Bytes,
    ) -> Outcome {
        let (place, owner) = place(of, me);
        self.is_at(place, key, only_if)?;
        let value = self.store.set(&self.config, place, key, me, body)?;
        ctx.put(place.name(key), value.cell());
        let (version, by) = (value.version, me.0);
        let fact = Fact::Value { key: key.to_owned(), of: owner, version, by };
        ctx.latest(place.name(key), Heard { fact, body: value.body });
        Ok(Some(version))
    }

    fn delete(
        &mut self,
        ctx: Ctx<'_, '_>,
        me: SessionId,
        key: &str,
        of: Of,
        only_if: Option<u64>,
    ) -> Outcome {
        let (place, _) = place(of, me);
        self.is_at(place, key, only_if)?;
        if self.store.delete(place, key) {
            ctx.delete(place.name(key));
            ctx.clear(place.name(key));
            self.keep(ctx);
        }
        Ok(Some(0))
    }

    fn own(
        &self,
        ctx: Ctx<'_, '_>,
        object: ObjectId,
        player: PlayerId,
        on_part: Fate,
    ) -> Result<(), Refusal> {
        match ctx.owner(object) {
            Some(owner) if owner != player => return Err(Reason::NotOwner.into()),
            Some(_) => {}
            None if ctx.objects().count() >= self.config.objects_max => {
                return Err(Reason::TooManyObjects.into());
            }
            None => {}
        }
        self.change_owner(ctx, object, Some((player, on_part)));
        Ok(())
    }

    fn change_owner(&self, ctx: Ctx<'_, '_>, object: ObjectId, to: Option<(PlayerId, Fate)>) {
        match to {
            Some((player, fate)) => ctx.set_owner(object, player, OnPart::from(fate)),
            None => ctx.release(object),
        }
        let player = to.map(|(player, _)| Player(player));
        self.tell(ctx, Fact::Owner { object: object.0, player });
    }

    fn lead(&mut self, ctx: Ctx<'_, '_>, me: SessionId, lead: Lead) -> Result<(), Refusal> {
        if !self.host.leads(me, lead.term) {
            return Err(Reason::NotHost.into());
        }
        let somebody = |ctx: &Context<'_, Heard>| {
            let member = SessionId(lead.member.ok_or(Reason::MemberMissing)?);
            if ctx.is_member(member) { Ok(member) } else { Err(Reason::NoSuchMember) }
        };
        match lead.verb {
            Verb::StartMatch | Verb::EndMatch => {
                let running = lead.verb == Verb::StartMatch;
                if running == ctx.is_match_running() {
                    return Ok(());
                }
                if running {
                    ctx.start_match()
                } else {
                    ctx.end_match()
                }
                self.tell(ctx, Fact::Match { running });
            }
            Verb::Lock | Verb::Unlock => {
                self.locked = lead.verb == Verb::Lock;
                self.tell(ctx, Fact::Locked { locked: self.locked });
                self.keep(ctx);
            }
            Verb::Kick => {
                let member = somebody(ctx)?;
                ctx.part(member);
            }
            Verb::HandOver => {
                let member = somebody(ctx)?;
                if ctx.members().any(|one| one.session == member && one.is_native) {
                    return Err(Reason::NoSuchMember.into());
                }
                let before = self.host.term;
                self.host.make(Some(member));
                if self.host.term != before {
                    self.tell_host(ctx);
                }
            }
            Verb::End => ctx.end(),
        }
        Ok(())
    }
}

fn place(of: Of, me: SessionId) -> (Place, Option<u64>) {
    match of {
        Of::All => (Place::Shared, None),
        Of::Me => (Place::Own(me), Some(me.0)),
    }
}

fn owned(ctx: Ctx<'_, '_>, object: ObjectId, player: PlayerId) -> Result<(), Reason> {
    if ctx.owner(object) == Some(player) { Ok(()) } else { Err(Reason::NotOwner) }
}

fn came(member: SessionId) -> String {
    format!("o/{member}")
}

impl Zone for Relay {
    type In = Said;
    type Out = Heard;

    const STATE: State = State::Cells;

    fn on_join(
        &mut self,
        ctx: Ctx<'_, '_>,
        who: SessionId,
        request: Bytes,
    ) -> Result<Bytes, JoinDenied> {
        if self.locked {
            return Err(JoinDenied("the host lets nobody else in".to_owned()));
        }
        let is_plain = request.is_empty();
        if !is_plain {
            serde_json::from_slice::<JoinOptions>(&request)
                .map_err(|error| JoinDenied(format!("the payload of the join: {error}")))?;
        }
        let mut cell = BytesMut::with_capacity(9);
        cell.put_u64(self.host.join(who));
        cell.put_u8(u8::from(is_plain));
        ctx.put(came(who), cell);
        let player = Player(ctx.player_of(who).unwrap_or(PlayerId([0; 16])));
        let joined = Member { member: who.0, player, connected: true };
        self.tell_others(ctx, Some(who), Fact::Joined(joined));
        if is_plain {
            self.plain.insert(who);
        }
        self.see_to_host(ctx);
        Ok(if is_plain { Bytes::new() } else { self.room(ctx, who) })
    }

    fn on_part(&mut self, ctx: Ctx<'_, '_>, who: SessionId, cause: PartCause) {
        let names = self.store.forget(who);
        if !names.is_empty() {
            self.keep(ctx);
        }
        for name in names {
            ctx.delete(name.clone());
            ctx.clear(name);
        }
        self.host.came.remove(&who);
        self.plain.remove(&who);
        ctx.delete(came(who));
        let cause = cause.as_str_name().trim_start_matches("PART_CAUSE_").to_lowercase();
        self.tell(ctx, Fact::Parted { member: who.0, cause });
        if ctx.members().next().is_none() {
            // Somebody who parts and joins again, or a friend who is just coming, finds it still there.
            ctx.after(EMPTY_GRACE, EMPTY_TIMER);
        }
        if self.host.member == Some(who) {
            self.waiting = false;
            ctx.cancel(HOST_TIMER);
            self.elect(ctx, Some(who));
        }
    }

    fn on_owner(&mut self, ctx: Ctx<'_, '_>, change: OwnerChange) {
        let player = change.to.map(Player);
        self.tell(ctx, Fact::Owner { object: change.object.0, player });
    }

    fn on_disconnect(&mut self, ctx: Ctx<'_, '_>, who: SessionId) -> Disconnect {
        self.tell(ctx, Fact::Dropped { member: who.0 });
        self.see_to_host(ctx);
        Disconnect::Soft
    }

    fn on_reconnect(&mut self, ctx: Ctx<'_, '_>, who: SessionId) {
        self.tell_others(ctx, Some(who), Fact::Back { member: who.0 });
        self.see_to_host(ctx);
    }

    fn on_resync(&mut self, ctx: Ctx<'_, '_>, who: SessionId) -> Bytes {
        if self.plain.contains(&who) { Bytes::new() } else { self.room(ctx, who) }
    }

    fn on_message(&mut self, ctx: Ctx<'_, '_>, from: Sender, said: Said) {
        let Said { order, body } = said;
        match order {
            Order::Echo {} => return ctx.reply(&from, Heard { fact: Fact::Echo {}, body }),
            Order::Bare if from.wants_reply => {
                return ctx.reply(&from, Heard { fact: Fact::Bare, body });
            }
            Order::Bare => {
                return ctx.broadcast_except(from.session, Heard { fact: Fact::Bare, body });
            }
            _ => {}
        }
        match self.obey(ctx, &from, order, body) {
            Ok(version) if from.wants_reply => ctx.reply(&from, Fact::Done { version }.into()),
            Ok(_) => {}
            Err(Refusal(reason, version)) => {
                let refused = Fact::Refused { to: from.number, reason, version }.into();
                if from.wants_reply {
                    ctx.reply(&from, refused);
                } else {
                    ctx.send(from.session, refused);
                }
            }
        }
    }

    fn on_unreliable(&mut self, ctx: Ctx<'_, '_>, who: SessionId, said: Said) {
        // What may be lost is not answered either; anything but a message makes no sense here.
        let to = match said.order {
            Order::Send { to, delivery: Delivery::Ordered | Delivery::Unreliable, .. } => to,
            Order::Bare => To::Others,
            _ => return,
        };
        let _ = self.send(ctx, who, to, Delivery::Unreliable, "", said.body);
    }

    fn on_timer(&mut self, ctx: Ctx<'_, '_>, key: Bytes) {
        if key == EMPTY_TIMER && ctx.members().next().is_none() {
            ctx.end();
        }
        if key == HOST_TIMER && self.waiting {
            self.waiting = false;
            let host = self.host.member;
            if !ctx.members().any(|member| Some(member.session) == host && member.is_connected) {
                self.elect(ctx, host);
            }
        }
    }

    fn restore(&mut self, version: u32, saved: Saved) -> Result<(), RestoreRefused> {
        if version != Self::VERSION {
            let known = Self::VERSION;
            return Err(RestoreRefused(format!("version {version} was saved, {known} is known")));
        }
        for (name, cell) in &saved.cells {
            self.take_up(name, cell).ok_or_else(|| {
                RestoreRefused(format!(
                    "the cell {:?} cannot be read",
                    name.escape_ascii().to_string()
                ))
            })?;
        }
        Ok(())
    }
}

impl Relay {
    /// Takes up one cell.
    fn take_up(&mut self, name: &[u8], cell: &Bytes) -> Option<()> {
        let name = std::str::from_utf8(name).ok()?;
        let number = |index: usize| -> Option<u64> {
            let bytes = cell.get(index * 8..index * 8 + 8)?;
            Some(u64::from_be_bytes(bytes.try_into().ok()?))
        };
        if name == META {
            self.host.member = number(0).filter(|host| *host != 0).map(SessionId);
            self.host.term = number(1)?;
            self.locked = number(2)? != 0;
            self.store.skip_to(number(3)?);
        } else if let Some(member) = name.strip_prefix("o/") {
            let member = SessionId(member.parse().ok()?);
            self.host.came.insert(member, number(0)?);
            if *cell.get(8)? != 0 {
                self.plain.insert(member);
            }
        } else if !self.store.restore(name, cell) {
            return None;
        }
        Some(())
    }
}
