//! One connection's way to the server's OK.

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use tlstax_client::{Access, LoginTerms};
use tlstax_tls::{Connection, HandshakeStatus};
use tlstax_wire::{Capabilities, Login, LoginStep};

use crate::failure::Failure;
use crate::line::Line;
use crate::refused;

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
    login: Login,
    capabilities: Option<Capabilities>,
    out: Vec<u8>,
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
            login: login(access)?,
            capabilities: None,
            out: Vec::new(),
            line: None,
        })
    }

    /// What the server said that it is.
    pub fn server_version(&self) -> String {
        self.login
            .greeting()
            .map(|greeting| greeting.server_version().to_owned())
            .unwrap_or_default()
    }

    /// What both sides agreed on, which says how an answer is to be read.
    ///
    /// # Errors
    /// It has not been open yet.
    pub fn capabilities(&self) -> Result<Capabilities, Failure> {
        self.capabilities.ok_or(Failure::NoSocket)
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
        self.login.reset();
        self.stage = Stage::Connecting;
        Ok(())
    }

    /// Goes on as far as the socket lets it; true when the server has said OK.
    ///
    /// # Errors
    /// What ended it.
    pub fn proceed(
        &mut self,
        readable: bool,
        buffer: &mut [u8],
        access: &Access,
    ) -> Result<bool, Failure> {
        loop {
            match self.stage {
                Stage::Closed => return Ok(false),
                Stage::Connecting => {
                    self.stage = Stage::LoggingIn;
                    if !readable {
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
                    self.login.tls_established(&mut self.out)?;
                    self.flush()?;
                    self.stage = Stage::LoggingIn;
                    return Ok(false);
                }
                Stage::LoggingIn => {
                    let count = self.line.as_mut().ok_or(Failure::NoSocket)?.read(buffer)?;
                    if count == 0 {
                        return Ok(false);
                    }
                    let step = self.login.feed(&buffer[..count], &mut self.out)?;
                    self.flush()?;
                    match step {
                        LoginStep::NeedMore | LoginStep::Send => {
                            if !self.line.as_ref().is_some_and(Line::has_more) {
                                return Ok(false);
                            }
                        }
                        LoginStep::StartTls => self.start_tls(access)?,
                        LoginStep::Done { report, .. } => {
                            self.capabilities = Some(report.capabilities);
                            self.stage = Stage::Closed;
                            return Ok(true);
                        }
                        LoginStep::EncryptPassword => return Err(Failure::PasswordNotCached),
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

fn login(access: &Access) -> Result<Login, Failure> {
    match &access.login {
        LoginTerms::MySql(config) => Ok(Login::new(config.clone())?),
        LoginTerms::Postgres(_) => Err(refused("the floor speaks MySQL's protocol alone")),
    }
}
