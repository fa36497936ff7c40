//! Links from page to page lead somewhere. Links to the web are not followed.

use super::{Finding, Tree, prose};

/// Findings on every page.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.matching("", ".md") {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, target) in targets(text) {
            let file = target.split('#').next().unwrap_or(target);
            if !file.is_empty() && !exists(tree, &resolve(folder, file)) {
                let sentence = format!("the link to `{target}` leads nowhere");
                findings.push(Finding::new(path, line, sentence));
            }
        }
    }
    findings
}

/// `name` seen from `folder`, with `..` and `.` taken out.
pub fn resolve(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts.join("/")
}

/// A file, or a folder with a file in it.
fn exists(tree: &Tree, path: &str) -> bool {
    let folder = format!("{path}/");
    let is_file = tree.files.contains_key(path) || tree.pictures.contains(path);
    is_file || tree.files.keys().any(|file| file.starts_with(&folder))
}

/// What stands in the round brackets of `[text](target)`, outside fenced code, with its line.
fn targets(page: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(page).flat_map(|(line, text)| {
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        let local = targets.map(|(target, _)| target).filter(|target| !target.contains("://"));
        local.map(move |target| (line, target))
    })
}

#[cfg(test)]
mod tests {
    use super::super::told;
    use super::*;

    #[test]
    fn a_picture_is_somewhere_to_lead_to() {
        let mut tree = Tree::of(&[("README.md", "![a](docs/a.webp) ![b](docs/b.webp)\n")]);
        tree.pictures.insert("docs/a.webp".to_owned());
        let sentence = "README.md:1: the link to `docs/b.webp` leads nowhere";
        assert_eq!(told(check(&tree)), [sentence]);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let page = "[a](B.md) [b](../README.md#top) [c](#here) [d](https://a.b/c)\n\
                    ```\n[e](gone.md)\n```\n[f](gone.md)\n[g](../docs/)\n";
        let files = [("docs/A.md", page), ("docs/B.md", ""), ("README.md", "[a](docs/A.md)\n")];
        assert_eq!(
            told(check(&Tree::of(&files))),
            ["docs/A.md:5: the link to `gone.md` leads nowhere"]
        );
    }
}
