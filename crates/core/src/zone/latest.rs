//! Values of which only the newest matters, one for each key, beside the ring. A reader sees a
//! subsequence of a key's values that ends with the newest: possibly later than its place among the
//! ordered messages, never earlier. A cleared key is remembered until everybody knows.

use std::collections::BTreeMap;

use bytes::Bytes;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::Latest as LatestValue;

use crate::planted::{Bug, is_armed};

/// The newest of one key.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// The number it was said with.
    pub seq: u64,
    /// The value; none when the key was cleared.
    pub payload: Option<Bytes>,
    /// The frame that says so.
    pub frame: SharedFrame,
}

/// The newest value of each key, and the cleared keys that some member may not know of.
#[derive(Debug, Default)]
pub(crate) struct Latest {
    values: BTreeMap<String, Value>,
    by_seq: BTreeMap<u64, String>,
    bytes: usize,
}

impl Latest {
    /// Sets or clears a key; true when an earlier value gave way.
    pub(crate) fn set(&mut self, key: String, value: Value) -> bool {
        self.bytes += key.len() + value.frame.len();
        self.by_seq.insert(value.seq, key.clone());
        match self.values.insert(key, value) {
            Some(old) => {
                if let Some(key) = self.by_seq.remove(&old.seq) {
                    self.bytes -= key.len() + old.frame.len();
                }
                true
            }
            None => false,
        }
    }

    /// Whether a key of this length and a frame of this size may be set.
    #[must_use]
    pub(crate) fn has_room(
        &self,
        key: &str,
        frame_len: usize,
        keys_max: usize,
        bytes_max: usize,
    ) -> bool {
        let old = self.values.get(key).map_or(0, |value| key.len() + value.frame.len());
        // After a start there may be more keys than before it: cleared ones that had been forgotten.
        let has_key = self.values.contains_key(key) || self.values.len() < keys_max;
        has_key && self.bytes - old + key.len() + frame_len <= bytes_max
    }

    /// Forgets cleared keys that everybody knows of.
    pub(crate) fn trim(&mut self, acknowledged: u64) {
        let acknowledged = if is_armed(Bug::ClearedTooEarly) { u64::MAX } else { acknowledged };
        let gone: Vec<String> = self
            .by_seq
            .range(..=acknowledged)
            .filter(|(_, key)| self.values.get(*key).is_some_and(|value| value.payload.is_none()))
            .map(|(_, key)| key.clone())
            .collect();
        for key in gone {
            if let Some(value) = self.values.remove(&key) {
                self.by_seq.remove(&value.seq);
                self.bytes -= key.len() + value.frame.len();
            }
        }
    }

    /// All values that are set, for somebody who comes in.
    #[must_use]
    pub(crate) fn all(&self) -> Vec<LatestValue> {
        self.values
            .iter()
            .filter_map(|(key, value)| {
                let payload = value.payload.clone()?;
                Some(LatestValue { key: key.clone(), payload })
            })
            .collect()
    }

    /// Keys and values said after a number, cleared ones included.
    pub(crate) fn after(&self, seq: u64) -> impl Iterator<Item = (&String, &Value)> {
        self.by_seq
            .range(seq.saturating_add(1)..)
            .filter_map(|(_, key)| self.values.get_key_value(key))
    }

    /// Whether a key is set.
    #[must_use]
    pub(crate) fn contains(&self, key: &str) -> bool {
        self.values.get(key).is_some_and(|value| value.payload.is_some())
    }
}

#[cfg(test)]
mod tests {
    use rejoin_wire::v1::{Down, ServerFrame, server_frame};

    use super::*;

    fn value(seq: u64, payload: Option<&'static [u8]>) -> Value {
        let down = Down { seq, body: None };
        let frame = SharedFrame::new(&ServerFrame { frame: Some(server_frame::Frame::Down(down)) });
        Value { seq, payload: payload.map(Bytes::from_static), frame }
    }

    /// Cleared keys that were forgotten before a crash are read again after it.
    #[test]
    fn a_key_that_is_there_can_be_set_whatever_else_is_there() {
        let mut latest = Latest::default();
        latest.set("gone".to_owned(), value(1, None));
        latest.set("a".to_owned(), value(2, Some(b"1")));
        latest.set("b".to_owned(), value(3, Some(b"1")));
        assert!(latest.has_room("a", 10, 2, 1_000));
        assert!(!latest.has_room("c", 10, 2, 1_000));
    }
}
