//! What a server says, as bytes.

use tlstax_wire::{Capabilities, append_packet};

/// The longest payload of one packet; more follows it.
pub const FULL: usize = 0xff_ffff;

/// A packet around a payload.
pub fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    packets(sequence, &[payload])
}

/// Packets around payloads, the first numbered `sequence`.
pub fn packets(mut sequence: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for payload in payloads {
        sequence = append_packet(&mut bytes, sequence, payload);
    }
    bytes
}

/// A greeting's payload: that of a server which has what the engine asks for.
pub fn greeting() -> Vec<u8> {
    let capabilities = Capabilities::PROTOCOL_41
        | Capabilities::SECURE_CONNECTION
        | Capabilities::PLUGIN_AUTH
        | Capabilities::SSL
        | Capabilities::DEPRECATE_EOF;
    let [low, second, third, high] = capabilities.bits().to_le_bytes();
    let mut greeting = b"\x0a8.0.0-hostile\0".to_vec();
    greeting.extend_from_slice(&[1, 0, 0, 0]);
    greeting.extend_from_slice(b"abcdefgh\0");
    greeting.extend_from_slice(&[low, second, 45, 2, 0, third, high, 21]);
    greeting.extend_from_slice(&[0; 10]);
    greeting.extend_from_slice(b"ijklmnopqrst\0caching_sha2_password\0");
    greeting
}

/// An OK packet's payload.
pub const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
/// An OK packet's payload that says that a transaction is open.
pub const OK_IN_TRANSACTION: &[u8] = &[0, 0, 0, 3, 0, 0, 0];
/// An OK packet's payload after which another result follows.
pub const OK_AND_MORE: &[u8] = &[0, 0, 0, 0x0a, 0, 0, 0];
/// The payload that ends a result set.
pub const END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
/// A column count's payload.
pub const ONE_COLUMN: &[u8] = &[1];
/// A text column's definition.
pub const COLUMN: &[u8] = b"\x03def\0\0\0\x01x\0\x0c\x2d\0\xff\xff\xff\xff\xfd\0\0\0\0\0";
/// A row of one short value.
pub const ROW: &[u8] = b"\x01x";

/// An ERR packet's payload.
pub fn error(code: u16, message: &str) -> Vec<u8> {
    let [low, high] = code.to_le_bytes();
    [&[0xff, low, high], &b"#HY000"[..], message.as_bytes()].concat()
}

/// Many equal payloads in a row as packets; numbers go on where they are used 256 times over.
pub fn many(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut sequence = first;
    for _ in 0..=u8::MAX {
        sequence = append_packet(&mut bytes, sequence, payload);
    }
    bytes
}
