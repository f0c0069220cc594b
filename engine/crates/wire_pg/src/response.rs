//! The answer to a command, read as the bytes arrive: rows, counts or an error, and at its end `ReadyForQuery`.

use crate::error::{Violation, WireError};
use crate::message::{DEFAULT_MAX_MESSAGE, Message, MessageDecoder, Reader, check_length};
use crate::row::{Column, Format, Row, RowSink};
use crate::server_error::ServerError;

/// More than anything in an answer takes but rows, notices and errors: a description of 1664 columns, the most that
/// a server has, with names of 63 bytes.
const MAX_SMALL_MESSAGE: usize = 160 << 10;
/// An error repeats the statement that it is about, in part.
const MAX_ERROR: usize = 1 << 20;

/// What the client asked for, and so what is due; the functions of [`crate::command`] return it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Asked {
    /// [`crate::command::query`].
    Query,
    /// [`crate::command::prepare`].
    Prepare,
    /// [`crate::command::execute`].
    Execute {
        /// Whether the rows are described.
        described: bool,
        /// How values come.
        results: Format,
    },
    /// [`crate::command::run`].
    Run,
    /// [`crate::command::close`].
    Close,
}

/// What a session is in (`ReadyForQuery`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TransactionStatus {
    /// No transaction.
    #[default]
    Idle,
    /// A transaction.
    InTransaction,
    /// A transaction that has failed: only its end is accepted.
    Failed,
}

impl TransactionStatus {
    /// Reads a `ReadyForQuery`.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Violation> {
        let message = "a ReadyForQuery";
        let mut reader = Reader::new(body, message);
        let status = match reader.u8()? {
            b'I' => Self::Idle,
            b'T' => Self::InTransaction,
            b'E' => Self::Failed,
            byte => {
                let value = u32::from(byte);
                return Err(Violation::UnknownValue { message, value });
            }
        };
        reader.finish()?;
        Ok(status)
    }
}

/// What a complete answer said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Response {
    /// Rows of all results together.
    pub rows: u64,
    /// How many results there were that can have rows.
    pub result_sets: u64,
    /// Rows changed by INSERT, UPDATE, DELETE and MERGE, over all statements.
    pub affected_rows: u64,
    /// How long the answer was, everything in it counted.
    pub bytes: u64,
    /// Notices, changed parameters and notifications that came with it.
    pub notices: u64,
    /// Whether there are more rows than were asked for.
    pub is_suspended: bool,
    /// What the session is in now.
    pub transaction: TransactionStatus,
}

/// How far an answer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All of the input was taken; more is to come.
    NeedMore,
    /// The answer is complete, and the connection free for the next command.
    Complete {
        /// How much of the input belonged to it; the rest, as a rule nothing, is [`ResponseParser::idle`]'s.
        consumed: usize,
        /// What it said.
        response: Response,
    },
}

/// Reads the answers on one connection, without allocating once its buffers have grown.
///
/// It takes every byte it is given, so the caller need not keep any: rows are counted, and passed over where they
/// lie, whatever their length. Only a message that has to be read and arrives in pieces is copied.
#[derive(Debug)]
pub struct ResponseParser {
    decoder: MessageDecoder,
    machine: Machine,
    unread_bytes: usize,
}

impl Default for ResponseParser {
    fn default() -> Self {
        Self::new()
    }
}

impl ResponseParser {
    /// A parser for a connection on which nothing was asked yet.
    pub fn new() -> Self {
        Self {
            decoder: MessageDecoder::new(DEFAULT_MAX_MESSAGE),
            machine: Machine::default(),
            unread_bytes: 0,
        }
    }

    /// The same with another limit for one message than [`DEFAULT_MAX_MESSAGE`].
    #[must_use]
    pub fn with_max_message(mut self, max_message_bytes: usize) -> Self {
        self.decoder = MessageDecoder::new(max_message_bytes);
        self
    }

    /// Ready for another connection. Memory is kept.
    pub fn reset(&mut self) {
        self.decoder.reset();
        self.machine.reset();
    }

    /// Ready for the answer to a command, once the last one's is complete.
    #[inline]
    pub fn begin(&mut self, asked: Asked) {
        self.machine.begin(asked);
    }

    /// What the session is in, as of the last `ReadyForQuery`; idle before.
    pub fn transaction(&self) -> TransactionStatus {
        self.machine.response.transaction
    }

    /// The types of the placeholders of the statement that was prepared last (OIDs).
    pub fn parameter_types(&self) -> &[u32] {
        &self.machine.parameter_types
    }

    /// The columns of the last result that was described and had to be read: that of a prepare, or one whose rows
    /// were wanted. Empty if it has no rows.
    pub fn columns(&self) -> &[Column] {
        &self.machine.columns
    }

    /// Takes `input`, in pieces of any size; rows that `sink` wants go there.
    ///
    /// # Errors
    /// [`WireError::Server`] if the server answered with an error: the answer is complete, and the connection goes
    /// on if [`WireError::leaves_connection_usable`]; it comes out when `ReadyForQuery` says so. After any other
    /// error the connection does not go on.
    #[inline]
    pub fn feed<S: RowSink + ?Sized>(
        &mut self,
        input: &[u8],
        sink: &mut S,
    ) -> Result<Progress, WireError> {
        if !self.machine.is_answering() {
            let what = "ResponseParser::feed when nothing was asked; there is ResponseParser::idle for that";
            return Err(WireError::Misuse { what });
        }
        let mut rest = input;
        let advanced = self.advance(&mut rest, sink);
        let taken = input.len() - rest.len();
        match advanced {
            Ok(is_complete) => {
                self.machine.response.bytes += taken as u64;
                if is_complete {
                    return self.finish(taken, rest.len());
                }
                Ok(Progress::NeedMore)
            }
            Err(error) => {
                self.machine.due = Due::Failed;
                self.unread_bytes = rest.len();
                Err(error)
            }
        }
    }

    /// The answer at its `ReadyForQuery`: what it said, or its error.
    fn finish(&mut self, consumed: usize, unread_bytes: usize) -> Result<Progress, WireError> {
        self.machine.due = Due::Nothing;
        if let Some(error) = self.machine.error.take() {
            self.unread_bytes = unread_bytes;
            return Err(error.into());
        }
        Ok(Progress::Complete {
            consumed,
            response: self.machine.response,
        })
    }

    /// After an error: how many bytes there were behind what told of it. They are [`ResponseParser::idle`]'s.
    pub fn unread_bytes(&self) -> usize {
        self.unread_bytes
    }

    /// Takes what came when nothing was asked, or behind an answer. A server may send notices, changed parameters
    /// and notifications at any time.
    ///
    /// # Errors
    /// [`WireError::Server`] if the server closes the connection, and says why; a violation for anything else.
    pub fn idle(&mut self, input: &[u8]) -> Result<(), WireError> {
        if self.machine.due != Due::Nothing {
            let what =
                "ResponseParser::idle while an answer is due, or after the connection failed";
            return Err(WireError::Misuse { what });
        }
        let mut rest = input;
        let advanced = self.advance(&mut rest, &mut crate::row::DiscardRows);
        advanced.map(drop).map_err(|error| {
            self.machine.due = Due::Failed;
            self.unread_bytes = rest.len();
            match error {
                WireError::Server(error) => ServerError {
                    unasked: true,
                    ..error
                }
                .into(),
                error => error,
            }
        })
    }

    /// Takes messages off `rest` until the answer is complete; whether it is.
    #[inline]
    fn advance<S: RowSink + ?Sized>(
        &mut self,
        rest: &mut &[u8],
        sink: &mut S,
    ) -> Result<bool, WireError> {
        let Self {
            decoder, machine, ..
        } = self;
        while machine.due != Due::Complete {
            let admit = |kind, length| machine.admit(kind, length, sink);
            match decoder.next(rest, admit)? {
                None => return Ok(false),
                Some(Message::Whole { kind, body }) => machine.take(kind, body, sink)?,
                Some(Message::Skipped { kind }) => machine.pass_over(kind),
            }
        }
        Ok(true)
    }
}

/// What is due next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Due {
    /// Nothing was asked.
    #[default]
    Nothing,
    ParseComplete,
    BindComplete,
    CloseComplete,
    ParameterDescription,
    /// `RowDescription`, or `NoData`.
    Description,
    /// The first result of a `Query`, or its end where it has none.
    FirstResult,
    /// Rows of a `Query`, or their end.
    QueryRows,
    /// Another result of a `Query`, or the end.
    NextResult,
    /// Rows of an `Execute`, or their end.
    Rows,
    /// The end of an `Execute` that has no rows.
    Completion,
    /// The end of the answer.
    Ready,
    Complete,
    Failed,
}

impl Due {
    /// For people.
    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::ParseComplete => "ParseComplete",
            Self::BindComplete => "BindComplete",
            Self::CloseComplete => "CloseComplete",
            Self::ParameterDescription => "ParameterDescription",
            Self::Description => "RowDescription or NoData",
            Self::FirstResult => "a result",
            Self::QueryRows | Self::Rows => "a row or the end of the rows",
            Self::NextResult => "a result or ReadyForQuery",
            Self::Completion => "CommandComplete",
            Self::Ready | Self::Complete | Self::Failed => "ReadyForQuery",
        }
    }
}

/// The states of an answer and what each message does to them.
#[derive(Debug)]
struct Machine {
    asked: Asked,
    due: Due,
    error: Option<ServerError>,
    /// Whether rows of the result at hand were wanted when it began.
    is_collecting: bool,
    /// Whether `columns` are those of the result at hand.
    is_described: bool,
    columns: Vec<Column>,
    parameter_types: Vec<u32>,
    response: Response,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            asked: Asked::Query,
            due: Due::Nothing,
            error: None,
            is_collecting: false,
            is_described: false,
            columns: Vec::new(),
            parameter_types: Vec::new(),
            response: Response::default(),
        }
    }
}

impl Machine {
    fn reset(&mut self) {
        self.due = Due::Nothing;
        self.error = None;
        self.response = Response::default();
    }

    /// A connection that failed stays so.
    #[inline]
    fn begin(&mut self, asked: Asked) {
        self.asked = asked;
        self.error = None;
        self.is_described = false;
        if asked == Asked::Prepare {
            self.parameter_types.clear();
            self.columns.clear();
        }
        self.response = Response {
            transaction: self.response.transaction,
            ..Response::default()
        };
        if self.due != Due::Failed {
            self.due = match asked {
                Asked::Query => Due::FirstResult,
                Asked::Prepare | Asked::Run => Due::ParseComplete,
                Asked::Execute { .. } => Due::BindComplete,
                Asked::Close => Due::CloseComplete,
            };
        }
    }

    fn is_answering(&self) -> bool {
        !matches!(self.due, Due::Nothing | Due::Failed)
    }

    /// Whether a message's body is wanted, if it has a place here.
    #[inline]
    fn admit<S: RowSink + ?Sized>(
        &self,
        kind: u8,
        length: usize,
        sink: &S,
    ) -> Result<bool, WireError> {
        match kind {
            b'D' if matches!(self.due, Due::Rows | Due::QueryRows) => {
                return Ok(self.is_wanted(sink));
            }
            // Notices, parameters and notifications may come at any time.
            b'N' | b'S' | b'A' => return Ok(false),
            b'E' => check_length(kind, length, MAX_ERROR)?,
            b'G' | b'H' | b'W' if self.is_answering() => return Err(WireError::Copy),
            _ if !self.has_place(kind) => return Err(self.misplaced(kind)),
            _ => check_length(kind, length, MAX_SMALL_MESSAGE)?,
        }
        Ok(kind != b'T' || self.asked == Asked::Prepare || sink.wants_row())
    }

    /// Whether a message of that type can come now.
    #[inline]
    fn has_place(&self, kind: u8) -> bool {
        match self.due {
            Due::ParseComplete => kind == b'1',
            Due::BindComplete => kind == b'2',
            Due::CloseComplete => kind == b'3',
            Due::ParameterDescription => kind == b't',
            Due::Description => matches!(kind, b'T' | b'n'),
            Due::FirstResult => matches!(kind, b'T' | b'C' | b'I'),
            Due::NextResult => matches!(kind, b'T' | b'C' | b'I' | b'Z'),
            Due::QueryRows => kind == b'C',
            Due::Rows => matches!(kind, b'C' | b'I' | b's'),
            Due::Completion => matches!(kind, b'C' | b'I'),
            Due::Ready => kind == b'Z',
            Due::Nothing | Due::Complete | Due::Failed => false,
        }
    }

    fn misplaced(&self, kind: u8) -> WireError {
        let due = self.due.name();
        Violation::UnexpectedMessage { kind, due }.into()
    }

    /// Whether the next row is wanted. The rows of an `Execute` that describes nothing begin with no message of
    /// their own.
    #[inline]
    fn is_wanted<S: RowSink + ?Sized>(&self, sink: &S) -> bool {
        let was_wanted = self.is_collecting || self.undescribed().is_some();
        was_wanted && sink.wants_row()
    }

    /// How values come of an `Execute` that describes nothing.
    #[inline]
    fn undescribed(&self) -> Option<Format> {
        match self.asked {
            Asked::Execute {
                described: false,
                results,
            } => Some(results),
            _ => None,
        }
    }

    /// Counts a message whose body was not wanted.
    #[inline]
    fn pass_over(&mut self, kind: u8) {
        match kind {
            b'D' => self.response.rows += 1,
            b'T' => self.begin_rows(false),
            _ => self.response.notices += 1,
        }
    }

    /// Takes a message that was admitted.
    #[inline]
    fn take<S: RowSink + ?Sized>(
        &mut self,
        kind: u8,
        body: &[u8],
        sink: &mut S,
    ) -> Result<(), WireError> {
        match kind {
            b'D' => {
                sink.row(Row {
                    body,
                    columns: self.is_described.then_some(&self.columns[..]),
                    results: self.undescribed().unwrap_or_default(),
                })?;
                self.response.rows += 1;
            }
            b'C' => self.complete(body)?,
            b'Z' => {
                self.response.transaction = TransactionStatus::read(body)?;
                self.due = Due::Complete;
            }
            b'T' => {
                Column::read_all(body, &mut self.columns)?;
                self.is_described = true;
                self.begin_rows(true);
            }
            b't' => self.take_parameter_types(body)?,
            b'E' => {
                let error = ServerError::read(body)?;
                if error.closes_connection() || self.due == Due::Nothing {
                    return Err(error.into());
                }
                self.error.get_or_insert(error);
                self.due = Due::Ready;
            }
            _ => {
                Reader::new(body, "a message without a body").finish()?;
                self.take_bodiless(kind);
            }
        }
        Ok(())
    }

    fn take_bodiless(&mut self, kind: u8) {
        self.due = match kind {
            b'1' if self.asked == Asked::Prepare => Due::ParameterDescription,
            b'1' => Due::BindComplete,
            b'2' if self.undescribed().is_some() => Due::Rows,
            b'2' => Due::Description,
            b'n' => {
                self.columns.clear();
                if self.asked == Asked::Prepare {
                    Due::Ready
                } else {
                    Due::Completion
                }
            }
            b's' => {
                self.response.is_suspended = true;
                self.count_undescribed(true);
                Due::Ready
            }
            // An empty query, or the end of a close.
            _ => self.after_result(),
        };
    }

    /// A result was described: its rows follow, unless it is a prepare's.
    fn begin_rows(&mut self, is_collecting: bool) {
        self.due = match self.asked {
            Asked::Prepare => Due::Ready,
            Asked::Query => Due::QueryRows,
            _ => Due::Rows,
        };
        self.is_collecting = is_collecting;
        self.response.result_sets += u64::from(self.asked != Asked::Prepare);
    }

    fn after_result(&mut self) -> Due {
        self.is_collecting = false;
        if self.asked == Asked::Query {
            Due::NextResult
        } else {
            Due::Ready
        }
    }

    fn take_parameter_types(&mut self, body: &[u8]) -> Result<(), Violation> {
        let mut reader = Reader::new(body, "a ParameterDescription");
        self.parameter_types.clear();
        for _ in 0..reader.u16()? {
            self.parameter_types.push(reader.u32()?);
        }
        self.due = Due::Description;
        reader.finish()
    }

    /// `CommandComplete`: a tag such as `INSERT 0 5`.
    #[inline]
    fn complete(&mut self, body: &[u8]) -> Result<(), Violation> {
        let mut reader = Reader::new(body, "a CommandComplete");
        let tag = reader.text()?;
        reader.finish()?;
        let can_have_rows = tag.starts_with(b"SELECT ");
        if !can_have_rows && CHANGES.iter().any(|verb| tag.starts_with(verb)) {
            let affected = &mut self.response.affected_rows;
            *affected = affected.saturating_add(last_number(tag));
        }
        self.count_undescribed(can_have_rows);
        self.due = self.after_result();
        Ok(())
    }

    /// Counts a result that nothing described: what has rows, or says that it can have.
    #[inline]
    fn count_undescribed(&mut self, can_have_rows: bool) {
        if self.undescribed().is_some() && (can_have_rows || self.response.rows > 0) {
            self.response.result_sets = 1;
        }
    }
}

/// What changes rows, as it stands in a tag before their number.
const CHANGES: [&[u8]; 4] = [b"INSERT ", b"UPDATE ", b"DELETE ", b"MERGE "];

/// The number at the end of a tag; 0 where there is none.
#[inline]
fn last_number(tag: &[u8]) -> u64 {
    let digits = tag.rsplit(|&byte| byte == b' ').next().unwrap_or_default();
    digits.iter().fold(0, |number: u64, byte| match byte {
        b'0'..=b'9' => number
            .saturating_mul(10)
            .saturating_add(u64::from(byte - b'0')),
        _ => 0,
    })
}
