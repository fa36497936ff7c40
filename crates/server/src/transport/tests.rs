//! What a connection's task writes.

use bytes::Bytes;
use rejoin_wire::v1::{Down, Farewell, ServerFrame, server_frame};
use rejoin_wire::{Encoding, Limits, SharedFrame};

use super::*;
use crate::clock::MonotonicClock;
use crate::connection_table::ConnectionTable;
use crate::journal::Incarnation;
use crate::queue::QueueLimits;
use crate::sight::{Sight, SightConfig};

/// Keeps what is written.
#[derive(Default)]
struct Written {
    messages: Vec<Bytes>,
    closed: Option<CloseCode>,
}

impl Sink for Written {
    async fn feed(&mut self, message: Bytes) -> Result<(), PeerGone> {
        self.messages.push(message);
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), PeerGone> {
        Ok(())
    }

    async fn close(&mut self, code: CloseCode) -> Result<(), PeerGone> {
        self.closed = Some(code);
        Ok(())
    }
}

fn frame(frame: server_frame::Frame) -> SharedFrame {
    SharedFrame::new(&ServerFrame { frame: Some(frame) })
}

/// The hub puts in the farewell and then the close, and a thread of zones may put in a frame between the two.
#[tokio::test]
async fn nothing_is_written_between_a_farewell_and_the_close() {
    let table = ConnectionTable::new(QueueLimits::default());
    let (clock, incarnation) = (MonotonicClock::start(), Incarnation::from_seed(&[1; 32]));
    let config = SightConfig::default();
    let sight = Sight::new(config, clock, table.clone(), Limits::DEFAULT, incarnation);
    let peer = Peer { transport: Transport::Local, address: None, is_encrypted: false };
    let (id, queue) = table.open(peer);
    let down = |seq| frame(server_frame::Frame::Down(Down { seq, body: None }));
    let farewell = frame(server_frame::Frame::Farewell(Farewell::default()));
    for frame in [down(1), farewell.clone(), down(2)] {
        table.send(id, frame);
    }
    table.close(id, CloseCode::ShuttingDown);
    let mut written = Written::default();
    assert!(write_queue(&mut written, &queue, Encoding::Protobuf, (id, &sight)).await);
    assert_eq!(written.messages, [down(1).protobuf(), farewell.protobuf()]);
    assert_eq!(written.closed, Some(CloseCode::ShuttingDown));
}
