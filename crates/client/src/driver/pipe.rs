//! What bytes go through: a TCP connection, encrypted or not.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::address::Address;
use super::trust::Trust;

/// Bytes both ways.
pub trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// A TCP stream, or a TLS stream over one where the address asks for it.
pub type Pipe = Box<dyn Bytes>;

pub(super) async fn open(address: &Address, trust: &Trust) -> io::Result<Pipe> {
    let stream = TcpStream::connect(address.lookup()).await?;
    // Frames are small and somebody waits for each of them.
    stream.set_nodelay(true)?;
    if address.scheme.is_encrypted {
        trust.encrypt(stream, address.lookup().0).await
    } else {
        Ok(Box::new(stream))
    }
}
