//! The two halves of one connection by ENet, as the server's other half wants them. What is to be sent
//! waits here until the peer has acknowledged what was sent before, so that no slow reader fills ENet.

use std::sync::Arc;

use bytes::Bytes;
use rejoin_core::hub::FrameKind;
use rejoin_wire::close;
use rejoin_wire::v1::CloseCode;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

use super::sieve::ReaderBacklog;
use crate::transport::{Incoming, PeerGone, Sink, Source};

/// How many outgoing bytes of one connection ENet may hold. A message that is longer takes all of them.
pub(super) const ROOM_BYTES: u32 = 256 << 10;

/// Which connection: a slot of ENet, and which of its users.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EnetConnectionId {
    pub(super) slot: usize,
    pub(super) number: u64,
}

/// What a connection's task asks of the task that owns ENet.
pub(super) enum EnetCommand {
    Send(EnetConnectionId, Parcel),
    /// The last word, after everything that was sent.
    Close(EnetConnectionId, CloseCode),
}

/// Bytes with the room they take, which is free again when ENet lets go of them.
pub(super) struct Parcel {
    bytes: Bytes,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Parcel {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The half that is read.
pub(super) struct EnetSource {
    pub(super) incoming: mpsc::UnboundedReceiver<Incoming>,
    pub(super) waiting: Arc<ReaderBacklog>,
    /// Notified when control commands came. Their bytes are added up, so that a flood of them takes no
    /// room while the reader is made to wait, and all of it is charged when it reads on.
    pub(super) bell: Arc<Notify>,
}

impl Source for EnetSource {
    async fn next(&mut self) -> Incoming {
        loop {
            if let Some(bytes) = self.waiting.take_control() {
                // Most of them acknowledge what they were sent.
                return Incoming::Control(FrameKind::Pong, bytes);
            }
            let heard = tokio::select! {
                heard = self.incoming.recv() => heard.unwrap_or(Incoming::Gone),
                () = self.bell.notified() => continue,
            };
            if let Incoming::Message(bytes) = &heard {
                self.waiting.remove(bytes.len());
            }
            return heard;
        }
    }
}

/// The half that is written to. Its end is the end of the connection.
pub(super) struct EnetSink {
    pub(super) id: EnetConnectionId,
    pub(super) commands: mpsc::Sender<EnetCommand>,
    pub(super) ended: mpsc::UnboundedSender<EnetConnectionId>,
    pub(super) room: Arc<Semaphore>,
}

impl Sink for EnetSink {
    async fn feed(&mut self, message: Bytes) -> Result<(), PeerGone> {
        let len = u32::try_from(message.len()).unwrap_or(u32::MAX).clamp(1, ROOM_BYTES);
        // Closed when the peer is gone.
        let room = self.room.clone().acquire_many_owned(len).await.map_err(|_| PeerGone)?;
        let parcel = Parcel { bytes: message, _room: room };
        self.commands.send(EnetCommand::Send(self.id, parcel)).await.map_err(|_| PeerGone)
    }

    async fn flush(&mut self) -> Result<(), PeerGone> {
        Ok(())
    }

    async fn close(&mut self, code: CloseCode) -> Result<(), PeerGone> {
        self.commands.send(EnetCommand::Close(self.id, code)).await.map_err(|_| PeerGone)
    }
}

impl Drop for EnetSink {
    fn drop(&mut self) {
        // One word a connection.
        let _ = self.ended.send(self.id);
    }
}

/// A close code as the number that ENet's disconnect carries.
pub(super) fn farewell_number(code: CloseCode) -> u32 {
    u32::from(close::status(code))
}
