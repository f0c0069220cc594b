//! What each of the server's messages does to a login, and what is answered.

use std::sync::Arc;

use md5::{Digest, Md5};

use super::config::{AuthMethod, AuthMethods, LoginConfig, TlsStart};
use super::report::{LoginReport, LoginStage, Parameters};
use super::{looks_like, stranger};
use crate::error::{Violation, WireError};
use crate::message::{Reader, append_counted, append_message, append_text};
use crate::response::TransactionStatus;
use crate::scram::{Account, Binding, NONCE_BYTES, Scram, ScramKeys, offers};
use crate::server_error::{ServerError, printable};

/// 1234 and 5679, where a version would be ("SSLRequest").
const SSL_REQUEST: u32 = 80_877_103;
const PROTOCOL_MAJOR: u16 = 3;
const PROTOCOL_MINOR: u16 = 0;

const PLAIN: &str = "SCRAM-SHA-256";
const PLUS: &str = "SCRAM-SHA-256-PLUS";
const MAX_MECHANISMS_LEN: usize = 128;

/// Where a login stands, and what it has learnt.
pub(super) struct Exchange {
    config: Arc<LoginConfig>,
    /// The password as SCRAM hashes it (RFC 4013, by RFC 5802 section 5.1).
    prepared_password: String,
    stage: LoginStage,
    nonce: [u8; NONCE_BYTES],
    scram: Scram,
    parameters: Parameters,
    report: LoginReport,
    /// Whether the server offered SCRAM without a bound channel beside that with one.
    offers_plain: bool,
}

const NOTHING_KNOWN: LoginReport = LoginReport {
    method: AuthMethod::Trust,
    iterations: None,
    key: None,
    round_trips: 0,
    process_id: None,
    transaction: TransactionStatus::Idle,
    notices: 0,
};

impl Exchange {
    pub(super) fn new(config: Arc<LoginConfig>) -> Self {
        Self {
            prepared_password: prepared(&config.password),
            config,
            stage: LoginStage::Idle,
            nonce: [0; NONCE_BYTES],
            scram: Scram::new(),
            parameters: Parameters::default(),
            report: NOTHING_KNOWN,
            offers_plain: false,
        }
    }

    pub(super) fn stage(&self) -> LoginStage {
        self.stage
    }

    pub(super) fn fail(&mut self) {
        self.stage = LoginStage::Failed;
    }

    pub(super) fn report(&self) -> LoginReport {
        self.report
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name)
    }

    /// Counts a message that says nothing about the login.
    pub(super) fn notice(&mut self) {
        self.report.notices += 1;
    }

    pub(super) fn begin(
        &mut self,
        nonce: [u8; NONCE_BYTES],
        out: &mut Vec<u8>,
    ) -> Result<super::LoginStep, WireError> {
        self.nonce = nonce;
        self.report = NOTHING_KNOWN;
        match self.config.tls {
            TlsStart::Off => self.append_startup(out)?,
            TlsStart::Request => {
                out.extend_from_slice(&8_u32.to_be_bytes());
                out.extend_from_slice(&SSL_REQUEST.to_be_bytes());
                self.wait(LoginStage::TlsAnswer);
            }
            TlsStart::Direct => {
                self.stage = LoginStage::TlsHandshake;
                return Ok(super::LoginStep::StartTls);
            }
        }
        Ok(super::LoginStep::Send)
    }

    /// The one byte that answers `SSLRequest`. More than one would be read as if it had come inside TLS
    /// (CVE-2021-23222).
    pub(super) fn take_tls_answer(&mut self, input: &[u8]) -> Result<super::LoginStep, WireError> {
        match input {
            [] => Ok(super::LoginStep::NeedMore),
            [b'S'] => {
                self.stage = LoginStage::TlsHandshake;
                Ok(super::LoginStep::StartTls)
            }
            [b'N'] => Err(WireError::TlsNotOffered),
            [b'E', ..] => Err(WireError::ErrorInsteadOfTls),
            [b'S' | b'N', ..] if looks_like(input).is_none() => Err(WireError::BytesBeforeTls),
            _ => Err(stranger(input)),
        }
    }

    pub(super) fn tls_established(&mut self, out: &mut Vec<u8>) -> Result<(), WireError> {
        if self.stage != LoginStage::TlsHandshake {
            let what = "Login::tls_established when no handshake was asked for";
            return Err(WireError::Misuse { what });
        }
        self.append_startup(out)
    }

    fn append_startup(&mut self, out: &mut Vec<u8>) -> Result<(), WireError> {
        append_counted(out, |out| {
            out.extend_from_slice(&PROTOCOL_MAJOR.to_be_bytes());
            out.extend_from_slice(&PROTOCOL_MINOR.to_be_bytes());
            for (name, value) in self.config.startup_parameters() {
                append_text(out, name.as_bytes(), "startup parameters")?;
                append_text(out, value.as_bytes(), "startup parameters")?;
            }
            out.push(0);
            Ok(())
        })?;
        self.wait(LoginStage::Startup);
        Ok(())
    }

    /// Waits for the server.
    fn wait(&mut self, stage: LoginStage) {
        self.stage = stage;
        self.report.round_trips += 1;
    }

    /// Takes a message.
    pub(super) fn take(
        &mut self,
        kind: u8,
        body: &[u8],
        keys: &mut ScramKeys,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        match kind {
            b'E' => Err(ServerError::read(body)?.into()),
            b'R' if self.stage != LoginStage::Authenticated => {
                self.take_authentication(body, keys, out)
            }
            b'v' if self.stage == LoginStage::Startup => Ok(take_version(body)?),
            b'S' if self.stage == LoginStage::Authenticated => {
                let mut reader = Reader::new(body, "a ParameterStatus");
                self.parameters.set(reader.text()?, reader.text()?);
                Ok(reader.finish()?)
            }
            b'K' if self.stage == LoginStage::Authenticated => {
                let mut reader = Reader::new(body, "a BackendKeyData");
                self.report.process_id = Some(reader.u32()?);
                Ok(())
            }
            b'Z' if self.stage == LoginStage::Authenticated => {
                self.report.transaction = TransactionStatus::read(body)?;
                self.stage = LoginStage::Done;
                Ok(())
            }
            kind => {
                let due = match self.stage {
                    LoginStage::Authenticated => "the end of a login",
                    _ => "a request to authenticate",
                };
                Err(Violation::UnexpectedMessage { kind, due }.into())
            }
        }
    }

    fn take_authentication(
        &mut self,
        body: &[u8],
        keys: &mut ScramKeys,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let mut reader = Reader::new(body, "an authentication request");
        let request = reader.u32()?;
        match (request, self.stage) {
            (0, _) => {
                reader.finish()?;
                self.take_ok()
            }
            (3, LoginStage::Startup) => {
                reader.finish()?;
                self.send_password(out)
            }
            (5, LoginStage::Startup) => {
                let salt = reader.array()?;
                reader.finish()?;
                self.send_md5(salt, out)
            }
            (10, LoginStage::Startup) => self.choose_mechanism(reader.rest(), out),
            (11, LoginStage::ScramFirst) => {
                let account = Account {
                    password: self.prepared_password.as_bytes(),
                    max_iterations: self.config.max_iterations,
                };
                let (iterations, used) = self.scram.answer(reader.rest(), account, keys, out)?;
                (self.report.iterations, self.report.key) = (Some(iterations), Some(used));
                self.wait(LoginStage::ScramFinal);
                Ok(())
            }
            (12, LoginStage::ScramFinal) => {
                self.scram.verify(reader.rest())?;
                self.stage = LoginStage::ScramVerdict;
                Ok(())
            }
            (2 | 4 | 6 | 7 | 9, LoginStage::Startup) => Err(unsupported(match request {
                2 => "Kerberos 5",
                4 => "crypt",
                6 => "SCM credentials",
                7 => "GSSAPI",
                _ => "SSPI",
            })),
            (2..=12, _) => Err(Violation::UnexpectedMessage {
                kind: b'R',
                due: "the next message of the method that the server had chosen",
            }
            .into()),
            (value, _) => Err(Violation::UnknownValue {
                message: "an authentication request",
                value,
            }
            .into()),
        }
    }

    /// `AuthenticationOk`: the account is in, if what it was asked for is enough for the job.
    fn take_ok(&mut self) -> Result<(), WireError> {
        match self.stage {
            LoginStage::Startup => self.demand(AuthMethod::Trust)?,
            LoginStage::ScramFirst | LoginStage::ScramFinal => {
                return Err(Violation::ScramNotFinished.into());
            }
            _ => {}
        }
        self.stage = LoginStage::Authenticated;
        Ok(())
    }

    /// Refuses a method that the job does not allow.
    fn demand(&mut self, asked: AuthMethod) -> Result<(), WireError> {
        let allowed = self.config.methods;
        if !allowed.contains(asked) {
            return Err(WireError::MethodNotAllowed { asked, allowed });
        }
        self.report.method = asked;
        Ok(())
    }

    /// The same, of one that takes a password.
    fn demand_with_password(&mut self, method: AuthMethod) -> Result<(), WireError> {
        self.demand(method)?;
        if self.config.password.is_empty() {
            return Err(WireError::NoPassword { method });
        }
        Ok(())
    }

    fn send_password(&mut self, out: &mut Vec<u8>) -> Result<(), WireError> {
        self.demand_with_password(AuthMethod::Password)?;
        if !self.config.takes_the_password_itself() {
            let encrypted = self.config.tls != TlsStart::Off;
            return Err(WireError::CleartextRefused { encrypted });
        }
        append_message(out, b'p', |out| {
            append_text(out, self.config.password.as_bytes(), "password")
        })?;
        self.wait(LoginStage::Password);
        Ok(())
    }

    fn send_md5(&mut self, salt: [u8; 4], out: &mut Vec<u8>) -> Result<(), WireError> {
        self.demand_with_password(AuthMethod::Md5)?;
        let answer = md5_answer(&self.config.user, &self.config.password, salt);
        append_message(out, b'p', |out| append_text(out, &answer, "password"))?;
        self.wait(LoginStage::Password);
        Ok(())
    }

    /// `AuthenticationSASL`: takes SCRAM with a bound channel where that is offered and allowed, else without.
    fn choose_mechanism(&mut self, mechanisms: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let has_tls = self.config.tls != TlsStart::Off;
        let (plus, plain) = (offers(mechanisms, PLUS)?, offers(mechanisms, PLAIN)?);
        if plus && !has_tls {
            return Err(Violation::PlusWithoutTls.into());
        }
        if !plus && !plain {
            return Err(unsupported(&listed(mechanisms)));
        }
        self.offers_plain = plain;
        let would_bind = self.config.methods.contains(AuthMethod::ScramSha256Plus);
        if plus && would_bind {
            self.demand_with_password(AuthMethod::ScramSha256Plus)?;
            self.stage = LoginStage::EndPoint;
            return Ok(());
        }
        if self.config.methods == AuthMethods::only(AuthMethod::ScramSha256Plus) {
            return Err(WireError::ChannelNotBound(if has_tls {
                "the server does not offer it"
            } else {
                "the connection has no TLS"
            }));
        }
        if plain {
            let binding = if has_tls && would_bind {
                Binding::NotOffered
            } else {
                Binding::None
            };
            return self.start_scram(AuthMethod::ScramSha256, binding, out);
        }
        // What is left is a server that only binds, and a job that must not.
        self.demand(AuthMethod::ScramSha256Plus)
    }

    pub(super) fn bind_channel(
        &mut self,
        end_point: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        if self.stage != LoginStage::EndPoint {
            let what = "Login::bind_channel when no digest was asked for";
            return Err(WireError::Misuse { what });
        }
        let bound = match end_point.map(Binding::to) {
            Some(None) => {
                let what = "Login::bind_channel with more bytes than a digest has";
                return Err(WireError::Misuse { what });
            }
            Some(Some(binding)) => self.start_scram(AuthMethod::ScramSha256Plus, binding, out),
            None if self.offers_plain && self.config.methods.contains(AuthMethod::ScramSha256) => {
                self.start_scram(AuthMethod::ScramSha256, Binding::None, out)
            }
            None => Err(WireError::ChannelNotBound(
                "the server's certificate is signed in a way for which there is no digest (RFC 5929 section 4.1)",
            )),
        };
        bound.inspect_err(|_| self.fail())
    }

    fn start_scram(
        &mut self,
        method: AuthMethod,
        binding: Binding,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        self.demand_with_password(method)?;
        self.scram.start(binding, &self.nonce, out)?;
        self.wait(LoginStage::ScramFirst);
        Ok(())
    }
}

/// `NegotiateProtocolVersion`: what the server has in place of what it was asked for. Nothing above 3.0 was, so that
/// only a server of another version says something new; names of options that it does not know change nothing.
fn take_version(body: &[u8]) -> Result<(), Violation> {
    let mut reader = Reader::new(body, "a NegotiateProtocolVersion");
    let (major, minor) = (reader.u16()?, reader.u16()?);
    // PostgreSQL gives the whole version where its documentation says the minor one alone.
    if !matches!(major, 0 | PROTOCOL_MAJOR) || minor != PROTOCOL_MINOR {
        return Err(Violation::ProtocolVersion { major, minor });
    }
    for _ in 0..reader.u32()? {
        reader.text()?;
    }
    reader.finish()
}

/// The password as SCRAM hashes it: by SASLprep, or as it is where that refuses it, as PostgreSQL does on both sides
/// (`pg_saslprep`).
fn prepared(password: &str) -> String {
    match stringprep::saslprep(password) {
        Ok(prepared) if !prepared.is_empty() => prepared.into_owned(),
        _ => password.to_owned(),
    }
}

/// `"md5" + md5(md5(password + user) + salt)`, the hashes in hexadecimal (`AuthenticationMD5Password`).
fn md5_answer(user: &str, password: &str, salt: [u8; 4]) -> [u8; 35] {
    let inner = Md5::new().chain_update(password).chain_update(user);
    let inner = hexadecimal(inner.finalize().into());
    let outer = Md5::new().chain_update(inner).chain_update(salt);
    let mut answer = *b"md5................................";
    answer[3..].copy_from_slice(&hexadecimal(outer.finalize().into()));
    answer
}

fn hexadecimal(hash: [u8; 16]) -> [u8; 32] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 32];
    for (pair, byte) in text.chunks_exact_mut(2).zip(hash) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    text
}

fn unsupported(method: &str) -> WireError {
    WireError::UnsupportedMethod {
        method: method.to_owned(),
    }
}

/// The mechanisms of a list, for people.
fn listed(mechanisms: &[u8]) -> String {
    let names = mechanisms
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty());
    let names: Vec<&[u8]> = names.collect();
    format!(
        "SASL with {}",
        printable(&names.join(&b", "[..]), MAX_MECHANISMS_LEN)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn md5_answers_equal_another_implementation() {
        let theirs = postgres_protocol::authentication::md5_hash(b"app", b"pencil", [1, 2, 3, 4]);
        assert_eq!(md5_answer("app", "pencil", [1, 2, 3, 4]), theirs.as_bytes());
    }

    #[test]
    fn a_password_is_prepared_as_the_server_does_it() {
        assert_eq!(prepared("I\u{ad}X"), "IX");
        assert_eq!(prepared("\u{2168}"), "IX");
        assert_eq!(prepared("a\u{a0}b"), "a b");
        assert_eq!(prepared("a\u{7}"), "a\u{7}");
        assert_eq!(prepared("\u{ad}"), "\u{ad}");
    }
}
