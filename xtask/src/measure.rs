//! `cargo xtask measure`: what the core and the armour around it cost, in bytes and instructions, as
//! the table of docs/PERFORMANCE.md. It is outside `cargo xtask test`: a figure is compared by people.
//!
//! What valgrind counts is taken at two sizes and divided by their difference, so that the cost of
//! starting the process cancels.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::stage::{cargo, cargo_succeeds};
use crate::tidy::root;

const PAGE: &str = "docs/PERFORMANCE.md";
const START: &str = "<!-- measured: begin -->";
const END: &str = "<!-- measured: end -->";

/// Runs of what is not the same each time.
const RUNS: usize = 3;

/// One row of the table.
struct Figure {
    what: &'static str,
    value: String,
    how: String,
}

/// A figure that valgrind counts: the words before and after the size, and two sizes.
struct Counted {
    what: &'static str,
    example: Example,
    tool: Tool,
    before: &'static str,
    sizes: (u64, u64),
    after: &'static [&'static str],
}

/// A program that does one thing often: its package, and its name.
type Example = (&'static str, &'static str);

const CORE: Example = ("rejoin-core", "measure");
const SEAL: Example = ("rejoin-seal", "sealing");
const COMPRESSION: Example = ("rejoin-wire", "compression");

#[derive(Clone, Copy)]
enum Tool {
    /// Bytes of the heap in use at the exit.
    Memcheck,
    /// Instructions.
    Callgrind,
}

const COUNTED: &[Counted] = &[
    Counted {
        what: "held session, just dropped: heap bytes",
        example: CORE,
        tool: Tool::Memcheck,
        before: "held",
        sizes: (2_000, 4_000),
        after: &["fresh"],
    },
    Counted {
        what: "held session, 15 s later: heap bytes",
        example: CORE,
        tool: Tool::Memcheck,
        before: "held",
        sizes: (2_000, 4_000),
        after: &["rested"],
    },
    Counted {
        what: "held session in a zone, with its member: heap bytes",
        example: CORE,
        tool: Tool::Memcheck,
        before: "held",
        sizes: (250, 500),
        after: &["joined"],
    },
    Counted {
        what: "message to 10 members, `Memory` zone: instructions",
        example: CORE,
        tool: Tool::Callgrind,
        before: "route",
        sizes: (2_000, 4_000),
        after: &["memory"],
    },
    Counted {
        what: "message to 10 members, `Full` zone, a cut each: instructions",
        example: CORE,
        tool: Tool::Callgrind,
        before: "route",
        sizes: (2_000, 4_000),
        after: &["full"],
    },
    Counted {
        what: "resume with 100 missed messages: instructions",
        example: CORE,
        tool: Tool::Callgrind,
        before: "resume",
        sizes: (100, 200),
        after: &[],
    },
    Counted {
        what: "message to 10 members, `Memory` zone, its address watched: instructions",
        example: CORE,
        tool: Tool::Callgrind,
        before: "route",
        sizes: (2_000, 4_000),
        after: &["guarded"],
    },
    Counted {
        what: "datagram of 100 bytes sealed: instructions",
        example: SEAL,
        tool: Tool::Callgrind,
        before: "seal",
        sizes: (2_000, 4_000),
        after: &["100"],
    },
    Counted {
        what: "datagram of 100 bytes sealed and opened: instructions",
        example: SEAL,
        tool: Tool::Callgrind,
        before: "open",
        sizes: (2_000, 4_000),
        after: &["100"],
    },
    Counted {
        what: "datagram of 1,200 bytes sealed and opened: instructions",
        example: SEAL,
        tool: Tool::Callgrind,
        before: "open",
        sizes: (2_000, 4_000),
        after: &["1200"],
    },
    Counted {
        what: "handshake for encryption, both halves: instructions",
        example: SEAL,
        tool: Tool::Callgrind,
        before: "greet",
        sizes: (50, 100),
        after: &[],
    },
    Counted {
        what: "message of 1 KiB of JSON compressed: instructions",
        example: COMPRESSION,
        tool: Tool::Callgrind,
        before: "pack",
        sizes: (500, 1_000),
        after: &[],
    },
    Counted {
        what: "message of 1 KiB of JSON compressed and inflated: instructions",
        example: COMPRESSION,
        tool: Tool::Callgrind,
        before: "unpack",
        sizes: (500, 1_000),
        after: &[],
    },
];

/// Builds the examples in the release profile, measures, prints the table and writes the page.
pub fn run() -> Result<()> {
    let program = built(CORE)?;
    let mut figures = vec![
        resident(&program, "held session, just dropped: resident bytes", "fresh")?,
        resident(&program, "held session, 15 s later: resident bytes", "rested")?,
    ];
    figures.extend(broadcast(&program)?);
    if Command::new("valgrind").arg("--version").output().is_ok_and(|out| out.status.success()) {
        for counted in COUNTED {
            println!("    {}", counted.what);
            figures.push(count(&built(counted.example)?, counted)?);
        }
        let table = table(&figures);
        write_page(START, END, &table)?;
        println!("\n{table}\nwritten to {PAGE}");
    } else {
        println!("\n{}", table(&figures));
        println!("valgrind is not installed: {} rows were not measured", COUNTED.len());
        println!("and {PAGE} is left as it is.");
    }
    Ok(())
}

fn built((package, name): Example) -> Result<PathBuf> {
    let build = ["build", "--quiet", "--release", "--package", package, "--example", name];
    if !cargo_succeeds(&build)? {
        bail!("the example `{name}` of {package} could not be built");
    }
    Ok(target_folder()?.join("release/examples").join(name))
}

/// Resident memory of a process that holds many sessions.
fn resident(program: &Path, what: &'static str, past: &str) -> Result<Figure> {
    let mut each = Vec::new();
    for _ in 0..RUNS {
        let told = output(Command::new(program).args(["held", "100000", past]))?;
        each.push(field(&told, "resident.each")?.to_string());
    }
    Ok(Figure { what, value: each.join(", "), how: format!("VmRSS at 100,000, {RUNS} runs") })
}

fn broadcast(program: &Path) -> Result<Vec<Figure>> {
    let told = output(Command::new(program).args(["broadcast", "1000"]))?;
    let row = |what, name| -> Result<Figure> {
        let how = "counter of the core, one broadcast".to_owned();
        Ok(Figure { what, value: field(&told, name)?.to_string(), how })
    };
    Ok(vec![
        row("broadcast to 1,000 members: encodings", "encodings")?,
        row("broadcast to 1,000 members: who share its bytes", "sharing_the_same_bytes")?,
    ])
}

fn count(program: &Path, counted: &Counted) -> Result<Figure> {
    let (small, large) = counted.sizes;
    let (low, high) = (valgrind(program, counted, small)?, valgrind(program, counted, large)?);
    let each = high.saturating_sub(low) / (large - small);
    let name = match counted.tool {
        Tool::Memcheck => "memcheck",
        Tool::Callgrind => "callgrind",
    };
    let how = format!("{name}, difference of {small} and {large}");
    Ok(Figure { what: counted.what, value: each.to_string(), how })
}

fn valgrind(program: &Path, counted: &Counted, size: u64) -> Result<u64> {
    let mut command = Command::new("valgrind");
    let marker = match counted.tool {
        Tool::Memcheck => {
            command.arg("--leak-check=no");
            "in use at exit:"
        }
        Tool::Callgrind => {
            command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
            "Collected :"
        }
    };
    command.arg(program).arg(counted.before).arg(size.to_string()).args(counted.after);
    let told = output(&mut command)?;
    let number = told.lines().find_map(|line| line.split_once(marker)).map(|(_, rest)| rest.trim());
    let number = number.and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let number = number.replace(',', "");
    number.parse().with_context(|| format!("valgrind did not say `{marker}`:\n{told}"))
}

/// What a command says on both of its outputs; an error when it fails.
fn output(command: &mut Command) -> Result<String> {
    let out = command.output().with_context(|| format!("{command:?} could not be started"))?;
    let told = [out.stdout, out.stderr].map(|part| String::from_utf8_lossy(&part).into_owned());
    let told = told.concat();
    if !out.status.success() {
        bail!("{command:?} failed:\n{told}");
    }
    Ok(told)
}

/// The number behind a name in what the example prints.
fn field(told: &str, name: &str) -> Result<u64> {
    let value = told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.parse().ok()).with_context(|| format!("no `{name}` in:\n{told}"))
}

fn target_folder() -> Result<PathBuf> {
    let told = output(cargo().args(["metadata", "--format-version=1", "--no-deps", "--offline"]))?;
    let rest = told.split_once("\"target_directory\":\"").map(|(_, rest)| rest);
    let folder = rest.and_then(|rest| rest.split('"').next());
    Ok(PathBuf::from(folder.context("cargo metadata names no target folder")?))
}

fn table(figures: &[Figure]) -> String {
    let mut table = String::from("| What | Figure | How |\n|---|---:|---|\n");
    for Figure { what, value, how } in figures {
        table.push_str(&format!("| {what} | {value} | {how} |\n"));
    }
    table
}

/// Puts a table between two markers of the page.
pub fn write_page(start: &str, end: &str, table: &str) -> Result<()> {
    let path = root().join(PAGE);
    let page = std::fs::read_to_string(&path).with_context(|| format!("{PAGE} cannot be read"))?;
    let page = replaced(&page, start, end, table)
        .with_context(|| format!("{PAGE} has no lines `{start}` and `{end}`"))?;
    std::fs::write(&path, page).with_context(|| format!("{PAGE} cannot be written"))
}

/// The page with another table between the markers.
fn replaced(page: &str, start: &str, end: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(start)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{start}\n{table}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_is_replaced() {
        let page = format!("a\n{START}\nold\n{END}\nb\n");
        let new = replaced(&page, START, END, "new\n").expect("both markers are there");
        assert_eq!(new, format!("a\n{START}\nnew\n{END}\nb\n"));
        assert_eq!(replaced("a\n", START, END, "new\n"), None);
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let told = "resident.total 7\nresident.each 5\n";
        assert_eq!(field(told, "resident.each").ok(), Some(5));
        assert!(field(told, "resident").is_err());
    }
}
