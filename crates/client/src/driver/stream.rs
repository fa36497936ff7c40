//! One byte stream: each frame after its length, always protobuf. The server's farewell is its last
//! word; the stream itself ends without a code.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes, BytesMut};
use rejoin_wire::{DecodeError, Encoding, Framer, FramingError, Limits, prefix};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

use super::line::{News, OUTGOING_MAX};
use super::pipe::Pipe;

/// An open stream and what waits to be written on it.
pub(super) struct Stream {
    pipe: Pipe,
    framer: Framer,
    /// What was read and the framer has not taken yet.
    chunk: BytesMut,
    outgoing: BytesMut,
    /// Frames in `outgoing`, at most: it counts from when all was written.
    waiting: usize,
    is_flushed: bool,
    /// The peer takes nothing more; what it said before that is still to be read.
    is_mute: bool,
}

const READ_BYTES: usize = 4_096;

impl Stream {
    pub(super) fn new(pipe: Pipe, limits: &Limits) -> Self {
        Self {
            pipe,
            framer: Framer::new(limits.server_frame_bytes(Encoding::Protobuf)),
            chunk: BytesMut::new(),
            outgoing: BytesMut::new(),
            waiting: 0,
            is_flushed: true,
            is_mute: false,
        }
    }

    pub(super) fn push(&mut self, frame: &Bytes) {
        // Our own frames are neither empty nor longer than a length can say.
        if prefix(frame, &mut self.outgoing).is_ok() {
            self.waiting += 1;
        }
    }

    pub(super) fn is_behind(&self) -> bool {
        self.waiting >= OUTGOING_MAX
    }

    /// Writes what the peer takes at once, and lets go.
    pub(super) async fn close(mut self) {
        let _ = std::future::poll_fn(|cx| Poll::Ready(self.poll_write(cx))).await;
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>, may_read: bool) -> Poll<News> {
        if let Poll::Ready(Err(_)) = self.poll_write(cx) {
            // The reason, or a last word, is on the other side of the pipe.
            self.is_mute = true;
            self.outgoing.clear();
        }
        while may_read && !self.is_behind() {
            match self.framer.next() {
                Ok(Some(frame)) => return Poll::Ready(News::Frame(frame)),
                Ok(None) => {}
                Err(error) => return Poll::Ready(News::Garbled(garbled(error))),
            }
            if self.chunk.is_empty() && !std::task::ready!(self.poll_chunk(cx)) {
                return Poll::Ready(News::Closed(None));
            }
            let taken = self.framer.push(&self.chunk);
            self.chunk.advance(taken);
        }
        Poll::Pending
    }

    /// Reads some bytes; false at the end.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let mut room = [0; READ_BYTES];
        let mut read = ReadBuf::new(&mut room);
        let done = std::task::ready!(Pin::new(&mut self.pipe).poll_read(cx, &mut read));
        if done.is_err() || read.filled().is_empty() {
            return Poll::Ready(false);
        }
        self.chunk.extend_from_slice(read.filled());
        Poll::Ready(true)
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_mute {
            self.outgoing.clear();
            self.waiting = 0;
            return Poll::Ready(Ok(()));
        }
        let mut pipe = Pin::new(&mut self.pipe);
        while !self.outgoing.is_empty() {
            let written = std::task::ready!(pipe.as_mut().poll_write(cx, &self.outgoing))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.outgoing.advance(written);
            self.is_flushed = false;
        }
        self.waiting = 0;
        if !self.is_flushed {
            std::task::ready!(pipe.as_mut().poll_flush(cx))?;
            self.is_flushed = true;
        }
        Poll::Ready(Ok(()))
    }
}

fn garbled(error: FramingError) -> DecodeError {
    match error {
        FramingError::TooLarge { len, max } => {
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            DecodeError::TooLarge { field: "frame", len, max }
        }
        _ => DecodeError::Malformed { column: 0 },
    }
}
