"""Where numbers are now that documents had elsewhere: whoever moves one adds a line for `same_numbers.py`.

They say what changed since the code that OLD was rendered with, and go when that is left behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Renamed:
    """What has its form still, at another place; elements of lists are in their order there."""

    old: str
    new: str


@dataclass(frozen=True)
class Moved:
    """What rows have now: those of this topic and outcome have it in `field`, what is below it below that.

    `old` is a place such as "trust[].more_us": `[]` is any element, `{}` any key. In `outcome`, "{name}"
    stands for what the nearest object around has by that name, "{key}" for the key at `{}`. `case` and
    `beside` name the objects around whose levels a row has as `case` and `beside`; levels in `without` are
    not compared. `by` names more that is around, and that a row has too, or has in `more`. Where any outcome
    or any field may have it ("*"), an interval counts as one value.
    """

    old: str
    topic: str
    outcome: str = "*"
    field: str = "*"
    case: str = "case"
    beside: str = "baseline"
    by: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dropped:
    """What is not shown any more, on purpose."""

    old: str
    why: str


Rule = Renamed | Moved | Dropped

RULES: Mapping[str, tuple[Rule, ...]] = {}
"""For JSON documents, by the file's name as a pattern. Of several rules for a place the longest counts:

    "report.json": (
        Moved("trust[].more_us", "trust", "latency_mean_us", "change"),
        Moved("trust[].authorities", "trust", field="more.authorities"),
        Moved("bulk[].points[].mib_per_s", "bulk", "MiB/s", "value", by=("payload_bytes",)),
        Moved("round_trips[].phases[]", "round_trips", by=("phase",)),
        Dropped("schema", "it counts the forms of the document"),
    ),
"""


@dataclass(frozen=True)
class Cells:
    """Where the cells of rows are now that have this role (of a table without roles: ""); "*": of any.

    `role` and `outcome` are what these rows have there now, None where that is the same. `columns` are the
    new names of columns, where one ends with "_*" of all that begin so; an empty one: it is gone, as `why`
    says.
    """

    old_role: str
    role: str | None = None
    outcome: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    why: str = ""


CELLS: Mapping[str, tuple[Cells, ...]] = {}
"""For tables, by the file's name as a pattern: `"report.csv": (Cells("component extra", role="component",
columns={"value": "change", "value_low": "change_low"}),)`. The first line for a role counts."""

FILES: Mapping[str, str] = {}
"""What a file of OLD is called in NEW, where not the same: `"rows/findings.csv": "rows/results.csv"`."""

TEXTS: Mapping[str, str] = {}
"""Texts by the file's name as a pattern, in which numbers may be missing, and why."""

PROSE = frozenset(
    {
        "caveats", "comparable", "conditions", "in_proportion_sentence", "in_time_sentence", "label",
        "labels", "note", "place", "question", "reading", "reason", "reasons", "says", "sentence",
        "sentences", "stopped_because", "title", "why", "why_none", "why_not", "words", "work",
    }
)  # fmt: skip
"""Fields and columns with words: these may change, and are among the texts."""

ORDINALS = frozenset({"finding"})
"""Columns that only count the rows."""
