"""Who takes a server's locks, as frozen types."""

from __future__ import annotations

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
