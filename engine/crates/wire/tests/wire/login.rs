//! Logins replayed: the client's bytes and the outcome must be those recorded, however the
//! server's bytes arrive.

use std::sync::Arc;

use proptest::prelude::*;
use tlstax_wire::{
    AuthPath, AuthPlugin, Capabilities, Login, LoginConfig, LoginReport, LoginStep, WireError,
};

use crate::recordings::{Turn, conversation, server_bytes, servers_with};
use crate::splits::{every_cut, pieces, random};

/// The password of every account that has one.
const PASSWORD: &str = "correct horse";

/// The account and channel that a conversation was recorded with.
pub fn config(name: &str) -> LoginConfig {
    let pairs = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect()
    };
    let mut config = LoginConfig {
        user: "wire_sha2".into(),
        password: PASSWORD.into(),
        tls: name.ends_with("tls"),
        local_socket: matches!(name, "full_socket" | "attributes"),
        get_server_public_key: true,
        ..LoginConfig::default()
    };
    match name {
        "empty" | "empty_tls" => {
            config.user = "wire_empty".into();
            config.password.clear();
        }
        "native_empty" => {
            config.user = "wire_native_empty".into();
            config.password.clear();
        }
        "attributes" => {
            config.database = Some("mysql".into());
            config.attributes = pairs(&[("program_name", "tlstax"), ("_pid", "1")]);
        }
        "native" | "native_tls" | "no_tls" => {
            config.user = "wire_native".into();
            config.database = Some("wire".into());
            config.attributes = pairs(&[("program_name", "tlstax")]);
        }
        _ => {}
    }
    config
}

/// Plays the server's turns, cut into pieces, and checks the client's; how the login ended.
fn replay(
    login: &mut Login,
    turns: &[Turn],
    lengths: &[usize],
) -> Result<Option<LoginReport>, WireError> {
    let mut out = Vec::new();
    let mut step = LoginStep::NeedMore;
    for turn in turns {
        match turn {
            Turn::Server(bytes) => {
                for piece in pieces(bytes, lengths) {
                    step = login.feed(piece, &mut out)?;
                }
            }
            Turn::Client(bytes) => {
                if step == LoginStep::EncryptPassword {
                    login.password_encrypted(&bytes[4..], &mut out).unwrap();
                }
                assert_eq!(&out, bytes);
                out.clear();
            }
            Turn::Tls => {
                assert_eq!(step, LoginStep::StartTls);
                login.tls_established(&mut out).unwrap();
            }
            Turn::Encrypt => assert_eq!(step, LoginStep::EncryptPassword),
        }
    }
    assert!(out.is_empty(), "the client said more than was recorded");
    Ok(match step {
        LoginStep::Done { report, .. } => Some(report),
        _ => None,
    })
}

fn new_login(name: &str) -> Login {
    Login::new(Arc::new(config(name))).unwrap()
}

fn succeeds(server: &str, name: &str, lengths: &[usize]) -> LoginReport {
    let turns = conversation(server, name);
    replay(&mut new_login(name), &turns, lengths)
        .unwrap()
        .expect("the login is not done")
}

fn fails(server: &str, name: &str, config: LoginConfig) -> WireError {
    let mut login = Login::new(Arc::new(config)).unwrap();
    let mut out = Vec::new();
    let mut error = None;
    for turn in conversation(server, name) {
        match turn {
            Turn::Server(bytes) => error = login.feed(&bytes, &mut out).err(),
            Turn::Tls => login.tls_established(&mut out).unwrap(),
            Turn::Client(_) | Turn::Encrypt => {}
        }
    }
    error.expect("the login did not fail")
}

#[test]
fn every_login_takes_the_path_it_was_recorded_on() {
    let expected = [
        ("full_rsa", AuthPlugin::CachingSha2, AuthPath::FullRsa, 3),
        ("fast", AuthPlugin::CachingSha2, AuthPath::Fast, 1),
        ("fast_tls", AuthPlugin::CachingSha2, AuthPath::Fast, 1),
        ("full_tls", AuthPlugin::CachingSha2, AuthPath::FullTls, 2),
        (
            "full_socket",
            AuthPlugin::CachingSha2,
            AuthPath::FullSocket,
            2,
        ),
        ("empty", AuthPlugin::CachingSha2, AuthPath::Empty, 1),
        ("empty_tls", AuthPlugin::CachingSha2, AuthPath::Empty, 1),
        ("attributes", AuthPlugin::CachingSha2, AuthPath::Fast, 1),
    ];
    for (name, plugin, path, round_trips) in expected {
        for server in servers_with(name) {
            let report = succeeds(server, name, &[usize::MAX]);
            let found = (report.plugin, report.path, report.round_trips);
            assert_eq!(found, (plugin, path, round_trips), "{server} {name}");
        }
    }
}

/// MySQL 8 names `caching_sha2_password` in its greeting and switches to the account's plugin;
/// the others begin with `mysql_native_password`.
#[test]
fn native_logins_switch_plugins_where_the_server_asks_for_it() {
    for (name, path) in [
        ("native", AuthPath::Native),
        ("native_tls", AuthPath::Native),
        ("native_empty", AuthPath::Empty),
    ] {
        for server in servers_with(name) {
            let report = succeeds(server, name, &[usize::MAX]);
            let round_trips = if server == "mysql-8.0.33" { 2 } else { 1 };
            let found = (report.plugin, report.path, report.round_trips);
            assert_eq!(
                found,
                (AuthPlugin::Native, path, round_trips),
                "{server} {name}"
            );
        }
    }
}

#[test]
fn the_eof_style_is_the_one_that_both_sides_know() {
    let deprecate_eof = |server, name| {
        let capabilities = succeeds(server, name, &[usize::MAX]).capabilities;
        capabilities.contains(Capabilities::DEPRECATE_EOF)
    };
    assert!(deprecate_eof("mysql-9.7.4", "fast"));
    assert!(deprecate_eof("mysql-8.0.33", "fast"));
    assert!(deprecate_eof("mariadb-11.8.6", "native"));
    assert!(!deprecate_eof("mariadb-10.1.8", "native"));
    assert!(!deprecate_eof("mysql-5.6.24", "native"));
    assert!(!deprecate_eof("mysql-5.5.34", "native"));
}

#[test]
fn greetings_tell_version_and_family() {
    let versions = [
        ("mysql-9.7.4", "fast", "9.7.4-2", false),
        ("mysql-5.5.34", "native", "5.5.34", false),
        ("mariadb-10.1.8", "native", "10.1.8-MariaDB", true),
        (
            "mariadb-11.8.6",
            "native",
            "11.8.6-MariaDB-0+deb13u1 from Debian",
            true,
        ),
    ];
    for (server, name, version, is_mariadb) in versions {
        let mut login = new_login(name);
        assert!(login.greeting().is_none());
        replay(&mut login, &conversation(server, name), &[usize::MAX]).unwrap();
        let greeting = login.greeting().unwrap();
        assert_eq!(greeting.server_version(), version);
        assert_eq!(greeting.is_mariadb(), is_mariadb);
    }
}

/// RSA-OAEP gets the password with its NUL, masked by the scramble, and the key the server sent.
#[test]
fn what_is_to_be_encrypted_is_the_masked_password() {
    for server in servers_with("full_rsa") {
        let mut login = new_login("full_rsa");
        let mut turns = conversation(server, "full_rsa");
        let asked = turns
            .iter()
            .position(|turn| *turn == Turn::Encrypt)
            .unwrap();
        turns.truncate(asked);
        assert!(login.encryption().is_none());
        replay(&mut login, &turns, &[usize::MAX]).unwrap();
        let encryption = login.encryption().unwrap();
        let pem = String::from_utf8_lossy(encryption.public_key_pem);
        assert!(
            pem.starts_with("-----BEGIN PUBLIC KEY-----\n"),
            "{server}: {pem}"
        );
        assert!(
            pem.ends_with("-----END PUBLIC KEY-----\n"),
            "{server}: {pem}"
        );
        let scramble = login.greeting().unwrap().scramble;
        let unmasked = encryption
            .message
            .iter()
            .zip(scramble)
            .map(|(byte, mask)| byte ^ mask);
        assert_eq!(unmasked.collect::<Vec<_>>(), b"correct horse\0");
    }
}

#[test]
fn a_login_can_be_used_for_one_connection_after_another() {
    let mut login = new_login("native");
    for server in servers_with("native") {
        login.reset();
        let report = replay(&mut login, &conversation(server, "native"), &[7]).unwrap();
        assert_eq!(
            report.unwrap(),
            succeeds(server, "native", &[usize::MAX]),
            "{server}"
        );
    }
}

/// The conversations that end with the server's OK.
pub const SUCCESSES: [&str; 11] = [
    "full_rsa",
    "fast",
    "fast_tls",
    "full_tls",
    "full_socket",
    "empty",
    "empty_tls",
    "attributes",
    "native",
    "native_tls",
    "native_empty",
];

#[test]
fn logins_do_not_depend_on_how_the_bytes_arrive() {
    for name in SUCCESSES {
        for server in servers_with(name) {
            let whole = succeeds(server, name, &[usize::MAX]);
            let longest = server_bytes(server, name).len();
            for lengths in every_cut(longest) {
                assert_eq!(
                    succeeds(server, name, &lengths),
                    whole,
                    "{server} {name} {lengths:?}"
                );
            }
        }
    }
}

proptest! {
    #[test]
    fn logins_do_not_depend_on_random_pieces(
        lengths in random(),
        name in prop::sample::select(&SUCCESSES[..]),
    ) {
        for server in servers_with(name) {
            let whole = succeeds(server, name, &[usize::MAX]);
            prop_assert_eq!(succeeds(server, name, &lengths), whole);
        }
    }
}

#[test]
fn refusals_say_what_the_server_said() {
    for (name, code) in [("denied", 1045), ("too_many", 1040), ("host_blocked", 1129)] {
        for server in servers_with(name) {
            let mut config = config(name);
            config.tls = conversation(server, name).contains(&Turn::Tls);
            let error = fails(server, name, config);
            let WireError::Server(error) = &error else {
                panic!("{server} {name}: {error}")
            };
            assert_eq!(error.code, code, "{server}");
            assert_eq!(
                error.sqlstate.as_deref(),
                (code == 1045).then_some("28000"),
                "{server}"
            );
        }
    }
    let error = fails("mysql-5.6.24", "denied", config("native"));
    let expected = "the server answered with error 1045 (28000): Access denied for user \
                    'wire_native'@'localhost' (using password: YES)";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn plugins_that_are_not_spoken_are_named() {
    for (server, name, plugin) in [
        ("mysql-8.0.33", "sha256", "sha256_password"),
        ("mariadb-10.11.19", "ed25519", "client_ed25519"),
    ] {
        let error = fails(server, name, config(name));
        assert_eq!(
            error,
            WireError::UnsupportedPlugin {
                plugin: plugin.into()
            }
        );
        assert!(error.to_string().contains(plugin));
    }
}

/// Whoever sits between would answer with a key of their own, and read the password.
#[test]
fn the_servers_key_is_not_asked_for_unless_it_may_be() {
    for server in servers_with("full_rsa") {
        let config = LoginConfig {
            get_server_public_key: false,
            ..config("full_rsa")
        };
        let mut login = Login::new(Arc::new(config)).unwrap();
        let mut out = Vec::new();
        let mut turns = conversation(server, "full_rsa").into_iter();
        let Some(Turn::Server(greeting)) = turns.next() else {
            panic!("{server} does not begin")
        };
        login.feed(&greeting, &mut out).unwrap();
        assert_eq!(turns.next(), Some(Turn::Client(std::mem::take(&mut out))));
        let Some(Turn::Server(full_authentication)) = turns.next() else {
            panic!("{server} does not go on")
        };
        let result = login.feed(&full_authentication, &mut out);
        assert_eq!(result, Err(WireError::PublicKeyNotAskedFor), "{server}");
        assert!(out.is_empty(), "{server}");
    }
}

/// The fast way, and the others that need no key, are as they were.
#[test]
fn logins_that_need_no_key_go_on_without_one() {
    for name in SUCCESSES.into_iter().filter(|name| *name != "full_rsa") {
        for server in servers_with(name) {
            let config = LoginConfig {
                get_server_public_key: false,
                ..config(name)
            };
            let mut login = Login::new(Arc::new(config)).unwrap();
            let turns = conversation(server, name);
            let report = replay(&mut login, &turns, &[usize::MAX]).unwrap();
            let whole = succeeds(server, name, &[usize::MAX]);
            assert_eq!(report, Some(whole), "{server} {name}");
        }
    }
}

#[test]
fn a_server_without_tls_is_not_talked_to_in_plaintext() {
    for server in servers_with("no_tls") {
        let mut login = new_login("no_tls");
        let mut out = Vec::new();
        let result = login.feed(&server_bytes(server, "no_tls"), &mut out);
        assert_eq!(result, Err(WireError::TlsNotOffered), "{server}");
        assert!(out.is_empty());
    }
}

#[test]
fn the_password_is_in_no_debug_output() {
    assert!(!format!("{:?}", config("native")).contains(PASSWORD));
}
