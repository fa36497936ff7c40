//! Debian's packages that tests want, where we may install them. What cannot be had is said by the test
//! that misses it.

use std::path::Path;
use std::process::Command;

/// Asks for these, all or none.
pub fn install(packages: &[&str]) -> bool {
    let mut command = Command::new("apt-get");
    command.args(["install", "--yes", "--no-install-recommends"]).args(packages);
    command.output().is_ok_and(|output| output.status.success())
}

/// What the Rust tests want: ENet as others have it.
pub fn install_for_tests() {
    if !Path::new("/usr/include/enet/enet.h").exists() {
        println!("    libenet is missing; asking apt-get for it");
        install(&["libenet-dev"]);
    }
}
