//! The fuzzer's inputs in one file a target, since they are many and most are shorter than a line.

/// One input after another, each behind its length as two bytes, the low one first; sorted, so that
/// the same inputs make the same file. Inputs that are too long for that are left out.
#[must_use]
pub fn pack(mut inputs: Vec<Vec<u8>>) -> Vec<u8> {
    inputs.sort_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
    inputs.dedup();
    let mut packed = Vec::new();
    for input in inputs {
        if let Ok(length) = u16::try_from(input.len()) {
            packed.extend_from_slice(&length.to_le_bytes());
            packed.extend_from_slice(&input);
        }
    }
    packed
}

/// The inputs in what [`pack`] made; none where the bytes are cut off.
#[must_use]
pub fn unpack(mut packed: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut inputs = Vec::new();
    while !packed.is_empty() {
        let (length, rest) = packed.split_first_chunk()?;
        let (input, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
        inputs.push(input.to_vec());
        packed = rest;
    }
    Some(inputs)
}
