//! What opens a connection: other protocols, and servers too old or nearly so.

use std::sync::Arc;

use tlstax_wire::{Fault, Greeting, Login, LoginConfig, Violation, WireError};

use crate::login::config;
use crate::recordings::{bytes_of, packet, server_bytes};
use crate::splits::{every_cut, pieces};

/// The error that a login meets in `bytes`.
pub fn login_error(bytes: &[u8], config: LoginConfig, lengths: &[usize]) -> WireError {
    let mut login = Login::new(Arc::new(config)).unwrap();
    let mut out = Vec::new();
    for piece in pieces(bytes, lengths) {
        if let Err(error) = login.feed(piece, &mut out) {
            return error;
        }
    }
    panic!("the login took {bytes:02x?}")
}

#[test]
fn other_servers_are_recognised_by_their_first_bytes() {
    let banners: [(&[u8], Option<&str>); 8] = [
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", Some("SSH")),
        (b"HTTP/1.1 400 Bad Request\r\n", Some("HTTP")),
        (b"220 mail.example.org ESMTP\r\n", Some("SMTP or FTP")),
        (b"+OK POP3 ready\r\n", Some("POP3")),
        (b"* OK IMAP4rev1\r\n", Some("IMAP")),
        (
            b"\x15\x03\x01\0\x02\x02\x28",
            Some("a TLS alert; it expects TLS from the first byte"),
        ),
        (
            b"\x05\0\0\0\x0b\x08\x05\x1a\0",
            Some("MySQL's X Protocol; the classic protocol is on another port"),
        ),
        (b"\x01\x00\x00\x00\x09", None),
    ];
    for (bytes, name) in banners {
        let whole = login_error(bytes, LoginConfig::default(), &[usize::MAX]);
        assert_eq!(whole.fault(), Fault::Job);
        let WireError::NotMySql { looks_like, .. } = &whole else {
            panic!("{whole}")
        };
        assert_eq!(*looks_like, name);
        for lengths in every_cut(bytes.len()) {
            assert_eq!(login_error(bytes, LoginConfig::default(), &lengths), whole);
        }
    }
    let error = login_error(b"SSH-2.0-x\r\n", LoginConfig::default(), &[usize::MAX]);
    let expected = "this is not a MySQL server: it opened with \"SSH-\", which looks like SSH";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn old_password_hashes_and_old_servers_are_refused_by_name() {
    let mut login = Login::new(Arc::new(config("native"))).unwrap();
    let mut out = Vec::new();
    login
        .feed(&server_bytes("mysql-5.6.24", "no_tls"), &mut out)
        .unwrap();
    let error = login.feed(&packet(2, &[0xfe]), &mut out).unwrap_err();
    assert_eq!(
        error,
        WireError::UnsupportedPlugin {
            plugin: "mysql_old_password".into()
        }
    );

    let ancient = bytes_of("0a 342e3000 01000000 3132333435363738 00 2c00");
    let error = login_error(&packet(0, &ancient), config("native"), &[usize::MAX]);
    assert!(matches!(error, WireError::ServerTooOld { .. }), "{error}");
}

/// MySQL 5.5.7 to 5.5.9 leave out the NUL behind the plugin's name, and some servers announce
/// scramble lengths of 0; the greeting may also end right after the scramble.
#[test]
fn greetings_of_old_servers_are_understood() {
    let start = "0a 352e352e3800 07000000 3132333435363738 00 fff7 08 0200";
    let scramble = "393031323334353637383930 00";
    let zeros = "00000000000000000000";
    let named = format!("{start} 0f80 15 {zeros} {scramble} 6d7973716c5f6e6174697665");
    let greeting = Greeting::parse(&bytes_of(&named)).unwrap();
    assert_eq!(greeting.plugin, "mysql_native");
    for (high, announced, tail) in [
        ("0080", "15", scramble),
        ("0080", "00", scramble),
        ("0080", "14", &scramble[..24]),
    ] {
        let greeting = bytes_of(&format!("{start} {high} {announced} {zeros} {tail}"));
        let greeting = Greeting::parse(&greeting).unwrap();
        assert_eq!(&greeting.scramble, b"12345678901234567890");
        assert_eq!(
            (greeting.version.as_str(), greeting.thread_id),
            ("5.5.8", 7)
        );
        assert_eq!(greeting.plugin, "");
    }
    let short = bytes_of(&format!("{start} 0080 15 {zeros} 3930"));
    let error = Greeting::parse(&short).unwrap_err();
    assert_eq!(
        error,
        Violation::Truncated {
            packet: "the greeting"
        }
        .into()
    );
}
