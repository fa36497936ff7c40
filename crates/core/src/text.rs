//! Sentences for people, as long as a frame may carry them. Games, operators and admission hooks write
//! them, so they may be of any length.

use rejoin_wire::Limits;

/// Cuts a sentence at the last character that still fits into a frame.
pub(crate) fn clip(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(Limits::DEFAULT.text_bytes_max));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_cut_between_characters() {
        assert_eq!(clip("short".to_owned()), "short");
        assert_eq!(clip("x".repeat(600)).len(), 512);
        let cut = clip(format!("x{}", "ä".repeat(300)));
        assert_eq!(cut.len(), 511);
        assert!(cut.ends_with('ä'));
    }
}
