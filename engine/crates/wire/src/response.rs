//! The answer to a statement: OK, ERR or result sets, in text or binary, read as the bytes arrive.

use crate::capability::{Capabilities, Status};
use crate::compression::Algorithm;
use crate::error::{Violation, WireError};
use crate::packet::{DEFAULT_MAX_PAYLOAD, FULL_PACKET_LEN, Packet, PacketDecoder};
use crate::payload::PayloadReader;
use crate::reply::{
    EOF_HEADER, ERR_HEADER, OK_HEADER, Outcome, is_eof, read_eof, read_err, read_ok,
};
use crate::row::{Column, Row, RowFormat, RowSink};

const FIRST_ANSWER: u8 = 1;
const LOCAL_INFILE_HEADER: u8 = 0xfb;
/// As many as a prepared statement can say; servers allow 4096.
const MAX_COLUMNS: u64 = 0xffff;

/// More than anything in an answer takes but a row: names have up to 64 characters, messages 512
/// bytes.
const MAX_SMALL_PAYLOAD: usize = 64 << 10;

/// What a complete answer said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Response {
    /// Rows of all result sets together.
    pub rows: u64,
    /// How many result sets there were.
    pub result_sets: u64,
    /// Rows changed, over all OK packets.
    pub affected_rows: u64,
    /// The last OK packet's last insert id.
    pub last_insert_id: u64,
    /// The status flags of the end.
    pub status: Status,
    /// The number of warnings of the last result.
    pub warnings: u16,
}

/// How far an answer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All of the input was taken; more is to come.
    NeedMore,
    /// The answer is complete, and the connection free for the next command.
    Complete {
        /// How much of the input belonged to it; a server sends nothing after it unasked.
        consumed: usize,
        /// What it said.
        response: Response,
    },
}

/// What is due next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A result's first packet.
    First,
    /// N column definitions.
    Columns(u64),
    /// The EOF after them.
    ColumnsEof,
    /// A row, or what ends the rows.
    Rows,
    Complete,
    Failed,
}

/// Reads the answers to statements; to be used again after [`ResponseParser::reset`], without
/// allocating.
///
/// It takes every byte it is given, so the caller need not keep any: rows are counted, and passed
/// over where they lie, whatever their length. Only a packet that has to be read and arrives in
/// pieces is copied.
#[derive(Debug)]
pub struct ResponseParser {
    decoder: PacketDecoder,
    machine: Machine,
    unread_bytes: usize,
}

impl ResponseParser {
    /// A parser for answers to `COM_QUERY`, on a connection that agreed on `capabilities`. Answers
    /// to `COM_PING` and `COM_RESET_CONNECTION` are read so too.
    pub fn text(capabilities: Capabilities) -> Self {
        Self::new(RowFormat::Text, capabilities)
    }

    /// A parser for answers to `COM_STMT_EXECUTE`.
    pub fn binary(capabilities: Capabilities) -> Self {
        Self::new(RowFormat::Binary, capabilities)
    }

    fn new(format: RowFormat, capabilities: Capabilities) -> Self {
        let machine = Machine::new(format, capabilities);
        Self {
            decoder: decoder(DEFAULT_MAX_PAYLOAD, machine.compressed),
            machine,
            unread_bytes: 0,
        }
    }

    /// The same with another limit for one packet's payload than [`DEFAULT_MAX_PAYLOAD`].
    #[must_use]
    pub fn with_max_payload(mut self, max_payload_bytes: usize) -> Self {
        self.decoder = decoder(max_payload_bytes, self.machine.compressed);
        self
    }

    /// Ready for the next answer.
    #[inline]
    pub fn reset(&mut self) {
        self.reset_at(FIRST_ANSWER);
    }

    /// Ready for an answer whose first packet is numbered `sequence`, as the functions of
    /// [`crate::command`] return it.
    pub fn reset_at(&mut self, sequence: u8) {
        self.decoder.reset(sequence);
        self.machine.reset();
    }

    /// Takes `input`, in pieces of any size; rows that `sink` wants go there.
    ///
    /// # Errors
    /// [`WireError::Server`] if the server answered with ERR: the answer is complete, and the
    /// connection goes on if [`WireError::leaves_connection_usable`]. After any other error it
    /// does not.
    pub fn feed<S: RowSink + ?Sized>(
        &mut self,
        input: &[u8],
        sink: &mut S,
    ) -> Result<Progress, WireError> {
        let mut rest = input;
        let complete = self.advance(&mut rest, sink).map_err(|error| {
            self.machine.state = State::Failed;
            self.unread_bytes = rest.len();
            error.out_of_turn(self.decoder.was_out_of_turn())
        })?;
        if !complete {
            return Ok(Progress::NeedMore);
        }
        Ok(Progress::Complete {
            consumed: input.len() - rest.len(),
            response: self.machine.response,
        })
    }

    /// After an error: how many bytes there were behind the packet that told of it. A server sends
    /// none unasked.
    pub fn unread_bytes(&self) -> usize {
        self.unread_bytes
    }

    /// Takes packets off `rest` until the answer is complete; whether it is.
    fn advance<S: RowSink + ?Sized>(
        &mut self,
        rest: &mut &[u8],
        sink: &mut S,
    ) -> Result<bool, WireError> {
        let Self {
            decoder, machine, ..
        } = self;
        if machine.state == State::Failed {
            let what = "ResponseParser::feed after an error, without a reset";
            return Err(WireError::Misuse { what });
        }
        while machine.state != State::Complete {
            let may_skip = |first, length| machine.may_skip(first, length, sink);
            match decoder.next(rest, may_skip)? {
                None => return Ok(false),
                Some(Packet::Whole(payload)) => machine.take(payload, sink)?,
                Some(Packet::Skipped { first, length }) => machine.pass_over(first, length)?,
            }
        }
        Ok(true)
    }
}

fn decoder(max_payload: usize, compressed: bool) -> PacketDecoder {
    let mut decoder = PacketDecoder::new(max_payload).within_compressed(compressed);
    decoder.reset(FIRST_ANSWER);
    decoder
}

/// The states of an answer and what each packet does to them.
#[derive(Debug)]
struct Machine {
    format: RowFormat,
    deprecate_eof: bool,
    compressed: bool,
    state: State,
    collecting: bool,
    columns: Vec<Column>,
    response: Response,
}

impl Machine {
    fn new(format: RowFormat, capabilities: Capabilities) -> Self {
        Self {
            format,
            deprecate_eof: capabilities.contains(Capabilities::DEPRECATE_EOF),
            compressed: Algorithm::agreed(capabilities).is_some(),
            state: State::First,
            collecting: false,
            columns: Vec::new(),
            response: Response::default(),
        }
    }

    fn reset(&mut self) {
        self.state = State::First;
        self.response = Response::default();
    }

    /// Whether a payload that begins with `first`, in a first packet of `length` bytes, need not
    /// be kept. One that is too long is not, and is refused when it is whole.
    fn may_skip<S: RowSink + ?Sized>(&self, first: u8, length: usize, sink: &S) -> bool {
        match self.state {
            State::Rows if self.is_row(first, length) => !(self.collecting && sink.wants_row()),
            _ if length > MAX_SMALL_PAYLOAD => true,
            State::Columns(_) => !self.collecting && first != ERR_HEADER,
            _ => false,
        }
    }

    /// Counts a packet that was not kept.
    fn pass_over(&mut self, first: u8, length: usize) -> Result<(), WireError> {
        match self.state {
            State::Rows if self.is_row(first, length) => self.response.rows += 1,
            State::Columns(left) => {
                check_small(length)?;
                self.state = self.after_column(left);
            }
            _ => check_small(length)?,
        }
        Ok(())
    }

    fn take<S: RowSink + ?Sized>(&mut self, payload: &[u8], sink: &mut S) -> Result<(), WireError> {
        let Some(&first) = payload.first() else {
            return Err(Violation::Truncated {
                packet: "a packet of the answer",
            }
            .into());
        };
        if self.state == State::Rows && self.is_row(first, payload.len()) {
            return self.take_row(payload, sink);
        }
        check_small(payload.len())?;
        if first == ERR_HEADER {
            return Err(read_err(payload)?.into());
        }
        match self.state {
            State::Rows => self.end_rows(payload),
            State::First => self.take_first(first, payload, sink),
            State::Columns(left) => self.take_column(left, payload),
            _ => self.take_columns_eof(first, payload),
        }
    }

    fn take_first<S: RowSink + ?Sized>(
        &mut self,
        first: u8,
        payload: &[u8],
        sink: &S,
    ) -> Result<(), WireError> {
        match first {
            OK_HEADER => {
                let outcome = read_ok(payload)?;
                self.finish_result(outcome);
            }
            LOCAL_INFILE_HEADER => return Err(Violation::LocalInfile.into()),
            _ => {
                let mut reader = PayloadReader::new(payload, "a column count");
                let count = reader.lenenc_int()?;
                reader.finish()?;
                if count == 0 || count > MAX_COLUMNS {
                    return Err(Violation::ColumnCount(count).into());
                }
                self.collecting = sink.wants_row();
                self.columns.clear();
                self.response.result_sets += 1;
                self.state = State::Columns(count);
            }
        }
        Ok(())
    }

    fn take_column(&mut self, left: u64, payload: &[u8]) -> Result<(), WireError> {
        if self.collecting {
            self.columns.push(Column::parse(payload)?);
        }
        self.state = self.after_column(left);
        Ok(())
    }

    fn after_column(&self, left: u64) -> State {
        match left {
            2.. => State::Columns(left - 1),
            _ if self.deprecate_eof => State::Rows,
            _ => State::ColumnsEof,
        }
    }

    fn take_columns_eof(&mut self, first: u8, payload: &[u8]) -> Result<(), WireError> {
        if !is_eof(first, payload.len()) {
            let packet = "the end of the column definitions";
            return Err(Violation::UnexpectedByte {
                packet,
                byte: first,
            }
            .into());
        }
        self.state = State::Rows;
        Ok(())
    }

    /// Going by the first byte and the first packet's length. A text row may begin with the
    /// terminator's byte too, but then its first value has 2^24 bytes or more; a binary row begins
    /// with zero.
    fn is_row(&self, first: u8, length: usize) -> bool {
        first != ERR_HEADER
            && (first != EOF_HEADER
                || if self.deprecate_eof {
                    length >= FULL_PACKET_LEN
                } else {
                    !is_eof(first, length)
                })
    }

    #[inline]
    fn take_row<S: RowSink + ?Sized>(
        &mut self,
        payload: &[u8],
        sink: &mut S,
    ) -> Result<(), WireError> {
        if self.collecting && sink.wants_row() {
            sink.row(Row {
                payload,
                columns: &self.columns,
                format: self.format,
            })?;
        }
        self.response.rows += 1;
        Ok(())
    }

    fn end_rows(&mut self, payload: &[u8]) -> Result<(), WireError> {
        let outcome = if self.deprecate_eof {
            read_ok(payload)?
        } else {
            read_eof(payload)?
        };
        self.finish_result(outcome);
        Ok(())
    }

    fn finish_result(&mut self, outcome: Outcome) {
        let response = &mut self.response;
        response.affected_rows = response.affected_rows.saturating_add(outcome.affected_rows);
        response.last_insert_id = outcome.last_insert_id;
        response.status = outcome.status;
        response.warnings = outcome.warnings;
        let more = outcome.status.contains(Status::MORE_RESULTS);
        self.state = if more { State::First } else { State::Complete };
    }
}

fn check_small(length_bytes: usize) -> Result<(), WireError> {
    let limit_bytes = MAX_SMALL_PAYLOAD;
    if length_bytes > limit_bytes {
        return Err(WireError::PacketTooLarge {
            length_bytes,
            limit_bytes,
        });
    }
    Ok(())
}
