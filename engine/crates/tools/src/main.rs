//! The programs beside the engine in one: the word behind the name says which.
//!
//! `floor` and `bytes` are what the engine is measured against, `library-bench` measures a TLS library alone, `link` makes
//! a distance and measures it, `flames` draws. What each says and reads is its own; a word that is none of these is
//! told in one sentence on standard error, with status 2.

#![forbid(unsafe_code)]

mod bytes;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use lexopt::Parser;

const USAGE: &str =
    "usage: tlstax-tools floor, bytes, driver, driver-cost, library-bench, link or flames";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let word = arguments.next().unwrap_or_default();
    match word.to_str() {
        Some("floor") => tlstax_floor::exit(tlstax_floor::serve()),
        Some("bytes") => tlstax_floor::exit(bytes::measure()),
        Some("driver") => tlstax_drivers::run(&texts(arguments)),
        Some("driver-cost") => tlstax_drivers::measure_own_cost(&texts(arguments)),
        Some("library-bench") => tlstax_library_bench::run(),
        Some("link") => tlstax_link::run(Parser::from_args(arguments)),
        Some("flames") => tlstax_flames::program::run(Parser::from_args(arguments)),
        _ => {
            // Nobody to tell where standard error is closed; the status says it too.
            let _ = writeln!(std::io::stderr(), "{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn texts(arguments: impl Iterator<Item = OsString>) -> Vec<String> {
    arguments
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}
