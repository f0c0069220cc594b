//! `tlstax-tools bytes`: slices in which the engine and a bare loop read the same long results in turn.

use std::io::Write;

use serde::{Deserialize, Serialize};
use tlstax_client::{clock, pin_to};
use tlstax_floor::Failure;
use tlstax_load::{ByteRate, ByteSlice, Filling};

/// What is asked for, as one JSON line on standard input.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// Rows of each result.
    rows: usize,
    /// Bytes of the value in each row.
    row_bytes: usize,
    /// How many pairs of slices, of which each has the two in another order than the one before.
    pairs: u32,
    /// How long a slice is, at the least.
    slice_s: f64,
    /// The processors of the server's thread; empty for any.
    server_cpus: Vec<u32>,
    /// The processors of the thread that reads; empty for any.
    client_cpus: Vec<u32>,
}

/// A pair of slices, as one JSON line on standard output.
#[derive(Debug, Serialize)]
struct Pair {
    engine: Side,
    bare: Side,
}

#[derive(Debug, Serialize)]
struct Side {
    results: u64,
    received_bytes: u64,
    elapsed_s: f64,
    reader_cpu_us: f64,
    sender_cpu_us: f64,
}

impl From<ByteSlice> for Side {
    #[allow(clippy::cast_precision_loss)]
    fn from(slice: ByteSlice) -> Self {
        Self {
            results: slice.results,
            received_bytes: slice.received_bytes,
            elapsed_s: slice.elapsed_ns as f64 / 1e9,
            reader_cpu_us: slice.reader_cpu_ns as f64 / 1e3,
            sender_cpu_us: slice.sender_cpu_ns as f64 / 1e3,
        }
    }
}

/// The most that a result may have, which the server keeps in memory.
const MOST_RESULT_BYTES: usize = 256 << 20;
const MOST_ROW_BYTES: usize = 8 << 20;

/// Measures what the line on standard input asks for. Each side has a slice before those that count.
///
/// # Errors
/// A line that asks for what cannot be, or what failed.
pub fn measure() -> Result<(), Failure> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    let asked: Asked =
        serde_json::from_str(&line).map_err(|error| Failure::Refused(error.to_string()))?;
    let whole = asked.rows.saturating_mul(asked.row_bytes);
    let is_possible = asked.rows > 0
        && (1..=MOST_ROW_BYTES).contains(&asked.row_bytes)
        && whole <= MOST_RESULT_BYTES
        && asked.slice_s > 0.0
        && asked.slice_s <= 60.0;
    if !is_possible {
        return Err(Failure::Refused(
            "a result has rows of 1 byte to 8 MiB, at most 256 MiB in all, and a slice lasts up to a minute"
                .into(),
        ));
    }
    pin_to(&asked.server_cpus)?;
    let mut rate = ByteRate::new(Filling {
        rows: asked.rows,
        row_bytes: asked.row_bytes,
    })?;
    pin_to(&asked.client_cpus)?;
    let lasting_ns = clock::nanoseconds(asked.slice_s);
    rate.bare(lasting_ns)?;
    rate.engine(lasting_ns)?;
    for number in 0..asked.pairs {
        let (engine, bare) = if number % 2 == 0 {
            let engine = rate.engine(lasting_ns)?;
            (engine, rate.bare(lasting_ns)?)
        } else {
            let bare = rate.bare(lasting_ns)?;
            (rate.engine(lasting_ns)?, bare)
        };
        say(&Pair {
            engine: engine.into(),
            bare: bare.into(),
        })?;
    }
    Ok(())
}

fn say(pair: &Pair) -> Result<(), Failure> {
    let text = serde_json::to_string(pair).map_err(|error| Failure::Refused(error.to_string()))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()?;
    Ok(())
}
