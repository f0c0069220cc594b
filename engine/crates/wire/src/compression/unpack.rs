//! Compressed packets into packets, however the bytes arrive and however little room there is for them.

use std::fmt;

use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder, Operation};

use super::{Algorithm, HEADER_LEN};
use crate::error::{Violation, WireError};

/// The window that a frame may ask for, as a power of two: no compressed packet stands for more than 16 MiB.
const MOST_WINDOW_LOG: u32 = 24;

enum Codec {
    Zlib(Box<Decompress>),
    Zstd(Decoder<'static>),
}

/// What one step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unpacked {
    /// How much of the input was taken.
    pub taken: usize,
    /// How much of the output was filled.
    pub given: usize,
}

/// What of the current compressed packet is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its header.
    Header,
    /// N bytes that are not compressed.
    Plain { left: usize },
    /// A stream of N bytes, which stands for M.
    Compressed { packed: usize, plain: usize },
}

/// Reads one connection's compressed packets as a stream, of which it keeps no more than the window of the
/// compression: 32 KiB of zlib, and of zstd what a frame says, at most the 16 MiB of a compressed packet.
pub struct Unpacker {
    codec: Codec,
    due: u8,
    header: [u8; HEADER_LEN],
    header_filled: usize,
    state: State,
}

impl Unpacker {
    /// One for a connection that agreed on `algorithm`.
    ///
    /// # Errors
    /// [`WireError::Compressor`] where there is no memory for it.
    pub fn new(algorithm: Algorithm) -> Result<Self, WireError> {
        let codec = match algorithm {
            Algorithm::Zlib => Codec::Zlib(Box::new(Decompress::new(true))),
            Algorithm::Zstd => {
                let mut zstd = Decoder::new().map_err(|_| WireError::Compressor)?;
                zstd.set_parameter(DParameter::WindowLogMax(MOST_WINDOW_LOG))
                    .map_err(|_| WireError::Compressor)?;
                Codec::Zstd(zstd)
            }
        };
        Ok(Self {
            codec,
            due: 0,
            header: [0; HEADER_LEN],
            header_filled: 0,
            state: State::Header,
        })
    }

    /// A command was sent: the answer's first compressed packet is numbered `sequence`.
    pub fn expect(&mut self, sequence: u8) {
        self.due = sequence;
    }

    /// Takes bytes from the front of `input` and fills `output` from its front, until one of them is used
    /// up. Some may be left to be given of an input that is used up, if all of the output was filled.
    ///
    /// # Errors
    /// A [`Violation`] where a packet has another number than is due, or does not hold what its header
    /// says.
    pub fn unpack(&mut self, input: &[u8], output: &mut [u8]) -> Result<Unpacked, WireError> {
        let (mut taken, mut given) = (0, 0);
        loop {
            let (rest, room) = (&input[taken..], &mut output[given..]);
            let step = match self.state {
                State::Header => {
                    let now = self.take_header(rest)?;
                    taken += now;
                    if self.state == State::Header {
                        return Ok(Unpacked { taken, given });
                    }
                    continue;
                }
                State::Plain { left } => {
                    let now = left.min(rest.len()).min(room.len());
                    room[..now].copy_from_slice(&rest[..now]);
                    self.state = State::Plain { left: left - now };
                    Unpacked {
                        taken: now,
                        given: now,
                    }
                }
                State::Compressed { packed, plain } => self.inflate(packed, plain, rest, room)?,
            };
            taken += step.taken;
            given += step.given;
            if let State::Plain { left: 0 }
            | State::Compressed {
                packed: 0,
                plain: 0,
            } = self.state
            {
                self.state = State::Header;
            } else if step.taken == 0 && step.given == 0 {
                return Ok(Unpacked { taken, given });
            }
        }
    }

    /// Takes header bytes; the state is another when all seven are there.
    fn take_header(&mut self, input: &[u8]) -> Result<usize, WireError> {
        let now = (HEADER_LEN - self.header_filled).min(input.len());
        let end = self.header_filled + now;
        self.header[self.header_filled..end].copy_from_slice(&input[..now]);
        self.header_filled = end;
        if end < HEADER_LEN {
            return Ok(now);
        }
        self.header_filled = 0;
        let [low, middle, high, got, plain @ ..] = self.header;
        let (packed, plain) = (length([low, middle, high]), length(plain));
        // Servers number from 0 what they say unasked, such as that they are closing the connection.
        if got != self.due && got != 0 {
            let expected = self.due;
            return Err(Violation::OutOfSequence { expected, got }.into());
        }
        self.due = got.wrapping_add(1);
        if packed == 0 {
            return Err(Violation::Compressed("is empty").into());
        }
        self.state = if plain == 0 {
            State::Plain { left: packed }
        } else {
            self.begin_stream()?;
            State::Compressed { packed, plain }
        };
        Ok(now)
    }

    fn begin_stream(&mut self) -> Result<(), WireError> {
        match &mut self.codec {
            Codec::Zlib(zlib) => {
                zlib.reset(true);
                Ok(())
            }
            Codec::Zstd(zstd) => zstd.reinit().map_err(|_| WireError::Compressor),
        }
    }

    /// Decompresses what there is input and room for.
    fn inflate(
        &mut self,
        packed: usize,
        plain: usize,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<Unpacked, WireError> {
        let input = &input[..packed.min(input.len())];
        let room = plain.min(output.len());
        let (step, ended) = self.codec.run(input, &mut output[..room])?;
        let (packed, plain) = (packed - step.taken, plain - step.given);
        if ended && (packed > 0 || plain > 0) {
            return Err(Violation::Compressed("ends before its length").into());
        }
        // A stream that gave all that it stands for may still have its checksum to come; one that stands
        // for more gives nothing at this point, having neither room nor input.
        let stuck = step.taken == 0 && step.given == 0;
        if !ended && stuck && ((packed == 0 && room > 0) || (plain == 0 && !input.is_empty())) {
            return Err(Violation::Compressed("does not end at its length").into());
        }
        self.state = if ended {
            State::Compressed {
                packed: 0,
                plain: 0,
            }
        } else if packed == 0 && plain == 0 {
            return Err(Violation::Compressed("does not end at its length").into());
        } else {
            State::Compressed { packed, plain }
        };
        Ok(step)
    }
}

impl Codec {
    /// Moves on by what there is input and room for; whether the stream is at its end.
    fn run(&mut self, input: &[u8], output: &mut [u8]) -> Result<(Unpacked, bool), Violation> {
        match self {
            Self::Zlib(zlib) => {
                let before = (zlib.total_in(), zlib.total_out());
                let status = zlib
                    .decompress(input, output, FlushDecompress::None)
                    .map_err(|_| Violation::Compressed("is not of zlib's format"))?;
                let moved = |now: u64, before: u64| usize::try_from(now - before).unwrap_or(0);
                let step = Unpacked {
                    taken: moved(zlib.total_in(), before.0),
                    given: moved(zlib.total_out(), before.1),
                };
                Ok((step, status == Status::StreamEnd))
            }
            Self::Zstd(zstd) => {
                let status = zstd
                    .run_on_buffers(input, output)
                    .map_err(|_| Violation::Compressed("is not of zstd's format"))?;
                let step = Unpacked {
                    taken: status.bytes_read,
                    given: status.bytes_written,
                };
                let moved = step.taken > 0 || step.given > 0;
                Ok((step, status.remaining == 0 && moved))
            }
        }
    }
}

impl fmt::Debug for Unpacker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Unpacker")
            .field("due", &self.due)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

fn length([low, middle, high]: [u8; 3]) -> usize {
    usize::from(low) | (usize::from(middle) << 8) | (usize::from(high) << 16)
}
