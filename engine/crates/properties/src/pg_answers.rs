//! PostgreSQL's answers: read alike however they arrive, whoever wants the rows, in little memory.

use allocation_counter::measure;
use tlstax_wire_pg::{
    Asked, DiscardRows, Fault, Format, Progress, Response, ResponseParser, RowCollector, RowSink,
    WireError,
};

use crate::input::{CUTS, Input, WHOLE, pieces};

/// Three bits: what was asked.
pub(crate) const ASKED_SHIFT: u8 = 1;
pub(crate) const LOW_LIMIT: u8 = 16;
/// Two bits: how many rows are wanted.
pub(crate) const WANTED_SHIFT: u8 = 5;

const LOW_LIMIT_BYTES: usize = 100;
const WANTED: [usize; 4] = [1, 2, 5, usize::MAX];
/// So few that answers of a fuzzer's length come to it.
const MOST_KEPT_BYTES: usize = 150;

/// Everything that can be asked, by the three bits.
pub(crate) const ASKED: [Asked; 8] = [
    Asked::Query,
    Asked::Prepare,
    Asked::Run,
    Asked::Close,
    executed(false, Format::Text),
    executed(true, Format::Text),
    executed(false, Format::Binary),
    executed(true, Format::Binary),
];

const fn executed(described: bool, results: Format) -> Asked {
    Asked::Execute { described, results }
}

/// What is the same for every reading of one answer.
#[derive(Clone, Copy)]
struct Terms {
    asked: Asked,
    max_message: Option<usize>,
}

/// How far a reading came: how many bytes the answer had and what it said, and what came of the bytes behind it.
type End = (
    Result<Option<(usize, Response)>, WireError>,
    Option<Result<(), WireError>>,
);

impl Terms {
    fn parser(self) -> ResponseParser {
        match self.max_message {
            Some(limit) => ResponseParser::new().with_max_message(limit),
            None => ResponseParser::new(),
        }
    }
}

/// Reads an answer that arrives in such pieces, and then what is behind it.
fn read(
    parser: &mut ResponseParser,
    asked: Asked,
    bytes: &[u8],
    cuts: [u8; CUTS],
    sink: &mut impl RowSink,
) -> End {
    let mut taken = 0;
    parser.begin(asked);
    let mut pieces = pieces(bytes, cuts);
    for piece in pieces.by_ref() {
        let (end, consumed) = match parser.feed(piece, sink) {
            Ok(Progress::NeedMore) => {
                taken += piece.len();
                continue;
            }
            Ok(Progress::Complete { consumed, response }) => {
                (Ok(Some((taken + consumed, response))), consumed)
            }
            Err(error) if error.leaves_connection_usable() => {
                (Err(error), piece.len() - parser.unread_bytes())
            }
            Err(error) => return (Err(error), None),
        };
        assert!(consumed <= piece.len(), "more consumed than given");
        let behind = std::iter::once(&piece[consumed..]).chain(pieces);
        let behind = behind.into_iter().try_for_each(|piece| parser.idle(piece));
        return (end, Some(behind));
    }
    (Ok(None), None)
}

/// What is settled stays settled until something is asked, and a connection that failed stays so.
fn check_that_it_is_over(parser: &mut ResponseParser, end: &End) {
    if end.0 == Ok(None) {
        return;
    }
    let again = parser.feed(b"", &mut DiscardRows).unwrap_err();
    assert_eq!(again.fault(), Fault::Client);
    let failed = !matches!(end.1, Some(Ok(())));
    assert_eq!(parser.idle(b"").is_err(), failed);
    parser.begin(Asked::Query);
    assert_eq!(parser.feed(b"", &mut DiscardRows).is_err(), failed);
    parser.reset();
    assert_eq!(parser.idle(b""), Ok(()));
}

/// The target.
///
/// # Panics
/// Where a property does not hold.
pub fn pg_answers(data: &[u8]) {
    let Some(mut input) = Input::read(data) else {
        return;
    };
    let terms = Terms {
        asked: ASKED[usize::from(input.options >> ASKED_SHIFT) % ASKED.len()],
        max_message: input.has(LOW_LIMIT).then_some(LOW_LIMIT_BYTES),
    };
    let wanted = WANTED[usize::from(input.options >> WANTED_SHIFT) % WANTED.len()];
    let cuts = input.cuts;
    let mut bytes = Vec::new();
    while let Some(turn) = input.pg_turn(false) {
        bytes.extend(turn);
    }
    let counted = check_counting(terms, &bytes, cuts);
    let collected = check_collecting(terms, &bytes, cuts, wanted);
    match (&collected.0, &counted.0) {
        // A description or a row that is looked into can turn out to be broken.
        (Err(error), _) if !error.leaves_connection_usable() => {}
        _ => assert_eq!(collected, counted, "wanting rows changed the answer"),
    }
}

/// Rows that nobody wants: the answer does not depend on the cuts, memory is bounded by what arrived, and reading
/// the same again allocates nothing.
fn check_counting(terms: Terms, bytes: &[u8], cuts: [u8; CUTS]) -> End {
    let asked = terms.asked;
    let whole = read(&mut terms.parser(), asked, bytes, WHOLE, &mut DiscardRows);
    let mut parser = terms.parser();
    let mut end = (Ok(None), None);
    let first = measure(|| end = read(&mut parser, asked, bytes, cuts, &mut DiscardRows));
    assert_eq!(end, whole, "the cuts changed the answer");
    check_that_it_is_over(&mut parser, &end);
    let failed = end.0.is_err() || matches!(end.1, Some(Err(_)));
    check_memory(first.bytes_max, bytes, failed);

    let mut again = (Ok(None), None);
    let second = measure(|| {
        parser.reset();
        again = read(&mut parser, asked, bytes, cuts, &mut DiscardRows);
    });
    assert_eq!(
        again.0, end.0,
        "a parser that was used before reads otherwise"
    );
    assert_eq!(again.1, end.1);
    assert!(
        second.count_total == 0 || failed || end.0 == Ok(None),
        "it allocates anew for every answer"
    );
    end
}

/// A message that arrives in pieces is copied to memory that doubles, beside which the old is held while it is copied;
/// a prepare's types and columns are kept, in no more bytes than they came in; an error repeats its message, of which
/// a byte that is not UTF-8 takes three, twice over.
fn check_memory(peak_bytes: u64, bytes: &[u8], failed: bool) {
    const SMALLEST_BYTES: usize = 8 + 4 * 4 + 4 * 8;
    let kept = 3 * (3 * bytes.len()) + SMALLEST_BYTES;
    let message = if failed { 12 * bytes.len() + 64 } else { 0 };
    let allowed = (kept + message) as u64;
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
    let whole = read(
        &mut terms.parser(),
        terms.asked,
        bytes,
        WHOLE,
        &mut whole_rows,
    );
    let mut parser = terms.parser();
    let mut rows = collector();
    let end = read(&mut parser, terms.asked, bytes, cuts, &mut rows);
    assert_eq!(end, whole, "the cuts changed the answer");
    assert_eq!(rows.rows(), whole_rows.rows(), "the cuts changed the rows");
    check_that_it_is_over(&mut parser, &end);
    assert!(rows.rows().len() <= wanted, "more rows kept than wanted");
    if let Ok(Some((length, response))) = end.0 {
        assert!(response.rows >= rows.rows().len() as u64);
        assert_eq!(response.bytes, length as u64);
    }
    end
}
