//! A server that does nothing: it speaks just enough of the MySQL protocol to be asked, and answers
//! every question with the same rows and everything else with OK. What a load costs against it is the client's own cost.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::sockopt::set_socket_linger;
use tlstax_contract::Protocol;
use tlstax_wire::{Capabilities, Packet, PacketDecoder, append_packet};

/// What epoll calls the listener and the order to stop; no connection has these numbers.
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

/// The length of sysbench's column `c`.
pub const USUAL_ROW_BYTES: usize = 119;
const UTF8MB4: u16 = 45;
const TYPE_VAR_STRING: u8 = 0xfd;
const OK_HEADER: u8 = 0x00;
const END_OF_ROWS_HEADER: u8 = 0xfe;
const AUTOCOMMIT: u16 = 2;

/// Longer than a login packet or a statement of any job, and read piecewise if it is not.
const BUFFER_BYTES: usize = 64 << 10;

/// The numbers that prepared statements get: one for all that ask, one for all others.
const ASKING: u8 = 1;
const CHANGING: u8 = 2;

/// How statements begin that are answered with rows.
const ASKS: [&[u8]; 5] = [b"SELECT", b"SHOW", b"WITH", b"TABLE", b"VALUES"];

/// What a result has: so many rows, of one value of so many bytes.
#[derive(Debug, Clone, Copy)]
pub struct Filling {
    /// How many rows.
    pub rows: usize,
    /// How long the value of each is; less than 16 MiB.
    pub row_bytes: usize,
}

/// All that it ever says, ready to be written.
struct Answers {
    greeting: Vec<u8>,
    ok_after_login: Vec<u8>,
    prepared_asking: Vec<u8>,
    prepared_changing: Vec<u8>,
    text_rows: Vec<u8>,
    binary_rows: Vec<u8>,
    ok: Vec<u8>,
}

impl Answers {
    fn new(filling: Filling) -> Self {
        Self {
            greeting: packets(0, [greeting()]),
            ok_after_login: packets(2, [ok(OK_HEADER)]),
            prepared_asking: packets(1, [prepared(ASKING, 1), column()]),
            prepared_changing: packets(1, [prepared(CHANGING, 0)]),
            text_rows: packets(1, result_set(Protocol::Text, filling)),
            binary_rows: packets(1, result_set(Protocol::Prepared, filling)),
            ok: packets(1, [ok(OK_HEADER)]),
        }
    }
}

/// How many bytes it sends of each, packets' headers included.
#[derive(Debug, Clone, Copy)]
pub struct Lengths {
    /// Its greeting.
    pub greeting: usize,
    /// Its OK to a login.
    pub ok: usize,
    /// A result as text.
    pub result: usize,
}

/// One running in a thread of its own on a free port of 127.0.0.1; ends when it is dropped.
pub struct NullServer {
    address: SocketAddr,
    lengths: Lengths,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl NullServer {
    /// Starts it; every statement that asks is answered with these rows.
    ///
    /// # Errors
    /// No port, descriptor or thread to be had.
    pub fn start(filling: Filling) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let answers = Answers::new(filling);
        let lengths = Lengths {
            greeting: answers.greeting.len(),
            ok: answers.ok_after_login.len(),
            result: answers.text_rows.len(),
        };
        let mut service = Service::new(listener, &stop, answers)?;
        let thread = thread::Builder::new()
            .name("null-server".into())
            .spawn(move || {
                // What goes wrong here, the client meets as a closed connection.
                let _ = service.serve();
            })?;
        Ok(Self {
            address,
            lengths,
            stop,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many bytes it sends.
    pub fn lengths(&self) -> Lengths {
        self.lengths
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        // An eventfd takes any eight bytes but all ones (eventfd(2)).
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One client.
struct Client {
    socket: TcpStream,
    decoder: PacketDecoder,
    logged_in: bool,
}

/// What the thread works with.
struct Service {
    epoll: OwnedFd,
    listener: TcpListener,
    clients: Vec<Option<Client>>,
    answers: Answers,
    buffer: Vec<u8>,
}

impl Service {
    fn new(listener: TcpListener, stop: &OwnedFd, answers: Answers) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        watch(&epoll, stop, STOP)?;
        watch(&epoll, &listener, LISTENER)?;
        Ok(Self {
            epoll,
            listener,
            clients: Vec::new(),
            answers,
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// Serves until it is told to stop.
    fn serve(&mut self) -> io::Result<()> {
        let none = Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        };
        let mut events = [none; 64];
        loop {
            let ready = match epoll::wait(&self.epoll, &mut events[..], None) {
                Err(rustix::io::Errno::INTR) => continue,
                ready => ready?,
            };
            for event in &events[..ready] {
                match event.data.u64() {
                    STOP => return Ok(()),
                    LISTENER => self.accept()?,
                    number => self.answer(usize::try_from(number).unwrap_or_default()),
                }
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        let (socket, _) = self.listener.accept()?;
        socket.set_nodelay(true)?;
        // Closing resets, so that no port of a client stays behind in TIME_WAIT.
        set_socket_linger(&socket, Some(Duration::ZERO))?;
        let free = self.clients.iter().position(Option::is_none);
        let number = free.unwrap_or(self.clients.len());
        if free.is_none() {
            self.clients.push(None);
        }
        watch(&self.epoll, &socket, number as u64)?;
        let mut client = Client {
            socket,
            decoder: PacketDecoder::default(),
            logged_in: false,
        };
        client.decoder.reset(1);
        if client.socket.write_all(&self.answers.greeting).is_ok() {
            self.clients[number] = Some(client);
        }
        Ok(())
    }

    /// Reads what a client sent and answers it; one that is done or gone is dropped.
    fn answer(&mut self, number: usize) {
        let Some(client) = self.clients.get_mut(number).and_then(Option::as_mut) else {
            return;
        };
        let stays = client.socket.read(&mut self.buffer).is_ok_and(|count| {
            count > 0 && client.take(&self.buffer[..count], &self.answers).is_some()
        });
        if !stays {
            self.clients[number] = None;
        }
    }
}

impl Client {
    /// Answers every command in the input; none when there is nothing more to say.
    fn take(&mut self, mut input: &[u8], answers: &Answers) -> Option<()> {
        loop {
            let too_long = |_, length| length > BUFFER_BYTES;
            let (command, rest) = match self.decoder.next(&mut input, too_long).ok()? {
                None => return Some(()),
                Some(Packet::Whole(payload)) => payload.split_first()?,
                Some(Packet::Skipped { first, .. }) => (&{ first }, &[][..]),
            };
            let answer = match (self.logged_in, *command) {
                (false, _) => &answers.ok_after_login,
                (true, COM_QUIT) => return None,
                (true, COM_QUERY) if asks(rest) => &answers.text_rows,
                (true, COM_STMT_PREPARE) if asks(rest) => &answers.prepared_asking,
                (true, COM_STMT_PREPARE) => &answers.prepared_changing,
                (true, COM_STMT_EXECUTE) if rest.first() == Some(&ASKING) => &answers.binary_rows,
                (true, _) => &answers.ok,
            };
            self.decoder.reset(0);
            self.logged_in = true;
            self.socket.write_all(answer).ok()?;
        }
    }
}

fn watch(epoll: &OwnedFd, what: impl AsFd, number: u64) -> io::Result<()> {
    Ok(epoll::add(
        epoll,
        what,
        EventData::new_u64(number),
        EventFlags::IN,
    )?)
}

fn packets(first: u8, payloads: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::new();
    payloads.into_iter().fold(first, |number, payload| {
        append_packet(&mut out, number, &payload)
    });
    out
}

/// `Protocol::HandshakeV10`, with the oldest way to log in: an answer to a scramble, then OK.
fn greeting() -> Vec<u8> {
    let capabilities = Capabilities::LONG_PASSWORD
        | Capabilities::LONG_FLAG
        | Capabilities::CONNECT_WITH_DB
        | Capabilities::PROTOCOL_41
        | Capabilities::TRANSACTIONS
        | Capabilities::SECURE_CONNECTION
        | Capabilities::PLUGIN_AUTH
        | Capabilities::CONNECT_ATTRS
        | Capabilities::PLUGIN_AUTH_LENENC
        | Capabilities::DEPRECATE_EOF;
    let [low0, low1, high0, high1] = capabilities.bits().to_le_bytes();
    let mut payload = vec![10];
    payload.extend_from_slice(b"0.0.0-null\0");
    payload.extend_from_slice(&1_u32.to_le_bytes());
    payload.extend_from_slice(b"12345678\0");
    payload.extend_from_slice(&[low0, low1]);
    payload.extend_from_slice(&UTF8MB4.to_le_bytes()[..1]);
    payload.extend_from_slice(&AUTOCOMMIT.to_le_bytes());
    payload.extend_from_slice(&[high0, high1, 21]);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(b"123456789012\0");
    payload.extend_from_slice(b"mysql_native_password\0");
    payload
}

/// OK, or with the other header the end of the rows: nothing affected, no warning.
fn ok(header: u8) -> Vec<u8> {
    let [status0, status1] = AUTOCOMMIT.to_le_bytes();
    vec![header, 0, 0, status0, status1, 0, 0]
}

/// Whether a statement asks for rows, going by its first word.
fn asks(sql: &[u8]) -> bool {
    let begins_with = |word: &&[u8]| {
        sql.get(..word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    ASKS.iter().any(begins_with)
}

/// The start of the answer to a prepare: the statement's number and how many columns it has, but no
/// parameter definitions.
fn prepared(statement: u8, columns: u8) -> Vec<u8> {
    vec![OK_HEADER, statement, 0, 0, 0, columns, 0, 0, 0, 0, 0, 0]
}

/// `Protocol::ColumnDefinition41` of a column `c`.
fn column() -> Vec<u8> {
    let mut payload = b"\x03def\x00\x00\x00\x01c\x01c\x0c".to_vec();
    payload.extend_from_slice(&UTF8MB4.to_le_bytes());
    payload.extend_from_slice(&480_u32.to_le_bytes());
    payload.extend_from_slice(&[TYPE_VAR_STRING, 0, 0, 0, 0, 0]);
    payload
}

fn result_set(protocol: Protocol, filling: Filling) -> Vec<Vec<u8>> {
    // A binary row begins with a zero and the bits of what is NULL.
    let mut row = match protocol {
        Protocol::Text => Vec::new(),
        Protocol::Prepared => vec![0, 0],
    };
    let [low, middle, high, ..] = filling.row_bytes.to_le_bytes();
    match filling.row_bytes {
        // A length-encoded integer: one byte, or three behind a mark.
        0..=0xfa => row.push(low),
        _ => row.extend_from_slice(&[0xfd, low, middle, high]),
    }
    row.resize(row.len() + filling.row_bytes, b'0');
    let mut payloads = vec![vec![1], column()];
    payloads.extend(std::iter::repeat_n(row, filling.rows));
    payloads.push(ok(END_OF_ROWS_HEADER));
    payloads
}
