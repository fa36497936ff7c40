//! The documentation of all crates. A broken link or a missing item in it is a failure, not a warning.

use anyhow::{Result, ensure};

use crate::stage::cargo;

/// `cargo xtask doc`.
pub fn run() -> Result<()> {
    let mut command = cargo();
    command.args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
    ensure!(command.status()?.success(), "the documentation has warnings");
    Ok(())
}
