//! The words in which stories are told.

use std::time::Duration;

use rejoin_core::connection::{ConnectionInput, FrameKind};
use rejoin_core::exchange::{Hold, ZoneName};
use rejoin_core::guard::GuardConfig;
use rejoin_core::hub::{
    Answer, Command, HubConfig, HubInput, PlayerCommand, SessionView, Whom, ZoneKind,
};
use rejoin_core::id::{ConnectionId, PlayerId, SessionId, ZoneId};
use rejoin_core::session::Place;
use rejoin_core::time::WallTime;
use rejoin_core::wire::Bytes;
use rejoin_core::wire::v1::{
    Bye, ClientFrame, CloseCode, Hello, Join, Part, Position, Welcome, client_frame, server_frame,
    up,
};
use rejoin_core::zone::{Durability, ZoneConfig};

use super::client::{self, Client};
use super::{Desk, Running};

/// A hub with the kinds of zone that the stories need.
pub fn config() -> HubConfig {
    // Stories repeat things at one instant, from no address; those about the guard set their own.
    let guard = GuardConfig { sever_after: Duration::from_secs(5), ..GuardConfig::open() };
    let mut config = HubConfig { idle: Duration::ZERO, guard, ..HubConfig::default() };
    let quiet = ZoneConfig { tick: None, ..ZoneConfig::default() };
    let mut kind = |name: &str, config_: ZoneConfig| {
        let kind = ZoneKind { config: config_, client_may_create: true };
        config.kinds.insert(name.to_owned(), kind);
    };
    kind("plaza", quiet.clone());
    kind("hard", quiet.clone());
    kind("busy", ZoneConfig::default());
    kind("memory", ZoneConfig { durability: Durability::Memory, ..quiet.clone() });
    kind("session", ZoneConfig { durability: Durability::Session, ..quiet.clone() });
    let until = Hold::UntilMatchEnds(Duration::from_millis(5_000));
    kind("match", ZoneConfig { hold: until, ..quiet.clone() });
    kind("none", ZoneConfig { hold: Hold::None, ..quiet.clone() });
    let tiny = ZoneConfig {
        ring_frames_max: 8,
        outbox_frames_max: 8,
        window_frames: 4,
        latest_keys_max: 4,
        ..quiet.clone()
    };
    kind("tiny", tiny);
    config.kinds.insert("private".to_owned(), ZoneKind { config: quiet, client_may_create: false });
    config
}

impl Desk {
    /// A desk with all defaults.
    pub fn plain() -> Self {
        Self::new(config())
    }

    /// A desk with these clients in `plaza/p`, all of them caught up.
    pub fn with_plaza(names: &[&'static str]) -> Self {
        Self::with_members("plaza", names)
    }

    /// The same in another kind of zone.
    pub fn with_members(kind: &str, names: &[&'static str]) -> Self {
        let mut desk = Self::plain();
        for name in names {
            desk.login(name);
            desk.join(name, kind);
        }
        desk.hush();
        desk
    }

    pub fn client(&self, name: &str) -> &Client {
        self.clients.get(name).expect("the client is known")
    }

    pub fn client_mut(&mut self, name: &str) -> &mut Client {
        self.clients.get_mut(name).expect("the client is known")
    }

    pub fn id(&self, name: &str) -> SessionId {
        self.client(name).id()
    }

    /// What a client heard since it was last asked.
    pub fn take(&mut self, name: &str) -> Vec<String> {
        self.client_mut(name).take()
    }

    /// Everybody forgets what was heard so far.
    pub fn hush(&mut self) {
        self.clients.values_mut().for_each(|client| drop(client.take()));
        self.events.clear();
        self.sent.clear();
        self.natives.clear();
    }

    pub fn connect(&mut self, name: &'static str) -> ConnectionId {
        let id = self.open_line(name);
        self.run();
        id
    }

    /// The challenge of the client's present connection.
    pub fn nonce(&self, name: &str) -> Bytes {
        self.client(name).line().nonce.clone()
    }

    pub fn say_hello(&mut self, name: &'static str, hello: Hello) {
        self.frame(name, client_frame::Frame::Hello(hello));
    }

    /// Logs in on a new connection; the code of the refusal otherwise.
    pub fn try_login(&mut self, name: &'static str) -> Result<Welcome, CloseCode> {
        self.try_hello(name, |client, nonce| client.login(false, nonce))
    }

    /// Says a hello on a new connection.
    pub fn try_hello(
        &mut self,
        name: &'static str,
        hello: impl FnOnce(&Client, &[u8]) -> Hello,
    ) -> Result<Welcome, CloseCode> {
        let connection = self.connect(name);
        let hello = hello(self.client(name), &self.nonce(name));
        self.say_hello(name, hello);
        self.verdict(name, connection)
    }

    /// What a connection was answered.
    pub fn verdict(&self, name: &str, of: ConnectionId) -> Result<Welcome, CloseCode> {
        let line = self.client(name).lines.iter().find(|line| line.id == of);
        let frames = line.into_iter().flat_map(|line| &line.frames);
        let mut verdicts = frames.filter_map(|frame| match frame.frame.as_ref()? {
            server_frame::Frame::Welcome(welcome) => Some(Ok(welcome.clone())),
            server_frame::Frame::Refusal(refusal) => Some(Err(refusal.code())),
            server_frame::Frame::Farewell(farewell) => Some(Err(farewell.code())),
            _ => None,
        });
        verdicts.next().unwrap_or(Err(CloseCode::Unspecified))
    }

    pub fn login(&mut self, name: &'static str) -> Welcome {
        self.try_login(name).unwrap_or_else(|code| panic!("{name} is refused: {code:?}"))
    }

    pub fn try_resume(&mut self, name: &'static str) -> Result<Welcome, CloseCode> {
        self.try_hello(name, |client, nonce| client.resume(false, nonce))
    }

    pub fn resume(&mut self, name: &'static str) -> Welcome {
        self.try_resume(name).unwrap_or_else(|code| panic!("{name} is refused: {code:?}"))
    }

    pub fn resume_cold(&mut self, name: &'static str) -> Welcome {
        let welcome = self.try_hello(name, |client, nonce| client.resume(true, nonce));
        welcome.unwrap_or_else(|code| panic!("{name} is refused: {code:?}"))
    }

    /// A frame on the client's present connection.
    pub fn frame(&mut self, name: &str, frame: client_frame::Frame) {
        let connection = self.client(name).connection();
        self.receive(connection, &ClientFrame { frame: Some(frame) });
        self.run();
    }

    /// The next numbered frame of a client, on its way but not carried yet.
    pub fn queue(&mut self, name: &str, body: up::Body) {
        let client = self.client_mut(name);
        let (frame, connection) = (client.next_up(body), client.connection());
        self.receive(connection, &frame);
    }

    pub fn up(&mut self, name: &str, body: up::Body) {
        self.queue(name, body);
        self.run();
    }

    pub fn say(&mut self, name: &str, text: &str) {
        self.up(name, client::message(text));
    }

    /// Says something and gives the reply.
    pub fn ask(&mut self, name: &str, text: &str) -> String {
        self.take(name);
        self.say(name, text);
        let prefix = format!("reply {}: ", self.client(name).number);
        let heard = self.take(name);
        let reply = heard.iter().find_map(|said| said.strip_prefix(&prefix));
        reply.unwrap_or_else(|| panic!("{name} got no reply to {text}: {heard:?}")).to_owned()
    }

    pub fn join(&mut self, name: &str, kind: &str) {
        self.join_with(name, kind, "p", "");
    }

    pub fn join_with(&mut self, name: &str, kind: &str, zone: &str, payload: &str) {
        self.up(name, join(kind, zone, payload));
    }

    pub fn part(&mut self, name: &str) {
        self.up(name, up::Body::Part(Part {}));
    }

    pub fn bye(&mut self, name: &str) {
        self.up(name, up::Body::Bye(Bye {}));
    }

    pub fn ack(&mut self, name: &str, leg: u64, seq: u64) {
        self.frame(name, client_frame::Frame::Ack(Position { leg, seq }));
    }

    /// The client's connection is gone.
    pub fn cut(&mut self, name: &str) {
        let connection = self.client(name).connection();
        self.cut_line(name, connection);
    }

    pub fn cut_line(&mut self, name: &str, connection: ConnectionId) {
        let lines = self.client_mut(name).lines.iter_mut();
        for line in lines.filter(|line| line.id == connection) {
            line.closed.get_or_insert(CloseCode::Unspecified);
        }
        self.lose(connection, None);
    }

    /// Control frames of the transport come on the client's connection.
    pub fn control(&mut self, name: &str, kind: FrameKind, count: usize) {
        let connection = self.client(name).connection();
        for _ in 0..count {
            self.tell_connection(connection, ConnectionInput::Control { kind, bytes: 10 });
        }
        self.run();
    }

    /// The client neither acknowledges nor answers pings.
    pub fn mute(&mut self, name: &str) {
        self.client_mut(name).is_obliging = false;
    }

    /// With which code the client's present connection was closed.
    pub fn closed(&self, name: &str) -> Option<CloseCode> {
        self.client(name).line().closed
    }

    pub fn command(&mut self, command: Command) -> Option<Answer> {
        let ticket = self.order(command);
        self.answers.get(&ticket).cloned()
    }

    /// Gives a command and its ticket, for answers that come later.
    pub fn order(&mut self, command: Command) -> u64 {
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        self.input(HubInput::Command { ticket, command });
        ticket
    }

    pub fn view(&self, name: &str) -> Option<SessionView> {
        self.hub.view(self.id(name))
    }

    /// Who is in a zone, as the zone itself says.
    pub fn members(&self, kind: &str) -> usize {
        self.zone(kind).map_or(0, |zone| zone.machine.counts().members)
    }

    pub fn is_open(&self, kind: &str) -> bool {
        self.zone(kind).is_some()
    }

    pub fn counts(&self, kind: &str) -> rejoin_core::zone::core::ZoneCounts {
        self.zone(kind).expect("the zone is open").machine.counts()
    }

    fn zone(&self, kind: &str) -> Option<&Running> {
        self.zones.get(&ZoneId::of(kind, "p"))
    }

    /// Where a session is.
    pub fn place(&self, name: &str) -> Option<Place> {
        self.hub.session(self.id(name)).map(|session| session.place().clone())
    }

    /// Whether a session is in no zone, and not on its way into one.
    pub fn is_in_lobby(&self, name: &str) -> bool {
        self.place(name).is_some_and(|place| place.is_lobby())
    }

    /// Whether a zone has let a session in.
    pub fn is_inside(&self, name: &str, zone: ZoneId) -> bool {
        self.place(name).is_some_and(|place| place.is_in(zone))
    }

    pub fn is_in(&self, name: &str, kind: &str) -> bool {
        self.is_inside(name, ZoneId::of(kind, "p"))
    }

    /// An innocent client still plays: it says something and hears it.
    pub fn assert_plays(&mut self, name: &str) {
        assert_eq!(self.ask(name, "hey"), "heard hey");
        assert_eq!(self.closed(name), None);
    }
}

pub fn join(kind: &str, name: &str, payload: &str) -> up::Body {
    up::Body::Join(Join {
        kind: kind.to_owned(),
        name: name.to_owned(),
        create: true,
        payload: Bytes::copy_from_slice(payload.as_bytes()),
        ticket: String::new(),
    })
}

/// Keeps a player out until then.
pub fn ban(player: PlayerId, until: WallTime) -> Command {
    Command::Player(PlayerCommand::Ban(Whom::Player(player), until, String::new()))
}

/// Lets a player in again.
pub fn unban(player: PlayerId) -> Command {
    Command::Player(PlayerCommand::Unban(Whom::Player(player)))
}

pub fn zone(kind: &str) -> ZoneName {
    ZoneName { kind: kind.to_owned(), name: "p".to_owned() }
}
