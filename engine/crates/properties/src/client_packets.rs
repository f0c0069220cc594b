//! What the client wrote, taken apart by rules of this crate's own.

use tlstax_wire::Greeting;

const HEADER_LEN: usize = 4;
/// The fixed fields that a login and a request for TLS begin with.
pub(crate) const FIXED_LEN: usize = 32;
const LONG_PASSWORD: u32 = 1;

/// Number and payload of every packet. All of them are short, so none is continued.
pub(crate) fn packets(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut found = Vec::new();
    while let Some((&[low, middle, high, number], rest)) = bytes.split_first_chunk::<HEADER_LEN>() {
        let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
        let (payload, rest) = rest.split_at(length);
        found.push((number, payload));
        bytes = rest;
    }
    assert!(bytes.is_empty(), "half a header was written");
    found
}

/// Checks the fields that a request for TLS consists of and a login begins with.
pub(crate) fn check_fixed_fields(payload: &[u8], greeting: &Greeting) {
    let (capabilities, rest) = payload.split_first_chunk().expect("capabilities");
    let asked = u32::from_le_bytes(*capabilities) & !LONG_PASSWORD;
    assert_eq!(
        asked & !greeting.capabilities.bits(),
        0,
        "asked for what the server does not have"
    );
    let filler = &rest[5..FIXED_LEN - 4];
    assert!(filler.iter().all(|&byte| byte == 0));
}

/// The user's name in a login.
pub(crate) fn user(payload: &[u8]) -> &[u8] {
    let rest = &payload[FIXED_LEN..];
    let end = rest.iter().position(|&byte| byte == 0).expect("a NUL");
    &rest[..end]
}
