//! The arena's page and all it loads, as parts of the program. Nothing comes from elsewhere, and the
//! page's policy says so.
//!
//! `web/sdk` is a link to the modules of the JavaScript SDK, so that the page runs what is published.

use rejoin_server::Page;

/// Only what this server shows may run, and only to this server may be spoken: `'self'` covers the
/// WebSocket beside the page, too.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const ICON: &str = "image/svg+xml";

macro_rules! web {
    ($($name:literal: $kind:expr),* $(,)?) => {
        &[$(($name, $kind, include_str!(concat!("../web/", $name)))),*]
    };
}

/// By their paths below `/arena/`.
const FILES: &[(&str, &str, &str)] = web! {
    "arena.css": STYLE,
    "arena.js": SCRIPT,
    "controls.js": SCRIPT,
    "draw.js": SCRIPT,
    "game.js": SCRIPT,
    "icon.svg": ICON,
    "labels.js": SCRIPT,
    "network.js": SCRIPT,
    "steer.js": SCRIPT,
    "strip.js": SCRIPT,
};

/// The SDK's modules, by their paths below `/`.
const SDK: &[(&str, &str, &str)] = web! {
    "sdk/address.js": SCRIPT,
    "sdk/backoff.js": SCRIPT,
    "sdk/buffer.js": SCRIPT,
    "sdk/bytes.js": SCRIPT,
    "sdk/close.js": SCRIPT,
    "sdk/codec.js": SCRIPT,
    "sdk/compression.js": SCRIPT,
    "sdk/config.js": SCRIPT,
    "sdk/downstream.js": SCRIPT,
    "sdk/error.js": SCRIPT,
    "sdk/events.js": SCRIPT,
    "sdk/index.js": SCRIPT,
    "sdk/json.js": SCRIPT,
    "sdk/json/text.js": SCRIPT,
    "sdk/key.js": SCRIPT,
    "sdk/ledger.js": SCRIPT,
    "sdk/limits.js": SCRIPT,
    "sdk/link.js": SCRIPT,
    "sdk/machine.js": SCRIPT,
    "sdk/machine/ending.js": SCRIPT,
    "sdk/machine/frame.js": SCRIPT,
    "sdk/machine/hello.js": SCRIPT,
    "sdk/machine/send.js": SCRIPT,
    "sdk/machine/welcome.js": SCRIPT,
    "sdk/pending.js": SCRIPT,
    "sdk/player.js": SCRIPT,
    "sdk/proof.js": SCRIPT,
    "sdk/protobuf.js": SCRIPT,
    "sdk/pulse.js": SCRIPT,
    "sdk/record.js": SCRIPT,
    "sdk/relay.js": SCRIPT,
    "sdk/returns.js": SCRIPT,
    "sdk/schema.js": SCRIPT,
    "sdk/sessions.js": SCRIPT,
    "sdk/storage.js": SCRIPT,
    "sdk/stream.js": SCRIPT,
    "sdk/surroundings.js": SCRIPT,
    "sdk/vault.js": SCRIPT,
};

/// The page at `/arena`, and what it loads.
#[must_use]
pub fn pages() -> Vec<Page> {
    let index = Page::new("/arena", HTML, include_str!("../web/index.html")).policy(POLICY);
    let below = |folder: &'static str| {
        move |(name, kind, text): &(&str, &'static str, &'static str)| {
            Page::new(format!("{folder}{name}"), kind, text)
        }
    };
    let files = FILES.iter().map(below("/arena/"));
    std::iter::once(index).chain(files).chain(SDK.iter().map(below("/"))).collect()
}

/// What stands at `/arena` where there is none.
#[must_use]
pub fn closed_page() -> Page {
    let sentence = "The arena is a demonstration: it is shown when the server runs with --demo or \
                    --dev, and otherwise only on a loopback address without server_names and \
                    trusted_proxies.\n";
    Page::missing("/arena", sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    fn modules(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("the folder is there").flatten() {
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                modules(&entry.path(), &format!("{name}/"), found);
            } else if name.ends_with(".js") {
                found.insert(name);
            }
        }
    }

    #[test]
    fn every_module_of_the_page_and_the_sdk_is_shown() {
        let mut there = BTreeSet::new();
        modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("web"), "", &mut there);
        let listed = FILES.iter().chain(SDK).map(|(name, _, _)| (*name).to_owned());
        let listed: BTreeSet<_> = listed.filter(|name| name.ends_with(".js")).collect();
        assert_eq!(listed, there);
    }

    #[test]
    fn nothing_comes_from_elsewhere() {
        let index = include_str!("../web/index.html");
        for forbidden in ["http://", "https://", "style=", "onclick", "<style", "javascript:"] {
            assert!(!index.contains(forbidden), "{forbidden} on the page");
        }
        for (name, _, text) in FILES.iter().filter(|(name, _, _)| !name.ends_with(".svg")) {
            assert!(!text.contains("http://") && !text.contains("https://"), "{name}");
            assert!(!text.contains("innerHTML"), "{name} writes markup");
        }
    }
}
