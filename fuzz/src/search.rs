//! Text as a search: its filter and the order of its answers.

use rejoin_directory::search::{Filter, FilterError, Sort};

/// Any text is a filter or an order, which are read again as they are written, or is refused at a place
/// within it.
pub fn search(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Filter::parse(text) {
        Ok(filter) => assert_eq!(Filter::parse(&filter.to_string()), Ok(filter)),
        Err(error) => is_within(text, &error),
    }
    match Sort::parse(text) {
        Ok(sort) => assert_eq!(Sort::parse(&sort.to_string()), Ok(sort)),
        Err(error) => is_within(text, &error),
    }
}

fn is_within(text: &str, error: &FilterError) {
    assert!(text.is_char_boundary(error.at), "{error} in {text:?}");
    assert!(!error.expected.is_empty(), "{error} in {text:?}");
}
