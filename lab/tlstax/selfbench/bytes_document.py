"""What reading long results costs the engine beside a bare loop: slices and the document, as frozen types."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, NonNegativeFloat, PositiveFloat, PositiveInt

from tlstax.contract import Frozen
from tlstax.records.trial import Machine, Specimen
from tlstax.results.interval import Interval
from tlstax.selfbench.records import Status


class Reading(Frozen):
    """What one side did of a slice: `sender_cpu_us` is the CPU time of the server that does nothing."""

    results: PositiveInt
    received_bytes: PositiveInt
    elapsed_s: PositiveFloat
    reader_cpu_us: PositiveFloat
    sender_cpu_us: NonNegativeFloat


class Pair(Frozen):
    """A slice of the engine's and one of the bare loop's, one after the other."""

    engine: Reading
    bare: Reading


class Shape(Frozen):
    """What each result has: so many rows of so many bytes."""

    rows: PositiveInt
    row_bytes: PositiveInt


class ReaderFigures(Frozen):
    """One side: MiB of TCP payload a second, and the CPU time of a MiB at both ends of the connection."""

    mib_per_s: Interval
    reader_cpu_us_per_mib: Interval
    sender_cpu_us_per_mib: Interval | None


class BytesFigures(Shape):
    """Both sides reading such results, and the engine's ratios to the bare loop, within pairs of slices."""

    engine: ReaderFigures
    bare: ReaderFigures
    rate_to_bare: Interval
    cpu_to_bare: Interval


class BytesHeader(Frozen):
    """Where and with what results were read, in slices of `slice_s`."""

    started_at: str
    tlstax_version: str
    slice_s: PositiveFloat
    machine: Machine
    specimens: tuple[Specimen, ...]


class BytesDocument(BytesHeader):
    """The one document that `self-bench --bytes --json` prints."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    status: Status
    results: tuple[BytesFigures, ...]
    caveats: tuple[str, ...] = ()
