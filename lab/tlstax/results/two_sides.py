"""What one of two sides changes beside the other, as frozen types."""

from __future__ import annotations

from tlstax.contract import Frozen
from tlstax.results.interval import Interval, Judgement
from tlstax.study import Level


class SideEffect(Frozen):
    """An outcome of one group of cases: what B changes beside A, and what nothing changes.

    `case` are the levels that both sides have, `a` and `b` geometric means over the same blocks. `change` is
    b to a, of sides with twins the mean of both processes to that of both. `twins` are the second process of
    either side to its first, A's and then B's (empty where there are none), and `control` is A's first
    process to itself: what differs there, nothing has changed.
    """

    outcome: str
    unit: str
    case: dict[str, Level]
    label: str
    a: float
    b: float
    change: Interval
    judgement: Judgement
    twins: tuple[Interval | None, ...] = ()
    control: Interval | None = None
