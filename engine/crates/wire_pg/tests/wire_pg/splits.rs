//! The ways in which bytes can arrive: at once, one by one, or split in two anywhere.

/// The pieces of `bytes`, each as long as the next of `lengths` (over and over) says.
pub fn pieces<'b>(bytes: &'b [u8], lengths: &[usize]) -> Vec<&'b [u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*length).clamp(1, rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Lengths of pieces that split `length` bytes in every way that one cut can, and into bytes.
pub fn every_cut(length: usize) -> impl Iterator<Item = Vec<usize>> {
    let in_two = (1..length.max(2)).map(move |cut| vec![cut, length]);
    in_two.chain([vec![1], vec![length.max(1)]])
}
