//! Players of a store that no server runs on. The rules are the hub's own; sessions and zones are left
//! alone, so what ends sessions takes effect at the next start: before that, no player can return to one.

use std::fmt;

use rejoin_core::account::Refusal;
use rejoin_core::hub::{
    Answer, Command, Hub, HubConfig, HubInput, HubOutput, PlayerCommand, PlayerView, Recovered,
    Whom,
};
use rejoin_core::id::PlayerId;
use rejoin_core::scope::ScopeId;
use rejoin_core::time::Time;
use rejoin_store::{Outcome, ScopeKind, Store, StoreError};

use serde_json::Value;

use crate::clock::wall;
use crate::store_thread;

/// Why something was not done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeptError {
    /// The rules say no.
    Refused(Refusal),
    /// The store cannot be read or written; nothing was changed.
    Store(String),
}

impl fmt::Display for KeptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Store(why) => write!(f, "nothing was changed: {why}"),
        }
    }
}

impl std::error::Error for KeptError {}

impl From<StoreError> for KeptError {
    fn from(error: StoreError) -> Self {
        Self::Store(error.to_string())
    }
}

/// The players of a store.
pub struct KeptPlayers<S> {
    store: S,
    hub: Hub,
}

impl<S: Store> KeptPlayers<S> {
    /// Opens the players of a store; an earlier owner of their scopes can write nothing more.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn open(mut store: S) -> Result<Self, KeptError> {
        let hub = store.open_one(ScopeId::Hub)?;
        let mut recovered = Recovered { hub, players_only: true, ..Recovered::default() };
        for kind in [ScopeKind::Player, ScopeKind::Account] {
            let scopes = store.scopes(Some(kind))?;
            for (scope, found) in scopes.iter().zip(store.open(&scopes)?) {
                match (*scope, found) {
                    (ScopeId::Player(id), Ok(opened)) => recovered.players.push((id, opened)),
                    (ScopeId::Account(id), Ok(opened)) => recovered.accounts.push((id, opened)),
                    (_, Ok(_)) => {}
                    (_, Err(damaged)) => tracing::error!("{damaged}"),
                }
            }
        }
        for scope in store.set_aside()? {
            if let ScopeId::Player(id) = scope
                && !recovered.players.iter().any(|(known, _)| *known == id)
            {
                recovered.damaged_players.push(id);
            }
        }
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| KeptError::Store(error.to_string()))?;
        let (hub, _) = Hub::open(Time::ZERO, wall(), HubConfig::default(), seed, recovered);
        let mut kept = Self { store, hub };
        kept.carry_out()?;
        Ok(kept)
    }

    /// Does something with a player; when it returns, it is kept.
    ///
    /// # Errors
    /// The rules refuse it, or the store does.
    pub fn order(&mut self, command: PlayerCommand) -> Result<(), KeptError> {
        let command = Command::Player(command);
        self.hub.handle(Time::ZERO, HubInput::Command { ticket: 1, command });
        match self.carry_out()? {
            Some(Answer::PlayerRefused(refusal)) => Err(KeptError::Refused(refusal)),
            Some(_) => Ok(()),
            None => Err(KeptError::Store("there was no answer".to_owned())),
        }
    }

    /// The player of this id or name, if it is known.
    #[must_use]
    pub fn player(&self, whom: &Whom) -> Option<PlayerView> {
        self.hub.player(whom)
    }

    /// Players in the order of their ids, above one.
    #[must_use]
    pub fn players(&self, after: Option<PlayerId>, most: usize) -> Vec<PlayerView> {
        self.hub.players_after(after, most)
    }

    fn carry_out(&mut self) -> Result<Option<Answer>, KeptError> {
        let mut answered = None;
        while let Some(output) = self.hub.next_output() {
            match output {
                HubOutput::Commit(batch) => {
                    let (scope, revision) = (batch.scope, batch.revision);
                    match self.store.commit(&[batch]).first() {
                        Some(Outcome::Committed) => {}
                        Some(Outcome::Full) => return Err(StoreError::Full.into()),
                        other => {
                            let complaint = self.store.complaint();
                            let why = complaint.unwrap_or_else(|| format!("{other:?}"));
                            return Err(KeptError::Store(why));
                        }
                    }
                    self.hub.handle(Time::ZERO, HubInput::Committed(scope, revision));
                }
                HubOutput::Answer { answer, .. } => answered = Some(answer),
                _ => {}
            }
        }
        Ok(answered)
    }
}

/// All that a store keeps of a player that no server runs on; nothing is changed.
///
/// # Errors
/// The store cannot be read.
pub fn export_kept(store: &mut dyn Store, whom: &Whom) -> Result<Option<Value>, KeptError> {
    let (mut recovered, _) = store_thread::recover(store, |_| false)?;
    recovered.players_only = true;
    // What follows from opening is not carried out.
    let (hub, _) = Hub::open(Time::ZERO, wall(), HubConfig::default(), [0; 32], recovered);
    Ok(hub.export(whom).map(|(player, sessions)| super::export(&player, &sessions)))
}
