//! From folded stacks to a flame graph; `program` reads the one from standard input and writes the other.

#![forbid(unsafe_code)]

mod colours;
pub mod drawing;
pub mod folded;
pub mod options;
pub mod program;
