//! What lies between a client and its connection: the encoding of the transport, which may be another
//! one than the client's own, and compressed frames where both sides have agreed on them. The part of
//! the client's driver and of the server's transport in the world.

use bytes::Bytes;
use rejoin_core::id::PlayerId;
use rejoin_wire::v1::{
    ClientFrame, ServerFrame, Up, Welcome, client_frame, hello, login, server_frame, up,
};
use rejoin_wire::{
    DEFLATE, DecodeError, Encoding, Limits, SharedFrame, decode_client, decode_server,
    encode_client, encode_server, pack_client, unpack_client, unpack_server,
};

use crate::link::{Link, Who};
use crate::world::World;

impl World {
    /// A player's connection begins: on which transport, from where.
    pub(crate) fn dial_player(&mut self, index: usize) -> u64 {
        let own = self.players[index].encoding();
        let hop = self.knobs.access.hop;
        let encoding = match own {
            Encoding::Protobuf if self.rng.per_mille(hop) => Encoding::Json,
            Encoding::Json if self.rng.per_mille(hop) => Encoding::Protobuf,
            own => own,
        };
        let is_encrypted = self.rng.per_mille(self.knobs.access.encrypted);
        let access = self.knobs.access.clone();
        let origin = access.origin(index, &mut self.rng);
        let id = self.dial(Who::Player(index), encoding);
        if let Some(link) = self.links.get_mut(&id) {
            (link.origin, link.is_encrypted) = (origin, is_encrypted);
        }
        id
    }

    /// A frame of a client on its way to the connection.
    pub(crate) fn send_from(&mut self, index: usize, id: u64, frame: Bytes) {
        let own = self.players[index].encoding();
        let Some(link) = self.links.get(&id) else { return };
        let decoded = decode_client(own, frame.clone(), &Limits::DEFAULT);
        let mut bytes = match (&decoded, link.encoding == own) {
            (Ok(decoded), false) => encode_client(link.encoding, decoded).unwrap_or_default(),
            _ => frame,
        };
        if link.is_agreed {
            let plain = bytes.clone();
            bytes = pack_client(bytes, self.knobs.hub.compression_bytes_min as usize);
            if bytes != plain {
                self.compressed += 1;
                let is_secret = decoded.map(|frame| holds_secret_up(&frame)).unwrap_or(true);
                self.check_compressed(id, is_secret, &plain);
            }
        }
        self.send_up(id, &bytes);
    }

    /// A frame of the server as its connection carries it; none: it cannot be written.
    pub(crate) fn encoded(&mut self, id: u64, frame: &SharedFrame) -> Option<Bytes> {
        let link = self.links.get(&id)?;
        let Some(bytes_min) = link.compressed_from else { return frame.bytes(link.encoding).ok() };
        let bytes = frame.packed(bytes_min);
        if bytes != *frame.protobuf() {
            self.compressed += 1;
            let plain = frame.protobuf().clone();
            let decoded = decode_server(Encoding::Protobuf, plain.clone(), &Limits::DEFAULT);
            let is_secret = decoded.map(|frame| holds_secret_down(&frame)).unwrap_or(true);
            self.check_compressed(id, is_secret, &plain);
        }
        Some(bytes)
    }

    /// A frame was compressed: it holds nothing that lets anybody in, neither by its kind nor by what
    /// this player keeps secret.
    fn check_compressed(&mut self, id: u64, is_secret: bool, plain: &Bytes) {
        let Some(link) = self.links.get(&id) else { return };
        let mut found = is_secret.then_some("a credential");
        if let Who::Player(index) = link.who {
            let player = &self.players[index];
            let holds = |secret: &[u8]| plain.windows(secret.len()).any(|part| part == secret);
            let mut secrets = player.secret.iter().chain(player.tokens.last().map(|(_, t)| t));
            if secrets.any(|secret| holds(secret)) {
                found = Some("a token or a secret of its player");
            }
            let admission = player.admission();
            if !admission.is_empty() && holds(admission) {
                found = Some("the password of its player");
            }
        }
        if let Some(what) = found {
            let text = format!("link {id} carries a compressed frame that holds {what}");
            self.watch.fail("secrets-plain", text);
        }
    }

    /// A frame as the client's driver hands it to the client.
    pub(crate) fn deliver(&mut self, index: usize, id: u64, bytes: Bytes) {
        let Some(link) = self.links.get(&id) else { return };
        let own = self.players[index].encoding();
        match received(link, own, bytes) {
            Ok(frame) => {
                let time = self.players[index].time(self.now);
                self.players[index].client.received(time, frame);
                self.drain_player(index);
            }
            Err(error) => {
                let text = format!("player {index} cannot read what link {id} carries: {error:?}");
                self.watch.fail("client-sane", text);
            }
        }
    }

    /// The client was welcomed: does the server take compressed frames?
    pub(crate) fn note_agreed(&mut self, index: usize, capabilities: &[String]) {
        let link = self.players[index].link.and_then(|id| self.links.get_mut(&id));
        let is_agreed = capabilities.iter().any(|name| name == DEFLATE);
        let Some(link) = link else { return };
        link.is_agreed = is_agreed;
        if is_agreed != link.compressed_from.is_some() {
            let text = format!("player {index} was told {is_agreed} about compressed frames");
            self.watch.fail("client-sane", text);
        }
    }
}

/// What a client's connection gave, in the client's own encoding.
fn received(link: &Link, own: Encoding, bytes: Bytes) -> Result<Bytes, DecodeError> {
    let bytes = if link.is_agreed { unpack_server(bytes, &Limits::DEFAULT)? } else { bytes };
    if link.encoding == own {
        return Ok(bytes);
    }
    let frame = decode_server(link.encoding, bytes, &Limits::DEFAULT)?;
    Ok(encode_server(own, &frame).unwrap_or_default())
}

/// What the server reads of a connection, with the size that it is charged for.
pub(crate) fn read(link: &Link, bytes: Bytes) -> (Result<ClientFrame, DecodeError>, usize) {
    let size = bytes.len();
    let plain = match link.compressed_from {
        Some(_) => unpack_client(bytes, &Limits::DEFAULT),
        None => Ok(bytes),
    };
    let size = plain.as_ref().map_or(size, Bytes::len);
    let frame = plain.and_then(|plain| decode_client(link.encoding, plain, &Limits::DEFAULT));
    (frame, size)
}

/// Notes whether a client logs in, and with which key or secret.
pub(crate) fn note_login(link: &mut Link, frame: &ClientFrame) {
    let Some(client_frame::Frame::Hello(hello)) = &frame.frame else { return };
    let Some(hello::Purpose::Login(login)) = &hello.purpose else { return };
    link.is_login = true;
    link.key = match &login.identity {
        Some(login::Identity::Key(proof)) => Some(PlayerId::of_key(&proof.public_key)),
        Some(login::Identity::Secret(secret)) => Some(PlayerId::of_secret(secret)),
        Some(login::Identity::Mint(_) | login::Identity::Anonymous(_)) | None => None,
    };
}

fn holds_secret_up(frame: &ClientFrame) -> bool {
    matches!(
        &frame.frame,
        Some(
            client_frame::Frame::Up(Up { body: Some(up::Body::Join(_)), .. })
                | client_frame::Frame::Hello(_)
        )
    )
}

fn holds_secret_down(frame: &ServerFrame) -> bool {
    match &frame.frame {
        Some(server_frame::Frame::Welcome(Welcome { token, secret, .. })) => {
            !token.is_empty() || !secret.is_empty()
        }
        Some(server_frame::Frame::Challenge(_)) => true,
        _ => false,
    }
}
