//! Greetings: the same however they arrive, and what was read from one, written down, reads alike.

use std::sync::Arc;

use tlstax_wire::{Capabilities, Greeting, Login, LoginConfig, append_packet};

use crate::input::{CUTS, Input, WHOLE, pieces};

/// The target.
///
/// # Panics
/// Where a property does not hold.
pub fn greeting(data: &[u8]) {
    let Some(mut input) = Input::read(data) else {
        return;
    };
    let Some((payload, _)) = input.payload() else {
        return;
    };
    let parsed = Greeting::parse(payload);
    if let Ok(greeting) = &parsed {
        assert!(greeting.version.ends_with(greeting.server_version()));
        check_scramble(greeting, payload);
        assert_eq!(
            Greeting::parse(&written(greeting)).as_ref(),
            Ok(greeting),
            "what was read, written down, reads otherwise"
        );
    }
    let mut bytes = Vec::new();
    append_packet(&mut bytes, 0, payload);
    let seen = seen_by_login(&bytes, input.cuts);
    assert_eq!(
        seen,
        seen_by_login(&bytes, WHOLE),
        "the cuts changed the greeting"
    );
    if let Some(seen) = seen {
        assert_eq!(parsed, Ok(seen), "a login reads the greeting otherwise");
    }
}

/// Both parts of it are the server's own bytes.
fn check_scramble(greeting: &Greeting, payload: &[u8]) {
    let (head, tail) = greeting.scramble.split_at(8);
    let has_tail = greeting
        .capabilities
        .contains(Capabilities::SECURE_CONNECTION);
    let parts = [Some(head), has_tail.then_some(tail)];
    for part in parts.into_iter().flatten() {
        let mut places = payload.windows(part.len());
        assert!(places.any(|place| place == part), "a scramble made up");
    }
}

fn seen_by_login(bytes: &[u8], cuts: [u8; CUTS]) -> Option<Greeting> {
    let mut login = Login::new(Arc::new(LoginConfig::default())).ok()?;
    let mut out = Vec::new();
    for piece in pieces(bytes, cuts) {
        if login.feed(piece, &mut out).is_err() {
            break;
        }
    }
    login.greeting().cloned()
}

/// A greeting's payload in full (MySQL source documentation, "`Protocol::HandshakeV10`").
fn written(greeting: &Greeting) -> Vec<u8> {
    const VERSION: u8 = 10;
    const SCRAMBLE_AND_NUL: u8 = 21;
    let has = |flag| greeting.capabilities.contains(flag);
    let [low, second, third, high] = greeting.capabilities.bits().to_le_bytes();
    let mut out = vec![VERSION];
    out.extend_from_slice(greeting.version.as_bytes());
    out.push(0);
    out.extend_from_slice(&greeting.thread_id.to_le_bytes());
    out.extend_from_slice(&greeting.scramble[..8]);
    out.extend_from_slice(&[0, low, second, greeting.charset]);
    out.extend_from_slice(&greeting.status.bits().to_le_bytes());
    out.extend_from_slice(&[third, high, SCRAMBLE_AND_NUL]);
    out.extend_from_slice(&[0; 10]);
    if has(Capabilities::SECURE_CONNECTION) {
        out.extend_from_slice(&greeting.scramble[8..]);
        out.push(0);
    }
    if has(Capabilities::PLUGIN_AUTH) {
        out.extend_from_slice(greeting.plugin.as_bytes());
        out.push(0);
    }
    out
}
