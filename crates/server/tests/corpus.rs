//! Replays the seeds of the fuzz targets `proxy_header`, `enet_guard` and `enet_datagrams` as plain tests.
//!
//! `REJOIN_BLESS=1 cargo test -p rejoin-server --test corpus` makes the seeds anew.

#[allow(unreachable_pub)] // Public where it lives.
#[path = "../../../fuzz/src/enet.rs"]
mod enet;
#[allow(unreachable_pub)]
#[path = "../../../fuzz/src/proxy.rs"]
mod proxy;
#[allow(unreachable_pub, dead_code)]
#[path = "../../../fuzz/src/replay.rs"]
mod replay;

use rejoin_wire::enet::{Answer, Offer, begin, begun, question, with_cookie};

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

#[test]
fn the_seeds_of_enet_guard_hold() {
    replay::replay("enet_guard", enet::guard, || {
        let connect = [&[0x8f, 0xff, 0, 0, 0x82, 0xff, 0, 1][..], &[0; 44]].concat();
        let answer = Answer { cookie: [7; 32], offer: Offer::Either };
        vec![
            ("question.bin".to_owned(), question().to_vec()),
            ("question_cut_short.bin".to_owned(), question()[..63].to_vec()),
            ("answer.bin".to_owned(), answer.write().to_vec()),
            ("connect_with_cookie.bin".to_owned(), with_cookie(&[7; 32], &connect)),
            ("connect_of_a_stranger.bin".to_owned(), connect),
            ("begin.bin".to_owned(), begin(&[7; 32], &[9; 32])),
            ("begin_with_nothing.bin".to_owned(), begin(&[7; 32], &[])),
            ("begun.bin".to_owned(), begun(&[9; 96])),
            ("sealed.bin".to_owned(), [&[0x7f, 0xfe][..], &[0; 60]].concat()),
        ]
    });
}

#[test]
fn the_seeds_of_enet_datagrams_hold() {
    replay::replay("enet_datagrams", enet::datagrams, || {
        let datagram = |commands: &[&[u8]]| {
            let body = commands.concat();
            let len = u16::try_from(body.len()).expect("short");
            [&len.to_be_bytes()[..], &body].concat()
        };
        // Behind the kind: the channel, the number, and what the kind has.
        let reliable = |number: u8| [&[0x86, 0, 0, number, 0, 3][..], b"abc"].concat();
        let unreliable = [&[0x07, 1, 0, 0, 0, 1, 0, 3][..], b"abc"].concat();
        let unsequenced = [&[0x49, 1, 0, 0, 0, 1, 0, 3][..], b"abc"].concat();
        let piece = |number: u8, index: u8, count: u8, total: u8| {
            let head = [0x88, 0, 0, number, 0, number.wrapping_sub(index), 0, 2];
            let rest = [0, 0, 0, count, 0, 0, 0, index, 0, 0, 0, total, 0, 0, 0, index * 2];
            [&head[..], &rest, b"ab"].concat()
        };
        let ping = [0x85, 0xff, 0, 2];
        let disconnect = [0x84, 0xff, 0, 3, 0, 0, 0, 9];
        let throttle = [&[0x8b, 0xff, 0, 2][..], &[0, 0, 0, 1, 0, 0, 0, 0, 0xff, 0, 0, 0]].concat();
        let acknowledge = [0x01, 0, 0, 1, 0, 1, 0, 1];
        let seeds: [(&str, Vec<Vec<u8>>); 8] = [
            ("one_message", vec![datagram(&[&reliable(1)])]),
            ("turned_around", vec![datagram(&[&reliable(2)]), datagram(&[&reliable(1)])]),
            ("far_ahead", vec![datagram(&[&reliable(200)]), datagram(&[&reliable(192)])]),
            ("may_be_lost", vec![datagram(&[&unreliable, &unsequenced])]),
            ("two_pieces", vec![datagram(&[&piece(1, 0, 2, 4)]), datagram(&[&piece(2, 1, 2, 4)])]),
            ("never_whole", vec![datagram(&[&piece(9, 8, 200, 255), &piece(1, 0, 200, 255)])]),
            ("without_a_message", vec![datagram(&[&acknowledge, &ping, &throttle])]),
            ("leaving", vec![datagram(&[&disconnect]), datagram(&[&reliable(1)])]),
        ];
        let named = seeds.into_iter();
        named.map(|(name, datagrams)| (format!("{name}.bin"), datagrams.concat())).collect()
    });
}
