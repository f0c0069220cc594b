"""Who takes a server's locks, as frozen types."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from tlstax.contract import Frozen
from tlstax.study import Level


class Taker(Frozen):
    """A function that takes locks, or waits: of which kind, and how often in an operation.

    `moved` of them found that another thread had taken the lock last, `contended` that it was not free.
    """

    kind: str
    library: str
    function: str
    per_op: float
    moved_per_op: float
    contended_per_op: float


class CaseLocks(Frozen):
    """The locks of one case over all its valid trials, which watched `operations`; the busiest takers first.

    `least_per_op` and `most_per_op` are the locks of the trials with the fewest and the most: a count is
    exact, and what they differ by is the server's doing. `times_slower` is how many times as many operations
    a second the same case did without being counted, None where it was not measured.
    """

    case: dict[str, Level]
    label: str
    trials: int
    operations: int
    per_op: float
    least_per_op: float
    most_per_op: float
    times_slower: float | None
    takers: tuple[Taker, ...]


class TakerChange(Frozen):
    """A function that takes locks, in a case and in its baseline; none where it took none."""

    kind: str
    library: str
    function: str
    per_op: float
    baseline_per_op: float


class LockExplanation(Frozen):
    """From a baseline to a case: which functions take the locks that an operation takes more.

    `labels` are the names of both in words, `changes` are those functions whose calls differ, the greatest
    difference first. `sentence` says the most important of it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    run: str
    labels: tuple[str, str]
    per_op: float
    baseline_per_op: float
    changes: tuple[TakerChange, ...]
    sentence: str
