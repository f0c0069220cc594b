//! From folded stacks to a flame graph; the program `tlstax-flames` is this with standard input and output.

#![forbid(unsafe_code)]

mod colours;
pub mod drawing;
pub mod folded;
pub mod options;
