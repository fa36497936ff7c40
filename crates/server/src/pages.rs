//! Pages that a game shows at the players' door: files that are part of the program, each under its
//! own path.

use axum::Router;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;

/// One file under one path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    path: String,
    status: StatusCode,
    content_type: &'static str,
    policy: &'static str,
    body: Bytes,
}

impl Page {
    /// A file that may load nothing from anywhere, unless [`policy`](Self::policy) says more.
    #[must_use]
    pub fn new(path: impl Into<String>, content_type: &'static str, body: &'static str) -> Self {
        let (path, body) = (path.into(), Bytes::from_static(body.as_bytes()));
        Self { path, status: StatusCode::OK, content_type, policy: "default-src 'none'", body }
    }

    /// A sentence that says why there is nothing here.
    #[must_use]
    pub fn missing(path: impl Into<String>, sentence: &'static str) -> Self {
        let page = Self::new(path, "text/plain; charset=utf-8", sentence);
        Self { status: StatusCode::NOT_FOUND, ..page }
    }

    /// What a browser that shows it may load: its content security policy.
    #[must_use]
    pub fn policy(mut self, policy: &'static str) -> Self {
        self.policy = policy;
        self
    }

    fn answer(&self) -> Response {
        let headers: [(HeaderName, &'static str); 5] = [
            (header::CONTENT_TYPE, self.content_type),
            (header::CONTENT_SECURITY_POLICY, self.policy),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            // It may be another after the next start of the program.
            (header::CACHE_CONTROL, "no-cache"),
        ];
        let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
        (self.status, headers, self.body.clone()).into_response()
    }
}

/// The routes to these pages. Of two under one path the first is shown.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>(pages: &[Page]) -> Router<S> {
    let mut paths = std::collections::BTreeSet::new();
    let mut routes = Router::new();
    for page in pages.iter().filter(|page| paths.insert(page.path.clone())) {
        let page = page.clone();
        let path = page.path.clone();
        routes = routes.route(&path, get(move || async move { page.answer() }));
    }
    routes
}
