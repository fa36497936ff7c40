//! The board and its rules, without anything of a network.

use std::fmt;

const LINES: [[usize; 3]; 8] =
    [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]];

/// Whose a cell is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Begins.
    Cross,
    /// Follows.
    Nought,
}

impl Mark {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        if self == Self::Cross { Self::Nought } else { Self::Cross }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Cross { "x" } else { "o" })
    }
}

/// Nine cells, and who has given up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Board {
    cells: [Option<Mark>; 9],
    gave_up: Option<Mark>,
}

impl Board {
    /// How long a saved board is.
    pub const BYTES: usize = 10;

    /// Who moves next.
    #[must_use]
    pub fn turn(&self) -> Mark {
        let played = self.cells.iter().flatten().count();
        if played.is_multiple_of(2) { Mark::Cross } else { Mark::Nought }
    }

    /// Puts a mark on a cell.
    ///
    /// # Errors
    /// Says why it may not stand there.
    pub fn play(&mut self, mark: Mark, cell: u8) -> Result<(), &'static str> {
        if self.is_over() {
            return Err("the match is over");
        }
        if self.turn() != mark {
            return Err("it is not your turn");
        }
        match self.cells.get_mut(usize::from(cell)) {
            Some(place) if place.is_none() => *place = Some(mark),
            Some(_) => return Err("that cell is taken"),
            None => return Err("there are cells 0 to 8"),
        }
        Ok(())
    }

    /// The other one wins.
    pub fn give_up(&mut self, mark: Mark) {
        self.gave_up = Some(mark);
    }

    /// Who has won.
    #[must_use]
    pub fn winner(&self) -> Option<Mark> {
        let full = |line: &&[usize; 3]| {
            let [a, b, c] = line.map(|cell| self.cells[cell]);
            a.is_some() && a == b && b == c
        };
        let by_line = LINES.iter().find(full).and_then(|line| self.cells[line[0]]);
        by_line.or_else(|| self.gave_up.map(Mark::other))
    }

    /// Whether nobody moves any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.winner().is_some() || self.cells.iter().all(Option::is_some)
    }

    /// The board as bytes.
    #[must_use]
    pub fn save(&self) -> [u8; Self::BYTES] {
        let byte = |mark: Option<Mark>| mark.map_or(0, |mark| mark as u8 + 1);
        let mut bytes = [byte(self.gave_up); Self::BYTES];
        for (to, cell) in bytes.iter_mut().zip(self.cells) {
            *to = byte(cell);
        }
        bytes
    }

    /// The board that was saved, if it is one.
    #[must_use]
    pub fn restore(bytes: &[u8]) -> Option<Self> {
        let mark = |byte: &u8| match byte {
            0 => Some(None),
            1 => Some(Some(Mark::Cross)),
            2 => Some(Some(Mark::Nought)),
            _ => None,
        };
        let marks: Vec<_> = bytes.iter().map(mark).collect::<Option<_>>()?;
        let (gave_up, cells) = marks.split_last()?;
        Some(Self { cells: cells.try_into().ok()?, gave_up: *gave_up })
    }
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cells.iter().try_for_each(|cell| match cell {
            Some(mark) => mark.fmt(f),
            None => f.write_str("."),
        })
    }
}
