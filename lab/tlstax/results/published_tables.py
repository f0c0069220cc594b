"""Published tables beside measured ones, as frozen types: what reports show of them, and what is judged."""

from __future__ import annotations

from typing import Literal

from tlstax.contract import Frozen
from tlstax.results.interval import Interval
from tlstax.study import Level, ProcessorColumn, ProcessorTable, TimeTable

Standing = Literal["valid", "invalid", "unknown", "not run"]
"""What the trials of a side were found to be; a side with valid trials is shown by them alone."""

Answer = Literal["right", "wrong", "inconclusive", "not tested"]
"""What a part of a run says of a published difference."""

Verdict = Answer | Literal["right in some parts, wrong in others"]

FaultKind = Literal["average row", "idle rows", "sum", "too short"]
"""What can be wrong in a table by itself."""


class Shown(Frozen):
    """The trials that stand for one side of a table in one part: how many, and what was found of them.

    `why` is the most frequent reason why they are not valid; `left_out` counts trials that are not valid,
    where valid ones are shown. `ran` is what the server or the client saw on the connections that did the
    work: "plaintext", "TLSv1.3", both; empty where neither said.
    """

    standing: Standing
    trials: int = 0
    left_out: int = 0
    why: str = ""
    ran: str = ""


class ProcessorStep(Frozen):
    """What the processors did in one step, in per cent, a mean over the trials that reached it."""

    from_s: float
    to_s: float
    trials: int
    values: dict[ProcessorColumn, float]


class MeasuredProcessors(Frozen):
    """One side of a processor table as it was measured in one part.

    `mean` is over the whole window of each trial, then over trials; None where nobody watched. `rss_bytes`
    is the server's resident memory, a mean over trials.
    """

    side: str
    shown: Shown
    steps: tuple[ProcessorStep, ...] = ()
    mean: dict[ProcessorColumn, float] | None = None
    window_s: float | None = None
    rss_bytes: float | None = None


class PartOfProcessors(Frozen):
    """A processor table as one part of the run has it."""

    part: str
    sides: tuple[MeasuredProcessors, ...]


class MeasuredTime(Frozen):
    """One side of a line of a time table: seconds (a geometric mean over blocks), and their interval."""

    side: str
    shown: Shown
    seconds: Interval | None = None
    operations: int | None = None


class PartOfTime(Frozen):
    """A line of a time table as one part of the run has it.

    `ratios` hold, by side, the ratio to the first side in the same blocks, without a unit. `noise_floor` is
    how far the control strayed under the same workload; None where none ran.
    """

    part: str
    sides: tuple[MeasuredTime, ...]
    ratios: dict[str, Interval] = {}
    noise_floor: float | None = None


class TimeLine(Frozen):
    """A line of a time table: what was published, its ratios to the first side, and what parts measured."""

    label: str
    published: dict[str, float]
    published_ratios: dict[str, float]
    parts: tuple[PartOfTime, ...]


class ProcessorTableResult(Frozen):
    """A published processor table and what was measured in its place."""

    published: ProcessorTable
    parts: tuple[PartOfProcessors, ...]


class TimeTableResult(Frozen):
    """A published time table and what was measured in its place; `reading` says what may be compared."""

    published: TimeTable
    lines: tuple[TimeLine, ...]
    reading: str


class ClaimHere(Frozen):
    """What one part shows in the place of what a claim is about; `at_s` is when a step ends."""

    part: str
    shown: Shown
    value: float | None = None
    at_s: float | None = None


class ClaimResult(Frozen):
    """What the text says of its own table, and what the table says: arithmetic, so right or wrong."""

    table: str
    says: str
    verdict: Literal["right", "wrong"]
    sentence: str
    found: float | None
    found_at_s: float | None
    here: tuple[ClaimHere, ...] = ()


class TableFault(Frozen):
    """Something in a published table that cannot be what the table says it is, found by computing."""

    table: str
    side: str
    kind: FaultKind
    sentence: str


class DifferenceHere(Frozen):
    """What one part says of a published difference.

    `difference` is in percentage points, `ratio` of times; the one that the table is of is there, unless the
    part could not test it. `why` says why not.
    """

    part: str
    answer: Answer
    difference: Interval | None = None
    ratio: Interval | None = None
    noise_floor: float | None = None
    why: str = ""
    sentence: str


class DifferenceResult(Frozen):
    """A published difference between two sides, and what every part of the run says of it.

    `says` is the difference in words, `published` the two values, the first side's first; None for a count
    over all lines of a table.
    """

    table: str
    label: str
    says: str
    outcome: str
    side: str
    against: str
    published: tuple[float, float] | None
    verdict: Verdict
    sentence: str
    parts: tuple[DifferenceHere, ...]


class PartResult(Frozen):
    """A part of the study: its name, its trials, and why some are not valid, the most frequent first."""

    key: str
    title: str
    case: dict[str, tuple[Level, ...]]
    valid: int
    invalid: int
    unknown: int
    reasons: tuple[str, ...] = ()


class Tables(Frozen):
    """All published tables of a study beside what was measured."""

    parts: tuple[PartResult, ...]
    processors: tuple[ProcessorTableResult, ...] = ()
    times: tuple[TimeTableResult, ...] = ()
    claims: tuple[ClaimResult, ...] = ()
    faults: tuple[TableFault, ...] = ()
    differences: tuple[DifferenceResult, ...] = ()
