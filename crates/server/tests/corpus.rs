//! Replays the seeds of the fuzz target `proxy_header` as a plain test.
//!
//! `REJOIN_BLESS=1 cargo test -p rejoin-server --test corpus` makes the seeds anew.

#[allow(unreachable_pub)] // Public where it lives.
#[path = "../../../fuzz/src/proxy.rs"]
mod proxy;
#[allow(unreachable_pub, dead_code)]
#[path = "../../../fuzz/src/replay.rs"]
mod replay;

#[test]
fn the_seeds_of_proxy_header_hold() {
    replay::replay("proxy_header", proxy::proxy, || {
        let header = |version: u8, family: u8, rest: &[u8]| {
            let length = u16::try_from(rest.len()).unwrap_or(u16::MAX).to_be_bytes();
            [&b"\r\n\r\n\0\r\nQUIT\n"[..], &[version, family], &length, rest].concat()
        };
        vec![
            ("local.bin".to_owned(), header(0x20, 0, &[])),
            ("v4.bin".to_owned(), header(0x21, 0x11, &[7; 12])),
            ("v4_and_more.bin".to_owned(), header(0x21, 0x11, &[7; 40])),
            ("v6.bin".to_owned(), header(0x21, 0x21, &[7; 36])),
            ("too_short.bin".to_owned(), header(0x21, 0x21, &[7; 12])),
            ("too_long.bin".to_owned(), header(0x21, 0x11, &[7; 2_000])),
            ("version_1.bin".to_owned(), b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n".to_vec()),
        ]
    });
}
