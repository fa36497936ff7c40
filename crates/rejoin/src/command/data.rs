//! The commands on a folder: inspect, backup, restore, reset. The first two also work while a server
//! runs on it.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use rejoin::store::embedded::backup::{self, BackedUp};
use rejoin::store::embedded::folder::{Folder, sync_parent};
use rejoin::store::embedded::snapshot::Snapshots;

use super::Failure;
use super::control::{self, Question};
use super::inspect::Survey;
use super::output::print_line;

#[derive(Args)]
pub(crate) struct InspectArguments {
    /// Data folder to look at; it is not changed.
    #[arg(default_value = "./rejoin-data")]
    folder: PathBuf,
    /// Print the report as JSON, for programs.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct BackupArguments {
    /// Data folder to back up; a server may run on it.
    folder: PathBuf,
    /// The file to write; it must not exist.
    to: PathBuf,
}

#[derive(Args)]
pub(crate) struct RestoreArguments {
    /// File that `rejoin backup` wrote.
    backup: PathBuf,
    /// The folder to make; it must not exist or be empty.
    folder: PathBuf,
}

#[derive(Args)]
pub(crate) struct ResetArguments {
    /// Data folder to empty; no server may run on it.
    folder: PathBuf,
    /// Delete without asking; needed where standard input is no terminal.
    #[arg(long)]
    yes: bool,
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(error.to_string())
}

fn about<E: std::fmt::Display>(path: &Path) -> impl FnOnce(E) -> Failure {
    let name = path.display().to_string();
    move |error| Failure::new(format!("{name}: {error}"))
}

/// Somebody holds the folder and cannot be asked.
fn silent(folder: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| {
        let name = folder.display();
        Failure::new(format!(
            "{name} is in use, and nobody answers at {name}/control ({error}): it may be starting, stopping, or \
             no server at all. Try again, or stop what uses it"
        ))
    }
}

/// Says what is there. Damage is a failure, so that a script sees it.
pub(crate) fn inspect(arguments: &InspectArguments) -> Result<(), Failure> {
    let folder = &arguments.folder;
    let survey = if Folder::is_held(folder).map_err(failed)? {
        let answer = control::ask(folder, Question::Inspect).map_err(silent(folder))?;
        serde_json::from_reader(answer).map_err(about(folder))?
    } else {
        let snapshots = Snapshots::of_folder(folder).map_err(failed)?;
        Survey::of(folder, &snapshots).map_err(about(folder))?
    };
    if arguments.json {
        print_line!("{}", serde_json::to_string_pretty(&survey).map_err(failed)?)?;
    } else {
        print_line!("{survey}")?;
    }
    if survey.is_sound() {
        Ok(())
    } else {
        Err(Failure::new(format!("{} holds something that is damaged", folder.display())))
    }
}

/// Writes a backup beside its name first: what has the name is whole.
pub(crate) fn back_up(arguments: &BackupArguments) -> Result<(), Failure> {
    let (folder, to) = (&arguments.folder, &arguments.to);
    let is_held = Folder::is_held(folder).map_err(failed)?;
    if to.exists() {
        return Err(Failure::new(format!("{} exists already; name another file", to.display())));
    }
    let part = to.with_extension("part");
    let written = write_backup(folder, is_held, &part);
    match written {
        Ok(()) => {
            std::fs::rename(&part, to).and_then(|()| sync_parent(to)).map_err(about(to))?;
        }
        Err(failure) => {
            let _ = std::fs::remove_file(&part);
            return Err(failure);
        }
    }
    let scopes = backup::check(&mut File::open(to).map_err(about(to))?).map_err(about(to))?;
    print_line!("{scopes} scopes of {} are in {}", folder.display(), to.display())
}

fn write_backup(folder: &Path, is_held: bool, part: &Path) -> Result<(), Failure> {
    // Hashes of passwords and tokens, and the server's key: for nobody else to read.
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(part).map_err(about(part))?;
    if is_held {
        let mut answer = control::ask(folder, Question::Backup).map_err(silent(folder))?;
        std::io::copy(&mut answer.by_ref(), &mut file).map_err(about(part))?;
        let mut whole = File::open(part).map_err(about(part))?;
        backup::check(&mut whole).map_err(about(part))?;
    } else {
        let snapshots = Snapshots::of_folder(folder).map_err(failed)?;
        let mut out = BufWriter::new(&mut file);
        let done = snapshots.back_up(&mut out, Some(folder)).map_err(about(folder))?;
        let BackedUp { damaged, .. } = done;
        out.flush().map_err(about(part))?;
        drop(out);
        for found in damaged {
            eprintln!("rejoin: kept as it was found, and set aside by a restore: {found}");
        }
    }
    file.sync_all().map_err(about(part))
}

pub(crate) fn restore(arguments: &RestoreArguments) -> Result<(), Failure> {
    let mut backup = File::open(&arguments.backup).map_err(about(&arguments.backup))?;
    let scopes = backup::restore(&mut backup, &arguments.folder).map_err(failed)?;
    print_line!("{scopes} scopes are in {}", arguments.folder.display())
}

pub(crate) fn reset(arguments: &ResetArguments) -> Result<(), Failure> {
    let name = arguments.folder.display();
    if !arguments.yes {
        if !std::io::stdin().is_terminal() {
            return Err(Failure::new(format!("all sessions in {name} would be lost; say --yes")));
        }
        print!("All sessions in {name} will be lost. Type yes to go on: ");
        std::io::stdout().flush().map_err(failed)?;
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer).map_err(failed)?;
        if answer.trim() != "yes" {
            return Err(Failure::new("nothing was changed"));
        }
    }
    Folder::reset(&arguments.folder).map_err(failed)?;
    print_line!("{name} is empty")
}
