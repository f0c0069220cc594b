//! The floor as a program, and beside it what measures the least that a long result takes.

#![forbid(unsafe_code)]

mod bytes;

use std::process::ExitCode;

fn main() -> ExitCode {
    tlstax_floor::exit(match std::env::args().nth(1).as_deref() {
        Some("bytes") => bytes::measure(),
        _ => tlstax_floor::serve(),
    })
}
