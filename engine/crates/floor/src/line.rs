//! A connection's bytes: a bare socket, or TLS on it.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use tlstax_tls::{Connection, ReadStatus, WriteStatus};

use crate::failure::Failure;

/// A non-blocking byte stream.
pub enum Line {
    /// In the clear.
    Bare(OwnedFd),
    /// Encrypted.
    Tls(Connection),
}

impl Line {
    /// Reads what is there; 0 when there is nothing.
    #[inline]
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        match self {
            Self::Bare(socket) => match rustix::io::read(&*socket, buffer) {
                Ok(0) => Err(closed()),
                Ok(count) => Ok(count),
                Err(Errno::AGAIN) => Ok(0),
                Err(error) => Err(std::io::Error::from(error).into()),
            },
            Self::Tls(connection) => match connection.read(buffer)? {
                ReadStatus::Data(count) => Ok(count),
                ReadStatus::WantRead | ReadStatus::WantWrite => Ok(0),
                ReadStatus::Closed => Err(closed()),
                ReadStatus::Paused => Err(Failure::SaysNothing),
            },
        }
    }

    /// The TLS connection, where there is one.
    pub fn tls(&self) -> Option<&Connection> {
        match self {
            Self::Bare(_) => None,
            Self::Tls(connection) => Some(connection),
        }
    }

    /// Whether there may be more that was taken from the socket already, of which the socket will
    /// not tell: TLS hands out a record at a time.
    pub fn has_more(&self) -> bool {
        match self {
            Self::Bare(_) => false,
            Self::Tls(connection) => connection.has_pending(),
        }
    }

    /// Writes a request, which always fits a socket that was read empty.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match self {
            Self::Bare(socket) => {
                rustix::io::write(&*socket, bytes).map_err(std::io::Error::from)?
            }
            Self::Tls(connection) => match connection.write(bytes)? {
                WriteStatus::Written(count) => count,
                WriteStatus::WantRead | WriteStatus::WantWrite => 0,
            },
        };
        if written == bytes.len() {
            return Ok(());
        }
        Err(Failure::RequestCut)
    }
}

fn closed() -> Failure {
    let when = "before it had answered";
    tlstax_client::Failure::Closed { when }.into()
}
