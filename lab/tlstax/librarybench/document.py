"""The document that `library-bench --json` prints, as frozen types."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, NonNegativeInt

from tlstax.contract import Frozen
from tlstax.librarybench.messages import Negotiated
from tlstax.librarybench.records import Status, Taker
from tlstax.librarybench.subjects import Side, Subject
from tlstax.records.trial import Machine
from tlstax.results.interval import Interval
from tlstax.study import Level


class LibraryFacts(Frozen):
    """A library: what it says of itself, and the checksums of the files that were mapped."""

    name: str
    version: str
    libssl_sha256: str
    libcrypto_sha256: str


class Figures(Frozen):
    """What an operation costs over one library, in microseconds of CPU time of either side.

    The ratios are to the first library's, None of that one itself. `instructions` are of both sides together,
    where they were counted, `server_locks` and `client_locks` of either, and `lock_takers` those functions
    that take most. Where the library cannot do it, `refused` says why and there are no figures.
    """

    library: str
    server_cpu_us: Interval | None = None
    client_cpu_us: Interval | None = None
    server_ratio: Interval | None = None
    client_ratio: Interval | None = None
    instructions: float | None = None
    atomic_instructions: float | None = None
    server_locks: float | None = None
    client_locks: float | None = None
    lock_takers: dict[Side, tuple[Taker, ...]] = {}
    negotiated: Negotiated | None = None
    refused: str = ""


class SubjectFigures(Frozen):
    """One subject over every library, in the order in which they were named; the last is the first again.

    How far its ratios are from 1 is chance: smaller differences of others cannot be told from it.
    """

    subject: Subject
    label: str
    libraries: tuple[Figures, ...]


class Split(Frozen):
    """What TLS costs a server on a new connection, of a run's case, and the library alone of that.

    `added_us` is the server's CPU time beyond that of plaintext, `library_us` what the same handshake costs
    the server's side alone, `server_us` the difference: what the server makes of it.
    """

    case: dict[str, Level]
    label: str
    added_us: Interval
    library_us: Interval
    server_us: float


class Difference(Frozen):
    """What TLS costs one server more over one library than over `against`, and those libraries alone of that.

    Both are of the server's side, in microseconds a connection; less where they are below 0.
    """

    label: str
    against: str
    added_us: Interval
    library_us: float


class LibraryBenchDocument(Frozen):
    """The one document that `library-bench --json` prints."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    status: Status
    started_at: str
    tlstax_version: str
    seed: int
    slice_s: float
    blocks: NonNegativeInt
    machine: Machine
    cpu: int | None
    libraries: tuple[LibraryFacts, ...]
    subjects: tuple[SubjectFigures, ...]
    run_beside: str = ""
    splits: tuple[Split, ...] = ()
    differences: tuple[Difference, ...] = ()
    counted_by: str = ""
    caveats: tuple[str, ...] = ()
