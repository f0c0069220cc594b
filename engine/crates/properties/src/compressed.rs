//! Compressed packets: read alike however they arrive, and what was packed comes out again.

use tlstax_wire::{Algorithm, Packer, Unpacked, Unpacker};

use crate::input::{CUTS, Input, WHOLE, pieces};

/// The option besides that of all targets: Zstandard, not zlib.
pub(crate) const ZSTD: u8 = 2;

/// This many bytes are given at once.
const ROOM_BYTES: usize = 61;

/// No compressed packet stands for more.
const MOST_BYTES: usize = 0xff_ffff;

/// What is given of these bytes, and whether they were refused.
fn read(algorithm: Algorithm, bytes: &[u8], cuts: [u8; CUTS]) -> (Vec<u8>, bool) {
    let mut unpacker = Unpacker::new(algorithm).expect("memory");
    let (mut all, mut room) = (Vec::new(), [0; ROOM_BYTES]);
    for piece in pieces(bytes, cuts) {
        let mut rest = piece;
        loop {
            let Ok(Unpacked { taken, given }) = unpacker.unpack(rest, &mut room) else {
                return (all, true);
            };
            assert!(
                taken <= rest.len() && given <= room.len(),
                "more than there is"
            );
            all.extend_from_slice(&room[..given]);
            rest = &rest[taken..];
            if given == 0 {
                assert!(rest.is_empty(), "it stopped before the end");
                break;
            }
        }
    }
    (all, false)
}

/// The target.
///
/// # Panics
/// Where a property does not hold.
pub fn compressed(data: &[u8]) {
    let Some(input) = Input::read(data) else {
        return;
    };
    let algorithm = if input.has(ZSTD) {
        Algorithm::Zstd
    } else {
        Algorithm::Zlib
    };
    let cuts = input.cuts;
    let bytes = input.answer();
    let (whole, refused) = read(algorithm, &bytes, WHOLE);
    let (cut, cut_refused) = read(algorithm, &bytes, cuts);
    assert_eq!(
        refused, cut_refused,
        "the cuts decided whether it was refused"
    );
    if !refused {
        assert_eq!(whole, cut, "the cuts changed what was given");
    }
    let packets = bytes.len() / 7 + 1;
    assert!(
        whole.len() <= packets * MOST_BYTES,
        "more than was announced"
    );

    let mut packed = Vec::new();
    let next = Packer::new(algorithm)
        .and_then(|mut packer| packer.pack(&bytes, &mut packed))
        .expect("memory");
    assert_eq!(next, u8::from(!bytes.is_empty()), "one packet holds it");
    assert!(packed.len() <= bytes.len() + 7, "it became longer");
    assert_eq!(read(algorithm, &packed, cuts), (bytes, false));
}
