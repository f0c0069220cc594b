//! The contract between laboratory and load client as Rust types: a job in, events out, and orders
//! between them.
//!
//! The authority is `contract/` at the root of the project; the golden examples there are read by
//! this crate's tests.

#![forbid(unsafe_code)]

mod compression;
mod event;
mod full_load;
mod job;
mod limits;
mod order;
mod server;
mod workload;

pub use compression::{CompressedBytes, Compression, CompressionAgreed, ServerCompression};
pub use event::{
    Counts, CpuTime, Done, ErrorCount, ErrorEvent, ErrorKind, Event, Fault, Handshakes, Interval,
    Negotiated, Overhead, PhaseWire, Ready, RowSample, Slice, TlsLibrary, TlsView, WarmupSlice,
    Wire,
};
pub use full_load::{FullLoad, FullLoadSpan};
pub use job::{
    Account, Arrivals, DriverTerms, Endpoint, Job, JobError, Schedule, Tls, TlsSettings,
    TlsVersion, Verify,
};
pub use order::{Order, OrderError};
pub use server::{AuthMethod, PostgresTerms, Server, SslNegotiation};
pub use workload::{Parameter, Parameters, Protocol, Statement, Transaction, Workload};
