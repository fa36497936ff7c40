//! The commands of the binary and what they have in common.

mod banner;
mod check;
mod control;
mod data;
mod inspect;
mod key;
mod output;
mod player;
mod serve;
mod server_key;
mod settings;
mod sign;

use std::fmt;

use clap::{Parser, Subcommand};

use self::settings::ServeArguments;

/// Player sessions that outlive connections.
#[derive(Parser)]
#[command(name = "rejoin", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Without a command, it serves.
    #[command(flatten)]
    serve: ServeArguments,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server until it is stopped; the same as no command at all.
    Serve(ServeArguments),
    /// Show what is in a data folder, whether a server runs on it or not.
    Inspect(data::InspectArguments),
    /// Write all that a folder keeps into one file, whether a server runs on it or not.
    Backup(data::BackupArguments),
    /// Make a folder from a backup.
    Restore(data::RestoreArguments),
    /// Delete all that a folder keeps.
    Reset(data::ResetArguments),
    /// Look at the settings.
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Make API keys for the directory.
    Key {
        #[command(subcommand)]
        command: key::KeyCommand,
    },
    /// Look after players and their accounts, whether a server runs on the folder or not.
    Player(player::PlayerArguments),
    /// Sign a challenge, for a login by key that is typed by hand.
    Sign(sign::SignArguments),
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Read the settings and open the files that they name as `serve` would, and print what is in force.
    Check(ServeArguments),
}

/// Why a command did not succeed, as a sentence for whoever typed it.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Arguments {
    /// Does what the command line says.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.command {
            None => serve::run(&self.serve.settings()?),
            Some(Command::Serve(arguments)) => serve::run(&arguments.settings()?),
            Some(Command::Config { command: ConfigCommand::Check(arguments) }) => {
                check::run(&arguments)
            }
            Some(Command::Key { command }) => key::run(&command),
            Some(Command::Player(arguments)) => player::run(&arguments),
            Some(Command::Sign(arguments)) => sign::run(&arguments),
            Some(Command::Inspect(arguments)) => data::inspect(&arguments),
            Some(Command::Backup(arguments)) => data::back_up(&arguments),
            Some(Command::Restore(arguments)) => data::restore(&arguments),
            Some(Command::Reset(arguments)) => data::reset(&arguments),
        }
    }
}
