//! The answer to `COM_STMT_PREPARE` (`COM_STMT_PREPARE_OK`); definitions are passed over.

use crate::capability::Capabilities;
use crate::compression::Algorithm;
use crate::error::{Violation, WireError};
use crate::packet::{Packet, PacketDecoder};
use crate::payload::PayloadReader;
use crate::reply::{ERR_HEADER, OK_HEADER, is_eof, read_err};

const FIRST_ANSWER: u8 = 1;
/// More than anything in an answer to a prepare takes: names have up to 64 characters, messages 512
/// bytes.
const MAX_PAYLOAD: usize = 64 << 10;

/// A statement that the server has prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prepared {
    /// The id to execute and close it by, on this connection.
    pub statement_id: u32,
    /// How many columns its result has; 0 if it returns none.
    pub columns: u16,
    /// How many placeholders it has.
    pub params: u16,
}

/// How far the answer to a prepare has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrepareProgress {
    /// All of the input was taken; more is to come.
    NeedMore,
    /// The answer is complete.
    Complete {
        /// How much of the input belonged to it.
        consumed: usize,
        /// The statement.
        statement: Prepared,
    },
}

/// What is due next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    First,
    Params(u16),
    ParamsEof,
    Columns(u16),
    ColumnsEof,
    Complete,
    Failed,
}

/// Reads the answer to a prepare; to be used again after [`PrepareParser::reset`].
#[derive(Debug)]
pub struct PrepareParser {
    decoder: PacketDecoder,
    machine: Machine,
}

impl PrepareParser {
    /// A parser for a connection that agreed on `capabilities`.
    pub fn new(capabilities: Capabilities) -> Self {
        let mut parser = Self {
            decoder: PacketDecoder::new(MAX_PAYLOAD)
                .within_compressed(Algorithm::agreed(capabilities).is_some()),
            machine: Machine {
                has_eof: !capabilities.contains(Capabilities::DEPRECATE_EOF),
                state: State::First,
                statement: Prepared::default(),
            },
        };
        parser.reset();
        parser
    }

    /// Ready for the next answer.
    pub fn reset(&mut self) {
        self.reset_at(FIRST_ANSWER);
    }

    /// Ready for an answer whose first packet is numbered `sequence`.
    pub fn reset_at(&mut self, sequence: u8) {
        self.decoder.reset(sequence);
        self.machine.state = State::First;
    }

    /// Takes `input`, in pieces of any size.
    ///
    /// # Errors
    /// [`WireError::Server`] if the server cannot prepare the statement (the connection can go on),
    /// or a violation of the protocol.
    pub fn feed(&mut self, input: &[u8]) -> Result<PrepareProgress, WireError> {
        self.advance(input).map_err(|error| {
            self.machine.state = State::Failed;
            error.out_of_turn(self.decoder.was_out_of_turn())
        })
    }

    fn advance(&mut self, input: &[u8]) -> Result<PrepareProgress, WireError> {
        if self.machine.state == State::Failed {
            let what = "PrepareParser::feed after an error, without a reset";
            return Err(WireError::Misuse { what });
        }
        let mut rest = input;
        while self.machine.state != State::Complete {
            let may_skip = |first, length| self.machine.may_skip(first, length);
            match self.decoder.next(&mut rest, may_skip)? {
                None => return Ok(PrepareProgress::NeedMore),
                Some(Packet::Whole(payload)) => self.machine.take(payload)?,
                Some(Packet::Skipped { .. }) => self.machine.take_definition(),
            }
        }
        let consumed = input.len() - rest.len();
        Ok(PrepareProgress::Complete {
            consumed,
            statement: self.machine.statement,
        })
    }
}

#[derive(Debug)]
struct Machine {
    has_eof: bool,
    state: State,
    statement: Prepared,
}

impl Machine {
    fn may_skip(&self, first: u8, length: usize) -> bool {
        let in_definitions = matches!(self.state, State::Params(_) | State::Columns(_));
        in_definitions && first != ERR_HEADER && !is_eof(first, length)
    }

    fn take(&mut self, payload: &[u8]) -> Result<(), WireError> {
        let first = payload.first().copied().unwrap_or_default();
        if first == ERR_HEADER {
            return Err(read_err(payload)?.into());
        }
        match (self.state, is_eof(first, payload.len())) {
            (State::First, false) => self.take_first(payload)?,
            (State::Params(_) | State::Columns(_), false) => self.take_definition(),
            (State::ParamsEof, true) => self.state = self.after_params(),
            (State::ColumnsEof, true) => self.state = State::Complete,
            _ => {
                let packet = "a packet of the answer to a prepare";
                return Err(Violation::UnexpectedByte {
                    packet,
                    byte: first,
                }
                .into());
            }
        }
        Ok(())
    }

    /// Id and counts; a filler byte and the number of warnings follow.
    fn take_first(&mut self, payload: &[u8]) -> Result<(), Violation> {
        let packet = "the answer to a prepare";
        let mut reader = PayloadReader::new(payload, packet);
        match reader.u8()? {
            OK_HEADER => {}
            byte => return Err(Violation::UnexpectedByte { packet, byte }),
        }
        let statement_id = reader.u32()?;
        let columns = reader.u16()?;
        let params = reader.u16()?;
        self.statement = Prepared {
            statement_id,
            columns,
            params,
        };
        self.state = if params > 0 {
            State::Params(params)
        } else {
            self.after_params()
        };
        Ok(())
    }

    fn take_definition(&mut self) {
        self.state = match self.state {
            State::Params(left @ 2..) => State::Params(left - 1),
            State::Params(_) if self.has_eof => State::ParamsEof,
            State::Params(_) => self.after_params(),
            State::Columns(left @ 2..) => State::Columns(left - 1),
            State::Columns(_) if self.has_eof => State::ColumnsEof,
            _ => State::Complete,
        };
    }

    fn after_params(&self) -> State {
        match self.statement.columns {
            0 => State::Complete,
            columns => State::Columns(columns),
        }
    }
}
