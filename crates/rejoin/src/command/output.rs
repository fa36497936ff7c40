//! What commands print. A reader that has seen enough and closes the pipe (`| head -1`) ends the output and
//! not the program; any other failure is told.

use std::fmt;
use std::io::{ErrorKind, Write as _};

use super::Failure;

/// Says something on the standard output. Whoever listened there may be gone, and the server serves on.
macro_rules! say {
    ($($what:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stdout(), $($what)*);
    }};
}
pub(crate) use say;

/// Prints one line.
macro_rules! print_line {
    ($($what:tt)*) => { $crate::command::output::print(format_args!($($what)*)) };
}
pub(crate) use print_line;

/// Prints a line; see [`print_line`].
pub(crate) fn print(line: fmt::Arguments<'_>) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("the output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}
