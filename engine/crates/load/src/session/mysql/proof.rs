//! What a MySQL or MariaDB server says was negotiated on the connection that it is asked on.

use tlstax_contract::{Compression, CompressionAgreed, ServerCompression, TlsView};
use tlstax_wire::Algorithm;

/// Asks the server what it negotiated on this very connection. The variables are MySQL's and
/// MariaDB's alike (MySQL Reference Manual, "Server Status Variables"), but for `Compression_algorithm`,
/// which MySQL has since 8.0.18.
pub const QUESTION: &[u8] = b"SHOW SESSION STATUS WHERE Variable_name LIKE 'Ssl%' \
    OR Variable_name LIKE 'Compression%'";

/// More rows than any server answers to [`QUESTION`].
pub const MOST_ROWS: usize = 100;
/// More bytes than any server's answer to it has.
pub const MOST_BYTES: usize = 64 << 10;

/// The server's view from its answer; none when it says that the connection is not encrypted.
///
/// `tells_resumption` is false for MariaDB, whose variable stays 0 on connections that were resumed
/// (seen with 11.8 and OpenSSL 3.5).
pub fn server_view(rows: &[Vec<Option<String>>], tells_resumption: bool) -> Option<TlsView> {
    let cipher = value(rows, "Ssl_cipher").filter(|cipher| !cipher.is_empty())?;
    Some(TlsView {
        version: value(rows, "Ssl_version").unwrap_or_default().to_owned(),
        cipher: cipher.to_owned(),
        resumed: value(rows, "Ssl_sessions_reused")
            .filter(|&count| tells_resumption || count != "0")
            .map(|count| count != "0"),
        group: None,
        hello_retry: None,
        certificate_key: None,
        certificate_sha256: None,
        certificates_sent: None,
        authorities: None,
        client_certificate: None,
        cipher_bits: None,
        client_name: None,
    })
}

/// What both sides say of compression: the client what it agreed on, the server from its answer.
pub fn compression(agreed: Option<Algorithm>, rows: &[Vec<Option<String>>]) -> CompressionAgreed {
    let server = match (
        value(rows, "Compression"),
        value(rows, "Compression_algorithm"),
    ) {
        (Some("OFF"), _) => Some(ServerCompression::Off),
        (Some("ON"), Some("zlib")) => Some(ServerCompression::Zlib),
        (Some("ON"), Some("zstd")) => Some(ServerCompression::Zstd),
        (Some("ON"), None) => Some(ServerCompression::On),
        _ => None,
    };
    let client = match agreed {
        None => Compression::Off,
        Some(Algorithm::Zlib) => Compression::Zlib,
        Some(Algorithm::Zstd) => Compression::Zstd,
    };
    CompressionAgreed { client, server }
}

fn value<'r>(rows: &'r [Vec<Option<String>>], name: &str) -> Option<&'r str> {
    rows.iter().find_map(|row| match row.as_slice() {
        [Some(known), Some(value)] if known == name => Some(value.as_str()),
        _ => None,
    })
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
        assert_eq!(server_view(&answer("", "0"), true), None);
        assert_eq!(server_view(&[], true), None);
    }

    #[test]
    fn the_server_tells_of_resumption_if_it_can() {
        let resumed = |count, tells| {
            server_view(&answer("TLS_AES_128_GCM_SHA256", count), tells)
                .and_then(|view| view.resumed)
        };
        assert_eq!(resumed("1", true), Some(true));
        assert_eq!(resumed("0", true), Some(false));
        assert_eq!(resumed("0", false), None);
    }
}
