//! Gets the keys of another service: one small document over HTTP. Encrypted, or from this machine, and
//! not otherwise: an attacker who could change the keys on their way could log in as any player.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, Uri, header};
use bytes::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// How long all of it may take.
const DEADLINE: Duration = Duration::from_secs(4);
/// The longest document.
const BYTES_MAX: usize = 64 << 10;

/// Whether a document may come from here.
///
/// # Errors
/// Why it may not, as the end of a sentence.
pub(super) fn allowed(url: &str) -> Result<Uri, String> {
    let uri: Uri = url.parse().map_err(|_| format!("{url:?} is no URL"))?;
    let Some(host) = uri.host() else { return Err(format!("{url:?} names no server")) };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_here = host.parse::<IpAddr>().map_or(host == "localhost", |ip| ip.is_loopback());
    match uri.scheme_str() {
        Some("https") => Ok(uri),
        Some("http") if is_here => Ok(uri),
        _ => Err(format!("{url:?} must be https; plain http is for this machine only")),
    }
}

/// Whose certificates are believed where a document comes encrypted.
#[derive(Clone)]
pub(super) struct TrustedRoots(Arc<ClientConfig>);

impl fmt::Debug for TrustedRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TrustedRoots(..)")
    }
}

impl TrustedRoots {
    /// The public roots that browsers trust, or only those of a file.
    ///
    /// # Errors
    /// The file cannot be used: which, and why.
    pub(super) fn new(file: Option<&Path>) -> Result<Self, String> {
        let roots = match file {
            None => RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Some(file) => roots(file).map_err(|why| format!("{}: {why}", file.display()))?,
        };
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

fn roots(file: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| error.to_string())?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() { Err("there is no certificate in it".to_owned()) } else { Ok(roots) }
}

/// Gets a document.
///
/// # Errors
/// The server cannot be reached or believed, its answer is not a document, or it took too long: a sentence
/// for the log.
pub(super) async fn get(uri: &Uri, trust: &TrustedRoots) -> Result<Bytes, String> {
    let got = tokio::time::timeout(DEADLINE, connect_and_get(uri, trust)).await;
    got.unwrap_or_else(|_| Err("no answer in time".to_owned()))
}

async fn connect_and_get(uri: &Uri, trust: &TrustedRoots) -> Result<Bytes, String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let host = uri.host().ok_or("it names no server")?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_encrypted = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 });
    let stream = TcpStream::connect((bare, port)).await.map_err(|error| text(&error))?;
    if !is_encrypted {
        return ask(stream, uri).await;
    }
    let name = ServerName::try_from(bare.to_owned()).map_err(|error| text(&error))?;
    let tls = TlsConnector::from(trust.0.clone()).connect(name, stream).await;
    ask(tls.map_err(|error| text(&error))?, uri).await
}

async fn ask(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    uri: &Uri,
) -> Result<Bytes, String> {
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    // Ends with the sender, or with its error, which the request hears as well.
    let carried = tokio::spawn(async move { drop(connection.await) });
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let request = Request::get(path)
        .header(header::HOST, authority)
        .header(header::ACCEPT, "application/json")
        .body(Body::empty())
        .map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
    if response.status() != StatusCode::OK {
        carried.abort();
        return Err(format!("it answered {}", response.status().as_u16()));
    }
    let body = to_bytes(Body::new(response.into_body()), BYTES_MAX).await;
    carried.abort();
    body.map_err(|_| format!("its answer is longer than {BYTES_MAX} bytes or breaks off"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_only() {
        for good in ["https://id.example/keys", "http://127.0.0.1:9/k", "http://[::1]/k"] {
            assert!(allowed(good).is_ok(), "{good}");
        }
        for bad in ["http://id.example/keys", "ftp://x/", "keys.json", "", "http://10.0.0.1/"] {
            assert!(allowed(bad).is_err(), "{bad}");
        }
    }
}
