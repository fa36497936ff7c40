//! What a callback sees and what it can do. Reads show the zone as it was when the callback began;
//! every change is recorded as an effect and carried out, in order, once the callback has returned.
//! A callback that panics has changed nothing.

use std::time::Duration;

use bytes::Bytes;

use rejoin_wire::Limits;

use super::message::Message;
use super::objects::{OnPart, Owned};
use super::room::Room;
use crate::chance::Chance;
use crate::exchange::ZoneName;
use crate::id::{ObjectId, PlayerId, SessionId};
use crate::time::Time;

/// Who said something, and whether an answer is awaited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sender {
    /// The session of the member that sent it.
    pub session: SessionId,
    /// The player of that session.
    pub player: PlayerId,
    /// The number of the message, which a reply names; 0 from a native session.
    pub number: u64,
    /// The sender waits for a reply.
    pub wants_reply: bool,
}

/// A member as a callback sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberView {
    /// The session, by which a game addresses the member.
    pub session: SessionId,
    /// The player of that session, who may have more sessions in the zone if its settings allow it.
    pub player: PlayerId,
    /// Whether a connection is there; native sessions always are.
    pub is_connected: bool,
    /// Whether it lives in the server.
    pub is_native: bool,
    /// The object it controls.
    pub avatar: Option<ObjectId>,
}

/// Something said, as a value for those who live in the server and as bytes for the others. It is
/// encoded while the callback runs: a message that panics or does not fit costs its step, no more.
#[derive(Debug)]
pub(crate) struct Spoken<Out> {
    pub value: Out,
    pub payload: Bytes,
}

/// A recorded change.
#[derive(Debug)]
pub(crate) enum Effect<Out> {
    Reply { to: Sender, message: Spoken<Out> },
    Send { to: Vec<SessionId>, message: Spoken<Out> },
    Broadcast { except: Option<SessionId>, message: Spoken<Out> },
    Latest { key: String, message: Option<Spoken<Out>> },
    Loose { to: Option<Vec<SessionId>>, message: Spoken<Out> },
    Put { key: Bytes, value: Option<Bytes> },
    After { delay: Duration, key: Bytes },
    Cancel { key: Bytes },
    Transfer { session: SessionId, to: ZoneName, payload: Bytes },
    Part { session: SessionId },
    Call { session: SessionId, message: Spoken<Out>, deadline: Duration, key: Bytes },
    Match { running: bool },
    Job { key: Bytes, request: Bytes },
    Own { object: ObjectId, owned: Option<Owned> },
    Avatar { session: SessionId, avatar: Option<ObjectId> },
    Data { session: SessionId, data: Bytes },
    MatchData { player: PlayerId, data: Bytes },
    End,
}

/// The zone as a callback sees it.
pub struct Context<'a, Out> {
    now: Time,
    room: &'a Room,
    chance: &'a mut Chance,
    effects: Vec<Effect<Out>>,
}

impl<'a, Out: Message> Context<'a, Out> {
    pub(crate) fn new(now: Time, room: &'a Room, chance: &'a mut Chance) -> Self {
        Self { now, room, chance, effects: Vec::new() }
    }

    /// # Panics
    /// When the message is larger than clients take: the game's own mistake, and its step's end.
    fn speak(&self, value: Out) -> Spoken<Out> {
        // Nobody hears bytes in a zone of natives.
        let heard = self.room.members.has_clients();
        let payload = if heard { value.encode() } else { Bytes::new() };
        let most = Limits::DEFAULT.message_bytes_max;
        assert!(payload.len() <= most, "a message of {} bytes; clients take {most}", payload.len());
        Spoken { value, payload }
    }

    pub(crate) fn into_effects(self) -> Vec<Effect<Out>> {
        self.effects
    }

    /// The instant of this step.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// How long this zone has been running, not counting time when it could not.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.room.clock.age(self.now)
    }

    /// How many ticks there have been.
    #[must_use]
    pub fn tick(&self) -> u64 {
        self.room.clock.ticks()
    }

    /// Randomness that a simulation can replay.
    pub fn chance(&mut self) -> &mut Chance {
        self.chance
    }

    /// Everybody here, in the order of their ids.
    pub fn members(&self) -> impl Iterator<Item = MemberView> + '_ {
        self.room.members.iter().filter(|(_, member)| member.is_active()).map(|(id, member)| {
            MemberView {
                session: *id,
                player: member.player,
                is_connected: member.is_connected(),
                is_native: member.native,
                avatar: member.avatar,
            }
        })
    }

    /// Whether a session is a member.
    #[must_use]
    pub fn is_member(&self, session: SessionId) -> bool {
        self.room.active(session).is_some()
    }

    /// The player of a member.
    #[must_use]
    pub fn player_of(&self, session: SessionId) -> Option<PlayerId> {
        self.room.active(session).map(|member| member.player)
    }

    /// A member's game data, which its session carries from zone to zone.
    #[must_use]
    pub fn data(&self, session: SessionId) -> Option<&Bytes> {
        self.room.active(session).map(|member| &member.data)
    }

    /// What is kept for a player in this match: until it ends, and over a drop once it has begun.
    #[must_use]
    pub fn match_data(&self, player: PlayerId) -> Option<&Bytes> {
        self.room.roster.data(&player).map(|data| &data.0)
    }

    /// Whether a match is running.
    #[must_use]
    pub fn is_match_running(&self) -> bool {
        self.room.match_running()
    }

    /// The value of a cell.
    #[must_use]
    pub fn cell(&self, key: &[u8]) -> Option<&Bytes> {
        self.room.cells.get(key)
    }

    /// Who owns an object.
    #[must_use]
    pub fn owner(&self, object: ObjectId) -> Option<PlayerId> {
        self.room.objects.owner(object)
    }

    /// Every object that has an owner, and the owner.
    pub fn objects(&self) -> impl Iterator<Item = (ObjectId, PlayerId)> + '_ {
        self.room.objects.iter().map(|(object, owned)| (object, owned.player))
    }

    /// What a player owns.
    pub fn owned_by(&self, player: PlayerId) -> impl Iterator<Item = ObjectId> + '_ {
        self.room.objects.owned_by(player)
    }

    /// Answers a message.
    pub fn reply(&mut self, to: &Sender, message: Out) {
        let message = self.speak(message);
        self.effects.push(Effect::Reply { to: *to, message });
    }

    /// Says something to one member.
    pub fn send(&mut self, to: SessionId, message: Out) {
        let message = self.speak(message);
        self.effects.push(Effect::Send { to: vec![to], message });
    }

    /// Says something to several members.
    pub fn send_to(&mut self, to: impl IntoIterator<Item = SessionId>, message: Out) {
        let message = self.speak(message);
        self.effects.push(Effect::Send { to: to.into_iter().collect(), message });
    }

    /// Says something to everybody here.
    pub fn broadcast(&mut self, message: Out) {
        let message = self.speak(message);
        self.effects.push(Effect::Broadcast { except: None, message });
    }

    /// Says something to everybody but one.
    pub fn broadcast_except(&mut self, except: SessionId, message: Out) {
        let message = self.speak(message);
        self.effects.push(Effect::Broadcast { except: Some(except), message });
    }

    /// Says something to everybody of which only the newest matters.
    pub fn latest(&mut self, key: impl Into<String>, message: Out) {
        let (key, message) = (key.into(), Some(self.speak(message)));
        let most = Limits::DEFAULT.key_bytes_max;
        assert!(key.len() <= most, "a key of {} bytes; clients take {most}", key.len());
        self.effects.push(Effect::Latest { key, message });
    }

    /// The key has no value any more.
    pub fn clear(&mut self, key: impl Into<String>) {
        self.effects.push(Effect::Latest { key: key.into(), message: None });
    }

    /// Whether a key with this value could be set, or there are too many.
    #[must_use]
    pub fn has_latest(&self, key: &str) -> bool {
        self.room.stream.latest.contains(key)
    }

    /// Says something to everybody that may be lost.
    pub fn broadcast_unreliable(&mut self, message: Out) {
        let message = self.speak(message);
        self.effects.push(Effect::Loose { to: None, message });
    }

    /// Says something to one member that may be lost.
    pub fn send_unreliable(&mut self, to: SessionId, message: Out) {
        let message = self.speak(message);
        self.effects.push(Effect::Loose { to: Some(vec![to]), message });
    }

    /// Says something to several members that may be lost.
    pub fn send_unreliable_to(&mut self, to: impl IntoIterator<Item = SessionId>, message: Out) {
        let message = self.speak(message);
        self.effects.push(Effect::Loose { to: Some(to.into_iter().collect()), message });
    }

    /// Sets a cell; it is committed with this step.
    pub fn put(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.effects.push(Effect::Put { key: key.into(), value: Some(value.into()) });
    }

    /// Empties a cell.
    pub fn delete(&mut self, key: impl Into<Bytes>) {
        self.effects.push(Effect::Put { key: key.into(), value: None });
    }

    /// Rings `on_timer` with this key after a while; a timer of the same key gives way. Timers are
    /// saved with the zone and stand still while it cannot run.
    pub fn after(&mut self, delay: Duration, key: impl Into<Bytes>) {
        self.effects.push(Effect::After { delay, key: key.into() });
    }

    /// Stops a timer.
    pub fn cancel(&mut self, key: impl Into<Bytes>) {
        self.effects.push(Effect::Cancel { key: key.into() });
    }

    /// Moves a member to another zone. Refused there, it ends up in no zone.
    pub fn transfer(&mut self, session: SessionId, to: ZoneName, payload: impl Into<Bytes>) {
        self.effects.push(Effect::Transfer { session, to, payload: payload.into() });
    }

    /// Parts a member.
    pub fn part(&mut self, session: SessionId) {
        self.effects.push(Effect::Part { session });
    }

    /// Asks a member; `on_answer` with this key tells how it ended.
    pub fn call(
        &mut self,
        session: SessionId,
        message: Out,
        deadline: Duration,
        key: impl Into<Bytes>,
    ) {
        let message = self.speak(message);
        self.effects.push(Effect::Call { session, message, deadline, key: key.into() });
    }

    /// Starts the match: from here a drop keeps the player's match data.
    pub fn start_match(&mut self) {
        self.effects.push(Effect::Match { running: true });
    }

    /// Ends the match: the absent are forgotten, holds that wait for this end.
    pub fn end_match(&mut self) {
        self.effects.push(Effect::Match { running: false });
    }

    /// Starts outside work; `on_job` with this key brings its result.
    pub fn start_job(&mut self, key: impl Into<Bytes>, request: impl Into<Bytes>) {
        self.effects.push(Effect::Job { key: key.into(), request: request.into() });
    }

    /// Gives an object to a player.
    pub fn set_owner(&mut self, object: ObjectId, player: PlayerId, on_part: OnPart) {
        self.effects.push(Effect::Own { object, owned: Some(Owned { player, on_part }) });
    }

    /// Takes an object from whoever owns it.
    pub fn release(&mut self, object: ObjectId) {
        self.effects.push(Effect::Own { object, owned: None });
    }

    /// The object a member controls.
    pub fn set_avatar(&mut self, session: SessionId, avatar: Option<ObjectId>) {
        self.effects.push(Effect::Avatar { session, avatar });
    }

    /// Sets a member's game data.
    pub fn set_data(&mut self, session: SessionId, data: impl Into<Bytes>) {
        self.effects.push(Effect::Data { session, data: data.into() });
    }

    /// Sets what is kept for a player in this match.
    pub fn set_match_data(&mut self, player: PlayerId, data: impl Into<Bytes>) {
        self.effects.push(Effect::MatchData { player, data: data.into() });
    }

    /// Ends the zone: everybody is parted and its state is deleted.
    pub fn end(&mut self) {
        self.effects.push(Effect::End);
    }
}
