//! The world: one clock, one queue of events, and everybody in it. Each event is one input to one
//! machine, which is then drained; what it gives out becomes events again.

use bytes::{Bytes, BytesMut};
use rejoin_client::Output;
use rejoin_core::event::Event as Told;
use rejoin_core::hub::{HubInput, HubOutput};
use rejoin_core::id::{ConnectionId, ZoneId};
use rejoin_core::scope::Batch;
use rejoin_core::session::Serializer;
use rejoin_core::zone::{ZoneInput, ZoneOutput};
use rejoin_wire::v1::{CloseCode, ServerFrame, server_frame};
use rejoin_wire::{Encoding, Limits, SharedFrame, decode_client, prefix};

use crate::check::Watch;
use crate::event::{Event, Queue};
use crate::game;
use crate::hostile::Hostile;
use crate::knobs::Knobs;
use crate::link::{Link, Who};
use crate::node::Node;
use crate::player::{Known, Player, Stamp};
use crate::rng::Rng;

/// Everything there is.
pub struct World {
    /// The one source of chance.
    pub rng: Rng,
    /// What the seed decided in advance.
    pub knobs: Knobs,
    /// Microseconds since the beginning.
    pub now: u64,
    /// What is planned.
    pub queue: Queue,
    /// The server.
    pub node: Node,
    /// The connections, by number.
    pub links: std::collections::BTreeMap<u64, Link>,
    /// The last connection's number.
    pub last_link: u64,
    /// The honest.
    pub players: Vec<Player>,
    /// The others.
    pub hostiles: Vec<Hostile>,
    /// The onlookers.
    pub watch: Watch,
    /// No more faults: everybody shall come back.
    pub quiet: bool,
    /// Events so far.
    pub steps: u64,
    /// Frames carried, both ways.
    pub frames: u64,
    /// The last ticket of a command.
    pub tickets: u64,
    /// What has happened, as a hash.
    pub trace: blake3::Hasher,
    /// What has happened, in words, if somebody wants to read it.
    pub story: Option<Vec<String>>,
    /// Sessions that live in the server.
    pub natives: Vec<u64>,
}

impl World {
    /// The world of a seed, before anything has happened.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let knobs = Knobs::draw(&mut rng);
        let mut players: Vec<Player> = Vec::new();
        for index in 0..knobs.players as usize {
            let known = match rng.below(4) {
                0 if knobs.hub.secrets => Known::Secret,
                1 if knobs.hub.anonymous => Known::Anonymous,
                _ => Known::Key(rng.seed()),
            };
            players.push(Player::new(index, known, &mut rng));
        }
        for twin in 0..knobs.twins as usize {
            let original = &mut players[twin];
            if let Known::Key(_) = original.known {
                original.shared = true;
                let known = original.known;
                let mut player = Player::new(players.len(), known, &mut rng);
                player.shared = true;
                players.push(player);
            }
        }
        let hostiles = (0..knobs.hostiles).map(|_| Hostile::default()).collect();
        Self {
            rng,
            knobs,
            now: 1_000,
            queue: Queue::default(),
            node: Node::default(),
            links: Default::default(),
            last_link: 0,
            players,
            hostiles,
            watch: Watch::default(),
            quiet: false,
            steps: 0,
            frames: 0,
            tickets: 0,
            trace: blake3::Hasher::new(),
            story: None,
            natives: Vec::new(),
        }
    }

    /// Notes what happens.
    pub fn tell(&mut self, text: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            let mut text = text();
            if text.len() > 200 {
                let end = (0..=200).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
                text.truncate(end);
            }
            story.push(format!("{:>9}.{:03} {text}", self.now / 1_000, self.now % 1_000));
        }
    }

    /// Plans an event this many microseconds from now.
    pub fn plan(&mut self, in_us: u64, event: Event) {
        self.queue.push(self.now + in_us, event);
    }

    /// Lets one event happen; false when nothing is planned.
    pub fn step(&mut self) -> bool {
        let Some((at, order, event)) = self.queue.pop() else { return false };
        self.now = self.now.max(at);
        if event.is_servers() {
            if self.node.hub.is_none() {
                return true;
            }
            if self.node.stalled_until > self.now {
                self.queue.put_off(self.node.stalled_until, order, event);
                return true;
            }
        }
        self.steps += 1;
        self.trace.update(&self.now.to_le_bytes());
        self.trace.update(event.name().as_bytes());
        self.happen(order, event);
        for text in game::take_broken() {
            let checker = if text.starts_with("match") { "match-data" } else { "upstream-once" };
            self.watch.fail(checker, text);
        }
        true
    }

    fn happen(&mut self, order: u64, event: Event) {
        match event {
            Event::ServerOpened { link } => self.server_opened(link),
            Event::ClientOpened { link } => self.client_opened(link),
            Event::ServerBytes { link, bytes } => self.server_bytes(order, link, bytes),
            Event::ClientBytes { link, bytes } => self.client_bytes(order, link, bytes),
            Event::ServerClosed { link } => self.server_closed(link),
            Event::ClientClosed { link, code } => self.client_closed(link, code),
            Event::ToHub { zone, owner, message, .. } => {
                self.hub(HubInput::FromZone(zone, owner, *message));
            }
            Event::ToZone { zone, owner, message, .. } => {
                self.zone(zone, ZoneInput::FromHub(owner, *message));
            }
            Event::OpenZone { spec, .. } => {
                let id = spec.id;
                self.tell(|| format!("open {:?}", spec.name));
                self.node.open_zone(self.now, *spec, &mut self.rng);
                self.drain_zone(id);
            }
            Event::Committed { scope, owner, revision, .. } => {
                self.committed(scope, owner, revision);
            }
            Event::Verified { connection, good, .. } => {
                self.hub(HubInput::Verified { connection, good });
            }
            Event::Admission { connection, good, .. } => {
                let verdict = if good { Ok(()) } else { Err("not today".to_owned()) };
                self.hub(HubInput::Admission { connection, verdict });
            }
            Event::JobDone { zone, owner, job, result, .. } => {
                if self.node.owner(zone) == Some(owner) {
                    self.zone(zone, ZoneInput::JobDone(job, result));
                }
            }
            Event::HubWake { .. } => {
                self.node.hub_wake = None;
                self.hub(HubInput::Wake);
            }
            Event::ZoneWake { zone, .. } => {
                if let Some(seat) = self.node.zones.get_mut(&zone) {
                    seat.wake = None;
                    self.zone(zone, ZoneInput::Wake);
                }
            }
            Event::PlayerWake { player } => self.player_wake(order, player),
            Event::Act { player } => self.act(player),
            Event::HostileAct { hostile } => self.hostile_act(hostile),
            Event::Fault => self.fault(),
            Event::Restart => self.restart(),
            Event::Quiet => self.go_quiet(),
        }
    }

    // ---------------------------------------------------------------- the server's side

    /// Gives the hub one input and carries out what follows.
    pub fn hub(&mut self, input: HubInput) {
        let time = self.node.time(self.now);
        let Some(hub) = &mut self.node.hub else { return };
        hub.handle(time, input);
        while let Some(output) = self.node.hub.as_mut().and_then(|hub| hub.next_output()) {
            if self.crashes_here() {
                return;
            }
            self.carry_out_hub(output);
        }
        let Some(deadline) = self.node.hub.as_ref().and_then(|hub| hub.next_deadline()) else {
            return;
        };
        let at = self.node.world_time(deadline).max(self.now);
        if self.node.hub_wake.is_none_or(|planned| at < planned) {
            self.node.hub_wake = Some(at);
            let incarnation = self.node.incarnation;
            self.queue.push(at, Event::HubWake { incarnation });
        }
    }

    fn carry_out_hub(&mut self, output: HubOutput) {
        let incarnation = self.node.incarnation;
        match output {
            HubOutput::Send { connection, frame } => self.send_down(connection, &frame),
            HubOutput::Close { connection, code } => self.close_down(connection.0, code),
            HubOutput::Pause { connection, wait } => {
                if let Some(link) = self.links.get_mut(&connection.0) {
                    let until = self.now + wait.as_micros() as u64;
                    link.paused_until = until.max(link.paused_until);
                }
            }
            HubOutput::Verify { connection, public_key, text, signature } => {
                let good = self.players.iter().any(|player| match player.known {
                    Known::Key(secret) => {
                        Stamp::public(&secret) == public_key
                            && Stamp::sign_with(&secret, &text) == signature
                    }
                    _ => false,
                });
                let wait = self.rng.below(2_000);
                self.plan(wait, Event::Verified { incarnation, connection, good });
            }
            HubOutput::AskAdmission { connection, .. } => {
                // Once in a while the game does not answer, or says no.
                let mood = if self.quiet { 500 } else { self.rng.below(1_000) };
                if mood >= 30 {
                    let good = mood >= 50;
                    let wait = self.rng.below(60_000);
                    self.plan(wait, Event::Admission { incarnation, connection, good });
                }
            }
            HubOutput::RunCallback { .. } => {}
            HubOutput::ToZone(zone, owner, message) => {
                let at = self.mail_time(zone, true);
                let message = Box::new(message);
                self.queue.push(at, Event::ToZone { incarnation, zone, owner, message });
            }
            HubOutput::OpenZone(spec) => {
                self.node.zones.remove(&spec.id);
                let wait = self.rng.below(self.knobs.commit_us + 1);
                self.plan(wait, Event::OpenZone { incarnation, spec });
            }
            HubOutput::DropZone(zone) => drop(self.node.zones.remove(&zone)),
            HubOutput::Commit(batch) => self.submit(batch),
            HubOutput::Event(event) => self.overhear(&event),
            HubOutput::Answer { answer, .. } => {
                if let rejoin_core::hub::Answer::Session(id) = answer {
                    self.natives.push(id.0);
                }
            }
        }
    }

    /// Gives a zone one input, if it takes any.
    pub fn zone(&mut self, zone: ZoneId, input: ZoneInput) {
        let time = self.node.time(self.now);
        let Some(seat) = self.node.zones.get_mut(&zone) else { return };
        match input {
            ZoneInput::FromHub(..) => seat.mailbox.push_back(input),
            other => {
                seat.machine.handle(time, other);
                self.drain_zone(zone);
            }
        }
        while let Some(seat) = self.node.zones.get_mut(&zone) {
            if !seat.machine.is_accepting() {
                return;
            }
            let Some(input) = seat.mailbox.pop_front() else { return };
            seat.machine.handle(time, input);
            self.drain_zone(zone);
        }
    }

    /// Carries out what a zone gives out.
    pub fn drain_zone(&mut self, zone: ZoneId) {
        while let Some(seat) = self.node.zones.get_mut(&zone) {
            let owner = seat.machine.owner();
            let Some(output) = seat.machine.next_output() else { break };
            if self.crashes_here() {
                return;
            }
            self.carry_out_zone(zone, owner, output);
        }
        self.check_zone(zone);
        let Some(seat) = self.node.zones.get(&zone) else { return };
        let Some(deadline) = seat.machine.next_deadline() else { return };
        let at = self.node.world_time(deadline).max(self.now);
        let incarnation = self.node.incarnation;
        if let Some(seat) = self.node.zones.get_mut(&zone)
            && seat.wake.is_none_or(|planned| at < planned)
        {
            seat.wake = Some(at);
            self.queue.push(at, Event::ZoneWake { incarnation, zone });
        }
    }

    fn carry_out_zone(
        &mut self,
        zone: ZoneId,
        owner: rejoin_core::id::OwnerEpoch,
        output: ZoneOutput,
    ) {
        let incarnation = self.node.incarnation;
        match output {
            ZoneOutput::Send { link, frame, .. } => self.send_down(link.connection, &frame),
            ZoneOutput::Native { .. } => {}
            ZoneOutput::ToHub(message) => {
                let at = self.mail_time(zone, false);
                let message = Box::new(message);
                self.queue.push(at, Event::ToHub { incarnation, zone, owner, message });
            }
            ZoneOutput::Commit(batch) => self.submit(batch),
            ZoneOutput::StartJob { job, request } => {
                let wait = self.rng.below(300_000);
                let result = request;
                self.plan(wait, Event::JobDone { incarnation, zone, owner, job, result });
            }
            ZoneOutput::Event(event) => self.overhear(&event),
        }
    }

    fn mail_time(&mut self, zone: ZoneId, down: bool) -> u64 {
        let at = self.now + self.rng.below(self.knobs.mailbox_us + 1);
        let last = self.node.mail_at.entry((zone, down)).or_default();
        *last = at.max(*last);
        *last
    }

    fn submit(&mut self, batch: Batch) {
        let incarnation = self.node.incarnation;
        let (scope, owner, revision) = (batch.scope, batch.owner, batch.revision);
        let most = self.knobs.commit_us;
        let at = self.node.disk.submit(self.now, batch, most, &mut self.rng);
        self.queue.push(at, Event::Committed { incarnation, scope, owner, revision });
    }

    fn committed(
        &mut self,
        scope: rejoin_core::scope::ScopeId,
        owner: rejoin_core::id::OwnerEpoch,
        revision: rejoin_core::id::Revision,
    ) {
        if !self.node.disk.commit(scope, owner, revision) {
            return;
        }
        match scope {
            rejoin_core::scope::ScopeId::Zone(zone) => {
                self.zone(zone, ZoneInput::Committed(revision));
            }
            _ => self.hub(HubInput::Committed(scope, revision)),
        }
        if self.watch.ready_at == 0 && self.node.hub.as_ref().is_some_and(|hub| hub.is_ready()) {
            self.watch.ready_at = self.now;
        }
    }

    // ---------------------------------------------------------------- connections

    /// Makes a connection.
    pub fn dial(&mut self, who: Who, encoding: Encoding) -> u64 {
        self.last_link += 1;
        let id = self.last_link;
        let limits = Limits::DEFAULT;
        let client_max = limits.client_frame_bytes(encoding);
        let server_max = limits.server_frame_bytes(encoding);
        self.links.insert(id, Link::new(who, self.now, client_max, server_max));
        let way = self.latency();
        if self.node.hub.is_some() {
            self.plan(way, Event::ServerOpened { link: id });
        } else {
            // Nobody listens.
            self.plan(way, Event::ClientClosed { link: id, code: None });
        }
        id
    }

    /// How long something is under way.
    pub fn latency(&mut self) -> u64 {
        1 + self.rng.below(self.knobs.latency_us)
    }

    fn server_opened(&mut self, id: u64) {
        let encoding = self.encoding_of(id);
        let Some(link) = self.links.get_mut(&id) else { return };
        if link.up_dead {
            return;
        }
        link.server_open = true;
        let serializer = match encoding {
            Encoding::Protobuf => Serializer::Protobuf,
            Encoding::Json => Serializer::Json,
        };
        let way = self.latency();
        self.plan(way, Event::ClientOpened { link: id });
        if let Some(link) = self.links.get_mut(&id) {
            link.down_at = self.now + way;
        }
        self.hub(HubInput::Opened { connection: ConnectionId(id), serializer });
    }

    fn encoding_of(&self, id: u64) -> Encoding {
        match self.links.get(&id).map(|link| link.who) {
            Some(Who::Player(player)) => self.players[player].encoding(),
            _ => Encoding::Protobuf,
        }
    }

    /// Sends bytes upwards, cut into pieces; the connection may end anywhere in them.
    pub fn send_up(&mut self, id: u64, frame: &[u8]) {
        let mut bytes = BytesMut::new();
        if prefix(frame, &mut bytes).is_err() {
            return;
        }
        self.frames += 1;
        self.transmit(id, bytes.freeze(), true);
    }

    fn send_down(&mut self, connection: ConnectionId, frame: &SharedFrame) {
        let encoding = self.encoding_of(connection.0);
        self.check_frame(connection.0, frame);
        let Some(link) = self.links.get(&connection.0) else { return };
        if !link.server_open {
            return;
        }
        let mut bytes = BytesMut::new();
        let Ok(encoded) = frame.bytes(encoding) else { return };
        if prefix(&encoded, &mut bytes).is_ok() {
            self.frames += 1;
            self.transmit(connection.0, bytes.freeze(), false);
        }
    }

    fn transmit(&mut self, id: u64, mut bytes: Bytes, up: bool) {
        let way = self.latency();
        let cut = !self.quiet && self.rng.per_mille(self.knobs.faults.cut);
        if self.rng.per_mille(200) && bytes.len() > 1 {
            let at = self.rng.range(1, bytes.len() as u64 - 1) as usize;
            let first = bytes.split_to(at);
            self.transmit_piece(id, first, up, way);
        }
        if cut {
            let at = self.rng.below(bytes.len() as u64 + 1) as usize;
            bytes.truncate(at);
        }
        self.transmit_piece(id, bytes, up, way);
        if cut {
            self.cut(id);
        }
    }

    fn transmit_piece(&mut self, id: u64, bytes: Bytes, up: bool, way: u64) {
        let Some(link) = self.links.get_mut(&id) else { return };
        if (up && (link.up_dead || !link.client_open)) || (!up && link.down_dead) {
            return;
        }
        let last = if up { &mut link.up_at } else { &mut link.down_at };
        *last = (*last).max(self.now + way);
        let at = *last;
        let event = match up {
            true => Event::ServerBytes { link: id, bytes },
            false => Event::ClientBytes { link: id, bytes },
        };
        self.queue.push(at, event);
    }

    /// Ends a connection; one end may not be told.
    pub fn cut(&mut self, id: u64) {
        self.tell(|| format!("cut {id}"));
        let (server_told, client_told) = (!self.half_open(), !self.half_open());
        let Some(link) = self.links.get_mut(&id) else { return };
        if link.up_dead && link.down_dead {
            return;
        }
        (link.up_dead, link.down_dead) = (true, true);
        let (up_at, down_at) = (link.up_at.max(self.now), link.down_at.max(self.now));
        if server_told {
            self.queue.push(up_at + 1, Event::ServerClosed { link: id });
        }
        if client_told {
            self.queue.push(down_at + 1, Event::ClientClosed { link: id, code: None });
        }
    }

    fn half_open(&mut self) -> bool {
        self.rng.per_mille(self.knobs.faults.half_open)
    }

    fn close_down(&mut self, id: u64, code: CloseCode) {
        let Some(link) = self.links.get_mut(&id) else { return };
        link.server_open = false;
        link.up_dead = true;
        if !link.down_dead {
            link.down_dead = true;
            let at = link.down_at.max(self.now) + 1;
            self.queue.push(at, Event::ClientClosed { link: id, code: Some(code) });
        }
        // The transport tells that it is gone, as after any close.
        self.plan(1, Event::ServerClosed { link: id });
    }

    fn server_bytes(&mut self, order: u64, id: u64, bytes: Bytes) {
        let encoding = self.encoding_of(id);
        let Some(link) = self.links.get_mut(&id) else { return };
        if link.paused_until > self.now {
            let until = link.paused_until;
            let event = Event::ServerBytes { link: id, bytes };
            return self.queue.put_off(until, order, event);
        }
        if !link.server_open {
            return;
        }
        self.trace.update(&bytes);
        let mut rest = &bytes[..];
        loop {
            let Some(link) = self.links.get_mut(&id) else { return };
            if !rest.is_empty() {
                let taken = link.server.push(rest);
                rest = &rest[taken..];
            }
            match link.server.next() {
                Ok(Some(frame)) => {
                    let size = frame.len();
                    let frame = decode_client(encoding, frame, &Limits::DEFAULT);
                    self.tell(|| format!("link {id} up: {frame:?}"));
                    let connection = ConnectionId(id);
                    self.hub(HubInput::Received { connection, frame, bytes: size });
                }
                Ok(None) if rest.is_empty() => return,
                Ok(None) => {}
                Err(_) => {
                    link.up_dead = true;
                    return self.plan(1, Event::ServerClosed { link: id });
                }
            }
        }
    }

    fn server_closed(&mut self, id: u64) {
        if let Some(link) = self.links.get_mut(&id) {
            link.server_open = false;
        }
        self.hub(HubInput::Closed(ConnectionId(id)));
    }

    fn client_opened(&mut self, id: u64) {
        let Some(link) = self.links.get_mut(&id) else { return };
        link.client_open = true;
        match link.who {
            Who::Player(player) if self.players[player].link == Some(id) => {
                let time = self.players[player].time(self.now);
                self.players[player].client.opened(time);
                self.drain_player(player);
            }
            _ => {}
        }
    }

    fn client_bytes(&mut self, order: u64, id: u64, bytes: Bytes) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let who = link.who;
        if !link.client_open {
            return;
        }
        if let Who::Player(player) = who
            && self.players[player].frozen_until > self.now
        {
            let until = self.players[player].frozen_until;
            return self.queue.put_off(until, order, Event::ClientBytes { link: id, bytes });
        }
        self.trace.update(&bytes);
        let mut rest = &bytes[..];
        loop {
            let Some(link) = self.links.get_mut(&id) else { return };
            if !rest.is_empty() {
                let taken = link.client.push(rest);
                rest = &rest[taken..];
            }
            match link.client.next() {
                Ok(Some(frame)) => self.client_frame(id, who, frame),
                Ok(None) if rest.is_empty() => return,
                Ok(None) => {}
                Err(error) => {
                    return self.watch.fail("client-sane", format!("framing: {error:?}"));
                }
            }
        }
    }

    fn client_frame(&mut self, id: u64, who: Who, frame: Bytes) {
        match who {
            Who::Player(player) if self.players[player].link == Some(id) => {
                let time = self.players[player].time(self.now);
                self.players[player].client.received(time, frame);
                self.drain_player(player);
            }
            Who::Player(_) => {}
            Who::Hostile(hostile) => {
                use rejoin_wire::decode_server;
                let frame = decode_server(Encoding::Protobuf, frame, &Limits::DEFAULT);
                if let Ok(ServerFrame { frame: Some(server_frame::Frame::Welcome(welcome)) }) =
                    frame
                {
                    self.hostiles[hostile].welcomed(&welcome);
                }
            }
        }
    }

    fn client_closed(&mut self, id: u64, code: Option<CloseCode>) {
        let Some(link) = self.links.get_mut(&id) else { return };
        (link.client_open, link.down_dead) = (false, true);
        match link.who {
            Who::Player(player) if self.players[player].link == Some(id) => {
                self.players[player].link = None;
                let time = self.players[player].time(self.now);
                self.players[player].client.closed(time, code);
                self.drain_player(player);
            }
            Who::Hostile(hostile) if self.hostiles[hostile].link == Some(id) => {
                self.hostiles[hostile].link = None;
            }
            _ => {}
        }
    }

    /// The client's end is closed by the client.
    pub fn hang_up(&mut self, id: u64) {
        let Some(link) = self.links.get_mut(&id) else { return };
        (link.client_open, link.up_dead) = (false, true);
        let at = link.up_at.max(self.now) + 1;
        self.queue.push(at, Event::ServerClosed { link: id });
    }

    // ---------------------------------------------------------------- players

    /// Carries out what a client gives out, and judges what it tells.
    pub fn drain_player(&mut self, index: usize) {
        while let Some(output) = self.players[index].client.next_output() {
            match output {
                Output::Connect { .. } => {
                    let encoding = self.players[index].encoding();
                    let link = self.dial(Who::Player(index), encoding);
                    self.players[index].link = Some(link);
                }
                Output::Send(frame) => {
                    if let Some(link) = self.players[index].link {
                        self.send_up(link, &frame);
                    }
                }
                Output::Close(_) => {
                    if let Some(link) = self.players[index].link.take() {
                        self.hang_up(link);
                    }
                }
                Output::StoreToken(state) => {
                    let player = &mut self.players[index];
                    player.tokens.push((state.session, *state.token.expose()));
                    player.saved = Some(state);
                }
                Output::StoreSecret(secret) => {
                    self.players[index].secret = Some(*secret.expose());
                }
                Output::ForgetToken => self.players[index].saved = None,
                Output::Event(event) => {
                    self.tell(|| format!("player {index}: {}", brief(&event)));
                    let book = self.players[index].draw_book();
                    if let rejoin_client::Event::Connected { session, .. } = &event {
                        let volatile = self.watch.volatile.contains(session);
                        self.players[index].books.volatile |= volatile;
                    }
                    self.players[index].books.hear(&event, book);
                    self.answer_calls(index, &event);
                }
            }
        }
        for violation in self.players[index].books.take_found() {
            let text = format!("player {index}: {}", violation.text);
            self.watch.fail(violation.checker, text);
        }
        let player = &mut self.players[index];
        if let Some(deadline) = player.client.next_deadline() {
            let at = player.world_time(deadline).max(self.now);
            if player.wake.is_none_or(|planned| at < planned) {
                player.wake = Some(at);
                self.queue.push(at, Event::PlayerWake { player: index });
            }
        }
    }

    fn answer_calls(&mut self, index: usize, event: &rejoin_client::Event) {
        if let rejoin_client::Event::Call { call, .. } = event
            && self.rng.per_mille(600)
        {
            let answer =
                crate::game::Wish { verb: crate::game::Verb::Say, book: 0, number: 0, arg: 0 };
            let answer = rejoin_core::zone::Message::encode(&answer);
            // A full buffer is an answer, too: none.
            let _ = self.players[index].client.answer(*call, answer);
        }
    }

    fn player_wake(&mut self, order: u64, index: usize) {
        let player = &mut self.players[index];
        if player.frozen_until > self.now {
            let until = player.frozen_until;
            return self.queue.put_off(until, order, Event::PlayerWake { player: index });
        }
        player.wake = None;
        let time = player.time(self.now);
        player.client.wake(time);
        self.drain_player(index);
    }

    fn overhear(&mut self, event: &Told) {
        self.tell(|| format!("server: {event:?}"));
        match event {
            Told::PlayerDropped { session, .. } => {
                self.watch.dropped.insert(session.0, self.now);
            }
            Told::HoldEnded { session } => self.check_hold(session.0),
            Told::ZoneJoined { session, zone } => {
                if matches!(zone.kind.as_str(), "session" | "memory") {
                    self.watch.volatile.insert(session.0);
                }
            }
            _ => {}
        }
    }
}

/// What a player was told, without the padding.
fn brief(event: &rejoin_client::Event) -> String {
    use rejoin_core::zone::Message;
    match event {
        rejoin_client::Event::Message { payload } => match game::Note::decode(payload.clone()) {
            Ok(note) => format!("{note:?}"),
            Err(_) => "a message from outside".to_owned(),
        },
        other => format!("{other:?}"),
    }
}
