//! Settings that are refused are named, with OpenSSL's reason; the key log is written.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tlstax_tls::{Config, Context, TlsError, Version};

use crate::certificates::Authority;
use crate::client::{connect, context, exchange, library};
use crate::server::Server;

/// The field and the reason of a refusal, and the sentence made of them.
fn refusal(config: &Config) -> (&'static str, String) {
    match Context::new(library(), config) {
        Err(TlsError::Setting { field, reason }) => (field, reason),
        other => panic!("expected a refused setting, not {other:?}"),
    }
}

#[test]
fn ciphers_that_do_not_exist_are_refused() {
    let config = Config {
        cipher_list: Some("NO-SUCH-CIPHER".into()),
        ..Config::default()
    };
    assert_eq!(
        refusal(&config),
        ("cipher_list", "no cipher match".to_owned())
    );
    let error = Context::new(library(), &config).unwrap_err();
    assert_eq!(error.to_string(), "cipher_list: no cipher match");

    let config = Config {
        ciphersuites: Some("TLS_NO_SUCH_SUITE".into()),
        ..Config::default()
    };
    assert_eq!(
        refusal(&config),
        ("ciphersuites", "no cipher match".to_owned())
    );
}

#[test]
fn groups_that_do_not_exist_are_refused() {
    let config = Config {
        groups: Some("P-257".into()),
        ..Config::default()
    };
    let (field, reason) = refusal(&config);
    assert_eq!(field, "groups");
    assert!(!reason.is_empty());
}

#[test]
fn versions_in_the_wrong_order_are_refused() {
    let (min_version, max_version) = (Some(Version::Tls13), Some(Version::Tls12));
    let config = Config {
        min_version,
        max_version,
        ..Config::default()
    };
    assert_eq!(
        refusal(&config),
        ("min_version", "1.3 is above max_version 1.2".to_owned())
    );
}

#[test]
fn text_with_a_nul_byte_is_refused() {
    let config = Config {
        cipher_list: Some("AES\0".into()),
        ..Config::default()
    };
    assert_eq!(refusal(&config).0, "cipher_list");
}

#[test]
fn files_that_are_missing_are_named() {
    let missing = Some(Authority::new().path("missing.pem"));
    for (config, field) in [
        (
            Config {
                ca_file: missing.clone(),
                ..Config::default()
            },
            "ca_file",
        ),
        (
            Config {
                certificate_file: missing.clone(),
                ..Config::default()
            },
            "certificate_file",
        ),
        (
            Config {
                key_file: missing.clone(),
                ..Config::default()
            },
            "certificate_file",
        ),
        (
            Config {
                keylog_file: missing.map(|file| file.join("x")),
                ..Config::default()
            },
            "keylog_file",
        ),
    ] {
        let (refused, reason) = refusal(&config);
        assert_eq!(refused, field);
        assert!(reason.contains("missing.pem"), "{reason}");
    }
}

#[test]
fn files_that_hold_something_else_are_refused() {
    let authority = Authority::new();
    let garbage = Some(authority.write("garbage.pem", "not a certificate\n"));
    let config = Config {
        ca_file: garbage.clone(),
        ..Config::default()
    };
    assert_eq!(refusal(&config).0, "ca_file");
    let config = Config {
        certificate_file: garbage.clone(),
        ..Config::default()
    };
    assert_eq!(refusal(&config).0, "certificate_file");
    let certificate = authority.issue(&["client"]).certificate_pem;
    let certificate_file = Some(authority.write("client.pem", &certificate));
    let config = Config {
        certificate_file,
        key_file: garbage,
        ..Config::default()
    };
    assert_eq!(refusal(&config).0, "key_file");
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    let authority = Authority::new();
    let (one, other) = (authority.issue(&["client"]), authority.issue(&["client"]));
    let certificate_file = Some(authority.write("client.pem", &one.certificate_pem));
    let key_file = Some(authority.write("key.pem", &other.key.serialize_pem()));
    let config = Config {
        certificate_file,
        key_file,
        ..Config::default()
    };
    assert_eq!(
        refusal(&config),
        ("key_file", "key values mismatch".to_owned())
    );
}

#[test]
fn an_encrypted_key_is_refused_without_asking_for_its_password() {
    let authority = Authority::new();
    let identity = authority.issue(&["client"]);
    let encrypted = identity.key.serialize_pem().replace(
        "BEGIN PRIVATE KEY-----",
        "\
        BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\
        DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n",
    );
    let encrypted = encrypted.replace("END PRIVATE KEY", "END RSA PRIVATE KEY");
    let certificate_file = Some(authority.write("client.pem", &identity.certificate_pem));
    let key_file = Some(authority.write("key.pem", &encrypted));
    let config = Config {
        certificate_file,
        key_file,
        ..Config::default()
    };
    assert_eq!(
        refusal(&config),
        ("key_file", "the key is encrypted".to_owned())
    );
}

#[test]
fn secrets_are_logged_line_by_line_in_a_private_file() {
    let authority = Authority::new();
    let server = Server::plain(&authority);
    let file = authority.path("keys.log");
    let keylog_file = Some(file.clone());
    let max_version = Some(Version::Tls13);
    let config = Config {
        keylog_file,
        max_version,
        ..Config::default()
    };
    let context = context(&config);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| exchange(&mut connect(server.address, &context, None, None).unwrap()));
        }
    });
    let log = fs::read_to_string(&file).unwrap();
    let traffic = log
        .lines()
        .filter(|line| line.starts_with("CLIENT_TRAFFIC_SECRET_0 "));
    assert_eq!(traffic.count(), 4);
    assert!(
        log.ends_with('\n') && log.lines().all(|line| line.split(' ').count() == 3),
        "{log}"
    );
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn a_key_log_that_cannot_be_written_is_an_error_of_the_handshake() {
    let server = Server::plain(&Authority::new());
    let config = Config {
        keylog_file: Some("/dev/full".into()),
        ..Config::default()
    };
    let failed = connect(server.address, &context(&config), None, None);
    assert!(matches!(failed, Err(TlsError::KeyLog(_))), "{failed:?}");
}
