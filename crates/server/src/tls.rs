//! TLS 1.2 and 1.3 on any listener. Certificate and key come from files, which are read again when
//! they change or when the program asks for it; connections that are open keep what they have, and
//! files that cannot be used leave everything as it was.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;

/// From the first byte to the end of the TLS handshake.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(10);
/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Certificate and key of a server. A clone is the same one: a reload reaches all of them.
#[derive(Clone)]
pub struct Tls(Arc<Inner>);

struct Inner {
    files: Option<(PathBuf, PathBuf)>,
    current: RwLock<Current>,
}

#[derive(Clone)]
struct Current {
    /// Tells clients that ask that HTTP/1.1 is spoken.
    web: Arc<ServerConfig>,
    stream: Arc<ServerConfig>,
}

/// Why there is no TLS: which file, and what is wrong with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsError(String);

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

/// Without the key.
impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls").field(&self.0.files.as_ref().map(|files| &files.0)).finish()
    }
}

impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Tls {}

impl Tls {
    /// From PEM files: the chain, the server's own certificate first, and its key.
    ///
    /// # Errors
    /// A file cannot be read, holds nothing of its kind, or the two do not fit together.
    pub fn from_files(
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Result<Self, TlsError> {
        let (certificate, key) = (certificate.into(), key.into());
        let current = read(&certificate, &key)?;
        let files = Some((certificate, key));
        Ok(Self(Arc::new(Inner { files, current: RwLock::new(current) })))
    }

    /// A self-signed certificate for these names and addresses, and the same as PEM: clients that are to
    /// trust it need that.
    ///
    /// # Errors
    /// A name that cannot stand in a certificate.
    pub fn development(names: &[String]) -> Result<(Self, String), TlsError> {
        let names: Vec<String> = names
            .iter()
            .map(|name| name.trim_start_matches('[').trim_end_matches(']').to_owned())
            .collect();
        let made = rcgen::generate_simple_self_signed(names)
            .map_err(|error| TlsError(format!("no certificate for development: {error}")))?;
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())
            .map_err(|error| TlsError(format!("no key for development: {error}")))?;
        let current = configured(vec![made.cert.der().clone()], key)
            .map_err(|error| TlsError(format!("no certificate for development: {error}")))?;
        let inner = Inner { files: None, current: RwLock::new(current) };
        Ok((Self(Arc::new(inner)), made.cert.pem()))
    }

    /// Reads the files again, for connections from now on. Does nothing where there are none.
    ///
    /// # Errors
    /// As for [`from_files`](Self::from_files); what was there stays.
    pub fn reload(&self) -> Result<(), TlsError> {
        let Some((certificate, key)) = &self.0.files else { return Ok(()) };
        let current = read(certificate, key)?;
        *self.0.current.write().unwrap_or_else(PoisonError::into_inner) = current;
        Ok(())
    }

    /// Reads the files again whenever they change, for ever.
    pub async fn follow(self) {
        let Some((certificate, key)) = self.0.files.clone() else { return };
        let mut known = changed_at(&certificate, &key);
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let seen = changed_at(&certificate, &key);
            if seen == known {
                continue;
            }
            known = seen;
            match self.reload() {
                Ok(()) => tracing::info!("the certificate has changed and was read again"),
                Err(error) => tracing::error!(%error, "the certificate stays as it was"),
            }
        }
    }

    pub(crate) async fn accept_web<S>(&self, socket: S) -> Option<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        accept(self.current().web, socket).await
    }

    pub(crate) async fn accept_stream<S>(&self, socket: S) -> Option<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        accept(self.current().stream, socket).await
    }

    fn current(&self) -> Current {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// None: the peer does not speak TLS as we do, or not in time.
async fn accept<S>(config: Arc<ServerConfig>, socket: S) -> Option<TlsStream<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let accepted = tokio::time::timeout(HANDSHAKE, TlsAcceptor::from(config).accept(socket)).await;
    accepted.ok()?.ok()
}

fn changed_at(certificate: &Path, key: &Path) -> [Option<SystemTime>; 2] {
    [certificate, key].map(|file| std::fs::metadata(file).ok()?.modified().ok())
}

fn read(certificate: &Path, key: &Path) -> Result<Current, TlsError> {
    let unusable = |what: &str, file: &Path, why: &dyn fmt::Display| {
        TlsError(format!("the {what} in {} cannot be used: {why}", file.display()))
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable("certificate", certificate, &error))?;
    if chain.is_empty() {
        return Err(unusable("certificate", certificate, &"there is none in it"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable("key", key, &error))?;
    configured(chain, secret).map_err(|error| {
        let files = format!("{} and {}", certificate.display(), key.display());
        TlsError(format!("the certificate and the key in {files} cannot be used: {error}"))
    })
}

fn configured(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Current, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let stream = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    let mut web = stream.clone();
    web.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Current { web: Arc::new(web), stream: Arc::new(stream) })
}
