//! Non-blocking sockets to the server: where it is, from which address, and what the kernel counted.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use nix::sys::socket::sockopt::{GetStruct, SetBool};
use nix::sys::socket::{getsockopt, setsockopt};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, ipproto, socket_with,
    sockopt,
};
use tlstax_contract::Endpoint;

/// The start of the kernel's `struct tcp_info` (linux/tcp.h), up to the counters that are read here.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct TcpInfo {
    states_and_options: [u8; 8],
    timers_and_windows: [u32; 24],
    pacing_and_bytes: [u64; 4],
    /// Segments sent, retransmissions and bare acknowledgements included.
    pub segments_sent: u32,
    /// Segments received.
    pub segments_received: u32,
}

#[derive(Debug, Clone, Copy)]
struct TcpInfoOption;

nix::getsockopt_impl!(
    TcpInfoOption,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    TcpInfo,
    GetStruct<TcpInfo>
);

/// Leaves the choice of the local port to `connect(2)`, which needs only the four-tuple to be free;
/// `bind(2)` alone would need the port to be (ip(7), `IP_BIND_ADDRESS_NO_PORT`).
#[derive(Debug, Clone, Copy)]
struct BindAddressNoPort;

nix::setsockopt_impl!(
    BindAddressNoPort,
    libc::IPPROTO_IP,
    libc::IP_BIND_ADDRESS_NO_PORT,
    bool,
    SetBool
);

/// Where the server is, resolved once.
#[derive(Debug, Clone)]
pub enum Target {
    /// A TCP address.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl Target {
    /// Resolves an endpoint.
    ///
    /// # Errors
    /// What the resolver said, or that the name has no address.
    pub fn resolve(endpoint: &Endpoint) -> io::Result<Self> {
        match endpoint {
            Endpoint::Unix { path } => Ok(Self::Unix(path.clone())),
            Endpoint::Tcp { host, port } => (host.as_str(), *port)
                .to_socket_addrs()?
                .next()
                .map(Self::Tcp)
                .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address")),
        }
    }

    /// Whether connecting takes packets there and back.
    pub fn is_tcp(&self) -> bool {
        matches!(self, Self::Tcp(_))
    }

    /// Begins to connect; the socket becomes writable when that has succeeded or failed.
    ///
    /// # Errors
    /// What the kernel said at once: out of descriptors, of ports, no such socket.
    pub fn begin_connect(&self, source: Option<IpAddr>) -> io::Result<OwnedFd> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let (fd, connected) = match self {
            Self::Tcp(address) => {
                let family = match address {
                    SocketAddr::V4(_) => AddressFamily::INET,
                    SocketAddr::V6(_) => AddressFamily::INET6,
                };
                let fd = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
                sockopt::set_tcp_nodelay(&fd, true)?;
                if let Some(source) = source.filter(|s| s.is_ipv4() == address.is_ipv4()) {
                    setsockopt(&fd, BindAddressNoPort, &true).map_err(io::Error::from)?;
                    bind(&fd, &SocketAddr::new(source, 0))?;
                }
                let connected = connect(&fd, address);
                (fd, connected)
            }
            Self::Unix(path) => {
                let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
                let connected = connect(&fd, &SocketAddrUnix::new(path)?);
                (fd, connected)
            }
        };
        match connected {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(fd),
            Err(error) => Err(error.into()),
        }
    }
}

/// What became of a connection that was begun.
///
/// # Errors
/// Why it failed.
pub fn connect_result(fd: impl AsFd) -> io::Result<()> {
    sockopt::socket_error(fd)?.map_err(io::Error::from)
}

/// What the kernel counted of a TCP connection; none for other sockets.
pub fn tcp_info(fd: &impl AsFd) -> Option<TcpInfo> {
    getsockopt(fd, TcpInfoOption).ok()
}
