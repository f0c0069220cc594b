//! Answers to statements: read alike however they arrive, whoever wants the rows, in little memory.

use allocation_counter::measure;
use tlstax_wire::{
    Capabilities, DiscardRows, Fault, Progress, Response, ResponseParser, RowCollector, RowSink,
    WireError,
};

use crate::input::{CUTS, Input, WHOLE, pieces};

/// Options besides those of all targets.
pub(crate) const BINARY: u8 = 2;
pub(crate) const DEPRECATE_EOF: u8 = 4;
pub(crate) const LOW_LIMIT: u8 = 8;
/// Two bits: how many rows are wanted.
pub(crate) const WANTED_SHIFT: u8 = 4;

const LOW_LIMIT_BYTES: usize = 100;
const WANTED: [usize; 4] = [1, 2, 5, usize::MAX];
/// So few that answers of a fuzzer's length come to it.
const MOST_KEPT_BYTES: usize = 150;

/// What is the same for every reading of one answer.
#[derive(Clone, Copy)]
struct Terms {
    binary: bool,
    capabilities: Capabilities,
    max_payload: Option<usize>,
}

/// How far a reading came: how many bytes the answer had, and what it said.
type End = Result<Option<(usize, Response)>, WireError>;

impl Terms {
    fn of(input: &Input<'_>) -> Self {
        Self {
            binary: input.has(BINARY),
            capabilities: if input.has(DEPRECATE_EOF) {
                Capabilities::DEPRECATE_EOF
            } else {
                Capabilities::default()
            },
            max_payload: input.has(LOW_LIMIT).then_some(LOW_LIMIT_BYTES),
        }
    }

    fn parser(self) -> ResponseParser {
        let parser = if self.binary {
            ResponseParser::binary(self.capabilities)
        } else {
            ResponseParser::text(self.capabilities)
        };
        match self.max_payload {
            Some(limit) => parser.with_max_payload(limit),
            None => parser,
        }
    }
}

/// Reads an answer that arrives in such pieces.
fn read(
    parser: &mut ResponseParser,
    bytes: &[u8],
    cuts: [u8; CUTS],
    sink: &mut impl RowSink,
) -> End {
    let mut taken = 0;
    for piece in pieces(bytes, cuts) {
        match parser.feed(piece, sink)? {
            Progress::NeedMore => taken += piece.len(),
            Progress::Complete { consumed, response } => {
                assert!(consumed <= piece.len(), "more consumed than given");
                return Ok(Some((taken + consumed, response)));
            }
        }
    }
    Ok(None)
}

/// What is settled stays settled until the parser is reset.
fn check_that_it_is_over(parser: &mut ResponseParser, bytes: &[u8], end: &End) {
    let again = parser.feed(bytes, &mut DiscardRows);
    match end {
        Ok(None) => {}
        Ok(Some((_, response))) => {
            let response = *response;
            assert_eq!(
                again,
                Ok(Progress::Complete {
                    consumed: 0,
                    response
                })
            );
        }
        Err(_) => assert_eq!(again.unwrap_err().fault(), Fault::Client),
    }
}

/// The target.
///
/// # Panics
/// Where a property does not hold.
pub fn result_sets(data: &[u8]) {
    let Some(input) = Input::read(data) else {
        return;
    };
    let (terms, cuts) = (Terms::of(&input), input.cuts);
    let wanted = WANTED[usize::from(input.options >> WANTED_SHIFT) % WANTED.len()];
    let bytes = input.answer();
    let counted = check_counting(terms, &bytes, cuts);
    let collected = check_collecting(terms, &bytes, cuts, wanted);
    match (&collected, &counted) {
        // A row that is looked into can turn out to be broken; one that is only counted cannot.
        (Err(_), _) => {}
        _ => assert_eq!(collected, counted, "wanting rows changed the answer"),
    }
}

/// Rows that nobody wants: the answer does not depend on the cuts, memory is bounded by what
/// arrived, and reading the same again allocates nothing.
fn check_counting(terms: Terms, bytes: &[u8], cuts: [u8; CUTS]) -> End {
    let whole = read(&mut terms.parser(), bytes, WHOLE, &mut DiscardRows);
    let mut parser = terms.parser();
    let mut end = Ok(None);
    let first = measure(|| end = read(&mut parser, bytes, cuts, &mut DiscardRows));
    assert_eq!(end, whole, "the cuts changed the answer");
    check_that_it_is_over(&mut parser, bytes, &end);
    check_memory(first.bytes_max, bytes, terms, end.is_err());

    let mut again = Ok(None);
    let second = measure(|| {
        parser.reset();
        again = read(&mut parser, bytes, cuts, &mut DiscardRows);
    });
    assert_eq!(again, end, "a parser that was used before reads otherwise");
    assert!(
        second.count_total == 0 || end.is_err(),
        "it allocates anew for every answer"
    );
    end
}

/// A packet that arrives in pieces is copied to memory that at most doubles, up to the limit, beside
/// which the old is held while it is copied; an error repeats its message, of which a byte that is
/// not UTF-8 takes three.
fn check_memory(peak_bytes: u64, bytes: &[u8], terms: Terms, failed: bool) {
    const SMALLEST_BYTES: usize = 8;
    let limit = terms.max_payload.unwrap_or(usize::MAX);
    let copied = (3 * bytes.len() + SMALLEST_BYTES).min(limit.saturating_mul(2));
    let message = if failed { 6 * bytes.len() + 64 } else { 0 };
    let allowed = (copied + message) as u64;
    assert!(
        peak_bytes <= allowed,
        "{peak_bytes} bytes held for {} that arrived",
        bytes.len()
    );
}

/// Rows that are wanted: the same, and no more is kept than was asked for.
fn check_collecting(terms: Terms, bytes: &[u8], cuts: [u8; CUTS], wanted: usize) -> End {
    let collector = || RowCollector::new(wanted).with_max_bytes(MOST_KEPT_BYTES);
    let mut whole_rows = collector();
    let whole = read(&mut terms.parser(), bytes, WHOLE, &mut whole_rows);
    let mut parser = terms.parser();
    let mut rows = collector();
    let end = read(&mut parser, bytes, cuts, &mut rows);
    assert_eq!(end, whole, "the cuts changed the answer");
    assert_eq!(rows.rows(), whole_rows.rows(), "the cuts changed the rows");
    check_that_it_is_over(&mut parser, bytes, &end);
    check_kept(rows.rows(), wanted);
    if let Ok(Some((_, response))) = end {
        assert!(response.rows >= rows.rows().len() as u64);
    }
    end
}

/// Without the last row, which may be what filled it, the rows are within the limit.
fn check_kept(rows: &[Vec<Option<String>>], wanted: usize) {
    assert!(rows.len() <= wanted, "more rows kept than wanted");
    let Some((_, before)) = rows.split_last() else {
        return;
    };
    let values = before.iter().flatten();
    let kept_bytes: usize = values
        .map(|value| size_of_val(value) + value.as_ref().map_or(0, String::len))
        .sum();
    assert!(
        kept_bytes < MOST_KEPT_BYTES,
        "{kept_bytes} bytes of rows kept"
    );
}
