//! The bench and the soak, so small that they fit among the tests. Held here is that they work and
//! that nothing fails; how fast it goes is not looked at.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

fn bench() -> Command {
    Command::new(env!("CARGO_BIN_EXE_rejoin-bench"))
}

fn output(command: &mut Command) -> String {
    let out = command.output().expect("it starts");
    let told = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{told}\n{}", String::from_utf8_lossy(&out.stderr));
    told
}

#[test]
fn both_servers_are_measured_and_nothing_fails() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(std::process::id().to_string());
    let told = output(bench().args(["run", "--quick", "--out"]).arg(&folder));
    assert!(!told.contains("FAULT"), "{told}");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("it was written");
    let results: Value = serde_json::from_str(&read("results.json")).expect("it is JSON");
    let runs = results["runs"].as_array().expect("runs");
    let has = |case: &str, server: &str| {
        runs.iter().any(|run| run["case"] == case && run["server"] == server)
    };
    for case in ["idle", "echo", "flood", "fanout", "storm", "joins"] {
        assert!(has(case, "ours") && has(case, "bare"), "{case}: {told}");
    }
    assert!(has("held", "ours") && !has("held", "bare"));
    assert_eq!(results["verdicts"].as_array().map(Vec::len), Some(9), "{told}");
    assert!(read("results.md").contains("| resume storm of 5,000: failures | 0 |"));
    assert!(read("ratios.svg").ends_with("</svg>\n"));
    std::fs::remove_dir_all(folder).expect("it is ours");
}

#[test]
fn what_a_folder_costs_is_measured_and_nothing_fails() {
    let name = format!("durable-{}", std::process::id());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut bench = bench();
    bench.args(["durable", "--quick", "--data"]).arg(&folder).arg("--out").arg(&folder);
    let told = output(&mut bench);
    assert!(!told.contains("FAULT"), "{told}");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("it was written");
    let results: Value = serde_json::from_str(&read("durable.json")).expect("it is JSON");
    let figures = results["figures"].as_object().expect("figures");
    for figure in [
        "inbound/full/disk bytes per message byte",
        "inbound/full/commit p99 ms",
        "inbound/memory/per second",
        "latency/full/fdatasync p50 µs",
        "storm/full/failures",
        "recovery of 1,000/after a kill/seconds",
        "recovery of 1,000/after a stop/seconds",
    ] {
        assert!(figures.contains_key(figure), "{figure}: {told}");
    }
    assert!(read("durable.md").contains("| resume storm of 5,000 in `full`: failures | 0 |"));
    assert!(read("durable.svg").ends_with("</svg>\n"));
    std::fs::remove_dir_all(folder).expect("it is ours");
}

#[test]
fn a_small_soak_loses_nothing() {
    let told = output(bench().args([
        "soak",
        "--clients",
        "20",
        "--minutes",
        "0.12",
        "--life",
        "1",
        "--pace",
        "0.1",
        "--seed",
        "3",
        "--no-binary",
        "--json",
    ]));
    let tally: Value = serde_json::from_str(&told).expect("it is JSON");
    for wrong in ["lost", "doubled", "reordered", "wrong_rung"] {
        assert_eq!(tally[wrong], 0, "{told}");
    }
    assert!(tally["rungs"]["replayed"].as_u64() > Some(0), "{told}");
    assert!(tally["heard"].as_u64() > tally["said"].as_u64(), "{told}");
    assert_eq!(
        tally["asked"],
        tally["answered"].as_u64().unwrap_or(0) + tally["outcomes_unknown"].as_u64().unwrap_or(0),
        "{told}"
    );
}
