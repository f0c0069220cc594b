//! What native-tls is told, which is OpenSSL on Linux.

use std::fs;

use adapter::failure::Failure;
use adapter::setup::{TlsTerms, Verify};
use native_tls::{Certificate, Identity, Protocol, TlsConnector};
pub use postgres_native_tls::MakeTlsConnector as Maker;
use postgres_native_tls::set_postgresql_alpn;

use super::{refused, together};

/// What makes sessions on these terms. Where nothing is said of them, chain and host are verified, by what the machine
/// trusts, as native-tls does by itself. A file of authorities is trusted beside that, as its documentation shows.
///
/// # Errors
/// A file cannot be used, or native-tls has no such version.
pub fn maker(terms: &TlsTerms, direct: bool) -> Result<Maker, Failure> {
    let mut builder = TlsConnector::builder();
    match terms.verify {
        Verify::None => builder.danger_accept_invalid_certs(true),
        Verify::Ca => builder.danger_accept_invalid_hostnames(true),
        Verify::Identity => &mut builder,
    };
    if let (Some(lowest), Some(highest)) = (terms.versions.first(), terms.versions.last()) {
        builder.min_protocol_version(Some(version(lowest)?));
        builder.max_protocol_version(Some(version(highest)?));
    }
    if let Some(file) = &terms.ca_file {
        let authorities = Certificate::stack_from_pem(&read(file)?);
        for authority in authorities.map_err(|error| refused(&error))? {
            builder.add_root_certificate(authority);
        }
    }
    if let Some((certificate, key)) = together(terms)? {
        let identity = Identity::from_pkcs8(&read(certificate)?, &read(key)?);
        builder.identity(identity.map_err(|error| refused(&error))?);
    }
    if direct {
        set_postgresql_alpn(&mut builder);
    }
    Ok(Maker::new(
        builder.build().map_err(|error| refused(&error))?,
    ))
}

fn version(name: &str) -> Result<Protocol, Failure> {
    match name {
        "1.0" => Ok(Protocol::Tlsv10),
        "1.1" => Ok(Protocol::Tlsv11),
        "1.2" => Ok(Protocol::Tlsv12),
        "1.3" => Ok(Protocol::Tlsv13),
        _ => Err(Failure::refusal(format!("native-tls has no TLS {name}"))),
    }
}

fn read(file: &str) -> Result<Vec<u8>, Failure> {
    fs::read(file).map_err(|error| Failure::refusal(format!("{file}: {error}")))
}
