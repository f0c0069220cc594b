//! What the server that does nothing says to a client of MySQL's.

use std::io::Write;
use std::net::TcpStream;

use tlstax_contract::Protocol;
use tlstax_wire::{Capabilities, Packet, PacketDecoder, append_packet};

use super::{BUFFER_BYTES, Filling, Lengths, Talk, asks};

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

const UTF8MB4: u16 = 45;
const TYPE_VAR_STRING: u8 = 0xfd;
const OK_HEADER: u8 = 0x00;
const END_OF_ROWS_HEADER: u8 = 0xfe;
const AUTOCOMMIT: u16 = 2;

/// The numbers that prepared statements get: one for all that ask, one for all others.
const ASKING: u8 = 1;
const CHANGING: u8 = 2;

/// All that it ever says, ready to be written.
pub struct Answers {
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

/// How far a client has come.
pub struct MySql {
    decoder: PacketDecoder,
    logged_in: bool,
}

impl Talk for MySql {
    type Answers = Answers;

    fn answers(filling: Filling) -> Answers {
        Answers::new(filling)
    }

    fn lengths(answers: &Answers) -> Lengths {
        Lengths {
            greeting: answers.greeting.len(),
            ok: answers.ok_after_login.len(),
            result: answers.text_rows.len(),
        }
    }

    fn begin(socket: &mut TcpStream, answers: &Answers) -> Option<Self> {
        socket.write_all(&answers.greeting).ok()?;
        let mut decoder = PacketDecoder::default();
        decoder.reset(1);
        Some(Self {
            decoder,
            logged_in: false,
        })
    }

    fn take(&mut self, mut input: &[u8], socket: &mut TcpStream, answers: &Answers) -> Option<()> {
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
            socket.write_all(answer).ok()?;
        }
    }
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
