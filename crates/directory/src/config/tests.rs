//! The written defaults are the code's.

use std::time::Duration;

use super::DirectoryConfig;

fn ms(while_: Duration) -> String {
    while_.as_millis().to_string()
}

#[test]
fn the_defaults_of_a_directory_are_those_that_are_written_down() {
    // Taken apart by name: a field that is added must be written down.
    let DirectoryConfig {
        seat_hold,
        seat_hold_max,
        claim_limit,
        activation_limit,
        update_limit,
        destroy_limit,
        empty_limit,
        retention,
        health_every,
        health_limit,
        away_limit,
        games_max,
        hosts_max,
        fleets_max,
        aliases_max,
        queues_max,
        placements_max,
        placements_kept_max,
        attempts_max,
        seats_kept_max,
        open_seats_max,
        uncommitted_max,
        page_max,
        search_work_max,
        subscriptions_max,
        news_max,
        news_limit,
    } = DirectoryConfig::default();
    let known = [
        ("seat_hold_ms", ms(seat_hold)),
        ("seat_hold_max_ms", ms(seat_hold_max)),
        ("claim_limit_ms", ms(claim_limit)),
        ("activation_limit_ms", ms(activation_limit)),
        ("update_limit_ms", ms(update_limit)),
        ("destroy_limit_ms", ms(destroy_limit)),
        ("empty_limit_ms", ms(empty_limit)),
        ("retention_ms", ms(retention)),
        ("health_every_ms", ms(health_every)),
        ("health_limit_ms", ms(health_limit)),
        ("away_limit_ms", ms(away_limit)),
        ("games_max", games_max.to_string()),
        ("hosts_max", hosts_max.to_string()),
        ("fleets_max", fleets_max.to_string()),
        ("aliases_max", aliases_max.to_string()),
        ("queues_max", queues_max.to_string()),
        ("placements_max", placements_max.to_string()),
        ("placements_kept_max", placements_kept_max.to_string()),
        ("attempts_max", attempts_max.to_string()),
        ("seats_kept_max", seats_kept_max.to_string()),
        ("open_seats_max", open_seats_max.to_string()),
        ("uncommitted_max", uncommitted_max.to_string()),
        ("page_max", page_max.to_string()),
        ("search_work_max", search_work_max.to_string()),
        ("subscriptions_max", subscriptions_max.to_string()),
        ("news_max", news_max.to_string()),
        ("news_limit_ms", ms(news_limit)),
    ];
    let known: Vec<String> =
        known.into_iter().map(|(key, value)| format!("directory.{key} = {value}")).collect();
    let written = include_str!("../../defaults.txt").lines();
    let written: Vec<&str> = written.filter(|line| !line.starts_with('#')).collect();
    assert_eq!(known, written);
}
