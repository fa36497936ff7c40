//! Judges why sessions end. Everything that may end one is written down when it happens: frames that
//! say goodbye, logins that ask for a fresh session, commands, silence. A session that ends for a
//! cause without its reason, or is reported with another cause, breaks a promise.

use std::collections::{BTreeMap, BTreeSet};

use rejoin_core::event::EndCause;
use rejoin_core::hub::{AccountPolicy, Command, PlayerCommand, SessionCommand, Whom};
use rejoin_core::id::{PlayerId, SessionId};
use rejoin_wire::close::Fault;
use rejoin_wire::v1::{ClientFrame, CloseCode, client_frame, hello, up};

use crate::holds::Seen;
use crate::link::Who;
use crate::world::World;

/// A session may be looked at this much later than it began.
const SLACK_US: u64 = 1_000_000;

/// What was seen that may end sessions.
#[derive(Debug, Default)]
pub struct Reasons {
    /// Sessions whose client said goodbye.
    byes: BTreeSet<u64>,
    /// Players of sessions one of whose clients asked for a fresh one.
    fresh: BTreeSet<usize>,
    /// Which clients speak for a session.
    speakers: BTreeMap<u64, BTreeSet<usize>>,
    /// Sessions that a command ended.
    kicked: BTreeSet<u64>,
    /// Players that a command banned.
    banned: BTreeSet<PlayerId>,
    /// What operators have ordered so far of accounts: causes that end sessions of some of them. Which
    /// sessions those are is judged by the book of accounts.
    ordered: BTreeSet<EndCause>,
    /// When the last game message of a session was read or its last Welcome left, in time in which the store
    /// had room: nobody is idle who cannot send.
    heard_at: BTreeMap<u64, u64>,
    /// When a session was seen first.
    began_at: BTreeMap<u64, u64>,
    /// Sessions that are ending, and why.
    ending: BTreeMap<u64, EndCause>,
}

impl World {
    /// The server reads a frame of a client.
    pub(crate) fn note_frame(&mut self, id: u64, frame: &ClientFrame) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let with_room = self.watch.outage.with_room(self.now);
        let reasons = &mut self.watch.reasons;
        match &frame.frame {
            Some(client_frame::Frame::Hello(hello)) => {
                link.hello = Some(hello.clone());
                if let (Who::Player(player), Some(hello::Purpose::Login(login))) =
                    (link.who, &hello.purpose)
                    && login.fresh
                {
                    reasons.fresh.insert(player);
                }
            }
            Some(client_frame::Frame::Up(up)) => {
                let Some((session, _)) = link.welcomed else { return };
                match up.body {
                    Some(up::Body::Bye(_)) => drop(reasons.byes.insert(session)),
                    _ => drop(reasons.heard_at.insert(session, with_room)),
                }
            }
            Some(client_frame::Frame::Ack(position)) => self.note_ack(id, position),
            _ => {}
        }
    }

    /// A client was welcomed: it speaks for the session.
    pub(crate) fn note_speaker(&mut self, session: u64, who: Who) {
        let with_room = self.watch.outage.with_room(self.now);
        self.watch.reasons.heard_at.insert(session, with_room);
        if let Who::Player(player) = who {
            self.watch.reasons.speakers.entry(session).or_default().insert(player);
        }
    }

    /// A command was given that may end a session.
    pub(crate) fn note_command(&mut self, command: &Command) {
        let reasons = &mut self.watch.reasons;
        match command {
            Command::Session(session, SessionCommand::End(_)) => {
                reasons.kicked.insert(session.0);
            }
            Command::Player(PlayerCommand::Ban(Whom::Player(player), _, _)) => {
                reasons.banned.insert(*player);
            }
            Command::Player(PlayerCommand::SetPassword(..) | PlayerCommand::Delete(_)) => {
                reasons.ordered.insert(EndCause::Kicked);
            }
            Command::Player(PlayerCommand::Lock(_, true)) => {
                reasons.ordered.insert(EndCause::Locked);
            }
            Command::Player(PlayerCommand::Ban(..)) => {
                reasons.ordered.insert(EndCause::Banned);
            }
            _ => {}
        }
    }

    /// Judges an ending when it is seen first. False when it was seen before.
    pub(crate) fn check_ending(&mut self, seen: &Seen) -> bool {
        let (now, id) = (self.now, seen.id.0);
        self.watch.reasons.began_at.entry(id).or_insert(now);
        let Some(cause) = seen.ending else {
            // A crash before its commit takes an ending back.
            self.watch.reasons.ending.remove(&id);
            return true;
        };
        if self.watch.reasons.ending.insert(id, cause) == Some(cause) {
            return false;
        }
        if let Err(text) = self.judge(id, seen.players, cause) {
            self.watch.fail("cause-true", format!("session {id} ends {cause:?}: {text}"));
        }
        true
    }

    fn judge(&self, id: u64, players: [PlayerId; 2], cause: EndCause) -> Result<(), String> {
        let reasons = &self.watch.reasons;
        let since =
            |now: u64, times: &BTreeMap<u64, u64>| now - times.get(&id).copied().unwrap_or(0);
        let with_room = self.watch.outage.with_room(self.now);
        let is_there = match cause {
            EndCause::Left => reasons.byes.contains(&id),
            // The checker of holds judges it.
            EndCause::HoldEnded => true,
            EndCause::Superseded => self.asked_fresh(id),
            EndCause::Idle => {
                since(with_room, &reasons.heard_at) + SLACK_US >= micros(self.node.idle)
            }
            EndCause::Lifetime => {
                let lifetime = self.knobs.hub.lifetime;
                !lifetime.is_zero()
                    && since(self.now, &reasons.began_at) + SLACK_US >= micros(lifetime)
            }
            EndCause::Kicked => reasons.kicked.contains(&id) || self.knobs.hub.end_on_retired_token,
            EndCause::Banned => players.iter().any(|player| reasons.banned.contains(player)),
            EndCause::Locked | EndCause::AgentFault => false,
        };
        let is_there = is_there || reasons.ordered.contains(&cause);
        if is_there { Ok(()) } else { Err("there is no reason for that".to_owned()) }
    }

    /// Whether a client that shares its identity with a speaker of the session asked for a fresh one.
    fn asked_fresh(&self, id: u64) -> bool {
        if self.knobs.hub.accounts != AccountPolicy::Off && !self.watch.reasons.fresh.is_empty() {
            // Several clients may play with one account.
            return true;
        }
        let Some(speakers) = self.watch.reasons.speakers.get(&id) else {
            // Only hostile clients have spoken for it.
            return true;
        };
        let knows = |player: usize| self.players[player].known;
        let mut asked = self.watch.reasons.fresh.iter();
        asked.any(|fresh| speakers.iter().any(|speaker| knows(*speaker) == knows(*fresh)))
    }

    /// An ending is told: with the cause that it has.
    pub(crate) fn check_told_cause(&mut self, session: SessionId, cause: EndCause) {
        if let Some(known) = self.watch.reasons.ending.get(&session.0).copied()
            && known != cause
        {
            let text = format!("session {session} ended {known:?}, {cause:?} was told");
            self.watch.fail("cause-true", text);
        }
    }

    /// The server closes a connection: no honest client has broken the protocol.
    pub(crate) fn check_close(&mut self, id: u64, code: CloseCode) {
        let is_honest = matches!(self.links.get(&id).map(|link| link.who), Some(Who::Player(_)));
        let is_about_rules = matches!(
            code,
            CloseCode::Malformed
                | CloseCode::OutOfState
                | CloseCode::TooLarge
                | CloseCode::NumberGap
                | CloseCode::AckAhead
                | CloseCode::Version
                | CloseCode::WrongName
        );
        debug_assert!(!is_about_rules || rejoin_wire::close::row(code).fault == Fault::Client);
        if is_honest && is_about_rules {
            self.watch.fail("not-blamed", format!("link {id} was closed {code:?}"));
        }
    }
}

fn micros(duration: std::time::Duration) -> u64 {
    duration.as_micros() as u64
}
