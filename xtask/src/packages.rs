//! Programs of others that tests want, fetched by the names of their packages: Debian's with apt-get,
//! where we are root, and Python's with pip, each into a virtual environment beside our own programs.
//! What cannot be had is an error with the reason, for the list of skipped tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Something that tests call, how to see that it is there, and Debian's package of it.
type Wanted = (&'static str, fn() -> bool, &'static str);

const FOR_TESTS: [Wanted; 3] = [
    ("libenet", || Path::new("/usr/include/enet/enet.h").exists(), "libenet-dev"),
    ("curl", || is_installed("curl"), "curl"),
    ("python3 with venv", has_venv, "python3-venv"),
];

/// Installs what the Rust tests call; a test that still misses something says so by name.
pub fn install_for_tests() {
    for (what, is_there, package) in FOR_TESTS {
        if !is_there() {
            println!("    {what} is missing; asking apt-get for it");
            install(&[package]);
        }
    }
}

/// Asks apt-get for these, all or none.
pub fn install(packages: &[&str]) -> bool {
    // A fresh machine has no lists yet, or old ones that name packages which are gone.
    static LISTS: OnceLock<bool> = OnceLock::new();
    LISTS.get_or_init(|| apt_get(&["update"]));
    apt_get(&[&["install", "--yes", "--no-install-recommends"], packages].concat())
}

fn apt_get(arguments: &[&str]) -> bool {
    let mut command = Command::new("apt-get");
    succeeds(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Whether a program can be called.
pub fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// Debian's python3 comes without the part of venv that installs pip.
fn has_venv() -> bool {
    succeeds(Command::new("python3").args(["-c", "import ensurepip, venv"]))
}

/// A virtual environment with one package of PyPI, kept beside this program until another version is
/// asked for. Gives its folder.
pub fn environment(name: &str, package: &str) -> Result<PathBuf, String> {
    let current = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = current.with_file_name(name);
    let stamp = folder.join("package.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|fetched| fetched == package) {
        return Ok(folder);
    }
    println!("    asking PyPI for {package}");
    let has_venv = has_venv() || (install(&["python3-venv"]) && has_venv());
    if !has_venv {
        return Err("python3 has no venv, and apt-get does not give python3-venv".to_owned());
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    run(Command::new(folder.join("bin/pip")).args(["install", "--quiet", package]))
        .map_err(|why| format!("PyPI does not give {package}: {why}"))?;
    std::fs::write(stamp, package).map_err(|error| error.to_string())?;
    Ok(folder)
}

/// Runs a command to its end; when it fails, the last line that it wrote.
fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no reason given").to_owned())
}

fn succeeds(command: &mut Command) -> bool {
    run(command).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_gives_its_last_line() {
        let mut fails = Command::new("sh");
        fails.args(["-c", "echo first >&2; echo 'no such package' >&2; echo >&2; exit 3"]);
        assert_eq!(run(&mut fails), Err("no such package".to_owned()));
        assert_eq!(run(Command::new("sh").args(["-c", "exit 0"])), Ok(()));
        assert!(!is_installed("a program that is not there"));
    }
}
