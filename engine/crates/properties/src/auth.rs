//! Whole logins: the same however the server's bytes arrive, and the password only where it may be.

use std::sync::Arc;

use tlstax_wire::{
    AuthPath, Fault, Login, LoginConfig, LoginReport, LoginStep, ServerIdentity, Violation,
    WireError,
};

use crate::client_packets::{FIXED_LEN, check_fixed_fields, packets, user};
use crate::input::{CUTS, Input, WHOLE, pieces};

/// Options besides those of all targets.
pub(crate) const TLS: u8 = 2;
pub(crate) const LOCAL_SOCKET: u8 = 4;
pub(crate) const DATABASE: u8 = 8;
pub(crate) const ATTRIBUTES: u8 = 16;
pub(crate) const WITHOUT_KEY: u8 = 32;
pub(crate) const VERIFIED: u8 = 64;

/// Stands for the password that the caller encrypted; not UTF-8, so it is nobody's password.
const CIPHERTEXT: [u8; 64] = [0xaa; 64];
const SSL_REQUEST_BYTES: usize = 4 + FIXED_LEN;

/// How a login, or the server's part of it up to an answer, ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    /// The server's turn is over and the login is not.
    Waiting,
    StartTls,
    EncryptPassword,
    /// Of the last turn N bytes belonged to the login.
    Done(usize, LoginReport),
    Failed(WireError),
}

/// What a login came to, and all that the client wrote.
#[derive(Debug, PartialEq, Eq)]
struct Course {
    end: End,
    out: Vec<u8>,
}

/// The target.
///
/// # Panics
/// Where a property does not hold.
pub fn auth(data: &[u8]) {
    let Some(mut input) = Input::read(data) else {
        return;
    };
    let config = Arc::new(config(&mut input));
    let texts = [&config.user, &config.password];
    let mut texts = texts.into_iter().chain(&config.database);
    let mut login = match Login::new(Arc::clone(&config)) {
        Ok(login) => login,
        Err(error) => {
            assert!(matches!(error, WireError::NulByte { .. }));
            assert!(texts.any(|text| text.contains('\0')), "refused for nothing");
            return;
        }
    };
    let cuts = input.cuts;
    let mut turns = Vec::new();
    let mut next_sequence = 0;
    let course = play(&mut login, &config, WHOLE, |out: &[u8]| {
        let answered = packets(out)
            .last()
            .map(|(number, _)| number.wrapping_add(1));
        let due = answered.filter(|_| answered_since(&turns, out));
        let (bytes, next) = input.turn(due.unwrap_or(next_sequence))?;
        next_sequence = next;
        turns.push((bytes.clone(), out.len()));
        Some(bytes)
    });
    check_client(&course, &login, &config);
    let replay = |login: &mut Login, cuts| {
        let mut script = turns.iter().map(|(bytes, _)| bytes.clone());
        play(login, &config, cuts, |_: &[u8]| script.next())
    };
    let mut other = Login::new(Arc::clone(&config)).expect("it was not refused before");
    let cut = replay(&mut other, cuts);
    assert_eq!(cut, course, "the cuts changed the login");
    login.reset();
    let again = replay(&mut login, cuts);
    assert_eq!(again, course, "a login that was used before goes otherwise");
}

/// Whether the client wrote something after the last turn began.
fn answered_since(turns: &[(Vec<u8>, usize)], out: &[u8]) -> bool {
    turns.last().is_some_and(|(_, before)| out.len() > *before)
}

fn config(input: &mut Input<'_>) -> LoginConfig {
    let mut config = LoginConfig {
        user: input.short_text(),
        password: input.short_text(),
        tls: input.has(TLS),
        server: if input.has(VERIFIED) {
            ServerIdentity::Verified
        } else {
            ServerIdentity::Unknown
        },
        local_socket: input.has(LOCAL_SOCKET),
        get_server_public_key: !input.has(WITHOUT_KEY),
        ..LoginConfig::default()
    };
    if input.has(DATABASE) {
        config.database = Some(input.short_text());
    }
    if input.has(ATTRIBUTES) {
        config
            .attributes
            .push((input.short_text(), input.short_text()));
    }
    config
}

/// Plays the server's turns, as long as there are any and the login goes on.
fn play(
    login: &mut Login,
    config: &LoginConfig,
    cuts: [u8; CUTS],
    mut next_turn: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Course {
    let mut out = Vec::new();
    while let Some(bytes) = next_turn(&out) {
        match take_turn(login, &bytes, cuts, &mut out) {
            End::Waiting => check_misuse(login, &mut out),
            End::StartTls => {
                assert!(config.tls, "TLS began unasked");
                assert_eq!(out.len(), SSL_REQUEST_BYTES, "said too much before TLS");
                login.tls_established(&mut out).expect("it was asked for");
            }
            End::EncryptPassword => {
                let may = config.get_server_public_key && !config.tls && !config.local_socket;
                assert!(may, "a key was asked for that may not be");
                let wanted = login.encryption().expect("something to encrypt");
                assert_eq!(wanted.message.len(), config.password.len() + 1);
                login
                    .password_encrypted(&CIPHERTEXT, &mut out)
                    .expect("it was asked for");
            }
            end => {
                let error = login.feed(b"\0", &mut Vec::new()).unwrap_err();
                assert_eq!(error.fault(), Fault::Client, "it went on after its end");
                return Course { end, out };
            }
        }
    }
    Course {
        end: End::Waiting,
        out,
    }
}

/// Feeds one turn in pieces. What is left of it when the caller has something to do first counts as
/// the violation that it is when it arrives together with what came before.
fn take_turn(login: &mut Login, bytes: &[u8], cuts: [u8; CUTS], out: &mut Vec<u8>) -> End {
    let mut taken = 0;
    for piece in pieces(bytes, cuts) {
        let before = out.len();
        let step = match login.feed(piece, out) {
            Ok(step) => step,
            Err(error) => return End::Failed(error),
        };
        taken += piece.len();
        let end = match step {
            LoginStep::NeedMore | LoginStep::Send => {
                assert_eq!(step == LoginStep::Send, out.len() > before);
                continue;
            }
            LoginStep::Done { consumed, report } => {
                assert!(consumed <= piece.len(), "more consumed than given");
                return End::Done(taken - piece.len() + consumed, report);
            }
            LoginStep::StartTls => End::StartTls,
            LoginStep::EncryptPassword => End::EncryptPassword,
        };
        if taken == bytes.len() {
            return end;
        }
        // Only a login that was told of them refuses bytes; this one is of no more use either.
        let refusal = login.feed(&bytes[taken..], out).unwrap_err();
        assert_eq!(refusal.fault(), Fault::Client);
        let early = Violation::OutOfTurn("more before the client had answered");
        return End::Failed(early.into());
    }
    End::Waiting
}

/// What was not asked for is refused and changes nothing.
fn check_misuse(login: &mut Login, out: &mut Vec<u8>) {
    let before = out.len();
    let refusals = [
        login.tls_established(out),
        login.password_encrypted(&CIPHERTEXT, out),
    ];
    for refusal in refusals {
        assert_eq!(refusal.unwrap_err().fault(), Fault::Client);
    }
    assert!(login.encryption().is_none());
    assert_eq!(out.len(), before, "a refused call wrote something");
}

/// The client asks for what the server has, names its user, and sends the password in the clear
/// only where nobody else can read it, at the server's word alone only where that is known.
fn check_client(course: &Course, login: &Login, config: &LoginConfig) {
    let is_known = config.local_socket || (config.tls && config.server == ServerIdentity::Verified);
    match &course.end {
        End::Done(_, report) if report.path == AuthPath::Clear => {
            assert!(is_known, "anybody got the password");
        }
        End::Failed(WireError::CleartextRefused { encrypted }) => {
            assert!(!is_known, "refused for nothing");
            assert_eq!(*encrypted, config.tls);
        }
        _ => {}
    }
    let packets = packets(&course.out);
    let Some(greeting) = login.greeting() else {
        assert!(packets.is_empty(), "it spoke before it was greeted");
        return;
    };
    for (place, (_, payload)) in packets.iter().enumerate() {
        if place <= usize::from(config.tls) {
            check_fixed_fields(payload, greeting);
        }
        if place == usize::from(config.tls) {
            assert_eq!(user(payload), config.user.as_bytes());
        }
        let is_password = payload
            .strip_suffix(&[0])
            .is_some_and(|text| text == config.password.as_bytes());
        let is_secret = !config.password.is_empty() && !config.tls && !config.local_socket;
        assert!(!(is_secret && is_password), "the password went out bare");
    }
}
