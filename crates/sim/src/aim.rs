//! Crashes that are aimed. Some operations take several commits, each in a scope of its own: a move, a
//! join, a part, a seat, the end of a zone, a ban. When one begins, the simulator sometimes picks one of
//! its next commits and lets the server crash right after it, before or after its owner has heard of it.

use std::collections::BTreeSet;

use rejoin_core::exchange::{ToHub, ToSession, ToZone};
use rejoin_core::hub::{Command, HubInput, HubOutput, PlayerCommand, Whom, ZoneCommand};
use rejoin_core::id::{SessionId, ZoneId};
use rejoin_core::scope::ScopeId;

use crate::world::World;

/// An operation that takes commits in several scopes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    /// A session goes from one zone to another; here the one it leaves.
    Move(ZoneId),
    /// A session comes into a zone.
    Join,
    /// A session leaves a zone for none.
    Part,
    /// A seat is claimed, confirmed or given back.
    Seat,
    /// A zone ends.
    ZoneEnd,
    /// A player is banned.
    Ban,
}

impl Operation {
    /// How likely it is aimed at, for each thousandth of the fault.
    fn weight(self) -> u64 {
        match self {
            Self::Move(_) => 50,
            Self::Join => 4,
            Self::Part => 12,
            Self::Seat => 10,
            Self::ZoneEnd => 40,
            Self::Ban => 100,
        }
    }

    /// How many commits it takes, about.
    fn commits(self) -> u64 {
        match self {
            Self::Move(_) => 4,
            Self::Join | Self::Part | Self::Seat | Self::Ban => 2,
            Self::ZoneEnd => 3,
        }
    }

    /// What a crash right after the commit of this scope is called.
    fn strike(self, scope: ScopeId) -> Option<&'static str> {
        Some(match (self, scope) {
            (Self::Move(_), ScopeId::Session(_)) => "crash after a session's commit of a move",
            (Self::Move(left), ScopeId::Zone(zone)) if zone == left => {
                "crash after the left zone's commit of a move"
            }
            (Self::Move(_), ScopeId::Zone(_)) => "crash after the entered zone's commit of a move",
            (Self::Join, ScopeId::Session(_)) => "crash after a session's commit of a join",
            (Self::Join, ScopeId::Zone(_)) => "crash after a zone's commit of a join",
            (Self::Part, ScopeId::Session(_)) => "crash after a session's commit of a part",
            (Self::Part, ScopeId::Zone(_)) => "crash after a zone's commit of a part",
            (Self::Seat, ScopeId::Session(_)) => "crash after a session's commit of a seat",
            (Self::Seat, ScopeId::Game(_)) => "crash after a Game's commit of a seat",
            (Self::ZoneEnd, ScopeId::Session(_)) => {
                "crash after a session's commit of a zone's end"
            }
            (Self::ZoneEnd, ScopeId::Zone(_)) => "crash after a zone's commit of its end",
            (Self::Ban, ScopeId::Session(_)) => "crash after a session's commit of a ban",
            (Self::Ban, ScopeId::Player(_)) => "crash after a player's commit of a ban",
            _ => return None,
        })
    }
}

/// The commit after which the server crashes.
#[derive(Clone, Debug)]
pub struct Aim {
    operation: Operation,
    scopes: BTreeSet<ScopeId>,
    /// Commits of these scopes until then.
    left: u64,
    /// The owner of the commit hears of it, and what it does then is under way.
    is_heard: bool,
    /// Later than this it is something else that is committed.
    until: u64,
}

/// Crashes of this kind in one world: more would leave no time to play.
const AIMED_MAX: u32 = 6;
/// An operation takes no longer, unless something is in its way.
const OPERATION_US: u64 = 3_000_000;

impl World {
    /// Aims at an operation that begins with what the hub hears.
    pub(crate) fn aim_at_input(&mut self, input: &HubInput) {
        if self.cannot_aim() {
            return;
        }
        match input {
            HubInput::FromZone(zone, _, ToHub::Session(session, ToSession::Departed(departed))) => {
                let mut scopes = vec![ScopeId::Session(*session), ScopeId::Zone(*zone)];
                let seat = self.node.zones.get(zone);
                match &departed.next {
                    _ if seat.is_some_and(|seat| seat.machine.counts().is_ending) => {
                        self.aim(Operation::ZoneEnd, scopes);
                    }
                    Some((name, _)) => {
                        scopes.push(ScopeId::Zone(ZoneId::of(&name.kind, &name.name)));
                        self.aim(Operation::Move(*zone), scopes);
                    }
                    None => self.aim(Operation::Part, scopes),
                }
            }
            HubInput::Command { command: Command::Zone(ZoneCommand::End(zone)), .. } => {
                let inside = self.sessions_of(|session| session.zone() == Some(*zone));
                self.aim(Operation::ZoneEnd, inside.chain([ScopeId::Zone(*zone)]).collect());
            }
            HubInput::Command { command: Command::Player(order), .. } => {
                let PlayerCommand::Ban(Whom::Player(player), ..) = order else { return };
                let theirs = self.sessions_of(|session| session.player() == *player);
                self.aim(Operation::Ban, theirs.chain([ScopeId::Player(*player)]).collect());
            }
            _ => {}
        }
    }

    /// Aims at an operation that goes on with what the hub gives out.
    pub(crate) fn aim_at_output(&mut self, output: &HubOutput) {
        if self.cannot_aim() {
            return;
        }
        match output {
            HubOutput::ToZone(zone, _, ToZone::Admit(admit)) => {
                let scopes = vec![ScopeId::Session(admit.session), ScopeId::Zone(*zone)];
                self.aim(Operation::Join, scopes);
            }
            HubOutput::Seat(request) => {
                let scopes = vec![ScopeId::Session(request.session), ScopeId::Game(request.game)];
                self.aim(Operation::Seat, scopes);
            }
            _ => {}
        }
    }

    fn cannot_aim(&self) -> bool {
        self.quiet || self.knobs.faults.aimed == 0 || self.node.aimed >= AIMED_MAX
    }

    /// The scopes of all sessions that are so.
    fn sessions_of(
        &self,
        is_so: impl Fn(&rejoin_core::session::SessionCore) -> bool,
    ) -> std::vec::IntoIter<ScopeId> {
        let sessions = self.node.hub.iter().flat_map(|hub| hub.sessions());
        let found: Vec<SessionId> =
            sessions.filter(|(_, session)| is_so(session)).map(|(id, _)| id).collect();
        found.into_iter().map(ScopeId::Session).collect::<Vec<_>>().into_iter()
    }

    fn aim(&mut self, operation: Operation, scopes: Vec<ScopeId>) {
        // What is rare takes the place of what is not.
        let is_rare = matches!(operation, Operation::ZoneEnd | Operation::Ban);
        if !is_rare && self.node.aim.as_ref().is_some_and(|aim| aim.until > self.now) {
            return;
        }
        if !self.rng.per_mille(self.knobs.faults.aimed * operation.weight()) {
            return;
        }
        self.tell(|| format!("aim at {operation:?}"));
        self.node.aim = Some(Aim {
            operation,
            scopes: scopes.into_iter().collect(),
            left: self.rng.range(1, operation.commits()),
            is_heard: self.rng.per_mille(500),
            until: self.now + OPERATION_US,
        });
    }

    /// A batch of this scope is committed. Says whether this is the commit that was aimed at.
    pub(crate) fn counts_down(&mut self, scope: ScopeId) -> bool {
        let now = self.now;
        let aim = self.node.aim.as_mut().filter(|aim| aim.until > now);
        let Some(aim) = aim.filter(|aim| aim.scopes.contains(&scope)) else { return false };
        aim.left = aim.left.saturating_sub(1);
        aim.left == 0
    }

    /// Crashes after the commit that was aimed at, in one of the two moments.
    pub(crate) fn crashes_after(&mut self, scope: ScopeId, is_heard: bool) -> bool {
        let Some(aim) = self.node.aim.take_if(|aim| aim.left == 0 && aim.is_heard == is_heard)
        else {
            return false;
        };
        if self.node.hub.is_none() || self.quiet {
            return false;
        }
        let Some(name) = aim.operation.strike(scope) else { return false };
        self.node.disk.strike(name);
        self.node.aimed += 1;
        self.crash();
        true
    }
}
