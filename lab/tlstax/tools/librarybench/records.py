"""In which order libraries take turns, what the program of one is told and says, and what a bench observed.

The program is engine/crates/library_bench; it is told and says a JSON a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from tlstax.contract import Frozen
from tlstax.plan.order import shuffled
from tlstax.records.trial import Machine, Specimen
from tlstax.results.document import RunDocument
from tlstax.tools.librarybench.subjects import Side, Subject

SLICE_S = 0.01
"""How long a slice lasts: a few handshakes, or thousands of records."""

ROUNDS = 8
"""How many slices each library has of a subject in a block. What differs from block to block, the place of
code and data in memory, is not told by more of them."""


class Sitting(Frozen):
    """A subject in one block: `rounds` has the libraries, by their place, in the order of their slices."""

    block: NonNegativeInt
    number: NonNegativeInt
    subject: NonNegativeInt
    rounds: tuple[tuple[int, ...], ...]


def blocks(subjects: Sequence[Subject], libraries: int, seed: int) -> Iterator[tuple[Sitting, ...]]:
    """Blocks without end: in each the subjects in random order, and the rounds of each in random order."""
    generator = Random(seed)  # noqa: S311 (an order, not a secret)
    places = range(libraries)
    block = 0
    while True:
        order = enumerate(shuffled(range(len(subjects)), generator))
        yield tuple(
            Sitting(
                block=block,
                number=number,
                subject=subject,
                rounds=tuple(tuple(shuffled(places, generator)) for _ in range(ROUNDS)),
            )
            for number, subject in order
        )
        block += 1


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
