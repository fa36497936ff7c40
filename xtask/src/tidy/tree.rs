//! The files that tidy judges: the working tree as git sees it, or a few lines made up by a test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::source::Source;

/// Text files by path from the root, with forward slashes. Of files that are no UTF-8, pictures say,
/// only the paths are kept.
pub struct Tree {
    /// Every text file.
    pub files: BTreeMap<String, String>,
    /// The paths of all others.
    pub pictures: BTreeSet<String>,
    /// Every Rust file, scanned.
    pub sources: Vec<Source>,
}

impl Tree {
    /// A tree of the given files.
    pub fn new(files: BTreeMap<String, String>) -> Tree {
        let rust = files.iter().filter(|(path, _)| path.ends_with(".rs"));
        let sources = rust.map(|(path, text)| Source::new(path, text)).collect();
        Tree { files, pictures: BTreeSet::new(), sources }
    }

    /// A tree for a test.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        Tree::new(files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect())
    }

    /// Reads what git tracks and what it would track; without git, all but build output.
    pub fn load(root: &Path) -> Result<Tree> {
        let paths = match listed_by_git(root) {
            Some(paths) => paths,
            None => walk(root, root)?,
        };
        let (mut files, mut pictures) = (BTreeMap::new(), BTreeSet::new());
        for path in paths {
            // A file that is deleted but not yet staged is listed and cannot be read.
            let Ok(bytes) = std::fs::read(root.join(&path)) else {
                continue;
            };
            match String::from_utf8(bytes) {
                Ok(text) => drop(files.insert(path, text)),
                Err(_) => drop(pictures.insert(path)),
            }
        }
        Ok(Tree { pictures, ..Tree::new(files) })
    }

    /// The text of one file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Files whose path starts with `prefix` and ends with `suffix`.
    pub fn matching<'a>(
        &'a self,
        prefix: &'a str,
        suffix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        let files = self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        files.filter(move |(path, _)| path.starts_with(prefix) && path.ends_with(suffix))
    }
}

/// The root of the workspace: cargo says where it runs us, and where it built us if it does not. Two
/// checkouts that share a target folder share this binary, too.
pub fn root() -> PathBuf {
    let told = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let manifest = told.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    manifest.parent().unwrap_or(&manifest).to_owned()
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let mut command = Command::new("git");
    command.current_dir(root).args(["ls-files", "-co", "--exclude-standard", "-z"]);
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

fn walk(root: &Path, folder: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            if name != "target" && name != ".git" {
                paths.extend(walk(root, &entry.path())?);
            }
        } else if let Ok(path) = entry.path().strip_prefix(root) {
            paths.push(path.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(paths)
}
