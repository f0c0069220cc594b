//! The client's first packets: the request for TLS and the answer to the greeting.

use super::answer::Answer;
use super::config::LoginConfig;
use super::report::AuthPlugin;
use crate::capability::Capabilities;
use crate::compression::{Algorithm, ZSTD_LEVEL};
use crate::error::WireError;
use crate::payload::{append_lenenc_bytes, append_lenenc_int};

/// `utf8mb4_general_ci`: the one utf8mb4 collation that every server since MySQL 5.5.3 knows.
const CHARSET: u8 = 45;
/// The longest packet that the client says it takes: as much as any server can be set to send.
const MAX_PACKET_LEN: u32 = 1 << 30;

const REQUIRED: [(Capabilities, &str); 2] = [
    (
        Capabilities::PROTOCOL_41,
        "CLIENT_PROTOCOL_41, the protocol since MySQL 4.1",
    ),
    (
        Capabilities::SECURE_CONNECTION,
        "CLIENT_SECURE_CONNECTION, the passwords since MySQL 4.1",
    ),
];

/// What client and server will both use.
///
/// `CLIENT_LONG_PASSWORD` is set whatever the server says: to MariaDB it means "no MariaDB
/// extensions". Not asked for, so that a server may not send it: several statements in one command,
/// local files, session tracking.
pub(super) fn negotiate(
    config: &LoginConfig,
    server: Capabilities,
) -> Result<Capabilities, WireError> {
    if let Some(&(_, missing)) = REQUIRED.iter().find(|&&(flag, _)| !server.contains(flag)) {
        return Err(WireError::ServerTooOld { missing });
    }
    let mut wanted = Capabilities::LONG_FLAG
        | Capabilities::PROTOCOL_41
        | Capabilities::TRANSACTIONS
        | Capabilities::SECURE_CONNECTION
        | Capabilities::MULTI_RESULTS
        | Capabilities::PS_MULTI_RESULTS
        | Capabilities::PLUGIN_AUTH
        | Capabilities::PLUGIN_AUTH_LENENC
        | Capabilities::DEPRECATE_EOF;
    if config.database.is_some() {
        wanted |= Capabilities::CONNECT_WITH_DB;
    }
    if !config.attributes.is_empty() {
        wanted |= Capabilities::CONNECT_ATTRS;
    }
    if config.tls {
        if !server.contains(Capabilities::SSL) {
            return Err(WireError::TlsNotOffered);
        }
        wanted |= Capabilities::SSL;
    }
    if let Some(algorithm) = config.compression {
        let flag = algorithm.capability();
        if !server.contains(flag) {
            return Err(not_offered(algorithm));
        }
        wanted |= flag;
    }
    Ok(wanted & server | Capabilities::LONG_PASSWORD)
}

fn not_offered(algorithm: Algorithm) -> WireError {
    WireError::CompressionNotOffered {
        algorithm: algorithm.name(),
        missing: match algorithm {
            Algorithm::Zlib => "CLIENT_COMPRESS",
            Algorithm::Zstd => "CLIENT_ZSTD_COMPRESSION_ALGORITHM",
        },
    }
}

/// Appends the payload of `Protocol::SSLRequest`.
pub(super) fn write_ssl_request(out: &mut Vec<u8>, capabilities: Capabilities) {
    out.extend_from_slice(&capabilities.bits().to_le_bytes());
    out.extend_from_slice(&MAX_PACKET_LEN.to_le_bytes());
    out.push(CHARSET);
    out.extend_from_slice(&[0; 23]);
}

/// Appends the payload of `Protocol::HandshakeResponse41`.
pub(super) fn write_handshake_response(
    out: &mut Vec<u8>,
    config: &LoginConfig,
    capabilities: Capabilities,
    plugin: AuthPlugin,
    answer: &Answer,
) {
    write_ssl_request(out, capabilities);
    write_nul_terminated(out, &config.user);
    // An answer is at most 32 bytes, so its length is one byte with and without PLUGIN_AUTH_LENENC.
    append_lenenc_bytes(out, answer.bytes());
    if let Some(database) = &config.database {
        write_nul_terminated(out, database);
    }
    if capabilities.contains(Capabilities::PLUGIN_AUTH) {
        write_nul_terminated(out, plugin.name());
    }
    if capabilities.contains(Capabilities::CONNECT_ATTRS) {
        write_attributes(out, &config.attributes);
    }
    if capabilities.contains(Capabilities::ZSTD_COMPRESSION) {
        out.push(ZSTD_LEVEL);
    }
}

fn write_nul_terminated(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

fn write_attributes(out: &mut Vec<u8>, attributes: &[(String, String)]) {
    let fields = || attributes.iter().flat_map(|(name, value)| [name, value]);
    let total_len: usize = fields()
        .map(|field| lenenc_len(field.len()) + field.len())
        .sum();
    append_lenenc_int(out, total_len as u64);
    for field in fields() {
        append_lenenc_bytes(out, field.as_bytes());
    }
}

fn lenenc_len(value: usize) -> usize {
    match value {
        0..=0xfa => 1,
        0xfb..=0xffff => 3,
        0x1_0000..=0xff_ffff => 4,
        _ => 9,
    }
}
