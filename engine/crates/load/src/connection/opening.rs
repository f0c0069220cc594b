//! A connection on its way to the server's OK: TCP, greeting, TLS handshake, authentication.

use rustix::event::epoll::{self, EventData};
use tlstax_tls::{Connection as TlsConnection, Context, HandshakeStatus};
use tlstax_wire::{Algorithm, LoginReport, LoginStep};

use super::asking::READS_AT_ONCE;
use super::{Advance, Connection, INTEREST, Parsers, State, internal, nothing_more, socket};
use crate::failure::Failure;
use crate::recorder::Phase;
use crate::shared::{Desk, Shared};
use crate::socket::connect_result;
use crate::transport::Transport;
use crate::turns::Turns;

impl Connection {
    /// Sends the SYN and asks epoll for everything that will ever happen on the socket: one system
    /// call for its whole life, since edge triggering needs no re-arming.
    pub(super) fn connect(
        &mut self,
        now_ns: u64,
        shared: &Shared,
        desk: &mut Desk,
    ) -> Result<(), Failure> {
        self.state = State::Connecting;
        let source = desk.take_source(&shared.sources);
        let socket = shared
            .target
            .begin_connect(source)
            .map_err(Failure::connecting)?;
        epoll::add(
            &desk.epoll,
            &socket,
            EventData::new_u64(self.number),
            INTEREST,
        )
        .map_err(Failure::connecting)?;
        self.transport = Some(Transport::new(socket));
        self.login.reset();
        self.out.clear();
        self.written = 0;
        self.readable = false;
        self.first_query = true;
        self.connect_ns = now_ns;
        self.turns = Turns::default();
        Ok(())
    }

    pub(super) fn finish_connect(
        &mut self,
        shared: &Shared,
        desk: &mut Desk,
    ) -> Result<Advance, Failure> {
        connect_result(socket(&mut self.transport)?.socket()).map_err(Failure::connecting)?;
        desk.recorder.slice.counts.connections += 1;
        if shared.target.is_tcp() {
            // The SYN and its answer.
            self.turns.counted(1);
        }
        self.end_phase(Phase::TcpConnect, self.connect_ns, desk);
        // The server speaks first, but not before the client's last word of that handshake is there.
        self.turns.sent();
        self.state = State::LoggingIn;
        Ok(Advance::Waiting)
    }

    pub(super) fn log_in(&mut self, shared: &Shared, desk: &mut Desk) -> Result<Advance, Failure> {
        for _ in 0..READS_AT_ONCE {
            if !self.flush()? {
                return Ok(Advance::Waiting);
            }
            let Some(count) = self.read(desk, "during the login")? else {
                return Ok(Advance::Waiting);
            };
            let greeted = self.login.greeting().is_some();
            let step = self.login.feed(&desk.buffer[..count], &mut self.out)?;
            if !greeted && self.login.greeting().is_some() {
                self.end_phase(Phase::Greeting, self.phase_ns, desk);
            }
            match step {
                LoginStep::NeedMore | LoginStep::Send => {}
                LoginStep::StartTls => {
                    self.start_tls(shared)?;
                    return Ok(Advance::Waiting);
                }
                LoginStep::EncryptPassword => self.encrypt_password(shared)?,
                LoginStep::Done { consumed, report } => {
                    nothing_more(&desk.buffer[consumed..count])?;
                    self.logged_in(&report, desk)?;
                    return self.next_step(shared, desk);
                }
            }
        }
        self.report_again(desk)?;
        Ok(Advance::Waiting)
    }

    /// Sends the SSLRequest and puts TLS on top of the socket.
    fn start_tls(&mut self, shared: &Shared) -> Result<(), Failure> {
        let terms = shared
            .tls
            .as_ref()
            .ok_or_else(|| internal("TLS began unasked"))?;
        if !self.flush()? {
            return Err(internal("the SSLRequest did not fit a fresh socket"));
        }
        // The ClientHello follows at once.
        self.turns.sent_ahead();
        let bare = self.transport.take().ok_or_else(|| internal("no socket"))?;
        let session = self.session.as_ref().filter(|_| terms.resumption);
        let own = match &terms.each {
            Some((library, config)) => Some(Context::new(*library, config)?),
            None => None,
        };
        self.transport = Some(bare.wrap(|socket| {
            Ok(TlsConnection::new(
                own.as_ref().unwrap_or(&terms.context),
                socket,
                terms.server_name.as_deref(),
                session,
            )?)
        })?);
        self.state = State::Handshaking;
        Ok(())
    }

    pub(super) fn shake_hands(&mut self, desk: &mut Desk) -> Result<Advance, Failure> {
        let tls = socket(&mut self.transport)?
            .tls()
            .ok_or_else(|| internal("no TLS"))?;
        match tls.handshake()? {
            HandshakeStatus::Done => {}
            HandshakeStatus::WantRead | HandshakeStatus::WantWrite => return Ok(Advance::Waiting),
            HandshakeStatus::Paused => {
                self.report_again(desk)?;
                return Ok(Advance::Waiting);
            }
        }
        let seen = tls
            .negotiated()
            .ok_or_else(|| internal("a handshake without an outcome"))?;
        let round_trips = tls.handshake_round_trips();
        self.turns.counted(round_trips.unwrap_or_default());
        self.end_phase(Phase::TlsHandshake, self.phase_ns, desk);
        desk.recorder.handshake(&seen);
        self.login.tls_established(&mut self.out)?;
        self.state = State::LoggingIn;
        self.readable = false;
        Ok(Advance::Waiting)
    }

    fn encrypt_password(&mut self, shared: &Shared) -> Result<(), Failure> {
        let wanted = self
            .login
            .encryption()
            .ok_or_else(|| internal("nothing to encrypt"))?;
        let ciphertext = shared
            .library()?
            .encrypt_rsa_oaep(wanted.public_key_pem, wanted.message)?;
        self.login.password_encrypted(&ciphertext, &mut self.out)?;
        Ok(())
    }

    fn logged_in(&mut self, report: &LoginReport, desk: &mut Desk) -> Result<(), Failure> {
        self.end_phase(Phase::Authentication, self.phase_ns, desk);
        desk.recorder
            .phase(Phase::Connect, self.phase_ns - self.connect_ns);
        let crossed = self.turns.all(self.bytes());
        desk.recorder.crossed(Phase::Connect, crossed);
        desk.recorder.authentication(report.path.name());
        if desk.server_version.is_empty() {
            if let Some(greeting) = self.login.greeting() {
                greeting
                    .server_version()
                    .clone_into(&mut desk.server_version);
            }
        }
        self.parsers = Some(Parsers::new(report));
        if let Some(algorithm) = Algorithm::agreed(report.capabilities) {
            socket(&mut self.transport)?.compress(algorithm)?;
        }
        Ok(())
    }
}
