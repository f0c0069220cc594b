//! Answers to a prepare: read alike however they arrive, in little memory.

use allocation_counter::measure;
use tlstax_wire::{Capabilities, Fault, PrepareParser, PrepareProgress, Prepared, WireError};

use crate::input::{CUTS, Input, WHOLE, pieces};

/// The option besides those of all targets.
pub(crate) const DEPRECATE_EOF: u8 = 4;

type End = Result<Option<(usize, Prepared)>, WireError>;

fn read(parser: &mut PrepareParser, bytes: &[u8], cuts: [u8; CUTS]) -> End {
    let mut taken = 0;
    for piece in pieces(bytes, cuts) {
        match parser.feed(piece)? {
            PrepareProgress::NeedMore => taken += piece.len(),
            PrepareProgress::Complete {
                consumed,
                statement,
            } => {
                assert!(consumed <= piece.len(), "more consumed than given");
                return Ok(Some((taken + consumed, statement)));
            }
        }
    }
    Ok(None)
}

/// The target.
///
/// # Panics
/// Where a property does not hold.
pub fn prepare(data: &[u8]) {
    let Some(input) = Input::read(data) else {
        return;
    };
    let capabilities = if input.has(DEPRECATE_EOF) {
        Capabilities::DEPRECATE_EOF
    } else {
        Capabilities::default()
    };
    let cuts = input.cuts;
    let bytes = input.answer();
    let whole = read(&mut PrepareParser::new(capabilities), &bytes, WHOLE);
    let mut parser = PrepareParser::new(capabilities);
    let mut end = Ok(None);
    let first = measure(|| end = read(&mut parser, &bytes, cuts));
    assert_eq!(end, whole, "the cuts changed the answer");
    // A copy that doubles, and an error's message, of which a byte can take three, twice over.
    let allowed = if end.is_err() { 9 } else { 3 } * bytes.len() + 64;
    assert!(first.bytes_max <= allowed as u64, "more held than arrived");
    check_that_it_is_over(&mut parser, &bytes, &end);

    let mut again = Ok(None);
    let second = measure(|| {
        parser.reset();
        again = read(&mut parser, &bytes, cuts);
    });
    assert_eq!(again, end, "a parser that was used before reads otherwise");
    assert!(
        second.count_total == 0 || end.is_err(),
        "it allocates anew for every answer"
    );
}

/// What is settled stays settled until the parser is reset.
fn check_that_it_is_over(parser: &mut PrepareParser, bytes: &[u8], end: &End) {
    let again = parser.feed(bytes);
    match end {
        Ok(None) => {}
        Ok(Some((_, statement))) => {
            let statement = *statement;
            assert_eq!(
                again,
                Ok(PrepareProgress::Complete {
                    consumed: 0,
                    statement
                })
            );
        }
        Err(_) => assert_eq!(again.unwrap_err().fault(), Fault::Client),
    }
}
