//! A certificate authority of the tests' own, and what it issues.

use std::fs;
use std::path::PathBuf;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, PKCS_RSA_SHA256,
    RsaKeySize,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::TempDir;
use time::{Duration, OffsetDateTime};

/// An authority, with a folder for what OpenSSL wants as files.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

/// A certificate and its key.
pub struct Identity {
    pub certificate: CertificateDer<'static>,
    pub certificate_pem: String,
    pub key: KeyPair,
}

impl Authority {
    pub fn new() -> Self {
        Self::with_key(KeyPair::generate().unwrap())
    }

    /// One that signs with this key.
    pub fn with_key(key: KeyPair) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "authority of a test");
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        Self {
            issuer,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// A certificate with a P-256 key for these names or addresses, valid today.
    pub fn issue(&self, names: &[&str]) -> Identity {
        self.issue_with(names, KeyPair::generate().unwrap(), 1)
    }

    /// The same with an RSA key of 2048 bits.
    pub fn issue_rsa(&self, names: &[&str]) -> Identity {
        let key = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap();
        self.issue_with(names, key, 1)
    }

    /// A certificate that was valid until yesterday.
    pub fn issue_expired(&self, names: &[&str]) -> Identity {
        self.issue_with(names, KeyPair::generate().unwrap(), -1)
    }

    fn issue_with(&self, names: &[&str], key: KeyPair, valid_days: i64) -> Identity {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).unwrap();
        let now = OffsetDateTime::now_utc();
        params.not_before = now - Duration::days(10);
        params.not_after = now + Duration::days(valid_days);
        params
            .distinguished_name
            .push(DnType::CommonName, "server of a test");
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let certificate_pem = certificate.pem();
        Identity {
            certificate: certificate.der().clone(),
            certificate_pem,
            key,
        }
    }

    /// The authority's own certificate.
    pub fn certificate(&self) -> CertificateDer<'static> {
        self.issuer.der().clone()
    }

    /// A file with the authority's own certificate.
    pub fn file(&self) -> PathBuf {
        self.write("ca.pem", &self.issuer.pem())
    }

    /// A file of this name and content that lives as long as the authority.
    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// A path in the authority's folder, where there is nothing yet.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Identity {
    pub fn private_key(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.serialize_der()).into()
    }
}
