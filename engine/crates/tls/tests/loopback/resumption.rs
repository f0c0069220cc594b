//! Sessions: really resumed when that is asked for, and not even kept when it is not.

use rustls::HandshakeKind;
use rustls::version::{TLS12, TLS13};
use tlstax_tls::{Config, Connection, Context, SavedSession, TlsError, Verify};

use crate::certificates::Authority;
use crate::client::{connect, context, exchange, write_all};
use crate::server::{Options, Server, Sessions};

fn server(version: &'static rustls::SupportedProtocolVersion, sessions: Sessions) -> Server {
    let options = Options {
        versions: vec![version],
        sessions,
        ..Options::default()
    };
    Server::start(&Authority::new().issue(&["localhost"]), options)
}

fn resuming() -> Context {
    context(&Config {
        resumption: true,
        ..Config::default()
    })
}

/// A connection that has exchanged some data, and its session.
fn visit(
    server: &Server,
    context: &Context,
    session: Option<&SavedSession>,
) -> (Connection, Option<SavedSession>) {
    let mut connection = connect(server.address, context, Some("localhost"), session).unwrap();
    exchange(&mut connection);
    let session = connection.take_session();
    (connection, session)
}

#[test]
fn sessions_are_resumed_in_each_of_the_three_ways_again_and_again() {
    for (version, sessions, way) in [
        (&TLS13, Sessions::Stored, "1.3, kept by the server"),
        (&TLS13, Sessions::Tickets, "1.3, ticket"),
        (&TLS12, Sessions::Stored, "1.2, session id"),
        (&TLS12, Sessions::Tickets, "1.2, ticket"),
    ] {
        let server = server(version, sessions);
        let context = resuming();
        let (connection, mut session) = visit(&server, &context, None);
        assert!(!connection.negotiated().unwrap().resumed, "{way}");
        drop(connection);
        assert_eq!(server.view().kind, HandshakeKind::Full, "{way}");
        for _ in 0..4 {
            let offered = session
                .take()
                .unwrap_or_else(|| panic!("no session for {way}"));
            assert!(offered.is_resumable(), "{way}");
            let (connection, next) = visit(&server, &context, Some(&offered));
            let negotiated = connection.negotiated().unwrap();
            assert!(negotiated.resumed, "{way}");
            assert_eq!(
                negotiated.group.is_some(),
                version.version == TLS13.version,
                "{way}"
            );
            assert!(connection.peer_certificate().is_some(), "{way}");
            session = next;
            drop(connection);
            assert_eq!(server.view().kind, HandshakeKind::Resumed, "{way}");
        }
    }
}

#[test]
fn a_session_can_be_offered_by_several_connections_at_once() {
    let server = server(&TLS12, Sessions::Stored);
    let context = resuming();
    let session = visit(&server, &context, None).1.unwrap();
    let connections: Vec<_> = (0..3)
        .map(|_| visit(&server, &context, Some(&session.clone())).0)
        .collect();
    assert!(
        connections
            .iter()
            .all(|connection| connection.negotiated().unwrap().resumed)
    );
}

#[test]
fn a_ticket_of_tls_1_2_that_was_renewed_is_withdrawn() {
    let server = server(&TLS12, Sessions::Tickets);
    let context = resuming();
    let old = visit(&server, &context, None).1.unwrap();
    let new = visit(&server, &context, Some(&old)).1.unwrap();
    assert!(!old.is_resumable());
    assert!(new.is_resumable());
    assert!(
        !visit(&server, &context, Some(&old))
            .0
            .negotiated()
            .unwrap()
            .resumed
    );
}

#[test]
fn a_session_outlives_its_connection_however_that_was_closed() {
    for version in [&TLS12, &TLS13] {
        for shutdown in [true, false] {
            let server = server(version, Sessions::Tickets);
            let context = resuming();
            let (mut connection, session) = visit(&server, &context, None);
            if shutdown {
                connection.shutdown();
            }
            drop(connection);
            let (connection, _) = visit(&server, &context, session.as_ref());
            assert!(connection.negotiated().unwrap().resumed);
        }
    }
}

#[test]
fn a_ticket_of_tls_1_3_is_given_out_once() {
    let server = server(&TLS13, Sessions::Tickets);
    let (mut connection, session) = visit(&server, &resuming(), None);
    assert!(session.is_some());
    assert!(connection.take_session().is_none());
}

#[test]
fn without_resumption_nothing_is_kept() {
    for version in [&TLS12, &TLS13] {
        let server = server(version, Sessions::Tickets);
        let context = context(&Config::default());
        for _ in 0..2 {
            let (connection, session) = visit(&server, &context, None);
            assert!(session.is_none());
            drop(connection);
            assert_eq!(server.view().kind, HandshakeKind::Full);
        }
    }
}

#[test]
fn a_server_that_keeps_no_sessions_leaves_nothing_to_resume_in_tls_1_3() {
    let server = server(&TLS13, Sessions::None);
    assert!(visit(&server, &resuming(), None).1.is_none());
}

#[test]
fn a_session_does_not_carry_over_to_a_stricter_context() {
    let server = server(&TLS13, Sessions::Tickets);
    let session = visit(&server, &resuming(), None).1.unwrap();
    let config = Config {
        resumption: true,
        verify: Verify::Identity,
        ..Config::default()
    };
    let strict = context(&config);
    let refused = connect(server.address, &strict, Some("localhost"), Some(&session));
    assert!(
        matches!(refused, Err(TlsError::ForeignSession)),
        "{refused:?}"
    );
}

#[test]
fn a_session_that_the_server_forgot_ends_in_a_full_handshake() {
    for version in [&TLS12, &TLS13] {
        let context = resuming();
        let session = visit(&server(version, Sessions::Tickets), &context, None)
            .1
            .unwrap();
        let other = server(version, Sessions::Tickets);
        let (mut connection, new) = visit(&other, &context, Some(&session));
        assert!(!connection.negotiated().unwrap().resumed);
        assert!(new.is_some());
        write_all(&mut connection, b"still up", 8);
    }
}
