//! What is asked for is what is negotiated, and both sides say so.

use aws_lc_rs::digest;
use rcgen::{KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};
use rustls::crypto::aws_lc_rs::kx_group::{SECP256R1, SECP384R1, X25519, X25519MLKEM768};
use rustls::{HandshakeKind, NamedGroup, ProtocolVersion};
use tlstax_tls::{Config, Version, VersionNumber};

use crate::certificates::Authority;
use crate::client::{connect, context, exchange, library, open};
use crate::server::{Options, Server, Sessions};

fn only(version: Version) -> Config {
    Config {
        min_version: Some(version),
        max_version: Some(version),
        ..Config::default()
    }
}

#[test]
fn each_version_is_negotiated_when_asked_for() {
    let server = Server::plain(&Authority::new());
    for (asked, told, seen) in [
        (Version::Tls12, "TLSv1.2", ProtocolVersion::TLSv1_2),
        (Version::Tls13, "TLSv1.3", ProtocolVersion::TLSv1_3),
    ] {
        let mut client = connect(server.address, &context(&only(asked)), None, None).unwrap();
        exchange(&mut client);
        let negotiated = client.negotiated().unwrap();
        assert_eq!(negotiated.version, told);
        assert!(!negotiated.resumed);
        drop(client);
        assert_eq!(server.view().version, seen);
    }
}

#[test]
fn the_cipher_is_the_one_asked_for() {
    let server = Server::plain(&Authority::new());
    let list = "ECDHE-ECDSA-AES256-GCM-SHA384";
    let config = Config {
        cipher_list: Some(list.into()),
        ..only(Version::Tls12)
    };
    let client = connect(server.address, &context(&config), None, None).unwrap();
    assert_eq!(client.negotiated().unwrap().cipher, list);

    for suite in ["TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"] {
        let config = Config {
            ciphersuites: Some(suite.into()),
            ..only(Version::Tls13)
        };
        let client = connect(server.address, &context(&config), None, None).unwrap();
        assert_eq!(client.negotiated().unwrap().cipher, suite);
    }
}

#[test]
fn the_group_is_read_back_under_its_registered_name() {
    // An RSA certificate, as TLS 1.2 wants the curve of any other to be among the groups.
    let server = Server::start(
        &Authority::new().issue_rsa(&["localhost"]),
        Options::default(),
    );
    for version in [Version::Tls12, Version::Tls13] {
        for (asked, told, seen) in [
            ("P-256", "secp256r1", NamedGroup::secp256r1),
            ("P-384", "secp384r1", NamedGroup::secp384r1),
            ("X25519", "x25519", NamedGroup::X25519),
        ] {
            let config = Config {
                groups: Some(asked.into()),
                ..only(version)
            };
            let client = connect(server.address, &context(&config), None, None).unwrap();
            assert_eq!(
                client.negotiated().unwrap().group.as_deref(),
                Some(told),
                "{version}"
            );
            drop(client);
            assert_eq!(server.view().group, Some(seen), "{version}");
        }
    }
}

#[test]
fn the_post_quantum_group_is_read_back_where_the_library_has_it() {
    if library().version()
        < (VersionNumber {
            major: 3,
            minor: 5,
            patch: 0,
        })
    {
        return;
    }
    let options = Options {
        groups: vec![X25519MLKEM768],
        ..Options::default()
    };
    let server = Server::start(&Authority::new().issue(&["localhost"]), options);
    let client = connect(server.address, &context(&Config::default()), None, None).unwrap();
    assert_eq!(
        client.negotiated().unwrap().group.as_deref(),
        Some("X25519MLKEM768")
    );
}

#[test]
fn a_hello_retry_is_noticed_when_the_server_wants_another_key_share() {
    let authority = Authority::new();
    let retry = HandshakeKind::FullWithHelloRetryRequest;
    let groups = Some("X25519:P-256".to_owned());
    let config = Config {
        groups,
        observe_messages: true,
        ..only(Version::Tls13)
    };
    for (groups, told, seen, group) in [
        (vec![SECP256R1], true, retry, "secp256r1"),
        (vec![X25519], false, HandshakeKind::Full, "x25519"),
        (
            vec![SECP384R1, SECP256R1, X25519],
            false,
            HandshakeKind::Full,
            "x25519",
        ),
    ] {
        let options = Options {
            groups,
            ..Options::default()
        };
        let server = Server::start(&authority.issue(&["localhost"]), options);
        let mut client = connect(server.address, &context(&config), None, None).unwrap();
        exchange(&mut client);
        let negotiated = client.negotiated().unwrap();
        assert_eq!(negotiated.group.as_deref(), Some(group));
        assert_eq!(negotiated.hello_retry, Some(told));
        assert_eq!(
            client.handshake_round_trips(),
            Some(1 + u32::from(told)),
            "the server waits for the second hello"
        );
        drop(client);
        assert_eq!(server.view().kind, seen);
    }
}

#[test]
fn messages_that_are_not_observed_are_unknown() {
    let server = Server::plain(&Authority::new());
    let client = connect(server.address, &context(&Config::default()), None, None).unwrap();
    assert_eq!(client.negotiated().unwrap().hello_retry, None);
    assert_eq!(client.handshake_round_trips(), None);
}

#[test]
fn a_full_handshake_of_tls_1_2_waits_twice_and_a_resumed_one_once() {
    let options = Options {
        sessions: Sessions::Tickets,
        ..Options::default()
    };
    let server = Server::start(&Authority::new().issue(&["localhost"]), options);
    for (version, full) in [(Version::Tls12, 2), (Version::Tls13, 1)] {
        let config = Config {
            resumption: true,
            observe_messages: true,
            ..only(version)
        };
        let context = context(&config);
        let mut first = connect(server.address, &context, None, None).unwrap();
        exchange(&mut first);
        let session = first.take_session();
        let second = connect(server.address, &context, None, session.as_ref()).unwrap();
        assert!(second.negotiated().unwrap().resumed);
        let counted = [first, second].map(|client| client.handshake_round_trips());
        assert_eq!(counted, [Some(full), Some(1)], "{version}");
    }
}

#[test]
fn nothing_is_negotiated_before_the_handshake() {
    let server = Server::plain(&Authority::new());
    let client = open(server.address, &context(&Config::default()), None, None).unwrap();
    assert_eq!(client.negotiated(), None);
    assert_eq!(client.peer_certificate(), None);
    assert_eq!(client.bytes_written(), 0);
}

#[test]
fn the_servers_certificate_is_told_by_its_key_and_digest() {
    let authority = Authority::new();
    for (identity, key) in [
        (authority.issue(&["localhost"]), "EC P-256"),
        (authority.issue_rsa(&["localhost"]), "RSA 2048"),
    ] {
        let server = Server::start(&identity, Options::default());
        let client = connect(server.address, &context(&Config::default()), None, None).unwrap();
        let certificate = client.peer_certificate().unwrap();
        assert_eq!(certificate.key, key);
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &identity.certificate);
        let hexadecimal: Vec<_> = digest
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(certificate.sha256, hexadecimal.concat());
    }
}

#[test]
fn a_host_name_is_sent_and_an_address_is_not() {
    let server = Server::plain(&Authority::new());
    for (name, seen) in [
        ("localhost", Some("localhost")),
        ("127.0.0.1", None),
        ("::1", None),
    ] {
        drop(
            connect(
                server.address,
                &context(&Config::default()),
                Some(name),
                None,
            )
            .unwrap(),
        );
        assert_eq!(server.view().server_name.as_deref(), seen);
    }
}

#[test]
fn a_context_serves_many_threads_at_once() {
    let server = Server::plain(&Authority::new());
    let context = context(&Config {
        resumption: true,
        ..Config::default()
    });
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..8 {
                    exchange(&mut connect(server.address, &context, None, None).unwrap());
                }
            });
        }
    });
    assert_eq!(
        (0..32)
            .filter(|_| server.view().kind == HandshakeKind::Full)
            .count(),
        32
    );
}

#[test]
fn the_server_chooses_among_the_application_protocols_that_are_offered() {
    let authority = Authority::new();
    let serving = |alpn: &[&'static str]| {
        let alpn = alpn.to_vec();
        let options = Options {
            alpn,
            ..Options::default()
        };
        Server::start(&authority.issue(&["localhost"]), options)
    };
    let offering = |names: &[&str]| {
        context(&Config {
            alpn: names.iter().map(ToString::to_string).collect(),
            ..Config::default()
        })
    };
    let server = serving(&["postgresql"]);
    for (offered, expected) in [
        (&["postgresql"][..], Some("postgresql")),
        (&["x", "postgresql"], Some("postgresql")),
        (&[], None),
    ] {
        let mut client = connect(server.address, &offering(offered), None, None).unwrap();
        exchange(&mut client);
        assert_eq!(client.alpn().as_deref(), expected);
        drop(client);
        assert_eq!(server.view().alpn.as_deref(), expected);
    }
    // A server that knows none of them ends the handshake; one that knows no protocols goes on without
    // (RFC 7301, section 3.2).
    let (other, unaware) = (offering(&["http/1.1"]), serving(&[]));
    assert!(connect(server.address, &other, None, None).is_err());
    let mut client = connect(unaware.address, &other, None, None).unwrap();
    exchange(&mut client);
    assert_eq!(client.alpn(), None);
}

#[test]
fn a_channel_is_bound_to_the_certificate_by_the_hash_of_its_signature() {
    let key = |algorithm| KeyPair::generate_for(algorithm).unwrap();
    for (authority, algorithm) in [
        (Authority::new(), Some(&digest::SHA256)),
        (
            Authority::with_key(key(&PKCS_ECDSA_P384_SHA384)),
            Some(&digest::SHA384),
        ),
        (Authority::with_key(key(&PKCS_ED25519)), None),
    ] {
        let identity = authority.issue(&["localhost"]);
        let server = Server::start(&identity, Options::default());
        for version in [Version::Tls12, Version::Tls13] {
            let context = context(&only(version));
            let unfinished = open(server.address, &context, None, None).unwrap();
            assert_eq!(unfinished.end_point_hash(), None);
            let client = connect(server.address, &context, None, None).unwrap();
            let expected = algorithm.map(|by| digest::digest(by, &identity.certificate));
            assert_eq!(
                client.end_point_hash().as_ref().map(AsRef::as_ref),
                expected.as_ref().map(AsRef::as_ref)
            );
        }
    }
}
