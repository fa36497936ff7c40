//! Reading filters and sort expressions. Any text gives a tree or an error with its place and what
//! was expected there; length and depth are bounded, so that no text costs more than its length.

use winnow::ascii::{Caseless, dec_uint, multispace0};
use winnow::combinator::{
    alt, cut_err, delimited, eof, fail, not, opt, peek, preceded, repeat, terminated,
};
use winnow::error::{ContextError, ErrMode, StrContext, StrContextValue};
use winnow::stream::{LocatingSlice, Stateful};
use winnow::token::{any, none_of, one_of, take_while};
use winnow::{ModalResult, Parser};

use super::filter::{Compare, Filter, FilterError, OPERANDS, Operand, PROPERTIES, Sort, Value};
use crate::limits;

/// What a comparison begins with, and what a sort expression does.
const FILTER_OPERAND: &str =
    "id, name, properties.<key>, capacity, created, players, has_room, accepts or a bracket";
const SORT_OPERAND: &str =
    "id, name, properties.<key>, capacity, created, players, has_room or accepts";

/// The text, and how deep in brackets we are.
type Input<'a> = Stateful<LocatingSlice<&'a str>, usize>;

impl Filter {
    /// Reads a filter.
    ///
    /// # Errors
    /// The text is no filter; where, and what was expected.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        read(text, terminated(either, end("AND, OR or the end")))
    }
}

impl Sort {
    /// Reads a sort expression.
    ///
    /// # Errors
    /// The text is none; where, and what was expected.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let direction = alt((word("ASC").value(false), word("DESC").value(true)));
        let sort = (operand(SORT_OPERAND), cut_err(direction).context(expected("ASC or DESC")));
        let sort = sort.map(|(by, is_descending)| Sort { by, is_descending });
        read(text, terminated(sort, end("the end")))
    }
}

fn read<'a, T>(
    text: &'a str,
    mut parser: impl Parser<Input<'a>, T, ErrMode<ContextError>>,
) -> Result<T, FilterError> {
    if text.chars().count() > limits::FILTER_MAX {
        let at = text.char_indices().nth(limits::FILTER_MAX).map_or(0, |(at, _)| at);
        return Err(FilterError { at, expected: "at most 1024 characters".to_owned() });
    }
    let input = Stateful { input: LocatingSlice::new(text), state: 0 };
    parser.parse(input).map_err(|error| {
        // The innermost says it best.
        let wanted = error.inner().context().find_map(|context| match context {
            StrContext::Expected(value) => Some(value.to_string()),
            _ => None,
        });
        let expected = wanted.unwrap_or_else(|| "a filter".to_owned());
        FilterError { at: error.offset(), expected }
    })
}

fn expected(what: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(what))
}

fn end<'a>(what: &'static str) -> impl Parser<Input<'a>, (), ErrMode<ContextError>> {
    (multispace0, cut_err(eof).context(expected(what))).void()
}

/// A word of the grammar, and not the beginning of a longer one.
fn word<'a>(text: &'static str) -> impl Parser<Input<'a>, (), ErrMode<ContextError>> {
    (multispace0, Caseless(text), not(one_of(is_name))).void()
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.')
}

fn either(input: &mut Input<'_>) -> ModalResult<Filter> {
    let first = all(input)?;
    let rest: Vec<Filter> = repeat(0.., preceded(word("OR"), cut_err(all))).parse_next(input)?;
    Ok(joined(first, rest, Filter::Or))
}

fn all(input: &mut Input<'_>) -> ModalResult<Filter> {
    let first = negated(input)?;
    let rest: Vec<Filter> =
        repeat(0.., preceded(word("AND"), cut_err(negated))).parse_next(input)?;
    Ok(joined(first, rest, Filter::And))
}

fn joined(first: Filter, rest: Vec<Filter>, join: fn(Vec<Filter>) -> Filter) -> Filter {
    if rest.is_empty() {
        return first;
    }
    join(std::iter::once(first).chain(rest).collect())
}

fn negated(input: &mut Input<'_>) -> ModalResult<Filter> {
    match opt(word("NOT")).parse_next(input)? {
        Some(()) => cut_err(primary).map(|filter| Filter::Not(Box::new(filter))).parse_next(input),
        None => primary(input),
    }
}

fn primary(input: &mut Input<'_>) -> ModalResult<Filter> {
    multispace0.parse_next(input)?;
    if opt('(').parse_next(input)?.is_none() {
        return test(input);
    }
    input.state += 1;
    if input.state > limits::FILTER_DEPTH_MAX {
        return cut_err(fail)
            .context(expected("at most 32 brackets within each other"))
            .parse_next(input);
    }
    let filter = cut_err(either).parse_next(input)?;
    multispace0.parse_next(input)?;
    cut_err(')').context(expected("a closing bracket")).parse_next(input)?;
    input.state -= 1;
    Ok(filter)
}

fn test(input: &mut Input<'_>) -> ModalResult<Filter> {
    let operand = operand(FILTER_OPERAND).parse_next(input)?;
    multispace0.parse_next(input)?;
    let compare = if operand.has_order() {
        cut_err(alt((order, equality)))
            .context(expected("=, <>, <, >, <= or >="))
            .parse_next(input)?
    } else {
        cut_err(equality).context(expected("= or <>")).parse_next(input)?
    };
    multispace0.parse_next(input)?;
    let wanted = expected(operand.value_name());
    let fitting = value.verify(|value| operand.takes(value));
    let value = cut_err(fitting).context(wanted).parse_next(input)?;
    Ok(Filter::Test(operand, compare, value))
}

fn equality(input: &mut Input<'_>) -> ModalResult<Compare> {
    alt(("=".value(Compare::Equal), "<>".value(Compare::Other))).parse_next(input)
}

fn order(input: &mut Input<'_>) -> ModalResult<Compare> {
    alt((
        "<>".value(Compare::Other),
        "<=".value(Compare::AtMost),
        ">=".value(Compare::AtLeast),
        "<".value(Compare::Less),
        ">".value(Compare::More),
    ))
    .parse_next(input)
}

fn operand<'a>(wanted: &'static str) -> impl Parser<Input<'a>, Operand, ErrMode<ContextError>> {
    let property = preceded(alt((PROPERTIES[0], PROPERTIES[1])), cut_err(key));
    let name = take_while(1.., is_name).verify_map(|name: &str| {
        let known = OPERANDS.iter().find(|(ours, theirs, _)| name == *ours || name == *theirs);
        known.map(|(.., operand)| operand.clone())
    });
    let operand = cut_err(alt((property.map(Operand::Property), name)));
    preceded(multispace0, operand.context(expected(wanted)))
}

/// The key of a property: a plain one, or any in quotes.
fn key(input: &mut Input<'_>) -> ModalResult<String> {
    let wanted = "a property key of 1 to 32 letters, digits, '_' and '-', or any in quotes";
    if opt(peek(one_of(['\'', '"']))).parse_next(input)?.is_some() {
        let is_key = |key: &String| (1..=limits::PROPERTY_KEY_MAX).contains(&key.chars().count());
        let quoted = alt((quoted('\''), quoted('"'))).verify(is_key);
        return quoted.context(expected(wanted)).parse_next(input);
    }
    let plain = take_while(1..=limits::PROPERTY_KEY_MAX, |it: char| is_name(it) && it != '.');
    let plain = terminated(plain, not(one_of(is_name))).map(|key: &str| key.to_owned());
    plain.context(expected(wanted)).parse_next(input)
}

fn value(input: &mut Input<'_>) -> ModalResult<Value> {
    let number = terminated(dec_uint::<_, u64, _>, not(one_of(is_name)));
    alt((
        quoted('\'').map(Value::Text),
        quoted('"').map(Value::Text),
        word("true").value(Value::Flag(true)),
        word("false").value(Value::Flag(false)),
        number.map(Value::Number),
    ))
    .parse_next(input)
}

fn quoted<'a>(quote: char) -> impl Parser<Input<'a>, String, ErrMode<ContextError>> {
    let letter = alt((preceded('\\', any), none_of([quote, '\\'])));
    delimited(quote, repeat(0.., letter), quote)
}
