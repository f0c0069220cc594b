//! The engine against servers that mean harm: it says what is wrong, in time, and in little memory.

mod client;
mod closing;
mod endless;
mod engine;
mod extremes;
mod lingering;
mod man_in_the_middle;
mod messages;
mod order;
mod oversized;
mod postgres;
mod refusals;
mod server;
mod silence;
mod slices;
mod storms;
mod tls;
mod turns;
