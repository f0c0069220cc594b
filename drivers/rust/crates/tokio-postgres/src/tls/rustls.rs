//! What rustls is told.

use std::sync::Arc;

use adapter::failure::Failure;
use adapter::setup::{TlsTerms, Verify};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    SupportedProtocolVersion,
};
pub use tokio_postgres_rustls::MakeRustlsConnect as Maker;

use super::{refused, together};

/// What makes sessions on these terms. Where nothing is said of them, chain and host are verified, by what the machine
/// trusts, as rustls does by itself.
///
/// # Errors
/// A file cannot be used, or rustls has no such version.
pub fn maker(terms: &TlsTerms, direct: bool) -> Result<Maker, Failure> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions(terms)?)
        .map_err(|error| refused(&error))?;
    let builder = if terms.verify == Verify::Identity {
        builder.with_root_certificates(roots(terms)?)
    } else {
        let lenient = Lenient::new(terms, provider)?;
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(lenient))
    };
    let mut config = match together(terms)? {
        Some((certificate, key)) => {
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| refused(&error))?;
            builder
                .with_client_auth_cert(certificates(certificate)?, key)
                .map_err(|error| refused(&error))?
        }
        None => builder.with_no_client_auth(),
    };
    if direct {
        config.alpn_protocols = vec![b"postgresql".to_vec()];
    }
    Ok(Maker::new(config))
}

fn versions(terms: &TlsTerms) -> Result<Vec<&'static SupportedProtocolVersion>, Failure> {
    if terms.versions.is_empty() {
        return Ok(vec![&TLS12, &TLS13]);
    }
    let version = |name: &String| match name.as_str() {
        "1.2" => Ok(&TLS12),
        "1.3" => Ok(&TLS13),
        _ => Err(Failure::refusal(format!("rustls has no TLS {name}"))),
    };
    terms.versions.iter().map(version).collect()
}

/// Whom to trust: the file that is named, or what the machine trusts.
fn roots(terms: &TlsTerms) -> Result<RootCertStore, Failure> {
    let found = match &terms.ca_file {
        Some(file) => certificates(file)?,
        None => rustls_native_certs::load_native_certs().certs,
    };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found);
    Ok(roots)
}

fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, Failure> {
    CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| Failure::refusal(format!("{file}: {error}")))
}

/// Verifies less than rustls does by itself: the chain alone, or nothing.
#[derive(Debug)]
struct Lenient {
    chain: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl Lenient {
    fn new(terms: &TlsTerms, provider: Arc<CryptoProvider>) -> Result<Self, Failure> {
        let chain = if terms.verify == Verify::Ca {
            let roots = Arc::new(roots(terms)?);
            let verifier =
                WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            Some(verifier.map_err(|error| refused(&error))?)
        } else {
            None
        };
        Ok(Self { chain, provider })
    }
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        match chain.verify_server_cert(own, others, name, ocsp, now) {
            // The name is what is looked at last.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, own, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, own, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let known = &self.provider.signature_verification_algorithms;
        known.supported_schemes()
    }
}
