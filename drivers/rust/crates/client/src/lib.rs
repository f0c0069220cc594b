//! The contract's part of a Rust driver's program: all but the driver itself, which is a `Driver`.

pub mod conversation;
mod crew;
pub mod driver;
mod event;
pub mod failure;
mod fleet;
pub mod job;
mod laboratory;
mod machine;
mod recorder;
mod steady;
mod supply;
mod template;
mod window;
mod worker;
