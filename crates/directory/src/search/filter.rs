//! Filters and sort expressions as trees, what they match, and how they are written.
//!
//! ```text
//! filter  := and { OR and }          and := not { AND not }          not := [ NOT ] prim
//! prim    := ( filter ) | operand compare value
//! operand := id | name | properties.<key> | capacity | created | players | has_room | accepts
//! key     := letters, digits, _ and - | 'text' | "text"
//! compare := = | <> | < | > | <= | >=      (text and yes/no: only = and <>)
//! value   := number | true | false | 'text' | "text"      (\' \" \\ inside)
//! sort    := operand ( ASC | DESC )
//! ```
//!
//! GameLift's own names of operands are read as well.

use std::fmt;

use crate::game::GameView;

/// Why an expression cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilterError {
    /// Byte offset into the expression at which reading stopped.
    pub at: usize,
    /// What was expected there.
    pub expected: String,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: expected {}", self.at, self.expected)
    }
}

impl std::error::Error for FilterError {}

/// What can be asked about a Game.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Operand {
    /// `id`: the Game's id as it is printed; a text, so only `=` and `<>` can be parsed.
    Id,
    /// `name`: may be empty; a text, so only `=` and `<>` can be parsed.
    Name,
    /// `properties.<key>`, with the key; a Game without it is `<>` every value and `=` none.
    Property(String),
    /// How many seats it has.
    Capacity,
    /// When it was created, in milliseconds since 1970.
    Created,
    /// How many seats are reserved or in use.
    Players,
    /// Whether a seat is free.
    HasRoom,
    /// Whether new players may reserve.
    Accepts,
}

/// The names of operands: ours, and GameLift's.
pub(crate) const OPERANDS: [(&str, &str, Operand); 7] = [
    ("id", "gameSessionId", Operand::Id),
    ("name", "gameSessionName", Operand::Name),
    ("capacity", "maximumSessions", Operand::Capacity),
    ("created", "creationTimeMillis", Operand::Created),
    ("players", "playerSessionCount", Operand::Players),
    ("has_room", "hasAvailablePlayerSessions", Operand::HasRoom),
    // GameLift calls it a policy and has no operand for it.
    ("accepts", "accepts", Operand::Accepts),
];

/// What stands before the key of a property: ours, and GameLift's.
pub(crate) const PROPERTIES: [&str; 2] = ["properties.", "gameSessionProperties."];

/// How two values are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compare {
    /// `=`
    Equal,
    /// `<>`
    Other,
    /// `<`
    Less,
    /// `>`
    More,
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
}

/// What an operand is compared with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A whole number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// A text; case counts.
    Text(String),
}

/// A filter expression as a tree; a parsed one has at most 32 brackets within each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Filter {
    /// Matches if any part does; the parser makes it of two parts or more.
    Or(Vec<Filter>),
    /// Matches if every part does; the parser makes it of two parts or more.
    And(Vec<Filter>),
    /// Matches what the inner filter does not, so also Games without the compared property.
    Not(Box<Filter>),
    /// One comparison; the parser makes only those whose value is of the operand's kind.
    Test(Operand, Compare, Value),
}

/// A sort expression: the order of the Games over all pages of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sort {
    /// What to sort by; Games without the property come last in both directions.
    pub by: Operand,
    /// The largest first.
    pub is_descending: bool,
}

/// A value of a Game that can be sorted by. Those that are missing come last.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Key {
    Number(u64),
    Text(Box<str>),
    Missing,
}

/// The characters of a text that sorting looks at. Behind them the order is that of ids.
const KEY_CHARS_MAX: usize = 64;

impl Key {
    pub(crate) fn text(text: &str) -> Self {
        let end = text.char_indices().nth(KEY_CHARS_MAX).map_or(text.len(), |(end, _)| end);
        Self::Text(text[..end].into())
    }
}

impl Operand {
    /// What it is of a Game.
    pub(crate) fn key(&self, game: &GameView) -> Key {
        match self {
            Self::Id => Key::text(&game.id.to_string()),
            Self::Name => Key::text(&game.spec.name),
            Self::Property(key) => {
                game.spec.properties.get(key).map_or(Key::Missing, |value| Key::text(value))
            }
            Self::Capacity => Key::Number(u64::from(game.spec.capacity)),
            Self::Created => Key::Number(game.created.0),
            Self::Players => Key::Number(u64::from(game.reserved + game.active)),
            Self::HasRoom => Key::Number(u64::from(game.free() > 0)),
            Self::Accepts => Key::Number(u64::from(game.accepts())),
        }
    }

    /// Whether it changes with the seats or the match of a Game. All others change only with the Game's
    /// settings, or never change.
    pub(crate) fn is_about_seats(&self) -> bool {
        matches!(self, Self::Players | Self::HasRoom | Self::Accepts)
    }

    /// What a value it can be compared with is called; only numbers have an order.
    pub(crate) fn value_name(&self) -> &'static str {
        match self {
            Self::Capacity | Self::Created | Self::Players => "a number",
            Self::HasRoom | Self::Accepts => "true or false",
            Self::Id | Self::Name | Self::Property(_) => "a quoted text",
        }
    }

    pub(crate) fn has_order(&self) -> bool {
        matches!(self, Self::Capacity | Self::Created | Self::Players)
    }

    pub(crate) fn takes(&self, value: &Value) -> bool {
        match value {
            Value::Number(_) => self.has_order(),
            Value::Flag(_) => matches!(self, Self::HasRoom | Self::Accepts),
            Value::Text(_) => matches!(self, Self::Id | Self::Name | Self::Property(_)),
        }
    }
}

impl Compare {
    fn holds<T: Ord>(self, one: &T, other: &T) -> bool {
        match self {
            Self::Equal => one == other,
            Self::Other => one != other,
            Self::Less => one < other,
            Self::More => one > other,
            Self::AtMost => one <= other,
            Self::AtLeast => one >= other,
        }
    }

    /// How it is written.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Other => "<>",
            Self::Less => "<",
            Self::More => ">",
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
        }
    }
}

impl Filter {
    /// `has_room = true`.
    pub(crate) fn has_room() -> Self {
        Self::Test(Operand::HasRoom, Compare::Equal, Value::Flag(true))
    }

    /// Whether it matches a Game. One without a property is other than every value of it.
    #[must_use]
    pub fn matches(&self, game: &GameView) -> bool {
        match self {
            Self::Or(any) => any.iter().any(|filter| filter.matches(game)),
            Self::And(all) => all.iter().all(|filter| filter.matches(game)),
            Self::Not(filter) => !filter.matches(game),
            Self::Test(operand, compare, value) => test(operand, *compare, value, game),
        }
    }
}

fn test(operand: &Operand, compare: Compare, value: &Value, game: &GameView) -> bool {
    match (operand, value) {
        (Operand::Id, Value::Text(text)) => compare.holds(&game.id.to_string(), text),
        (Operand::Name, Value::Text(text)) => compare.holds(&game.spec.name, text),
        (Operand::Property(key), Value::Text(text)) => match game.spec.properties.get(key) {
            Some(known) => compare.holds(known, text),
            None => compare == Compare::Other,
        },
        (Operand::HasRoom, Value::Flag(flag)) => compare.holds(&(game.free() > 0), flag),
        (Operand::Accepts, Value::Flag(flag)) => compare.holds(&game.accepts(), flag),
        (operand, Value::Number(number)) => {
            compare.holds(&operand.key(game), &Key::Number(*number))
        }
        // A value of another kind than the operand's matches nothing, whatever the comparison.
        (Operand::Id | Operand::Name | Operand::Property(_), Value::Flag(_))
        | (Operand::HasRoom | Operand::Accepts, Value::Text(_))
        | (
            Operand::Capacity | Operand::Created | Operand::Players,
            Value::Text(_) | Value::Flag(_),
        ) => false,
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Property(key) = self {
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
            let prefix = PROPERTIES[0];
            return if !key.is_empty() && key.chars().all(is_plain) {
                write!(f, "{prefix}{key}")
            } else {
                write!(f, "{prefix}{}", Value::Text(key.clone()))
            };
        }
        let known = OPERANDS.iter().find(|(.., operand)| operand == self);
        f.write_str(known.map_or("", |(name, ..)| name))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Text(text) => {
                write!(f, "'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
            }
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Or(any) => join(f, any, " OR ", |it| matches!(it, Self::Or(_))),
            Self::And(all) => join(f, all, " AND ", |it| matches!(it, Self::Or(_) | Self::And(_))),
            Self::Not(filter) if matches!(**filter, Self::Test(..)) => write!(f, "NOT {filter}"),
            Self::Not(filter) => write!(f, "NOT ({filter})"),
            Self::Test(operand, compare, value) => {
                write!(f, "{operand} {} {value}", compare.sign())
            }
        }
    }
}

fn join(
    f: &mut fmt::Formatter<'_>,
    parts: &[Filter],
    between: &str,
    needs_brackets: impl Fn(&Filter) -> bool,
) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        if needs_brackets(part) {
            write!(f, "({part})")?;
        } else {
            write!(f, "{part}")?;
        }
    }
    Ok(())
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.by, if self.is_descending { "DESC" } else { "ASC" })
    }
}
