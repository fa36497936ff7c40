//! Which of a player's sessions a login goes on with.

use crate::hub::Duplicates;
use crate::id::SessionId;
use crate::mark::{Mark, hit};

/// A session of a player that a login could go on with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Findable {
    pub id: SessionId,
    /// Its connection is gone.
    pub is_held: bool,
}

/// What a login of a player gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LoginChoice {
    /// This session of the player, held or connected; a connected one is taken over.
    Session(SessionId),
    /// A session that begins.
    New,
    /// None: the player is connected, and may not be a second time.
    Refused,
}

impl LoginChoice {
    /// Decides by the policy; `theirs`: the player's sessions, oldest first.
    pub(crate) fn of(policy: Duplicates, theirs: &[Findable]) -> Self {
        let held = theirs.iter().rev().find(|one| one.is_held);
        let live = theirs.iter().filter(|one| !one.is_held).count();
        let found = match policy {
            Duplicates::RejectNew if live > 0 => return Self::Refused,
            Duplicates::Allow(most) if held.is_none() && live >= most as usize => {
                return Self::Refused;
            }
            Duplicates::TakeOver => theirs.last(),
            Duplicates::RejectNew | Duplicates::Allow(_) => held,
        };
        if found.is_none() && live > 0 {
            hit(Mark::AllowedSeveral);
        }
        found.map_or(Self::New, |one| Self::Session(one.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(policy: Duplicates, held: &[bool]) -> LoginChoice {
        let one = |(id, is_held): (u64, &bool)| Findable { id: SessionId(id), is_held: *is_held };
        LoginChoice::of(policy, &(1..).zip(held).map(one).collect::<Vec<_>>())
    }

    #[test]
    fn each_policy_has_its_choice() {
        let session = |id| LoginChoice::Session(SessionId(id));
        for (policy, held, expected) in [
            (Duplicates::TakeOver, &[][..], LoginChoice::New),
            (Duplicates::TakeOver, &[true, false], session(2)),
            (Duplicates::RejectNew, &[true, false], LoginChoice::Refused),
            (Duplicates::RejectNew, &[true, true], session(2)),
            (Duplicates::Allow(2), &[false], LoginChoice::New),
            (Duplicates::Allow(2), &[true, false], session(1)),
            (Duplicates::Allow(2), &[false, false], LoginChoice::Refused),
            (Duplicates::Allow(2), &[false, true, false], session(2)),
        ] {
            assert_eq!(choice(policy, held), expected, "{policy:?}, held: {held:?}");
        }
    }
}
