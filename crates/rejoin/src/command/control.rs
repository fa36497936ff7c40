//! How other commands ask a server that runs: through a socket in its own folder. Whoever may open the
//! folder may ask, nobody else; no port is involved.

use std::io;
use std::path::Path;

use rejoin::store::embedded::snapshot::Snapshots;

/// What can be asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Question {
    /// A backup.
    Backup,
    /// A survey, as JSON.
    Inspect,
}

#[cfg(unix)]
pub(crate) use self::unix::{ask, listen};

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
    pub(crate) fn listen(folder: &Path, snapshots: Snapshots) -> Option<Control> {
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
                if let Err(error) = answer(&asker, &folder, &snapshots) {
                    tracing::warn!(%error, "a question about the folder was not answered");
                }
            }
        };
        let started =
            std::thread::Builder::new().name("rejoin-control".to_owned()).spawn(answering);
        started.ok().map(|_| Control(path))
    }

    fn answer(asker: &UnixStream, folder: &Path, snapshots: &Snapshots) -> io::Result<()> {
        asker.set_read_timeout(Some(PATIENCE))?;
        asker.set_write_timeout(Some(PATIENCE))?;
        let mut word = String::new();
        BufReader::new(asker.take(16)).read_line(&mut word)?;
        let mut out = io::BufWriter::new(asker);
        match word.trim_end() {
            "backup" => {
                let (scopes, damaged) = snapshots.back_up(&mut out).map_err(io::Error::other)?;
                for found in damaged {
                    tracing::error!("left out of the backup: {found}");
                }
                tracing::info!(scopes, "backed up");
            }
            "inspect" => {
                let survey = Survey::of(folder, snapshots).map_err(io::Error::other)?;
                serde_json::to_writer(&mut out, &survey)?;
            }
            _ => return Err(io::Error::other("it is no question")),
        }
        out.flush()
    }

    /// Asks the server that runs on a folder; what it says is read to the end.
    pub(crate) fn ask(folder: &Path, question: Question) -> io::Result<impl Read> {
        let mut stream = UnixStream::connect(folder.join(CONTROL))?;
        writeln!(stream, "{}", question.word())?;
        Ok(stream)
    }
}

#[cfg(not(unix))]
pub(crate) fn listen(_: &Path, _: Snapshots) -> Option<()> {
    None
}

#[cfg(not(unix))]
pub(crate) fn ask(_: &Path, _: Question) -> io::Result<io::Empty> {
    Err(io::Error::other("on this system a server that runs cannot be asked; stop it first"))
}
