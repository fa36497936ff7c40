//! The sockets of the house: accepts, agrees on a subprotocol, carries frames, and breaks off in
//! the middle of one when it is told to.

use futures_util::{SinkExt as _, StreamExt as _};
use rejoin_client::{Bytes, CloseCode, Encoding};
use rejoin_core::id::ConnectionId;
use rejoin_core::wire::close;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

use super::Mail;

/// How a connection breaks.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// The stream ends in the middle of a frame.
    HalfFrame,
    /// The stream ends between two frames, without a word.
    End,
    /// The connection is reset.
    Reset,
}

pub enum ToSocket {
    Frame(Bytes),
    Close(CloseCode),
    Cut(Cut),
}

/// Listens on a free port; gives the address.
pub async fn listen(mail: mpsc::UnboundedSender<Mail>) -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let task = tokio::spawn(async move {
        for count in 1.. {
            let Ok((stream, _)) = listener.accept().await else { return };
            tokio::spawn(serve(stream, ConnectionId(count), mail.clone()));
        }
    });
    (format!("ws://127.0.0.1:{port}/play"), task)
}

/// Upgrades a connection, taking the subprotocol that is asked for.
pub async fn upgrade(stream: TcpStream) -> Option<(WebSocketStream<TcpStream>, Encoding)> {
    stream.set_nodelay(true).ok()?;
    let mut encoding = None;
    #[allow(clippy::result_large_err)] // The signature is the library's.
    let choose = |request: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
        if let Some(asked) = request.headers().get("Sec-WebSocket-Protocol") {
            encoding = asked.to_str().ok().and_then(Encoding::from_subprotocol);
            response.headers_mut().insert("Sec-WebSocket-Protocol", asked.clone());
        }
        Ok(response)
    };
    let socket = accept_hdr_async(stream, choose).await.ok()?;
    Some((socket, encoding?))
}

async fn serve(stream: TcpStream, id: ConnectionId, mail: mpsc::UnboundedSender<Mail>) {
    let Some((mut socket, encoding)) = upgrade(stream).await else { return };
    let (sender, mut orders) = mpsc::unbounded_channel();
    let _ = mail.send(Mail::Opened(id, encoding, sender));
    loop {
        tokio::select! {
            heard = socket.next() => match heard {
                Some(Ok(Message::Binary(bytes))) => drop(mail.send(Mail::Received(id, bytes))),
                Some(Ok(Message::Text(text))) => drop(mail.send(Mail::Received(id, text.into()))),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
            },
            order = orders.recv() => match order {
                Some(ToSocket::Frame(bytes)) => {
                    let message = match encoding {
                        Encoding::Protobuf => Message::Binary(bytes),
                        Encoding::Json => {
                            Message::Text(Utf8Bytes::try_from(bytes).expect("JSON is text"))
                        }
                    };
                    if socket.send(message).await.is_err() {
                        break;
                    }
                }
                Some(ToSocket::Close(code)) => {
                    let code = close::status(code).into();
                    let frame = CloseFrame { code, reason: Utf8Bytes::default() };
                    let _ = socket.close(Some(frame)).await;
                    break;
                }
                Some(ToSocket::Cut(cut)) => {
                    break_off(socket.get_mut(), cut).await;
                    break;
                }
                None => break,
            },
        }
    }
    let _ = mail.send(Mail::Closed(id));
}

async fn break_off(stream: &mut TcpStream, cut: Cut) {
    match cut {
        // A binary frame that says it has 256 bytes, and three of them.
        Cut::HalfFrame => drop(stream.write_all(&[0x82, 0x7e, 0x01, 0x00, 1, 2, 3]).await),
        Cut::End => {}
        Cut::Reset => stream.set_zero_linger().expect("the socket is open"),
    }
}
