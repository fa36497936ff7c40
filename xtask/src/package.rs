//! Are the crates fit to be published? Each published one says what it is, packs only what belongs
//! in it, builds from its package against the packages of the others, and the embedding example runs
//! in an empty project that has only those.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

use crate::stage::{Stages, cargo, cargo_succeeds};
use crate::tidy::root;

/// What every published crate must tell of itself.
const FIELDS: [&str; 8] = [
    "description",
    "license",
    "readme",
    "keywords",
    "categories",
    "rust-version",
    "version",
    "include",
];

/// `cargo xtask package`.
pub fn run() -> Result<()> {
    let crates = published()?;
    let names: Vec<&str> = crates.iter().map(|published| published.name.as_str()).collect();
    let mut stages = Stages::default();
    let mut good = stages.run("what the crates say of themselves", || {
        let missing: Vec<String> = crates.iter().flat_map(Published::missing).collect();
        missing.iter().for_each(|line| println!("    {line}"));
        Ok(missing.is_empty())
    });
    good &= stages.run("what is packed", || {
        let foreign: Vec<String> = foreign_files(&names)?;
        foreign.iter().for_each(|line| println!("    {line}"));
        Ok(foreign.is_empty())
    });
    // Builds each from its package; those that need each other are found there, not in this tree.
    good &= stages.run("packages build", || {
        let mut arguments = vec!["package", "--allow-dirty"];
        arguments.extend(names.iter().flat_map(|name| ["--package", name]));
        cargo_succeeds(&arguments)
    });
    if good {
        good &= stages.run("an empty project", || empty_project(&crates));
    }
    stages.print();
    if !good {
        bail!("the crates are not fit to be published");
    }
    Ok(())
}

struct Published {
    name: String,
    version: String,
    manifest: Table,
}

impl Published {
    fn missing(&self) -> Vec<String> {
        let package = self.manifest.get("package").and_then(Value::as_table);
        let has = |field: &&str| package.is_some_and(|package| package.contains_key(*field));
        let absent = FIELDS.iter().filter(|field| !has(field));
        absent.map(|field| format!("{}: no `{field}`", self.name)).collect()
    }

    /// Where cargo has unpacked it to build it.
    fn unpacked(&self) -> PathBuf {
        target().join("package").join(format!("{}-{}", self.name, self.version))
    }
}

/// The crates that are not marked as ours alone.
fn published() -> Result<Vec<Published>> {
    let workspace: Table = fs::read_to_string(root().join("Cargo.toml"))?.parse()?;
    let shared = workspace.get("workspace").and_then(|workspace| workspace.get("package"));
    let version = shared.and_then(|package| package.get("version")).and_then(Value::as_str);
    let version = version.context("the workspace has no version")?;
    let mut crates = Vec::new();
    for folder in fs::read_dir(root().join("crates"))? {
        let path = folder?.path().join("Cargo.toml");
        let manifest: Table = fs::read_to_string(&path)?.parse()?;
        let package = manifest.get("package").and_then(Value::as_table);
        let package = package.with_context(|| format!("{} has no package", path.display()))?;
        if package.get("publish").and_then(Value::as_bool) == Some(false) {
            continue;
        }
        let name = package.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        crates.push(Published { name, version: version.to_owned(), manifest });
    }
    crates.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(crates)
}

/// Files that would be published and should not be.
fn foreign_files(names: &[&str]) -> Result<Vec<String>> {
    let mut foreign = Vec::new();
    for name in names {
        let mut command = cargo();
        command.args(["package", "--list", "--allow-dirty", "--offline", "--package", name]);
        let output = command.output()?;
        if !output.status.success() {
            bail!("cargo package --list: {}", String::from_utf8_lossy(&output.stderr));
        }
        let list = String::from_utf8_lossy(&output.stdout).into_owned();
        let files = list.lines().filter(|line| !belongs(line));
        foreign.extend(files.map(|file| format!("{name}: {file}")));
        for needed in ["README.md", "LICENSE-APACHE", "LICENSE-MIT", "src/lib.rs"] {
            if !list.lines().any(|line| line == needed) {
                foreign.push(format!("{name}: {needed} is missing"));
            }
        }
    }
    Ok(foreign)
}

fn belongs(file: &str) -> bool {
    const TOP: [&str; 8] = [
        ".cargo_vcs_info.json",
        "Cargo.lock",
        "Cargo.toml",
        "Cargo.toml.orig",
        "README.md",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "defaults.txt",
    ];
    TOP.contains(&file) || ["src/", "examples/", "web/"].iter().any(|top| file.starts_with(top))
}

/// Copies the example into a project that knows nothing but the packages, and runs it.
fn empty_project(crates: &[Published]) -> Result<bool> {
    let folder = target().join("package").join("empty-project");
    fs::create_dir_all(folder.join("src"))?;
    fs::copy(root().join("crates/rejoin/examples/embed.rs"), folder.join("src/main.rs"))?;
    // The versions that are known to build together, without asking a registry for newer ones.
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let mut manifest = String::from(
        "[package]\nname = \"empty-project\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [workspace]\n\n[dependencies]\nrejoin = \"0.1\"\n\
         tokio = { version = \"1\", features = [\"rt-multi-thread\", \"macros\", \"net\"] }\n\n\
         [patch.crates-io]\n",
    );
    for published in crates {
        let path = published.unpacked();
        let path = path.to_str().context("a path that is no text")?;
        manifest.push_str(&format!("{} = {{ path = {path:?} }}\n", published.name));
    }
    fs::write(folder.join("Cargo.toml"), manifest)?;
    let mut command = cargo();
    println!("    cargo run, in {}", folder.display());
    let output = command.current_dir(&folder).args(["run", "--quiet"]).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines().for_each(|line| println!("    {line}"));
    if !output.status.success() {
        println!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.status.success() && said.contains("ended: left"))
}

fn target() -> PathBuf {
    let from_environment = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    from_environment.unwrap_or_else(|| Path::new(&root()).join("target"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_crates_say_what_they_are_and_pack_only_what_belongs_in_them() {
        let crates = published().expect("the manifests can be read");
        let missing: Vec<String> = crates.iter().flat_map(Published::missing).collect();
        assert_eq!(missing, Vec::<String>::new());
        let names: Vec<&str> = crates.iter().map(|published| published.name.as_str()).collect();
        assert!(names.contains(&"rejoin") && !names.contains(&"rejoin-sim"), "{names:?}");
        assert_eq!(foreign_files(&names).expect("cargo lists"), Vec::<String>::new());
    }

    #[test]
    fn tests_and_measurements_do_not_belong_in_a_package() {
        assert!(belongs("src/hub/own.rs") && belongs("examples/embed.rs"));
        assert!(!belongs("tests/stories/main.rs") && !belongs("secrets.txt"));
    }
}
