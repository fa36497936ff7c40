//! A gate between players and the server: whoever comes through is carried both ways while it is open.
//! Shutting it cuts everybody off and lets nobody in.

use std::io;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A gate. It ends with this value.
#[derive(Debug)]
pub struct Gate {
    address: String,
    is_open: watch::Sender<bool>,
    keeper: JoinHandle<()>,
}

impl Gate {
    /// An open gate to a server.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn to(server: &str) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let (is_open, opened) = watch::channel(true);
        let server = server.to_owned();
        let keeper = tokio::spawn(async move {
            while let Ok((player, _)) = listener.accept().await {
                if *opened.borrow() {
                    tokio::spawn(carry(player, server.clone(), opened.clone()));
                }
            }
        });
        Ok(Self { address, is_open, keeper })
    }

    /// What a client connects to.
    #[must_use]
    pub fn url(&self) -> String {
        format!("ws://{}/play", self.address)
    }

    /// Cuts everybody off, and lets nobody in.
    pub fn shut(&self) {
        self.is_open.send_replace(false);
    }

    /// Lets everybody in.
    pub fn open(&self) {
        self.is_open.send_replace(true);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

async fn carry(mut player: TcpStream, server: String, mut is_open: watch::Receiver<bool>) {
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    tokio::select! {
        // However it ended: both sides see that it did.
        _ = tokio::io::copy_bidirectional(&mut player, &mut server) => {}
        _ = is_open.wait_for(|is_open| !is_open) => {}
    }
}
