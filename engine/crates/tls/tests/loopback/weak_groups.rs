//! A server that offers Diffie-Hellman of 512 bits, as servers of before 2015 do: taken only when told to.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Sender, channel};

use rustls::SignatureScheme;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use tlstax_tls::{Config, TlsError, Version};

use crate::certificates::{Authority, Identity};
use crate::client::{connect, context};
use crate::server::Server;

/// A safe prime of 512 bits, and a power of 2 modulo it.
const PRIME: &str = concat!(
    "cf561c44ccc34e8f5a43b6862b5ab17a8a22b6da78b4892d547341c22b9e71ea",
    "3955e14d882da1c3d98fa29f4edfd2d9197b569d20e659a104808068edcc451b"
);
const PUBLIC: &str = concat!(
    "1e63a39286bfe68fe33f51df21819630dc1888674a880a39ec14906b0ac323c2",
    "2f0bdf2c34c6d391cc4819f31cd90547fbf3a43d4e80ed50a194f7d2a1e4b872"
);

const HANDSHAKE: u8 = 22;
const SERVER_HELLO: u8 = 2;
const CERTIFICATE: u8 = 11;
const SERVER_KEY_EXCHANGE: u8 = 12;
const SERVER_HELLO_DONE: u8 = 14;
const CLIENT_KEY_EXCHANGE: u8 = 16;
const SERVER_RANDOM: [u8; 32] = [7; 32];

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits = hexadecimal.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.map(byte).collect()
}

/// Bytes after their length, which takes N bytes itself.
fn with_length(width: usize, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    [&length[length.len() - width..], content].concat()
}

fn record(kind: u8, message: &[u8]) -> Vec<u8> {
    let message = [&[kind], &with_length(3, message)[..]].concat();
    [&[HANDSHAKE, 3, 3], &with_length(2, &message)[..]].concat()
}

/// Kind and content of a record's message.
fn read_message(stream: &mut TcpStream) -> std::io::Result<(u8, Vec<u8>)> {
    let mut header = [0; 5];
    stream.read_exact(&mut header)?;
    let mut message = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
    stream.read_exact(&mut message)?;
    Ok((message[0], message.split_off(4)))
}

/// The server's part up to its `ServerHelloDone` (RFC 5246, section 7.4), and what the client says then.
fn serve(stream: &mut TcpStream, identity: &Identity, said: &Sender<u8>) -> std::io::Result<()> {
    let (_, hello) = read_message(stream)?;
    let client_random = &hello[2..34];
    // TLS_DHE_RSA_WITH_AES_128_GCM_SHA256, and that renegotiation is the safe one (RFC 5746).
    let agreed = [
        &[3, 3],
        &SERVER_RANDOM[..],
        &[0, 0, 0x9e, 0],
        &[0, 5, 0xff, 1, 0, 1, 0],
    ]
    .concat();
    let chain = with_length(3, &with_length(3, &identity.certificate));
    let group = [bytes(PRIME), vec![2], bytes(PUBLIC)].map(|number| with_length(2, &number));
    let group = group.concat();
    let key = any_supported_type(&identity.private_key()).unwrap();
    let signer = key
        .choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256])
        .unwrap();
    let content = [client_random, &SERVER_RANDOM, &group].concat();
    let signature = with_length(2, &signer.sign(&content).unwrap());
    let exchange = [&group[..], &[4, 1], &signature].concat();
    for (kind, message) in [
        (SERVER_HELLO, agreed),
        (CERTIFICATE, chain),
        (SERVER_KEY_EXCHANGE, exchange),
        (SERVER_HELLO_DONE, Vec::new()),
    ] {
        stream.write_all(&record(kind, &message))?;
    }
    let (kind, _) = read_message(stream)?;
    said.send(kind).map_err(std::io::Error::other)
}

/// Why the handshake ended, and the message that the client sent last, if it sent one.
fn outcome(weak_dh: bool) -> (TlsError, Option<u8>) {
    let authority = Authority::new();
    let identity = authority.issue_rsa(&["localhost"]);
    let (sender, said) = channel();
    let server = Server::raw(move |mut stream| {
        // That the client ends it is what the test is about.
        let _ = serve(&mut stream, &identity, &sender);
    });
    let config = Config {
        max_version: Some(Version::Tls12),
        cipher_list: Some("DHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0".into()),
        weak_dh,
        ..Config::default()
    };
    let error = connect(server.address, &context(&config), None, None).unwrap_err();
    drop(server);
    (error, said.recv().ok())
}

#[test]
fn a_group_of_512_bits_is_refused_even_at_the_lowest_security_level() {
    let (error, said) = outcome(false);
    assert!(matches!(error, TlsError::Protocol { .. }), "{error:?}");
    assert_ne!(said, Some(CLIENT_KEY_EXCHANGE));
}

#[test]
fn a_group_of_512_bits_is_taken_when_told_to() {
    let (error, said) = outcome(true);
    assert_eq!(said, Some(CLIENT_KEY_EXCHANGE), "{error:?}");
    // It waited for the server's answer, and not in vain for a reason of its own.
    assert!(
        matches!(error, TlsError::ClosedDuringHandshake | TlsError::Io(_)),
        "{error:?}"
    );
}
