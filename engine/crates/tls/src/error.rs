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
    #[error("the server's certificate was refused: {reason}")]
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
