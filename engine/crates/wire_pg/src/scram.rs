//! SCRAM-SHA-256 and SCRAM-SHA-256-PLUS, the client's side (RFC 5802, RFC 7677), as libpq speaks them: the user's
//! name is empty, since the server takes that of `StartupMessage`.

mod keys;

pub use keys::{KeyUse, ScramKeys};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::{Violation, WireError};
use crate::message::{Reader, append_message, append_text, length_field};
use crate::server_error::printable;
use keys::{Hash, Keys, hmac, proves};

/// Random bytes of a nonce, as many as libpq takes (`SCRAM_RAW_NONCE_LEN`).
pub(crate) const NONCE_BYTES: usize = 18;
/// The same in base64.
const NONCE_LEN: usize = NONCE_BYTES / 3 * 4;
/// The longest digest that a certificate can be signed with, SHA-512.
pub(crate) const MAX_END_POINT_LEN: usize = 64;
/// More than any server's message has: PostgreSQL's salts have 16 bytes and its nonces 18.
const MAX_MESSAGE_LEN: usize = 4096;
const MAX_SALT_LEN: usize = 1024;
const MAX_ERROR_LEN: usize = 128;

const PASSWORD_MESSAGE: u8 = b'p';

/// What the client says of binding the channel (RFC 5802 section 6, `gs2-cbind-flag`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binding {
    /// It does not bind: `n`.
    None,
    /// It would, but the server did not offer to: `y`.
    NotOffered,
    /// It binds to the server's certificate, whose digest this is: `p=tls-server-end-point`.
    EndPoint {
        digest: [u8; MAX_END_POINT_LEN],
        length: usize,
    },
}

impl Binding {
    /// Binds to a digest; None if it is longer than any.
    pub(crate) fn to(end_point: &[u8]) -> Option<Self> {
        let mut digest = [0; MAX_END_POINT_LEN];
        digest
            .get_mut(..end_point.len())?
            .copy_from_slice(end_point);
        Some(Self::EndPoint {
            digest,
            length: end_point.len(),
        })
    }

    pub(crate) fn mechanism(&self) -> &'static str {
        match self {
            Self::EndPoint { .. } => "SCRAM-SHA-256-PLUS",
            _ => "SCRAM-SHA-256",
        }
    }

    fn header(&self) -> &'static [u8] {
        match self {
            Self::None => b"n,,",
            Self::NotOffered => b"y,,",
            Self::EndPoint { .. } => b"p=tls-server-end-point,,",
        }
    }

    fn digest(&self) -> &[u8] {
        match self {
            Self::EndPoint { digest, length } => &digest[..*length],
            _ => &[],
        }
    }
}

/// Whose password it is about, and how much may be asked of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account<'a> {
    pub(crate) password: &'a [u8],
    pub(crate) max_iterations: u32,
}

/// One exchange; to be used again by [`Scram::start`].
pub(crate) struct Scram {
    binding: Binding,
    nonce: [u8; NONCE_LEN],
    /// What both signatures are over (RFC 5802 section 3, `AuthMessage`).
    auth_message: Vec<u8>,
    server_key: Hash,
}

impl Scram {
    pub(crate) fn new() -> Self {
        Self {
            binding: Binding::None,
            nonce: [0; NONCE_LEN],
            auth_message: Vec::new(),
            server_key: Hash::default(),
        }
    }

    /// Appends `SASLInitialResponse` with the client's first message.
    pub(crate) fn start(
        &mut self,
        binding: Binding,
        nonce: &[u8; NONCE_BYTES],
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        self.binding = binding;
        // 18 bytes are 24 characters without a rest.
        let _ = STANDARD.encode_slice(nonce, &mut self.nonce);
        self.auth_message.clear();
        self.auth_message.extend_from_slice(b"n=,r=");
        self.auth_message.extend_from_slice(&self.nonce);
        append_message(out, PASSWORD_MESSAGE, |out| {
            append_text(out, binding.mechanism().as_bytes(), "mechanism")?;
            let header = binding.header();
            let length = length_field(header.len() + self.auth_message.len(), "a message")?;
            out.extend_from_slice(&length);
            out.extend_from_slice(header);
            out.extend_from_slice(&self.auth_message);
            Ok(())
        })
    }

    /// Answers the server's first message with the proof; how often the server has the password hashed, and
    /// whether that was done for this login.
    pub(crate) fn answer(
        &mut self,
        message: &[u8],
        account: Account<'_>,
        keys: &mut ScramKeys,
        out: &mut Vec<u8>,
    ) -> Result<(u32, KeyUse), WireError> {
        let first = ServerFirst::read(message, &self.nonce)?;
        let iterations = first.iterations(account.max_iterations)?;
        let mut salt = [0; MAX_SALT_LEN];
        let salt = decode(first.salt, &mut salt, "salt is not base64")?;
        let (key, used) = keys.derive(account.password, salt, iterations);
        self.server_key = key.server;
        append_message(out, PASSWORD_MESSAGE, |out| {
            let start = out.len();
            self.append_final_without_proof(first.nonce, out);
            self.auth_message.push(b',');
            self.auth_message.extend_from_slice(message);
            self.auth_message.push(b',');
            self.auth_message.extend_from_slice(&out[start..]);
            out.extend_from_slice(b",p=");
            append_base64(out, &proof(&key, &self.auth_message));
            Ok(())
        })?;
        Ok((iterations, used))
    }

    /// `client-final-message-without-proof`: header and digest again, and both nonces.
    fn append_final_without_proof(&self, nonce: &[u8], out: &mut Vec<u8>) {
        const LONGEST_HEADER: usize = 24;
        let (header, digest) = (self.binding.header(), self.binding.digest());
        let mut input = [0; LONGEST_HEADER + MAX_END_POINT_LEN];
        let length = header.len() + digest.len();
        input[..header.len()].copy_from_slice(header);
        input[header.len()..length].copy_from_slice(digest);
        out.extend_from_slice(b"c=");
        append_base64(out, &input[..length]);
        out.extend_from_slice(b",r=");
        out.extend_from_slice(nonce);
    }

    /// Reads the server's final message, which proves that it knows the password as well.
    pub(crate) fn verify(&self, message: &[u8]) -> Result<(), WireError> {
        if let Some(error) = message.strip_prefix(b"e=") {
            return Err(WireError::ScramRefused(printable(error, MAX_ERROR_LEN)));
        }
        let Some(signature) = message.strip_prefix(b"v=") else {
            return Err(Violation::Scram("final message has no signature").into());
        };
        let mut decoded = [0; 32 + 2];
        let signature = decode(signature, &mut decoded, "signature is not base64")?;
        if proves(&self.server_key, &self.auth_message, signature) {
            Ok(())
        } else {
            Err(WireError::ServerNotProven)
        }
    }
}

/// `ClientProof`: the client's key under a signature that only who has its hash can take off.
fn proof(key: &Keys, auth_message: &[u8]) -> Hash {
    let signature = hmac(&key.stored, auth_message);
    let mut proof = key.client;
    for (byte, mask) in proof.iter_mut().zip(signature) {
        *byte ^= mask;
    }
    proof
}

/// The server's first message: both nonces, salt and iterations (RFC 5802 section 7, `server-first-message`).
/// Extensions are refused, as libpq does.
struct ServerFirst<'a> {
    nonce: &'a [u8],
    salt: &'a [u8],
    iterations: &'a [u8],
}

impl<'a> ServerFirst<'a> {
    fn read(message: &'a [u8], client_nonce: &[u8]) -> Result<Self, Violation> {
        if message.len() > MAX_MESSAGE_LEN {
            return Err(Violation::Scram("first message is too long"));
        }
        let mut parts = message.split(|&byte| byte == b',');
        let mut part = |name: &'static [u8], missing| {
            let part = parts.next().and_then(|part| part.strip_prefix(name));
            part.ok_or(Violation::Scram(missing))
        };
        let nonce = part(b"r=", "first message does not begin with a nonce")?;
        let salt = part(b"s=", "first message has no salt after the nonce")?;
        let iterations = part(b"i=", "first message has no iterations after the salt")?;
        if parts.next().is_some() {
            return Err(Violation::Scram("first message has extensions"));
        }
        let of_server = nonce.strip_prefix(client_nonce);
        let of_server =
            of_server.ok_or(Violation::Scram("nonce is not an answer to the client's"))?;
        if of_server.is_empty() || !of_server.iter().all(u8::is_ascii_graphic) {
            return Err(Violation::Scram(
                "nonce has nothing of the server's, or bytes that none can have",
            ));
        }
        Ok(Self {
            nonce,
            salt,
            iterations,
        })
    }

    fn iterations(&self, limit: u32) -> Result<u32, WireError> {
        let digits = self.iterations;
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(Violation::Scram("iterations are no number").into());
        }
        let asked = digits.iter().fold(0_u64, |number, digit| {
            number
                .saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'))
        });
        match u32::try_from(asked) {
            Ok(0) => Err(Violation::Scram("iterations are none").into()),
            Ok(iterations) if iterations <= limit => Ok(iterations),
            _ => Err(WireError::TooManyIterations { asked, limit }),
        }
    }
}

fn decode<'b>(
    text: &[u8],
    buffer: &'b mut [u8],
    wrong: &'static str,
) -> Result<&'b [u8], Violation> {
    let length = STANDARD.decode_slice(text, buffer);
    let length = length.map_err(|_| Violation::Scram(wrong))?;
    Ok(&buffer[..length])
}

fn append_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    // There is just the room that it takes.
    let _ = STANDARD.encode_slice(bytes, &mut out[start..]);
}

/// Whether the mechanisms that a server offers, each with a NUL, have this one.
pub(crate) fn offers(mechanisms: &[u8], wanted: &str) -> Result<bool, Violation> {
    let mut reader = Reader::new(mechanisms, "AuthenticationSASL");
    let mut has_it = false;
    loop {
        match reader.text()? {
            b"" => break,
            mechanism => has_it |= mechanism == wanted.as_bytes(),
        }
    }
    reader.finish()?;
    Ok(has_it)
}

#[cfg(test)]
mod tests;
