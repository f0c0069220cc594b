//! One connection's way to a server that takes statements.

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use tlstax_client::Access;
use tlstax_tls::{Connection, HandshakeStatus};
use tlstax_wire_pg::ScramKeys;

use crate::failure::Failure;
use crate::line::Line;
use crate::talk::{Step, Talk};

/// Where a connection stands on its way.
enum Stage {
    Closed,
    Connecting,
    LoggingIn,
    Handshaking,
}

/// A connection that is opened again and again.
pub struct Opening {
    stage: Stage,
    out: Vec<u8>,
    /// What is said on it.
    pub talk: Talk,
    /// The bytes, as long as it is open.
    pub line: Option<Line>,
}

impl Opening {
    /// A closed one.
    ///
    /// # Errors
    /// An account that the protocol cannot carry.
    pub fn new(access: &Access) -> Result<Self, Failure> {
        Ok(Self {
            stage: Stage::Closed,
            out: Vec::new(),
            talk: Talk::new(access)?,
            line: None,
        })
    }

    /// Sends the SYN.
    ///
    /// # Errors
    /// No socket to be had.
    pub fn begin(
        &mut self,
        number: u64,
        source: Option<std::net::IpAddr>,
        epoll: &OwnedFd,
        access: &Access,
    ) -> Result<(), Failure> {
        let socket = access
            .target
            .begin_connect(source)
            .map_err(tlstax_client::Failure::connecting)?;
        let interest = EventFlags::IN | EventFlags::OUT | EventFlags::ET;
        epoll::add(epoll, &socket, EventData::new_u64(number), interest)
            .map_err(tlstax_client::Failure::connecting)?;
        self.line = Some(Line::Bare(socket));
        self.stage = Stage::Connecting;
        Ok(())
    }

    /// Goes on as far as the socket lets it; true when the server takes statements.
    ///
    /// # Errors
    /// What ended it.
    pub fn proceed(
        &mut self,
        readable: bool,
        buffer: &mut [u8],
        access: &Access,
        keys: &mut ScramKeys,
    ) -> Result<bool, Failure> {
        loop {
            match self.stage {
                Stage::Closed => return Ok(false),
                Stage::Connecting => {
                    self.stage = Stage::LoggingIn;
                    let step = self.talk.begin(&mut self.out)?;
                    self.flush()?;
                    if step == Step::StartTls {
                        self.start_tls(access)?;
                    } else if !readable {
                        return Ok(false);
                    }
                }
                Stage::Handshaking => {
                    let Some(Line::Tls(connection)) = &mut self.line else {
                        return Err(Failure::NoSocket);
                    };
                    if connection.handshake()? != HandshakeStatus::Done {
                        return Ok(false);
                    }
                    self.talk.tls_is_up(&mut self.out, connection)?;
                    self.flush()?;
                    self.stage = Stage::LoggingIn;
                    return Ok(false);
                }
                Stage::LoggingIn => {
                    let line = self.line.as_mut().ok_or(Failure::NoSocket)?;
                    let count = line.read(buffer)?;
                    if count == 0 {
                        return Ok(false);
                    }
                    let input = &buffer[..count];
                    let step = self.talk.feed(input, &mut self.out, line.tls(), keys)?;
                    self.flush()?;
                    match step {
                        Step::Waiting => {
                            if !self.line.as_ref().is_some_and(Line::has_more) {
                                return Ok(false);
                            }
                        }
                        Step::StartTls => self.start_tls(access)?,
                        Step::Done => {
                            self.stage = Stage::Closed;
                            return Ok(true);
                        }
                    }
                }
            }
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if !self.out.is_empty() {
            self.line
                .as_mut()
                .ok_or(Failure::NoSocket)?
                .write(&self.out)?;
            self.out.clear();
        }
        Ok(())
    }

    fn start_tls(&mut self, access: &Access) -> Result<(), Failure> {
        let (Some(Line::Bare(socket)), Some(terms)) = (self.line.take(), &access.tls) else {
            return Err(Failure::NoSocket);
        };
        let name = terms.server_name.as_deref();
        self.line = Some(Line::Tls(Connection::new(
            &terms.context,
            socket,
            name,
            None,
        )?));
        self.stage = Stage::Handshaking;
        Ok(())
    }
}
