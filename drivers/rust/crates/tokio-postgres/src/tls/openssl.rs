//! What OpenSSL is told, by rust-openssl's `SslConnector`.

use adapter::failure::Failure;
use adapter::setup::{TlsTerms, Verify};
use openssl::error::ErrorStack;
use openssl::ssl::{
    SslConnector, SslConnectorBuilder, SslFiletype, SslMethod, SslVerifyMode, SslVersion,
};
pub use postgres_openssl::MakeTlsConnector as Maker;
use postgres_openssl::set_postgresql_alpn;

use super::{refused, together};

/// What makes sessions on these terms. Where nothing is said of them, chain and host are verified, by what the machine
/// trusts, as `SslConnector` does by itself. A file of authorities is trusted beside that, as its documentation shows.
///
/// # Errors
/// A file cannot be used, or OpenSSL has no such version.
pub fn maker(terms: &TlsTerms, direct: bool) -> Result<Maker, Failure> {
    let versions = match (terms.versions.first(), terms.versions.last()) {
        (Some(lowest), Some(highest)) => Some((version(lowest)?, version(highest)?)),
        _ => None,
    };
    let identity = together(terms)?;
    let built = || -> Result<SslConnectorBuilder, ErrorStack> {
        let mut builder = SslConnector::builder(SslMethod::tls())?;
        if terms.verify == Verify::None {
            builder.set_verify(SslVerifyMode::NONE);
        }
        if let Some((lowest, highest)) = versions {
            builder.set_min_proto_version(Some(lowest))?;
            builder.set_max_proto_version(Some(highest))?;
        }
        if let Some(file) = &terms.ca_file {
            builder.set_ca_file(file)?;
        }
        if let Some((certificate, key)) = identity {
            builder.set_certificate_chain_file(certificate)?;
            builder.set_private_key_file(key, SslFiletype::PEM)?;
        }
        if direct {
            set_postgresql_alpn(&mut builder)?;
        }
        Ok(builder)
    };
    let mut maker = Maker::new(built().map_err(|error| refused(&error))?.build());
    if terms.verify != Verify::Identity {
        maker.set_callback(|session, _| {
            session.set_verify_hostname(false);
            Ok(())
        });
    }
    Ok(maker)
}

fn version(name: &str) -> Result<SslVersion, Failure> {
    match name {
        "1.0" => Ok(SslVersion::TLS1),
        "1.1" => Ok(SslVersion::TLS1_1),
        "1.2" => Ok(SslVersion::TLS1_2),
        "1.3" => Ok(SslVersion::TLS1_3),
        _ => Err(Failure::refusal(format!("OpenSSL has no TLS {name}"))),
    }
}
