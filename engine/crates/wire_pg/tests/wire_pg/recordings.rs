//! Reads the conversations in `tests/recorded`.

const RECORDING: &str = include_str!("../recorded/postgresql-15.18.txt");

/// One line of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// What the server sent until the client spoke.
    Server(Vec<u8>),
    /// What the client sent.
    Client(Vec<u8>),
    /// The TLS handshake was made.
    Tls,
    /// The channel was bound to a certificate with this digest.
    Bind(Vec<u8>),
}

/// One conversation.
pub fn conversation(name: &str) -> Vec<Turn> {
    let head = format!("[{name}]");
    let all = RECORDING.split("\n\n");
    let mut named = all.filter_map(|text| text.trim().strip_prefix(&*head));
    let text = named
        .next()
        .unwrap_or_else(|| panic!("no {name} was recorded"));
    text.lines()
        .filter(|line| !line.is_empty())
        .map(parse)
        .collect()
}

/// All that the server said in a conversation.
pub fn server_bytes(name: &str) -> Vec<u8> {
    let turns = conversation(name).into_iter();
    turns
        .flat_map(|turn| match turn {
            Turn::Server(bytes) => bytes,
            _ => Vec::new(),
        })
        .collect()
}

/// The first that the client said in a conversation.
pub fn client_bytes(name: &str) -> Vec<u8> {
    let turns = conversation(name).into_iter();
    let mut said = turns.filter_map(|turn| match turn {
        Turn::Client(bytes) => Some(bytes),
        _ => None,
    });
    said.next().expect("the client speaks")
}

fn parse(line: &str) -> Turn {
    match line.split_once(' ') {
        Some(("<", digits)) => Turn::Server(bytes_of(digits)),
        Some((">", digits)) => Turn::Client(bytes_of(digits)),
        Some(("bind", digits)) => Turn::Bind(bytes_of(digits)),
        _ => Turn::Tls,
    }
}

/// Bytes from hexadecimal digits.
pub fn bytes_of(digits: &str) -> Vec<u8> {
    let digits: Vec<u32> = digits.chars().filter_map(|c| c.to_digit(16)).collect();
    let pairs = digits.chunks_exact(2);
    pairs
        .map(|pair| u8::try_from(pair[0] << 4 | pair[1]).expect("a byte"))
        .collect()
}

/// A message of the server's.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("a short body");
    [&[kind], &length.to_be_bytes()[..], body].concat()
}
