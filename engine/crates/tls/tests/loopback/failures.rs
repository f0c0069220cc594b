//! Servers that are no TLS servers, or that end the handshake: an error that says so, never a hang.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::channel;

use rustix::net::sockopt::set_socket_linger;
use rustls::version::{TLS12, TLS13};
use tlstax_tls::{Config, HandshakeStatus, TlsError, Version};

use crate::certificates::Authority;
use crate::client::{connect, context, exchange, open, read, write_all};
use crate::server::{Farewell, Options, Server};

fn failure(server: &Server, config: &Config) -> TlsError {
    connect(server.address, &context(config), None, None).unwrap_err()
}

fn take_hello(stream: &mut TcpStream) {
    stream.read_exact(&mut [0; 50]).unwrap();
}

#[test]
fn a_server_that_closes_at_once_is_told_as_that() {
    let server = Server::raw(|mut stream| {
        take_hello(&mut stream);
        // Taken whole, so that the end is an orderly one and not a reset.
        stream.set_nonblocking(true).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let error = failure(&server, &Config::default());
    assert!(
        matches!(error, TlsError::ClosedDuringHandshake),
        "{error:?}"
    );
}

#[test]
fn a_server_that_closes_in_the_middle_of_a_record_is_told_as_that() {
    let server = Server::raw(|mut stream| {
        take_hello(&mut stream);
        stream.set_nonblocking(true).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
        stream
            .write_all(b"\x16\x03\x03\x00\x7a\x02\x00\x00")
            .unwrap();
    });
    let error = failure(&server, &Config::default());
    assert!(
        matches!(error, TlsError::ClosedDuringHandshake),
        "{error:?}"
    );
}

#[test]
fn a_connection_that_is_reset_is_a_network_failure() {
    let server = Server::raw(|mut stream| {
        take_hello(&mut stream);
        set_socket_linger(&stream, Some(std::time::Duration::ZERO)).unwrap();
    });
    match failure(&server, &Config::default()) {
        TlsError::Io(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        other => panic!("expected a network failure, not {other:?}"),
    }
}

#[test]
fn a_server_that_speaks_something_else_is_told_as_that() {
    for greeting in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"J\0\0\0\n8.0.33\0garbage",
        &[0; 99],
    ] {
        let server = Server::raw(move |mut stream| {
            take_hello(&mut stream);
            stream.write_all(greeting).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        });
        match failure(&server, &Config::default()) {
            TlsError::Protocol { reason } => {
                assert!(
                    reason.contains("version") || reason.contains("record"),
                    "{reason}"
                );
            }
            other => panic!("expected a protocol failure, not {other:?}"),
        }
    }
}

#[test]
fn a_silent_server_leaves_the_caller_in_charge() {
    let (done, wait) = channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let server = Server::raw(move |_stream| {
        let _ = wait.lock().unwrap().recv();
    });
    let mut client = open(server.address, &context(&Config::default()), None, None).unwrap();
    for _ in 0..3 {
        assert_eq!(client.handshake().unwrap(), HandshakeStatus::WantRead);
    }
    drop(done);
}

#[test]
fn no_version_in_common_is_the_servers_alert() {
    let options = Options {
        versions: vec![&TLS13],
        ..Options::default()
    };
    let server = Server::start(&Authority::new().issue(&["localhost"]), options);
    let error = failure(
        &server,
        &Config {
            max_version: Some(Version::Tls12),
            ..Config::default()
        },
    );
    match &error {
        TlsError::Alert {
            code: 70,
            description,
        } => assert_eq!(description, "protocol version"),
        other => panic!("expected an alert, not {other:?}"),
    }
    let sentence = "the server ended TLS with alert 70 (protocol version)";
    assert_eq!(error.to_string(), sentence);
}

#[test]
fn no_cipher_in_common_is_the_servers_alert() {
    let options = Options {
        versions: vec![&TLS12],
        ..Options::default()
    };
    let server = Server::start(&Authority::new().issue(&["localhost"]), options);
    let cipher_list = Some("ECDHE-RSA-AES128-GCM-SHA256".to_owned());
    let error = failure(
        &server,
        &Config {
            cipher_list,
            ..Config::default()
        },
    );
    assert!(
        matches!(error, TlsError::Alert { code: 40, .. }),
        "{error:?}"
    );
}

#[test]
fn a_failure_leaves_the_thread_fit_for_the_next_connection() {
    let authority = Authority::new();
    let garbage = Server::raw(|mut stream| {
        take_hello(&mut stream);
        stream.write_all(&[0; 99]).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let server = Server::plain(&authority);
    let context = context(&Config::default());
    let mut good = connect(server.address, &context, None, None).unwrap();
    for _ in 0..3 {
        let mut bad = open(garbage.address, &context, None, None).unwrap();
        assert!(crate::client::handshake(&mut bad).is_err());
        assert!(matches!(bad.read(&mut [0; 8]), Err(TlsError::NotUp)));
        assert!(matches!(bad.handshake(), Err(TlsError::NotUp)));
        assert_eq!(bad.negotiated(), None);
        bad.shutdown();
        exchange(&mut good);
    }
}

#[test]
fn no_data_flow_before_the_handshake() {
    let server = Server::plain(&Authority::new());
    let mut client = open(server.address, &context(&Config::default()), None, None).unwrap();
    assert!(matches!(client.write(b"early"), Err(TlsError::NotUp)));
    assert!(matches!(client.read(&mut [0; 8]), Err(TlsError::NotUp)));
    crate::client::handshake(&mut client).unwrap();
    exchange(&mut client);
}

#[test]
fn a_reset_after_the_handshake_is_a_network_failure() {
    let options = Options {
        farewell: Farewell::Reset,
        ..Options::default()
    };
    let server = Server::start(&Authority::new().issue(&["localhost"]), options);
    let mut client = connect(server.address, &context(&Config::default()), None, None).unwrap();
    write_all(&mut client, b"bye", 3);
    match read(&mut client, &mut [0; 8]) {
        Err(TlsError::Io(error)) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        other => panic!("expected a network failure, not {other:?}"),
    }
}
