//! The games that run here: a sum each, in memory for those who listen and in a file for the next process.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

use rejoin::host::{GameId, Seat};
use tokio::sync::watch;

struct Table {
    sum: watch::Sender<i64>,
    /// Who is in, or was and may come back.
    seats: Vec<Seat>,
}

/// All of them.
pub(crate) struct Tables {
    folder: PathBuf,
    open: Mutex<HashMap<GameId, Table>>,
}

impl Tables {
    /// Those that an earlier process left behind.
    pub(crate) fn restore(folder: PathBuf) -> io::Result<Self> {
        std::fs::create_dir_all(&folder)?;
        let mut open = HashMap::new();
        for file in std::fs::read_dir(&folder)? {
            let path = file?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if let Some(game) = GameId::from_hex(name) {
                let sum = std::fs::read_to_string(&path)?.trim().parse().unwrap_or(0);
                open.insert(game, Table { sum: watch::Sender::new(sum), seats: Vec::new() });
            }
        }
        Ok(Self { folder, open: Mutex::new(open) })
    }

    pub(crate) fn games(&self) -> Vec<GameId> {
        self.tables().keys().copied().collect()
    }

    /// Begins a Game.
    pub(crate) fn open(&self, game: GameId) -> io::Result<()> {
        self.keep(game, 0)?;
        let table = Table { sum: watch::Sender::new(0), seats: Vec::new() };
        self.tables().insert(game, table);
        Ok(())
    }

    /// Nothing of it is wanted any more.
    pub(crate) fn close(&self, game: GameId) {
        self.tables().remove(&game);
        // An error leaves a file, and the next process is told to drop it.
        let _ = std::fs::remove_file(self.folder.join(game.to_string()));
    }

    /// The sum now, and every change of it.
    pub(crate) fn listen(&self, game: GameId) -> Option<watch::Receiver<i64>> {
        self.tables().get(&game).map(|table| table.sum.subscribe())
    }

    /// Adds to the sum; it is in the file before anybody hears of it.
    pub(crate) fn add(&self, game: GameId, number: i64) -> io::Result<()> {
        let tables = self.tables();
        let Some(table) = tables.get(&game) else { return Ok(()) };
        let sum = table.sum.borrow().wrapping_add(number);
        self.keep(game, sum)?;
        table.sum.send_replace(sum);
        Ok(())
    }

    /// Somebody was let in.
    pub(crate) fn seat(&self, seat: Seat) -> Seat {
        if let Some(table) = self.tables().get_mut(&seat.game) {
            table.seats.push(seat.clone());
        }
        seat
    }

    /// Somebody whose connection broke, and who shows the same ticket again.
    pub(crate) fn returning(&self, game: GameId, ticket: &str, player: &str) -> Option<Seat> {
        let tables = self.tables();
        let mut seats = tables.get(&game)?.seats.iter();
        seats.find(|seat| seat.id.to_string() == ticket && seat.player == player).cloned()
    }

    pub(crate) fn leave(&self, seat: &Seat) {
        if let Some(table) = self.tables().get_mut(&seat.game) {
            table.seats.retain(|known| known.id != seat.id);
        }
    }

    fn tables(&self) -> std::sync::MutexGuard<'_, HashMap<GameId, Table>> {
        self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn keep(&self, game: GameId, sum: i64) -> io::Result<()> {
        let (path, new) =
            (self.folder.join(game.to_string()), self.folder.join(format!("{game}.new")));
        std::fs::write(&new, sum.to_string())?;
        std::fs::rename(new, path)
    }
}
