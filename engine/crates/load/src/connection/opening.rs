//! A connection on its way to the server's OK: TCP, greeting, TLS handshake, authentication.

use rustix::event::epoll::{self, EventData};
use tlstax_tls::{Connection as TlsConnection, Context, HandshakeStatus};
use tlstax_wire::{Algorithm, LoginReport, LoginStep};

use super::asking::READS_AT_ONCE;
use super::{Advance, Connection, INTEREST, Parsers, State, internal, nothing_more, socket};
use crate::failure::Failure;
use crate::recorder::Phase;
use crate::round_trips::RoundTrips;
use crate::shared::{Shared, ThreadState};
use crate::socket::connect_result;
use crate::transport::Transport;

impl Connection {
    /// Sends the SYN and asks epoll for everything that will ever happen on the socket: one system
    /// call for its whole life, since edge triggering needs no re-arming.
    pub(super) fn connect(&mut self, now_ns: u64, thread: &mut ThreadState) -> Result<(), Failure> {
        self.state = State::Connecting;
        let source = thread.take_source();
        let socket = thread
            .shared
            .target
            .begin_connect(source)
            .map_err(Failure::connecting)?;
        epoll::add(
            &thread.epoll,
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
        self.round_trips = RoundTrips::default();
        Ok(())
    }

    pub(super) fn finish_connect(&mut self, thread: &mut ThreadState) -> Result<Advance, Failure> {
        connect_result(socket(&mut self.transport)?.socket()).map_err(Failure::connecting)?;
        thread.recorder.slice.counts.connections += 1;
        if thread.shared.target.is_tcp() {
            // The SYN and its answer.
            self.round_trips.counted(1);
        }
        self.end_phase(Phase::TcpConnect, self.connect_ns, thread);
        // The server speaks first, but not before the client's last word of that handshake is there.
        self.round_trips.sent();
        self.state = State::LoggingIn;
        Ok(Advance::Waiting)
    }

    pub(super) fn log_in(&mut self, thread: &mut ThreadState) -> Result<Advance, Failure> {
        for _ in 0..READS_AT_ONCE {
            if !self.flush()? {
                return Ok(Advance::Waiting);
            }
            let Some(count) = self.read(thread, "during the login")? else {
                return Ok(Advance::Waiting);
            };
            let greeted = self.login.greeting().is_some();
            let step = self.login.feed(&thread.buffer[..count], &mut self.out)?;
            if !greeted && self.login.greeting().is_some() {
                self.end_phase(Phase::Greeting, self.phase_ns, thread);
            }
            match step {
                LoginStep::NeedMore | LoginStep::Send => {}
                LoginStep::StartTls => {
                    self.start_tls(&thread.shared)?;
                    return Ok(Advance::Waiting);
                }
                LoginStep::EncryptPassword => self.encrypt_password(&thread.shared)?,
                LoginStep::Done { consumed, report } => {
                    nothing_more(&thread.buffer[consumed..count])?;
                    self.logged_in(&report, thread)?;
                    return self.next_step(thread);
                }
            }
        }
        self.report_again(thread)?;
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
        self.round_trips.sent_ahead();
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

    pub(super) fn shake_hands(&mut self, thread: &mut ThreadState) -> Result<Advance, Failure> {
        let tls = socket(&mut self.transport)?
            .tls()
            .ok_or_else(|| internal("no TLS"))?;
        match tls.handshake()? {
            HandshakeStatus::Done => {}
            HandshakeStatus::WantRead | HandshakeStatus::WantWrite => return Ok(Advance::Waiting),
            HandshakeStatus::Paused => {
                self.report_again(thread)?;
                return Ok(Advance::Waiting);
            }
        }
        let seen = tls
            .negotiated()
            .ok_or_else(|| internal("a handshake without an outcome"))?;
        let round_trips = tls.handshake_round_trips();
        self.round_trips.counted(round_trips.unwrap_or_default());
        self.end_phase(Phase::TlsHandshake, self.phase_ns, thread);
        thread.recorder.handshake(&seen);
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

    fn logged_in(&mut self, report: &LoginReport, thread: &mut ThreadState) -> Result<(), Failure> {
        self.end_phase(Phase::Authentication, self.phase_ns, thread);
        thread
            .recorder
            .phase(Phase::Connect, self.phase_ns - self.connect_ns);
        let crossed = self.round_trips.all(self.bytes());
        thread.recorder.crossed(Phase::Connect, crossed);
        thread.recorder.authentication(report.path.name());
        if thread.server_version.is_empty() {
            if let Some(greeting) = self.login.greeting() {
                greeting
                    .server_version()
                    .clone_into(&mut thread.server_version);
            }
        }
        self.parsers = Some(Parsers::new(report));
        if let Some(algorithm) = Algorithm::agreed(report.capabilities) {
            socket(&mut self.transport)?.compress(algorithm)?;
        }
        Ok(())
    }
}
