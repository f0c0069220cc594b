//! Servers that want the password where others can read it, or that may be anybody: they get nothing to read.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use rustls::ServerConfig;
use tlstax_contract::{ErrorKind, Fault, Job, Tls, TlsSettings, Verify};

use crate::engine::{Ending, job, run};
use crate::messages::packet;
use crate::server::{Peer, Server, certified, tls_config};

/// `AuthMoreData`: `caching_sha2_password` wants the whole password.
const FULL_AUTHENTICATION: &[u8] = &[1, 4];
/// `AuthSwitchRequest`.
const SWITCH_TO_CLEAR: &[u8] = b"\xfemysql_clear_password\0";

/// `AuthSwitchRequest` of before MySQL 5.5: `mysql_old_password`.
const SWITCH_TO_OLD: &[u8] = &[0xfe];
const PASSWORD: &[u8] = b"correct horse\0";

/// Soon for an engine that waits for the answer to its password, and long enough to be asked for one before.
const TIMEOUT_S: f64 = 1.0;

/// Asks for the password in this way; all that the client says after its answer to the greeting.
fn heard(
    peer: &mut Peer,
    tls: Option<&Arc<ServerConfig>>,
    asking: &[u8],
) -> io::Result<Vec<Vec<u8>>> {
    let number = match tls {
        Some(config) => {
            peer.start_tls(config)?;
            peer.read()?.0 + 1
        }
        None => peer.hear_login()?,
    };
    peer.send(&packet(number, asking))?;
    let mut heard = Vec::new();
    while let Ok((_, said)) = peer.read() {
        heard.push(said);
    }
    Ok(heard)
}

/// What the script of this server sent; an error where it came to none, since then nobody is left to send it.
fn said_to<T>(server: Server, receiver: &Receiver<T>) -> T {
    drop(server);
    receiver.recv().unwrap()
}

/// What the engine says to one that asks like this, and how it ended.
fn asked(
    asking: &'static [u8],
    tls: Tls,
    with: Option<Arc<ServerConfig>>,
) -> (Vec<Vec<u8>>, Ending) {
    let (sender, receiver) = channel();
    let server = Server::start(move |peer| {
        // Of several connections, those after the first may be cut off before they are asked.
        if let Ok(heard) = heard(peer, with.as_ref(), asking) {
            let _ = sender.send(heard);
        }
        Ok(())
    });
    let ending = run(&Job {
        tls,
        connections: 1,
        timeout_s: TIMEOUT_S,
        ..job(&server)
    });
    (said_to(server, &receiver), ending)
}

/// The same where it gave up of itself, and why.
fn refused(
    asking: &'static [u8],
    tls: Tls,
    with: Option<Arc<ServerConfig>>,
    fault: Fault,
) -> (Vec<Vec<u8>>, String) {
    let (heard, ending) = asked(asking, tls, with);
    let why = ending.fatal(ErrorKind::AccessDenied, fault).to_owned();
    (heard, why)
}

fn in_the_clear(get_server_public_key: bool) -> Tls {
    Tls::Off {
        get_server_public_key,
    }
}

fn encrypted(verify: Verify, ca_file: Option<PathBuf>) -> Tls {
    Tls::On(Box::new(TlsSettings {
        server_name: Some("localhost".into()),
        verify,
        ca_file,
        ..TlsSettings::default()
    }))
}

#[test]
fn one_who_would_send_a_key_of_their_own_is_not_asked_for_it() {
    let (heard, why) = refused(FULL_AUTHENTICATION, in_the_clear(false), None, Fault::Job);
    assert_eq!(heard, Vec::<Vec<u8>>::new());
    assert!(why.contains("RSA key"), "{why}");
    assert!(why.contains("log in over TLS first"), "{why}");
}

#[test]
fn one_who_wants_the_password_as_it_is_does_not_get_it() {
    for get_server_public_key in [false, true] {
        let tls = in_the_clear(get_server_public_key);
        let (heard, why) = refused(SWITCH_TO_CLEAR, tls, None, Fault::Job);
        assert_eq!(heard, Vec::<Vec<u8>>::new());
        assert!(why.contains("it was not sent"), "{why}");
    }
}

/// TLS with anybody's certificate keeps out those who listen, and not the one who made it.
#[test]
fn one_with_a_certificate_of_their_own_does_not_get_it_either() {
    let tls = encrypted(Verify::None, None);
    let (heard, why) = refused(SWITCH_TO_CLEAR, tls, Some(tls_config(0)), Fault::Job);
    assert_eq!(heard, Vec::<Vec<u8>>::new());
    assert!(why.contains("it was not sent"), "{why}");
    assert!(why.contains("--ssl-mode=VERIFY_IDENTITY"), "{why}");
}

#[test]
fn nobody_gets_a_hash_of_before_mysql_4_1() {
    for (tls, with) in [
        (in_the_clear(true), None),
        (encrypted(Verify::None, None), Some(tls_config(0))),
    ] {
        let (heard, why) = refused(SWITCH_TO_OLD, tls, with, Fault::Client);
        assert_eq!(heard, Vec::<Vec<u8>>::new());
        assert!(why.contains("mysql_old_password"), "{why}");
    }
}

/// Otherwise the tests above could not fail.
#[test]
fn a_server_that_was_verified_gets_the_password_that_it_asks_for() {
    let (config, pem) = certified(0);
    let ca_file = std::env::temp_dir().join(format!("tlstax-hostile-{}.pem", std::process::id()));
    std::fs::write(&ca_file, pem).unwrap();
    for verify in [Verify::Ca, Verify::Identity] {
        let tls = encrypted(verify, Some(ca_file.clone()));
        let (heard, _) = asked(SWITCH_TO_CLEAR, tls, Some(Arc::clone(&config)));
        assert_eq!(heard, [PASSWORD]);
    }
    std::fs::remove_file(ca_file).unwrap();
}

/// Over any TLS, as every client does it: `caching_sha2_password` in full is the account's own method.
#[test]
fn the_whole_of_caching_sha2_goes_over_tls_alone() {
    let tls = encrypted(Verify::None, None);
    let (heard, _) = asked(FULL_AUTHENTICATION, tls, Some(tls_config(0)));
    assert_eq!(heard, [PASSWORD]);
}

#[test]
fn one_who_asks_for_a_file_gets_none() {
    let (sender, receiver) = channel();
    let server = Server::start(move |peer| {
        peer.log_in()?;
        peer.read()?;
        peer.send(&packet(1, b"\xfb/etc/passwd"))?;
        let _ = sender.send(peer.read().ok());
        Ok(())
    });
    let ending = run(&Job {
        connections: 1,
        ..job(&server)
    });
    let why = ending.fatal(ErrorKind::Protocol, Fault::Server);
    assert!(why.contains("LOCAL INFILE"), "{why}");
    assert_eq!(said_to(server, &receiver), None);
}

#[test]
fn a_server_that_is_known_is_asked_for_its_key() {
    let (sender, receiver) = channel();
    let server = Server::start(move |peer| {
        let number = peer.hear_login()?;
        peer.send(&packet(number, FULL_AUTHENTICATION))?;
        let _ = sender.send(peer.read()?);
        peer.hang_up()
    });
    run(&Job {
        connections: 1,
        ..job(&server)
    });
    assert_eq!(said_to(server, &receiver), (3, vec![2]));
}
