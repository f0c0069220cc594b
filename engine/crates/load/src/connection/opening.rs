//! A line on its way to the server's OK: TCP, greeting, TLS handshake, authentication.

use tlstax_client::{Access, Failure, connect_result};
use tlstax_tls::{Connection as TlsConnection, Context, HandshakeStatus};
use tlstax_wire::{Algorithm, Login, LoginReport, LoginStep};

use super::line::Line;
use super::{Milestone, READS_AT_ONCE, Work, nothing_more};
use crate::recorder::Phase;
use crate::shared::ThreadState;

impl Line {
    pub(super) fn finish_connect(
        &mut self,
        thread: &mut ThreadState,
    ) -> Result<Milestone, Failure> {
        connect_result(self.transport.socket()).map_err(Failure::connecting)?;
        thread.recorder.slice.counts.connections += 1;
        if thread.shared.access.target.is_tcp() {
            // The SYN and its answer.
            self.round_trips.counted(1);
        }
        self.end_phase(Phase::TcpConnect, self.begun_ns, thread);
        // The server speaks first, but not before the client's last word of that handshake is there.
        self.round_trips.sent();
        Ok(Milestone::Connected)
    }

    /// Takes the login as far as the socket lets it; none while more is to be waited for.
    pub(super) fn log_in(
        &mut self,
        work: &mut Work,
        thread: &mut ThreadState,
    ) -> Result<Option<Milestone>, Failure> {
        for _ in 0..READS_AT_ONCE {
            if !self.flush(&mut work.out)? {
                return Ok(None);
            }
            let Some(count) = self.read(thread, "during the login")? else {
                return Ok(None);
            };
            let greeted = work.login.greeting().is_some();
            let step = work.login.feed(&thread.buffer[..count], &mut work.out)?;
            if !greeted && work.login.greeting().is_some() {
                self.end_phase(Phase::Greeting, self.phase_ns, thread);
            }
            match step {
                LoginStep::NeedMore | LoginStep::Send => {}
                LoginStep::StartTls => {
                    if !self.flush(&mut work.out)? {
                        let what = "the SSLRequest did not fit a fresh socket";
                        return Err(Failure::Mistake(what));
                    }
                    // The ClientHello follows at once.
                    self.round_trips.sent_ahead();
                    return Ok(Some(Milestone::StartTls));
                }
                LoginStep::EncryptPassword => encrypt_password(work, &thread.shared.access)?,
                LoginStep::Done { consumed, report } => {
                    nothing_more(&thread.buffer[consumed..count])?;
                    self.logged_in(&report, &work.login, thread)?;
                    return Ok(Some(Milestone::LoggedIn(report)));
                }
            }
        }
        self.report_again(thread)?;
        Ok(None)
    }

    /// Puts TLS on top of the socket.
    pub(super) fn over_tls(mut self, work: &Work, thread: &ThreadState) -> Result<Self, Failure> {
        let terms = thread.shared.access.tls.as_ref();
        let terms = terms.ok_or(Failure::Mistake("TLS began unasked"))?;
        let session = work.session.as_ref().filter(|_| terms.resumption);
        let own = match &terms.each {
            Some((library, config)) => Some(Context::new(*library, config)?),
            None => None,
        };
        self.transport = self.transport.wrap(|socket| {
            Ok(TlsConnection::new(
                own.as_ref().unwrap_or(&terms.context),
                socket,
                terms.server_name.as_deref(),
                session,
            )?)
        })?;
        Ok(self)
    }

    /// Takes the handshake as far as the socket lets it; none while more is to be waited for.
    pub(super) fn shake_hands(
        &mut self,
        work: &mut Work,
        thread: &mut ThreadState,
    ) -> Result<Option<Milestone>, Failure> {
        match self.transport.handshake()? {
            HandshakeStatus::Done => {}
            HandshakeStatus::WantRead | HandshakeStatus::WantWrite => return Ok(None),
            HandshakeStatus::Paused => {
                self.report_again(thread)?;
                return Ok(None);
            }
        }
        let outcome = self
            .transport
            .tls()
            .and_then(|tls| Some((tls.negotiated()?, tls.handshake_round_trips())));
        let (seen, round_trips) =
            outcome.ok_or(Failure::Mistake("a handshake without an outcome"))?;
        self.round_trips.counted(round_trips.unwrap_or_default());
        self.end_phase(Phase::TlsHandshake, self.phase_ns, thread);
        thread.recorder.handshake(&seen);
        work.login.tls_established(&mut work.out)?;
        self.readable = false;
        Ok(Some(Milestone::Encrypted))
    }

    fn logged_in(
        &mut self,
        report: &LoginReport,
        login: &Login,
        thread: &mut ThreadState,
    ) -> Result<(), Failure> {
        self.end_phase(Phase::Authentication, self.phase_ns, thread);
        let recorder = &mut thread.recorder;
        recorder.phase(Phase::Connect, self.phase_ns - self.begun_ns);
        let crossed = self.round_trips.all(self.transport.bytes());
        recorder.crossed(Phase::Connect, crossed);
        recorder.authentication(report.path.name());
        if thread.server_version.is_empty() {
            if let Some(greeting) = login.greeting() {
                greeting
                    .server_version()
                    .clone_into(&mut thread.server_version);
            }
        }
        if let Some(algorithm) = Algorithm::agreed(report.capabilities) {
            self.transport.compress(algorithm)?;
        }
        Ok(())
    }
}

fn encrypt_password(work: &mut Work, access: &Access) -> Result<(), Failure> {
    let wanted = work.login.encryption();
    let wanted = wanted.ok_or(Failure::Mistake("nothing to encrypt"))?;
    let ciphertext = access
        .library()?
        .encrypt_rsa_oaep(wanted.public_key_pem, wanted.message)?;
    work.login.password_encrypted(&ciphertext, &mut work.out)?;
    Ok(())
}
