//! A connection's byte stream: a bare socket, or TLS over it, compressed within or not, and how many bytes crossed
//! the wire.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use tlstax_client::{Failure, TcpInfo, tcp_info};
use tlstax_contract::CompressedBytes;
use tlstax_tls::{Connection, HandshakeStatus, ReadStatus, WriteStatus};

use crate::session::Compressed;

/// What carries the bytes.
#[derive(Debug)]
enum Carrier {
    Plain(OwnedFd),
    Tls(Box<Connection>),
}

/// As much data as a TLS record holds at the most (RFC 8446, section 5.1).
const RECORD_BYTES: usize = 16 << 10;

/// What was moved: bytes on the bare socket, and TLS records with data.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    plain_sent: u64,
    plain_received: u64,
    records_sent: u64,
    records_received: u64,
}

/// A non-blocking byte stream to the server.
#[derive(Debug)]
pub struct Transport {
    carrier: Carrier,
    compressed: Option<Box<Compressed>>,
    counts: Counts,
}

/// How a read or a write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoResult {
    /// N bytes were moved.
    Bytes(usize),
    /// The socket has to become ready first.
    Blocked,
    /// There is more than is taken in one go.
    Paused,
    /// The server hung up.
    Closed,
}

impl Transport {
    /// A bare socket.
    pub fn new(socket: OwnedFd) -> Self {
        Self {
            carrier: Carrier::Plain(socket),
            compressed: None,
            counts: Counts::default(),
        }
    }

    /// The socket.
    pub fn socket(&self) -> BorrowedFd<'_> {
        match &self.carrier {
            Carrier::Plain(socket) => socket.as_fd(),
            Carrier::Tls(connection) => connection.as_fd(),
        }
    }

    /// Puts TLS on top of the bare socket.
    ///
    /// # Errors
    /// What `wrap` says.
    pub fn wrap(
        self,
        wrap: impl FnOnce(OwnedFd) -> Result<Connection, Failure>,
    ) -> Result<Self, Failure> {
        let carrier = match self.carrier {
            Carrier::Plain(socket) => Carrier::Tls(Box::new(wrap(socket)?)),
            tls @ Carrier::Tls(_) => tls,
        };
        Ok(Self { carrier, ..self })
    }

    /// Has everything from here on compressed, within TLS where there is TLS.
    pub fn compress(&mut self, layer: Compressed) {
        self.compressed = Some(Box::new(layer));
    }

    /// Takes the handshake as far as it goes without waiting; a bare socket has none to make.
    ///
    /// # Errors
    /// What ended it.
    pub fn handshake(&mut self) -> Result<HandshakeStatus, Failure> {
        match &mut self.carrier {
            Carrier::Plain(_) => Ok(HandshakeStatus::Done),
            Carrier::Tls(connection) => Ok(connection.handshake()?),
        }
    }

    /// The TLS connection, where there is one.
    pub fn tls(&mut self) -> Option<&mut Connection> {
        match &mut self.carrier {
            Carrier::Plain(_) => None,
            Carrier::Tls(connection) => Some(connection),
        }
    }

    /// Reads what is there into `buffer`.
    ///
    /// # Errors
    /// A socket or TLS failure.
    #[inline]
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<IoResult, Failure> {
        let Some(compressed) = &mut self.compressed else {
            return self.carrier.read(buffer, &mut self.counts);
        };
        loop {
            match compressed.take(buffer)? {
                0 => {}
                count => return Ok(IoResult::Bytes(count)),
            }
            match self.carrier.read(compressed.room(), &mut self.counts)? {
                IoResult::Bytes(count) => compressed.arrived(count),
                other => return Ok(other),
            }
        }
    }

    /// Writes as much of `bytes` as the socket takes. Where they are compressed they are a whole command,
    /// all of it is written or none, and where the socket has to become ready first it is to be written
    /// again as it is.
    ///
    /// # Errors
    /// A socket or TLS failure.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> Result<IoResult, Failure> {
        let Some(compressed) = &mut self.compressed else {
            return self.carrier.write(bytes, &mut self.counts);
        };
        loop {
            let outgoing = compressed.outgoing(bytes)?;
            match self.carrier.write(outgoing, &mut self.counts)? {
                IoResult::Bytes(count) if compressed.wrote(count) => {
                    return Ok(IoResult::Bytes(bytes.len()));
                }
                IoResult::Bytes(_) => {}
                other => return Ok(other),
            }
        }
    }

    /// Bytes before and after compression so far; none where nothing is compressed.
    pub fn compressed_bytes(&self) -> Option<CompressedBytes> {
        self.compressed.as_ref().map(|layer| layer.bytes())
    }

    /// Bytes sent and received on the wire so far.
    pub fn bytes(&self) -> (u64, u64) {
        match &self.carrier {
            Carrier::Plain(_) => (self.counts.plain_sent, self.counts.plain_received),
            Carrier::Tls(connection) => (
                self.counts.plain_sent + connection.bytes_written(),
                self.counts.plain_received + connection.bytes_read(),
            ),
        }
    }

    /// TLS records with data sent and received so far; none in the clear.
    pub fn records(&self) -> Option<(u64, u64)> {
        match &self.carrier {
            Carrier::Plain(_) => None,
            Carrier::Tls(_) => Some((self.counts.records_sent, self.counts.records_received)),
        }
    }

    /// What the kernel counted; none where the socket is not TCP.
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        tcp_info(&self.socket())
    }
}

impl Carrier {
    #[inline]
    fn read(&mut self, buffer: &mut [u8], counts: &mut Counts) -> Result<IoResult, Failure> {
        match self {
            Self::Plain(socket) => {
                let moved = moved(rustix::io::read(&*socket, buffer))?;
                if let IoResult::Bytes(count) = moved {
                    counts.plain_received += count as u64;
                }
                Ok(moved)
            }
            Self::Tls(connection) => Ok(match connection.read(buffer)? {
                // A read gives the data of one record, and all of it to a buffer that holds a whole one.
                ReadStatus::Data(count) => {
                    counts.records_received += 1;
                    IoResult::Bytes(count)
                }
                ReadStatus::WantRead | ReadStatus::WantWrite => IoResult::Blocked,
                ReadStatus::Paused => IoResult::Paused,
                ReadStatus::Closed => IoResult::Closed,
            }),
        }
    }

    #[inline]
    fn write(&mut self, bytes: &[u8], counts: &mut Counts) -> Result<IoResult, Failure> {
        match self {
            Self::Plain(socket) => {
                let moved = moved(rustix::io::write(&*socket, bytes))?;
                if let IoResult::Bytes(count) = moved {
                    counts.plain_sent += count as u64;
                }
                Ok(moved)
            }
            Self::Tls(connection) => Ok(match connection.write(bytes)? {
                // A write makes one record. OpenSSL makes several at once of much data under a CBC cipher of
                // TLS 1.1 or 1.2, each as long as can be.
                WriteStatus::Written(count) => {
                    counts.records_sent += count.div_ceil(RECORD_BYTES) as u64;
                    IoResult::Bytes(count)
                }
                WriteStatus::WantRead | WriteStatus::WantWrite => IoResult::Blocked,
            }),
        }
    }
}

fn moved(result: rustix::io::Result<usize>) -> Result<IoResult, Failure> {
    use rustix::io::Errno;
    match result {
        Ok(0) | Err(Errno::CONNRESET | Errno::PIPE) => Ok(IoResult::Closed),
        Ok(count) => Ok(IoResult::Bytes(count)),
        Err(Errno::AGAIN) => Ok(IoResult::Blocked),
        Err(Errno::INTR) => Ok(IoResult::Bytes(0)),
        Err(error) => Err(io::Error::from(error).into()),
    }
}
