//! Orders in few words.

use bytes::Bytes;
use rejoin_relay::order::{Delivery, Lead, Of, Order, Said, To, Verb};

/// An order with a body.
pub(crate) fn body(order: Order, text: &'static str) -> Said {
    Said { order, body: Bytes::from_static(text.as_bytes()) }
}

/// A message.
pub(crate) fn send(to: To, text: &'static str) -> Said {
    body(Order::Send { to, delivery: Delivery::Ordered, key: String::new() }, text)
}

/// A value for a key.
pub(crate) fn set(key: &str, of: Of, only_if: Option<u64>, text: &'static str) -> Said {
    body(Order::Set { key: key.to_owned(), of, only_if }, text)
}

/// Something for the host.
pub(crate) fn lead(verb: Verb, term: Option<u64>) -> Said {
    body(Order::Lead(Lead { verb, member: None, term }), "")
}
