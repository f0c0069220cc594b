//! What can go wrong with a connection or a job, with its source, and what the contract calls it: kind, fault, code,
//! one sentence.

use std::io;
use std::time::Duration;

use thiserror::Error;
use tlstax_contract::{ErrorEvent, ErrorKind, Fault, JobError, OrderError};
use tlstax_tls::TlsError;
use tlstax_wire::{ServerError, WireError};
use tlstax_wire_pg as pg;

/// A failure of one connection, or of the whole job. Each displays as one sentence for a person.
#[derive(Debug, Error)]
pub enum Failure {
    /// The job cannot be read.
    #[error(transparent)]
    Job(#[from] JobError),
    /// An order cannot be read.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The job asks for what this client does not do, or there is none.
    #[error("{0}")]
    Refused(&'static str),
    /// A statement of the workload cannot be compiled.
    #[error("job field workload.{place}: {reason}")]
    Workload {
        /// Where it is in the workload.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A core that no machine has.
    #[error("job field cpus: this process may not use core {cpu} (no core has that number)")]
    NoSuchCore {
        /// Its number.
        cpu: u32,
    },
    /// A core that this process may not use.
    #[error("job field cpus: this process may not use core {cpu} ({source})")]
    CoreRefused {
        /// Its number.
        cpu: u32,
        /// What the kernel said.
        source: io::Error,
    },
    /// A process whose CPU time cannot be read.
    #[error("job field full_load.cpu_of: process {pid} has no clock here ({source})")]
    NoClock {
        /// Its number.
        pid: u32,
        /// What the kernel said.
        source: nix::Error,
    },
    /// The host name is unknown.
    #[error("the server's name cannot be resolved ({0})")]
    Resolve(#[source] io::Error),
    /// The limit of open files is not known.
    #[error("the limit of open files cannot be read ({0})")]
    FileLimitUnread(#[source] nix::Error),
    /// The limit of open files is lower than the hard one and stays so.
    #[error("the limit of open files cannot be raised ({0})")]
    FileLimitKept(#[source] nix::Error),
    /// The job needs more open files than this process may have.
    #[error(
        "{connections} connections need {needed} open files and this process may have {hard}: raise \
         `ulimit -Hn` or ask for fewer connections"
    )]
    TooFewFiles {
        /// Of the job.
        connections: u32,
        /// Files for them and all else.
        needed: u64,
        /// The hard limit.
        hard: u64,
    },
    /// The job needs more local ports than this machine has.
    #[error(
        "{connections} connections at once need as many local ports and this machine has {} \
         ({ports} for each of {}): widen net.ipv4.ip_local_port_range, connect from more \
         addresses (source_addresses) or ask for fewer connections",
        ports * addresses,
        local_addresses(*.addresses)
    )]
    TooFewPorts {
        /// Of the job.
        connections: u32,
        /// Of each local address.
        ports: u64,
        /// Local addresses that connections come from.
        addresses: u64,
    },
    /// The machine has no thread left.
    #[error("this machine does not allow another thread ({0})")]
    NoThread(#[source] io::Error),
    /// A socket could not be had, since something on this machine is used up.
    #[error("this machine has run out of {what}")]
    OutOf {
        /// What there is no more of, and what helps.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// A socket failed to connect.
    #[error("the server could not be reached ({0})")]
    Unreachable(#[source] io::Error),
    /// A socket failed afterwards.
    #[error("the connection broke ({0})")]
    Broken(#[from] io::Error),
    /// The server hung up.
    #[error("the server closed the connection {when}")]
    Closed {
        /// What was being done.
        when: &'static str,
    },
    /// Nothing came in time.
    #[error("the server has not answered for {0:?}")]
    Silent(Duration),
    /// The server's answer to a statement, after which the connection can go on.
    #[error(transparent)]
    Statement(ServerError),
    /// The protocol failed, or the server refused the login.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A `PostgreSQL` server's answer to a statement, after which the connection can go on.
    #[error(transparent)]
    PostgresStatement(pg::ServerError),
    /// `PostgreSQL`'s protocol failed, or the server refused the login.
    #[error(transparent)]
    Postgres(#[from] pg::WireError),
    /// A server took TLS that began at once without naming the protocol.
    #[error(
        "the server took TLS without agreeing on the protocol postgresql (ALPN), as direct negotiation demands: it \
         is older than PostgreSQL 17, or something else answers"
    )]
    ProtocolNotNamed,
    /// The TLS library failed, or the handshake did.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// There was no slice before the end.
    #[error("end came before any slice, so there is no result")]
    NoSlice,
    /// A thread is gone, which is the engine's own mistake.
    #[error("a thread of the load engine died")]
    ThreadDied,
    /// What the crates for the protocol and for TLS rule out did happen.
    #[error("a mistake in the load engine: {0}")]
    Mistake(&'static str),
}

/// MySQL error numbers that say that the account may not log in: 1044 and 1045 access denied,
/// 1698 no password, 3118 and 4151 account locked, 3955 blocked for wrong passwords, 1130 host not allowed,
/// 1820 and 1862 expired password.
const LOGIN_REFUSED: [u16; 9] = [1044, 1045, 1130, 1698, 1820, 1862, 3118, 3955, 4151];

impl Failure {
    /// A socket failed to open or to connect.
    pub fn connecting(error: impl Into<io::Error>) -> Self {
        let source = error.into();
        let what = match source.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE) => "file descriptors: raise `ulimit -n`",
            Some(libc::EADDRNOTAVAIL) => {
                "local ports, which closed connections keep for a minute (TIME_WAIT): widen \
                 net.ipv4.ip_local_port_range or set net.ipv4.tcp_tw_reuse=1"
            }
            Some(libc::ENOBUFS | libc::ENOMEM) => "memory for sockets",
            _ => return Self::Unreachable(source),
        };
        Self::OutOf { what, source }
    }

    /// Whether a Unix socket had no place in its queue for a connection, which may change (connect(2)).
    pub fn is_full_queue(&self) -> bool {
        matches!(self, Self::Unreachable(error) if error.raw_os_error() == Some(libc::EAGAIN))
    }

    /// Whether it is the server's answer to a statement, after which the connection can go on.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Statement(_) | Self::PostgresStatement(_))
    }

    /// Which of the contract's kinds it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Job(_)
            | Self::Order(_)
            | Self::Refused(_)
            | Self::Workload { .. }
            | Self::NoSuchCore { .. }
            | Self::CoreRefused { .. }
            | Self::NoClock { .. }
            | Self::NoSlice => ErrorKind::BadJob,
            Self::Resolve(_) => ErrorKind::Resolve,
            Self::FileLimitUnread(_)
            | Self::FileLimitKept(_)
            | Self::TooFewFiles { .. }
            | Self::TooFewPorts { .. }
            | Self::NoThread(_)
            | Self::OutOf { .. } => ErrorKind::Limits,
            Self::Unreachable(_) => ErrorKind::Connect,
            Self::Broken(_) | Self::Closed { .. } => ErrorKind::ServerClosed,
            Self::Silent(_) => ErrorKind::Timeout,
            Self::Statement(refusal) => kind_of_refusal(refusal),
            Self::Wire(error) => kind_of_wire(error),
            Self::PostgresStatement(refusal) => kind_of_postgres_refusal(refusal),
            Self::Postgres(error) => kind_of_postgres(error),
            Self::ProtocolNotNamed => ErrorKind::TlsHandshake,
            Self::Tls(error) => kind_and_fault_of_tls(error).0,
            Self::ThreadDied | Self::Mistake(_) => ErrorKind::Internal,
        }
    }

    /// Where to look for the cause.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Job(_)
            | Self::Order(_)
            | Self::Refused(_)
            | Self::Workload { .. }
            | Self::NoSuchCore { .. }
            | Self::CoreRefused { .. }
            | Self::NoClock { .. }
            | Self::Resolve(_)
            | Self::NoSlice => Fault::Job,
            Self::FileLimitUnread(_)
            | Self::FileLimitKept(_)
            | Self::TooFewFiles { .. }
            | Self::TooFewPorts { .. }
            | Self::NoThread(_)
            | Self::OutOf { .. }
            | Self::ThreadDied
            | Self::Mistake(_) => Fault::Client,
            Self::Unreachable(_) | Self::Broken(_) => Fault::Network,
            Self::Closed { .. }
            | Self::Silent(_)
            | Self::Statement(_)
            | Self::PostgresStatement(_)
            | Self::ProtocolNotNamed => Fault::Server,
            Self::Postgres(error) => match error.fault() {
                pg::Fault::Server => Fault::Server,
                pg::Fault::Job => Fault::Job,
                pg::Fault::Client => Fault::Client,
            },
            Self::Wire(error) => match error.fault() {
                tlstax_wire::Fault::Server => Fault::Server,
                tlstax_wire::Fault::Job => Fault::Job,
                tlstax_wire::Fault::Client => Fault::Client,
            },
            Self::Tls(error) => kind_and_fault_of_tls(error).1,
        }
    }

    /// MySQL error number, SQLSTATE of `PostgreSQL` as a number in base 36, or errno.
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::OutOf { source, .. } | Self::Unreachable(source) | Self::Broken(source) => {
                source.raw_os_error()
            }
            Self::Statement(refusal) | Self::Wire(WireError::Server(refusal)) => {
                Some(i32::from(refusal.code))
            }
            Self::PostgresStatement(refusal) | Self::Postgres(pg::WireError::Server(refusal)) => {
                let state = refusal.sqlstate?;
                i32::from_str_radix(state.as_str(), 36).ok()
            }
            _ => None,
        }
    }

    /// As the event that tells of it.
    pub fn event(&self, fatal: bool) -> ErrorEvent {
        ErrorEvent {
            kind: self.kind(),
            fault: self.fault(),
            fatal,
            message: self.to_string(),
            code: self.code(),
            count: 1,
        }
    }
}

fn local_addresses(count: u64) -> String {
    if count == 1 {
        "one local address".to_owned()
    } else {
        format!("{count} local addresses")
    }
}

fn kind_of_refusal(refusal: &ServerError) -> ErrorKind {
    if LOGIN_REFUSED.contains(&refusal.code) {
        ErrorKind::AccessDenied
    } else {
        ErrorKind::ServerError
    }
}

fn kind_of_wire(error: &WireError) -> ErrorKind {
    match error {
        WireError::Server(refusal) => kind_of_refusal(refusal),
        WireError::CleartextRefused { .. }
        | WireError::PublicKeyNotAskedFor
        | WireError::UnsupportedPlugin { .. } => ErrorKind::AccessDenied,
        WireError::NotMySql { .. } => ErrorKind::NotMysql,
        WireError::TlsNotOffered => ErrorKind::NoTls,
        WireError::CompressionNotOffered { .. } => ErrorKind::NoCompression,
        WireError::PacketTooLarge { .. } | WireError::Compressor => ErrorKind::Limits,
        WireError::Misuse { .. } => ErrorKind::Internal,
        WireError::NulByte { .. } => ErrorKind::BadJob,
        WireError::Protocol(_) | WireError::ServerTooOld { .. } => ErrorKind::Protocol,
    }
}

fn kind_of_postgres_refusal(refusal: &pg::ServerError) -> ErrorKind {
    if refusal.refuses_account() {
        ErrorKind::AccessDenied
    } else {
        ErrorKind::ServerError
    }
}

fn kind_of_postgres(error: &pg::WireError) -> ErrorKind {
    match error {
        pg::WireError::Server(refusal) => kind_of_postgres_refusal(refusal),
        pg::WireError::CleartextRefused { .. }
        | pg::WireError::MethodNotAllowed { .. }
        | pg::WireError::UnsupportedMethod { .. }
        | pg::WireError::NoPassword { .. }
        | pg::WireError::ChannelNotBound(_)
        | pg::WireError::ScramRefused(_) => ErrorKind::AccessDenied,
        pg::WireError::NotPostgres { .. } => ErrorKind::NotMysql,
        pg::WireError::ErrorWithoutLength => ErrorKind::ServerError,
        pg::WireError::TlsNotOffered | pg::WireError::ErrorInsteadOfTls => ErrorKind::NoTls,
        pg::WireError::MessageTooLarge { .. } | pg::WireError::TooManyIterations { .. } => {
            ErrorKind::Limits
        }
        pg::WireError::Copy
        | pg::WireError::NulByte { .. }
        | pg::WireError::CommandTooLong { .. } => ErrorKind::BadJob,
        pg::WireError::ColumnType(_) | pg::WireError::Misuse { .. } => ErrorKind::Internal,
        pg::WireError::Protocol(_)
        | pg::WireError::BytesBeforeTls
        | pg::WireError::ServerNotProven => ErrorKind::Protocol,
    }
}

fn kind_and_fault_of_tls(error: &TlsError) -> (ErrorKind, Fault) {
    match error {
        TlsError::Certificate { .. } => (ErrorKind::Certificate, Fault::Server),
        TlsError::Alert { .. } | TlsError::Protocol { .. } | TlsError::ClosedDuringHandshake => {
            (ErrorKind::TlsHandshake, Fault::Server)
        }
        TlsError::Io(_) => (ErrorKind::ServerClosed, Fault::Network),
        TlsError::Setting { .. } => (ErrorKind::TlsLibrary, Fault::Job),
        TlsError::ForeignSession | TlsError::Library { .. } => (ErrorKind::Internal, Fault::Client),
        _ => (ErrorKind::TlsLibrary, Fault::Client),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(code: u16) -> ServerError {
        ServerError {
            code,
            sqlstate: None,
            message: "no".into(),
            unasked: false,
        }
    }

    fn from_os(code: i32) -> io::Error {
        io::Error::from_raw_os_error(code)
    }

    fn check(failure: &Failure, kind: ErrorKind, fault: Fault, code: Option<i32>, said: &str) {
        let event = failure.event(true);
        assert_eq!((event.kind, event.fault, event.code), (kind, fault, code));
        assert_eq!(event.message, said);
    }

    #[test]
    fn what_the_kernel_says_is_told_with_its_number_and_blamed_by_it() {
        check(
            &Failure::connecting(from_os(libc::ENOMEM)),
            ErrorKind::Limits,
            Fault::Client,
            Some(libc::ENOMEM),
            "this machine has run out of memory for sockets",
        );
        check(
            &Failure::connecting(from_os(libc::ECONNREFUSED)),
            ErrorKind::Connect,
            Fault::Network,
            Some(libc::ECONNREFUSED),
            "the server could not be reached (Connection refused (os error 111))",
        );
        check(
            &from_os(libc::ETIMEDOUT).into(),
            ErrorKind::ServerClosed,
            Fault::Network,
            Some(libc::ETIMEDOUT),
            "the connection broke (Connection timed out (os error 110))",
        );
        check(
            &Failure::FileLimitKept(nix::errno::Errno::EPERM),
            ErrorKind::Limits,
            Fault::Client,
            None,
            "the limit of open files cannot be raised (EPERM: Operation not permitted)",
        );
    }

    #[test]
    fn what_a_server_says_is_told_in_its_words() {
        check(
            &Failure::Silent(Duration::from_millis(1500)),
            ErrorKind::Timeout,
            Fault::Server,
            None,
            "the server has not answered for 1.5s",
        );
        check(
            &Failure::Wire(refusal(1045).into()),
            ErrorKind::AccessDenied,
            Fault::Server,
            Some(1045),
            "the server answered with error 1045: no",
        );
        check(
            &Failure::Statement(refusal(1213)),
            ErrorKind::ServerError,
            Fault::Server,
            Some(1213),
            "the server answered with error 1213: no",
        );
        check(
            &TlsError::ForeignSession.into(),
            ErrorKind::Internal,
            Fault::Client,
            None,
            "a TLS session was offered to another context than the one that it was made with",
        );
    }

    #[test]
    fn a_sqlstate_is_a_number_of_base_36() {
        let refusal = |state: &[u8]| pg::ServerError {
            severity: pg::Severity::Error,
            sqlstate: pg::SqlState::new(state),
            message: "no".into(),
            unasked: false,
        };
        check(
            &Failure::Postgres(refusal(b"28P01").into()),
            ErrorKind::AccessDenied,
            Fault::Server,
            Some(3_764_881),
            "the server answered with ERROR 28P01: no",
        );
        check(
            &Failure::PostgresStatement(refusal(b"40P01")),
            ErrorKind::ServerError,
            Fault::Server,
            Some(6_750_865),
            "the server answered with ERROR 40P01: no",
        );
        let highest = Failure::PostgresStatement(refusal(b"ZZZZZ"));
        assert_eq!(highest.code(), Some(36_i32.pow(5) - 1));
        let none = Failure::PostgresStatement(refusal(b"odd"));
        assert_eq!(none.code(), None);
    }

    #[test]
    fn only_a_full_queue_is_tried_again() {
        assert!(Failure::connecting(from_os(libc::EAGAIN)).is_full_queue());
        assert!(!Failure::connecting(from_os(libc::ECONNREFUSED)).is_full_queue());
        assert!(!Failure::from(from_os(libc::EAGAIN)).is_full_queue());
    }
}
