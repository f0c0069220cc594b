"""The one protocol between laboratory and load clients: a job in, events out, as frozen types.

The laboratory writes one `Job` (one JSON line) to the client's standard input. The client answers
with events, one JSON object a line: `ready` when every connection is up and warm and nothing is in
flight; then it waits. The laboratory reads the clocks and writes `go` and a length in seconds. The
client works for that long, finishes what is in flight and answers `slice`; then it waits again, for the
next `go` or for `end`, at which it answers `done`. End of file on standard input means that the laboratory
is gone: the client stops at once.

The JSON schemas in `contract/` are generated from here.
"""

from __future__ import annotations

from tlstax.contract.compression import CompressedBytes, Compression, CompressionAgreed
from tlstax.contract.event import (
    PHASES,
    Counts,
    CpuTime,
    Done,
    ErrorCount,
    ErrorEvent,
    ErrorKind,
    Event,
    FullLoadSpan,
    Interval,
    Overhead,
    PhaseWire,
    Ready,
    RowSample,
    Slice,
    Streamed,
    WarmupSlice,
    Wire,
)
from tlstax.contract.frozen import Frozen
from tlstax.contract.job import (
    HIGHEST_RATE_PER_S,
    LONGEST_S,
    Account,
    ClosedLoop,
    DriverTerms,
    Endpoint,
    FullLoad,
    Job,
    OpenLoop,
    Schedule,
    StreamTerms,
    TcpEndpoint,
    UnixEndpoint,
)
from tlstax.contract.server import AuthMethod, MySqlServer, PostgreSqlServer, Server, SslNegotiation
from tlstax.contract.tls import (
    Handshakes,
    Negotiated,
    Tls,
    TlsLibrary,
    TlsOff,
    TlsOn,
    TlsRequired,
    TlsUnset,
    TlsVersion,
    TlsView,
)
from tlstax.contract.workload import (
    Digits,
    Offset,
    OneOf,
    Parameter,
    Protocol,
    Sequence,
    Statement,
    Transaction,
    UniformInt,
    Workload,
)

__all__ = [
    "HIGHEST_RATE_PER_S",
    "LONGEST_S",
    "PHASES",
    "Account",
    "AuthMethod",
    "ClosedLoop",
    "CompressedBytes",
    "Compression",
    "CompressionAgreed",
    "Counts",
    "CpuTime",
    "Digits",
    "Done",
    "DriverTerms",
    "Endpoint",
    "ErrorCount",
    "ErrorEvent",
    "ErrorKind",
    "Event",
    "Frozen",
    "FullLoad",
    "FullLoadSpan",
    "Handshakes",
    "Interval",
    "Job",
    "MySqlServer",
    "Negotiated",
    "Offset",
    "OneOf",
    "OpenLoop",
    "Overhead",
    "Parameter",
    "PhaseWire",
    "PostgreSqlServer",
    "Protocol",
    "Ready",
    "RowSample",
    "Schedule",
    "Sequence",
    "Server",
    "Slice",
    "SslNegotiation",
    "Statement",
    "StreamTerms",
    "Streamed",
    "TcpEndpoint",
    "Tls",
    "TlsLibrary",
    "TlsOff",
    "TlsOn",
    "TlsRequired",
    "TlsUnset",
    "TlsVersion",
    "TlsView",
    "Transaction",
    "UniformInt",
    "UnixEndpoint",
    "WarmupSlice",
    "Wire",
    "Workload",
]
