//! Payloads of the relay zone.

use bytes::Bytes;
use rejoin_core::zone::Message;
use rejoin_relay::{Heard, Said};

/// Any bytes are something said and something heard, which survive the way there and back, or are
/// refused.
pub fn relay(data: &[u8]) {
    let payload = Bytes::copy_from_slice(data);
    if let Ok(said) = Said::decode(payload.clone()) {
        assert_eq!(Said::decode(said.encode()), Ok(said));
    }
    if let Ok(heard) = Heard::decode(payload) {
        assert_eq!(Heard::decode(heard.encode()), Ok(heard));
    }
}
