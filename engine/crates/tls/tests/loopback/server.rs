//! An echo server by rustls that tells what it negotiated, and servers that misbehave.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use rustls::crypto::aws_lc_rs::{Ticketer, default_provider};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{
    HandshakeKind, NamedGroup, ProtocolVersion, RootCertStore, ServerConfig, ServerConnection,
    SupportedProtocolVersion,
};
use tlstax_test_server::{Listening, PATIENCE};

use crate::certificates::{Authority, Identity};

/// How the server keeps sessions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sessions {
    None,
    Stored,
    Tickets,
}

/// How the server ends a connection once the client has sent `bye`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    CloseNotify,
    BareEnd,
    Reset,
}

/// What a server is made of.
pub struct Options {
    pub versions: Vec<&'static SupportedProtocolVersion>,
    pub groups: Vec<&'static dyn SupportedKxGroup>,
    pub sessions: Sessions,
    pub farewell: Farewell,
    pub client_authority: Option<rustls::pki_types::CertificateDer<'static>>,
    pub alpn: Vec<&'static str>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            versions: vec![&rustls::version::TLS13, &rustls::version::TLS12],
            groups: default_provider().kx_groups,
            sessions: Sessions::None,
            farewell: Farewell::CloseNotify,
            client_authority: None,
            alpn: Vec::new(),
        }
    }
}

/// What the server says of a connection, once that is over.
#[derive(Debug)]
pub struct View {
    pub kind: HandshakeKind,
    pub version: ProtocolVersion,
    pub group: Option<NamedGroup>,
    pub server_name: Option<String>,
    pub client_certificate: bool,
    pub alpn: Option<String>,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Whether the client said that it closes.
    pub close_notify: bool,
}

/// A server that runs until it is dropped.
pub struct Server {
    pub address: SocketAddr,
    views: Receiver<View>,
    _listening: Listening,
}

impl Server {
    pub fn start(identity: &Identity, options: Options) -> Self {
        let farewell = options.farewell;
        let config = Arc::new(server_config(identity, options));
        let (sender, views) = channel();
        let serve = move |stream: TcpStream| {
            let (config, sender) = (Arc::clone(&config), sender.clone());
            std::thread::spawn(move || {
                // A failed handshake is the client's to tell.
                let _ = echo(config, stream, farewell, &sender);
            });
        };
        Self::spawn(serve, views)
    }

    /// A default server for `localhost`, issued by `authority`.
    pub fn plain(authority: &Authority) -> Self {
        Self::start(&authority.issue(&["localhost"]), Options::default())
    }

    /// A server that does this with each stream; it gives no views.
    pub fn raw(serve: impl Fn(TcpStream) + Send + 'static) -> Self {
        Self::spawn(serve, channel().1)
    }

    fn spawn(serve: impl Fn(TcpStream) + Send + 'static, views: Receiver<View>) -> Self {
        let listening = Listening::start(serve);
        Self {
            address: listening.address,
            views,
            _listening: listening,
        }
    }

    /// What the server says of the connection that ended next.
    pub fn view(&self) -> View {
        self.views
            .recv_timeout(PATIENCE)
            .expect("the server saw no complete handshake")
    }
}

fn server_config(identity: &Identity, options: Options) -> ServerConfig {
    let provider = CryptoProvider {
        kx_groups: options.groups,
        ..default_provider()
    };
    let provider = Arc::new(provider);
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&options.versions)
        .unwrap();
    let builder = match options.client_authority {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(authority).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.unwrap())
        }
    };
    let chain = vec![identity.certificate.clone()];
    let mut config = builder
        .with_single_cert(chain, identity.private_key())
        .unwrap();
    let names = options.alpn.iter();
    config.alpn_protocols = names.map(|name| name.as_bytes().to_vec()).collect();
    match options.sessions {
        Sessions::None => {
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Sessions::Stored => {}
        Sessions::Tickets => config.ticketer = Ticketer::new().unwrap(),
    }
    config
}

/// A stream that counts.
struct Counted {
    stream: TcpStream,
    bytes_read: u64,
    bytes_written: u64,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.bytes_read += count as u64;
        Ok(count)
    }
}

impl Write for Counted {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.stream.write(buffer)?;
        self.bytes_written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn echo(
    config: Arc<ServerConfig>,
    stream: TcpStream,
    farewell: Farewell,
    views: &Sender<View>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = Counted {
        stream,
        bytes_read: 0,
        bytes_written: 0,
    };
    let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
    while tls.is_handshaking() {
        if let Err(error) = tls.complete_io(&mut stream) {
            linger(&stream.stream);
            return Err(error);
        }
    }
    let close_notify = echo_until_end(&mut tls, &mut stream, farewell);
    let view = View {
        kind: tls.handshake_kind().unwrap(),
        version: tls.protocol_version().unwrap(),
        group: tls
            .negotiated_key_exchange_group()
            .map(SupportedKxGroup::name),
        server_name: tls.server_name().map(str::to_owned),
        client_certificate: tls.peer_certificates().is_some(),
        alpn: tls
            .alpn_protocol()
            .map(|name| String::from_utf8_lossy(name).into_owned()),
        bytes_read: stream.bytes_read,
        bytes_written: stream.bytes_written,
        close_notify,
    };
    views.send(view).map_err(io::Error::other)
}

/// Whether the end was the client's `close_notify`.
fn echo_until_end(tls: &mut ServerConnection, stream: &mut Counted, farewell: Farewell) -> bool {
    let mut buffer = [0; 16 * 1024];
    loop {
        match rustls::Stream::new(tls, stream).read(&mut buffer) {
            Ok(0) => return true,
            Err(_) => return false,
            Ok(3) if &buffer[..3] == b"bye" => {
                if farewell == Farewell::CloseNotify {
                    tls.send_close_notify();
                    let _ = tls.complete_io(stream);
                }
                if farewell == Farewell::Reset {
                    set_socket_linger(&stream.stream, Some(Duration::ZERO)).unwrap();
                    return false;
                }
                let _ = stream.stream.shutdown(Shutdown::Write);
            }
            Ok(count) => {
                if rustls::Stream::new(tls, stream)
                    .write_all(&buffer[..count])
                    .is_err()
                {
                    return false;
                }
            }
        }
    }
}

/// Lets the client read an alert before the socket is reset by what it still sends.
fn linger(stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    let mut rest = [0; 1024];
    let mut stream = stream;
    while matches!(stream.read(&mut rest), Ok(1..)) {}
}
