//! Every limit of the wire, named in one place.
//!
//! Owns the numbers that decide how large a frame, and each thing in it, may be. Whatever is over a
//! limit is refused with the field's name; see [`crate::DecodeError`]. Lengths that the protocol
//! fixes (a token is 32 bytes) are constants here, because no operator may change them.

use crate::Encoding;

/// How large frames, and the things in them, may be. All lengths are bytes; strings count in UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Payload of a message, answer, reply, call, join, joined, loose or latest value.
    pub message_bytes_max: usize,
    /// A whole client frame in protobuf: a message and 4,096 bytes for all that stands around it.
    pub frame_bytes_max: usize,
    /// A whole client frame that carries a hello, in either encoding. Small, because it is read
    /// before anybody is known: the admission as base64, and three times what the other fields of a
    /// hello may hold in protobuf.
    pub hello_bytes_max: usize,
    /// A whole server frame in protobuf: a snapshot and as much again for latest values.
    pub server_frame_bytes_max: usize,
    /// `Resync.snapshot`.
    pub snapshot_bytes_max: usize,
    /// Latest values in one `Joined` or `Resync`.
    pub latest_max: usize,
    /// `Hello.admission`: a JWT of 8 KiB, the JSON around it, and some bytes for the game.
    pub admission_bytes_max: usize,
    /// Kind of a zone, in a join and wherever a server names a zone.
    pub zone_kind_bytes_max: usize,
    /// Name of a zone, beside its kind.
    pub zone_name_bytes_max: usize,
    /// `Join.ticket`: the id of a seat, with room for those of other directories.
    pub ticket_bytes_max: usize,
    /// Key of a latest value.
    pub key_bytes_max: usize,
    /// The name of a server; 253 is the longest name that DNS can hold.
    pub server_name_bytes_max: usize,
    /// Capabilities in one hello or welcome.
    pub capabilities_max: usize,
    /// The name of one capability in that list.
    pub capability_bytes_max: usize,
    /// A sentence for people: the text of a refusal, parting, notice or farewell.
    pub text_bytes_max: usize,
    /// Addresses in one `Welcome.resume_at`, `Refusal.addresses` or `Farewell.addresses`.
    pub addresses_max: usize,
    /// One address: a DNS name with scheme, port and path.
    pub address_bytes_max: usize,
}

impl Limits {
    /// What both sides hold each other to unless an operator says otherwise.
    pub const DEFAULT: Limits = Limits {
        message_bytes_max: 65_536,
        frame_bytes_max: 65_536 + 4_096,
        hello_bytes_max: 20_480,
        server_frame_bytes_max: 2 * 1_048_576,
        snapshot_bytes_max: 1_048_576,
        latest_max: 4_096,
        admission_bytes_max: 10_240,
        zone_kind_bytes_max: 64,
        zone_name_bytes_max: 128,
        ticket_bytes_max: 128,
        key_bytes_max: 64,
        server_name_bytes_max: 253,
        capabilities_max: 16,
        capability_bytes_max: 64,
        text_bytes_max: 512,
        addresses_max: 16,
        address_bytes_max: 512,
    };

    /// A challenge, which a proof signs.
    pub const NONCE_BYTES: usize = 32;
    /// A resume token.
    pub const TOKEN_BYTES: usize = 32;
    /// A guest secret.
    pub const SECRET_BYTES: usize = 32;
    /// An Ed25519 public key.
    pub const PUBLIC_KEY_BYTES: usize = 32;
    /// An Ed25519 signature.
    pub const SIGNATURE_BYTES: usize = 64;
    /// A player's id.
    pub const PLAYER_BYTES: usize = 16;

    /// The longest client frame in this encoding: what a server lets its transport take in.
    pub const fn client_frame_bytes(&self, encoding: Encoding) -> usize {
        scaled(self.frame_bytes_max, encoding)
    }

    /// The longest server frame in this encoding: what a client lets its transport take in.
    pub const fn server_frame_bytes(&self, encoding: Encoding) -> usize {
        scaled(self.server_frame_bytes_max, encoding)
    }

    /// The same limits for a connection that has not said hello: no frame may be longer than one.
    ///
    /// Decoding may take some twelve times the bytes of a frame for a moment (a list of empty
    /// strings); this keeps what a stranger can ask for near 250 KiB.
    #[must_use]
    pub const fn before_hello(mut self) -> Limits {
        if self.frame_bytes_max > self.hello_bytes_max {
            self.frame_bytes_max = self.hello_bytes_max;
        }
        self
    }
}

/// JSON carries bytes as base64, four characters for three bytes; so a payload that is at its limit
/// in one encoding is at its limit in the other.
const fn scaled(bytes: usize, encoding: Encoding) -> usize {
    match encoding {
        Encoding::Protobuf => bytes,
        Encoding::Json => bytes.saturating_add(bytes / 3).saturating_add(4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_with_every_field_at_its_limit_fits() {
        let limits = Limits::DEFAULT;
        let capabilities = limits.capabilities_max * (limits.capability_bytes_max + 3);
        let proof = Limits::PUBLIC_KEY_BYTES + Limits::SIGNATURE_BYTES + Limits::TOKEN_BYTES;
        let numbers = 8 * 11;
        let fields = capabilities + limits.server_name_bytes_max + proof + numbers;
        let admission = limits.admission_bytes_max.div_ceil(3) * 4;
        assert!(admission + 3 * fields <= limits.hello_bytes_max);
    }

    #[test]
    fn a_message_at_its_limit_fits_a_frame_in_both_encodings() {
        let limits = Limits::DEFAULT;
        let base64 = limits.message_bytes_max.div_ceil(3) * 4;
        assert!(base64 + 4_096 <= limits.client_frame_bytes(Encoding::Json));
        assert!(limits.message_bytes_max + 4_096 <= limits.client_frame_bytes(Encoding::Protobuf));
        assert!(limits.snapshot_bytes_max * 2 <= limits.server_frame_bytes(Encoding::Protobuf));
    }

    #[test]
    fn limits_before_hello_only_shrink() {
        let early = Limits::DEFAULT.before_hello();
        assert_eq!(early.frame_bytes_max, Limits::DEFAULT.hello_bytes_max);
        let mut tiny = Limits::DEFAULT;
        tiny.frame_bytes_max = 10;
        assert_eq!(tiny.before_hello().frame_bytes_max, 10);
    }

    #[test]
    fn the_limits_are_those_that_are_written_down() {
        // Taken apart whole: a new limit does not compile until it stands here, too.
        let Limits {
            message_bytes_max,
            frame_bytes_max,
            hello_bytes_max,
            server_frame_bytes_max,
            snapshot_bytes_max,
            latest_max,
            admission_bytes_max,
            zone_kind_bytes_max,
            zone_name_bytes_max,
            ticket_bytes_max,
            key_bytes_max,
            server_name_bytes_max,
            capabilities_max,
            capability_bytes_max,
            text_bytes_max,
            addresses_max,
            address_bytes_max,
        } = Limits::DEFAULT;
        let rows = [
            ("message_bytes_max", message_bytes_max),
            ("frame_bytes_max", frame_bytes_max),
            ("hello_bytes_max", hello_bytes_max),
            ("server_frame_bytes_max", server_frame_bytes_max),
            ("snapshot_bytes_max", snapshot_bytes_max),
            ("latest_max", latest_max),
            ("admission_bytes_max", admission_bytes_max),
            ("zone_kind_bytes_max", zone_kind_bytes_max),
            ("zone_name_bytes_max", zone_name_bytes_max),
            ("ticket_bytes_max", ticket_bytes_max),
            ("key_bytes_max", key_bytes_max),
            ("server_name_bytes_max", server_name_bytes_max),
            ("capabilities_max", capabilities_max),
            ("capability_bytes_max", capability_bytes_max),
            ("text_bytes_max", text_bytes_max),
            ("addresses_max", addresses_max),
            ("address_bytes_max", address_bytes_max),
        ];
        let code: Vec<String> =
            rows.iter().map(|(key, value)| format!("wire.{key} = {value}")).collect();
        let written = include_str!("../defaults.txt").lines().filter(|row| !row.starts_with('#'));
        assert!(written.eq(code));
    }
}
