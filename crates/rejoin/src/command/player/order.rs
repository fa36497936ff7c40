//! What can be done with players, as it travels from the command line to the server that does it; and
//! what comes back.

use std::time::Duration;

use rejoin::account::{Name, REASON_CHARS_MAX, Refusal, Role};
use rejoin::hub::{Answer, PasswordHash, PlayerCommand, Whom};
use rejoin::id::PlayerId;
use rejoin::server::players::{KeptError, KeptPlayers, shown};
use rejoin::server::{PasswordError, Server, ServerError, hash_password};
use rejoin::store::Store;
use rejoin::time::WallTime;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How long a server may take: its store may be full.
const PATIENCE: Duration = Duration::from_secs(30);
/// Players that are asked for at a time.
const PAGE: usize = 1_000;

/// An order. It has no `Debug`: there may be a password in it.
#[derive(Serialize, Deserialize, Clone)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Order {
    Add { name: String, role: String, password: Option<String> },
    Password { who: String, password: String },
    Lock { who: String, locked: bool },
    Ban { who: String, until_ms: Option<u64>, reason: String },
    Unban { who: String },
    Role { who: String, role: String },
    List,
    Show { who: String },
    Delete { who: String },
    Export { who: String },
}

/// What came of it.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Told {
    Done(Value),
    Refused { code: String, sentence: String },
}

impl Told {
    fn refused(code: &str, sentence: impl ToString) -> Self {
        Self::Refused { code: code.to_owned(), sentence: sentence.to_string() }
    }
}

impl From<Refusal> for Told {
    fn from(refusal: Refusal) -> Self {
        Self::refused(refusal.label(), refusal)
    }
}

impl From<PasswordError> for Told {
    fn from(error: PasswordError) -> Self {
        let code = if error == PasswordError::Busy { "busy" } else { "bad_password" };
        Self::refused(code, error)
    }
}

/// A question, or a command and whom to tell of afterwards.
pub(super) enum Meant {
    List,
    Show(Whom),
    Export(Whom),
    Do(PlayerCommand, Whom),
}

impl Order {
    /// Has a running server do it.
    pub(crate) async fn carry_out(self, server: &Server) -> Told {
        let told = tokio::time::timeout(PATIENCE, self.ask(server)).await;
        told.unwrap_or_else(|_| {
            Ok(Told::refused("no_answer", "no answer in time: look whether it was done"))
        })
        .unwrap_or_else(|told| told)
    }

    async fn ask(self, server: &Server) -> Result<Told, Told> {
        let stopped = |error: ServerError| match error {
            ServerError::Refused(Answer::PlayerRefused(refusal)) => refusal.into(),
            other => Told::refused("failed", other),
        };
        let hash = match self.password() {
            Some(password) => Some(server.hash_password(password.to_owned()).await?),
            None => None,
        };
        match self.meant(hash)? {
            Meant::List => {
                let (mut all, mut after) = (Vec::new(), None);
                loop {
                    let page = server.players(after, PAGE).await.map_err(stopped)?;
                    after = page.last().map(|view| view.player);
                    all.extend(page.iter().map(shown));
                    if page.len() < PAGE {
                        return Ok(Told::Done(sorted(all)));
                    }
                }
            }
            Meant::Show(whom) => {
                let view = server.player(whom).await.map_err(stopped)?;
                view.map(|view| Told::Done(shown(&view))).ok_or(Refusal::Unknown.into())
            }
            Meant::Export(whom) => {
                let all = server.export_player(whom).await.map_err(stopped)?;
                all.map(Told::Done).ok_or(Refusal::Unknown.into())
            }
            Meant::Do(command, whom) => {
                server.order_player(command).await.map_err(stopped)?;
                let view = server.player(whom).await.map_err(stopped)?;
                Ok(Told::Done(view.map_or(json!({}), |view| shown(&view))))
            }
        }
    }

    /// What it comes to; a refusal if it can come to nothing, whoever is there.
    pub(super) fn understood(&self) -> Result<Meant, Told> {
        let hash = self.password().map(hash_password).transpose().map_err(Told::from)?;
        self.meant(hash)
    }

    fn password(&self) -> Option<&str> {
        match self {
            Self::Add { password, .. } => password.as_deref(),
            Self::Password { password, .. } => Some(password),
            _ => None,
        }
    }

    fn meant(&self, hash: Option<PasswordHash>) -> Result<Meant, Told> {
        let command = |who: &str, make: &dyn Fn(Whom) -> PlayerCommand| {
            let whom = whom(who)?;
            Ok(Meant::Do(make(whom.clone()), whom))
        };
        match self {
            Self::List => Ok(Meant::List),
            Self::Show { who } => Ok(Meant::Show(whom(who)?)),
            Self::Export { who } => Ok(Meant::Export(whom(who)?)),
            Self::Add { name, role: label, .. } => {
                let name = Name::parse(name).map_err(|why| Told::refused("bad_name", why))?;
                let add =
                    PlayerCommand::Add { name: name.clone(), role: role(label)?, password: hash };
                Ok(Meant::Do(add, Whom::Name(name)))
            }
            Self::Password { who, .. } => {
                let hash = hash.ok_or_else(|| Told::refused("bad_password", "no password"))?;
                command(who, &|whom| PlayerCommand::SetPassword(whom, hash.clone()))
            }
            Self::Lock { who, locked } => command(who, &|whom| PlayerCommand::Lock(whom, *locked)),
            Self::Ban { who, until_ms, reason } => {
                if reason.chars().count() > REASON_CHARS_MAX || reason.chars().any(char::is_control)
                {
                    let why = "a reason has at most 100 characters, and no control characters";
                    return Err(Told::refused("bad_reason", why));
                }
                let until = WallTime(until_ms.unwrap_or(u64::MAX));
                command(who, &|whom| PlayerCommand::Ban(whom, until, reason.clone()))
            }
            Self::Unban { who } => command(who, &PlayerCommand::Unban),
            Self::Role { who, role: label } => {
                let role = role(label)?;
                command(who, &|whom| PlayerCommand::SetRole(whom, role))
            }
            Self::Delete { who } => command(who, &PlayerCommand::Delete),
        }
    }
}

impl Meant {
    /// Does it on a folder.
    pub(super) fn carry_out_on<S: Store>(
        self,
        kept: &mut KeptPlayers<S>,
    ) -> Result<Told, KeptError> {
        Ok(match self {
            Self::List => {
                Told::Done(sorted(kept.players(None, usize::MAX).iter().map(shown).collect()))
            }
            Self::Show(whom) | Self::Export(whom) => match kept.player(&whom) {
                Some(view) => Told::Done(shown(&view)),
                None => Refusal::Unknown.into(),
            },
            Self::Do(command, whom) => match kept.order(command) {
                Ok(()) => {
                    let view = kept.player(&whom);
                    let leaving = view.as_ref().and_then(|view| view.account.as_ref());
                    let leaving = leaving.is_some_and(|account| account.leaving);
                    let mut told = view.map_or(json!({}), |view| shown(&view));
                    if leaving {
                        told["leaving"] = true.into();
                    }
                    Told::Done(told)
                }
                Err(KeptError::Refused(refusal)) => refusal.into(),
                Err(error) => return Err(error),
            },
        })
    }
}

/// All that a folder keeps of a player.
pub(super) fn export_kept(store: &mut dyn Store, who: &str) -> Result<Told, KeptError> {
    let whom = match whom(who) {
        Ok(whom) => whom,
        Err(told) => return Ok(told),
    };
    let found = rejoin::server::players::export_kept(store, &whom)?;
    Ok(found.map_or_else(|| Refusal::Unknown.into(), Told::Done))
}

pub(super) fn whom(who: &str) -> Result<Whom, Told> {
    if let Some(player) = PlayerId::from_hex(who) {
        return Ok(Whom::Player(player));
    }
    Name::parse(who).map(Whom::Name).map_err(|why| {
        let sentence = format!("{who:?} is neither a name nor a player's id: {why}");
        Told::refused("bad_name", sentence)
    })
}

fn role(label: &str) -> Result<Role, Told> {
    Role::from_label(label).ok_or_else(|| {
        Told::refused("bad_role", format!("{label:?} is not player, moderator or admin"))
    })
}

/// By name; those without one last.
pub(super) fn sorted(mut all: Vec<Value>) -> Value {
    let key = |one: &Value| {
        let text = |field: &str| one["account"][field].as_str().map(str::to_owned);
        let name = text("name").or(text("subject"));
        (name.is_none(), name, one["player"].as_str().map(str::to_owned))
    };
    all.sort_by_key(key);
    all.into()
}

/// A player in one line, for people.
pub(super) fn line(one: &Value, now_ms: u64) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let account = &one["account"];
    let name = match (&account["name"], &account["subject"]) {
        (Value::String(name), _) => name.clone(),
        (_, Value::String(subject)) => format!("{subject:?} of {:?}", text(&account["issuer"])),
        _ => "guest".to_owned(),
    };
    let mut words = vec![text(&one["player"]), name, text(&account["role"])];
    if account["locked"] == true {
        words.push("locked".to_owned());
    }
    if account["leaving"] == true {
        words.push("being deleted".to_owned());
    }
    if let Value::Object(ban) = &one["ban"] {
        let reason = ban.get("reason").map(&text).unwrap_or_default();
        let until = match ban.get("until_ms") {
            Some(Value::Number(until)) => {
                let left = until.as_u64().unwrap_or(u64::MAX).saturating_sub(now_ms);
                format!("for another {}", span(left / 1_000))
            }
            _ => "for ever".to_owned(),
        };
        let colon = if reason.is_empty() { String::new() } else { format!(": {reason:?}") };
        words.push(format!("banned {until}{colon}"));
    }
    words.retain(|word| !word.is_empty());
    words.join("  ")
}

/// Seconds as people say them.
fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
