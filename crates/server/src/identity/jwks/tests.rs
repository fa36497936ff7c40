//! Keys of an issuer that speaks TLS, changes them, and must not be asked too often.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::*;

/// An issuer on this machine, with a certificate of its own making.
struct Issuer {
    url: Uri,
    shown: Arc<std::sync::Mutex<String>>,
    asked: Arc<AtomicUsize>,
}

impl Issuer {
    /// Shows a key of this id; its certificate is written into the folder.
    async fn start(folder: &Path, id: &str) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("made");
        std::fs::write(folder.join("root.pem"), made.cert.pem()).expect("a folder");
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("its own");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let url = format!("https://localhost:{port}/keys").parse().expect("a URL");
        let (shown, asked) = (Arc::new(std::sync::Mutex::new(keys(id))), Arc::default());
        let issuer = Self { url, shown: shown.clone(), asked: Arc::clone(&asked) };
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let Ok(mut socket) = acceptor.accept(socket).await else { continue };
                asked.fetch_add(1, Ordering::SeqCst);
                let mut head = [0; 1_024];
                let _ = socket.read(&mut head).await;
                let body = shown.lock().expect("no panic").clone();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                let _ = socket.write_all((head + &body).as_bytes()).await;
                let _ = socket.shutdown().await;
            }
        });
        issuer
    }

    fn keys(&self, trust: TrustedRoots, rest: Duration) -> Keys {
        Keys::with_rest(
            ResolvedKeySource::Url(self.url.clone(), trust),
            Duration::from_secs(600),
            rest,
        )
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn keys(id: &str) -> String {
    let x = URL_SAFE_NO_PAD.encode(ed25519_dalek::SigningKey::from_bytes(&[1; 32]).verifying_key());
    json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": id, "x": x}]}).to_string()
}

#[tokio::test]
async fn keys_come_by_tls_from_whom_is_believed_and_from_nobody_else() {
    let (folder, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir());
    let other = other.expect("a folder");
    let issuer = Issuer::start(folder.path(), "k1").await;
    let root = folder.path().join("root.pem");
    let trust = TrustedRoots::new(Some(&root)).expect("a root");
    assert!(issuer.keys(trust, REST).find(Some("k1")).await.is_ok());
    assert_eq!(issuer.asked(), 1);
    let everybody = TrustedRoots::new(None).expect("the public ones");
    assert!(
        issuer.keys(everybody, REST).find(Some("k1")).await.is_err(),
        "its root is not trusted"
    );
    Issuer::start(other.path(), "k1").await;
    let wrong = TrustedRoots::new(Some(&other.path().join("root.pem"))).expect("a root");
    assert!(issuer.keys(wrong, REST).find(Some("k1")).await.is_err(), "another's certificate");
    assert_eq!(issuer.asked(), 1, "nothing was asked of whom is not believed");
    std::fs::write(&root, "no certificate").expect("a folder");
    for file in [&root, &folder.path().join("nowhere.pem")] {
        let why = TrustedRoots::new(Some(file)).expect_err("no roots");
        assert!(
            why.contains(file.file_name().expect("a name").to_str().expect("Unicode")),
            "{why}"
        );
    }
}

/// An issuer that answers the first question at once, and the others when it is allowed to.
async fn slow_issuer() -> (Uri, Arc<tokio::sync::Semaphore>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/keys", listener.local_addr().expect("bound"));
    let allowed = Arc::new(tokio::sync::Semaphore::new(1));
    let allowing = Arc::clone(&allowed);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = [0; 1_024];
            let _ = socket.read(&mut head).await;
            allowing.acquire().await.expect("it is open").forget();
            let body = keys("k1");
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            let _ = socket.write_all((head + &body).as_bytes()).await;
        }
    });
    (url.parse().expect("a URL"), allowed)
}

/// Keys that are due to be got again serve while they are: no login with a known key waits for an issuer
/// that does not answer.
#[tokio::test]
async fn a_known_key_does_not_wait_for_an_issuer_that_is_slow() {
    let (url, allowed) = slow_issuer().await;
    let source = ResolvedKeySource::Url(url, TrustedRoots::new(None).expect("the public ones"));
    let keys_of = Keys::with_rest(source, Duration::ZERO, Duration::ZERO);
    assert!(keys_of.find(Some("k1")).await.is_ok());
    let first_got = keys_of.0.held().got_at;
    // As many logins as there were, each of which finds the keys due; the issuer says nothing.
    for _ in 0..100 {
        let found = tokio::time::timeout(Duration::from_secs(1), keys_of.find(Some("k1"))).await;
        assert!(found.expect("at once").is_ok());
        assert_eq!(keys_of.0.held().got_at, first_got, "the issuer has not answered");
    }
    allowed.add_permits(100);
    let got = async {
        while keys_of.0.held().got_at == first_got {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), got).await.expect("they are got by themselves");
}

#[tokio::test]
async fn a_new_key_is_asked_for_once_in_a_while_and_made_up_ones_no_more_often() {
    let folder = tempfile::tempdir().expect("a folder");
    let issuer = Issuer::start(folder.path(), "k1").await;
    let trust = TrustedRoots::new(Some(&folder.path().join("root.pem"))).expect("a root");
    let rest = Duration::from_millis(1_500);
    let keys_of = issuer.keys(trust, rest);
    let began = Instant::now();
    assert!(keys_of.find(Some("k1")).await.is_ok());
    *issuer.shown.lock().expect("no panic") = keys("k2");
    for id in 0..100 {
        let found = keys_of.find(Some(&format!("made-up-{id}"))).await;
        assert!(found.is_err());
        assert!(keys_of.find(Some("k1")).await.is_ok(), "the last ones serve meanwhile");
    }
    let may = 1 + usize::try_from(began.elapsed().as_millis() / rest.as_millis()).expect("few");
    assert!(issuer.asked() <= may, "{} of {may}", issuer.asked());
    // The new key is found by itself, once the rest is over and a token names it.
    let found = async {
        while keys_of.find(Some("k2")).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), found).await.expect("it is found");
    let may = 1 + usize::try_from(began.elapsed().as_millis() / rest.as_millis()).expect("few");
    assert!((2..=may).contains(&issuer.asked()), "{} of {may}", issuer.asked());
    assert!(keys_of.find(Some("k1")).await.is_err(), "the issuer shows it no more");
}
