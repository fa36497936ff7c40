//! Names that players give themselves. They are shown to others, so what cannot be seen, or turns the
//! writing round, is left out. Escaping is the business of whoever shows them.

/// The longest name, in characters.
pub const NAME_CHARS_MAX: usize = 16;

/// The name as it is shown; none if nothing is left of it.
pub(crate) fn clean(asked: &str) -> Option<String> {
    let mut name = String::new();
    let mut count = 0;
    // Far more than a name has: a client that sends 60 kB is not read to the end.
    for char in asked.chars().take(8 * NAME_CHARS_MAX) {
        let char = if char.is_whitespace() { ' ' } else { char };
        let is_doubled = char == ' ' && (name.is_empty() || name.ends_with(' '));
        if char.is_control() || is_invisible(char) || is_doubled {
            continue;
        }
        if count == NAME_CHARS_MAX {
            break;
        }
        name.push(char);
        count += 1;
    }
    name.truncate(name.trim_end().len());
    (!name.is_empty()).then_some(name)
}

/// Characters that show nothing, change the direction of others, or pile up on them.
fn is_invisible(char: char) -> bool {
    matches!(
        u32::from(char),
        0xAD | 0x300..=0x36F
            | 0x61C
            | 0x115F..=0x1160
            | 0x180B..=0x180E
            | 0x200B..=0x200F
            | 0x2028..=0x202E
            | 0x2060..=0x206F
            | 0x20D0..=0x20FF
            | 0x3164
            | 0xFE00..=0xFE0F
            | 0xFE20..=0xFE2F
            | 0xFEFF
            | 0xFFA0
            | 0xFFF0..=0xFFFB
            | 0xE0000..=0xE0FFF
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_as_they_are_typed_and_bounded() {
        assert_eq!(clean("Ann"), Some("Ann".to_owned()));
        assert_eq!(clean("  Ann \n of\t Cleves "), Some("Ann of Cleves".to_owned()));
        assert_eq!(clean("<b>Ann</b>"), Some("<b>Ann</b>".to_owned()));
        assert_eq!(clean(&"ä".repeat(70_000)).map(|name| name.chars().count()), Some(16));
    }

    #[test]
    fn what_cannot_be_seen_is_no_name() {
        assert_eq!(clean(""), None);
        assert_eq!(clean(" \u{200b}\u{202e}\0\u{7f} "), None);
        assert_eq!(clean("\u{202e}nnA"), Some("nnA".to_owned()));
        assert_eq!(clean("A\u{301}\u{302}\u{303}nn"), Some("Ann".to_owned()));
    }
}
