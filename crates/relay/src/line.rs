//! A line of JSON, and after a line feed a body of any bytes. Everything a relay says and hears has
//! this shape.

use bytes::{BufMut, Bytes, BytesMut};
use rejoin_core::zone::BadPayload;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Puts a header and a body together.
pub(crate) fn write<H: Serialize>(header: &H, body: &[u8]) -> Bytes {
    let mut line = BytesMut::with_capacity(64 + body.len()).writer();
    // Writing to memory cannot fail, and headers hold nothing that JSON cannot.
    let _ = serde_json::to_writer(&mut line, header);
    let mut line = line.into_inner();
    if !body.is_empty() {
        line.put_u8(b'\n');
        line.put_slice(body);
    }
    line.freeze()
}

/// Takes them apart; the body shares the payload's bytes.
pub(crate) fn read<H: DeserializeOwned>(payload: &Bytes) -> Result<(H, Bytes), BadPayload> {
    let end = payload.iter().position(|byte| *byte == b'\n');
    let header = &payload[..end.unwrap_or(payload.len())];
    let header = serde_json::from_slice(header).map_err(|error| BadPayload(error.to_string()))?;
    Ok((header, end.map_or_else(Bytes::new, |end| payload.slice(end + 1..))))
}

/// Numbers of 64 bits as strings, because many JSON readers have only floating point; both strings and
/// numbers are read.
pub(crate) mod number {
    use serde::de::{Error, Unexpected, Visitor};
    use serde::{Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        from.deserialize_any(Number)
    }

    struct Number;

    impl Visitor<'_> for Number {
        type Value = u64;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a number, as a string")
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
            Ok(number)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
            text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
        }
    }

    /// The same where there may be none.
    pub(crate) mod maybe {
        use serde::{Deserialize, Deserializer, Serializer};

        pub(crate) fn serialize<S: Serializer>(
            number: &Option<u64>,
            to: S,
        ) -> Result<S::Ok, S::Error> {
            match number {
                Some(number) => to.collect_str(number),
                None => to.serialize_none(),
            }
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<u64>, D::Error> {
            #[derive(Deserialize)]
            struct Inner(#[serde(with = "super")] u64);
            Ok(Option::<Inner>::deserialize(from)?.map(|inner| inner.0))
        }
    }
}
