//! Searches as the simulator draws them, writes them down and evaluates them. It shares nothing with
//! the directory's parser, evaluator and indexes: it reads the fields of a [`GameView`] one by one and
//! looks at every Game. Of the rules it knows only what `docs/DIRECTORY.md` says.

use std::cmp::Ordering;
use std::fmt;

use rejoin_directory::game::{GameView, Standing, Status};
use rejoin_testkit::parts::rng::Rng;

use super::world::LOCATIONS;

/// Characters of a text that a sort looks at; behind them ids decide.
const SORTED_CHARS: usize = 64;

/// What a search asks about a Game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// The Game's id, as it is printed.
    Id,
    /// Its name.
    Name,
    /// A property: `mode` is indexed by every fleet, `color` by none.
    Property(&'static str),
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

const FIELDS: [Field; 9] = [
    Field::Id,
    Field::Name,
    Field::Property("mode"),
    Field::Property("color"),
    Field::Capacity,
    Field::Created,
    Field::Players,
    Field::HasRoom,
    Field::Accepts,
];

/// The value of a field.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Datum {
    Number(u64),
    Flag(bool),
    Text(String),
    /// The Game does not have the property. Sorts put it last in both directions.
    Missing,
}

impl Field {
    fn of(self, game: &GameView) -> Datum {
        let taken = game.reserved + game.active;
        match self {
            Self::Id => Datum::Text(game.id.to_string()),
            Self::Name => Datum::Text(game.spec.name.clone()),
            Self::Property(key) => match game.spec.properties.get(key) {
                Some(value) => Datum::Text(value.clone()),
                None => Datum::Missing,
            },
            Self::Capacity => Datum::Number(u64::from(game.spec.capacity)),
            Self::Created => Datum::Number(game.created.0),
            Self::Players => Datum::Number(u64::from(taken)),
            Self::HasRoom => Datum::Flag(taken < game.spec.capacity),
            Self::Accepts => Datum::Flag(game.spec.accepts && !game.in_match),
        }
    }

    fn name(self, is_gamelift: bool) -> String {
        let names = match self {
            Self::Id => ["id", "gameSessionId"],
            Self::Name => ["name", "gameSessionName"],
            Self::Capacity => ["capacity", "maximumSessions"],
            Self::Created => ["created", "creationTimeMillis"],
            Self::Players => ["players", "playerSessionCount"],
            Self::HasRoom => ["has_room", "hasAvailablePlayerSessions"],
            Self::Accepts => ["accepts", "accepts"],
            Self::Property(key) if is_gamelift => return format!("gameSessionProperties.{key}"),
            Self::Property(key) => return format!("properties.{key}"),
        };
        names[usize::from(is_gamelift)].to_owned()
    }
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Text(text) => write!(f, "'{text}'"),
            Self::Missing => f.write_str("''"),
        }
    }
}

/// A filter.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    Test { field: Field, sign: &'static str, value: Datum },
}

impl Condition {
    fn draw(rng: &mut Rng, sample: Option<&GameView>, depth: u32) -> Self {
        let many = |rng: &mut Rng| {
            let count = rng.range(2, 3);
            (0..count).map(|_| Self::draw(rng, sample, depth - 1)).collect()
        };
        match rng.below(8) {
            0 if depth > 0 => Self::Any(many(rng)),
            1..3 if depth > 0 => Self::All(many(rng)),
            3 if depth > 0 => Self::Not(Box::new(Self::draw(rng, sample, depth - 1))),
            _ => Self::draw_test(rng, sample),
        }
    }

    fn draw_test(rng: &mut Rng, sample: Option<&GameView>) -> Self {
        let field = *rng.pick(&FIELDS);
        let one_of = |rng: &mut Rng, texts: &[&str]| Datum::Text((*rng.pick(texts)).to_owned());
        // A value that some Game has makes the bounds of a comparison matter.
        let known = sample.filter(|_| rng.per_mille(600)).map(|game| field.of(game));
        let known = known.filter(|known| *known != Datum::Missing);
        let value = known.unwrap_or_else(|| match field {
            Field::Id => Datum::Text("00".to_owned()),
            Field::Name => one_of(rng, &["game 0", "game 1", "game 9"]),
            Field::Property("mode") => one_of(rng, &["duel", "race", "none"]),
            Field::Property(_) => one_of(rng, &["red", "blue", "none"]),
            Field::Capacity => Datum::Number(rng.range(1, 6)),
            Field::Created => Datum::Number(rng.range(1, u64::MAX - 1)),
            Field::Players => Datum::Number(rng.below(5)),
            Field::HasRoom | Field::Accepts => Datum::Flag(!rng.per_mille(300)),
        });
        let sign = match &value {
            Datum::Number(_) => *rng.pick(&["=", "<>", "<", ">", "<=", ">="]),
            _ => *rng.pick(&["=", "=", "<>"]),
        };
        Self::Test { field, sign, value }
    }

    fn holds(&self, game: &GameView) -> bool {
        match self {
            Self::Any(parts) => parts.iter().any(|part| part.holds(game)),
            Self::All(parts) => parts.iter().all(|part| part.holds(game)),
            Self::Not(part) => !part.holds(game),
            Self::Test { field, sign, value } => {
                let known = field.of(game);
                match *sign {
                    "=" => known == *value,
                    "<>" => known != *value,
                    "<" => known < *value,
                    ">" => known > *value,
                    "<=" => known <= *value,
                    _ => known >= *value,
                }
            }
        }
    }

    fn write(&self, is_gamelift: bool) -> String {
        let join = |parts: &[Self], between: &str| {
            let parts = parts.iter().map(|part| match part {
                Self::Test { .. } => part.write(is_gamelift),
                _ => format!("({})", part.write(is_gamelift)),
            });
            parts.collect::<Vec<_>>().join(between)
        };
        match self {
            Self::Any(parts) => join(parts, " OR "),
            Self::All(parts) => join(parts, " AND "),
            Self::Not(part) => format!("NOT ({})", part.write(is_gamelift)),
            Self::Test { field, sign, value } => {
                format!("{} {sign} {value}", field.name(is_gamelift))
            }
        }
    }
}

/// A search of the Games of one fleet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query {
    /// Only Games that run here; none: anywhere.
    pub location: Option<&'static str>,
    condition: Option<Condition>,
    /// By what, and whether the largest comes first; none: by id.
    sort: Option<(Field, bool)>,
    is_gamelift: bool,
}

impl Query {
    /// Draws a search; values are taken from the sample, a Game that was seen before.
    pub fn draw(rng: &mut Rng, sample: Option<&GameView>) -> Self {
        let has_room =
            Condition::Test { field: Field::HasRoom, sign: "=", value: Datum::Flag(true) };
        let condition = match rng.below(10) {
            0..2 => None,
            // The directory keeps orders of their own for Games with room.
            2 => Some(has_room),
            3 => Some(Condition::All(vec![has_room, Condition::draw(rng, sample, 1)])),
            _ => Some(Condition::draw(rng, sample, 2)),
        };
        let sort = match rng.below(10) {
            0..2 => None,
            // What changes most: seats come and go all the time.
            2..5 => Some((Field::Players, rng.per_mille(500))),
            _ => Some((*rng.pick(&FIELDS), rng.per_mille(500))),
        };
        let location = rng.per_mille(150).then(|| *rng.pick(LOCATIONS));
        Self { location, condition, sort, is_gamelift: rng.per_mille(200) }
    }

    /// The search that shows every listed Game.
    #[must_use]
    pub fn any() -> Self {
        Self { location: None, condition: None, sort: None, is_gamelift: false }
    }

    /// The filter as it is sent.
    #[must_use]
    pub fn filter(&self) -> String {
        self.condition.as_ref().map(|it| it.write(self.is_gamelift)).unwrap_or_default()
    }

    /// The sort expression as it is sent.
    #[must_use]
    pub fn sort(&self) -> String {
        let Some((field, is_descending)) = self.sort else { return String::new() };
        let direction = if is_descending { "DESC" } else { "ASC" };
        format!("{} {direction}", field.name(self.is_gamelift))
    }

    /// Whether the search must show a Game that is as this view says.
    #[must_use]
    pub fn shows(&self, game: &GameView) -> bool {
        game.status == Status::Active
            && game.spec.visible
            && game.standing == Standing::Present
            && self.location.is_none_or(|location| game.spec.location == location)
            && self.condition.as_ref().is_none_or(|it| it.holds(game))
    }

    /// Which of two Games comes first. Among equals ids decide, in the direction of the sort.
    #[must_use]
    pub fn order(&self, one: &GameView, other: &GameView) -> Ordering {
        let by_id = one.id.0.cmp(&other.id.0);
        let Some((field, is_descending)) = self.sort else { return by_id };
        let directed = |order: Ordering| if is_descending { order.reverse() } else { order };
        if field == Field::Id {
            return directed(by_id);
        }
        let (one, other) = (sorted(field.of(one)), sorted(field.of(other)));
        match (one == Datum::Missing, other == Datum::Missing) {
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            _ => directed(one.cmp(&other).then(by_id)),
        }
    }
}

fn sorted(value: Datum) -> Datum {
    match value {
        Datum::Text(text) => Datum::Text(text.chars().take(SORTED_CHARS).collect()),
        value => value,
    }
}
