//! Commands to PostgreSQL: what a server that goes by the book reads from them is what was meant.

use arbitrary::Unstructured;
use tlstax_wire_pg::command::{self, Execute, Param};
use tlstax_wire_pg::{Asked, Format, Message, MessageDecoder, WireError};

use crate::input::{CUTS, Input, pieces};

const MOST_COMMANDS: usize = 8;
const MOST_PARAMS: usize = 20;
/// `int2`, `int4`, `int8` and `oid`, one that is text and one that is not known.
const TYPES: [u32; 6] = [21, 23, 20, 26, 25, 0];

/// A parameter as drawn.
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

    /// Whether a server reads this value from a parameter for a placeholder of such a type.
    fn is_read_from(&self, kind: u32, is_binary: bool, bytes: Option<&[u8]>) -> bool {
        let Some(bytes) = bytes else {
            return *self == Self::Null;
        };
        match self {
            Self::Null => false,
            Self::Text(text) => !is_binary && bytes == text.as_bytes(),
            Self::Bytes(meant) => is_binary && bytes == meant,
            Self::Int(value) if is_binary => match (kind, bytes) {
                (21, &[a, b]) => i64::from(i16::from_be_bytes([a, b])) == *value,
                (23, &[a, b, c, d]) => i64::from(i32::from_be_bytes([a, b, c, d])) == *value,
                (26, &[a, b, c, d]) => i64::from(u32::from_be_bytes([a, b, c, d])) == *value,
                (20, bytes) => bytes == value.to_be_bytes(),
                _ => false,
            },
            Self::Int(value) => bytes == value.to_string().as_bytes(),
        }
    }
}

/// What is run, and how.
#[derive(Debug, Clone)]
struct Run {
    types: Vec<u32>,
    values: Vec<Value>,
    results: Format,
    describe: bool,
    max_rows: u32,
}

impl Run {
    fn draw(source: &mut Unstructured<'_>) -> arbitrary::Result<Self> {
        let count = source.int_in_range(0..=MOST_PARAMS)?;
        let known = source.int_in_range(0..=MOST_PARAMS)?;
        let types = (0..known).map(|_| source.choose(&TYPES).copied());
        let types = types.collect::<arbitrary::Result<_>>()?;
        let values = (0..count).map(|_| Value::draw(source));
        Ok(Self {
            types,
            values: values.collect::<arbitrary::Result<_>>()?,
            results: *source.choose(&[Format::Text, Format::Binary])?,
            describe: source.arbitrary()?,
            max_rows: source.arbitrary()?,
        })
    }
}

/// A command, each answered before the next is sent.
#[derive(Debug, Clone)]
enum Command {
    Query(Vec<u8>),
    Prepare(String, Vec<u8>, Vec<u32>),
    Execute(String, Run),
    Run(Vec<u8>, Run),
    Close(String),
}

impl Command {
    fn draw(source: &mut Unstructured<'_>) -> arbitrary::Result<Self> {
        Ok(match source.int_in_range(0..=4)? {
            0 => Self::Query(source.arbitrary()?),
            1 => Self::Prepare(
                source.arbitrary()?,
                source.arbitrary()?,
                source.arbitrary()?,
            ),
            2 => Self::Execute(source.arbitrary()?, Run::draw(source)?),
            3 => Self::Run(source.arbitrary()?, Run::draw(source)?),
            _ => Self::Close(source.arbitrary()?),
        })
    }

    fn append(&self, out: &mut Vec<u8>) -> Result<Asked, WireError> {
        match self {
            Self::Query(sql) => command::query(out, sql),
            Self::Prepare(name, sql, types) => command::prepare(out, name, sql, types),
            Self::Execute(statement, run) => {
                let execute = Execute {
                    statement,
                    types: &run.types,
                    results: run.results,
                    describe: run.describe,
                    max_rows: run.max_rows,
                };
                command::execute(out, &execute, run.values.iter().map(Value::param))
            }
            Self::Run(sql, run) => {
                let params = run.values.iter().map(Value::param);
                command::run(out, sql, &run.types, run.results, params)
            }
            Self::Close(name) => command::close(out, name),
        }
    }

    /// Whether it has a NUL where the protocol has one for an end.
    fn has_nul(&self) -> bool {
        match self {
            Self::Query(sql) | Self::Run(sql, _) => sql.contains(&0),
            Self::Prepare(name, sql, _) => name.contains('\0') || sql.contains(&0),
            Self::Execute(name, _) | Self::Close(name) => name.contains('\0'),
        }
    }

    /// Reads the command's messages, and holds them against what was meant.
    fn check(&self, messages: &mut impl Iterator<Item = (u8, Vec<u8>)>) {
        let mut next = |kind: u8| {
            let (found, body) = messages.next().expect("another message");
            assert_eq!(char::from(found), char::from(kind));
            body
        };
        match self {
            Self::Query(sql) => assert_eq!(next(b'Q'), with_nul(sql)),
            Self::Prepare(name, sql, types) => {
                check_parse(&next(b'P'), name, sql, types);
                assert_eq!(next(b'D'), target(b'S', name));
            }
            Self::Execute(name, run) => {
                check_bind(&next(b'B'), name, run);
                if run.describe {
                    assert_eq!(next(b'D'), target(b'P', ""));
                }
                assert_eq!(next(b'E'), [&[0], &run.max_rows.to_be_bytes()[..]].concat());
            }
            Self::Run(sql, run) => {
                check_parse(&next(b'P'), "", sql, &run.types);
                check_bind(&next(b'B'), "", run);
                assert_eq!(next(b'D'), target(b'P', ""));
                assert_eq!(next(b'E'), [0; 5]);
            }
            Self::Close(name) => assert_eq!(next(b'C'), target(b'S', name)),
        }
        if !matches!(self, Self::Query(_)) {
            assert!(next(b'S').is_empty());
        }
    }
}

fn with_nul(text: &[u8]) -> Vec<u8> {
    [text, b"\0"].concat()
}

fn target(of: u8, name: &str) -> Vec<u8> {
    [&[of], name.as_bytes(), b"\0"].concat()
}

fn check_parse(body: &[u8], name: &str, sql: &[u8], types: &[u32]) {
    let mut expected = [with_nul(name.as_bytes()), with_nul(sql)].concat();
    expected.extend(u16::try_from(types.len()).expect("few").to_be_bytes());
    expected.extend(types.iter().flat_map(|kind| kind.to_be_bytes()));
    assert_eq!(body, expected);
}

/// The parameters of a Bind (PostgreSQL's documentation, "Message Formats").
fn check_bind(body: &[u8], name: &str, run: &Run) {
    let head = [b"\0", &with_nul(name.as_bytes())[..]].concat();
    let mut rest = body.strip_prefix(&head[..]).expect("portal and statement");
    let formats: Vec<bool> = (0..number(&mut rest))
        .map(|_| number(&mut rest) == 1)
        .collect();
    assert_eq!(usize::from(number(&mut rest)), run.values.len());
    assert_eq!(formats.len(), run.values.len());
    for (place, value) in run.values.iter().enumerate() {
        let (length, after) = rest.split_first_chunk().expect("a length");
        rest = after;
        let length = usize::try_from(i32::from_be_bytes(*length)).ok();
        let bytes = length.map(|length| {
            let (bytes, after) = rest.split_at(length);
            rest = after;
            bytes
        });
        let kind = run.types.get(place).copied().unwrap_or_default();
        assert!(
            value.is_read_from(kind, formats[place], bytes),
            "{value:?} as {bytes:?}"
        );
    }
    let codes: &[u8] = match run.results {
        Format::Text => &[0, 0],
        Format::Binary => &[0, 1, 0, 1],
    };
    assert_eq!(rest, codes);
}

fn number(rest: &mut &[u8]) -> u16 {
    let (number, after) = rest.split_first_chunk().expect("a number");
    *rest = after;
    u16::from_be_bytes(*number)
}

/// The target.
///
/// # Panics
/// Where a property does not hold.
pub fn pg_commands(data: &[u8]) {
    let Some(input) = Input::read(data) else {
        return;
    };
    let cuts = input.cuts;
    let mut source = input.into_rest();
    let mut out = Vec::new();
    let mut commands = Vec::new();
    while commands.len() < MOST_COMMANDS && !source.is_empty() {
        let Ok(drawn) = Command::draw(&mut source) else {
            break;
        };
        let before = out.len();
        if drawn.append(&mut out).is_ok() {
            assert!(!drawn.has_nul(), "a NUL went out");
            commands.push(drawn);
        } else {
            assert!(drawn.has_nul(), "refused for nothing");
            assert_eq!(out.len(), before, "half a command was left");
        }
    }
    let mut messages = decoded(&out, cuts).into_iter();
    for drawn in &commands {
        drawn.check(&mut messages);
    }
    assert_eq!(messages.next(), None, "more was said than was meant");
}

/// Every message, however the bytes arrive.
fn decoded(bytes: &[u8], cuts: [u8; CUTS]) -> Vec<(u8, Vec<u8>)> {
    let mut decoder = MessageDecoder::default();
    let mut found = Vec::new();
    for mut piece in pieces(bytes, cuts) {
        while let Some(message) = decoder.next(&mut piece, |_, _| Ok(true)).expect("messages") {
            let Message::Whole { kind, body } = message else {
                panic!("a message was passed over");
            };
            found.push((kind, body.to_vec()));
        }
    }
    found
}
