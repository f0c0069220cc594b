//! From the server's first byte to its OK: the connection phase as a state machine.

mod answer;
mod config;
mod exchange;
mod report;
mod request;

use std::sync::Arc;

pub use config::{LoginConfig, ServerIdentity};
pub use report::{AuthPath, AuthPlugin, LoginReport};

use crate::error::{Violation, WireError};
use crate::greeting::{Greeting, stranger};
use crate::packet::{Packet, PacketDecoder, append_packet};
use exchange::{Exchange, State};

/// No packet of a login is longer; the longest is the server's public key.
const MAX_PAYLOAD: usize = 64 << 10;
const OPENING_LEN: usize = 4;

/// What to do next. Bytes in `out` are always to be written first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginStep {
    /// Read more; nothing to write.
    NeedMore,
    /// Write `out`, then read.
    Send,
    /// Write `out`, make the TLS handshake, then call [`Login::tls_established`].
    StartTls,
    /// Encrypt what [`Login::encryption`] returns with RSA-OAEP, then call
    /// [`Login::password_encrypted`].
    EncryptPassword,
    /// The server said OK.
    Done {
        /// How much of the input belonged to the login; a server sends nothing after it unasked.
        consumed: usize,
        /// How it went.
        report: LoginReport,
    },
}

/// What the caller is asked to encrypt: `message` with RSA-OAEP (SHA-1, MGF1 with SHA-1) under the
/// key in `public_key_pem`. It holds the masked password: not to be logged.
#[derive(Clone, Copy)]
pub struct Encryption<'a> {
    /// The server's public key (`-----BEGIN PUBLIC KEY-----`), as it came over the unprotected
    /// channel.
    pub public_key_pem: &'a [u8],
    /// The plain text.
    pub message: &'a [u8],
}

/// One connection's login.
///
/// Feed it what the server sends; it appends what the client answers to the buffer it is given, and
/// says what to do next. It can be used again after [`Login::reset`], and then allocates nothing.
///
/// ```
/// # use std::sync::Arc;
/// # use tlstax_wire::{Login, LoginConfig, LoginStep};
/// let config = LoginConfig { user: "app".into(), ..LoginConfig::default() };
/// let mut login = Login::new(Arc::new(config))?;
/// let mut out = Vec::new();
/// assert_eq!(login.feed(b"", &mut out)?, LoginStep::NeedMore);
/// # Ok::<(), tlstax_wire::WireError>(())
/// ```
pub struct Login {
    decoder: PacketDecoder,
    opening: [u8; OPENING_LEN],
    opening_len: usize,
    exchange: Exchange,
}

impl Login {
    /// A login that waits for the greeting.
    ///
    /// # Errors
    /// [`WireError::NulByte`] if the user name, password or database has a NUL byte.
    pub fn new(config: Arc<LoginConfig>) -> Result<Self, WireError> {
        config.check()?;
        Ok(Self {
            decoder: PacketDecoder::new(MAX_PAYLOAD),
            opening: [0; OPENING_LEN],
            opening_len: 0,
            exchange: Exchange::new(config),
        })
    }

    /// Begins again with the greeting of another connection.
    pub fn reset(&mut self) {
        self.decoder.reset(0);
        self.opening_len = 0;
        self.exchange.reset();
    }

    /// The server's greeting, once it is there.
    pub fn greeting(&self) -> Option<&Greeting> {
        self.exchange.greeting()
    }

    /// Takes all of `input`, in pieces of any size; appends answers to `out`.
    ///
    /// # Errors
    /// Any [`WireError`]; the connection is then of no more use.
    pub fn feed(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<LoginStep, WireError> {
        if !matches!(
            self.exchange.state(),
            State::Greeting | State::Verdict | State::PublicKey
        ) {
            let what = "Login::feed after it was done, failed, or asked for something else";
            return Err(WireError::Misuse { what });
        }
        self.advance(input, out).map_err(|error| {
            self.exchange.fail();
            error.out_of_turn(self.decoder.was_out_of_turn())
        })
    }

    fn advance(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<LoginStep, WireError> {
        let written_before = out.len();
        let mut rest = input;
        self.keep_opening(input);
        loop {
            let sequence = self.decoder.sequence().wrapping_add(1);
            let payload = match self.decoder.next(&mut rest, |_, _| false) {
                Ok(None) if out.len() > written_before => return Ok(LoginStep::Send),
                Ok(None) => return Ok(LoginStep::NeedMore),
                Ok(Some(Packet::Whole(payload))) => payload,
                Ok(Some(Packet::Skipped { .. })) => &[],
                Err(_) if self.exchange.state() == State::Greeting => {
                    return Err(stranger(&self.opening));
                }
                Err(error) => return Err(error),
            };
            let written = out.len();
            self.exchange.take(payload, sequence, out)?;
            if out.len() > written {
                self.decoder.reset(sequence.wrapping_add(1));
            }
            if let Some(step) = self.pause(input.len() - rest.len(), rest)? {
                return Ok(step);
            }
        }
    }

    /// The step at which the caller has something to do other than moving bytes.
    fn pause(&self, consumed: usize, rest: &[u8]) -> Result<Option<LoginStep>, WireError> {
        let step = match self.exchange.state() {
            State::Done => {
                return Ok(Some(LoginStep::Done {
                    consumed,
                    report: self.exchange.report(),
                }));
            }
            State::TlsHandshake => LoginStep::StartTls,
            State::Encryption => LoginStep::EncryptPassword,
            _ => return Ok(None),
        };
        // Plain bytes before the TLS handshake would pass for bytes from inside it.
        if rest.is_empty() {
            Ok(Some(step))
        } else {
            Err(Violation::OutOfTurn("more before the client had answered").into())
        }
    }

    /// Goes on after the TLS handshake that [`LoginStep::StartTls`] asked for.
    ///
    /// # Errors
    /// [`WireError::Misuse`] at any other time.
    pub fn tls_established(&mut self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let sequence = self.decoder.sequence();
        self.exchange.tls_established(sequence, out)?;
        self.decoder.reset(sequence.wrapping_add(1));
        Ok(())
    }

    /// What to encrypt, after [`LoginStep::EncryptPassword`].
    pub fn encryption(&self) -> Option<Encryption<'_>> {
        self.exchange.encryption()
    }

    /// Goes on with the ciphertext of [`Login::encryption`]'s message.
    ///
    /// # Errors
    /// [`WireError::Misuse`] at any other time.
    pub fn password_encrypted(
        &mut self,
        ciphertext: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        self.exchange.password_encrypted()?;
        let next = append_packet(out, self.decoder.sequence(), ciphertext);
        self.decoder.reset(next);
        Ok(())
    }

    /// Keeps the first bytes for the error that shows them.
    fn keep_opening(&mut self, input: &[u8]) {
        let wanted = input.len().min(OPENING_LEN - self.opening_len);
        let end = self.opening_len + wanted;
        self.opening[self.opening_len..end].copy_from_slice(&input[..wanted]);
        self.opening_len = end;
    }
}
