"""What the program of a library is told and says, a JSON a line, and what a bench observed: frozen types.

The program is engine/crates/library_bench.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from tlstax.contract import Frozen
from tlstax.records.trial import Machine, Specimen
from tlstax.results.document import RunDocument
from tlstax.tools.librarybench.order import Sitting
from tlstax.tools.librarybench.subjects import Side, Subject


class Negotiated(Frozen):
    """What a subject's connection agreed on; all None where it has none."""

    version: str | None = None
    cipher: str | None = None
    group: str | None = None
    resumed: bool | None = None


class Prepared(Frozen):
    """A subject that is ready, or the reason why the library cannot do it."""

    ready: Negotiated | None = None
    refused: str = ""


class Ready(Frozen):
    """The library is loaded and its subjects are set up, in the job's order."""

    type: Literal["ready"]
    pid: PositiveInt
    version: str
    libssl: str
    libcrypto: str
    subjects: tuple[Prepared, ...]


class Slice(Frozen):
    """What was done in a slice, and what it cost either side, in microseconds of CPU time."""

    type: Literal["slice"]
    operations: PositiveInt
    elapsed_s: NonNegativeFloat
    client_cpu_us: NonNegativeFloat
    server_cpu_us: NonNegativeFloat


class Error(Frozen):
    """Why it goes no further."""

    type: Literal["error"]
    message: str


Said = Annotated[Ready | Slice | Error, Field(discriminator="type")]


class Order(Frozen):
    """Work on a subject, by its place in the job: for so long, or exactly so many operations."""

    subject: NonNegativeInt
    length_s: NonNegativeFloat = 0.0
    operations: PositiveInt | None = None


Status = Literal["complete", "interrupted", "failed"]


class Library(Frozen):
    """A library that took part: what it says of itself, and the files that were mapped, with their checksums.

    `subjects` has what each subject's connection agreed on, `refused` why the library cannot do one.
    """

    name: str
    version: str
    libssl_sha256: str
    libcrypto_sha256: str
    subjects: tuple[Negotiated | None, ...]
    refused: tuple[str, ...]


class Turns(Frozen):
    """The slices of a sitting, those of each library by its place, in the order of the rounds."""

    sitting: Sitting
    slices: tuple[tuple[Slice, ...], ...]


class Instructions(Frozen):
    """Instructions of an operation, both sides together, of a library by its place, and the atomic ones."""

    subject: NonNegativeInt
    library: NonNegativeInt
    per_operation: NonNegativeFloat
    atomic_per_operation: NonNegativeFloat


class Taker(Frozen):
    """A function of a file that takes locks, and how many for an operation."""

    library: str
    function: str
    per_operation: NonNegativeFloat


class Locks(Frozen):
    """Who takes locks for one side of an operation of a library by its place, most first."""

    subject: NonNegativeInt
    library: NonNegativeInt
    side: Side
    takers: tuple[Taker, ...]


class Run(Frozen):
    """A bench of libraries: what was asked, and every complete block of it.

    All programs were bound to `cpu`, one at a time at work (None: to none). The last of `libraries` is the
    first once more, as a control. `beside` is a run that they are set beside.
    """

    started_at: str
    tlstax_version: str
    seed: int
    budget_s: float
    machine: Machine
    cpu: int | None
    subjects: tuple[Subject, ...]
    libraries: tuple[Library, ...]
    specimens: tuple[Specimen, ...] = ()
    beside: RunDocument | None = None
    turns: tuple[Turns, ...] = ()
    instructions: tuple[Instructions, ...] = ()
    counted_by: str = ""
    locks: tuple[Locks, ...] = ()
    status: Status = "complete"
    why: str = ""
    beside_another: bool = False
