//! Who may depend on whom, read from the manifests.
//!
//! Between our own crates the table below is the law, for normal, build and test dependencies alike:
//! a test that needs a crate from above belongs in that crate, unless the table says why it cannot.
//! Where a crate has a list of outside packages, nothing else may enter but as a test dependency.

use toml::{Table, Value};

use super::{Finding, Tree};

struct Rule {
    package: &'static str,
    ours: &'static [&'static str],
    /// Ours that only its tests may use.
    ours_in_tests: &'static [&'static str],
    /// Outside packages that may be linked; `None`: any.
    outside: Option<&'static [&'static str]>,
}

const RULES: &[Rule] = &[
    Rule {
        package: "rejoin-wire",
        ours: &[],
        ours_in_tests: &[],
        outside: Some(&["prost", "bytes", "miniz_oxide", "pbjson", "serde", "serde_json"]),
    },
    Rule {
        package: "rejoin-core",
        ours: &["rejoin-wire"],
        ours_in_tests: &[],
        outside: Some(&["bytes", "prost", "blake3"]),
    },
    Rule {
        package: "rejoin-store",
        ours: &["rejoin-core", "rejoin-wire"],
        ours_in_tests: &[],
        outside: None,
    },
    Rule { package: "rejoin-seal", ours: &[], ours_in_tests: &[], outside: Some(&["snow"]) },
    Rule {
        package: "rejoin-client",
        ours: &["rejoin-seal", "rejoin-wire"],
        // Its driver meets the real rules behind a socket: a server played by hand would agree with
        // whatever the driver does. No cycle: neither of these knows the client.
        ours_in_tests: &["rejoin-core", "rejoin-store"],
        outside: None,
    },
    Rule {
        package: "rejoin-host",
        // It dials as the client does; of the rules it knows the ids.
        ours: &["rejoin-core", "rejoin-client"],
        ours_in_tests: &[],
        outside: None,
    },
    Rule {
        package: "rejoin-directory",
        ours: &["rejoin-core"],
        ours_in_tests: &["rejoin-store"],
        outside: Some(&["bytes", "prost", "blake3", "winnow"]),
    },
    Rule {
        package: "rejoin-relay",
        ours: &["rejoin-core"],
        ours_in_tests: &["rejoin-testkit"],
        outside: Some(&["base64", "bytes", "serde", "serde_json"]),
    },
    Rule {
        package: "rejoin-server",
        ours: &[
            "rejoin-wire",
            "rejoin-core",
            "rejoin-directory",
            "rejoin-relay",
            "rejoin-seal",
            "rejoin-store",
        ],
        ours_in_tests: &[],
        outside: None,
    },
    Rule {
        package: "rejoin-arena",
        ours: &["rejoin-core", "rejoin-server"],
        ours_in_tests: &["rejoin-testkit"],
        outside: None,
    },
    Rule {
        package: "rejoin-testkit",
        ours: &["rejoin-wire", "rejoin-core", "rejoin-client", "rejoin-store"],
        ours_in_tests: &[],
        outside: Some(&["bytes", "blake3"]),
    },
    Rule {
        package: "rejoin-sim",
        ours: &[
            "rejoin-wire",
            "rejoin-core",
            "rejoin-client",
            "rejoin-directory",
            "rejoin-store",
            "rejoin-testkit",
        ],
        ours_in_tests: &[],
        outside: None,
    },
    Rule {
        package: "rejoin",
        ours: &[
            "rejoin-wire",
            "rejoin-core",
            "rejoin-client",
            "rejoin-host",
            "rejoin-store",
            "rejoin-server",
            "rejoin-arena",
            "rejoin-testkit",
        ],
        // Itself, with the features that the examples of its pages need. And what drives the binary
        // from outside: it knows the client only, so there is no cycle.
        ours_in_tests: &["rejoin", "rejoin-chaos"],
        outside: None,
    },
    Rule {
        package: "rejoin-chaos",
        ours: &["rejoin-client", "rejoin-wire"],
        ours_in_tests: &[],
        outside: None,
    },
    Rule {
        package: "rejoin-bench",
        ours: &["rejoin-wire", "rejoin-core", "rejoin-store", "rejoin-client", "rejoin-server"],
        ours_in_tests: &[],
        outside: None,
    },
    // Examples know what a game knows.
    Rule {
        package: "external-host",
        ours: &["rejoin"],
        // Its test kills the server as well.
        ours_in_tests: &["rejoin-chaos"],
        outside: None,
    },
    Rule { package: "npc-village", ours: &["rejoin"], ours_in_tests: &[], outside: None },
    Rule { package: "turn-based", ours: &["rejoin"], ours_in_tests: &[], outside: None },
    Rule { package: "xtask", ours: &[], ours_in_tests: &[], outside: None },
];

/// Findings on every manifest of the workspace.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let manifests = tree.matching("", "/Cargo.toml");
    for (path, text) in manifests.filter(|(path, _)| is_member(path)) {
        match text.parse::<Table>() {
            Ok(manifest) => check_manifest(path, text, &manifest, &mut findings),
            Err(error) => findings.push(Finding::new(path, 1, format!("unreadable: {error}"))),
        }
    }
    findings
}

fn is_member(path: &str) -> bool {
    let is_below = ["crates/", "examples/"].iter().any(|folder| path.starts_with(folder));
    path == "xtask/Cargo.toml" || (is_below && path.matches('/').count() == 2)
}

fn check_manifest(path: &str, text: &str, manifest: &Table, findings: &mut Vec<Finding>) {
    let package = manifest.get("package").and_then(|package| package.get("name"));
    let package = package.and_then(Value::as_str).unwrap_or("");
    let Some(rule) = RULES.iter().find(|rule| rule.package == package) else {
        findings.push(Finding::new(
            path,
            1,
            format!("`{package}` has no row in the table of xtask/src/tidy/edges.rs: say what it may depend on"),
        ));
        return;
    };
    for (dependency, is_dev) in dependencies(manifest) {
        let line = line_of(text, &dependency);
        let is_ours = RULES.iter().any(|rule| rule.package == dependency);
        // For its tests a crate may turn on features of its own.
        let is_itself = dependency == package;
        let is_listed_for_tests = rule.ours_in_tests.contains(&dependency.as_str());
        let is_for_tests = is_dev && (is_itself || is_listed_for_tests);
        if is_ours && !is_for_tests && !rule.ours.contains(&dependency.as_str()) {
            let sentence = format!("`{package}` may not depend on `{dependency}`");
            findings.push(Finding::new(path, line, sentence));
        }
        let is_listed = rule.outside.is_none_or(|list| list.contains(&dependency.as_str()));
        if !is_ours && !is_dev && !is_listed {
            let sentence =
                format!("`{dependency}` is not on the list of packages `{package}` may link");
            findings.push(Finding::new(path, line, sentence));
        }
    }
}

/// Package names of all dependencies, and whether each is for tests only.
fn dependencies(manifest: &Table) -> Vec<(String, bool)> {
    let mut tables = vec![manifest];
    if let Some(targets) = manifest.get("target").and_then(Value::as_table) {
        tables.extend(targets.values().filter_map(Value::as_table));
    }
    let mut found = Vec::new();
    for table in tables {
        for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let entries = table.get(kind).and_then(Value::as_table);
            for (name, value) in entries.into_iter().flatten() {
                let package = value.get("package").and_then(Value::as_str).unwrap_or(name);
                found.push((package.to_owned(), kind == "dev-dependencies"));
            }
        }
    }
    found
}

fn line_of(text: &str, dependency: &str) -> usize {
    let position = text.lines().position(|line| {
        line.trim_start().starts_with(dependency) || line.contains(&format!("\"{dependency}\""))
    });
    position.map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::super::told;
    use super::*;

    fn findings(package: &str, dependencies: &str) -> Vec<String> {
        let path = format!("crates/{}/Cargo.toml", package.trim_start_matches("rejoin-"));
        let manifest = format!("[package]\nname = \"{package}\"\n{dependencies}");
        told(check(&Tree::of(&[(&path, &manifest)])))
    }

    #[test]
    fn a_forbidden_edge_is_found_with_its_line() {
        assert_eq!(
            findings("rejoin-wire", "[dependencies]\nrejoin-core.workspace = true\n"),
            ["crates/wire/Cargo.toml:4: `rejoin-wire` may not depend on `rejoin-core`"]
        );
    }

    #[test]
    fn a_test_dependency_is_an_edge_too() {
        let found = findings("rejoin-core", "[dev-dependencies]\nrejoin-sim.workspace = true\n");
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn an_edge_for_tests_is_one_for_tests_only() {
        let edge = "rejoin-core.workspace = true\n";
        assert!(findings("rejoin-client", &format!("[dev-dependencies]\n{edge}")).is_empty());
        assert_eq!(findings("rejoin-client", &format!("[dependencies]\n{edge}")).len(), 1);
    }

    #[test]
    fn allowed_edges_pass() {
        let found = findings("rejoin-core", "[dependencies]\nrejoin-wire = {}\nbytes = \"1\"\n");
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn an_outside_package_needs_its_place_on_the_list() {
        assert_eq!(findings("rejoin-core", "[dependencies]\ntokio = \"1\"\n").len(), 1);
        assert_eq!(findings("rejoin-core", "[dev-dependencies]\nproptest = \"1\"\n").len(), 0);
        assert_eq!(findings("rejoin-store", "[dependencies]\nredb = \"2\"\n").len(), 0);
    }

    #[test]
    fn a_renamed_or_target_specific_package_is_seen() {
        let renamed = "[dependencies]\nfast = { package = \"tokio\", version = \"1\" }\n";
        assert_eq!(findings("rejoin-wire", renamed).len(), 1);
        assert_eq!(
            findings("rejoin-wire", "[target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n").len(),
            1
        );
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        assert_eq!(findings("rejoin-surprise", "").len(), 1);
    }
}
