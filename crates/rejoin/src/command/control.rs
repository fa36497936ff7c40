//! How other commands ask a server that runs: through a socket in its own folder. Whoever may open the
//! folder may ask, nobody else; no port is involved.

use std::io;
use std::path::Path;

use rejoin::server::Server;
use rejoin::store::embedded::snapshot::Snapshots;
use tokio::runtime::Handle;

use super::player::{Order, Told};

/// What can be asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Question {
    /// All scopes of the folder, as the bytes of a backup file.
    Backup,
    /// A survey, as JSON.
    Inspect,
}

#[cfg(unix)]
pub(crate) use self::unix::{ask, listen, order};

#[cfg(unix)]
mod unix {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::PathBuf;
    use std::time::Duration;

    use rejoin::store::embedded::folder::CONTROL;

    use super::*;
    use crate::command::inspect::Survey;

    /// A question is a word; whoever takes longer than this to say it is not one of us.
    const PATIENCE: Duration = Duration::from_secs(10);
    /// The longest question: a word, and an order with a password and a reason.
    const QUESTION_BYTES_MAX: u64 = 16 << 10;

    impl Question {
        fn word(self) -> &'static str {
            match self {
                Self::Backup => "backup",
                Self::Inspect => "inspect",
            }
        }
    }

    /// The socket; gone with this.
    pub(crate) struct Control(PathBuf);

    impl Drop for Control {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    /// Answers questions from now on. A folder whose path is too long for a socket goes without.
    pub(crate) fn listen(
        folder: &Path,
        snapshots: Snapshots,
        server: (Server, Handle),
    ) -> Option<Control> {
        let path = folder.join(CONTROL);
        // The folder's lock is ours, so what is left there is of one that was killed.
        let _ = std::fs::remove_file(&path);
        let listener = match UnixListener::bind(&path) {
            Ok(listener) => listener,
            Err(error) => {
                tracing::warn!(%error, "backup and inspect cannot ask this server");
                return None;
            }
        };
        let folder = folder.to_owned();
        let answering = move || {
            // One at a time: a backup reads the whole disk.
            for asker in listener.incoming().flatten() {
                if let Err(error) = answer(asker, &folder, &snapshots, &server) {
                    tracing::warn!(%error, "a question about the folder was not answered");
                }
            }
        };
        let started =
            std::thread::Builder::new().name("rejoin-control".to_owned()).spawn(answering);
        started.ok().map(|_| Control(path))
    }

    fn answer(
        asker: UnixStream,
        folder: &Path,
        snapshots: &Snapshots,
        server: &(Server, Handle),
    ) -> io::Result<()> {
        asker.set_read_timeout(Some(PATIENCE))?;
        asker.set_write_timeout(Some(PATIENCE))?;
        let (mut word, mut order) = (String::new(), String::new());
        let mut lines = BufReader::new((&asker).take(QUESTION_BYTES_MAX));
        lines.read_line(&mut word)?;
        if word.trim_end() == "player" {
            lines.read_line(&mut order)?;
            drop(lines);
            let order: Order = serde_json::from_str(&order)?;
            let (server, runtime) = server.clone();
            // Beside the others: a ban does not wait for a backup.
            let carried = move || {
                let told = runtime.block_on(order.carry_out(&server));
                let mut asker = asker;
                // An error means that the asker has gone.
                let _ = serde_json::to_writer(&mut asker, &told);
            };
            let builder = std::thread::Builder::new().name("rejoin-order".to_owned());
            return builder.spawn(carried).map(drop);
        }
        drop(lines);
        let mut out = io::BufWriter::new(&asker);
        match word.trim_end() {
            "backup" => {
                let done = snapshots.back_up(&mut out, Some(folder)).map_err(io::Error::other)?;
                for found in done.damaged {
                    tracing::error!("kept as it was found, and set aside by a restore: {found}");
                }
                tracing::info!(scopes = done.scopes, set_aside = done.set_aside, "backed up");
            }
            "inspect" => {
                let survey = Survey::of(folder, snapshots).map_err(io::Error::other)?;
                serde_json::to_writer(&mut out, &survey)?;
            }
            _ => return Err(io::Error::other("it is no question")),
        }
        out.flush()
    }

    /// Has the server that runs on a folder carry out an order.
    pub(crate) fn order(folder: &Path, order: &Order) -> io::Result<Told> {
        let mut stream = UnixStream::connect(folder.join(CONTROL))?;
        writeln!(stream, "player\n{}", serde_json::to_string(order)?)?;
        Ok(serde_json::from_reader(stream)?)
    }

    /// Asks the server that runs on a folder; what it says is read to the end.
    pub(crate) fn ask(folder: &Path, question: Question) -> io::Result<impl Read> {
        let mut stream = UnixStream::connect(folder.join(CONTROL))?;
        writeln!(stream, "{}", question.word())?;
        Ok(stream)
    }
}

#[cfg(not(unix))]
pub(crate) fn listen(_: &Path, _: Snapshots, _: (Server, Handle)) -> Option<()> {
    None
}

#[cfg(not(unix))]
pub(crate) fn order(_: &Path, _: &Order) -> io::Result<Told> {
    Err(io::Error::other("on this system a server that runs cannot be asked; use /v1/players"))
}

#[cfg(not(unix))]
pub(crate) fn ask(_: &Path, _: Question) -> io::Result<io::Empty> {
    Err(io::Error::other("on this system a server that runs cannot be asked; stop it first"))
}
