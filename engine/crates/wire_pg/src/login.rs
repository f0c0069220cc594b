//! From the client's first byte to the server's first `ReadyForQuery`, as a state machine.

mod config;
mod exchange;
mod report;

use std::sync::Arc;

pub use config::{AuthMethod, AuthMethods, LoginConfig, ServerIdentity, TlsStart};
pub use report::{LoginReport, LoginStage};

use crate::error::{Violation, WireError};
use crate::message::{Message, MessageDecoder, check_length};
use crate::scram::{NONCE_BYTES, ScramKeys};
use exchange::Exchange;

/// No message of a login is longer, but for notices, which are not kept.
const MAX_MESSAGE: usize = 64 << 10;
/// More messages than a login has: a server reports some fifteen parameters.
const MAX_MESSAGES: u32 = 1000;
/// As many bytes as there are before a message's type and length are known.
const OPENING_LEN: usize = 5;

/// What to do next. Bytes in `out` are always to be written first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginStep {
    /// Read more; nothing to write.
    NeedMore,
    /// Write `out`, then read.
    Send,
    /// Make the TLS handshake, then call [`Login::tls_established`]. There is nothing to write.
    StartTls,
    /// Call [`Login::bind_channel`] with the digest of the server's certificate. There is nothing to write.
    BindChannel,
    /// The server is ready for commands.
    Done {
        /// How much of the input belonged to the login; the rest is [`crate::ResponseParser::idle`]'s.
        consumed: usize,
        /// How it went.
        report: LoginReport,
    },
}

/// One connection's login.
///
/// The client speaks first ([`Login::begin`]). Then feed it what the server sends; it appends what the client
/// answers to the buffer it is given, and says what to do next. It can be used again by [`Login::begin`], and then
/// allocates nothing.
///
/// ```
/// # use std::sync::Arc;
/// # use tlstax_wire_pg::{Login, LoginConfig, LoginStep, ScramKeys, TlsStart};
/// let config = LoginConfig { user: "app".into(), tls: TlsStart::Request, ..LoginConfig::default() };
/// let (mut login, mut keys) = (Login::new(Arc::new(config))?, ScramKeys::kept());
/// let mut out = Vec::new();
/// let nonce = [7; 18]; // Random bytes, where it matters who answers.
/// assert_eq!(login.begin(nonce, &mut out)?, LoginStep::Send);
/// assert_eq!(out, [0, 0, 0, 8, 4, 210, 22, 47]);
/// assert_eq!(login.feed(b"S", &mut keys, &mut out)?, LoginStep::StartTls);
/// # Ok::<(), tlstax_wire_pg::WireError>(())
/// ```
pub struct Login {
    decoder: MessageDecoder,
    opening: [u8; OPENING_LEN],
    opening_len: usize,
    messages: u32,
    exchange: Exchange,
}

impl Login {
    /// A login that has not begun.
    ///
    /// # Errors
    /// [`WireError::NulByte`] if the user name, the password or a parameter has a NUL byte.
    pub fn new(config: Arc<LoginConfig>) -> Result<Self, WireError> {
        config.check()?;
        Ok(Self {
            decoder: MessageDecoder::default(),
            opening: [0; OPENING_LEN],
            opening_len: 0,
            messages: 0,
            exchange: Exchange::new(config),
        })
    }

    /// Begins with a new connection, whatever came of the last one. `nonce` are random bytes for SCRAM: who can
    /// guess them can replay a server's part.
    ///
    /// # Errors
    /// [`WireError::CommandTooLong`] for parameters that no message can hold.
    pub fn begin(
        &mut self,
        nonce: [u8; NONCE_BYTES],
        out: &mut Vec<u8>,
    ) -> Result<LoginStep, WireError> {
        self.decoder.reset();
        (self.opening_len, self.messages) = (0, 0);
        self.exchange.begin(nonce, out)
    }

    /// What it waits for.
    pub fn stage(&self) -> LoginStage {
        self.exchange.stage()
    }

    /// What the server said of itself: `server_version`, `in_hot_standby`, `default_transaction_read_only`,
    /// `is_superuser` or `session_authorization`, from this login or, until it says otherwise, the last one.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.exchange.parameter(name)
    }

    /// The server's version as it gives it, such as `15.18 (Debian 15.18-0+deb12u1)`; empty before it has.
    pub fn server_version(&self) -> &str {
        self.parameter("server_version").unwrap_or_default()
    }

    /// Takes all of `input`, in pieces of any size; appends answers to `out`.
    ///
    /// # Errors
    /// Any [`WireError`]; the connection is then of no more use.
    pub fn feed(
        &mut self,
        input: &[u8],
        keys: &mut ScramKeys,
        out: &mut Vec<u8>,
    ) -> Result<LoginStep, WireError> {
        let step = match self.exchange.stage() {
            LoginStage::TlsAnswer => self.exchange.take_tls_answer(input),
            LoginStage::Startup
            | LoginStage::Password
            | LoginStage::ScramFirst
            | LoginStage::ScramFinal
            | LoginStage::ScramVerdict
            | LoginStage::Authenticated => self.advance(input, keys, out),
            // What is plain would pass for what comes from inside TLS, or for an answer to what was not yet said.
            LoginStage::TlsHandshake if !input.is_empty() => Err(WireError::BytesBeforeTls),
            LoginStage::EndPoint if !input.is_empty() => Err(Violation::OutOfTurn.into()),
            _ => {
                let what = "Login::feed before it began, after it was done or failed, or when it asked for \
                            something else";
                return Err(WireError::Misuse { what });
            }
        };
        step.inspect_err(|_| self.exchange.fail())
    }

    fn advance(
        &mut self,
        input: &[u8],
        keys: &mut ScramKeys,
        out: &mut Vec<u8>,
    ) -> Result<LoginStep, WireError> {
        let written_before = out.len();
        let mut rest = input;
        self.keep_opening(input);
        loop {
            let is_first = self.messages == 0;
            let message = match self
                .decoder
                .next(&mut rest, |kind, length| admit(kind, length, is_first))
            {
                Ok(Some(message)) => message,
                Ok(None) if out.len() > written_before => return Ok(LoginStep::Send),
                Ok(None) => return Ok(LoginStep::NeedMore),
                Err(_) if is_first => return Err(unframed(&self.opening)),
                Err(error) => return Err(error),
            };
            self.messages += 1;
            if self.messages > MAX_MESSAGES {
                return Err(Violation::EndlessLogin(MAX_MESSAGES).into());
            }
            match message {
                Message::Skipped { .. } => self.exchange.notice(),
                Message::Whole { kind, body } => self.exchange.take(kind, body, keys, out)?,
            }
            match self.exchange.stage() {
                LoginStage::Done => {
                    return Ok(LoginStep::Done {
                        consumed: input.len() - rest.len(),
                        report: self.exchange.report(),
                    });
                }
                LoginStage::EndPoint if rest.is_empty() => return Ok(LoginStep::BindChannel),
                LoginStage::EndPoint => return Err(Violation::OutOfTurn.into()),
                _ => {}
            }
        }
    }

    /// Goes on after the TLS handshake that [`LoginStep::StartTls`] asked for: appends `StartupMessage`.
    ///
    /// # Errors
    /// [`WireError::Misuse`] at any other time.
    pub fn tls_established(&mut self, out: &mut Vec<u8>) -> Result<(), WireError> {
        self.exchange.tls_established(out)
    }

    /// Goes on after [`LoginStep::BindChannel`], with the digest of the server's certificate by the hash of its
    /// signature, SHA-256 in place of MD5 and SHA-1 (RFC 5929 section 4.1), or None where the certificate has no such
    /// hash. The channel is not bound then, if the job allows that.
    ///
    /// # Errors
    /// [`WireError::ChannelNotBound`]; [`WireError::Misuse`] at any other time, or with something longer than any
    /// digest.
    pub fn bind_channel(
        &mut self,
        end_point: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        self.exchange.bind_channel(end_point, out)
    }

    /// Keeps the first bytes for the error that shows them.
    fn keep_opening(&mut self, input: &[u8]) {
        let wanted = input.len().min(OPENING_LEN - self.opening_len);
        let end = self.opening_len + wanted;
        self.opening[self.opening_len..end].copy_from_slice(&input[..wanted]);
        self.opening_len = end;
    }
}

/// Whether a message's body is wanted: all but those of notices. The first is none, nor anything but what a server can
/// open with.
fn admit(kind: u8, length: usize, is_first: bool) -> Result<bool, WireError> {
    const NOTICE: u8 = b'N';
    const FIRST: [u8; 3] = [b'R', b'E', b'v'];
    if is_first && !FIRST.contains(&kind) {
        let due = "a request to authenticate";
        return Err(Violation::UnexpectedMessage { kind, due }.into());
    }
    if kind == NOTICE {
        return Ok(false);
    }
    check_length(kind, length, MAX_MESSAGE)?;
    Ok(true)
}

/// The error for a peer whose first bytes are no message. A server that cannot start a process says so in the way
/// of protocol 2, to this day: `E` and a text (`report_fork_failure_to_client` in PostgreSQL's postmaster).
fn unframed(opening: &[u8]) -> WireError {
    match opening {
        [b'E', text @ ..]
            if text.len() == OPENING_LEN - 1 && text.iter().all(|&byte| is_text(byte)) =>
        {
            WireError::ErrorWithoutLength
        }
        _ => stranger(opening),
    }
}

/// Whether a text in any language and encoding has such a byte.
fn is_text(byte: u8) -> bool {
    byte >= 0x80 || byte == b' ' || byte.is_ascii_graphic()
}

/// The error for a peer that answered with `bytes`.
fn stranger(bytes: &[u8]) -> WireError {
    const SHOWN_BYTES: usize = 40;
    let shown = &bytes[..bytes.len().min(SHOWN_BYTES)];
    WireError::NotPostgres {
        banner: format!("\"{}\"", shown.escape_ascii()),
        looks_like: looks_like(bytes),
    }
}

/// What the first bytes look like that a peer of another protocol sends.
fn looks_like(bytes: &[u8]) -> Option<&'static str> {
    if let [_, _, 0, 0, 10 | 0xff, ..] = bytes {
        // A packet's length and number, then protocol version 10 or an error ("MySQL Packets").
        return Some("MySQL or MariaDB");
    }
    let known = BANNERS.iter().find(|(start, _)| bytes.starts_with(start));
    known.map(|&(_, name)| name)
}

/// How other protocols open.
const BANNERS: [(&[u8], &str); 6] = [
    (b"SSH-", "SSH"),
    (b"HTTP", "HTTP"),
    (b"220", "SMTP or FTP"),
    (b"+OK", "POP3"),
    (b"* OK", "IMAP"),
    (
        b"\x15\x03",
        "a TLS alert; it expects TLS from the first byte",
    ),
];
