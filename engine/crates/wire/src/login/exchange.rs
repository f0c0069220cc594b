//! The states of a login and what each packet does to them.

use std::sync::Arc;

use super::Encryption;
use super::answer::Answer;
use super::config::LoginConfig;
use super::report::{AuthPath, AuthPlugin, LoginReport};
use super::request::{negotiate, write_handshake_response, write_ssl_request};
use crate::authentication::mask_password;
use crate::capability::{Capabilities, Status};
use crate::error::{Violation, WireError};
use crate::greeting::{Greeting, SCRAMBLE_LEN};
use crate::packet::{append_packet, append_with};
use crate::payload::PayloadReader;
use crate::reply::{EOF_HEADER, ERR_HEADER, OK_HEADER, read_err, read_ok};

/// The first byte of `AuthMoreData`; `AuthSwitchRequest` shares the EOF packet's.
const MORE_DATA_HEADER: u8 = 0x01;
/// What `caching_sha2_password` says in its `AuthMoreData`.
const FAST_AUTH_SUCCESS: u8 = 0x03;
const PERFORM_FULL_AUTH: u8 = 0x04;
/// What a client asks the server's public key with.
const REQUEST_PUBLIC_KEY: u8 = 0x02;

/// More answers than any login takes: each plugin of a multi-plugin account takes at most three.
const MAX_ROUND_TRIPS: u8 = 32;

/// The length in bytes of an identifier (`NAME_LEN` in MySQL's sources); no plugin's name is longer.
const MAX_NAME_LEN: usize = 64 * 3;

/// Where a login stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing complete has come from the server.
    Greeting,
    /// TLS was requested; the caller makes the handshake.
    TlsHandshake,
    /// An answer is with the server, which will say OK, ERR or what else it wants.
    Verdict,
    /// The server's public key was asked for.
    PublicKey,
    /// The caller encrypts the password with that key.
    Encryption,
    /// The server said OK.
    Done,
    /// An error ended it.
    Failed,
}

/// Everything about one login but the framing.
pub(super) struct Exchange {
    config: Arc<LoginConfig>,
    state: State,
    greeting: Greeting,
    greeted: bool,
    capabilities: Capabilities,
    plugin: AuthPlugin,
    path: AuthPath,
    scramble: [u8; SCRAMBLE_LEN],
    status: Status,
    round_trips: u8,
    public_key: Vec<u8>,
    masked_password: Vec<u8>,
}

impl Exchange {
    pub(super) fn new(config: Arc<LoginConfig>) -> Self {
        Self {
            config,
            state: State::Greeting,
            greeting: Greeting::default(),
            greeted: false,
            capabilities: Capabilities::default(),
            plugin: AuthPlugin::Native,
            path: AuthPath::Empty,
            scramble: [0; SCRAMBLE_LEN],
            status: Status::default(),
            round_trips: 0,
            public_key: Vec::new(),
            masked_password: Vec::new(),
        }
    }

    pub(super) fn reset(&mut self) {
        self.state = State::Greeting;
        self.greeted = false;
        self.round_trips = 0;
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn fail(&mut self) {
        self.state = State::Failed;
    }

    pub(super) fn greeting(&self) -> Option<&Greeting> {
        self.greeted.then_some(&self.greeting)
    }

    pub(super) fn report(&self) -> LoginReport {
        LoginReport {
            plugin: self.plugin,
            path: self.path,
            capabilities: self.capabilities,
            status: self.status,
            round_trips: u32::from(self.round_trips),
        }
    }

    pub(super) fn encryption(&self) -> Option<Encryption<'_>> {
        (self.state == State::Encryption).then_some(Encryption {
            public_key_pem: &self.public_key,
            message: &self.masked_password,
        })
    }

    /// Takes one packet of the server's; an answer to it is appended to `out`, numbered `sequence`.
    pub(super) fn take(
        &mut self,
        payload: &[u8],
        sequence: u8,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        if payload.first() == Some(&ERR_HEADER) {
            return Err(read_err(payload)?.into());
        }
        match self.state {
            State::Greeting => self.take_greeting(payload, sequence, out),
            State::PublicKey => self.take_public_key(payload),
            _ => self.take_verdict(payload, sequence, out),
        }
    }

    fn take_greeting(
        &mut self,
        payload: &[u8],
        sequence: u8,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        self.greeting.read(payload)?;
        self.greeted = true;
        self.capabilities = negotiate(&self.config, self.greeting.capabilities)?;
        self.scramble = self.greeting.scramble;
        self.plugin = first_plugin(&self.greeting.plugin);
        if self.config.tls {
            append_with(out, sequence, |out| {
                write_ssl_request(out, self.capabilities);
            });
            self.state = State::TlsHandshake;
            return Ok(());
        }
        self.answer_greeting(sequence, out)
    }

    pub(super) fn tls_established(
        &mut self,
        sequence: u8,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        if self.state != State::TlsHandshake {
            let what = "Login::tls_established when no TLS handshake was asked for";
            return Err(WireError::Misuse { what });
        }
        self.answer_greeting(sequence, out)
    }

    fn answer_greeting(&mut self, sequence: u8, out: &mut Vec<u8>) -> Result<(), WireError> {
        let answer = Answer::new(self.plugin, &self.config.password, &self.scramble);
        append_with(out, sequence, |out| {
            write_handshake_response(out, &self.config, self.capabilities, self.plugin, &answer);
        });
        self.await_verdict(answer.path)
    }

    fn take_verdict(
        &mut self,
        payload: &[u8],
        sequence: u8,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let mut reader = PayloadReader::new(payload, "the server's answer to the login");
        match reader.u8()? {
            OK_HEADER => {
                self.status = read_ok(payload)?.status;
                self.state = State::Done;
                Ok(())
            }
            EOF_HEADER => self.switch_plugin(reader, sequence, out),
            MORE_DATA_HEADER if self.plugin == AuthPlugin::CachingSha2 => {
                self.take_sha2_status(reader.u8()?, sequence, out)
            }
            byte => Err(unexpected("the server's answer to the login", byte)),
        }
    }

    /// `AuthSwitchRequest`: the account has another plugin. A request of one byte is that of
    /// before MySQL 5.5, for the password hashes of before 4.1.
    fn switch_plugin(
        &mut self,
        mut request: PayloadReader<'_>,
        sequence: u8,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let name = if request.is_empty() {
            b"mysql_old_password"
        } else {
            request.until_nul_or_end()
        };
        let Some(plugin) = AuthPlugin::from_name(name) else {
            let plugin =
                String::from_utf8_lossy(&name[..name.len().min(MAX_NAME_LEN)]).into_owned();
            return Err(WireError::UnsupportedPlugin { plugin });
        };
        self.plugin = plugin;
        if plugin == AuthPlugin::Clear {
            if !self.config.takes_the_password_itself() {
                let encrypted = self.config.tls;
                return Err(WireError::CleartextRefused { encrypted });
            }
            return self.send_password(AuthPath::Clear, sequence, out);
        }
        self.scramble = request.array()?;
        let answer = Answer::new(plugin, &self.config.password, &self.scramble);
        append_packet(out, sequence, answer.bytes());
        self.await_verdict(answer.path)
    }

    fn take_sha2_status(
        &mut self,
        status: u8,
        sequence: u8,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        match status {
            // Only once: without an answer of the client's in between it would not count as a round.
            FAST_AUTH_SUCCESS if self.path != AuthPath::Fast => {
                self.path = AuthPath::Fast;
                Ok(())
            }
            PERFORM_FULL_AUTH if self.config.tls => {
                self.send_password(AuthPath::FullTls, sequence, out)
            }
            PERFORM_FULL_AUTH if self.config.local_socket => {
                self.send_password(AuthPath::FullSocket, sequence, out)
            }
            PERFORM_FULL_AUTH if !self.config.get_server_public_key => {
                Err(WireError::PublicKeyNotAskedFor)
            }
            PERFORM_FULL_AUTH => {
                append_packet(out, sequence, &[REQUEST_PUBLIC_KEY]);
                self.await_verdict(AuthPath::FullRsa)?;
                self.state = State::PublicKey;
                Ok(())
            }
            byte => Err(unexpected("caching_sha2_password's data", byte)),
        }
    }

    fn take_public_key(&mut self, payload: &[u8]) -> Result<(), WireError> {
        match payload {
            [MORE_DATA_HEADER, pem @ ..] => {
                self.public_key.clear();
                self.public_key.extend_from_slice(pem);
                let password = self.config.password.as_bytes();
                mask_password(&mut self.masked_password, password, &self.scramble);
                self.state = State::Encryption;
                Ok(())
            }
            [byte, ..] => Err(unexpected("the server's public key", *byte)),
            [] => Err(Violation::Truncated {
                packet: "the server's public key",
            }
            .into()),
        }
    }

    pub(super) fn password_encrypted(&mut self) -> Result<(), WireError> {
        if self.state != State::Encryption {
            let what = "Login::password_encrypted when no encryption was asked for";
            return Err(WireError::Misuse { what });
        }
        self.await_verdict(AuthPath::FullRsa)
    }

    /// Sends the password itself with its NUL; the caller made sure of the channel.
    fn send_password(
        &mut self,
        path: AuthPath,
        sequence: u8,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        append_with(out, sequence, |out| {
            out.extend_from_slice(self.config.password.as_bytes());
            out.push(0);
        });
        self.await_verdict(path)
    }

    fn await_verdict(&mut self, path: AuthPath) -> Result<(), WireError> {
        self.path = path;
        self.state = State::Verdict;
        self.round_trips += 1;
        if self.round_trips > MAX_ROUND_TRIPS {
            return Err(Violation::EndlessLogin(MAX_ROUND_TRIPS).into());
        }
        Ok(())
    }
}

/// The plugin to begin with: the server's default, or, where that is none that can be begun with,
/// `mysql_native_password`, from which the server switches to the account's.
fn first_plugin(default: &str) -> AuthPlugin {
    match AuthPlugin::from_name(default.as_bytes()) {
        Some(plugin) if plugin != AuthPlugin::Clear => plugin,
        _ => AuthPlugin::Native,
    }
}

fn unexpected(packet: &'static str, byte: u8) -> WireError {
    Violation::UnexpectedByte { packet, byte }.into()
}
