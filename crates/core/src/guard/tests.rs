//! The written defaults of the guard are those of the code, and addresses are told apart as said.

use super::*;
use crate::time::Time;

#[test]
fn the_defaults_of_the_guard_are_those_that_are_written_down() {
    // Taken apart whole: a new setting does not compile until it stands here, too.
    let GuardConfig {
        sever_after,
        connections_max,
        address_connections_max,
        address_requests,
        address_connects,
        address_logins,
        session_resumes,
        address_mints,
        address_failures,
        address_violations,
        address_messages,
        address_bytes,
        address_opens,
        address_zones_max,
        addresses_max,
    } = GuardConfig::default();
    let mut rows = vec![
        ("sever_after_ms".to_owned(), sever_after.as_millis().to_string()),
        ("connections_max".to_owned(), connections_max.to_string()),
        ("address_connections_max".to_owned(), address_connections_max.to_string()),
    ];
    let mut rate = |name: &str, rate: Rate| {
        rows.push((format!("{name}_per_second"), rate.per_second.to_string()));
        rows.push((format!("{name}_burst"), rate.burst.to_string()));
    };
    rate("address_requests", address_requests);
    rate("address_connects", address_connects);
    rate("address_logins", address_logins);
    rate("session_resumes", session_resumes);
    rate("address_messages", address_messages);
    rate("address_bytes", address_bytes);
    let mut quota = |name: &str, quota: Quota| {
        rows.push((format!("{name}_max"), quota.most.to_string()));
        rows.push((format!("{name}_within_ms"), quota.within.as_millis().to_string()));
    };
    quota("address_mints", address_mints);
    quota("address_failures", address_failures);
    quota("address_violations", address_violations);
    quota("address_opens", address_opens);
    rows.push(("address_zones_max".to_owned(), address_zones_max.to_string()));
    rows.push(("addresses_max".to_owned(), addresses_max.to_string()));
    let code: Vec<String> =
        rows.iter().map(|(key, value)| format!("guard.{key} = {value}")).collect();
    let written: Vec<&str> = include_str!("../../defaults.txt")
        .lines()
        .filter(|row| row.starts_with("guard."))
        .collect();
    assert_eq!(written, code);
}

#[test]
fn an_ipv6_network_is_one_origin_and_never_an_ipv4_address() {
    let network = 0x2001_0db8_0000_0001_u128 << 64;
    assert_eq!(Origin::v6(network | 1), Origin::v6(network | 0xffff_ffff));
    assert_ne!(Origin::v6(network), Origin::v6(network + (1 << 64)));
    assert_ne!(Origin::v4(1), Origin::v4(2));
    assert_ne!(Origin::v6(0xffff_0000_0001), Origin::v4(1));
}

#[test]
fn networks_of_ipv6_are_charged_by_64_56_and_48_bits() {
    let of = |bits: u128| Origin::v6(bits << 64).networks().collect::<Vec<_>>();
    let (one, near) = (of(0x2001_0db8_0001_0203), of(0x2001_0db8_0001_02ff));
    let (far, other) = (of(0x2001_0db8_0001_ff03), of(0x2001_0db8_0002_0203));
    assert_eq!(one.iter().map(|(_, times)| *times).collect::<Vec<_>>(), [16, 4, 1]);
    let shared = |with: &[(Origin, u32)]| one.iter().filter(|known| with.contains(known)).count();
    assert_eq!((shared(&near), shared(&far), shared(&other)), (2, 1, 0));
    // Where 48 bits end in zeros the three are still three.
    let edge = of(0x2001_0db8_0001_0000);
    assert!(edge[0].0 != edge[1].0 && edge[1].0 != edge[2].0 && edge[0].0 != edge[2].0);
    let four = Origin::v4(0x7f00_0001);
    assert_eq!(four.networks().collect::<Vec<_>>(), [(four, 1)]);
}

#[derive(Default)]
struct Busy(Time);

impl Rest for Busy {
    fn is_at_rest(&self, now: Time) -> bool {
        self.0 <= now
    }
}

#[test]
fn a_table_of_addresses_never_grows_and_the_known_keep_their_own_record() {
    let mut table: Addresses<Busy> = Addresses::new(100);
    for address in 0..10_000 {
        let (record, is_own) = table.record(Time::ZERO, Origin::v4(address));
        assert_eq!(is_own, address < 100, "{address}");
        record.0 = Time::from_millis(1_000);
    }
    assert_eq!(table.len(), 100);
    assert!(table.record(Time::ZERO, Origin::v4(7)).1);
    // They come to rest: strangers are given places again, a few at a time.
    for address in 20_000..20_100 {
        assert!(table.record(Time::from_millis(2_000), Origin::v4(address)).1, "{address}");
    }
    assert!(table.len() <= 100);
}
