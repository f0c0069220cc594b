//! What both sides say was negotiated on one connection: the client's library and the server itself.

use tlstax_contract::{Handshakes, Negotiated, TlsView};
use tlstax_tls::PeerCertificate;

/// What the client brings to a handshake, as far as its library says.
#[derive(Debug, Clone, Copy)]
pub struct ClientProof {
    /// How many authorities it trusts.
    pub authorities: Option<u32>,
    /// Whether it proved itself by a certificate of its own.
    pub has_certificate: Option<bool>,
}

/// The client's view from its library.
pub fn client_view(
    seen: &tlstax_tls::Negotiated,
    certificate: Option<&PeerCertificate>,
    own: ClientProof,
) -> TlsView {
    TlsView {
        version: seen.version.to_owned(),
        cipher: seen.cipher.to_owned(),
        resumed: Some(seen.resumed),
        group: seen.group.as_deref().map(str::to_owned),
        hello_retry: seen.hello_retry,
        certificate_key: certificate.map(|certificate| certificate.key.clone()),
        certificate_sha256: certificate.map(|certificate| certificate.sha256.clone()),
        certificates_sent: certificate.and_then(|certificate| certificate.sent),
        authorities: own.authorities,
        client_certificate: own.has_certificate,
        cipher_bits: None,
        client_name: None,
    }
}

/// Adds what connections proved to what is known: those that both sides describe alike are counted.
pub fn add(known: &mut Vec<Negotiated>, proof: Negotiated) {
    let alike = |other: &&mut Negotiated| {
        other.client == proof.client
            && other.client_tells == proof.client_tells
            && other.server == proof.server
            && other.compression == proof.compression
    };
    match known.iter_mut().find(alike) {
        Some(other) => other.connections += proof.connections,
        None => known.push(proof),
    }
}

/// One handshake of this kind, for counting.
pub fn handshake(seen: &tlstax_tls::Negotiated) -> Handshakes {
    Handshakes {
        version: seen.version.to_owned(),
        cipher: seen.cipher.to_owned(),
        group: seen.group.as_deref().map(str::to_owned),
        resumed: seen.resumed,
        hello_retry: seen.hello_retry,
        count: 1,
    }
}
