//! The two ways a frame is written: protobuf, and the JSON that protobuf defines.
//!
//! Owns their names on the wire. A connection has one encoding for its whole life, chosen when it
//! is opened: on WebSocket by the subprotocol, elsewhere by the transport. Encodes nothing itself.

/// How the frames of a connection are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Encoding {
    /// Binary protobuf: the default of every client library.
    Protobuf,
    /// The canonical JSON of protobuf. 64-bit numbers are strings, bytes are base64, field names are
    /// `lowerCamelCase`. Needs the feature `json`; without it every use gives a typed error.
    Json,
}

impl Encoding {
    /// Every encoding, in the order in which a server prefers them.
    pub const ALL: [Encoding; 2] = [Encoding::Protobuf, Encoding::Json];

    /// The encoding that a WebSocket subprotocol names, if this build can speak it.
    ///
    /// ```
    /// use rejoin_wire::Encoding;
    /// assert_eq!(Encoding::from_subprotocol("rejoin.v1.proto"), Some(Encoding::Protobuf));
    /// assert_eq!(Encoding::from_subprotocol("chat"), None);
    /// ```
    pub fn from_subprotocol(name: &str) -> Option<Encoding> {
        Self::ALL
            .into_iter()
            .find(|encoding| encoding.is_supported() && encoding.subprotocol() == name)
    }

    /// The WebSocket subprotocol that stands for this encoding of version 1.
    pub const fn subprotocol(self) -> &'static str {
        match self {
            Encoding::Protobuf => "rejoin.v1.proto",
            Encoding::Json => "rejoin.v1.json",
        }
    }

    /// The word for this encoding in logs, metrics and the API.
    pub const fn name(self) -> &'static str {
        match self {
            Encoding::Protobuf => "protobuf",
            Encoding::Json => "json",
        }
    }

    /// Whether this build can speak it.
    pub const fn is_supported(self) -> bool {
        match self {
            Encoding::Protobuf => true,
            Encoding::Json => cfg!(feature = "json"),
        }
    }
}

impl std::fmt::Display for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_supported_encoding_is_found_by_its_own_name() {
        for encoding in Encoding::ALL {
            let found = Encoding::from_subprotocol(encoding.subprotocol());
            assert_eq!(found, encoding.is_supported().then_some(encoding));
        }
        assert_eq!(Encoding::from_subprotocol(""), None);
        assert_eq!(Encoding::from_subprotocol("rejoin.v2.proto"), None);
    }
}
