//! `rejoin key`: makes API keys for the directory. The key is shown once; the settings keep its hash.

use clap::{Args, Subcommand, ValueEnum};
use rejoin::server::{ApiKey, Role};

use super::Failure;
use super::output::print_line;

#[derive(Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key, and print it with the lines for rejoin.toml.
    New(NewKey),
}

#[derive(Args)]
pub(crate) struct NewKey {
    /// Who will use the key, and so what it may do.
    #[arg(long, value_enum)]
    role: RoleName,
    /// Name of the key for people, printed with the lines for rejoin.toml.
    #[arg(long, default_value = "")]
    name: String,
    /// A fleet that a host's key is tied to; may be given several times. Without any it is good for all.
    #[arg(long = "fleet")]
    fleets: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum RoleName {
    /// Game clients: they find games, make them and take seats.
    Client,
    /// Hosts, and services that let players in for them.
    Host,
    /// Operators of the servers: they may do everything.
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
    let KeyCommand::New(NewKey { role, name, fleets }) = command;
    let role = Role::from(*role);
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)
        .map_err(|error| Failure::new(format!("the system gives no randomness: {error}")))?;
    let text = ApiKey::text_of(role, &secret);
    let key = ApiKey::from_text(name, role, &text).for_fleets(fleets.clone());
    let key = key.map_err(Failure::new)?;
    let hash = key.hash();
    let tied: String = key.fleets.iter().map(|fleet| format!(":{fleet}")).collect();
    print_line!("# The key. It is not kept anywhere: give it to whoever sends it.")?;
    print_line!("#   {text}")?;
    print_line!("# For rejoin.toml (or REJOIN_DIRECTORY_KEYS={}:{hash}{tied}):", role.label())?;
    print_line!(
        "[[directory.key]]\nname = {name:?}\nrole = {:?}\nsha256 = {hash:?}",
        role.label()
    )?;
    if !key.fleets.is_empty() {
        print_line!("fleets = {:?}", key.fleets)?;
    }
    Ok(())
}
