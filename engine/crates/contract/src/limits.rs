//! The most that a job may ask for: what is beyond is a slip of the pen, and no sum of it overflows.

/// More operations a second than any client can start.
pub const HIGHEST_RATE_PER_S: f64 = 10_000_000.0;

/// A year: nanoseconds of several such spans added to a clock's reading fit 64 bits.
pub const LONGEST_S: f64 = 365.0 * 24.0 * 3600.0;

/// About as many as Linux lets a process have files open, unless it is told otherwise (proc(5),
/// `fs.nr_open`).
pub const MOST_CONNECTIONS: u32 = 1_000_000;

/// Parameters of one statement or transaction: several times as many as a person writes, and few enough
/// to be looked through for each.
pub const MOST_PARAMETERS: usize = 1000;

/// How many offsets may follow one from another.
pub const LONGEST_CHAIN: usize = 100;
