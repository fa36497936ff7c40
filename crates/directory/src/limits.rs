//! How large what people send may be. The numbers are GameLift's, so that its clients fit.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::refusal::Refusal;

/// Characters of names of Games, creators and players.
pub const NAME_MAX: usize = 1_024;
/// Characters of idempotency keys and placement ids: letters, digits and `-`.
pub const KEY_MAX: usize = 48;
/// Characters of the secret of a reservation or a placement, at least and at most.
pub const SECRET_MIN: usize = 16;
/// See [`SECRET_MIN`].
pub const SECRET_MAX: usize = 64;
/// Characters of names of fleets, aliases, hosts and queues: letters, digits and `-`.
pub const LABEL_MAX: usize = 128;
/// Characters of a location's name: letters, digits and `-`.
pub const LOCATION_MAX: usize = 64;
/// Properties of a Game.
pub const PROPERTIES_MAX: usize = 16;
/// Characters of a property's key.
pub const PROPERTY_KEY_MAX: usize = 32;
/// Characters of a property's value.
pub const PROPERTY_VALUE_MAX: usize = 96;
/// Bytes of a Game's data.
pub const GAME_DATA_MAX: usize = 262_144;
/// Bytes of a seat's data.
pub const SEAT_DATA_MAX: usize = 2_048;
/// Players of one party.
pub const PARTY_MAX: usize = 25;
/// Seats of one page.
pub const SEATS_PAGE_MAX: usize = 1_000;
/// Seats of a Game.
pub const CAPACITY_MAX: u32 = 200;
/// The highest port.
pub const PORT_MAX: u16 = 60_000;
/// Characters of an address.
pub const ADDRESS_MAX: usize = 256;
/// Log paths of a host, and characters of each.
pub const LOG_PATHS_MAX: usize = 16;
/// Games that one host may run at a time.
pub const HOST_GAMES_MAX: u32 = 1_000;
/// Characters of a filter or a sort expression.
pub const FILTER_MAX: usize = 1_024;
/// How deep a filter may be nested.
pub const FILTER_DEPTH_MAX: usize = 32;
/// Declared properties of a fleet.
pub const INDEXES_MAX: usize = 16;
/// Locations of a fleet.
pub const LOCATIONS_MAX: usize = 100;
/// Destinations of a queue.
pub const DESTINATIONS_MAX: usize = 10;
/// Latency policies of a queue.
pub const LATENCY_POLICIES_MAX: usize = 10;
/// Measured latencies that come with a placement.
pub const LATENCIES_MAX: usize = PARTY_MAX * 50;
/// Bytes of their names together: a placement is one row of the store.
pub const LATENCY_BYTES_MAX: usize = 262_144;
/// What a host may say when it refuses, in characters; more is cut off.
pub const VETO_MAX: usize = 256;

/// A text of 1 to `max` characters.
pub(crate) fn text(
    field: &'static str,
    value: &str,
    max: usize,
    must: &'static str,
) -> Result<(), Refusal> {
    let is_good = !value.is_empty() && value.chars().take(max + 1).count() <= max;
    if is_good { Ok(()) } else { Err(Refusal::Invalid { field, must }) }
}

/// Letters, digits and `-`.
pub(crate) fn label(
    field: &'static str,
    value: &str,
    max: usize,
    must: &'static str,
) -> Result<(), Refusal> {
    let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_plain && !value.is_empty() && value.len() <= max {
        Ok(())
    } else {
        Err(Refusal::Invalid { field, must })
    }
}

/// A key that a request is known by.
pub(crate) fn key(field: &'static str, value: &str) -> Result<(), Refusal> {
    label(field, value, KEY_MAX, "1 to 48 letters, digits and '-'")
}

/// The name of a fleet, alias, host or queue.
///
/// # Errors
/// It is not what such a name must be.
pub fn name(field: &'static str, value: &str) -> Result<(), Refusal> {
    label(field, value, LABEL_MAX, "1 to 128 letters, digits and '-'")
}

/// The name of a location.
pub(crate) fn location(value: &str) -> Result<(), Refusal> {
    label("location", value, LOCATION_MAX, "1 to 64 letters, digits and '-'")
}

/// The name of a player.
pub(crate) fn player(value: &str) -> Result<(), Refusal> {
    text("player", value, NAME_MAX, "1 to 1024 characters")
}

/// Properties of a Game.
pub(crate) fn properties(given: &BTreeMap<String, String>) -> Result<(), Refusal> {
    if given.len() > PROPERTIES_MAX {
        return Err(Refusal::Invalid { field: "properties", must: "at most 16" });
    }
    for (key, value) in given {
        text("property key", key, PROPERTY_KEY_MAX, "1 to 32 characters")?;
        if value.chars().count() > PROPERTY_VALUE_MAX {
            let must = "at most 96 characters";
            return Err(Refusal::Invalid { field: "property value", must });
        }
    }
    Ok(())
}

/// Data that a caller attaches to a Game or a seat, of at most `max` bytes.
pub(crate) fn data(
    field: &'static str,
    value: &Bytes,
    max: usize,
    must: &'static str,
) -> Result<(), Refusal> {
    if value.len() <= max { Ok(()) } else { Err(Refusal::Invalid { field, must }) }
}

/// The number of seats of a Game.
pub(crate) fn capacity(value: u32) -> Result<(), Refusal> {
    if (1..=CAPACITY_MAX).contains(&value) {
        Ok(())
    } else {
        Err(Refusal::Invalid { field: "capacity", must: "1 to 200" })
    }
}

/// A host's words, cut to what is kept of them.
pub(crate) fn veto(words: &str) -> String {
    words.chars().take(VETO_MAX).collect()
}
