//! Peers that are not PostgreSQL, break the protocol, or mean harm: each gets its own error.

use std::sync::Arc;

use tlstax_wire_pg::{
    Asked, AuthMethod, AuthMethods, DiscardRows, Fault, Login, LoginConfig, LoginStep, Progress,
    ResponseParser, ScramKeys, TlsStart, Violation, WireError, command,
};

use crate::login::{NONCE, config};
use crate::recordings::{message, server_bytes};
use crate::splits::pieces;

/// What becomes of a login to which the server answers `turns`, the channel's digest being known.
fn answered(config: LoginConfig, turns: &[&[u8]]) -> Result<LoginStep, WireError> {
    let mut login = Login::new(Arc::new(config)).unwrap();
    let (mut out, mut keys) = (Vec::new(), ScramKeys::anew());
    let mut step = login.begin(NONCE, &mut out)?;
    for turn in turns {
        step = login.feed(turn, &mut keys, &mut out)?;
        if step == LoginStep::StartTls {
            login.tls_established(&mut out)?;
        }
    }
    Ok(step)
}

fn with_tls() -> LoginConfig {
    config("scram_tls")
}

fn authentication(request: u32, rest: &[u8]) -> Vec<u8> {
    message(b'R', &[&request.to_be_bytes()[..], rest].concat())
}

#[test]
fn only_one_byte_answers_the_request_for_tls() {
    let said = |answer: &[u8]| answered(with_tls(), &[answer]);
    assert_eq!(said(b"S"), Ok(LoginStep::StartTls));
    assert_eq!(said(b""), Ok(LoginStep::NeedMore));
    assert_eq!(said(b"N"), Err(WireError::TlsNotOffered));
    // CVE-2021-23222: what follows would pass for the first bytes inside TLS.
    assert_eq!(said(b"SR"), Err(WireError::BytesBeforeTls));
    assert_eq!(said(b"NN"), Err(WireError::BytesBeforeTls));
    let injected = [b"S", &authentication(0, b"")[..]].concat();
    assert_eq!(said(&injected), Err(WireError::BytesBeforeTls));
    let old = said(b"EFATAL:  unsupported frontend protocol\0").unwrap_err();
    assert_eq!(
        old.to_string(),
        "the server answered SSLRequest with an error, which is not shown since it came unprotected: the server is \
         older than TLS in PostgreSQL, or it could not start a process for the connection (its log has why)"
    );
    for error in [WireError::TlsNotOffered, WireError::BytesBeforeTls, old] {
        assert_eq!(error.fault(), Fault::Server);
    }
}

#[test]
fn bytes_after_the_answer_and_before_the_handshake_are_refused() {
    let mut login = Login::new(Arc::new(with_tls())).unwrap();
    let (mut out, mut keys) = (Vec::new(), ScramKeys::anew());
    login.begin(NONCE, &mut out).unwrap();
    login.feed(b"S", &mut keys, &mut out).unwrap();
    let refusal = login.feed(b"R", &mut keys, &mut out);
    assert_eq!(refusal, Err(WireError::BytesBeforeTls));
    assert!(login.tls_established(&mut out).is_err(), "it went on");
}

#[test]
fn other_protocols_are_named() {
    let mysql = b"\x4a\0\0\0\x0a8.0.36\0";
    // Greetings of 83 and 78 bytes begin with S and N.
    let like_yes = b"S\0\0\0\x0a8.0.36\0";
    let like_no = b"N\0\0\0\xff\x10\x04Too many connections";
    let kinds: [(&[u8], Option<&str>); 8] = [
        (mysql, Some("MySQL or MariaDB")),
        (like_yes, Some("MySQL or MariaDB")),
        (like_no, Some("MySQL or MariaDB")),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Some("SSH")),
        (b"HTTP/1.1 400 Bad Request\r\n", Some("HTTP")),
        (b"220 mail.example ESMTP\r\n", Some("SMTP or FTP")),
        (
            b"\x15\x03\x03\0\x02\x02\x28",
            Some("a TLS alert; it expects TLS from the first byte"),
        ),
        (b"hello", None),
    ];
    for (opening, expected) in kinds {
        for config in [with_tls(), config("trust")] {
            let error = answered(config, &[opening]).unwrap_err();
            let WireError::NotPostgres { looks_like, banner } = &error else {
                panic!("{error}");
            };
            assert_eq!(*looks_like, expected, "{banner}");
            assert_eq!(error.fault(), Fault::Job);
        }
    }
    let bytes = pieces(mysql, &[1]);
    let error = answered(config("trust"), &bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "this is not a PostgreSQL server: it answered with \"J\\x00\\x00\\x00\\n\", which looks like MySQL or MariaDB"
    );
}

#[test]
fn nothing_less_than_what_the_job_demands_is_accepted() {
    let allows = |config: LoginConfig, methods| LoginConfig { methods, ..config };
    let scram = AuthMethods::only(AuthMethod::ScramSha256).with(AuthMethod::ScramSha256Plus);
    for (request, asked) in [
        (authentication(0, b""), AuthMethod::Trust),
        (authentication(3, b""), AuthMethod::Password),
        (authentication(5, b"salt"), AuthMethod::Md5),
    ] {
        let refused = answered(allows(config("scram"), scram), &[&request]);
        let allowed = scram;
        assert_eq!(refused, Err(WireError::MethodNotAllowed { asked, allowed }));
    }
    let plus_only = authentication(10, b"SCRAM-SHA-256-PLUS\0\0");
    let refused = answered(with_tls(), &[b"S", &plus_only]);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the server asks for scram-sha-256-plus to log in, but the job allows only scram-sha-256"
    );
    let plain = authentication(10, b"SCRAM-SHA-256\0\0");
    let bound = allows(with_tls(), AuthMethods::only(AuthMethod::ScramSha256Plus));
    let refused = answered(bound, &[b"S", &plain]).unwrap_err();
    assert!(
        refused
            .to_string()
            .ends_with("but the server does not offer it")
    );
}

#[test]
fn a_login_that_skips_the_servers_proof_is_refused() {
    let offer = authentication(10, b"SCRAM-SHA-256\0\0");
    let ok = authentication(0, b"");
    let early = Err(Violation::ScramNotFinished.into());
    assert_eq!(answered(config("scram"), &[&offer, &ok]), early);
    let first = authentication(11, b"r=BwcHBwcHBwcHBwcHBwcHBwcHx,s=QUFB,i=1");
    assert_eq!(
        answered(config("scram"), &[&offer, &first]),
        Ok(LoginStep::Send)
    );
    assert_eq!(answered(config("scram"), &[&offer, &first, &ok]), early);
    let forged = authentication(12, b"v=QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=");
    let refused = answered(config("scram"), &[&offer, &first, &forged]);
    assert_eq!(refused, Err(WireError::ServerNotProven));
    let refused = authentication(12, b"e=other-error");
    let refused = answered(config("scram"), &[&offer, &first, &refused]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the server ended SCRAM with the error other-error"
    );
    // Another method in the middle would have the password hashed in a weaker way.
    for request in [
        authentication(3, b""),
        authentication(5, b"salt"),
        offer.clone(),
    ] {
        let refused = answered(config("scram"), &[&offer, &request]).unwrap_err();
        let is_misplaced = matches!(
            &refused,
            WireError::Protocol(Violation::UnexpectedMessage { .. })
        );
        assert!(is_misplaced, "{refused}");
    }
}

#[test]
fn a_server_that_cannot_bind_is_found_out() {
    let both = authentication(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    let bare = answered(config("scram"), &[&both]);
    assert_eq!(bare, Err(Violation::PlusWithoutTls.into()));
    let binds = |end_point: Option<&[u8]>, methods, offer: &[u8]| {
        let config = LoginConfig {
            methods,
            ..with_tls()
        };
        let mut login = Login::new(Arc::new(config)).unwrap();
        let (mut out, mut keys) = (Vec::new(), ScramKeys::anew());
        login.begin(NONCE, &mut out).unwrap();
        login.feed(b"S", &mut keys, &mut out).unwrap();
        login.tls_established(&mut out).unwrap();
        out.clear();
        let step = login.feed(offer, &mut keys, &mut out)?;
        if step == LoginStep::BindChannel {
            assert!(out.is_empty());
            login.bind_channel(end_point, &mut out)?;
        }
        Ok::<_, WireError>(String::from_utf8_lossy(&out).into_owned())
    };
    // The flags of RFC 5802 section 6: bound, not able to, able to but not offered.
    let any = AuthMethods::ANY;
    let bound = binds(Some(&[7; 32]), any, &both).unwrap();
    assert!(bound.contains("SCRAM-SHA-256-PLUS\0\0\0\0\u{35}p=tls-server-end-point,,n=,r="));
    let unable = binds(None, any, &both).unwrap();
    assert!(unable.contains("SCRAM-SHA-256\0\0\0\0 n,,n=,r="));
    let plain = authentication(10, b"SCRAM-SHA-256\0\0");
    let not_offered = binds(None, any, &plain).unwrap();
    assert!(not_offered.contains("SCRAM-SHA-256\0\0\0\0 y,,n=,r="));
    let only = AuthMethods::only(AuthMethod::ScramSha256Plus);
    let refused = binds(None, only, &both).unwrap_err();
    assert!(matches!(refused, WireError::ChannelNotBound(_)));
    let misuse = binds(Some(&[7; 65]), any, &both).unwrap_err();
    assert_eq!(misuse.fault(), Fault::Client);
    let more = [&both[..], b"R"].concat();
    let early = binds(Some(&[7; 32]), any, &more);
    assert_eq!(early, Err(Violation::OutOfTurn.into()));
}

#[test]
fn methods_that_are_not_there_are_named() {
    for (request, name) in [
        (authentication(2, b""), "Kerberos 5"),
        (authentication(7, b""), "GSSAPI"),
        (authentication(9, b""), "SSPI"),
        (
            authentication(10, b"OAUTHBEARER\0X\x1b\0\0"),
            "SASL with OAUTHBEARER, X ",
        ),
    ] {
        let refused = answered(config("scram"), &[&request]);
        let method = name.into();
        assert_eq!(refused, Err(WireError::UnsupportedMethod { method }));
    }
    let unknown = answered(config("scram"), &[&authentication(99, b"")]).unwrap_err();
    assert!(matches!(
        unknown,
        WireError::Protocol(Violation::UnknownValue { value: 99, .. })
    ));
    let without = answered(config("trust"), &[&authentication(5, b"salt")]);
    let method = AuthMethod::Md5;
    assert_eq!(without, Err(WireError::NoPassword { method }));
}

#[test]
fn another_version_than_3_0_is_refused() {
    let version = |version: u32, options: &[u8]| {
        let body = [&version.to_be_bytes()[..], options].concat();
        answered(config("trust"), &[&message(b'v', &body)])
    };
    for same in [0, 3 << 16] {
        assert_eq!(version(same, b"\0\0\0\0"), Ok(LoginStep::NeedMore));
        assert_eq!(
            version(same, b"\0\0\0\x01_pq_.x\0"),
            Ok(LoginStep::NeedMore)
        );
        let cut = version(same, b"\xff\xff\xff\xff").unwrap_err();
        assert!(matches!(
            cut,
            WireError::Protocol(Violation::Truncated { .. })
        ));
    }
    let (major, minor) = (3, 2);
    let newer = version(3 << 16 | 2, b"\0\0\0\0");
    assert_eq!(
        newer,
        Err(Violation::ProtocolVersion { major, minor }.into())
    );
}

#[test]
fn a_login_cannot_go_on_for_ever() {
    let notice = message(b'N', b"SNOTICE\0\0");
    let ok = authentication(0, b"");
    let parameter = message(b'S', b"x\0y\0");
    for again in [notice, parameter] {
        let bytes = [ok.clone(), again.repeat(1001)].concat();
        let refused = answered(config("trust"), &[&bytes]);
        assert_eq!(refused, Err(Violation::EndlessLogin(1000).into()));
    }
}

/// As a postmaster says that it cannot fork, in whatever language and pieces; nothing of it is a length.
#[test]
fn an_error_of_protocol_2_is_the_servers_and_what_only_begins_like_one_is_not() {
    for text in [
        "could not fork new process\n\0",
        "kann Prozess nicht",
        "не удалось",
    ] {
        let said = [b"E", text.as_bytes()].concat();
        for size in [1, 3, said.len()] {
            let refused = answered(config("trust"), &pieces(&said, &[size])).unwrap_err();
            assert_eq!(refused, WireError::ErrorWithoutLength, "{text}");
            assert_eq!(refused.fault(), Fault::Server);
        }
    }
    for other in [b"E\x7f\xff\xff\xff", b"Eco\0d", b"Acoul", b"E\0\0\0\x03"] {
        let refused = answered(config("trust"), &[&other[..]]).unwrap_err();
        assert!(
            matches!(refused, WireError::NotPostgres { .. }),
            "{refused}"
        );
    }
}

#[test]
fn a_length_that_no_message_of_a_login_has_is_refused() {
    let header = |kind: u8, length: u32| [&[kind], &length.to_be_bytes()[..]].concat();
    for (kind, length) in [
        (b'R', 1 << 20),
        (b'R', u32::MAX),
        (b'E', 1 << 30),
        (b'R', 3),
    ] {
        let refused = answered(config("trust"), &[&header(kind, length)]).unwrap_err();
        assert!(
            matches!(refused, WireError::NotPostgres { .. }),
            "{refused}"
        );
        let later = [authentication(0, b""), header(kind, length)].concat();
        let refused = answered(config("trust"), &[&later]).unwrap_err();
        let is_told = matches!(
            refused,
            WireError::MessageTooLarge { .. } | WireError::Protocol(Violation::Length { .. })
        );
        assert!(is_told, "{refused}");
    }
}

#[test]
fn messages_of_a_login_out_of_order_are_refused() {
    let ready = message(b'Z', b"I");
    let key = message(b'K', &[0; 8]);
    let ok = authentication(0, b"");
    for (name, bytes) in [
        ("a row", [&ok[..], &message(b'D', b"\0\0")].concat()),
        ("a second OK", [&ok[..], &ok].concat()),
        (
            "a version behind OK",
            [&ok[..], &message(b'v', &[0; 8])].concat(),
        ),
        (
            "a status that is none",
            [&ok[..], &message(b'Z', b"X")].concat(),
        ),
    ] {
        let refused = answered(config("trust"), &[&bytes]).unwrap_err();
        assert!(
            matches!(refused, WireError::Protocol(_)),
            "{name}: {refused}"
        );
    }
    for early in [&ready, &key] {
        let bytes = [&message(b'v', b"\0\x03\0\0\0\0\0\0")[..], early].concat();
        let refused = answered(config("trust"), &[&bytes]).unwrap_err();
        assert!(matches!(refused, WireError::Protocol(_)), "{refused}");
    }
}

#[test]
fn messages_of_an_answer_out_of_order_are_refused() {
    let row = message(b'D', b"\0\0");
    let ready = message(b'Z', b"I");
    let complete = message(b'C', b"SELECT 1\0");
    let described = message(b'T', b"\0\0");
    let bound = message(b'2', b"");
    let execute = Asked::Execute {
        described: false,
        results: tlstax_wire_pg::Format::Text,
    };
    for (asked, bytes) in [
        (Asked::Query, row.clone()),
        (Asked::Query, ready.clone()),
        (Asked::Query, [&described[..], &described].concat()),
        (Asked::Query, [&described[..], &ready].concat()),
        (Asked::Query, [&complete[..], &row].concat()),
        (Asked::Query, authentication(0, b"")),
        (Asked::Query, message(b'1', b"")),
        (Asked::Prepare, row.clone()),
        (Asked::Prepare, complete.clone()),
        (Asked::Prepare, message(b'1', b"x")),
        (execute, [&bound[..], &described].concat()),
        (execute, [&bound[..], &ready].concat()),
        (execute, [&bound[..], &bound].concat()),
        (
            Asked::Run,
            [&message(b'1', b"")[..], &bound, &message(b'n', b""), &row].concat(),
        ),
        (Asked::Close, ready.clone()),
        (Asked::Close, message(b'V', b"")),
    ] {
        let mut parser = ResponseParser::new();
        parser.begin(asked);
        let refused = parser.feed(&bytes, &mut DiscardRows).unwrap_err();
        let is_misplaced = matches!(
            &refused,
            WireError::Protocol(Violation::UnexpectedMessage { .. } | Violation::Overlong { .. })
        );
        assert!(is_misplaced, "{asked:?}: {refused}");
        // It stays so.
        parser.begin(Asked::Query);
        let again = parser.feed(&complete, &mut DiscardRows).unwrap_err();
        assert_eq!(again.fault(), Fault::Client);
    }
}

#[test]
fn what_is_too_long_is_refused_before_it_is_there() {
    let header = |kind, length: u32| [&[kind], &length.to_be_bytes()[..]].concat();
    for (kind, length) in [
        (b'T', 1 << 20),
        (b'C', 1 << 20),
        (b'E', 1 << 21),
        (b'N', 1 << 27),
    ] {
        let mut parser = ResponseParser::new();
        parser.begin(Asked::Query);
        let refused = parser.feed(&header(kind, length), &mut DiscardRows);
        assert!(matches!(refused, Err(WireError::MessageTooLarge { .. })));
    }
    let mut parser = ResponseParser::new().with_max_message(100);
    parser.begin(Asked::Query);
    let bytes = [message(b'T', b"\0\0"), header(b'D', 105)].concat();
    let refused = parser.feed(&bytes, &mut DiscardRows).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the server sent a message of 101 bytes (type 'D'), over the limit of 100"
    );
}

#[test]
fn a_server_may_speak_unasked_but_not_say_anything() {
    let notices = [
        message(b'N', b"SNOTICE\0\0"),
        message(b'S', b"TimeZone\0UTC\0"),
        message(b'A', &[0; 6]),
    ]
    .concat();
    for length in 1..notices.len() {
        let mut parser = ResponseParser::new();
        for piece in pieces(&notices, &[length]) {
            parser.idle(piece).unwrap();
        }
        // Half a message may be there when the next command is sent.
        let (now, later) = notices.split_at(length);
        parser.idle(now).unwrap();
        parser.begin(Asked::Query);
        let answer = [later, &message(b'C', b"SET\0"), &message(b'Z', b"I")].concat();
        let complete = parser.feed(&answer, &mut DiscardRows).unwrap();
        assert!(
            matches!(complete, Progress::Complete { consumed, .. } if consumed == answer.len())
        );
    }
    let closing = server_bytes("idle_terminated");
    let error = ResponseParser::new().idle(&closing).unwrap_err();
    let WireError::Server(error) = error else {
        panic!("{error}");
    };
    assert!(error.unasked && error.closes_connection());
    let unasked = ResponseParser::new()
        .idle(&message(b'Z', b"I"))
        .unwrap_err();
    assert!(matches!(unasked, WireError::Protocol(_)));
    let mut parser = ResponseParser::new();
    let misuse = parser.feed(b"", &mut DiscardRows).unwrap_err();
    assert_eq!(misuse.fault(), Fault::Client);
    parser.begin(command::query(&mut Vec::new(), b"").unwrap());
    assert_eq!(parser.idle(b"").unwrap_err().fault(), Fault::Client);
}

#[test]
fn tls_that_was_not_asked_for_is_misuse() {
    let mut login = Login::new(Arc::new(LoginConfig {
        tls: TlsStart::Off,
        ..config("scram")
    }))
    .unwrap();
    let mut out = Vec::new();
    assert!(login.feed(b"", &mut ScramKeys::anew(), &mut out).is_err());
    login.begin(NONCE, &mut out).unwrap();
    let written = out.len();
    assert!(login.tls_established(&mut out).is_err());
    assert!(login.bind_channel(None, &mut out).is_err());
    assert_eq!(out.len(), written);
}
