//! The fake clients of a world: the real client, without sockets, and what it was told.

use bytes::Bytes;
use rejoin_client::{
    Client, CloseCode, Config, Event as Told, Identity, Output, ResumeState, Rung, SendError,
    SendId, Status, Time,
};
use rejoin_core::id::SessionId;
use rejoin_core::zone::Message;

use crate::event::Event;
use crate::parts::stamp::Stamp;
use crate::world::World;

/// One of the clients of a world.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ClientId(pub(crate) usize);

pub(crate) struct Fake {
    name: String,
    key: [u8; 32],
    config: Config,
    client: Client,
    link: Option<u64>,
    saved: Option<ResumeState>,
    told: Vec<Told>,
    rung: Option<Rung>,
    wake: Option<u64>,
    /// No connection of it gets through.
    pub(crate) offline: bool,
}

impl World {
    /// A client of the player of this name, which begins to connect. Another one of the same name is
    /// another device of the same player.
    pub fn client(&mut self, name: &str) -> ClientId {
        self.client_with_ticket(name, Bytes::new())
    }

    /// The same, with what the game's admission rule wants to see.
    pub fn client_with_ticket(&mut self, name: &str, ticket: impl Into<Bytes>) -> ClientId {
        // The name under which the server is dialled: the first that it answers to.
        let server_name = self.setup.config.server_names.first().cloned().unwrap_or_default();
        let config = Config { admission: ticket.into(), ..Config::new(server_name) };
        let key = blake3::derive_key("rejoin testkit player", name.as_bytes());
        let identity = Identity::Key(Box::new(Stamp(key)));
        let client = Client::new(config.clone(), identity, self.rng.seed());
        let (name, told) = (name.to_owned(), Vec::new());
        let (link, saved, rung, wake) = (None, None, None, None);
        self.clients.push(Fake {
            name,
            key,
            config,
            client,
            link,
            saved,
            told,
            rung,
            wake,
            offline: false,
        });
        let index = self.clients.len() - 1;
        self.act(index, |client, now| client.connect(now));
        ClientId(index)
    }

    /// Joins a zone, opening it if need be.
    pub fn join(&mut self, who: ClientId, kind: &str, name: &str) -> SendId {
        self.join_with(who, kind, name, Bytes::new())
    }

    /// The same with something for the zone's `on_join`.
    pub fn join_with(
        &mut self,
        who: ClientId,
        kind: &str,
        name: &str,
        payload: impl Into<Bytes>,
    ) -> SendId {
        self.send_by(who, "join", |client| client.join(kind, name, true, payload))
    }

    /// Leaves its zone.
    pub fn part(&mut self, who: ClientId) -> SendId {
        self.send_by(who, "part", Client::part)
    }

    /// Says something in its zone: it arrives once, now or when the client is back.
    pub fn say<M: Message>(&mut self, who: ClientId, message: M) -> SendId {
        self.send_by(who, "say", |client| client.send(message.encode()))
    }

    /// Asks something; the reply is an event that names this request.
    pub fn request<M: Message>(&mut self, who: ClientId, message: M) -> SendId {
        self.send_by(who, "request", |client| client.request(message.encode()))
    }

    /// Answers a call that an event told of.
    pub fn answer<M: Message>(&mut self, who: ClientId, call: u64, message: M) -> SendId {
        self.send_by(who, "answer", |client| client.answer(call, message.encode()))
    }

    /// Leaves for good.
    pub fn leave(&mut self, who: ClientId) {
        self.tell(|world| format!("{} leaves", world.name(who)));
        self.act(who.0, |client, now| client.leave(now));
    }

    /// The client's link dies with all that is on it. The client knows at once, the server a little
    /// later. It comes back by itself, after its backoff.
    pub fn cut(&mut self, who: ClientId) {
        self.tell(|world| format!("cut {}", world.name(who)));
        if let Some(link) = self.clients[who.0].link {
            self.cut_line(link, true);
            self.link_closed(who.0, link, None);
        }
    }

    /// The client is cut and cannot come back before [`World::online`], however often it tries.
    pub fn offline(&mut self, who: ClientId) {
        self.clients[who.0].offline = true;
        self.cut(who);
    }

    /// The client can connect again; it does so at its next attempt.
    pub fn online(&mut self, who: ClientId) {
        self.tell(|world| format!("{} is online", world.name(who)));
        self.clients[who.0].offline = false;
    }

    /// The same as a cut, but nobody is told: both ends learn it from silence.
    pub fn cut_silently(&mut self, who: ClientId) {
        self.tell(|world| format!("cut {} silently", world.name(who)));
        if let Some(link) = self.clients[who.0].link {
            self.cut_line(link, false);
        }
    }

    /// The client goes away and stays away; its session is held for a while.
    pub fn disconnect(&mut self, who: ClientId) {
        self.tell(|world| format!("{} goes away", world.name(who)));
        self.act(who.0, |client, now| client.cancel(now));
    }

    /// A client that went away, or gave up, comes back.
    pub fn connect(&mut self, who: ClientId) {
        self.tell(|world| format!("{} comes back", world.name(who)));
        self.act(who.0, |client, now| client.retry(now));
    }

    /// The client's process ends and starts again with what it had stored: a cold resume.
    pub fn reload(&mut self, who: ClientId) {
        self.tell(|world| format!("reload {}", world.name(who)));
        if let Some(link) = self.clients[who.0].link.take() {
            self.hang_up(link);
        }
        let seed = self.rng.seed();
        let fake = &mut self.clients[who.0];
        let identity = Identity::Key(Box::new(Stamp(fake.key)));
        let config = fake.config.clone();
        fake.client = match fake.saved.clone() {
            Some(saved) => Client::with_resume_state(config, identity, seed, saved),
            None => Client::new(config, identity, seed),
        };
        fake.wake = None;
        self.act(who.0, |client, now| client.connect(now));
    }

    /// What its zone, or somebody outside, said to it since it was last asked.
    pub fn heard<M: Message>(&mut self, who: ClientId) -> Vec<M> {
        let told = std::mem::take(&mut self.clients[who.0].told);
        let (mut heard, mut rest) = (Vec::new(), Vec::new());
        for event in told {
            match event {
                Told::Message { payload } => match M::decode(payload) {
                    Ok(message) => heard.push(message),
                    Err(error) => self.fail(&format!("{} heard: {error}", self.name(who))),
                },
                other => rest.push(other),
            }
        }
        self.clients[who.0].told = rest;
        heard
    }

    /// Everything it was told since it was last asked, but for messages that were taken.
    pub fn client_events(&mut self, who: ClientId) -> Vec<Told> {
        std::mem::take(&mut self.clients[who.0].told)
    }

    /// How it came in the last time.
    #[must_use]
    pub fn rung(&self, who: ClientId) -> Option<Rung> {
        self.clients[who.0].rung
    }

    /// Whether it is connected.
    #[must_use]
    pub fn is_connected(&self, who: ClientId) -> bool {
        self.clients[who.0].client.status() == Status::Connected
    }

    /// The session it is in, or would return to.
    #[must_use]
    pub fn session_of(&self, who: ClientId) -> Option<SessionId> {
        self.clients[who.0].client.session().map(SessionId)
    }

    pub(crate) fn name(&self, who: ClientId) -> &str {
        &self.clients[who.0].name
    }

    pub(crate) fn knows_signature(
        &self,
        public_key: &[u8; 32],
        text: &[u8],
        signature: &[u8; 64],
    ) -> bool {
        self.clients.iter().any(|fake| {
            Stamp::public(&fake.key) == *public_key
                && Stamp::sign_with(&fake.key, text) == *signature
        })
    }

    fn send_by(
        &mut self,
        who: ClientId,
        what: &str,
        send: impl FnOnce(&mut Client) -> Result<SendId, SendError>,
    ) -> SendId {
        self.tell(|world| format!("{}: {what}", world.name(who)));
        let sent = send(&mut self.clients[who.0].client);
        self.drain_client(who.0);
        match sent {
            Ok(id) => id,
            Err(error) => self.fail(&format!("{} cannot {what}: {error}", self.name(who))),
        }
    }

    fn act(&mut self, index: usize, act: impl FnOnce(&mut Client, Time)) {
        let now = Time(self.now);
        act(&mut self.clients[index].client, now);
        self.drain_client(index);
    }

    /// Something came on a link: it counts only if it is the client's present one.
    pub(crate) fn with_client(
        &mut self,
        index: usize,
        link: u64,
        act: impl FnOnce(&mut Client, Time),
    ) {
        if self.clients[index].link == Some(link) {
            self.act(index, act);
        }
    }

    /// Its link is gone, if it still was the client's present one.
    pub(crate) fn link_closed(&mut self, index: usize, link: u64, code: Option<CloseCode>) {
        if self.clients[index].link == Some(link) {
            self.clients[index].link = None;
            self.act(index, |client, now| client.closed(now, code));
        }
    }

    pub(crate) fn wake_client(&mut self, index: usize) {
        self.clients[index].wake = None;
        self.act(index, |client, now| client.wake(now));
    }

    fn drain_client(&mut self, index: usize) {
        while let Some(output) = self.clients[index].client.next_output() {
            match output {
                Output::Connect { .. } => self.clients[index].link = Some(self.dial(index)),
                Output::Send(frame) => {
                    if let Some(link) = self.clients[index].link {
                        self.send_up(link, frame);
                    }
                }
                Output::Close(_) => {
                    if let Some(link) = self.clients[index].link.take() {
                        self.hang_up(link);
                    }
                }
                Output::StoreToken(state) => self.clients[index].saved = Some(state),
                Output::ForgetToken => self.clients[index].saved = None,
                // Players of this world are known by their keys.
                Output::StoreSecret(_) => {}
                Output::Event(event) => {
                    self.tell(|world| format!("{} is told {event:?}", world.clients[index].name));
                    if let Told::Connected { rung, .. } = &event {
                        self.clients[index].rung = Some(*rung);
                    }
                    self.clients[index].told.push(event);
                }
            }
        }
        let fake = &mut self.clients[index];
        if let Some(Time(at)) = fake.client.next_deadline()
            && fake.wake.is_none_or(|planned| at < planned)
        {
            fake.wake = Some(at);
            self.queue.push(at.max(self.now), Event::ClientWake { client: index });
        }
    }
}
