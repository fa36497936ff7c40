//! A long chore in named steps: each says that it starts, how it ended and how long it took, and
//! the table at the end shows where the time went.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::tidy::root;

/// The stages that have run.
#[derive(Default)]
pub struct Stages {
    ended: Vec<(String, Duration, bool)>,
}

impl Stages {
    /// Runs one stage; an error of the stage is printed and counts as a failure of it.
    pub fn run(&mut self, name: &str, stage: impl FnOnce() -> Result<bool>) -> bool {
        println!("\n==> {name}");
        let started = Instant::now();
        let good = stage().unwrap_or_else(|error| {
            println!("error: {error:#}");
            false
        });
        let took = started.elapsed();
        println!("<== {name}: {} in {:.1} s", verdict(good), took.as_secs_f64());
        self.ended.push((name.to_owned(), took, good));
        good
    }

    /// Prints one line a stage and the sum.
    pub fn print(&self) {
        println!("\nstage                    seconds");
        for (name, took, good) in &self.ended {
            println!("{name:<22} {:>9.1}  {}", took.as_secs_f64(), verdict(*good));
        }
        let sum: Duration = self.ended.iter().map(|(_, took, _)| *took).sum();
        println!("{:<22} {:>9.1}", "all", sum.as_secs_f64());
    }
}

/// The cargo that started us, at the root of the workspace.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a cargo command with its output passed on; true when it ended well.
pub fn cargo_succeeds(arguments: &[&str]) -> Result<bool> {
    println!("    cargo {}", arguments.join(" "));
    Ok(cargo().args(arguments).status()?.success())
}

fn verdict(good: bool) -> &'static str {
    if good { "ok" } else { "FAILED" }
}
