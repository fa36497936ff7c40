//! What a ban, a secret and a deletion make of a player, and what waits for whose commit.

use std::time::Duration;

use super::{Ban, GuestLimits, PlayerOutput, Players};
use crate::chance::Chance;
use crate::connection::AskId;
use crate::id::{ConnectionId, OwnerEpoch, PlayerId, Revision};
use crate::scope::Batch;
use crate::time::WallTime;

const ANN: PlayerId = PlayerId([1; 16]);
const BOB: PlayerId = PlayerId([2; 16]);
const DAY_MS: u64 = 24 * 3_600 * 1_000;
const NOW: WallTime = WallTime(1_000 * DAY_MS);

fn players() -> Players {
    let limits = GuestLimits { most: 2, unseen: Duration::from_millis(90 * DAY_MS) };
    Players::new([7; 32], OwnerEpoch(3), limits)
}

fn ban() -> Option<Ban> {
    Some(Ban { until: WallTime(u64::MAX), reason: "spam".into() })
}

/// Takes what is given out: batches apart, the rest as short texts.
fn drain(players: &mut Players) -> (Vec<Batch>, Vec<String>) {
    let (mut batches, mut effects) = (Vec::new(), Vec::new());
    while let Some((_, output)) = players.next_output() {
        match output {
            PlayerOutput::Commit(batch) => batches.push(batch),
            PlayerOutput::BanKept { ticket } => effects.push(format!("ban {ticket}")),
            PlayerOutput::Decide(connection, _) => effects.push(format!("decide {}", connection.0)),
            PlayerOutput::Forgotten { ticket } => effects.push(format!("forgotten {ticket:?}")),
        }
    }
    (batches, effects)
}

/// Commits what is under way, until nothing is; gives all effects.
fn commit_all(players: &mut Players) -> Vec<String> {
    let (mut batches, mut all) = drain(players);
    while let Some(batch) = batches.pop() {
        let crate::scope::ScopeId::Player(id) = batch.scope else { panic!("{:?}", batch.scope) };
        players.committed(id, batch.revision);
        let (more, effects) = drain(players);
        batches.extend(more);
        all.extend(effects);
    }
    all
}

#[test]
fn a_ban_is_read_at_once_and_counts_once_it_is_committed() {
    let mut players = players();
    players.set_ban(ANN, ban(), 5);
    assert!(players.is_banned(NOW, ANN) && players.is_ban_coming(ANN));
    players.decide_later(ANN, ConnectionId(9), AskId(1));
    let (batches, effects) = drain(&mut players);
    assert_eq!((batches.len(), effects.len()), (1, 0));
    assert_eq!((batches[0].owner, batches[0].revision), (OwnerEpoch(3), Revision(1)));
    assert_eq!(players.under_way(), 1);
    players.committed(ANN, Revision(1));
    assert_eq!(drain(&mut players).1, ["ban 5", "decide 9"]);
    assert!(!players.is_ban_coming(ANN));
    assert_eq!(players.under_way(), 0);
    assert_eq!(players.ban_text(ANN), "this player is banned: spam");
}

#[test]
fn changes_that_wait_together_are_one_batch_and_keep_their_order() {
    let mut players = players();
    players.set_ban(ANN, ban(), 1);
    let (first, _) = drain(&mut players);
    players.set_ban(ANN, None, 2);
    players.set_ban(ANN, ban(), 3);
    assert!(drain(&mut players).0.is_empty(), "one batch of a scope at a time");
    players.committed(ANN, first[0].revision);
    let (second, effects) = drain(&mut players);
    assert_eq!((second.len(), effects), (1, vec!["ban 1".to_owned()]));
    assert!(players.is_ban_coming(ANN));
    players.committed(ANN, second[0].revision);
    assert_eq!(drain(&mut players).1, ["ban 2", "ban 3"]);
}

#[test]
fn guests_are_counted_and_bans_are_no_guests() {
    let mut players = players();
    players.set_ban(ANN, ban(), 1);
    assert!(players.guest_seen(NOW, ANN, None));
    assert!(players.guest_seen(NOW, BOB, None));
    assert!(players.is_full_of_guests());
    assert!(!players.guest_seen(NOW, PlayerId([3; 16]), None));
    assert!(players.guest_seen(NOW, BOB, None), "it is kept already");
    commit_all(&mut players);
    assert!(players.forget(ANN, None));
    assert!(!players.is_full_of_guests());
    assert!(players.is_known(ANN) && players.is_banned(NOW, ANN), "a ban stays");
    assert!(!players.is_guest(ANN));
}

#[test]
fn what_is_forgotten_twice_is_gone_once_and_both_are_answered() {
    let mut players = players();
    assert!(!players.forget(ANN, Some(1)), "nothing is kept of it");
    players.guest_seen(NOW, ANN, None);
    commit_all(&mut players);
    assert!(players.forget(ANN, Some(1)));
    assert!(!players.is_known(ANN));
    let (batches, _) = drain(&mut players);
    assert!(batches[0].delete_scope);
    assert!(players.guest_seen(NOW, ANN, None), "it comes again meanwhile");
    assert!(players.is_guest(ANN));
    assert!(players.forget(ANN, Some(2)));
    players.committed(ANN, batches[0].revision);
    let (batches, effects) = drain(&mut players);
    assert_eq!(effects, ["forgotten Some(1)", "forgotten Some(2)"]);
    assert!(batches.is_empty(), "nothing is to be kept after all");
    assert_eq!(players.under_way(), 0);
    assert!(!players.is_known(ANN) && !players.is_full_of_guests());
}

#[test]
fn a_ban_ordered_during_a_deletion_begins_a_second_life() {
    let mut players = players();
    players.guest_seen(NOW, ANN, None);
    commit_all(&mut players);
    players.forget(ANN, None);
    let (deletion, _) = drain(&mut players);
    players.set_ban(ANN, ban(), 4);
    players.decide_later(ANN, ConnectionId(9), AskId(1));
    assert!(drain(&mut players).0.is_empty());
    players.committed(ANN, deletion[0].revision);
    let (again, effects) = drain(&mut players);
    assert_eq!(effects, ["forgotten None"]);
    assert_eq!((again[0].revision, again[0].delete_scope), (Revision(1), false));
    assert!(players.is_ban_coming(ANN));
    players.committed(ANN, Revision(1));
    assert_eq!(drain(&mut players).1, ["ban 4", "decide 9"]);
    assert!(players.is_banned(NOW, ANN));
}

#[test]
fn a_sweep_forgets_who_was_not_seen_for_long_and_is_not_here() {
    let mut players = players();
    players.guest_seen(NOW, ANN, None);
    players.guest_seen(NOW, BOB, None);
    commit_all(&mut players);
    let later = |days| WallTime(NOW.0 + days * DAY_MS);
    players.sweep(later(89), |_| false);
    assert!(players.is_guest(ANN) && players.is_guest(BOB));
    players.sweep(later(90), |player| player == BOB);
    assert!(!players.is_guest(ANN) && players.is_guest(BOB));
}

#[test]
fn a_minted_secret_is_known_again_without_a_row() {
    let mut chance = Chance::from_seed([1; 32]);
    let secret = players().mint_secret(&mut chance);
    let player = PlayerId::of_secret(secret.reveal());
    assert_eq!(players().guest_of(&secret), Some(player));
    let limits = GuestLimits { most: 1, unseen: Duration::ZERO };
    let of_another_key = Players::new([8; 32], OwnerEpoch(1), limits);
    assert_eq!(of_another_key.guest_of(&secret), None);
}
