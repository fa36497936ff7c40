//! The transports, as the suite sees them: a way to make connections to one running server.

use std::net::SocketAddr;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use rejoin_server::{Local, Server, TcpConfig, WebConfig};
use rejoin_wire::v1::{CloseCode, ServerFrame, server_frame};
use rejoin_wire::{Encoding, Framer, Limits, close, decode_server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// What the suite needs of a transport.
pub(crate) trait Transport: Copy {
    type Line: Line;
    type Door: Door<Line = Self::Line>;
    /// What is spoken on it.
    const ENCODINGS: &[Encoding] = &[Encoding::Protobuf, Encoding::Json];

    /// Opens the server to connections.
    async fn open(self, server: &Server) -> Self::Door;
}

/// Where connections are made.
pub(crate) trait Door {
    type Line: Line;

    async fn dial(&self, encoding: Encoding) -> Self::Line;
}

/// The client's end of a connection. Dropping it without a word is a cut.
pub(crate) trait Line {
    /// Sends one message; waits while the server does not take it. False: the connection is over.
    async fn send(&mut self, message: Bytes) -> bool;
    /// The next message, or the code the connection was closed with.
    async fn recv(&mut self) -> Result<Bytes, Option<CloseCode>>;
}

/// WebSocket on a loopback port.
#[derive(Clone, Copy)]
pub(crate) struct Web;

pub(crate) struct WebDoor(SocketAddr);

pub(crate) struct WebLine {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    encoding: Encoding,
}

impl Transport for Web {
    type Line = WebLine;
    type Door = WebDoor;

    async fn open(self, server: &Server) -> WebDoor {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let at = listener.local_addr().expect("it is bound");
        let listening = server.clone();
        tokio::spawn(async move { listening.listen(listener, WebConfig::default()).await });
        WebDoor(at)
    }
}

impl Door for WebDoor {
    type Line = WebLine;

    async fn dial(&self, encoding: Encoding) -> WebLine {
        let mut request = format!("ws://{}/play", self.0).into_client_request().expect("good");
        let protocol = encoding.subprotocol().parse().expect("a header");
        request.headers_mut().insert("Sec-WebSocket-Protocol", protocol);
        let (socket, _) = tokio_tungstenite::connect_async(request).await.expect("let in");
        WebLine { socket, encoding }
    }
}

impl Line for WebLine {
    async fn send(&mut self, message: Bytes) -> bool {
        let message = match (self.encoding, std::str::from_utf8(&message)) {
            (Encoding::Json, Ok(text)) => Message::text(text),
            _ => Message::Binary(message),
        };
        self.socket.send(message).await.is_ok()
    }

    async fn recv(&mut self) -> Result<Bytes, Option<CloseCode>> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Binary(bytes))) => {
                    assert_eq!(self.encoding, Encoding::Protobuf);
                    return Ok(bytes);
                }
                Some(Ok(Message::Text(text))) => {
                    assert_eq!(self.encoding, Encoding::Json);
                    return Ok(text.into());
                }
                Some(Ok(Message::Close(frame))) => {
                    return Err(frame.and_then(|frame| close::from_status(frame.code.into())));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }
}

/// Frames after their length on a loopback port.
#[derive(Clone, Copy)]
pub(crate) struct Stream;

pub(crate) struct StreamDoor(SocketAddr);

pub(crate) struct StreamLine {
    socket: TcpStream,
    framer: Framer,
    /// What the farewell said: there is no other close code.
    code: Option<CloseCode>,
}

impl Transport for Stream {
    type Line = StreamLine;
    type Door = StreamDoor;
    const ENCODINGS: &[Encoding] = &[Encoding::Protobuf];

    async fn open(self, server: &Server) -> StreamDoor {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let at = listener.local_addr().expect("it is bound");
        let listening = server.clone();
        tokio::spawn(async move { listening.listen_tcp(listener, TcpConfig::default()).await });
        StreamDoor(at)
    }
}

impl Door for StreamDoor {
    type Line = StreamLine;

    async fn dial(&self, _: Encoding) -> StreamLine {
        let socket = TcpStream::connect(self.0).await.expect("let in");
        StreamLine { socket, framer: Framer::new(8 << 20), code: None }
    }
}

impl Line for StreamLine {
    async fn send(&mut self, message: Bytes) -> bool {
        let mut bytes = BytesMut::new();
        bytes.put_u32(u32::try_from(message.len()).expect("not so long"));
        bytes.put_slice(&message);
        self.socket.write_all(&bytes).await.is_ok()
    }

    async fn recv(&mut self) -> Result<Bytes, Option<CloseCode>> {
        loop {
            if let Some(frame) = self.framer.next().expect("the server writes frames") {
                let decoded = decode_server(Encoding::Protobuf, frame.clone(), &Limits::DEFAULT);
                if let Ok(ServerFrame { frame: Some(server_frame::Frame::Farewell(last)) }) =
                    decoded
                {
                    self.code = Some(last.code());
                }
                return Ok(frame);
            }
            let mut chunk = [0; 4_096];
            match self.socket.read(&mut chunk).await {
                Ok(0) | Err(_) => return Err(self.code),
                Ok(read) => assert_eq!(self.framer.push(&chunk[..read]), read),
            }
        }
    }
}

/// Within the process.
#[derive(Clone, Copy)]
pub(crate) struct InProcess;

impl Transport for InProcess {
    type Line = Local;
    type Door = Server;

    async fn open(self, server: &Server) -> Server {
        server.clone()
    }
}

impl Door for Server {
    type Line = Local;

    async fn dial(&self, encoding: Encoding) -> Local {
        self.connect_local(encoding).expect("the server runs")
    }
}

impl Line for Local {
    async fn send(&mut self, message: Bytes) -> bool {
        Local::send(self, message).await.is_ok()
    }

    async fn recv(&mut self) -> Result<Bytes, Option<CloseCode>> {
        Local::recv(self).await.map_err(|closed| closed.code)
    }
}
