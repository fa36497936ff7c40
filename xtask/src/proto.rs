//! Turns `proto/rejoin.proto` into the Rust that `crates/wire` carries.
//!
//! The generated files are committed, so that the published crate has no build script and a reader
//! sees what the compiler sees. This room owns how they are made; in check mode it only compares,
//! and fails when a committed file is not what the contract gives. It needs no `protoc`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use prost_build::Module;

/// The package inside the contract, and so the stem of every generated file.
const PACKAGE: &str = "rejoin.v1";

/// Messages that carry a token, a secret or an admission ticket.
const SECRET: [&str; 4] =
    [".rejoin.v1.Hello", ".rejoin.v1.Login", ".rejoin.v1.Resume", ".rejoin.v1.Welcome"];

/// Generates the frames (prost) and their JSON (pbjson) from the contract.
///
/// With `check`, writes nothing and fails when a committed file differs.
pub fn generate(check: bool) -> Result<()> {
    let root = root()?;
    let folder = root.join("crates/wire/src/generated");
    let mut stale = Vec::new();

    for (name, text) in files(&root.join("proto"))? {
        let path = folder.join(&name);
        let committed = fs::read_to_string(&path).unwrap_or_default();
        // A checkout may have turned line ends; that is not a difference.
        if committed.replace("\r\n", "\n") == text {
            continue;
        }
        if check {
            stale.push(name);
        } else {
            fs::create_dir_all(&folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }

    if !stale.is_empty() {
        bail!(
            "{} not what proto/rejoin.proto gives; run `cargo xtask proto` and commit the result",
            stale.join(", ") + if stale.len() == 1 { " is" } else { " are" }
        );
    }
    Ok(())
}

/// Name and text of every generated file.
fn files(proto: &Path) -> Result<Vec<(String, String)>> {
    let descriptors = protox::compile(["rejoin.proto"], [proto])
        .context("proto/rejoin.proto does not compile")?;

    let module = Module::from_protobuf_package_name(PACKAGE);
    let mut prost = prost_build::Config::new();
    // Payloads are slices of the frame they came in, not copies of it.
    prost.bytes(["."]);
    // These carry tokens and secrets; the wire crate writes their Debug by hand and leaves them out.
    prost.skip_debug(SECRET);
    let requests = descriptors.file.iter().cloned().map(|file| (module.clone(), file)).collect();
    let frames = prost.generate(requests).context("prost refuses the contract")?;

    let mut pbjson = pbjson_build::Builder::new();
    for file in descriptors.file {
        pbjson.register_file_descriptor(file);
    }
    // What protobuf does with what a newer peer added, JSON does as well.
    pbjson.ignore_unknown_fields().ignore_unknown_enum_variants();
    let json = pbjson
        .generate(&[format!(".{PACKAGE}")], |_| Ok(Vec::new()))
        .context("pbjson refuses the contract")?;

    ensure!(frames.len() == 1 && json.len() == 1, "the contract must be one package");
    let mut files = Vec::new();
    for text in frames.into_values() {
        files.push((format!("{PACKAGE}.rs"), text));
    }
    for (_, bytes) in json {
        let text = String::from_utf8(bytes).context("pbjson wrote no text")?;
        files.push((format!("{PACKAGE}.serde.rs"), text));
    }
    Ok(files)
}

/// The top of the source tree: the nearest folder at or above the current one that holds the
/// contract.
fn root() -> Result<PathBuf> {
    let here = std::env::current_dir().context("no current folder")?;
    here.ancestors()
        .find(|folder| folder.join("proto/rejoin.proto").is_file())
        .map(Path::to_path_buf)
        .context("run this inside the source tree: no proto/rejoin.proto here or above")
}
