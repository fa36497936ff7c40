//! What a proxy puts before a byte stream.

// The server keeps it to itself.
#[path = "../../crates/server/src/proxy_header.rs"]
#[allow(dead_code)]
mod proxy_header;

use proxy_header::{HEAD_BYTES, ProxyHeaderStart, REST_BYTES_MAX};

/// Any bytes are a header, whose rest is bounded, or none.
pub fn proxy(data: &[u8]) {
    let Some((head, rest)) = data.split_first_chunk::<HEAD_BYTES>() else { return };
    if let Ok(head) = ProxyHeaderStart::read(head) {
        assert!(head.rest_bytes <= REST_BYTES_MAX);
        if let Some(rest) = rest.get(..head.rest_bytes) {
            // Otherwise a compiler sees that nobody asks for it.
            std::hint::black_box(head.client(rest)).ok();
        }
    }
}
