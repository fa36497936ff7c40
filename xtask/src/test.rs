//! The README's test command: every stage that must hold, in the order in which a mistake is told
//! soonest, and one line with the count at the end.
//!
//! A stage that fails does not hide the next; only what cannot be built is not run. `passed` counts
//! tests (each of the two simulators is one); a stage without tests counts only when it fails, as one failure.

mod autobahn;
mod javascript;
mod node;
mod runner;
mod tally;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::stage::{Stages, cargo, cargo_succeeds};
use crate::{doc, packages, proto, schemathesis, sim, tidy};
use node::Node;
use runner::Runner;
use tally::Tally;

/// How to run the tests.
#[derive(clap::Args)]
pub struct Arguments {
    /// How many seeds the simulator plays. The directory's worlds are ten times as many: they are short.
    #[arg(long, default_value_t = 100, value_name = "SEEDS")]
    sim_seeds: u32,
    /// Use `cargo test` even where cargo-nextest is installed.
    #[arg(long)]
    no_nextest: bool,
}

/// `cargo xtask test`.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut stages = Stages::default();
    let mut tally = Tally::default();
    let mut runner = Runner::CargoTest;

    let tools = stages.run("tools", || {
        runner = Runner::find(arguments.no_nextest);
        println!("    tests run with {runner}");
        require_tools()
    });
    tally.add_stage(tools);
    tally.add_stage(stages.run("format", || cargo_succeeds(&["fmt", "--all", "--", "--check"])));
    tally.add_stage(stages.run("lints", || {
        cargo_succeeds(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
    }));
    tally.add_stage(stages.run("features", lint_features));
    tally.add_stage(stages.run("documentation", || doc::run().map(|()| true)));
    let generated = stages.run("generated code", || proto::generate(true).map(|()| true));
    tally.add_stage(generated);
    let built = stages.run("build tests", || build(runner));
    tally.add_stage(built);
    if built {
        let mut outside = Vec::new();
        let mut node = Err(String::new());
        stages.run("outside programs", || {
            packages::install_for_tests();
            node = Node::find();
            outside.extend(autobahn::fetch());
            outside.extend(node.iter().flat_map(Node::environment).cloned());
            Ok(true)
        });
        stages.run("tests", || runner.run_tests(&outside, &mut tally));
        if has_library() {
            stages.run("doc tests", || Runner::run_doc_tests(&mut tally));
        }
        stages.run("javascript", || javascript::run(&node, &mut tally));
        stages.run("schemathesis", || judge(&mut tally));
        stages.run("simulator", || simulate(arguments.sim_seeds, &mut tally));
    }
    tally.add_stage(stages.run("tidy", || tidy::run().map(|()| true)));

    stages.print();
    tally.print_skips();
    println!("\n{tally}");
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// rustfmt and clippy are rustup components: their absence is told as such, not as a failed check.
fn require_tools() -> Result<bool> {
    let mut good = true;
    for tool in ["fmt", "clippy"] {
        let found = cargo().args([tool, "--version"]).output()?.status.success();
        println!(
            "    cargo {tool}: {}",
            if found { "found" } else { "MISSING (a rustup component)" }
        );
        good &= found;
    }
    Ok(good)
}

/// Packages as others may depend on them: with only these of their features.
const FEATURES: [(&str, &str); 7] = [
    ("rejoin-wire", ""),
    ("rejoin-store", ""),
    ("rejoin-client", ""),
    ("rejoin-client", "tokio"),
    ("rejoin", ""),
    ("rejoin", "client"),
    ("rejoin", "server"),
];

/// The workspace as a whole turns every feature on, and so hides what is missing without one.
fn lint_features() -> Result<bool> {
    let mut good = true;
    for (package, features) in FEATURES {
        let of = ["clippy", "--package", package, "--no-default-features", "--features", features];
        good &= cargo_succeeds(&[&of[..], &["--", "-D", "warnings"]].concat())?;
    }
    Ok(good)
}

fn build(runner: Runner) -> Result<bool> {
    let tests = cargo_succeeds(runner.build_arguments())?;
    let binary = ["build", "--package", "rejoin-sim", "--bin", "rejoin-sim"];
    Ok(tests && (!sim::exists() || cargo_succeeds(&binary)?))
}

fn has_library() -> bool {
    let is_library = |folder: &Path| folder.join("src/lib.rs").exists();
    let crates = std::fs::read_dir(tidy::root().join("crates"));
    crates.is_ok_and(|folders| folders.flatten().any(|folder| is_library(&folder.path())))
}

/// Worlds of the directory for each world of sessions: one takes about a tenth of the time.
const DIRECTORY_SEEDS: u32 = 10;

/// How long an outside program asks the server what its description allows.
const JUDGE_SECONDS: u32 = 20;
/// What it draws its questions from here, so that this stage does not depend on luck. `cargo xtask
/// schemathesis` draws others at every run.
const JUDGE_SEED: u64 = 1;

fn judge(tally: &mut Tally) -> Result<bool> {
    let Some(binary) = schemathesis::beside("rejoin") else {
        tally.add_skip("schemathesis", "the binary `rejoin` is not beside this one");
        return Ok(true);
    };
    match schemathesis::judge() {
        Ok(judge) => {
            let good = schemathesis::ask(&binary, &judge, JUDGE_SECONDS, Some(JUDGE_SEED))?;
            tally.add_test(good);
            Ok(good)
        }
        Err(why) => {
            tally.add_skip("schemathesis", &why);
            Ok(true)
        }
    }
}

fn simulate(seeds: u32, tally: &mut Tally) -> Result<bool> {
    if !sim::exists() {
        tally.add_skip("simulator", "crates/sim is not there yet");
        return Ok(true);
    }
    let sessions = ["--seeds".to_owned(), seeds.to_string()];
    let of_directory = seeds.saturating_mul(DIRECTORY_SEEDS).to_string();
    let directory = ["--directory".to_owned(), "--seeds".to_owned(), of_directory];
    let mut all_good = true;
    for options in [&sessions[..], &directory[..]] {
        let good = sim::command(options).status()?.success();
        tally.add_test(good);
        all_good &= good;
    }
    Ok(all_good)
}
