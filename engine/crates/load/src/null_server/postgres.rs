//! What the server that does nothing says to a client of PostgreSQL's.

use std::io::Write;
use std::net::TcpStream;

use tlstax_wire_pg::{Message, MessageDecoder, append_message};

use super::{BUFFER_BYTES, Filling, Lengths, Talk, asks};

/// The types bigint and text, by their numbers in `pg_type`.
const INT8: u32 = 20;
const TEXT: u32 = 25;

/// All that it ever says, ready to be written.
pub struct Answers {
    let_in: Vec<u8>,
    rows: Vec<u8>,
    done: Vec<u8>,
    column: Vec<u8>,
    ready: Vec<u8>,
}

impl Answers {
    fn new(filling: Filling) -> Self {
        let mut row = vec![0, 1];
        row.extend_from_slice(&number(filling.row_bytes));
        row.resize(row.len() + filling.row_bytes, b'0');
        let column = message(b'T', &column());
        let ready = message(b'Z', b"I");
        let rows = message(b'D', &row).repeat(filling.rows);
        let end = message(b'C', format!("SELECT {}\0", filling.rows).as_bytes());
        Self {
            let_in: [
                message(b'R', &[0; 4]),
                message(b'S', b"server_version\x000.0-null\0"),
                message(b'K', &[0; 8]),
                ready.clone(),
            ]
            .concat(),
            rows: [rows, end].concat(),
            done: message(b'C', b"SET\0"),
            column,
            ready,
        }
    }
}

/// How far a client has come.
pub struct Postgres {
    /// What is still to come of the message that opens the connection; none once it was there.
    opening_left: Option<usize>,
    decoder: MessageDecoder,
    /// Statements by their names, and whether they ask for rows.
    prepared: Vec<(Vec<u8>, bool)>,
    /// Whether the statement that was named last asks for rows.
    asks: bool,
    placeholders: usize,
    said: Vec<u8>,
}

impl Talk for Postgres {
    type Answers = Answers;

    fn answers(filling: Filling) -> Answers {
        Answers::new(filling)
    }

    fn lengths(answers: &Answers) -> Lengths {
        Lengths {
            greeting: 0,
            ok: answers.let_in.len(),
            result: answers.column.len() + answers.rows.len() + answers.ready.len(),
        }
    }

    /// The client speaks first.
    fn begin(_: &mut TcpStream, _: &Answers) -> Option<Self> {
        Some(Self {
            opening_left: Some(0),
            decoder: MessageDecoder::new(BUFFER_BYTES),
            prepared: Vec::new(),
            asks: false,
            placeholders: 0,
            said: Vec::new(),
        })
    }

    fn take(&mut self, mut input: &[u8], socket: &mut TcpStream, answers: &Answers) -> Option<()> {
        self.said.clear();
        if self.opening_left.is_some() {
            input = self.let_in(input, answers)?;
        }
        while let Some(message) = self.decoder.next(&mut input, |_, _| Ok(true)).ok()? {
            let Message::Whole { kind, body } = message else {
                return None;
            };
            match kind {
                b'X' => return None,
                b'Q' => {
                    if asks(body) {
                        self.said.extend_from_slice(&answers.column);
                        self.said.extend_from_slice(&answers.rows);
                    } else {
                        self.said.extend_from_slice(&answers.done);
                    }
                    self.said.extend_from_slice(&answers.ready);
                }
                b'P' => {
                    let (name, rest) = text(body)?;
                    let (sql, _) = text(rest)?;
                    self.asks = asks(sql);
                    self.placeholders = sql.split(|byte| *byte == b'$').count() - 1;
                    self.prepared.retain(|(known, _)| known != name);
                    self.prepared.push((name.to_owned(), self.asks));
                    self.said.extend_from_slice(&message_of(b'1'));
                }
                b'B' => {
                    let (_, rest) = text(body)?;
                    let (name, _) = text(rest)?;
                    let known = self.prepared.iter().find(|(known, _)| known == name)?;
                    self.asks = known.1;
                    self.said.extend_from_slice(&message_of(b'2'));
                }
                b'D' => {
                    if body.first() == Some(&b'S') {
                        self.said.extend_from_slice(&parameters(self.placeholders));
                    }
                    let no_rows = message_of(b'n');
                    let rows = if self.asks { &answers.column } else { &no_rows };
                    self.said.extend_from_slice(rows);
                }
                b'E' => {
                    let rows = if self.asks {
                        &answers.rows
                    } else {
                        &answers.done
                    };
                    self.said.extend_from_slice(rows);
                }
                b'S' => self.said.extend_from_slice(&answers.ready),
                _ => {}
            }
        }
        socket.write_all(&self.said).ok()
    }
}

impl Postgres {
    /// Takes the message that opens a connection, which has a length and no type; what follows it.
    fn let_in<'i>(&mut self, input: &'i [u8], answers: &Answers) -> Option<&'i [u8]> {
        let left = match self.opening_left {
            // A client of ours writes it at once.
            Some(0) => u32::from_be_bytes(*input.first_chunk()?) as usize,
            left => left?,
        };
        if left > input.len() {
            self.opening_left = Some(left - input.len());
            return Some(&[]);
        }
        self.opening_left = None;
        self.said.extend_from_slice(&answers.let_in);
        Some(&input[left..])
    }
}

/// A text and what follows it.
fn text(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = body.iter().position(|byte| *byte == 0)?;
    Some((&body[..end], &body[end + 1..]))
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    // None of its messages is too long for a length.
    let _ = append_message(&mut out, kind, |out| {
        out.extend_from_slice(body);
        Ok(())
    });
    out
}

fn message_of(kind: u8) -> Vec<u8> {
    message(kind, &[])
}

/// `ParameterDescription` of N numbers.
fn parameters(count: usize) -> Vec<u8> {
    let [.., high, low] = number(count);
    let mut body = vec![high, low];
    body.extend(INT8.to_be_bytes().repeat(count));
    message(b't', &body)
}

/// The body of a `RowDescription` of a text column `c`.
fn column() -> Vec<u8> {
    let mut body = b"\0\x01c\0\0\0\0\0\0\0".to_vec();
    body.extend_from_slice(&TEXT.to_be_bytes());
    body.extend_from_slice(b"\xff\xff\xff\xff\xff\xff\0\0");
    body
}

/// A number of four bytes, as lengths are.
fn number(count: usize) -> [u8; 4] {
    u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes()
}
