//! A line on its way to the first statement: TCP, greeting, TLS handshake, authentication.

use tlstax_client::{Failure, connect_result};
use tlstax_tls::{Connection as TlsConnection, Context, HandshakeStatus};

use super::line::Line;
use super::{Milestone, READS_AT_ONCE, Work};
use crate::recorder::Phase;
use crate::session::{Channel, Opening, Session};
use crate::shared::ThreadState;

impl Line {
    pub(super) fn finish_connect(
        &mut self,
        work: &mut Work,
        thread: &mut ThreadState,
    ) -> Result<Milestone, Failure> {
        connect_result(self.transport.socket()).map_err(Failure::connecting)?;
        thread.recorder.slice.counts.connections += 1;
        if thread.shared.access.target.is_tcp() {
            // The SYN and its answer.
            self.round_trips.counted(1);
        }
        self.end_phase(Phase::TcpConnect, self.begun_ns, thread);
        if work.session.begin(&mut work.out)? == Opening::StartTls {
            return Ok(Milestone::StartTls);
        }
        if work.out.is_empty() {
            // The server speaks first, but not before the client's last word of that handshake is there.
            self.round_trips.sent();
        }
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
            let session = &mut work.session;
            let greeted = session.is_greeted();
            let mut channel = Channel {
                access: &thread.shared.access,
                tls: self.transport.tls(),
                scram_keys: &mut thread.scram_keys,
            };
            let opening = session.feed(&thread.buffer[..count], &mut work.out, &mut channel)?;
            if !greeted && session.is_greeted() {
                self.end_phase(Phase::Greeting, self.phase_ns, thread);
            }
            match opening {
                Opening::Waiting => {}
                Opening::StartTls => {
                    if !self.flush(&mut work.out)? {
                        let what = "the SSLRequest did not fit a fresh socket";
                        return Err(Failure::Mistake(what));
                    }
                    // The ClientHello follows at once.
                    self.round_trips.sent_ahead();
                    return Ok(Some(Milestone::StartTls));
                }
                Opening::Done { consumed } => {
                    session.unasked(&thread.buffer[consumed..count])?;
                    self.logged_in(session, thread)?;
                    return Ok(Some(Milestone::LoggedIn));
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
        let session = work.tls_session.as_ref().filter(|_| terms.resumption);
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
        let channel = Channel {
            access: &thread.shared.access,
            tls: self.transport.tls(),
            scram_keys: &mut thread.scram_keys,
        };
        work.session.tls_is_up(&mut work.out, &channel)?;
        self.readable = false;
        Ok(Some(Milestone::Encrypted))
    }

    fn logged_in(&mut self, session: &Session, thread: &mut ThreadState) -> Result<(), Failure> {
        self.end_phase(Phase::Authentication, self.phase_ns, thread);
        let recorder = &mut thread.recorder;
        recorder.phase(Phase::Connect, self.phase_ns - self.begun_ns);
        let crossed = self.round_trips.all(self.transport.bytes());
        recorder.crossed(Phase::Connect, crossed);
        recorder.authentication(session.login_name());
        if thread.server_version.is_empty() {
            session
                .server_version()
                .clone_into(&mut thread.server_version);
        }
        if let Some(layer) = session.compressed()? {
            self.transport.compress(layer);
        }
        Ok(())
    }
}
