//! The examples run to their end and say what they should.

use std::path::PathBuf;
use std::process::Command;

/// Where cargo puts the examples; built now when only this test was asked for.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a path of its own");
    let folder = test.parent().and_then(|deps| deps.parent()).expect("target/debug");
    let path = folder.join("examples").join(name);
    if !path.exists() {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let status = Command::new(cargo)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["build", "--quiet", "--example", name])
            .status();
        assert!(status.is_ok_and(|status| status.success()), "{name} does not build");
    }
    path
}

fn run(name: &str) -> String {
    let output = Command::new(example(name)).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} failed: {said}{complaint}");
    said
}

#[test]
fn the_embedding_example_runs() {
    let said = run("embed");
    assert!(said.contains("players connect to ws://127.0.0.1:"), "{said}");
    assert!(said.contains("hears \"good evening\""), "{said}");
    assert!(said.contains("ended: left"), "{said}");
}

#[test]
fn the_example_without_async_runs() {
    let said = run("frames");
    assert!(said.contains("ZoneJoined"), "{said}");
    assert!(said.contains("over after some frames: true"), "{said}");
}
