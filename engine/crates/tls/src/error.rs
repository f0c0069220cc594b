//! Everything that can go wrong, each a sentence that says what and where.

use std::io;
use std::path::PathBuf;

use crate::library::VersionNumber;

/// A failure of loading, of a setting or of a connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// No path was given and the dynamic linker has no libssl that can be used.
    #[error("this machine has no OpenSSL that can be loaded: {reason}")]
    NoLibrary {
        /// What became of each name that was tried.
        reason: String,
    },
    /// The file, or the libcrypto beside it, cannot be loaded into this process.
    #[error("{} cannot be loaded: {reason}", path.display())]
    Unloadable {
        /// The file in question.
        path: PathBuf,
        /// Why, in words.
        reason: String,
    },
    /// The file can be loaded but is not a libssl of OpenSSL.
    #[error("{} is not OpenSSL's libssl: {found}", path.display())]
    NotOpenSsl {
        /// The file in question.
        path: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// It is OpenSSL, but older than 1.1.1.
    #[error("{} is OpenSSL {version}; 1.1.1 or newer is needed", path.display())]
    TooOld {
        /// The file in question.
        path: PathBuf,
        /// Its version.
        version: VersionNumber,
    },
    /// A process can hold one libssl only, and it holds another.
    #[error(
        "this process already runs {}, so {} cannot be loaded; start another process",
        loaded.display(),
        requested.display()
    )]
    OtherLibraryInUse {
        /// The libssl that was loaded before.
        loaded: PathBuf,
        /// The one that was asked for now.
        requested: PathBuf,
    },
    /// After loading, the files mapped into the process are not those that were asked for.
    #[error("the wrong OpenSSL was mapped into this process: {reason}")]
    WrongFilesMapped {
        /// What was expected and what was found.
        reason: String,
    },
    /// The library refused a setting.
    #[error("{field}: {reason}")]
    Setting {
        /// The name of the field of [`crate::Config`], or `server_name`.
        field: &'static str,
        /// OpenSSL's own reason.
        reason: String,
    },
    /// The server's certificate did not stand the check.
    #[error("the server's certificate was refused: {}{reason}", meaning(*.code))]
    Certificate {
        /// OpenSSL's `X509_V_ERR_` number.
        code: i32,
        /// OpenSSL's words for it, such as `certificate has expired`.
        reason: String,
    },
    /// The server refused and said why; 40 and 70 mean that no cipher or version is shared.
    #[error("the server ended TLS with alert {code} ({description})")]
    Alert {
        /// The number of the alert, RFC 8446 section 6.
        code: u8,
        /// Its name, as OpenSSL prints it.
        description: String,
    },
    /// What the server sent is not TLS, or not the TLS that was asked for.
    #[error("TLS with the server failed: {reason}")]
    Protocol {
        /// OpenSSL's own reason.
        reason: String,
    },
    /// The server closed the connection before the handshake was complete.
    #[error("the server closed the connection during the TLS handshake")]
    ClosedDuringHandshake,
    /// A system call on the socket failed.
    #[error("the network failed under TLS: {0}")]
    Io(#[source] io::Error),
    /// Data were to be read or written before the handshake is complete or after a failure.
    #[error("TLS is not up on this connection: its handshake is not complete, or it has failed")]
    NotUp,
    /// A session was offered to a context that it was not made with.
    #[error("a TLS session was offered to another context than the one that it was made with")]
    ForeignSession,
    /// The key log could not be written.
    #[error("keylog_file: a line could not be written: {0}")]
    KeyLog(#[source] io::Error),
    /// OpenSSL failed in a call that does not depend on the server.
    #[error("OpenSSL failed in {operation}: {reason}")]
    Library {
        /// The function that failed.
        operation: &'static str,
        /// OpenSSL's own reason.
        reason: String,
    },
}

/// What OpenSSL's `X509_V_ERR_` number means, in the words of the laboratory (`guests/failures.py`);
/// empty where OpenSSL's own have to do.
fn meaning(code: i32) -> &'static str {
    match code {
        10 | 14 => "it has expired: ",
        9 | 13 => "it is not valid yet: ",
        62 | 64 => "it was not issued for this host: ",
        18 => "it is self-signed, and not the one in the file: ",
        19 => "it was issued under a root that is not in the file: ",
        2 | 20 | 21 => {
            "it was issued by an authority whose certificate the server did not send and the file does not have: "
        }
        4 | 6 | 7 => "it was signed with another key than that of the authority of this name: ",
        24 | 37 | 79 | 80 => "it was issued by what is no authority: ",
        22 | 25 | 38 => "its chain is longer than an authority in it permits: ",
        26 => "it is not for servers: ",
        32 | 39 | 81 | 82 => "a key in its chain is not for what it was used for: ",
        66 | 67 => "a key in its chain is too weak for this OpenSSL: ",
        68 => "it is signed with a digest that is too weak for this OpenSSL: ",
        47..=49 => "it is for names for which an authority in its chain may not issue: ",
        34 | 41 | 42 | 51..=53 => "it has an extension that this OpenSSL cannot judge: ",
        94 => "it has a key with curve parameters of its own: ",
        23 => "it has been revoked: ",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::TlsError;

    #[test]
    fn a_refused_certificate_says_what_is_wrong_before_openssl_does() {
        let refused = |code, reason: &str| {
            let reason = reason.to_owned();
            TlsError::Certificate { code, reason }.to_string()
        };
        assert_eq!(
            refused(10, "certificate has expired"),
            "the server's certificate was refused: it has expired: certificate has expired"
        );
        assert!(refused(20, "unable").contains("did not send"));
        assert_eq!(
            refused(69, "invalid call"),
            "the server's certificate was refused: invalid call"
        );
    }
}
