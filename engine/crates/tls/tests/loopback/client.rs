//! The crate's connection driven to the end of each step, with a deadline instead of a hang.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tlstax_tls::{
    Config, Connection, Context, HandshakeStatus, Library, ReadStatus, SavedSession, TlsError,
    WriteStatus,
};

/// Long enough for any step on a busy machine; a test that gets there fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// The library under test.
pub fn library() -> Library {
    let path = std::env::var_os("TLSTAX_TEST_LIBSSL").map(PathBuf::from);
    Library::load(path.as_deref()).unwrap()
}

pub fn context(config: &Config) -> Context {
    Context::new(library(), config).unwrap()
}

/// A connection to `server` that has not begun its handshake.
pub fn open(
    server: SocketAddr,
    context: &Context,
    name: Option<&str>,
    session: Option<&SavedSession>,
) -> Result<Connection, TlsError> {
    let socket = TcpStream::connect(server).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket.set_nodelay(true).unwrap();
    Connection::new(context, socket, name, session)
}

/// A connection whose handshake is complete, or why it is not.
pub fn connect(
    server: SocketAddr,
    context: &Context,
    name: Option<&str>,
    session: Option<&SavedSession>,
) -> Result<Connection, TlsError> {
    let mut connection = open(server, context, name, session)?;
    handshake(&mut connection).map(|()| connection)
}

pub fn handshake(connection: &mut Connection) -> Result<(), TlsError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match connection.handshake()? {
            HandshakeStatus::Done => return Ok(()),
            HandshakeStatus::Paused => {}
            HandshakeStatus::WantRead => wait(connection, PollFlags::IN, deadline),
            HandshakeStatus::WantWrite => wait(connection, PollFlags::OUT, deadline),
        }
    }
}

/// Reads once; 0 means that the server has closed the connection.
pub fn read(connection: &mut Connection, buffer: &mut [u8]) -> Result<usize, TlsError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match connection.read(buffer)? {
            ReadStatus::Data(count) => return Ok(count),
            ReadStatus::Closed => return Ok(0),
            ReadStatus::Paused => {}
            ReadStatus::WantRead => wait(connection, PollFlags::IN, deadline),
            ReadStatus::WantWrite => wait(connection, PollFlags::OUT, deadline),
        }
    }
}

pub fn read_exact(connection: &mut Connection, length: usize, step: usize) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = vec![0; step];
    while all.len() < length {
        let count = read(connection, &mut buffer).unwrap();
        assert_ne!(count, 0, "closed after {} of {length} bytes", all.len());
        all.extend_from_slice(&buffer[..count]);
    }
    all
}

/// Writes all of `data`, at most `step` bytes a call.
pub fn write_all(connection: &mut Connection, data: &[u8], step: usize) {
    let deadline = Instant::now() + PATIENCE;
    let mut rest = data;
    while !rest.is_empty() {
        match connection.write(&rest[..step.min(rest.len())]).unwrap() {
            WriteStatus::Written(count) => rest = &rest[count..],
            WriteStatus::WantRead => wait(connection, PollFlags::IN, deadline),
            WriteStatus::WantWrite => wait(connection, PollFlags::OUT, deadline),
        }
    }
}

/// Sends a few bytes and gets them back, which also brings the tickets of TLS 1.3.
pub fn exchange(connection: &mut Connection) {
    write_all(connection, b"ping", 4);
    assert_eq!(read_exact(connection, 4, 4), b"ping");
}

fn wait(connection: &Connection, flags: PollFlags, deadline: Instant) {
    let left = deadline
        .checked_duration_since(Instant::now())
        .expect("the other side is silent");
    let left = Timespec::try_from(left).unwrap();
    poll(
        &mut [PollFd::from_borrowed_fd(connection.as_fd(), flags)],
        Some(&left),
    )
    .unwrap();
}
