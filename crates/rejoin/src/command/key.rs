//! `rejoin key`: makes API keys for the directory. The key is shown once; the settings keep its hash.

use clap::{Args, Subcommand, ValueEnum};
use rejoin::server::{ApiKey, Role};

use super::Failure;

#[derive(Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key, and print it with the lines for rejoin.toml.
    New(NewKey),
}

#[derive(Args)]
pub(crate) struct NewKey {
    /// What it is for.
    #[arg(long, value_enum)]
    role: RoleName,
    /// What people call it.
    #[arg(long, default_value = "")]
    name: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum RoleName {
    /// Game clients: they find games, make them and take seats.
    Client,
    /// Hosts, and services that let players in for them.
    Host,
    /// Whoever runs it all.
    Operator,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Client => Self::Client,
            RoleName::Host => Self::Host,
            RoleName::Operator => Self::Operator,
        }
    }
}

pub(crate) fn run(command: &KeyCommand) -> Result<(), Failure> {
    let KeyCommand::New(NewKey { role, name }) = command;
    let role = Role::from(*role);
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)
        .map_err(|error| Failure::new(format!("the system gives no randomness: {error}")))?;
    let text = ApiKey::text_of(role, &secret);
    let hash = ApiKey::from_text(name, role, &text).hash();
    println!("# The key. It is not kept anywhere: give it to whoever sends it.");
    println!("#   {text}");
    println!("# For rejoin.toml (or REJOIN_DIRECTORY_KEYS={}:{hash}):", role.label());
    println!("[[directory.key]]\nname = {name:?}\nrole = {:?}\nsha256 = {hash:?}", role.label());
    Ok(())
}
