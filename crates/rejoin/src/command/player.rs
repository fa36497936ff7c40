//! `rejoin player`: looks after players and their accounts. A server that runs on the folder carries it
//! out itself, asked through the socket in its folder; where none runs, the folder is changed. A server
//! on another machine is asked over HTTP.

mod order;
mod remote;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use rejoin::server::players::KeptPlayers;
use rejoin::store::Embedded;
use rejoin::store::embedded::folder::Folder;
use serde_json::Value;

pub(crate) use self::order::{Order, Told};
use self::remote::RemoteArguments;

use super::output::print_line;
use super::{Failure, control};

#[derive(Args)]
pub(crate) struct PlayerArguments {
    /// Data folder of the server; not used with --server.
    #[arg(long, env = "REJOIN_DATA", default_value = "./rejoin-data", global = true)]
    data: PathBuf,
    #[command(flatten)]
    remote: RemoteArguments,
    /// Print the answer as JSON, for programs.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: PlayerCommand,
}

/// Who is meant by WHO: the name of an account, or a player's id in 32 hexadecimal digits.
#[derive(Subcommand)]
enum PlayerCommand {
    /// Make an account. Its password is asked for, or read from standard input.
    Add {
        /// 3 to 32 letters, digits, dots, hyphens and underscores; capitals are small letters.
        name: String,
        /// player, moderator or admin.
        #[arg(long, default_value = "player")]
        role: String,
        /// Without a password nobody can log in to it yet.
        #[arg(long)]
        no_password: bool,
    },
    /// Set another password, asked for or read from standard input. Ends the account's sessions, and
    /// takes the keys that were linked to it.
    Password { who: String },
    /// Let nobody in to an account, and end its sessions.
    Lock { who: String },
    /// Let them in again.
    Unlock { who: String },
    /// Keep a player out, and end its sessions.
    Ban {
        who: String,
        /// For so long: 90s, 30m, 12h, 7d. [default: for ever]
        #[arg(long = "for", value_name = "TIME", value_parser = while_)]
        while_: Option<Duration>,
        /// Why; the player is told, too.
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Let a player in again.
    Unban { who: String },
    /// Say what an account may do: player, moderator or admin.
    Role { who: String, role: String },
    /// Tell of all accounts, and of everybody who is banned.
    List,
    /// Tell of one player.
    Show { who: String },
    /// Delete an account with its sessions, or what is kept of a guest. A ban stays until it ends.
    Delete {
        who: String,
        /// Delete without asking; needed where standard input is no terminal.
        #[arg(long)]
        yes: bool,
    },
    /// Print all that is kept of a player, as JSON.
    Export { who: String },
}

pub(crate) fn run(arguments: &PlayerArguments) -> Result<(), Failure> {
    let remote = arguments.remote.remote()?;
    let order = order_of(&arguments.command)?;
    let told = match remote {
        Some(remote) => remote.carry_out(&order)?,
        None => carry_out(&arguments.data, &order)?,
    };
    match (told, arguments.json) {
        (Told::Done(value), true) => print_line!("{value:#}"),
        (Told::Done(value), false) => print(&order, &value),
        (Told::Refused { code, sentence }, true) => {
            print_line!("{:#}", serde_json::json!({"refused": code, "sentence": sentence}))?;
            Err(Failure::new(sentence))
        }
        (Told::Refused { sentence, .. }, false) => Err(Failure::new(sentence)),
    }
}

fn order_of(command: &PlayerCommand) -> Result<Order, Failure> {
    let who = |who: &String| who.clone();
    Ok(match command {
        PlayerCommand::Add { name, role, no_password } => Order::Add {
            name: name.clone(),
            role: role.clone(),
            password: if *no_password { None } else { Some(password()?) },
        },
        PlayerCommand::Password { who } => {
            Order::Password { who: who.clone(), password: password()? }
        }
        PlayerCommand::Lock { who: one } => Order::Lock { who: who(one), locked: true },
        PlayerCommand::Unlock { who: one } => Order::Lock { who: who(one), locked: false },
        PlayerCommand::Ban { who: one, while_, reason } => Order::Ban {
            who: who(one),
            until_ms: while_.map(|while_| now_ms().saturating_add(millis(while_))),
            reason: reason.clone(),
        },
        PlayerCommand::Unban { who: one } => Order::Unban { who: who(one) },
        PlayerCommand::Role { who: one, role } => Order::Role { who: who(one), role: role.clone() },
        PlayerCommand::List => Order::List,
        PlayerCommand::Show { who: one } => Order::Show { who: who(one) },
        PlayerCommand::Delete { who: one, yes } => {
            confirm(one, *yes)?;
            Order::Delete { who: who(one) }
        }
        PlayerCommand::Export { who: one } => Order::Export { who: who(one) },
    })
}

fn carry_out(folder: &Path, order: &Order) -> Result<Told, Failure> {
    let name = folder.display();
    let is_new = !folder.exists();
    if is_new && !matches!(order, Order::Add { .. }) {
        return Err(Failure::new(format!("there is no folder {name}: nothing is kept there")));
    }
    let failed = |error: &dyn std::fmt::Display| Failure::new(error.to_string());
    if !is_new && Folder::is_held(folder).map_err(|error| failed(&error))? {
        return control::order(folder, order).map_err(|error| {
            Failure::new(format!("the server that runs on {name} cannot be asked: {error}"))
        });
    }
    // Before anything is made or opened: a refusal leaves nothing behind.
    let meant = match order.understood() {
        Ok(meant) => meant,
        Err(refused) => return Ok(refused),
    };
    let mut store = Embedded::open(folder).map_err(|error| failed(&error))?;
    if let Order::Export { who } = order {
        return order::export_kept(&mut store, who).map_err(|error| failed(&error));
    }
    let mut kept = KeptPlayers::open(store).map_err(|error| failed(&error))?;
    meant.carry_out_on(&mut kept).map_err(|error| failed(&error))
}

/// Asked for at a terminal, twice and without showing it; otherwise the first line.
fn password() -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("no password can be read: {error}"));
    if std::io::stdin().is_terminal() {
        let first = rpassword::prompt_password("Password: ").map_err(failed)?;
        let again = rpassword::prompt_password("Once more: ").map_err(failed)?;
        return if first == again {
            Ok(first)
        } else {
            Err(Failure::new("the two passwords differ; nothing was changed"))
        };
    }
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(failed)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn confirm(who: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::new(format!("{who:?} would be gone for good; say --yes")));
    }
    eprint!("{who:?} will be gone for good. Type yes to go on: ");
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    if read.is_err() || answer.trim() != "yes" {
        return Err(Failure::new("nothing was changed"));
    }
    Ok(())
}

/// A number and a unit.
fn while_(text: &str) -> Result<Duration, String> {
    let wrong = || "a time is a number and s, m, h or d, such as 12h".to_owned();
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    let count: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    let all = count.checked_mul(seconds).filter(|all| (1..=3_153_600_000).contains(all));
    all.map(Duration::from_secs).ok_or_else(|| "a time is from 1s to 36500d".to_owned())
}

fn millis(while_: Duration) -> u64 {
    while_.as_millis().try_into().unwrap_or(u64::MAX)
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}

/// What was done, for people.
fn print(order: &Order, value: &Value) -> Result<(), Failure> {
    match order {
        Order::Export { .. } => print_line!("{value:#}"),
        Order::List => {
            let all = value.as_array().map(Vec::as_slice).unwrap_or_default();
            for one in all {
                print_line!("{}", order::line(one, now_ms()))?;
            }
            print_line!("{} {}", all.len(), if all.len() == 1 { "player" } else { "players" })
        }
        Order::Delete { who } if value["leaving"] == true => {
            print_line!("{who:?} is locked out, and gone when the server starts next")
        }
        Order::Delete { who } => print_line!("{who:?} is gone"),
        _ => print_line!("{}", order::line(value, now_ms())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_and_a_unit() {
        assert_eq!(while_("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(while_("7d"), Ok(Duration::from_secs(7 * 86_400)));
        for wrong in ["", "7", "d", "7w", "-1h", "0s", "1.5h", "99999999999d", "7\u{e9}"] {
            assert!(while_(wrong).is_err(), "{wrong}");
        }
    }
}
