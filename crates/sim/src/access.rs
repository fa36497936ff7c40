//! What a seed decides about how players reach the server and who they are there: the accounts of the
//! world, what an operator does with them, compression, transports and addresses.

use rejoin_core::guard::Origin;
use rejoin_core::hub::{AccountPolicy, HubConfig};
use rejoin_testkit::parts::rng::Rng;

/// How the addresses of honest players are drawn. Hostile connections have one of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addresses {
    /// Each player has an IPv6 network of 64 bits, apart from all others.
    Apart,
    /// All players are behind one IPv4 address.
    OneV4,
    /// Each player has a network of 64 bits within one of 56 bits.
    OneNetwork,
    /// A player comes from another address with each connection, one of a few that all of them use.
    Roaming,
}

/// The accounts, transports and addresses of a world.
#[derive(Clone, Debug)]
pub struct Access {
    /// Accounts with a name and a password that the operator looks after; none where accounts are off.
    pub names: usize,
    /// Accounts that another service vouches for.
    pub subjects: usize,
    /// How often the operator does something with an account, in a thousand looks.
    pub operator: u64,
    /// How often the operator does something while a login of that account is under way, in a thousand
    /// logins.
    pub aimed: u64,
    /// The longest look at a password or a token, in microseconds.
    pub check_us: u64,
    /// How many clients ask for compressed frames, in a thousand.
    pub deflate: u64,
    /// How many connections use another encoding than the client's own, in a thousand.
    pub hop: u64,
    /// How many connections are encrypted, in a thousand.
    pub encrypted: u64,
    /// Where players come from.
    pub addresses: Addresses,
}

impl Access {
    /// Draws everything, and sets what of it the hub has to know.
    #[must_use]
    pub fn draw(rng: &mut Rng, hub: &mut HubConfig) -> Self {
        hub.accounts = match rng.below(10) {
            0..=2 => AccountPolicy::Optional,
            3 => AccountPolicy::Required,
            _ => AccountPolicy::Off,
        };
        let is_on = hub.accounts != AccountPolicy::Off;
        hub.account_limit = std::time::Duration::from_millis(*rng.pick(&[700, 2_000, 5_000]));
        hub.compression = rng.per_mille(500);
        hub.compression_bytes_min = *rng.pick(&[1, 1, 60, 1_024]);
        Self {
            names: if is_on { rng.range(1, 4) as usize } else { 0 },
            subjects: if is_on { rng.below(3) as usize } else { 0 },
            operator: if rng.per_mille(800) { rng.range(5, 60) } else { 0 },
            aimed: *rng.pick(&[0, 100, 400]),
            check_us: *rng.pick(&[2_000, 50_000, 500_000]),
            deflate: *rng.pick(&[0, 500, 1_000]),
            hop: *rng.pick(&[0, 0, 200, 500]),
            encrypted: *rng.pick(&[0, 500, 1_000]),
            addresses: *rng.pick(&[
                Addresses::Apart,
                Addresses::Apart,
                Addresses::OneV4,
                Addresses::OneNetwork,
                Addresses::Roaming,
            ]),
        }
    }

    /// Where a player's next connection comes from.
    pub fn origin(&self, player: usize, rng: &mut Rng) -> Origin {
        match self.addresses {
            Addresses::Apart => Origin::v6((player as u128 + 1) << 80),
            Addresses::OneV4 => Origin::v4(7),
            Addresses::OneNetwork => Origin::v6(1 << 80 | (player as u128 + 1) << 64),
            Addresses::Roaming if rng.per_mille(500) => Origin::v4(rng.below(3) as u32),
            Addresses::Roaming => Origin::v6((rng.below(3) as u128 + 1) << 80),
        }
    }
}
