//! Players as operators see and change them: over HTTP, at the command line, and from the game that
//! embeds the server. What is shown has no secret in it, not even as a hash.

mod kept;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rejoin_core::account::{Account, Holder};
use rejoin_core::hub::{
    Command, PasswordHash, PlayerCommand, PlayerView, Query, Reply, SessionReport, Whom,
};
use rejoin_core::id::{PlayerId, SessionId};
use rejoin_core::time::WallTime;
use serde_json::{Value, json};

pub use self::kept::{KeptError, KeptPlayers, export_kept};

use crate::admin::shape;
use crate::identity::PasswordError;
use crate::server::{Server, ServerError, expect_reply};

impl Server {
    /// Changes a player or its account, and waits until the change is durable and the sessions that it ends
    /// were ordered to end.
    ///
    /// # Errors
    /// It cannot be done, or the server has stopped.
    pub async fn order_player(&self, command: PlayerCommand) -> Result<(), ServerError> {
        self.done(Command::Player(command)).await
    }

    /// One player; none: there is no such one.
    ///
    /// # Errors
    /// The server has stopped.
    pub async fn player(&self, whom: Whom) -> Result<Option<PlayerView>, ServerError> {
        let reply = self.query(Query::Player(whom)).await?;
        expect_reply!(reply, Reply::Player(found) => found.map(|found| *found))
    }

    /// Players with an account and players who are banned, in the order of their ids, above one.
    ///
    /// # Errors
    /// The server has stopped.
    pub async fn players(
        &self,
        after: Option<PlayerId>,
        most: usize,
    ) -> Result<Vec<PlayerView>, ServerError> {
        let reply = self.query(Query::Players { after, most }).await?;
        expect_reply!(reply, Reply::Players(page) => page)
    }

    /// All that is kept of a player, as JSON; none: there is no such one.
    ///
    /// # Errors
    /// The server has stopped.
    pub async fn export_player(&self, whom: Whom) -> Result<Option<Value>, ServerError> {
        let reply = self.query(Query::Export(whom)).await?;
        expect_reply!(reply, Reply::Export(found) => found.map(|found| export(&found.0, &found.1)))
    }

    /// Hashes a password, on the threads that there are for that.
    ///
    /// # Errors
    /// It is too short or too long, or too many wait.
    pub async fn hash_password(&self, password: String) -> Result<PasswordHash, PasswordError> {
        self.0.identity.passwords.hash(password).await
    }
}

/// A player as the HTTP API and the command line show it.
#[must_use]
pub fn shown(view: &PlayerView) -> Value {
    let ban = view.ban.as_ref().map(|(WallTime(until), reason)| {
        let until = (*until != u64::MAX).then_some(*until);
        json!({"until_ms": until, "reason": reason})
    });
    let sessions: Vec<String> = view.sessions.iter().map(SessionId::to_string).collect();
    json!({
        "player": view.player.to_string(),
        "account": view.account.as_ref().map(account),
        "ban": ban,
        "guest_secret": view.has_secret,
        "damaged": view.damaged,
        "sessions": sessions,
    })
}

fn account(account: &Account) -> Value {
    let (name, issuer, subject) = match &account.holder {
        Holder::Name(name) => (Some(name.as_str()), None, None),
        Holder::Subject { issuer, subject } => (None, Some(issuer), Some(subject)),
    };
    let keys: Vec<String> = account.keys.iter().map(PlayerId::to_string).collect();
    json!({
        "name": name,
        "issuer": issuer,
        "subject": subject,
        "role": account.role.label(),
        "locked": account.locked,
        "leaving": account.leaving,
        "password": account.password.is_some(),
        "played": account.used,
        "keys": keys,
        "created_ms": account.created.0,
    })
}

/// All that is kept of a player: what [`shown`] tells, and its sessions whole. What games keep in their
/// zones is theirs to tell.
fn export(player: &PlayerView, sessions: &[SessionReport]) -> Value {
    let mut all = shown(player);
    let sessions = sessions.iter().map(|kept| {
        let mut one = shape::session(&kept.view);
        let (began, timeline) = shape::timeline(&kept.timeline, kept.began);
        one["began_ms"] = began;
        one["timeline"] = timeline;
        one["data"] = STANDARD.encode(&kept.view.data).into();
        one["key"] = kept.credential.to_string().into();
        let seats = kept.seats.iter().map(|seat| format!("{seat:?}"));
        one["seats"] = seats.collect::<Vec<_>>().into();
        one
    });
    all["sessions"] = sessions.collect::<Vec<_>>().into();
    all
}
