//! Whose certificates are believed: those that the game gave as roots, and no others. Without the
//! feature `tls` nothing is encrypted, and addresses that ask for it are refused before this.

use std::fmt;
use std::io;

use tokio::net::TcpStream;

use super::error::OpenError;
use super::pipe::Pipe;

/// What a server's certificate is held against.
#[derive(Clone)]
pub(super) struct Trust {
    #[cfg(feature = "tls")]
    config: std::sync::Arc<tokio_rustls::rustls::ClientConfig>,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trust(..)")
    }
}

#[cfg(feature = "tls")]
impl Trust {
    /// From certificates as PEM.
    pub(super) fn new(roots: &[String]) -> Result<Self, OpenError> {
        use tokio_rustls::rustls::pki_types::CertificateDer;
        use tokio_rustls::rustls::pki_types::pem::PemObject as _;
        use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::aws_lc_rs};

        let wrong = |text: String| OpenError::Roots { text };
        let mut store = RootCertStore::empty();
        for pem in roots {
            let before = store.len();
            for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
                store.add(certificate).map_err(|error| wrong(error.to_string()))?;
            }
            if store.len() == before {
                return Err(wrong("there is no certificate in it".to_owned()));
            }
        }
        let provider = std::sync::Arc::new(aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(error.to_string()))?
            .with_root_certificates(store)
            .with_no_client_auth();
        Ok(Self { config: std::sync::Arc::new(config) })
    }

    pub(super) async fn encrypt(&self, stream: TcpStream, host: &str) -> io::Result<Pipe> {
        use tokio_rustls::rustls::pki_types::ServerName;

        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let connector = tokio_rustls::TlsConnector::from(self.config.clone());
        Ok(Box::new(connector.connect(name, stream).await?))
    }
}

#[cfg(not(feature = "tls"))]
impl Trust {
    pub(super) fn new(roots: &[String]) -> Result<Self, OpenError> {
        if roots.is_empty() {
            return Ok(Self {});
        }
        let text = "this client was built without TLS: turn on its feature `tls`".to_owned();
        Err(OpenError::Roots { text })
    }

    pub(super) async fn encrypt(&self, _stream: TcpStream, _host: &str) -> io::Result<Pipe> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}
