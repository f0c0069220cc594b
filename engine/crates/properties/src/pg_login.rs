//! Whole logins to PostgreSQL: the same however the server's bytes arrive, and no more given away than the job allows.

use std::sync::Arc;

use allocation_counter::measure;
use tlstax_wire_pg::{
    AuthMethod, AuthMethods, Fault, Login, LoginConfig, LoginReport, LoginStage, LoginStep,
    ScramKeys, ServerIdentity, TlsStart, WireError,
};

use crate::input::{CUTS, Input, WHOLE, pieces};

/// Options besides those of all targets.
pub(crate) const TLS: u8 = 2;
pub(crate) const DIRECT: u8 = 4;
pub(crate) const VERIFIED: u8 = 8;
pub(crate) const DATABASE: u8 = 16;
/// The certificate has a digest.
pub(crate) const END_POINT: u8 = 32;

/// As in the recordings, so that what they prove is proven here.
const NONCE: [u8; 18] = [7; 18];
pub(crate) const DIGEST: [u8; 32] = [7; 32];
/// So few that a search goes on; there is a recording with one.
const MAX_ITERATIONS: u32 = 16;
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
const METHODS: [AuthMethod; 5] = [
    AuthMethod::Trust,
    AuthMethod::Password,
    AuthMethod::Md5,
    AuthMethod::ScramSha256,
    AuthMethod::ScramSha256Plus,
];

/// How a login, or the server's part of it up to an answer, ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    /// The server's turn is over and the login is not.
    Waiting,
    StartTls,
    BindChannel,
    /// Of the last turn N bytes belonged to the login.
    Done(usize, LoginReport),
    /// What answered the request for TLS was refused. What is said of it depends on how much of it was there.
    NoTls,
    Failed(WireError),
}

/// What a login came to, and all that the client wrote.
#[derive(Debug, PartialEq, Eq)]
struct Course {
    end: End,
    out: Vec<u8>,
}

/// One login after another, with what is kept between them.
struct Player<'c> {
    config: &'c LoginConfig,
    has_end_point: bool,
    login: Login,
    keys: ScramKeys,
    out: Vec<u8>,
}

/// The target.
///
/// # Panics
/// Where a property does not hold.
pub fn pg_login(data: &[u8]) {
    let Some(mut input) = Input::read(data) else {
        return;
    };
    let (cuts, has_end_point) = (input.cuts, input.has(END_POINT));
    let config = config(&mut input);
    let player = |keys| {
        let login = Login::new(Arc::new(config.clone())).ok()?;
        Some(Player {
            config: &config,
            has_end_point,
            login,
            keys,
            out: Vec::new(),
        })
    };
    let Some(mut whole) = player(ScramKeys::anew()) else {
        let texts = [&config.user, &config.password];
        let mut texts = texts.into_iter().chain(&config.database);
        assert!(texts.any(|text| text.contains('\0')), "refused for nothing");
        return;
    };
    let mut turns = Vec::new();
    let end = whole.play(WHOLE, |stage| {
        let turn = input.pg_turn(stage == LoginStage::TlsAnswer)?;
        turns.push(turn.clone());
        Some(turn)
    });
    let course = whole.course(end);
    check_client(&course, &config);
    for cuts in [cuts, cuts, WHOLE] {
        let mut next = turns.iter();
        let end = whole.play(cuts, |_| next.next());
        assert_eq!(
            whole.course(end),
            course,
            "the cuts, or a login before it, changed it"
        );
    }
    check_allocations(player(ScramKeys::kept()), &turns, cuts, &course.end);
}

/// A third login like two before it allocates nothing but an error's text and what plays it.
fn check_allocations(player: Option<Player<'_>>, turns: &[Vec<u8>], cuts: [u8; CUTS], end: &End) {
    let mut player = player.expect("it was not refused before");
    let mut counts = [0; 3];
    for count in &mut counts {
        let mut turns = turns.iter();
        let measured = measure(|| drop(player.play(cuts, |_| turns.next())));
        *count = measured.count_total;
    }
    let has_text = matches!(end, End::Failed(_) | End::NoTls);
    assert!(
        counts[2] == 0 || has_text,
        "it allocates anew for every login: {counts:?}"
    );
}

fn config(input: &mut Input<'_>) -> LoginConfig {
    let (user, password) = (input.short_text(), input.short_text());
    let methods = match input.short_bytes() {
        [] => AuthMethods::ANY,
        [bits, ..] => METHODS
            .into_iter()
            .enumerate()
            .filter(|(place, _)| bits >> place & 1 == 1)
            .fold(AuthMethods::NONE, |methods, (_, method)| {
                methods.with(method)
            }),
    };
    LoginConfig {
        user,
        password,
        database: input.has(DATABASE).then(|| input.short_text()),
        tls: match (input.has(TLS), input.has(DIRECT)) {
            (true, _) => TlsStart::Request,
            (_, true) => TlsStart::Direct,
            _ => TlsStart::Off,
        },
        server: if input.has(VERIFIED) {
            ServerIdentity::Verified
        } else {
            ServerIdentity::Unknown
        },
        methods,
        max_iterations: MAX_ITERATIONS,
        ..LoginConfig::default()
    }
}

impl Player<'_> {
    /// Plays the server's turns, as long as there are any and the login goes on. The client's bytes are in `out`.
    fn play<T: AsRef<[u8]>>(
        &mut self,
        cuts: [u8; CUTS],
        mut next_turn: impl FnMut(LoginStage) -> Option<T>,
    ) -> End {
        self.out.clear();
        let mut begun = self
            .login
            .begin(NONCE, &mut self.out)
            .expect("a short account");
        loop {
            if begun == LoginStep::StartTls {
                assert_eq!(self.config.tls, TlsStart::Direct);
                assert!(self.out.is_empty(), "it spoke before TLS");
                self.login
                    .tls_established(&mut self.out)
                    .expect("it was asked for");
                begun = LoginStep::Send;
            }
            let Some(turn) = next_turn(self.login.stage()) else {
                return End::Waiting;
            };
            match self.take_turn(turn.as_ref(), cuts) {
                End::Waiting => self.check_misuse(),
                End::StartTls => {
                    assert_eq!(self.out, SSL_REQUEST, "said too much before TLS");
                    self.login
                        .tls_established(&mut self.out)
                        .expect("it was asked for");
                }
                End::BindChannel => {
                    let digest = self.has_end_point.then_some(&DIGEST[..]);
                    if let Err(error) = self.login.bind_channel(digest, &mut self.out) {
                        return End::Failed(error);
                    }
                }
                end => {
                    let over = self.login.feed(b"\0", &mut self.keys, &mut self.out);
                    assert_eq!(over.unwrap_err().fault(), Fault::Client, "it went on");
                    return end;
                }
            }
        }
    }

    /// Feeds one turn in pieces.
    fn take_turn(&mut self, bytes: &[u8], cuts: [u8; CUTS]) -> End {
        let is_tls_answer = self.login.stage() == LoginStage::TlsAnswer;
        let (mut taken, mut end) = (0, End::Waiting);
        for piece in pieces(bytes, cuts) {
            let before = self.out.len();
            match self.login.feed(piece, &mut self.keys, &mut self.out) {
                Err(WireError::Misuse { .. }) if piece.is_empty() => continue,
                Err(_) if is_tls_answer => return End::NoTls,
                Err(error) => return End::Failed(error),
                Ok(step @ (LoginStep::NeedMore | LoginStep::Send)) => {
                    assert_eq!(step == LoginStep::Send, self.out.len() > before);
                }
                Ok(LoginStep::StartTls) => end = End::StartTls,
                Ok(LoginStep::BindChannel) => end = End::BindChannel,
                Ok(LoginStep::Done { consumed, report }) => {
                    assert!(consumed <= piece.len(), "more consumed than given");
                    return End::Done(taken + consumed, report);
                }
            }
            taken += piece.len();
        }
        end
    }

    /// What was not asked for is refused and changes nothing.
    fn check_misuse(&mut self) {
        let before = self.out.len();
        let refusals = [
            self.login.tls_established(&mut self.out),
            self.login.bind_channel(Some(&DIGEST), &mut self.out),
        ];
        for refusal in refusals {
            assert_eq!(refusal.unwrap_err().fault(), Fault::Client);
        }
        assert_eq!(self.out.len(), before, "a refused call wrote something");
    }

    fn course(&self, end: End) -> Course {
        Course {
            end,
            out: self.out.clone(),
        }
    }
}

/// The client names its user, sends the password as it is only where the other end is known, and takes for proven
/// only what the job allows and the server has proven.
fn check_client(course: &Course, config: &LoginConfig) {
    let is_known = config.tls != TlsStart::Off && config.server == ServerIdentity::Verified;
    let messages = client_messages(course, config);
    let bare = messages.iter().any(|body| {
        body.strip_suffix(&[0])
            .is_some_and(|text| text == config.password.as_bytes())
    });
    assert!(is_known || !bare, "anybody got the password");
    match &course.end {
        End::Failed(WireError::CleartextRefused { encrypted }) => {
            assert!(!is_known, "refused for nothing");
            assert_eq!(*encrypted, config.tls != TlsStart::Off);
        }
        End::Done(_, report) => {
            assert!(
                config.methods.contains(report.method),
                "not what the job allows"
            );
            let (sent, has_key) = match report.method {
                AuthMethod::Trust => (0, false),
                AuthMethod::Password | AuthMethod::Md5 => (1, false),
                AuthMethod::ScramSha256 | AuthMethod::ScramSha256Plus => (2, true),
            };
            assert_eq!(messages.len(), sent);
            assert_eq!(
                (report.key.is_some(), report.iterations.is_some()),
                (has_key, has_key)
            );
            assert!(
                report
                    .iterations
                    .is_none_or(|count| (1..=MAX_ITERATIONS).contains(&count))
            );
            assert!(sent == 0 || !config.password.is_empty());
            let is_bound = report.method == AuthMethod::ScramSha256Plus;
            assert!(!is_bound || config.tls != TlsStart::Off, "bound to nothing");
        }
        _ => {}
    }
}

/// The bodies of what the client sent behind its `StartupMessage`, which is checked on the way.
fn client_messages<'o>(course: &'o Course, config: &LoginConfig) -> Vec<&'o [u8]> {
    let mut rest = &course.out[..];
    if config.tls == TlsStart::Request {
        rest = rest.strip_prefix(&SSL_REQUEST).expect("a request for TLS");
    }
    if rest.is_empty() {
        return Vec::new();
    }
    let startup = counted(&mut rest);
    let named = [b"\0\x03\0\0user\0", config.user.as_bytes(), b"\0"].concat();
    assert!(startup.starts_with(&named) && startup.ends_with(b"\0\0"));
    let mut bodies = Vec::new();
    while let Some((&kind, after)) = rest.split_first() {
        assert_eq!(kind, b'p');
        rest = after;
        bodies.push(counted(&mut rest));
    }
    bodies
}

/// What is behind a length that counts itself.
fn counted<'o>(rest: &mut &'o [u8]) -> &'o [u8] {
    let (length, after) = rest.split_first_chunk().expect("a length");
    let (body, after) = after.split_at(u32::from_be_bytes(*length) as usize - 4);
    *rest = after;
    body
}
