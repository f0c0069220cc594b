//! The exchange against RFC 7677's vectors, and against another implementation.

use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};

use super::*;

const PENCIL: Account<'_> = Account {
    password: b"pencil",
    max_iterations: 10_000,
};

/// RFC 7677 section 3. Its client names the user, which ours leaves to the startup message.
#[test]
fn the_vectors_of_rfc_7677() {
    const SERVER_FIRST: &[u8] =
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
    let mut keys = ScramKeys::kept();
    let mut salt = [0; MAX_SALT_LEN];
    let salt = decode(b"W22ZaJ0SNY7soEsUEjb6gQ==", &mut salt, "").unwrap();
    let (key, _) = keys.derive(b"pencil", salt, 4096);
    let mut auth_message = b"n=user,r=rOprNGfwEbeRWgbNEkqO,".to_vec();
    auth_message.extend_from_slice(SERVER_FIRST);
    let without_proof = b",c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    auth_message.extend_from_slice(without_proof);
    let mut proven = Vec::new();
    append_base64(&mut proven, &proof(&key, &auth_message));
    assert_eq!(proven, b"dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
    let scram = Scram {
        auth_message,
        server_key: key.server,
        ..Scram::new()
    };
    let signature = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
    assert_eq!(scram.verify(signature), Ok(()));
    let wrong = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5=";
    assert!(scram.verify(wrong).is_err());
    assert_eq!(scram.verify(b"v="), Err(WireError::ServerNotProven));
}

/// A server that knows the password, with PostgreSQL's salt and nonce lengths.
fn serve(client_first_bare: &str) -> String {
    let nonce = client_first_bare.strip_prefix("n=,r=").unwrap();
    format!("r={nonce}AAAAAAAAAAAAAAAAAAAAAAAA,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
}

fn server_final(auth_message: &[u8], salt: &[u8]) -> Vec<u8> {
    let (key, _) = ScramKeys::anew().derive(b"pencil", salt, 4096);
    let mut message = b"v=".to_vec();
    append_base64(&mut message, &hmac(&key.server, auth_message));
    message
}

/// What is behind a message's header and, in the first one, the mechanism and a length.
fn text(message: &[u8]) -> &str {
    let body = &message[5..];
    let body = match body.strip_prefix(b"SCRAM-SHA-256") {
        Some(rest) => &rest[rest.iter().position(|&byte| byte == 0).unwrap() + 5..],
        None => body,
    };
    std::str::from_utf8(body).unwrap()
}

/// The other implementation draws its own nonce, so ours is given it.
#[test]
fn every_message_equals_that_of_another_implementation() {
    let digest = [7; 32];
    let kinds = [
        (Binding::None, ChannelBinding::unsupported()),
        (Binding::NotOffered, ChannelBinding::unrequested()),
        (
            Binding::to(&digest).unwrap(),
            ChannelBinding::tls_server_end_point(digest.to_vec()),
        ),
    ];
    for (binding, theirs) in kinds {
        let mut other = ScramSha256::new(b"pencil", theirs);
        let (mut scram, mut out) = (Scram::new(), Vec::new());
        scram.start(binding, &[0; NONCE_BYTES], &mut out).unwrap();
        let their_first = std::str::from_utf8(other.message()).unwrap().to_owned();
        let (header, bare) = their_first.split_at(their_first.find("n=,r=").unwrap());
        assert!(text(&out).starts_with(header));
        assert!(text(&out).ends_with("n=,r=AAAAAAAAAAAAAAAAAAAAAAAA"));

        scram.nonce.copy_from_slice(&bare.as_bytes()[5..]);
        scram.auth_message = bare.as_bytes().to_vec();
        let server_first = serve(bare);
        out.clear();
        let mut keys = ScramKeys::kept();
        let answered = scram.answer(server_first.as_bytes(), PENCIL, &mut keys, &mut out);
        assert_eq!(answered, Ok((4096, KeyUse::Computed)));
        other.update(server_first.as_bytes()).unwrap();
        assert_eq!(text(&out).as_bytes(), other.message());

        let mut salt = [0; MAX_SALT_LEN];
        let salt = decode(b"W22ZaJ0SNY7soEsUEjb6gQ==", &mut salt, "").unwrap();
        let last = server_final(&scram.auth_message, salt);
        other.finish(&last).unwrap();
        assert_eq!(scram.verify(&last), Ok(()));
    }
}

fn answer(message: &str) -> Result<(u32, KeyUse), WireError> {
    let (mut scram, mut out) = (Scram::new(), Vec::new());
    scram
        .start(Binding::None, &[0; NONCE_BYTES], &mut out)
        .unwrap();
    let before = out.clone();
    let message = message.replace('@', "AAAAAAAAAAAAAAAAAAAAAAAA");
    let answered = scram.answer(message.as_bytes(), PENCIL, &mut ScramKeys::kept(), &mut out);
    assert_eq!(answered.is_err(), out == before);
    answered
}

#[test]
fn a_first_message_that_is_none_is_refused() {
    assert_eq!(answer("r=@x,s=QQ==,i=1"), Ok((1, KeyUse::Computed)));
    for message in [
        "",
        "r=@x",
        "r=@x,s=QQ==",
        "r=@x,i=1,s=QQ==",
        "m=x,r=@x,s=QQ==,i=1",
        "r=@x,s=QQ==,i=1,e=x",
        "r=@,s=QQ==,i=1",
        "r=x@,s=QQ==,i=1",
        "r=@\u{7f},s=QQ==,i=1",
        "r=@x,s=Q,i=1",
        "r=@x,s=QQ==,i=",
        "r=@x,s=QQ==,i=0",
        "r=@x,s=QQ==,i=-1",
        "r=@x,s=QQ==,i=1e3",
        &format!("r=@{},s=QQ==,i=1", "x".repeat(MAX_MESSAGE_LEN)),
        &format!("r=@x,s={},i=1", "QUFB".repeat(MAX_SALT_LEN / 3 + 1)),
    ] {
        let refusal = answer(message).unwrap_err();
        let is_scram = matches!(refusal, WireError::Protocol(Violation::Scram(_)));
        assert!(is_scram, "{message}: {refusal}");
    }
}

#[test]
fn a_server_that_demands_too_much_is_refused_before_anything_is_computed() {
    for (asked, digits) in [
        (10_001, "10001"),
        (1 << 31, "2147483648"),
        (u64::MAX, "9".repeat(30).as_str()),
    ] {
        let refusal = answer(&format!("r=@x,s=QQ==,i={digits}")).unwrap_err();
        let limit = 10_000;
        assert_eq!(refusal, WireError::TooManyIterations { asked, limit });
    }
    assert!(answer("r=@x,s=QQ==,i=10000").is_ok());
}

#[test]
fn a_servers_own_error_is_told() {
    let refusal = Scram::new().verify(b"e=other-error\n").unwrap_err();
    assert_eq!(refusal, WireError::ScramRefused("other-error ".into()));
    let nothing = Scram::new().verify(b"x").unwrap_err();
    assert!(matches!(nothing, WireError::Protocol(Violation::Scram(_))));
}
