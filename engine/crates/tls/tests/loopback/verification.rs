//! Certificates: which are accepted under which check, and whose fault a refusal is.

use rustls::version::{TLS12, TLS13};
use tlstax_tls::{Config, TlsError, Verify};

use crate::certificates::{Authority, Identity};
use crate::client::{connect, context, exchange};
use crate::server::{Options, Server};

/// What becomes of a connection under the name `name` to a server with this certificate.
fn outcome(
    identity: &Identity,
    authority: &Authority,
    verify: Verify,
    name: &str,
) -> Result<(), TlsError> {
    let server = Server::start(identity, Options::default());
    let config = Config {
        verify,
        ca_file: Some(authority.file()),
        ..Config::default()
    };
    connect(server.address, &context(&config), Some(name), None).map(drop)
}

/// OpenSSL's words for a refusal, which must be about the certificate.
fn refusal(identity: &Identity, authority: &Authority, verify: Verify, name: &str) -> String {
    match outcome(identity, authority, verify, name) {
        Err(TlsError::Certificate { reason, .. }) => reason.to_lowercase(),
        other => panic!("expected a refused certificate, not {other:?}"),
    }
}

#[test]
fn a_good_certificate_is_accepted_under_every_check() {
    let authority = Authority::new();
    let identity = authority.issue(&["localhost"]);
    for verify in [Verify::None, Verify::Ca, Verify::Identity] {
        outcome(&identity, &authority, verify, "localhost").unwrap();
    }
}

#[test]
fn an_expired_certificate_is_refused_as_expired() {
    let authority = Authority::new();
    let identity = authority.issue_expired(&["localhost"]);
    let reason = refusal(&identity, &authority, Verify::Ca, "localhost");
    assert_eq!(reason, "certificate has expired");
}

#[test]
fn a_certificate_of_another_authority_is_refused() {
    let identity = Authority::new().issue(&["localhost"]);
    let reason = refusal(&identity, &Authority::new(), Verify::Ca, "localhost");
    // The two authorities share a name; the versions differ in what they notice first.
    let noticed = [
        "unable to get local issuer certificate",
        "certificate signature failure",
    ];
    assert!(noticed.contains(&reason.as_str()), "{reason}");
}

#[test]
fn a_wrong_host_name_is_refused_only_when_the_identity_is_checked() {
    let authority = Authority::new();
    let identity = authority.issue(&["localhost"]);
    outcome(&identity, &authority, Verify::Ca, "db.example").unwrap();
    let reason = refusal(&identity, &authority, Verify::Identity, "db.example");
    assert_eq!(reason, "hostname mismatch");
}

#[test]
fn an_address_is_checked_against_the_addresses_in_the_certificate() {
    let authority = Authority::new();
    let identity = authority.issue(&["127.0.0.1", "::1"]);
    outcome(&identity, &authority, Verify::Identity, "127.0.0.1").unwrap();
    outcome(&identity, &authority, Verify::Identity, "::1").unwrap();
    let reason = refusal(&identity, &authority, Verify::Identity, "127.0.0.2");
    assert_eq!(reason, "ip address mismatch");
}

#[test]
fn a_wildcard_stands_for_one_whole_label() {
    let authority = Authority::new();
    let identity = authority.issue(&["*.example.org"]);
    outcome(&identity, &authority, Verify::Identity, "db.example.org").unwrap();
    let reason = refusal(&identity, &authority, Verify::Identity, "a.db.example.org");
    assert_eq!(reason, "hostname mismatch");
}

#[test]
fn without_verification_any_certificate_will_do() {
    let identity = Authority::new().issue_expired(&["db.example"]);
    outcome(&identity, &Authority::new(), Verify::None, "localhost").unwrap();
}

#[test]
fn an_identity_needs_a_name_to_be_checked() {
    let authority = Authority::new();
    let server = Server::plain(&authority);
    let ca_file = Some(authority.file());
    let config = Config {
        verify: Verify::Identity,
        ca_file,
        ..Config::default()
    };
    match connect(server.address, &context(&config), None, None) {
        Err(TlsError::Setting {
            field: "server_name",
            ..
        }) => {}
        other => panic!("expected a refused setting, not {other:?}"),
    }
}

#[test]
fn a_client_certificate_is_presented_and_its_lack_is_an_alert() {
    let authority = Authority::new();
    let client = authority.issue(&["client"]);
    let both = format!("{}{}", client.certificate_pem, client.key.serialize_pem());
    let certificate_file = Some(authority.write("client.pem", &both));
    let key_file = Some(authority.write("client-key.pem", &client.key.serialize_pem()));
    for version in [&TLS12, &TLS13] {
        let client_authority = Some(authority.certificate());
        let versions = vec![version];
        let options = Options {
            versions,
            client_authority,
            ..Options::default()
        };
        let server = Server::start(&authority.issue(&["localhost"]), options);
        for key_file in [key_file.clone(), None] {
            let certificate_file = certificate_file.clone();
            let config = Config {
                certificate_file,
                key_file,
                ..Config::default()
            };
            let mut connection = connect(server.address, &context(&config), None, None).unwrap();
            exchange(&mut connection);
            drop(connection);
            assert!(server.view().client_certificate);
        }
        let refused = connect(server.address, &context(&Config::default()), None, None)
            .and_then(|mut connection| crate::client::read(&mut connection, &mut [0; 8]));
        // TLS 1.2 has no alert of its own for this (116 is of TLS 1.3); rustls sends it in both.
        assert!(
            matches!(refused, Err(TlsError::Alert { code: 116, .. })),
            "{refused:?}"
        );
    }
}
