//! Inputs to begin with: what real servers said, as the wire crates' tests have it recorded.

use tlstax_wire::{Algorithm, Packer};

use crate::input::{CUTS, FRAMED, MORE_FOLLOWS};
use crate::{auth, compressed, pg_answers, pg_login, result_sets};

const RECORDINGS: [&str; 7] = [
    include_str!("../../wire/tests/recorded/mysql-9.7.4.txt"),
    include_str!("../../wire/tests/recorded/mysql-8.0.33.txt"),
    include_str!("../../wire/tests/recorded/mysql-5.6.24.txt"),
    include_str!("../../wire/tests/recorded/mysql-5.5.34.txt"),
    include_str!("../../wire/tests/recorded/mariadb-10.1.8.txt"),
    include_str!("../../wire/tests/recorded/mariadb-10.11.19.txt"),
    include_str!("../../wire/tests/recorded/mariadb-11.8.6.txt"),
];

const POSTGRES: &str = include_str!("../../wire_pg/tests/recorded/postgresql-15.18.txt");

const CUT: [u8; CUTS] = [1, 4, 0, 30, 2, 255];
const GREETING_VERSION: u8 = 10;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

/// Jobs to begin with.
const JOBS: [&str; 9] = [
    include_str!("../../../../contract/examples/job-driver-required.json"),
    include_str!("../../../../contract/examples/job-driver.json"),
    include_str!("../../../../contract/examples/job-mix.json"),
    include_str!("../../../../contract/examples/job-open-loop-prepared.json"),
    include_str!("../../../../contract/examples/job-plaintext-closed-loop.json"),
    include_str!("../../../../contract/examples/job-plaintext-without-key.json"),
    include_str!("../../../../contract/examples/job-storm.json"),
    include_str!("../../../../contract/examples/job-storm-open-loop.json"),
    include_str!("../../../../contract/examples/job-tls13-resumed.json"),
];

/// Folded stacks to begin with, each with its options.
const FOLDED: [&[u8]; 4] = [
    b"\x02main [mysqld];f<T> [libssl.so.3] 1500\nmain [mysqld] 500\n[cut off];g [kernel] 7\n",
    b"\x03main [p];grew [p] 0 100\nmain [p];shrank [p] 100 50\nmain [p];same [p] 7 7\n",
    b"\x02</title><script>alert(1)</script>\"' & ]]> [x] 5\n# x 3\na 1 2\n~ 1",
    b"\x01a;b 1000000000000 1\n\na;b 1 1000000000001\n",
];

/// An input and the target that it is for.
pub type Seed = (&'static str, Vec<u8>);

/// Every recorded conversation as an input of each target that it says something to, the contract's
/// examples, and a few inputs beside them.
pub fn from_recordings() -> Vec<Seed> {
    let mut seeds = vec![("commands", commands())];
    seeds.extend(JOBS.map(|text| ("job", text.into())));
    seeds.extend(FOLDED.map(|text| ("folded", text.into())));
    for options in [0, auth::TLS, auth::TLS | auth::VERIFIED, auth::LOCAL_SOCKET] {
        seeds.push(("auth", clear_password(options)));
    }
    seeds.push(("pg_commands", commands()));
    for conversation in POSTGRES.split("\n\n") {
        add_postgres(&mut seeds, conversation);
    }
    for recording in RECORDINGS {
        for conversation in recording.split("\n\n") {
            let lines = conversation.lines();
            let turns: Vec<_> = lines.filter_map(Turn::read).collect();
            add(&mut seeds, &turns);
        }
    }
    seeds
}

/// One command of each kind, as the target draws them.
fn commands() -> Vec<u8> {
    [
        &[0],
        &CUT[..],
        &[0, 1, 2, 5, 0, 0, 0, 4, 0, 1, 2, 3],
        &[b'x'; 80],
    ]
    .concat()
}

/// A login whose server wants the password as it is, which no recording has.
fn clear_password(options: u8) -> Vec<u8> {
    const SWITCH: &[u8] = b"\xfemysql_clear_password\0";
    let recorded = RECORDINGS[0].lines().find_map(Turn::read);
    let turns = recorded.iter().collect::<Vec<_>>();
    [login(FRAMED | options, &turns), chunk(SWITCH, false)].concat()
}

/// One side's packets until the other spoke.
struct Turn {
    server: bool,
    bytes: Vec<u8>,
}

impl Turn {
    /// None where the line says something else, such as that the TLS handshake was made.
    fn read(line: &str) -> Option<Self> {
        let server = match line.split_at_checked(2)? {
            ("< ", _) => true,
            ("> ", _) => false,
            _ => return None,
        };
        let digits: Vec<_> = line
            .chars()
            .filter_map(|digit| digit.to_digit(16))
            .collect();
        let bytes = digits
            .chunks_exact(2)
            .filter_map(|pair| u8::try_from(pair[0] << 4 | pair[1]).ok())
            .collect();
        Some(Self { server, bytes })
    }

    fn payloads(&self) -> Vec<&[u8]> {
        crate::client_packets::packets(&self.bytes)
            .into_iter()
            .map(|(_, payload)| payload)
            .collect()
    }
}

fn add(seeds: &mut Vec<Seed>, turns: &[Turn]) {
    let server: Vec<_> = turns.iter().filter(|turn| turn.server).collect();
    let Some(first) = server
        .first()
        .and_then(|turn| turn.payloads().first().copied())
    else {
        return;
    };
    if first.first() == Some(&GREETING_VERSION) {
        seeds.push(("greeting", [&head(0)[..], &chunk(first, false)].concat()));
        for options in [
            0,
            auth::TLS,
            auth::LOCAL_SOCKET,
            auth::WITHOUT_KEY,
            auth::DATABASE | auth::ATTRIBUTES,
        ] {
            seeds.push(("auth", login(FRAMED | options, &server)));
        }
    }
    let asked = turns.iter().rev().find(|turn| !turn.server);
    let command = asked.and_then(|turn| turn.payloads().first()?.first().copied());
    if let Some(answer) = server.last() {
        add_answer(seeds, command, answer);
    }
}

/// A conversation with PostgreSQL: a login where the client begins with one, else an answer.
fn add_postgres(seeds: &mut Vec<Seed>, conversation: &str) {
    let turns: Vec<_> = conversation.lines().filter_map(Turn::read).collect();
    let Some(first) = turns.iter().find(|turn| !turn.server) else {
        return;
    };
    let server = turns.iter().filter(|turn| turn.server);
    let is_login = first.bytes.first() == Some(&0);
    let has_tls = conversation.contains("\ntls");
    let options = if is_login {
        let tls = if has_tls { pg_login::TLS } else { 0 };
        tls | pg_login::VERIFIED | pg_login::END_POINT | pg_login::DATABASE
    } else {
        asked(&first.bytes) << pg_answers::ASKED_SHIFT | 1 << pg_answers::WANTED_SHIFT
    };
    let target = if is_login { "pg_login" } else { "pg_answers" };
    for framed in [0, FRAMED] {
        let mut seed = head(options | framed);
        if is_login {
            let user = conversation.split("7573657200").nth(1).unwrap_or_default();
            let user = Turn::read(&format!("> {user}")).map(|turn| turn.bytes);
            let user = user.unwrap_or_default();
            let user = user.split(|&byte| byte == 0).next().unwrap_or_default();
            for text in [user, b"correct horse", b"", b"wire"] {
                seed.extend(u8::try_from(text.len()));
                seed.extend_from_slice(text);
            }
        }
        for turn in server.clone() {
            if framed == 0 || turn.bytes.len() == 1 {
                seed.extend(chunk(&turn.bytes, false));
                continue;
            }
            let messages = postgres_messages(&turn.bytes);
            for (place, message) in messages.iter().enumerate() {
                seed.extend(chunk(message, place + 1 < messages.len()));
            }
        }
        seeds.push((target, seed));
    }
}

/// Which of [`pg_answers::ASKED`] a command is, by the types of its messages.
fn asked(command: &[u8]) -> u8 {
    let messages = postgres_messages(command);
    let kinds: Vec<u8> = messages
        .iter()
        .filter_map(|message| message.first().copied())
        .collect();
    match &kinds[..] {
        [b'P', b'D', ..] => 1,
        [b'P', ..] => 2,
        [b'C', ..] => 3,
        [b'B', b'D', ..] => 5,
        [b'B', ..] => 4,
        _ => 0,
    }
}

/// Type and body of each message.
fn postgres_messages(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let Some((&[kind, a, b, c, d], _)) = bytes.split_first_chunk() {
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        let Some((message, rest)) = bytes.split_at_checked(1 + length) else {
            break;
        };
        messages.push([&[kind], &message[5..]].concat());
        bytes = rest;
    }
    messages
}

/// The last turn as the answer to a command: as it was sent, and as payloads alone.
fn add_answer(seeds: &mut Vec<Seed>, command: Option<u8>, answer: &Turn) {
    use result_sets::{BINARY, DEPRECATE_EOF, WANTED_SHIFT};
    let (target, options) = match command {
        Some(COM_QUERY) => ("result_sets", 2 << WANTED_SHIFT),
        Some(COM_STMT_EXECUTE) => ("result_sets", BINARY | 2 << WANTED_SHIFT),
        Some(COM_STMT_PREPARE) => ("prepare", 0),
        _ => return,
    };
    let payloads: Vec<u8> = answer
        .payloads()
        .iter()
        .flat_map(|payload| chunk(payload, false))
        .collect();
    seeds.extend(packed(answer));
    for options in [options, options | DEPRECATE_EOF] {
        let raw = [&head(options)[..], &chunk(&answer.bytes, false)].concat();
        let framed = [&head(options | FRAMED)[..], &payloads].concat();
        seeds.extend([(target, raw), (target, framed)]);
    }
}

/// The last turn in compressed packets, by either algorithm.
fn packed(answer: &Turn) -> impl Iterator<Item = Seed> {
    [(Algorithm::Zlib, 0), (Algorithm::Zstd, compressed::ZSTD)]
        .into_iter()
        .filter_map(|(algorithm, options)| {
            let mut bytes = Vec::new();
            Packer::new(algorithm)
                .ok()?
                .pack(&answer.bytes, &mut bytes)
                .ok()?;
            Some((
                "compressed",
                [&head(options)[..], &chunk(&bytes, false)].concat(),
            ))
        })
}

fn login(options: u8, turns: &[&Turn]) -> Vec<u8> {
    let mut seed = head(options);
    let mut texts = vec!["wire_sha2", "correct horse"];
    if options & auth::DATABASE != 0 {
        texts.push("wire");
    }
    if options & auth::ATTRIBUTES != 0 {
        texts.extend(["program_name", "tlstax"]);
    }
    for text in texts {
        seed.extend(u8::try_from(text.len()));
        seed.extend_from_slice(text.as_bytes());
    }
    for turn in turns {
        let payloads = turn.payloads();
        for (place, payload) in payloads.iter().enumerate() {
            seed.extend(chunk(payload, place + 1 < payloads.len()));
        }
    }
    seed
}

fn head(options: u8) -> Vec<u8> {
    [&[options], &CUT[..]].concat()
}

/// A payload as [`crate::input::Input::payload`] reads it.
fn chunk(payload: &[u8], more_follows: bool) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap_or(!MORE_FOLLOWS) & !MORE_FOLLOWS;
    let flag = if more_follows { MORE_FOLLOWS } else { 0 };
    [&(length | flag).to_le_bytes()[..], payload].concat()
}
