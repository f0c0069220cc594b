//! The TLS library, which a program chooses and hands to `tokio-postgres`. That has words for whether TLS is spoken;
//! what is verified, and which versions are spoken, is said to the library.

#[cfg(feature = "native-tls")]
#[path = "native_tls.rs"]
mod library;
#[cfg(feature = "openssl")]
#[path = "openssl.rs"]
mod library;
#[cfg(feature = "rustls")]
#[path = "rustls.rs"]
mod library;

use adapter::failure::Failure;
use adapter::setup::TlsTerms;
use tokio_postgres::Socket;
use tokio_postgres::tls::MakeTlsConnect;

/// Makes TLS sessions, for another host than the one that is connected to where the job names it.
#[derive(Clone)]
pub struct Connector {
    maker: library::Maker,
    server_name: Option<String>,
}

impl Connector {
    /// On these terms, and naming the protocol where TLS begins at once.
    ///
    /// # Errors
    /// A file cannot be used, or the library has no such version.
    pub fn new(terms: &TlsTerms, direct: bool) -> Result<Self, Failure> {
        Ok(Self {
            maker: library::maker(terms, direct)?,
            server_name: terms.server_name.clone(),
        })
    }
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = <library::Maker as MakeTlsConnect<Socket>>::Stream;
    type TlsConnect = <library::Maker as MakeTlsConnect<Socket>>::TlsConnect;
    type Error = <library::Maker as MakeTlsConnect<Socket>>::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<Self::TlsConnect, Self::Error> {
        let name = self.server_name.as_deref().unwrap_or(host);
        MakeTlsConnect::<Socket>::make_tls_connect(&mut self.maker, name)
    }
}

/// The client's certificate and its key, where it has them.
fn together(terms: &TlsTerms) -> Result<Option<(&str, &str)>, Failure> {
    match (&terms.certificate_file, &terms.key_file) {
        (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
        (None, None) => Ok(None),
        _ => Err(Failure::refusal(
            "tls.certificate_file and tls.key_file belong together",
        )),
    }
}

fn refused(error: &dyn std::error::Error) -> Failure {
    Failure::new("bad_job", error.to_string())
}
