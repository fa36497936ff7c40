//! TLS on the players' doors: who speaks it, who does not, and certificates that change.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use rejoin_server::{Server, TcpConfig, Tls, WebConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore, SupportedProtocolVersion};

use crate::client::{PATIENCE, builder, until};

struct Doors {
    server: Server,
    web: SocketAddr,
    tcp: SocketAddr,
}

async fn open(tls: &Tls) -> Doors {
    let server = builder().start().expect("it starts");
    let bind = || TcpListener::bind("127.0.0.1:0");
    let (web, tcp) = (bind().await.expect("a port"), bind().await.expect("a port"));
    let doors = Doors {
        server: server.clone(),
        web: web.local_addr().expect("bound"),
        tcp: tcp.local_addr().expect("bound"),
    };
    let (first, second) = (server.clone(), server.clone());
    let settings = WebConfig { tls: Some(tls.clone()), ..WebConfig::default() };
    tokio::spawn(async move { first.listen(web, settings).await });
    let settings = TcpConfig { tls: Some(tls.clone()), ..TcpConfig::default() };
    tokio::spawn(async move { second.listen_tcp(tcp, settings).await });
    until("it is ready", async || server.is_ready()).await;
    doors
}

type Dialled = std::io::Result<TlsStream<TcpStream>>;

async fn dial(
    at: SocketAddr,
    root: &str,
    versions: &[&'static SupportedProtocolVersion],
) -> Dialled {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(root.as_bytes()) {
        roots.add(certificate.expect("PEM")).expect("a root");
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(versions)
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = TcpStream::connect(at).await.expect("it listens");
    let name = ServerName::try_from("localhost").expect("a name");
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

fn names() -> Vec<String> {
    vec!["localhost".to_owned(), "[::1]".to_owned(), "127.0.0.1".to_owned()]
}

/// A certificate and its key in files; the certificate as text.
fn write(folder: &Path) -> String {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("made");
    std::fs::write(folder.join("cert.pem"), made.cert.pem()).expect("a folder");
    std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).expect("a folder");
    made.cert.pem()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_versions_are_spoken_with_whom_believes_us() {
    let (tls, root) = Tls::development(&names()).expect("made");
    let doors = open(&tls).await;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let stream = dial(doors.web, &root, &[version]).await.expect("it is believed");
        let (_, state) = stream.get_ref();
        assert_eq!(state.protocol_version(), Some(version.version));
        assert_eq!(state.alpn_protocol(), Some(&b"http/1.1"[..]));
        let request = format!("wss://localhost:{}/play", doors.web.port());
        let (mut socket, _) =
            tokio_tungstenite::client_async(request, stream).await.expect("upgraded");
        let challenge = tokio::time::timeout(PATIENCE, socket.next()).await.expect("in time");
        assert!(challenge.expect("open").expect("a message").is_text());
    }
    let stream = dial(doors.tcp, &root, &[&rustls::version::TLS13]).await;
    // Byte streams have no protocol of HTTP's list; whoever insists on one is not served here.
    let mut stream = stream.expect("it is believed");
    let mut length = [0; 4];
    tokio::time::timeout(PATIENCE, stream.read_exact(&mut length))
        .await
        .expect("in time")
        .expect("a challenge");
    assert!(u32::from_be_bytes(length) < 200);
    let (_, other) = Tls::development(&names()).expect("made");
    assert!(dial(doors.web, &other, &[&rustls::version::TLS13]).await.is_err(), "no such root");
    doors.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_speaks_no_tls_is_let_go_and_harms_nobody() {
    let (tls, root) = Tls::development(&names()).expect("made");
    let doors = open(&tls).await;
    for at in [doors.web, doors.tcp] {
        let mut plain = TcpStream::connect(at).await.expect("it listens");
        plain.write_all(b"GET /play HTTP/1.1\r\nHost: x\r\n\r\n").await.expect("open");
        let mut answer = Vec::new();
        let read = tokio::time::timeout(PATIENCE, plain.read_to_end(&mut answer)).await;
        assert!(read.is_ok(), "it is closed");
        assert!(!answer.starts_with(b"HTTP/"), "nothing is said in the open");
    }
    assert!(dial(doors.web, &root, &[&rustls::version::TLS13]).await.is_ok());
    doors.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_certificate_is_for_new_connections_and_a_wrong_one_for_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = write(folder.path());
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let tls = Tls::from_files(&certificate, &key).expect("good files");
    let doors = open(&tls).await;
    let all = &[&rustls::version::TLS13];
    let mut old = dial(doors.tcp, &first, all).await.expect("believed");
    let second = write(folder.path());
    tls.reload().expect("good files");
    assert!(dial(doors.tcp, &first, all).await.is_err(), "the old one is not shown any more");
    dial(doors.tcp, &second, all).await.expect("the new one is");
    // The connection of before goes on: its challenge is still read.
    let mut length = [0; 4];
    tokio::time::timeout(PATIENCE, old.read_exact(&mut length))
        .await
        .expect("in time")
        .expect("open");
    std::fs::write(&key, "nothing of use").expect("a folder");
    let error = tls.reload().expect_err("no key").to_string();
    assert!(error.contains("key.pem"), "{error}");
    dial(doors.tcp, &second, all).await.expect("what was there stays");
    doors.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_change_are_read_by_themselves() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path());
    let files = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let tls = Tls::from_files(files.0, files.1).expect("good files");
    let doors = open(&tls).await;
    tokio::spawn(tls.follow());
    tokio::time::sleep(Duration::from_millis(50)).await;
    let second = write(folder.path());
    until("the new one is shown", async || {
        dial(doors.tcp, &second, &[&rustls::version::TLS13]).await.is_ok()
    })
    .await;
    doors.server.stop().await;
}

#[test]
fn an_error_says_which_file_and_why() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path());
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("empty.pem"), "").expect("a folder");
    let told = |certificate: &str, key: &str| {
        Tls::from_files(file(certificate), file(key)).expect_err("no good").to_string()
    };
    assert!(told("nowhere.pem", "key.pem").contains("nowhere.pem"));
    assert!(told("empty.pem", "key.pem").contains("empty.pem"));
    assert!(told("cert.pem", "empty.pem").contains("empty.pem"));
    assert!(told("key.pem", "key.pem").contains("key.pem"));
    let other = tempfile::tempdir().expect("a folder");
    write(other.path());
    let error = Tls::from_files(file("cert.pem"), other.path().join("key.pem"));
    let error = error.expect_err("another's key").to_string();
    assert!(error.contains("cert.pem") && error.contains("key.pem"), "{error}");
}
