//! A server by script: each connection is served by a function, in a thread of its own.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tlstax_test_server::Listening;

use crate::messages::{OK, greeting, packet};

const COM_QUIT: u8 = 1;

/// A server that runs until it is dropped.
pub struct Server {
    pub address: SocketAddr,
    _listening: Listening,
}

impl Server {
    /// Serves every connection by `script`; that a client hangs up ends the script.
    pub fn start(script: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static) -> Self {
        let script = Arc::new(script);
        let listening = Listening::start(move |stream| {
            let mut peer = Peer::new(stream);
            let script = Arc::clone(&script);
            std::thread::spawn(move || script(&mut peer));
        });
        Self {
            address: listening.address,
            _listening: listening,
        }
    }
}

type TlsStream = StreamOwned<ServerConnection, TcpStream>;

/// The client at the other end of one connection.
pub struct Peer {
    bare: TcpStream,
    tls: Option<TlsStream>,
}

impl Peer {
    fn new(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        Self {
            bare: stream,
            tls: None,
        }
    }

    /// Sends bytes, inside TLS where that was started.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.tls {
            Some(tls) => tls.write_all(bytes).and_then(|()| tls.flush()),
            None => self.bare.write_all(bytes),
        }
    }

    /// Sends bytes as they are, whatever was started.
    pub fn send_bare(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bare.write_all(bytes)
    }

    /// Sends the same bytes until the client hangs up.
    pub fn send_for_ever(&mut self, bytes: &[u8]) -> io::Result<()> {
        loop {
            self.send(bytes)?;
        }
    }

    /// Sends a byte every 50 ms, and goes on with zeros.
    pub fn drip(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes.iter().chain(std::iter::repeat(&0)) {
            self.send(&[*byte])?;
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Number and payload of the client's next packet.
    pub fn read(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut header = [0; 4];
        self.read_exact(&mut header)?;
        let [low, middle, high, number] = header;
        let mut payload = vec![0; u32::from_le_bytes([low, middle, high, 0]) as usize];
        self.read_exact(&mut payload)?;
        Ok((number, payload))
    }

    /// Fills `bytes` from what the client says next.
    pub fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        match &mut self.tls {
            Some(tls) => tls.read_exact(bytes),
            None => self.bare.read_exact(bytes),
        }
    }

    /// The socket, to be shut down by somebody else.
    pub fn stream(&self) -> TcpStream {
        self.bare.try_clone().unwrap()
    }

    /// Says no more until the client hangs up.
    pub fn fall_silent(&mut self) -> io::Result<()> {
        while self.bare.read(&mut [0; 1024])? > 0 {}
        Ok(())
    }

    /// Closes its side, and then waits for the client to close the other.
    pub fn hang_up(&mut self) -> io::Result<()> {
        self.bare.shutdown(Shutdown::Write)?;
        self.fall_silent()
    }

    /// Closes the connection while there are bytes of the client's that were not read, which resets
    /// it (RFC 9293, section 3.10.4).
    pub fn reset(&mut self) -> io::Result<()> {
        self.bare.peek(&mut [0])?;
        self.bare.shutdown(Shutdown::Both)
    }

    pub fn greet(&mut self) -> io::Result<()> {
        self.send(&packet(0, &greeting()))
    }

    /// Greets and reads what the client answers; the number of what is due next.
    pub fn hear_login(&mut self) -> io::Result<u8> {
        self.greet()?;
        Ok(self.read()?.0 + 1)
    }

    pub fn log_in(&mut self) -> io::Result<()> {
        let number = self.hear_login()?;
        self.send(&packet(number, OK))
    }

    /// Greets, reads the request for TLS and makes the handshake.
    pub fn start_tls(&mut self, config: &Arc<ServerConfig>) -> io::Result<()> {
        self.greet()?;
        self.read()?;
        self.shake_hands(config)
    }

    /// Makes the handshake.
    pub fn shake_hands(&mut self, config: &Arc<ServerConfig>) -> io::Result<()> {
        let tls = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        let mut tls = StreamOwned::new(tls, self.bare.try_clone()?);
        while tls.conn.is_handshaking() {
            tls.conn.complete_io(&mut tls.sock)?;
        }
        self.tls = Some(tls);
        Ok(())
    }

    /// The same with the login after it.
    pub fn log_in_by_tls(&mut self, config: &Arc<ServerConfig>) -> io::Result<()> {
        self.start_tls(config)?;
        let number = self.read()?.0 + 1;
        self.send(&packet(number, OK))
    }

    /// The state of TLS, to do what no server does.
    pub fn tls(&mut self) -> &mut TlsStream {
        self.tls.as_mut().expect("TLS was started")
    }

    /// Answers this many commands with OK, if the client does not hang up before.
    pub fn answer(&mut self, count: usize) -> io::Result<()> {
        for _ in 0..count {
            if self.read()?.1 == [COM_QUIT] {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.send(&packet(1, OK))?;
        }
        Ok(())
    }

    /// Logs the client in, answers the question that proves what was negotiated, and reads the
    /// first statement of the window.
    pub fn come_to_the_window(&mut self) -> io::Result<()> {
        self.log_in()?;
        self.answer(1)?;
        self.read().map(drop)
    }
}

/// What a server with a certificate of its own needs for TLS; `tickets` go out after the handshake.
pub fn tls_config(tickets: usize) -> Arc<ServerConfig> {
    certified(tickets).0
}

/// The same, and its certificate (PEM), by which a client can verify it.
pub fn certified(tickets: usize) -> (Arc<ServerConfig>, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let (certificate, pem) = (certificate.der().clone(), certificate.pem());
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .unwrap();
    config.send_tls13_tickets = tickets;
    (Arc::new(config), pem)
}
