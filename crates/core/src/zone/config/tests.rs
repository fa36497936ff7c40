//! The written defaults of a zone kind are those of the code.

use super::*;

fn ms(while_: Duration) -> String {
    while_.as_millis().to_string()
}

#[test]
fn the_defaults_of_a_zone_are_those_that_are_written_down() {
    // Taken apart whole: a new setting does not compile until it stands here, too.
    let ZoneConfig {
        durability,
        tick,
        callback_budget,
        catch_up_ticks_max,
        hold,
        members_max,
        sessions_per_player_max,
        roster_max,
        ring_frames_max,
        ring_bytes_max,
        outbox_frames_max,
        outbox_bytes_max,
        latest_keys_max,
        latest_bytes_max,
        window_frames,
        window_bytes,
        progress,
        ack_delay,
        held_outputs_max,
        save_every,
        cuts_per_compaction,
        calls_max,
        timers_max,
        objects_max,
    } = ZoneConfig::default();
    let durability = match durability {
        Durability::Full => "full",
        Durability::Session => "session",
        Durability::Memory => "memory",
    };
    let Hold::Timed(hold) = hold else { panic!("the default hold is timed") };
    let rows = [
        ("durability", durability.to_owned()),
        ("tick_ms", tick.map_or("none".to_owned(), ms)),
        ("callback_budget_ms", ms(callback_budget)),
        ("catch_up_ticks_max", catch_up_ticks_max.to_string()),
        ("hold_ms", ms(hold)),
        ("members_max", members_max.to_string()),
        ("sessions_per_player_max", sessions_per_player_max.to_string()),
        ("roster_max", roster_max.to_string()),
        ("ring_frames_max", ring_frames_max.to_string()),
        ("ring_bytes_max", ring_bytes_max.to_string()),
        ("outbox_frames_max", outbox_frames_max.to_string()),
        ("outbox_bytes_max", outbox_bytes_max.to_string()),
        ("latest_keys_max", latest_keys_max.to_string()),
        ("latest_bytes_max", latest_bytes_max.to_string()),
        ("window_frames", window_frames.to_string()),
        ("window_bytes", window_bytes.to_string()),
        ("progress_ms", ms(progress)),
        ("ack_delay_ms", ms(ack_delay)),
        ("held_outputs_max", held_outputs_max.to_string()),
        ("save_every_ms", ms(save_every)),
        ("cuts_per_compaction", cuts_per_compaction.to_string()),
        ("calls_max", calls_max.to_string()),
        ("timers_max", timers_max.to_string()),
        ("objects_max", objects_max.to_string()),
    ];
    let code: Vec<String> =
        rows.iter().map(|(key, value)| format!("zone.{key} = {value}")).collect();
    let written: Vec<&str> = include_str!("../../../defaults.txt")
        .lines()
        .filter(|row| row.starts_with("zone."))
        .collect();
    assert_eq!(written, code);
}
