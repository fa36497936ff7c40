//! The keys and values of a relay: shared ones, those of one member, and the latest messages of each
//! member. They are kept in the zone's cells and shown to members as latest values under the same
//! names, so a joiner and a returning member have them without asking.

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};
use rejoin_core::id::SessionId;

use crate::config::{KEY_BYTES_MAX, RelayConfig};
use crate::fact::Reason;

/// Where a key is kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Place {
    Shared,
    Own(SessionId),
    Latest(SessionId),
}

impl Place {
    /// The name of a key in this place, in cells and on the wire.
    pub(crate) fn name(self, key: &str) -> String {
        match self {
            Self::Shared => format!("s/{key}"),
            Self::Own(member) => format!("p/{member}/{key}"),
            Self::Latest(member) => format!("m/{member}/{key}"),
        }
    }

    /// The way back; none for a name that is not one of these.
    fn parse(name: &str) -> Option<(Self, &str)> {
        let (place, rest) = name.split_once('/')?;
        if place == "s" {
            return Some((Self::Shared, rest));
        }
        let (member, key) = rest.split_once('/')?;
        let member = SessionId(member.parse().ok()?);
        match place {
            "p" => Some((Self::Own(member), key)),
            "m" => Some((Self::Latest(member), key)),
            _ => None,
        }
    }
}

/// A value and where it came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Value {
    pub(crate) version: u64,
    pub(crate) by: SessionId,
    pub(crate) body: Bytes,
}

const HEAD_BYTES: usize = 16;

impl Value {
    /// As it stands in a cell.
    pub(crate) fn cell(&self) -> Bytes {
        let mut cell = BytesMut::with_capacity(HEAD_BYTES + self.body.len());
        cell.put_u64(self.version);
        cell.put_u64(self.by.0);
        cell.put_slice(&self.body);
        cell.freeze()
    }

    fn parse(cell: &Bytes) -> Option<Self> {
        let number = |range: std::ops::Range<usize>| {
            Some(u64::from_be_bytes(cell.get(range)?.try_into().ok()?))
        };
        let (version, by) = (number(0..8)?, SessionId(number(8..HEAD_BYTES)?));
        Some(Self { version, by, body: cell.slice(HEAD_BYTES..) })
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Store {
    places: BTreeMap<Place, BTreeMap<String, Value>>,
    bytes: usize,
    /// Never given twice, so that a key that was unset and set again is seen to have changed.
    last_version: u64,
}

impl Store {
    /// Takes up a cell; false if it is none of these.
    pub(crate) fn restore(&mut self, name: &str, cell: &Bytes) -> bool {
        let Some(((place, key), value)) = Place::parse(name).zip(Value::parse(cell)) else {
            return false;
        };
        self.last_version = self.last_version.max(value.version);
        self.bytes += value.body.len();
        self.places.entry(place).or_default().insert(key.to_owned(), value);
        true
    }

    /// The version a key is at; 0 when it is not set.
    pub(crate) fn version(&self, place: Place, key: &str) -> u64 {
        self.get(place, key).map_or(0, |value| value.version)
    }

    fn get(&self, place: Place, key: &str) -> Option<&Value> {
        self.places.get(&place)?.get(key)
    }

    /// Sets a key.
    pub(crate) fn set(
        &mut self,
        config: &RelayConfig,
        place: Place,
        key: &str,
        by: SessionId,
        body: Bytes,
    ) -> Result<Value, Reason> {
        let keys_max = match place {
            Place::Shared => config.keys_max,
            Place::Own(_) => config.member_keys_max,
            Place::Latest(_) => config.latest_max,
        };
        let old = self.get(place, key).map(|value| value.body.len());
        let count = self.places.get(&place).map_or(0, BTreeMap::len);
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return Err(Reason::BadKey);
        }
        if old.is_none() && count >= keys_max {
            return Err(Reason::TooManyKeys);
        }
        if body.len() > config.value_bytes_max {
            return Err(Reason::TooLarge);
        }
        let bytes = self.bytes - old.unwrap_or(0) + body.len();
        if bytes > config.state_bytes_max {
            return Err(Reason::Full);
        }
        self.bytes = bytes;
        self.last_version += 1;
        let value = Value { version: self.last_version, by, body };
        self.places.entry(place).or_default().insert(key.to_owned(), value.clone());
        Ok(value)
    }

    /// Unsets a key; true if it was set.
    pub(crate) fn delete(&mut self, place: Place, key: &str) -> bool {
        let Some(keys) = self.places.get_mut(&place) else { return false };
        let Some(old) = keys.remove(key) else { return false };
        if keys.is_empty() {
            self.places.remove(&place);
        }
        self.bytes -= old.body.len();
        // What comes after must not have the version that is gone.
        self.last_version += 1;
        true
    }

    /// Takes away all that is a member's; the names.
    pub(crate) fn forget(&mut self, member: SessionId) -> Vec<String> {
        let mut names = Vec::new();
        for place in [Place::Own(member), Place::Latest(member)] {
            for (key, value) in self.places.remove(&place).into_iter().flatten() {
                self.bytes -= value.body.len();
                names.push(place.name(&key));
            }
        }
        names
    }

    /// The highest version ever given, which outlives the keys.
    pub(crate) fn last_version(&self) -> u64 {
        self.last_version
    }

    /// Takes it up.
    pub(crate) fn skip_to(&mut self, version: u64) {
        self.last_version = self.last_version.max(version);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: SessionId = SessionId(1);

    fn body(len: usize) -> Bytes {
        Bytes::from(vec![b'x'; len])
    }

    #[test]
    fn every_bound_has_its_reason() {
        let config = RelayConfig {
            keys_max: 2,
            member_keys_max: 1,
            value_bytes_max: 10,
            state_bytes_max: 15,
            ..RelayConfig::default()
        };
        let mut store = Store::default();
        let mut set = |place, key: &str, len| {
            store.set(&config, place, key, ANN, body(len)).map(|value| value.version)
        };
        assert_eq!(set(Place::Shared, "", 1), Err(Reason::BadKey));
        assert_eq!(set(Place::Shared, &"k".repeat(41), 1), Err(Reason::BadKey));
        assert_eq!(set(Place::Shared, "a", 11), Err(Reason::TooLarge));
        assert_eq!(set(Place::Shared, "a", 10), Ok(1));
        assert_eq!(set(Place::Shared, "b", 6), Err(Reason::Full));
        assert_eq!(set(Place::Shared, "a", 1), Ok(2));
        assert_eq!(set(Place::Shared, "b", 6), Ok(3));
        assert_eq!(set(Place::Shared, "c", 1), Err(Reason::TooManyKeys));
        assert_eq!(set(Place::Own(ANN), "c", 1), Ok(4));
        assert_eq!(set(Place::Own(ANN), "d", 1), Err(Reason::TooManyKeys));
        assert_eq!(set(Place::Own(SessionId(2)), "d", 1), Ok(5));
    }

    #[test]
    fn what_is_in_cells_comes_back_as_it_was() {
        let config = RelayConfig::default();
        let (mut store, mut again) = (Store::default(), Store::default());
        for (place, key) in
            [(Place::Shared, "a/b"), (Place::Own(ANN), "name"), (Place::Latest(ANN), "pos")]
        {
            let value = store.set(&config, place, key, ANN, body(3)).expect("room");
            assert!(again.restore(&place.name(key), &value.cell()));
            assert_eq!(again.get(place, key), Some(&value));
        }
        assert_eq!((again.bytes, again.last_version), (9, 3));
        assert!(!again.restore("meta", &body(20)));
        assert!(!again.restore("s/short", &body(3)));
    }

    #[test]
    fn a_parted_member_takes_its_own_along_and_no_version_returns() {
        let config = RelayConfig::default();
        let mut store = Store::default();
        for (place, key) in
            [(Place::Shared, "a"), (Place::Own(ANN), "b"), (Place::Latest(ANN), "c")]
        {
            store.set(&config, place, key, ANN, body(2)).expect("room");
        }
        assert_eq!(store.forget(ANN), ["p/1/b", "m/1/c"]);
        assert_eq!(store.bytes, 2);
        assert!(store.delete(Place::Shared, "a"));
        assert!(!store.delete(Place::Shared, "a"));
        let again = store.set(&config, Place::Shared, "a", ANN, body(1)).expect("room");
        assert!(again.version > 3);
    }
}
