//! What a Game is asked to be, and how that may change.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::limits;
use crate::print::Print;
use crate::refusal::Refusal;

/// What a Game is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GameSpec {
    /// The fleet whose hosts may run it.
    pub fleet: String,
    /// Where it runs; empty where that does not matter.
    pub location: String,
    /// The key it was asked for with. Fleet and key make its id.
    pub key: String,
    /// Its name; may be empty.
    pub name: String,
    /// What it can be searched by.
    pub properties: BTreeMap<String, String>,
    /// For its host only.
    pub data: Bytes,
    /// How many seats it has.
    pub capacity: u32,
    /// Whether new players may reserve.
    pub accepts: bool,
    /// Whether searches show it.
    pub visible: bool,
    /// Who asked for it; may be empty.
    pub creator: String,
    /// It ends when its last player leaves.
    pub ends_when_empty: bool,
    /// One player may have several seats at a time.
    pub several_seats: bool,
}

impl Default for GameSpec {
    fn default() -> Self {
        Self {
            fleet: String::new(),
            location: String::new(),
            key: String::new(),
            name: String::new(),
            properties: BTreeMap::new(),
            data: Bytes::new(),
            capacity: 1,
            accepts: true,
            visible: true,
            creator: String::new(),
            ends_when_empty: true,
            several_seats: false,
        }
    }
}

impl GameSpec {
    /// Whether all of it is within its limits. The key is checked where it comes in, because those
    /// of placements are our own.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if !self.location.is_empty() {
            limits::location(&self.location)?;
        }
        check_name("name", &self.name)?;
        check_name("creator", &self.creator)?;
        limits::properties(&self.properties)?;
        limits::data("data", &self.data, limits::GAME_DATA_MAX, "at most 262144 bytes")?;
        limits::capacity(self.capacity)
    }

    pub(crate) fn print(&self) -> Print {
        let flags =
            [u8::from(self.accepts), u8::from(self.visible), u8::from(self.ends_when_empty)];
        let capacity = self.capacity.to_be_bytes();
        let fixed: [&[u8]; 7] = [
            self.fleet.as_bytes(),
            self.location.as_bytes(),
            self.name.as_bytes(),
            &self.data,
            &capacity,
            &flags,
            self.creator.as_bytes(),
        ];
        let pairs = self.properties.iter();
        let pairs = pairs.flat_map(|(key, value)| [key.as_bytes(), value.as_bytes()]);
        // Only where it differs: the prints of earlier versions stay good.
        let several = self.several_seats.then_some(&b"several"[..]);
        Print::of(fixed.into_iter().chain(pairs).chain(several))
    }
}

fn check_name(field: &'static str, value: &str) -> Result<(), Refusal> {
    if value.is_empty() {
        return Ok(());
    }
    limits::text(field, value, limits::NAME_MAX, "at most 1024 characters")
}

/// What of a Game changes; what is none stays.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GameChange {
    /// New name of at most 1024 characters; an empty one takes the name away.
    pub name: Option<String>,
    /// How many seats it has; not fewer than are taken.
    pub capacity: Option<u32>,
    /// Whether new players may reserve.
    pub accepts: Option<bool>,
    /// Whether searches show it.
    pub visible: Option<bool>,
    /// Properties that are added or replaced, or with none removed; the others stay.
    pub properties: BTreeMap<String, Option<String>>,
}

impl GameChange {
    /// The Game with this change, if that is within its limits and keeps every seat that is taken.
    pub(crate) fn applied(&self, spec: &GameSpec, taken: u32) -> Result<GameSpec, Refusal> {
        let mut changed = spec.clone();
        changed.name = self.name.clone().unwrap_or(changed.name);
        changed.capacity = self.capacity.unwrap_or(changed.capacity);
        changed.accepts = self.accepts.unwrap_or(changed.accepts);
        changed.visible = self.visible.unwrap_or(changed.visible);
        for (key, value) in &self.properties {
            match value {
                Some(value) => drop(changed.properties.insert(key.clone(), value.clone())),
                None => drop(changed.properties.remove(key)),
            }
        }
        changed.check()?;
        if changed.capacity < taken {
            let must = "at least the number of seats that are taken";
            return Err(Refusal::Invalid { field: "capacity", must });
        }
        Ok(changed)
    }
}
