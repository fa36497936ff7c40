//! Filters and sort expressions: any text gives a tree or an error with a place, and what is
//! written is read as the same.

use proptest::prelude::*;
use rejoin_directory::search::{Compare, Filter, Operand, Sort, Value};

fn error(text: &str) -> (usize, String) {
    let error = Filter::parse(text).expect_err(text);
    (error.at, error.expected)
}

#[test]
fn errors_say_where_and_what_was_expected() {
    let operand =
        "id, name, properties.<key>, capacity, created, players, has_room, accepts or a bracket";
    let cases = [
        ("", 0, operand),
        ("size = 1", 0, operand),
        ("capacity = 1 AND", 16, operand),
        ("capacity = 1 AND size = 2", 17, operand),
        ("capacity", 8, "=, <>, <, >, <= or >="),
        ("capacity = 'one'", 11, "a number"),
        ("capacity = 99999999999999999999", 11, "a number"),
        ("capacity = 1x", 12, "a number"),
        ("name < 'a'", 5, "= or <>"),
        ("name = a", 7, "a quoted text"),
        ("name = 'a", 7, "a quoted text"),
        ("has_room = 1", 11, "true or false"),
        ("(capacity = 1", 13, "a closing bracket"),
        ("capacity = 1)", 12, "AND, OR or the end"),
        ("capacity = 1 capacity = 2", 13, "AND, OR or the end"),
        ("properties. = 'a'", 11, "a property key of 1 to 32 letters, digits, '_' and '-'"),
        ("properties.a.b = 'a'", 12, "a property key of 1 to 32 letters, digits, '_' and '-'"),
    ];
    for (text, at, expected) in cases {
        let (found_at, found) = error(text);
        assert!(found.contains(expected), "{text}: {found}");
        assert_eq!(found_at, at, "{text}: {found}");
    }
}

#[test]
fn length_and_depth_are_bounded() {
    let fit = format!("name = '{}'", "ä".repeat(1_024 - 9));
    assert!(Filter::parse(&fit).is_ok());
    assert_eq!(error(&format!("{fit} ")).1, "at most 1024 characters");
    let nested = |depth: usize| format!("{}capacity=1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Filter::parse(&nested(32)).is_ok());
    let (at, expected) = error(&nested(33));
    assert!(expected.contains("32 brackets"), "{expected}");
    assert_eq!(at, 33);
    let wide = vec!["(capacity=1)"; 60].join(" OR ");
    assert!(Filter::parse(&wide).is_ok(), "brackets side by side are not deep");
}

#[test]
fn and_binds_closer_than_or_and_not_closer_than_both() {
    let read = |text| Filter::parse(text).unwrap();
    assert_eq!(
        read("NOT capacity=1 AND players=2 OR has_room=true"),
        read("((NOT (capacity=1)) AND (players=2)) OR (has_room=true)")
    );
    assert_eq!(read("capacity=1 and not players=2"), read("capacity=1 AND NOT players=2"));
    let escaped = Filter::Test(Operand::Name, Compare::Equal, Value::Text("it's \"so\\".into()));
    assert_eq!(read(r#"name = 'it\'s "so\\'"#), escaped);
    assert_eq!(read(r#"name = "it's \"so\\""#), escaped);
}

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        Just(Operand::Id),
        Just(Operand::Name),
        "[A-Za-z0-9_-]{1,32}".prop_map(Operand::Property),
        Just(Operand::Capacity),
        Just(Operand::Created),
        Just(Operand::Players),
        Just(Operand::HasRoom),
    ]
}

fn test() -> impl Strategy<Value = Filter> {
    let all = [
        Compare::Equal,
        Compare::Other,
        Compare::Less,
        Compare::More,
        Compare::AtMost,
        Compare::AtLeast,
    ];
    (operand(), 0..6_usize, any::<u64>(), any::<bool>(), "\\PC{0,12}").prop_map(
        move |(operand, compare, number, flag, text)| match operand {
            Operand::Capacity | Operand::Created | Operand::Players => {
                Filter::Test(operand, all[compare], Value::Number(number))
            }
            Operand::HasRoom => Filter::Test(operand, all[compare % 2], Value::Flag(flag)),
            _ => Filter::Test(operand, all[compare % 2], Value::Text(text)),
        },
    )
}

fn filter() -> impl Strategy<Value = Filter> {
    test().prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Filter::Or),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Filter::And),
            inner.prop_map(|filter| Filter::Not(Box::new(filter))),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_the_same(filter in filter()) {
        let text = filter.to_string();
        prop_assume!(text.chars().count() <= 1_024);
        prop_assert_eq!(Filter::parse(&text), Ok(filter), "{}", text);
    }

    #[test]
    fn a_sort_expression_that_is_written_is_read_as_the_same(by in operand(), is_descending: bool) {
        let sort = Sort { by, is_descending };
        prop_assert_eq!(Sort::parse(&sort.to_string()), Ok(sort));
    }

    #[test]
    fn any_text_gives_a_tree_or_an_error_with_a_place(text in "\\PC{0,80}") {
        if let Err(error) = Filter::parse(&text) {
            prop_assert!(error.at <= text.len() && !error.expected.is_empty());
            prop_assert!(text.is_char_boundary(error.at));
        }
        let _ = Sort::parse(&text);
    }

    #[test]
    fn any_mix_of_words_gives_a_tree_or_an_error_with_a_place(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "AND", "OR", "NOT", "(", ")", "capacity", "name", "properties.", "mode", "=", "<>",
                ">=", "1", "'a'", "\"", "'", "\\", "true", " ", "has_room", "-", "gameSessionName",
            ]),
            0..24,
        ),
        between in prop::sample::select(vec!["", " "]),
    ) {
        let text = words.join(between);
        match Filter::parse(&text) {
            Ok(filter) => prop_assert_eq!(Filter::parse(&filter.to_string()), Ok(filter)),
            Err(error) => prop_assert!(error.at <= text.len() && !error.expected.is_empty()),
        }
    }
}
