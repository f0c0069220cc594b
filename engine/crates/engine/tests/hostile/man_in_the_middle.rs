//! Servers that want the password where others can read it: they get nothing that they can read.

use std::io;
use std::sync::mpsc::channel;

use tlstax_contract::{ErrorKind, Fault, Job, Tls};

use crate::engine::{job, run};
use crate::messages::packet;
use crate::server::{Peer, Server};

/// `AuthMoreData`: `caching_sha2_password` wants the whole password.
const FULL_AUTHENTICATION: &[u8] = &[1, 4];
/// `AuthSwitchRequest`.
const SWITCH_TO_CLEAR: &[u8] = b"\xfemysql_clear_password\0";

/// Asks for the password in this way; all that the client says after its answer to the greeting.
fn heard(peer: &mut Peer, asking: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let number = peer.hear_login()?;
    peer.send(&packet(number, asking))?;
    let mut heard = Vec::new();
    while let Ok((_, said)) = peer.read() {
        heard.push(said);
    }
    Ok(heard)
}

/// What the engine says to one that asks like this, and why it gave up.
fn asked(asking: &'static [u8], get_server_public_key: bool) -> (Vec<Vec<u8>>, String) {
    let (sender, receiver) = channel();
    let server = Server::start(move |peer| {
        // Of several connections, those after the first may be cut off before they are asked.
        if let Ok(heard) = heard(peer, asking) {
            let _ = sender.send(heard);
        }
        Ok(())
    });
    let ending = run(&Job {
        tls: Tls::Off {
            get_server_public_key,
        },
        connections: 1,
        ..job(&server)
    });
    let why = ending.fatal(ErrorKind::AccessDenied, Fault::Job).to_owned();
    (receiver.recv().unwrap(), why)
}

#[test]
fn one_who_would_send_a_key_of_their_own_is_not_asked_for_it() {
    let (heard, why) = asked(FULL_AUTHENTICATION, false);
    assert_eq!(heard, Vec::<Vec<u8>>::new());
    assert!(why.contains("RSA key"), "{why}");
    assert!(why.contains("log in over TLS first"), "{why}");
}

#[test]
fn one_who_wants_the_password_as_it_is_does_not_get_it() {
    for get_server_public_key in [false, true] {
        let (heard, why) = asked(SWITCH_TO_CLEAR, get_server_public_key);
        assert_eq!(heard, Vec::<Vec<u8>>::new());
        assert!(why.contains("it was not sent"), "{why}");
    }
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
    assert_eq!(receiver.recv().unwrap(), (3, vec![2]));
}
