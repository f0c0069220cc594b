//! Commands: what a server that goes by the book reads from them is what was meant.

use arbitrary::Unstructured;
use tlstax_wire::command::{self, Param};
use tlstax_wire::{Packet, PacketDecoder};

use crate::input::{CUTS, Input, pieces};

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const MOST_COMMANDS: usize = 8;
const MOST_PARAMS: usize = 20;

/// A parameter as drawn, and as read back.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Value {
    fn draw(source: &mut Unstructured<'_>) -> arbitrary::Result<Self> {
        Ok(match source.int_in_range(0..=3)? {
            0 => Self::Null,
            1 => Self::Int(source.arbitrary()?),
            2 => Self::Text(source.arbitrary()?),
            _ => Self::Bytes(source.arbitrary()?),
        })
    }

    fn param(&self) -> Param<'_> {
        match self {
            Self::Null => Param::Null,
            Self::Int(value) => Param::Int(*value),
            Self::Text(text) => Param::Text(text),
            Self::Bytes(bytes) => Param::Bytes(bytes),
        }
    }
}

/// A command, each answered before the next is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Command {
    Query(Vec<u8>),
    Prepare(Vec<u8>),
    Execute(u32, Vec<Value>),
}

impl Command {
    fn draw(source: &mut Unstructured<'_>) -> arbitrary::Result<Self> {
        Ok(match source.int_in_range(0..=2)? {
            0 => Self::Query(source.arbitrary()?),
            1 => Self::Prepare(source.arbitrary()?),
            _ => {
                let id = source.arbitrary()?;
                let count = source.int_in_range(0..=MOST_PARAMS)?;
                let values = (0..count).map(|_| Value::draw(source));
                Self::Execute(id, values.collect::<arbitrary::Result<_>>()?)
            }
        })
    }

    fn append(&self, out: &mut Vec<u8>) -> u8 {
        match self {
            Self::Query(sql) => command::query(out, sql),
            Self::Prepare(sql) => command::stmt_prepare(out, sql),
            Self::Execute(id, values) => {
                let params: Vec<_> = values.iter().map(Value::param).collect();
                command::stmt_execute(out, *id, &params)
            }
        }
    }

    /// Reads a payload; of an execute it must be known how many placeholders the statement has.
    fn read(payload: &[u8], placeholders: usize) -> Self {
        let (&code, rest) = payload.split_first().expect("a command");
        match code {
            COM_QUERY => Self::Query(rest.to_vec()),
            COM_STMT_PREPARE => Self::Prepare(rest.to_vec()),
            COM_STMT_EXECUTE => {
                let (id, rest) = rest.split_first_chunk().expect("an id");
                let rest = rest
                    .strip_prefix(&[0, 1, 0, 0, 0])
                    .expect("no cursor, once");
                Self::Execute(u32::from_le_bytes(*id), read_values(rest, placeholders))
            }
            _ => panic!("command {code} was not sent"),
        }
    }

    fn placeholders(&self) -> usize {
        match self {
            Self::Execute(_, values) => values.len(),
            Self::Query(_) | Self::Prepare(_) => 0,
        }
    }
}

/// The parameters of an execute (MySQL source documentation, "`COM_STMT_EXECUTE`").
fn read_values(payload: &[u8], count: usize) -> Vec<Value> {
    const TYPES_FOLLOW: u8 = 1;
    if count == 0 {
        assert!(payload.is_empty());
        return Vec::new();
    }
    let (nulls, rest) = payload.split_at(count.div_ceil(8));
    let rest = rest.strip_prefix(&[TYPES_FOLLOW]).expect("types");
    let (types, mut rest) = rest.split_at(2 * count);
    let values = (0..count).map(|place| {
        let is_null = nulls[place / 8] >> (place % 8) & 1 == 1;
        let value = read_value(types[2 * place], &mut rest);
        assert_eq!(is_null, value == Value::Null);
        value
    });
    let values = values.collect();
    assert!(rest.is_empty(), "more values than placeholders");
    values
}

fn read_value(kind: u8, rest: &mut &[u8]) -> Value {
    match kind {
        6 => Value::Null,
        8 => {
            let (value, after) = rest.split_first_chunk().expect("eight bytes");
            *rest = after;
            Value::Int(i64::from_le_bytes(*value))
        }
        253 => Value::Text(String::from_utf8(read_bytes(rest)).expect("UTF-8")),
        252 => Value::Bytes(read_bytes(rest)),
        _ => panic!("type {kind} was not sent"),
    }
}

/// A length-encoded string of fewer than 2^24 bytes.
fn read_bytes(rest: &mut &[u8]) -> Vec<u8> {
    let length_len = match rest[0] {
        0xfc => 2,
        0xfd => 3,
        _ => 0,
    };
    let mut length = [0; 4];
    if length_len == 0 {
        length[0] = rest[0];
    } else {
        length[..length_len].copy_from_slice(&rest[1..=length_len]);
    }
    let (bytes, after) = rest[1 + length_len..].split_at(u32::from_le_bytes(length) as usize);
    *rest = after;
    bytes.to_vec()
}

/// The target.
///
/// # Panics
/// Where a property does not hold.
pub fn commands(data: &[u8]) {
    let Some(input) = Input::read(data) else {
        return;
    };
    let cuts = input.cuts;
    let mut source = input.into_rest();
    let mut drawn = Vec::new();
    while drawn.len() < MOST_COMMANDS && !source.is_empty() {
        let Ok(command) = Command::draw(&mut source) else {
            break;
        };
        drawn.push(command);
    }
    let mut out = Vec::new();
    for command in &drawn {
        assert_eq!(command.append(&mut out), 1, "the answer's number");
    }
    assert_eq!(read_back(&out, cuts, &drawn), drawn);
}

fn read_back(out: &[u8], cuts: [u8; CUTS], drawn: &[Command]) -> Vec<Command> {
    let mut decoder = PacketDecoder::default();
    let mut found = Vec::new();
    for mut piece in pieces(out, cuts) {
        while let Some(packet) = decoder.next(&mut piece, |_, _| false).expect("a packet") {
            let Packet::Whole(payload) = packet else {
                panic!("passed over unasked");
            };
            let command = drawn.get(found.len()).expect("one command too many");
            found.push(Command::read(payload, command.placeholders()));
            decoder.reset(0);
        }
    }
    found
}
