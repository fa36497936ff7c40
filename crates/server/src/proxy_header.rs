//! The header that a proxy puts before a byte stream to say whom it speaks for: version 2 of the
//! PROXY protocol, the binary one. Reading is total: any bytes are a header, not yet one, or none.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What every header begins with.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// Signature, version and command, family, and the length of the rest.
pub(crate) const HEAD_BYTES: usize = 16;
/// The longest rest that is taken: addresses, and what proxies like to add.
pub(crate) const REST_BYTES_MAX: usize = 1_024;

/// The first part, which says how long the rest is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProxyHeaderStart {
    is_local: bool,
    family: u8,
    pub(crate) rest_bytes: usize,
}

/// These bytes are no header of this kind, or a longer one than is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoHeader;

impl ProxyHeaderStart {
    pub(crate) fn read(bytes: &[u8; HEAD_BYTES]) -> Result<Self, NoHeader> {
        let [signature @ .., version, family, high, low] = *bytes;
        if signature != SIGNATURE {
            return Err(NoHeader);
        }
        let is_local = match version {
            0x20 => true,
            0x21 => false,
            _ => return Err(NoHeader),
        };
        let rest_bytes = usize::from(u16::from_be_bytes([high, low]));
        if rest_bytes > REST_BYTES_MAX {
            Err(NoHeader)
        } else {
            Ok(Self { is_local, family, rest_bytes })
        }
    }

    /// Whom the proxy speaks for; none: for itself, as when it looks whether we are there.
    pub(crate) fn client(&self, rest: &[u8]) -> Result<Option<IpAddr>, NoHeader> {
        if self.is_local {
            return Ok(None);
        }
        // Source and target address, then both ports.
        match (self.family, rest.len()) {
            (0x11, 12..) => {
                let source: [u8; 4] = rest.first_chunk().copied().ok_or(NoHeader)?;
                Ok(Some(IpAddr::V4(Ipv4Addr::from(source))))
            }
            (0x21, 36..) => {
                let source: [u8; 16] = rest.first_chunk().copied().ok_or(NoHeader)?;
                Ok(Some(IpAddr::V6(Ipv6Addr::from(source)).to_canonical()))
            }
            _ => Err(NoHeader),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: u8, family: u8, rest: &[u8]) -> ([u8; HEAD_BYTES], Vec<u8>) {
        let mut head = [0; HEAD_BYTES];
        head[..12].copy_from_slice(&SIGNATURE);
        (head[12], head[13]) = (version, family);
        head[14..].copy_from_slice(&(rest.len() as u16).to_be_bytes());
        (head, rest.to_vec())
    }

    fn read((head, rest): ([u8; HEAD_BYTES], Vec<u8>)) -> Result<Option<IpAddr>, NoHeader> {
        let head = ProxyHeaderStart::read(&head)?;
        assert_eq!(head.rest_bytes, rest.len());
        head.client(&rest)
    }

    #[test]
    fn the_source_is_found_in_both_families() {
        let mut four = vec![192, 0, 2, 7, 10, 0, 0, 1, 0x1f, 0x90, 0, 80];
        let source = Some(IpAddr::from([192, 0, 2, 7]));
        assert_eq!(read(header(0x21, 0x11, &four)), Ok(source));
        four.extend([3; 40]);
        assert_eq!(read(header(0x21, 0x11, &four)), Ok(source), "what is added does not matter");
        let mut six = vec![0; 36];
        six[15] = 1;
        assert_eq!(read(header(0x21, 0x21, &six)), Ok(Some(IpAddr::from(Ipv6Addr::LOCALHOST))));
    }

    #[test]
    fn a_proxy_that_speaks_for_itself_names_nobody() {
        assert_eq!(read(header(0x20, 0, &[])), Ok(None));
        assert_eq!(read(header(0x20, 0x11, &[9; 12])), Ok(None));
    }

    #[test]
    fn whatever_else_comes_is_no_header() {
        assert_eq!(ProxyHeaderStart::read(b"GET /play HTTP/1"), Err(NoHeader));
        for (version, family, len) in [
            (0x11, 0x11, 12),
            (0x22, 0x11, 12),
            (0x21, 0x12, 12),
            (0x21, 0x11, 11),
            (0x21, 0x21, 35),
            (0x21, 0x31, 216),
            (0x21, 0x11, 2_000),
        ] {
            assert_eq!(
                read(header(version, family, &vec![1; len])),
                Err(NoHeader),
                "{version:x} {family:x} {len}"
            );
        }
        // Every byte of the head, changed to everything else, gives an answer.
        let (good, rest) = header(0x21, 0x11, &[1; 12]);
        for place in 0..HEAD_BYTES {
            for byte in 0..=255 {
                let mut head = good;
                head[place] = byte;
                let _ = ProxyHeaderStart::read(&head).and_then(|head| head.client(&rest));
            }
        }
    }
}
