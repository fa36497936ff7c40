//! The scanner on the spots where scanners go wrong.

use super::*;

fn source(text: &str) -> Source {
    Source::new("crates/core/src/a.rs", text)
}

#[test]
fn comments_and_literals_are_blanked_and_offsets_kept() {
    let text =
        "let a = \"tokio\"; // tokio ü\n/* tokio /* deep */ tokio */ let b = r#\"to\"kio\"#;\n";
    let scanned = source(text);
    assert_eq!(scanned.code.len(), text.len());
    assert!(!scanned.code.contains("kio"));
    assert!(scanned.code.contains("let b = r#\""));
    assert_eq!(scanned.literals, ["tokio", "to\"kio"]);
}

#[test]
fn lifetimes_are_no_char_literals() {
    let scanned = source("fn a<'a>(x: &'a str) -> char { let q = '\"'; let e = '\\''; '{' }");
    assert!(scanned.code.contains("fn a<'a>(x: &'a str)"));
    assert!(!scanned.code.contains('"'));
    assert_eq!(scanned.code.matches('{').count(), 1);
}

#[test]
fn raw_identifiers_are_no_strings() {
    let scanned = source("let r#type = 1; let s = \"x\";");
    assert_eq!(scanned.literals, ["x"]);
}

#[test]
fn test_items_are_known_by_line() {
    let scanned = source(
        "fn a() {}\n#[cfg(test)]\n#[allow(unused)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n\
         #[cfg(test)]\nuse x::y;\nfn d() {}\n",
    );
    let marks: Vec<usize> = (1..=10).filter(|line| scanned.is_test_line(*line)).collect();
    assert_eq!(marks, [2, 3, 4, 5, 6, 8, 9]);
}

#[test]
fn a_cfg_on_a_field_marks_no_more_than_the_field() {
    let scanned =
        source("struct A {\n    #[cfg(test)]\n    seen: u8,\n    kept: u8,\n}\nfn b() {}\n");
    assert!(!scanned.is_test_line(4));
    assert!(!scanned.is_test_line(6));
}

#[test]
fn words_do_not_match_inside_longer_words() {
    let scanned = source("operand::x(); rand::x(); MyHashMap; HashMap::new();");
    assert_eq!(scanned.words("rand::").count(), 1);
    assert_eq!(scanned.words("HashMap").count(), 1);
}

#[test]
fn whole_files_can_be_tests() {
    assert!(Source::new("crates/core/src/ring/tests.rs", "fn a() {}").is_test_line(1));
    assert!(Source::new("crates/core/tests/story.rs", "fn a() {}").is_test_line(1));
    assert!(source("#![cfg(test)]\nfn a() {}").is_test_line(2));
}

#[test]
fn an_unclosed_literal_ends_the_scan_quietly() {
    for text in ["\"open", "r#\"open\"", "/* open", "'\\", "b\"", "{ ( ["] {
        assert_eq!(source(text).code.len(), text.len());
    }
}
