//! The written defaults of a hub are those of the code.

use super::*;

fn ms(while_: Duration) -> String {
    while_.as_millis().to_string()
}

#[test]
fn the_defaults_of_a_hub_are_those_that_are_written_down() {
    // Taken apart whole: a new setting does not compile until it stands here, too. The guard has a
    // table of its own.
    let HubConfig {
        server_names,
        keys,
        secrets,
        anonymous,
        duplicates,
        admission,
        accounts,
        account_limit,
        accounts_max,
        end_on_retired_token,
        hold,
        handshake,
        heartbeat,
        silence,
        idle,
        progress,
        lifetime,
        stall,
        sessions_max,
        guests_max,
        guests_unseen,
        messages,
        bytes,
        guard: _,
        message_bytes_max,
        window_frames,
        window_bytes,
        compression,
        compression_bytes_min,
        outbox,
        zones_max,
        zones_per_player_max,
        faults_max,
        faults_within,
        seat_limit,
        retry_after,
        restart_after,
        load_commits_max,
        load_inputs_max,
        returns_per_second,
        id_block,
        kinds,
    } = HubConfig::default();
    let duplicates = match duplicates {
        Duplicates::TakeOver => "take_over".to_owned(),
        Duplicates::RejectNew => "reject_new".to_owned(),
        Duplicates::Allow(most) => format!("allow {most}"),
    };
    let admission = match admission {
        Admission::Open => "open".to_owned(),
        Admission::Ask(deadline) => format!("ask {}", ms(deadline)),
    };
    let accounts = match accounts {
        AccountPolicy::Off => "off",
        AccountPolicy::Optional => "optional",
        AccountPolicy::Required => "required",
    };
    let Hold::Timed(hold) = hold else { panic!("the default hold is timed") };
    assert!(kinds.is_empty(), "kinds of zone are the game's");
    let rows = [
        ("server_names", server_names.join(", ")),
        ("keys", keys.to_string()),
        ("secrets", secrets.to_string()),
        ("anonymous", anonymous.to_string()),
        ("duplicates", duplicates),
        ("admission", admission),
        ("accounts", accounts.to_owned()),
        ("account_limit_ms", ms(account_limit)),
        ("accounts_max", accounts_max.to_string()),
        ("end_on_retired_token", end_on_retired_token.to_string()),
        ("hold_ms", ms(hold)),
        ("handshake_ms", ms(handshake)),
        ("heartbeat_ms", ms(heartbeat)),
        ("silence_ms", ms(silence)),
        ("idle_ms", ms(idle)),
        ("progress_ms", ms(progress)),
        ("lifetime_ms", ms(lifetime)),
        ("stall_ms", ms(stall)),
        ("sessions_max", sessions_max.to_string()),
        ("guests_max", guests_max.to_string()),
        ("guests_unseen_ms", ms(guests_unseen)),
        ("messages_per_second", messages.per_second.to_string()),
        ("messages_burst", messages.burst.to_string()),
        ("bytes_per_second", bytes.per_second.to_string()),
        ("bytes_burst", bytes.burst.to_string()),
        ("message_bytes_max", message_bytes_max.to_string()),
        ("window_frames", window_frames.to_string()),
        ("window_bytes", window_bytes.to_string()),
        ("compression", compression.to_string()),
        ("compression_bytes_min", compression_bytes_min.to_string()),
        ("outbox_frames_max", outbox.frames_max.to_string()),
        ("outbox_bytes_max", outbox.bytes_max.to_string()),
        ("outbox_legs_max", outbox.legs_max.to_string()),
        ("zones_max", zones_max.to_string()),
        ("zones_per_player_max", zones_per_player_max.to_string()),
        ("faults_max", faults_max.to_string()),
        ("faults_within_ms", ms(faults_within)),
        ("seat_limit_ms", ms(seat_limit)),
        ("retry_after_ms", ms(retry_after)),
        ("restart_after_ms", ms(restart_after)),
        ("load_commits_max", load_commits_max.to_string()),
        ("load_inputs_max", load_inputs_max.to_string()),
        ("returns_per_second", returns_per_second.to_string()),
        ("id_block", id_block.to_string()),
    ];
    let code: Vec<String> =
        rows.iter().map(|(key, value)| format!("hub.{key} = {value}")).collect();
    let written: Vec<&str> = include_str!("../../../defaults.txt")
        .lines()
        .filter(|row| row.starts_with("hub."))
        .collect();
    assert_eq!(written, code);
}
