//! What both sides say was negotiated on one connection: the client's library and the server itself.

use tlstax_contract::{Handshakes, TlsView};
use tlstax_tls::{Negotiated, PeerCertificate};

/// Asks the server what it negotiated on this very connection. The variables are MySQL's and
/// MariaDB's alike (MySQL Reference Manual, "Server Status Variables").
pub const QUESTION: &[u8] = b"SHOW SESSION STATUS LIKE 'Ssl%'";

/// More rows than any server answers to [`QUESTION`].
pub const MOST_ROWS: usize = 100;

/// The server's view from its answer; none when it says that the connection is not encrypted.
pub fn server_view(rows: &[Vec<Option<String>>]) -> Option<TlsView> {
    let value = |name: &str| {
        rows.iter().find_map(|row| match row.as_slice() {
            [Some(known), Some(value)] if known == name => Some(value.clone()),
            _ => None,
        })
    };
    let cipher = value("Ssl_cipher").filter(|cipher| !cipher.is_empty())?;
    Some(TlsView {
        version: value("Ssl_version").unwrap_or_default(),
        cipher,
        resumed: value("Ssl_sessions_reused").is_some_and(|count| count != "0"),
        group: None,
        hello_retry: None,
        certificate_key: None,
        certificate_sha256: None,
    })
}

/// The client's view from its library.
pub fn client_view(seen: &Negotiated, certificate: Option<&PeerCertificate>) -> TlsView {
    TlsView {
        version: seen.version.to_owned(),
        cipher: seen.cipher.to_owned(),
        resumed: seen.resumed,
        group: seen.group.as_deref().map(str::to_owned),
        hello_retry: seen.hello_retry,
        certificate_key: certificate.map(|certificate| certificate.key.clone()),
        certificate_sha256: certificate.map(|certificate| certificate.sha256.clone()),
    }
}

/// One handshake of this kind, for counting.
pub fn handshake(seen: &Negotiated) -> Handshakes {
    Handshakes {
        version: seen.version.to_owned(),
        cipher: seen.cipher.to_owned(),
        group: seen.group.as_deref().map(str::to_owned),
        resumed: seen.resumed,
        hello_retry: seen.hello_retry,
        count: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(cipher: &str, reused: &str) -> Vec<Vec<Option<String>>> {
        [
            ("Ssl_cipher", cipher),
            ("Ssl_sessions_reused", reused),
            ("Ssl_version", "TLSv1.3"),
        ]
        .map(|(name, value)| vec![Some(name.to_owned()), Some(value.to_owned())])
        .to_vec()
    }

    #[test]
    fn an_empty_cipher_means_plaintext() {
        assert_eq!(server_view(&answer("", "0")), None);
        assert_eq!(server_view(&[]), None);
    }

    #[test]
    fn the_server_tells_of_resumption() {
        let view = server_view(&answer("TLS_AES_128_GCM_SHA256", "1")).unwrap();
        assert!(view.resumed);
        assert_eq!(view.version, "TLSv1.3");
        assert!(
            !server_view(&answer("TLS_AES_128_GCM_SHA256", "0"))
                .unwrap()
                .resumed
        );
    }
}
