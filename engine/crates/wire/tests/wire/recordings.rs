//! Reads the conversations in `tests/recorded`.

/// The servers that were talked to, with their recordings.
const RECORDINGS: [(&str, &str); 7] = [
    ("mysql-9.7.4", include_str!("../recorded/mysql-9.7.4.txt")),
    ("mysql-8.0.33", include_str!("../recorded/mysql-8.0.33.txt")),
    ("mysql-5.6.24", include_str!("../recorded/mysql-5.6.24.txt")),
    ("mysql-5.5.34", include_str!("../recorded/mysql-5.5.34.txt")),
    (
        "mariadb-10.1.8",
        include_str!("../recorded/mariadb-10.1.8.txt"),
    ),
    (
        "mariadb-10.11.19",
        include_str!("../recorded/mariadb-10.11.19.txt"),
    ),
    (
        "mariadb-11.8.6",
        include_str!("../recorded/mariadb-11.8.6.txt"),
    ),
];

/// One line of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// What the server sent until the client spoke.
    Server(Vec<u8>),
    /// What the client sent.
    Client(Vec<u8>),
    /// The TLS handshake was made.
    Tls,
    /// The password was encrypted.
    Encrypt,
}

/// The servers that have a conversation of that name.
pub fn servers_with(name: &str) -> Vec<&'static str> {
    let all = RECORDINGS.iter().map(|(server, _)| *server);
    let servers: Vec<_> = all.filter(|server| find(server, name).is_some()).collect();
    assert!(
        !servers.is_empty(),
        "no recording has a conversation named {name}"
    );
    servers
}

/// One conversation.
pub fn conversation(server: &str, name: &str) -> Vec<Turn> {
    let lines = find(server, name).unwrap_or_else(|| panic!("{server} has no {name}"));
    lines.into_iter().map(parse).collect()
}

/// All that the server said in a conversation.
pub fn server_bytes(server: &str, name: &str) -> Vec<u8> {
    let turns = conversation(server, name).into_iter();
    turns
        .flat_map(|turn| {
            if let Turn::Server(bytes) = turn {
                bytes
            } else {
                Vec::new()
            }
        })
        .collect()
}

fn find(server: &str, name: &str) -> Option<Vec<&'static str>> {
    let (_, text) = RECORDINGS.iter().find(|(known, _)| *known == server)?;
    let heading = format!("[{name}]");
    let mut lines = text.lines().skip_while(|line| *line != heading);
    lines.next()?;
    Some(lines.take_while(|line| !line.is_empty()).collect())
}

fn parse(line: &str) -> Turn {
    match line.split_at(1) {
        ("<", hex) => Turn::Server(bytes_of(hex)),
        (">", hex) => Turn::Client(bytes_of(hex)),
        _ if line == "tls" => Turn::Tls,
        _ if line == "encrypt" => Turn::Encrypt,
        _ => panic!("cannot read {line}"),
    }
}

/// Bytes from hex digits; spaces do not count.
pub fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| u8::try_from(pair[0] << 4 | pair[1]).unwrap())
        .collect()
}

/// A packet around a payload.
pub fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    tlstax_wire::append_packet(&mut out, sequence, payload);
    out
}

#[test]
fn no_recording_lies_unused() {
    use crate::{login::SUCCESSES, responses::ANSWERS};
    const REFUSALS: [&str; 6] = [
        "denied",
        "too_many",
        "host_blocked",
        "no_tls",
        "sha256",
        "ed25519",
    ];
    const OTHERS: [&str; 4] = [
        "idle",
        "prepare_no_columns",
        "prepare_nothing",
        "prepare_error",
    ];
    let replayed = [&SUCCESSES[..], &ANSWERS, &REFUSALS, &OTHERS].concat();
    for (server, text) in RECORDINGS {
        let headings = text
            .lines()
            .filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
        for name in headings {
            assert!(
                replayed.contains(&name),
                "{server} {name} is replayed by no test"
            );
        }
    }
}
