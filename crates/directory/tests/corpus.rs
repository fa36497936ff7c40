//! Replays the seeds of the fuzz target `search` as a plain test.
//!
//! `REJOIN_BLESS=1 cargo test -p rejoin-directory --test corpus` makes the seeds anew.

#[allow(unreachable_pub, dead_code)] // Public where it lives.
#[path = "../../../fuzz/src/replay.rs"]
mod replay;
#[allow(unreachable_pub)]
#[path = "../../../fuzz/src/search.rs"]
mod search;

#[test]
fn the_seeds_of_search_hold() {
    replay::replay("search", search::search, || {
        let texts = [
            "",
            "creationTimeMillis DESC",
            "gameSessionProperties.map ASC",
            "gameSessionName = 'night watch' AND hasAvailablePlayerSessions = true",
            "maximumSessions >= 8 AND (playerSessionCount < 4 OR NOT gameSessionId = 'x')",
            "gameSessionProperties.mode = 'it''s' OR gameSessionProperties.rank != '7'",
            "((((((((((hasAvailablePlayerSessions = true))))))))))",
            "gameSessionName = 'unclosed",
            "maximumSessions > -1",
            "gameSessionName = 'b\u{fc}cher' AND",
        ];
        let named = texts.iter().enumerate();
        named.map(|(at, text)| (format!("{at}.txt"), text.as_bytes().to_vec())).collect()
    });
}
