"""The job: all that a load client is told, in one JSON line on its standard input."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
)

from tlstax.contract.compression import Compression
from tlstax.contract.frozen import Frozen
from tlstax.contract.tls import (
    Tls,
)
from tlstax.contract.workload import (
    Workload,
)

AuthMethod = Literal["none", "password", "md5", "scram-sha-256", "scram-sha-256-plus"]
"""A way of logging in to PostgreSQL, by its name in libpq's `require_auth`; the last, SCRAM bound to the TLS
channel, has none there. `none` is a server that asks for nothing: trust, peer, or a certificate of the
client's."""


SslNegotiation = Literal["request", "direct"]
"""How TLS begins at PostgreSQL: after the client's question and the server's answer, or at once."""


class MySqlServer(Frozen):
    """MySQL, or MariaDB, which speaks as it does."""

    kind: Literal["mysql"] = "mysql"


class PostgreSqlServer(Frozen):
    """PostgreSQL, and what only it is told.

    `ssl_negotiation` is how TLS begins: after the client's question and the server's answer (SSLRequest), or
    at once. `require_auth` has the ways of logging in that are good enough; empty means whichever the server
    asks for. SCRAM is bound to the TLS channel where the server offers it and `scram-sha-256-plus` is among
    them, or none.
    """

    kind: Literal["postgresql"] = "postgresql"
    ssl_negotiation: SslNegotiation = "request"
    require_auth: tuple[AuthMethod, ...] = ()


Server = Annotated[MySqlServer | PostgreSqlServer, Field(discriminator="kind")]


HIGHEST_RATE_PER_S = 10_000_000
"""More operations a second than any client can start; a rate beyond it is a slip of the pen."""

LONGEST_S = 365 * 24 * 3600
"""A year: no time in a job is longer, so that a client's clock can count to its end."""


class TcpEndpoint(Frozen):
    """A server reached over TCP."""

    kind: Literal["tcp"] = "tcp"
    host: str
    port: Annotated[int, Field(ge=1, le=65535)]


class UnixEndpoint(Frozen):
    """A server reached over a Unix socket."""

    kind: Literal["unix"] = "unix"
    path: str


Endpoint = Annotated[TcpEndpoint | UnixEndpoint, Field(discriminator="kind")]


class Account(Frozen):
    """Whom to log in as. The password travels on standard input only."""

    user: str
    password: str = Field(repr=False)
    database: str | None = None


class ClosedLoop(Frozen):
    """Every connection starts its next operation when the last one is answered."""

    mode: Literal["closed"] = "closed"


class OpenLoop(Frozen):
    """Operations are due at scheduled times whatever the server does; latency counts from then.

    What is due within `duration_s` and cannot be started in it is started later, for as long again;
    then it is skipped.
    """

    mode: Literal["open"] = "open"
    rate_per_s: Annotated[float, Field(gt=0, le=HIGHEST_RATE_PER_S)]
    arrivals: Literal["uniform", "poisson"] = "poisson"


Schedule = Annotated[ClosedLoop | OpenLoop, Field(discriminator="mode")]


class DriverTerms(Frozen):
    """What only a driver is told: its own options, word by word, and how long it may take to become steady.

    The client warms up in slices of 0.1 s until the CPU time per operation has stopped to fall,
    `steady_within_s` at most (contract/README.md has the rule); 0 leaves the warm-up as long as the job
    says. With `batch`, that many operations are handed to the driver at once, by its own way of doing so;
    each counts as an operation.
    """

    options: dict[str, str] = {}
    steady_within_s: NonNegativeFloat = 0.0
    batch: PositiveInt = 1


class FullLoad(Frozen):
    """Has each slice report what was done while all connections were at work (see `FullLoadSpan`).

    A slice counts when `after_operations` of its operations have been answered. `cpu_of` are ids of other
    processes of this machine, whose CPU time the client reads at both ends.
    """

    after_operations: PositiveInt
    cpu_of: tuple[PositiveInt, ...] = ()


class StreamTerms(Frozen):
    """What a program that copies a server's data or its log is to get, as the server told before.

    `names` are what is asked for by name, in its order: files of the log. `holds` is what a whole copy has,
    by what it is called: rows, bytes, the size of a table's file. Decoded changes are read from slots, and
    each copy uses up one of `names`, up to the place `until` in the log.
    """

    names: tuple[str, ...] = ()
    holds: dict[str, int] = {}
    until: str = Field(default="", exclude_if=lambda place: not place)


class Job(Frozen):
    """All that a client is told. Never stored as it is: `without_password` is.

    `schema` is the version of the protocol; a client refuses a job of another version. `duration_s` is how
    long all slices together will last. With `operations`, the window ends when that many were started, and
    `duration_s` is the longest that it may last; a client that works in rounds does them in `rounds` equal
    parts and says `reset` before each, to put the data back. A storm has `rounds` rounds of `connections`
    operations each. `server` is left out where it is MySQL
    or MariaDB, `compression` where there is none, since most clients do not know them.
    `driver` is for clients that are drivers alone, `stream` for programs that copy a server's data or its log
    (an operation is one whole copy), `full_load` for the engine alone, and so
    are `measure_overhead` where it is false and `lingering`, how many connections the client may have closed
    and the server not yet when another is opened; they are left out otherwise, since other clients do not
    know them.
    """

    schema_version: Literal[2] = Field(default=2, alias="schema")
    endpoint: Endpoint
    server: Server = Field(default=MySqlServer(), exclude_if=lambda asked: asked == MySqlServer())
    account: Account
    tls: Tls
    compression: Compression = Field(default="off", exclude_if=lambda asked: asked == "off")
    workload: Workload
    schedule: Schedule = ClosedLoop()
    connections: PositiveInt
    threads: PositiveInt = 1
    cpus: tuple[NonNegativeInt, ...] = ()
    warmup_s: Annotated[float, Field(ge=0, le=LONGEST_S)] = 0.1
    duration_s: Annotated[float, Field(gt=0, le=LONGEST_S)]
    operations: PositiveInt | None = None
    rounds: PositiveInt = 1
    reset: tuple[str, ...] = ()
    timeout_s: Annotated[float, Field(gt=0, le=LONGEST_S)] = 10.0
    source_addresses: tuple[str, ...] = ()
    seed: NonNegativeInt
    row_samples: NonNegativeInt = 16
    attributes: dict[str, str] = {}
    driver: DriverTerms | None = None
    stream: StreamTerms | None = Field(default=None, exclude_if=lambda asked: asked is None)
    full_load: FullLoad | None = Field(default=None, exclude_if=lambda asked: asked is None)
    lingering: NonNegativeInt | None = Field(default=None, exclude_if=lambda asked: asked is None)
    measure_overhead: bool = Field(default=True, exclude_if=lambda asked: asked is True)

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    def without_password(self) -> Job:
        """The same job with the password blanked, fit for the store and the report."""
        return self.model_copy(update={"account": self.account.model_copy(update={"password": ""})})
