"""What a bench of libraries observed, as frozen types."""

from __future__ import annotations

from typing import Literal

from pydantic import NonNegativeFloat, NonNegativeInt

from tlstax.contract import Frozen
from tlstax.librarybench.messages import Negotiated, Slice
from tlstax.librarybench.order import Sitting
from tlstax.librarybench.subjects import Side, Subject
from tlstax.records.trial import Machine

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
    first once more, as a control.
    """

    started_at: str
    tlstax_version: str
    seed: int
    budget_s: float
    machine: Machine
    cpu: int | None
    subjects: tuple[Subject, ...]
    libraries: tuple[Library, ...]
    turns: tuple[Turns, ...] = ()
    instructions: tuple[Instructions, ...] = ()
    counted_by: str = ""
    locks: tuple[Locks, ...] = ()
    status: Status = "complete"
    why: str = ""
    beside_another: bool = False
