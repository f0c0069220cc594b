//! What a finished handshake agreed on, as read back from the library.

use std::borrow::Cow;

/// What was negotiated. Cheap to read on every connection, and fit to be the key of a map.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Negotiated {
    /// The protocol version, as OpenSSL prints it: `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite, as OpenSSL prints it: `TLS_AES_128_GCM_SHA256`.
    pub cipher: &'static str,
    /// The key exchange group, by its name in the TLS registry of IANA whichever name this version
    /// of OpenSSL uses: `secp256r1`, `x25519`, `X25519MLKEM768`. Diffie-Hellman with parameters of
    /// the server's own is `DH` and its size in bits. `None` when no such key exchange took place:
    /// RSA key transport, or a session resumed in TLS 1.2 or before.
    pub group: Option<Cow<'static, str>>,
    /// Whether a session was resumed.
    pub resumed: bool,
    /// Whether the server asked for a second `ClientHello`; `None` when that was not observed.
    pub hello_retry: Option<bool>,
}

/// The server's own certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PeerCertificate {
    /// The kind and size of its key: `RSA 2048`, `EC P-256`, `ED25519`.
    pub key: String,
    /// SHA-256 of its DER encoding, in lower-case hexadecimal.
    pub sha256: String,
    /// How many certificates the server sent, this one among them; `None` on a resumed connection,
    /// where it sends none.
    pub sent: Option<u32>,
}

/// A hash of the server's certificate, which binds what is said over a channel to that channel: the
/// channel binding `tls-server-end-point` (RFC 5929, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndPointHash {
    bytes: [u8; Self::MOST_BYTES],
    length: usize,
}

impl EndPointHash {
    /// As many bytes as the longest hash has.
    pub(crate) const MOST_BYTES: usize = 64;

    /// The first `length` of the bytes.
    pub(crate) fn new(bytes: [u8; Self::MOST_BYTES], length: usize) -> Self {
        let length = length.min(Self::MOST_BYTES);
        Self { bytes, length }
    }
}

impl AsRef<[u8]> for EndPointHash {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
