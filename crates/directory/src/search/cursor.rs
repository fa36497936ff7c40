//! Where a page ended: the sort key and the id of its last Game. The next page begins behind that
//! place, whatever has come and gone meanwhile, so nothing that stays as it is is shown twice or
//! left out. A cursor names its search, and is refused by others.

use prost::Message;
use rejoin_core::id::GameId;

use super::filter::Key;
use crate::print::Print;
use crate::refusal::Refusal;

/// A place in an order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub key: Key,
    pub id: GameId,
}

#[derive(Clone, PartialEq, Message)]
struct CursorRow {
    #[prost(bytes = "vec", tag = "1")]
    search: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    id: Vec<u8>,
    #[prost(uint64, optional, tag = "3")]
    number: Option<u64>,
    #[prost(string, optional, tag = "4")]
    text: Option<String>,
}

/// Writes a place down for whoever asks this search.
pub(crate) fn write(place: &Place, search: Print) -> String {
    let (number, text) = match &place.key {
        Key::Number(number) => (Some(*number), None),
        Key::Text(text) => (None, Some(text.to_string())),
        Key::Missing => (None, None),
    };
    let row = CursorRow { search: search.to_vec(), id: place.id.0.to_vec(), number, text };
    row.encode_to_vec().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a place of this search.
pub(crate) fn read(cursor: &str, search: Print) -> Result<Place, Refusal> {
    let bytes = bytes_of(cursor).ok_or(Refusal::WrongCursor)?;
    let row = CursorRow::decode(&bytes[..]).map_err(|_| Refusal::WrongCursor)?;
    let id = GameId::from_slice(&row.id).ok_or(Refusal::WrongCursor)?;
    if Print::from_slice(&row.search) != search {
        return Err(Refusal::WrongCursor);
    }
    let key = match (row.number, row.text) {
        (Some(number), None) => Key::Number(number),
        (None, Some(text)) => Key::Text(text.into()),
        (None, None) => Key::Missing,
        (Some(_), Some(_)) => return Err(Refusal::WrongCursor),
    };
    Ok(Place { key, id })
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if digits.len() > 2_048 || !digits.len().is_multiple_of(2) {
        return None;
    }
    let pairs = digits.chunks_exact(2).map(|pair| {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        u8::try_from(high * 16 + low).ok()
    });
    pairs.collect()
}
