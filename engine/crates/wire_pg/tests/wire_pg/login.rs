//! Logins as they were recorded: the same answers and the same end, however the server's bytes arrive.

use std::sync::Arc;

use tlstax_wire_pg::{
    AuthMethod, AuthMethods, KeyUse, Login, LoginConfig, LoginReport, LoginStage, LoginStep,
    ScramKeys, ServerIdentity, TlsStart, TransactionStatus, WireError,
};

use crate::recordings::{Turn, conversation};
use crate::splits::{every_cut, pieces};

pub const NONCE: [u8; 18] = [7; 18];

/// What the client was told in a recorded conversation.
pub fn config(name: &str) -> LoginConfig {
    let user = ["md5", "password", "scram", "cert", "plus"]
        .into_iter()
        .find(|method| name.contains(method))
        .map(|method| method.replace("plus", "scram"));
    let has_tls = matches!(name, "trust_tls" | "md5_tls" | "scram_tls" | "password_tls")
        || name.starts_with("scram_plus");
    let is_verified = matches!(name, "password_tls" | "scram_plus_only" | "cert");
    LoginConfig {
        user: match name {
            "scram_once" => "wire_scram_once".into(),
            _ => format!("wire_{}", user.unwrap_or("trust".into())),
        },
        password: match name {
            "trust" | "trust_tls" | "cert" => "",
            _ => "correct horse",
        }
        .into(),
        database: Some("wire".into()),
        application_name: Some("tlstax".into()),
        tls: if has_tls || name == "cert" || name == "password_unverified" {
            TlsStart::Request
        } else {
            TlsStart::Off
        },
        server: if is_verified {
            ServerIdentity::Verified
        } else {
            ServerIdentity::Unknown
        },
        methods: match name {
            "scram_tls" | "trust_refused" => AuthMethods::only(AuthMethod::ScramSha256),
            "scram_plus_only" | "plus_without_tls" => {
                AuthMethods::only(AuthMethod::ScramSha256Plus)
            }
            "cert" => AuthMethods::only(AuthMethod::Trust),
            _ => AuthMethods::ANY,
        },
        ..LoginConfig::default()
    }
}

/// Plays the server's side of a conversation, and holds what the client says against what it said then.
fn play(
    name: &str,
    config: LoginConfig,
    cuts: &[usize],
    keys: &mut ScramKeys,
) -> Result<LoginReport, WireError> {
    let mut login = Login::new(Arc::new(config)).unwrap();
    let mut out = Vec::new();
    let mut step = login.begin(NONCE, &mut out).unwrap();
    for turn in conversation(name) {
        match turn {
            Turn::Client(bytes) => {
                assert_eq!(out, bytes, "{name}");
                out.clear();
            }
            Turn::Tls => {
                assert_eq!((step, out.len()), (LoginStep::StartTls, 0), "{name}");
                login.tls_established(&mut out)?;
            }
            Turn::Bind(digest) => {
                assert_eq!((step, out.len()), (LoginStep::BindChannel, 0), "{name}");
                login.bind_channel(Some(&digest), &mut out)?;
            }
            Turn::Server(bytes) => {
                for piece in pieces(&bytes, cuts) {
                    step = login.feed(piece, keys, &mut out)?;
                }
            }
        }
    }
    let LoginStep::Done { report, .. } = step else {
        panic!("{name} ended with {step:?}");
    };
    assert_eq!(login.stage(), LoginStage::Done);
    assert_eq!(login.server_version(), "15.18 (Debian 15.18-0+deb12u1)");
    assert_eq!(login.parameter("in_hot_standby"), Some("off"));
    Ok(report)
}

/// A recorded login in one piece and in all ways that one cut can split each of the server's turns.
fn played(name: &str) -> Result<LoginReport, WireError> {
    let mut keys = ScramKeys::kept();
    let whole = play(name, config(name), &[usize::MAX], &mut keys);
    let computed = keys.computed();
    for cuts in every_cut(500) {
        let mut cut = play(name, config(name), &cuts, &mut keys);
        if let Ok(report) = &mut cut {
            assert_ne!(report.key, Some(KeyUse::Computed), "{name}");
            report.key = whole.as_ref().ok().and_then(|report| report.key);
        }
        assert_eq!(cut, whole, "{name} cut by {cuts:?}");
    }
    assert_eq!(keys.computed(), computed, "the password was hashed again");
    whole
}

#[test]
fn each_kind_of_login_goes_as_it_was_recorded() {
    let scram = (Some(4096), Some(KeyUse::Computed));
    for (name, method, round_trips, (iterations, key)) in [
        ("trust", AuthMethod::Trust, 1, (None, None)),
        ("trust_tls", AuthMethod::Trust, 2, (None, None)),
        ("cert", AuthMethod::Trust, 2, (None, None)),
        ("md5", AuthMethod::Md5, 2, (None, None)),
        ("md5_tls", AuthMethod::Md5, 3, (None, None)),
        ("password_tls", AuthMethod::Password, 3, (None, None)),
        ("scram", AuthMethod::ScramSha256, 3, scram),
        (
            "scram_once",
            AuthMethod::ScramSha256,
            3,
            (Some(1), Some(KeyUse::Computed)),
        ),
        ("scram_tls", AuthMethod::ScramSha256, 4, scram),
        ("scram_plus", AuthMethod::ScramSha256Plus, 4, scram),
        ("scram_plus_only", AuthMethod::ScramSha256Plus, 4, scram),
    ] {
        let report = played(name).unwrap();
        let expected = LoginReport {
            method,
            iterations,
            key,
            round_trips,
            process_id: report.process_id,
            transaction: TransactionStatus::Idle,
            notices: 0,
        };
        assert_eq!(report, expected, "{name}");
        assert!(report.process_id.is_some());
    }
}

#[test]
fn a_login_that_was_refused_says_why() {
    let said = |name| played(name).unwrap_err().to_string();
    for (name, expected) in [
        (
            "no_database",
            "the server answered with FATAL 3D000: database \"nowhere\" does not exist",
        ),
        (
            "password_bare",
            "the server asked for the password in clear text over a connection without TLS; it was not sent: have \
             the server's certificate verified (sslmode=verify-full with sslrootcert), or let the account use \
             scram-sha-256",
        ),
        (
            "trust_refused",
            "the server let the account in without asking for a password (trust, cert, peer), but the job allows \
             only scram-sha-256",
        ),
        (
            "plus_without_tls",
            "binding the login to the TLS channel (scram-sha-256-plus) was asked for, but the connection has no TLS",
        ),
    ] {
        if name == "no_database" {
            let config = LoginConfig {
                database: Some("nowhere".into()),
                ..config("trust")
            };
            let refused = play(name, config, &[3], &mut ScramKeys::kept());
            assert_eq!(refused.unwrap_err().to_string(), expected);
        } else {
            assert_eq!(said(name), expected);
        }
    }
    assert_eq!(
        said("password_unverified"),
        said("password_bare").replace(
            "a connection without TLS",
            "TLS to a server whose certificate was not verified"
        )
    );
    let wrong = LoginConfig {
        password: "wrong".into(),
        ..config("scram")
    };
    let refused = play("wrong_password_scram", wrong, &[5], &mut ScramKeys::anew()).unwrap_err();
    assert!(matches!(&refused, WireError::Server(error) if error.refuses_account()));
    assert!(!refused.leaves_connection_usable());
}

/// The stages in which a caller can tell the phases of a connect apart.
#[test]
fn a_login_says_what_it_waits_for() {
    let mut login = Login::new(Arc::new(config("scram_plus"))).unwrap();
    let (mut out, mut keys) = (Vec::new(), ScramKeys::kept());
    assert_eq!(login.stage(), LoginStage::Idle);
    login.begin(NONCE, &mut out).unwrap();
    let mut stages = vec![login.stage()];
    for turn in conversation("scram_plus") {
        match turn {
            Turn::Client(_) => continue,
            Turn::Tls => login.tls_established(&mut out).unwrap(),
            Turn::Bind(digest) => login.bind_channel(Some(&digest), &mut out).unwrap(),
            Turn::Server(bytes) => drop(login.feed(&bytes, &mut keys, &mut out).unwrap()),
        }
        stages.push(login.stage());
    }
    let expected = [
        LoginStage::TlsAnswer,
        LoginStage::TlsHandshake,
        LoginStage::Startup,
        LoginStage::EndPoint,
        LoginStage::ScramFirst,
        LoginStage::ScramFinal,
        LoginStage::Done,
    ];
    assert_eq!(stages, expected);
}

#[test]
fn direct_tls_begins_without_a_byte() {
    let direct = LoginConfig {
        tls: TlsStart::Direct,
        ..config("trust")
    };
    let mut login = Login::new(Arc::new(direct)).unwrap();
    let mut out = Vec::new();
    assert_eq!(login.begin(NONCE, &mut out), Ok(LoginStep::StartTls));
    assert!(out.is_empty());
    login.tls_established(&mut out).unwrap();
    assert_eq!(login.stage(), LoginStage::Startup);
    assert_eq!(out[4..8], [0, 3, 0, 0]);
}

#[test]
fn further_parameters_follow_the_account() {
    let config = LoginConfig {
        parameters: vec![("options".into(), "-c geqo=off".into())],
        database: None,
        ..config("trust")
    };
    let mut out = Vec::new();
    let mut login = Login::new(Arc::new(config.clone())).unwrap();
    login.begin(NONCE, &mut out).unwrap();
    let said = b"user\0wire_trust\0application_name\0tlstax\0options\0-c geqo=off\0\0";
    assert_eq!(out[8..], said[..]);
    assert!(!format!("{config:?}").contains("correct"));
}

#[test]
fn what_the_protocol_cannot_carry_is_refused_at_the_door() {
    let refused = |config| Login::new(Arc::new(config)).err();
    for what in ["user name", "database name", "application name", "password"] {
        let mut config = config("md5");
        match what {
            "user name" => config.user.push('\0'),
            "database name" => config.database = Some("\0".into()),
            "application name" => config.application_name = Some("\0".into()),
            _ => config.password.push('\0'),
        }
        assert_eq!(refused(config), Some(WireError::NulByte { what }));
    }
    let nameless = LoginConfig {
        parameters: vec![(String::new(), "x".into())],
        ..config("md5")
    };
    assert!(matches!(refused(nameless), Some(WireError::Misuse { .. })));
}
