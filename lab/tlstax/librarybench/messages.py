"""What is said to and by the program that measures a library (engine/crates/library_bench), a JSON a line."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from tlstax.contract import Frozen


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
