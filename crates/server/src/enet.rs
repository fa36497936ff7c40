//! ENet as a transport: reliable and unreliable messages in datagrams, one frame each, always protobuf.
//! Everything that must arrive is on one reliable channel; `Loose` frames may be lost.
//!
//! ENet itself gives a slot and several answers to any datagram that asks for it, even if its address is
//! forged. So it does not read the UDP socket itself: `socket` checks every datagram first.

mod connection;
mod cookie;
mod keeper;
mod peer;
mod sieve;
mod socket;
mod window;

use std::sync::Arc;
use std::time::{Duration, Instant};

pub use rejoin_seal::ServerKey;
use tokio::net::UdpSocket;

use self::cookie::Cookies;
use self::keeper::Keeper;
use self::socket::EnetSocket;
use crate::server::Server;

/// Settings of a UDP port on which clients connect by ENet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnetConfig {
    /// Let peers in that know nothing of cookies. A sender that forges an address may then take as many
    /// slots as that address may have, for a few seconds each.
    pub stock: bool,
    /// Peers at a time on one port; ENet has numbers for 4,095.
    pub peers_max: usize,
    /// Whether datagrams are encrypted.
    pub encryption: Encryption,
    /// By what clients know the server again; none: by a new key, which is another every time.
    pub key: Option<ServerKey>,
}

/// Whether a connection is encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Encryption {
    /// Datagrams are never encrypted; a client that requires it is not let in.
    Off,
    /// If the client wants it.
    #[default]
    Preferred,
    /// A client that does not encrypt is not let in.
    Required,
}

impl EnetConfig {
    /// ENet has no numbers for more.
    pub const PEERS_MAX: usize = 4_095;
}

impl Default for EnetConfig {
    fn default() -> Self {
        let encryption = Encryption::default();
        Self { stock: false, peers_max: Self::PEERS_MAX, encryption, key: None }
    }
}

/// What the system may keep of a port's datagrams either way, as far as it lets us: all peers share it,
/// and what does not fit is lost.
const SOCKET_BYTES: usize = 4 << 20;
/// How long a door rests that could not be opened.
const REST: Duration = Duration::from_secs(1);

impl Server {
    /// Accepts players by ENet on a socket until the server stops and the last of them is gone.
    pub async fn listen_enet(&self, socket: UdpSocket, config: EnetConfig) {
        let system = socket2::SockRef::from(&socket);
        // Less is no fault: then more is sent again.
        let _ = system.set_recv_buffer_size(SOCKET_BYTES);
        let _ = system.set_send_buffer_size(SOCKET_BYTES);
        let socket = Arc::new(socket);
        let config =
            EnetConfig { peers_max: config.peers_max.clamp(1, EnetConfig::PEERS_MAX), ..config };
        loop {
            let keeper = match self.open_enet(&socket, &config) {
                Ok(keeper) => keeper,
                Err(error) => {
                    tracing::error!(%error, "no players by ENet for now");
                    tokio::time::sleep(REST).await;
                    continue;
                }
            };
            match tokio::spawn(keeper.run()).await {
                Ok(()) => return,
                Err(error) if error.is_cancelled() => return,
                Err(error) => {
                    // Sessions are held; their clients come back to the same port.
                    tracing::error!(%error, "ENet has panicked and starts again");
                    tokio::time::sleep(REST).await;
                }
            }
        }
    }

    fn open_enet(&self, socket: &Arc<UdpSocket>, config: &EnetConfig) -> Result<Keeper, String> {
        let (mut secret, mut chance) = ([0; 32], [0; 8]);
        let filled = getrandom::fill(&mut secret).and_then(|()| getrandom::fill(&mut chance));
        filled.map_err(|error| format!("the system gives no randomness: {error}"))?;
        let key = match &config.key {
            Some(key) => key.clone(),
            None => ServerKey::generate().map_err(|error| error.to_string())?,
        };
        let keys = (Cookies::new(secret, Instant::now()), key);
        let enet_socket = EnetSocket::new(socket.clone(), self.clone(), config.clone(), keys);
        Keeper::new(enet_socket, socket.clone(), self.clone(), config.peers_max, chance)
    }
}
