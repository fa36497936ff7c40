//! What the hub does once a change of an account is committed: a login goes on, an operator is answered, sessions
//! end.

use super::{Answer, Hub, HubOutput};
use crate::account::{Account, AccountOutput, Name, Refusal};
use crate::connection::AskId;
use crate::event::EndCause;
use crate::id::{AccountId, ConnectionId};
use crate::mark::{Mark, hit};

/// What waits for the commit of an account.
#[derive(Debug)]
pub(crate) enum AfterAccount {
    /// Go on with the login of this connection.
    Login(ConnectionId, AskId),
    /// Answer the command.
    Answer(u64),
    /// End the player's sessions, then answer.
    End(u64, EndCause),
    /// Give the sessions the permissions of the role, then answer.
    Role(u64),
    /// End the player's sessions and delete the account; the answer, if somebody asked, comes then.
    Forget(Option<u64>),
    /// It is deleted.
    Forgotten(Option<u64>),
}

impl Hub {
    /// The account of this name, for whoever looks at a password.
    #[must_use]
    pub fn account_named(&self, name: &Name) -> Option<(AccountId, &Account)> {
        self.accounts.of_name(name)
    }

    /// Accounts that cannot be read, and why. Nobody is let in by their names.
    #[must_use]
    pub fn damaged_accounts(&self) -> &[(AccountId, String)] {
        self.accounts.damaged()
    }

    /// Carries out what an account has given out.
    pub(super) fn on_account_output(&mut self, id: AccountId, output: AccountOutput<AfterAccount>) {
        match output {
            AccountOutput::Commit(batch) => self.push(HubOutput::Commit(batch)),
            AccountOutput::Done(then) => self.account_changed(id, then),
            AccountOutput::Refused(refusal, then) => self.account_refused(refusal, then),
        }
    }

    fn account_refused(&mut self, refusal: Refusal, then: AfterAccount) {
        match then {
            AfterAccount::Login(connection, ask) => {
                self.with_handshake(connection, |one, cx| one.change_refused(cx, ask, refusal));
            }
            AfterAccount::Answer(ticket)
            | AfterAccount::End(ticket, _)
            | AfterAccount::Role(ticket)
            | AfterAccount::Forget(Some(ticket))
            | AfterAccount::Forgotten(Some(ticket)) => {
                self.answer(ticket, Answer::PlayerRefused(refusal));
            }
            AfterAccount::Forget(None) | AfterAccount::Forgotten(None) => {}
        }
    }

    fn account_changed(&mut self, id: AccountId, then: AfterAccount) {
        let player = self.accounts.get(id).map(|account| account.player);
        match then {
            AfterAccount::Login(connection, ask) => {
                self.with_handshake(connection, |one, cx| one.prepared(cx, ask));
            }
            AfterAccount::Answer(ticket) => self.answer(ticket, Answer::Done),
            AfterAccount::End(ticket, cause) => {
                hit(match cause {
                    EndCause::Locked => Mark::AccountLocked,
                    _ => Mark::PasswordChanged,
                });
                let sessions = player.map(|player| self.sessions.ending_with(player));
                let ended = self.end_all(sessions.unwrap_or_default(), cause);
                self.done_after(ticket, &ended, 0);
            }
            AfterAccount::Role(ticket) => {
                hit(Mark::RoleChanged);
                let sessions = player.map(|player| self.sessions_of(player)).unwrap_or_default();
                let permissions = player.and_then(|player| self.accounts.permissions_of(player));
                for session in sessions {
                    self.with_session(session, |known, _| known.set_permissions(permissions));
                }
                self.answer(ticket, Answer::Done);
            }
            AfterAccount::Forget(ticket) => {
                // The account goes last: without it, a session that is left could be returned to.
                let sessions = player.map(|player| self.sessions.ending_with(player));
                let mut left = self.end_all(sessions.unwrap_or_default(), EndCause::Kicked);
                if let Some(player) = player {
                    self.players.forget(player, None);
                }
                left.retain(|session| {
                    let counted =
                        self.call_session(*session, |one, _| one.count_end_for_account(id));
                    counted.is_some()
                });
                self.accounts.leave(id, left, AfterAccount::Forgotten(ticket));
            }
            AfterAccount::Forgotten(ticket) => {
                hit(Mark::AccountForgotten);
                ticket.into_iter().for_each(|ticket| self.answer(ticket, Answer::Done));
            }
        }
    }
}
