//! Draws a flame graph: folded stacks from standard input, one SVG to standard output.
//!
//! A line is `stack count`, or with `--differential` `stack before after`; counts are whole numbers,
//! nanoseconds per operation unless `--count-name` says otherwise. A frame is `function [library]`.
//! What cannot be drawn is told in one sentence on standard error, with status 2.

use std::io::{Read, Write};
use std::process::ExitCode;

use lexopt::Parser;

use crate::options::Options;
use crate::{drawing, folded};

/// Draws what the arguments ask for.
pub fn run(arguments: Parser) -> ExitCode {
    match draw(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Input(why)) => say(&why, 2),
        Err(Failure::Output(why)) => say(&format!("the graph could not be written: {why}"), 3),
    }
}

/// Why there is no graph: what was asked for cannot be drawn, or what was drawn not written.
enum Failure {
    Input(String),
    Output(std::io::Error),
}

fn draw(arguments: Parser) -> Result<(), Failure> {
    let options = Options::from_arguments(arguments).map_err(Failure::Input)?;
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::Input(format!("standard input cannot be read: {error}")))?;
    // A function's name is whatever a program's file says, and need not be text.
    let text = String::from_utf8_lossy(&bytes);
    let lines = folded::lines(&text, options.differential).map_err(Failure::Input)?;
    let svg = drawing::svg(&lines, &options).map_err(Failure::Input)?;
    let mut output = std::io::stdout().lock();
    output
        .write_all(&svg)
        .and_then(|()| output.flush())
        .map_err(Failure::Output)
}

fn say(sentence: &str, status: u8) -> ExitCode {
    // Nobody to tell where standard error is closed; the status says it too.
    let _ = writeln!(std::io::stderr(), "tlstax-tools flames: {sentence}");
    ExitCode::from(status)
}
