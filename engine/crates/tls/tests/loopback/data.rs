//! Application data: all of it arrives whatever the sizes of the buffers, and is counted.

use std::sync::mpsc::channel;

use tlstax_tls::{Config, ReadStatus, WriteStatus};

use crate::certificates::Authority;
use crate::client::{connect, context, exchange, open, read, read_exact, write_all};
use crate::server::{Farewell, Options, Server};

/// Bytes without a short period, so that a lost or doubled piece shows.
fn pattern(length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| u8::try_from((at * 31 + at / 251) % 256).unwrap())
        .collect()
}

#[test]
fn data_survives_tiny_buffers() {
    let server = Server::plain(&Authority::new());
    let mut client = connect(server.address, &context(&Config::default()), None, None).unwrap();
    let data = pattern(5000);
    for (write_step, read_step) in [(1, 4096), (7, 3), (5000, 1)] {
        write_all(&mut client, &data, write_step);
        assert!(read_exact(&mut client, data.len(), read_step) == data);
    }
}

#[test]
fn a_write_that_the_socket_does_not_take_is_resumed_without_loss() {
    let authority = Authority::new();
    let server = Server::plain(&authority);
    let mut client = connect(server.address, &context(&Config::default()), None, None).unwrap();
    let data = pattern(32 << 20);
    let mut rest = data.as_slice();
    let mut echoed = Vec::with_capacity(data.len());
    let mut buffer = vec![0; 64 << 10];
    let mut blocked = false;
    while !rest.is_empty() {
        // The server reads no further while its echo is not read, so this must block in time.
        match client.write(rest).unwrap() {
            WriteStatus::Written(count) => rest = &rest[count..],
            WriteStatus::WantRead | WriteStatus::WantWrite => {
                blocked = true;
                let count = read(&mut client, &mut buffer).unwrap();
                echoed.extend_from_slice(&buffer[..count]);
            }
        }
    }
    assert!(blocked, "the socket took everything, so nothing was tested");
    echoed.extend(read_exact(&mut client, data.len() - echoed.len(), 64 << 10));
    assert!(echoed == data);
}

#[test]
fn what_is_left_of_a_record_is_pending() {
    let server = Server::plain(&Authority::new());
    let mut client = connect(server.address, &context(&Config::default()), None, None).unwrap();
    write_all(&mut client, b"0123456789", 10);
    assert_eq!(read_exact(&mut client, 1, 1), b"0");
    assert_eq!(client.pending(), 9);
    assert!(client.has_pending());
    let mut rest = [0; 16];
    assert_eq!(client.read(&mut rest).unwrap(), ReadStatus::Data(9));
    assert_eq!(client.read(&mut rest).unwrap(), ReadStatus::WantRead);
    assert_eq!(client.pending(), 0);
    assert!(!client.has_pending());
}

#[test]
fn empty_buffers_do_nothing() {
    let server = Server::plain(&Authority::new());
    let mut client = connect(server.address, &context(&Config::default()), None, None).unwrap();
    assert_eq!(client.write(&[]).unwrap(), WriteStatus::Written(0));
    assert_eq!(client.read(&mut []).unwrap(), ReadStatus::Data(0));
    exchange(&mut client);
}

#[test]
fn bytes_on_the_wire_are_those_that_the_server_counts() {
    let server = Server::plain(&Authority::new());
    let mut client = connect(server.address, &context(&Config::default()), None, None).unwrap();
    write_all(&mut client, &pattern(1000), 1000);
    read_exact(&mut client, 1000, 1000);
    client.shutdown();
    let (read, written) = (client.bytes_read(), client.bytes_written());
    drop(client);
    let view = server.view();
    assert_eq!(written, view.bytes_read);
    assert_eq!(read, view.bytes_written);
    assert!(read > 1000 && written > 1000);
}

#[test]
fn a_server_that_closes_is_seen_with_and_without_its_notice() {
    let authority = Authority::new();
    for farewell in [Farewell::CloseNotify, Farewell::BareEnd] {
        let options = Options {
            farewell,
            ..Options::default()
        };
        let server = Server::start(&authority.issue(&["localhost"]), options);
        let mut client = connect(server.address, &context(&Config::default()), None, None).unwrap();
        write_all(&mut client, b"bye", 3);
        assert_eq!(read(&mut client, &mut [0; 8]).unwrap(), 0);
    }
}

#[test]
fn the_server_hears_of_a_shutdown_and_only_of_a_shutdown() {
    let server = Server::plain(&Authority::new());
    for shutdown in [true, false] {
        let mut client = connect(server.address, &context(&Config::default()), None, None).unwrap();
        exchange(&mut client);
        if shutdown {
            client.shutdown();
        }
        drop(client);
        assert_eq!(server.view().close_notify, shutdown);
    }
}

#[test]
fn a_shutdown_before_the_handshake_is_harmless() {
    let server = Server::plain(&Authority::new());
    let mut client = open(server.address, &context(&Config::default()), None, None).unwrap();
    client.shutdown();
    assert_eq!(client.bytes_written(), 0);
}

#[test]
fn dropping_a_connection_closes_its_socket() {
    let (sender, ended) = channel();
    let server = Server::raw(move |mut stream| {
        let count = std::io::copy(&mut stream, &mut std::io::sink());
        sender.send(count.is_ok()).unwrap();
    });
    drop(open(server.address, &context(&Config::default()), None, None).unwrap());
    assert!(
        ended
            .recv_timeout(std::time::Duration::from_secs(20))
            .unwrap()
    );
}
