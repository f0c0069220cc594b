//! Framing: payloads to packets and back (four bytes of header, at most 2^24-1 bytes each).
//!
//! A payload of 2^24-1 bytes or more travels as several packets; the last of them is shorter,
//! possibly empty. (MySQL source documentation, "MySQL Packets".)

mod decode;
mod encode;

pub use decode::{DEFAULT_MAX_PAYLOAD, Packet, PacketDecoder};
pub use encode::append_packet;
pub(crate) use encode::append_with;

const HEADER_LEN: usize = 4;
/// The length in a header that says "more follows".
pub(crate) const FULL_PACKET_LEN: usize = 0xff_ffff;
