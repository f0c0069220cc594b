"""What is known of a figure: its value, its interval, from how many blocks; and what can be judged of it."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Literal

from tlstax.contract import Frozen

Judgement = Literal["higher", "lower", "alike", "inconclusive"]
"""Of a figure beside another one, by the one rule of `stats/contrasts.py`."""

DIFFERENCES: tuple[Judgement, ...] = ("higher", "lower")
"""The judgements by which a difference is seen."""

WIDEST_SPAN = 10.0
"""An interval over more than this factor tells nothing but that there are too few blocks."""

ClaimVerdict = Literal["held", "held in part", "did not hold", "inconclusive"]
"""Of a claim that was published, from all that a run shows of it."""


class Interval(Frozen):
    """A figure in the unit that its field is named for, and its interval.

    A ratio is a geometric mean over `blocks` blocks, everything else the mean of differences, one a block.
    `low` and `high` are None where there is no interval: one block alone shows no scatter, and a quotient has
    no ends where what it is divided by may be nothing.
    """

    point: float
    low: float | None
    high: float | None
    confidence: float
    blocks: int

    @property
    def ends(self) -> tuple[float, float]:
        """The ends; both the figure itself where there is no interval, or an end of nothing."""
        return self.low or self.point, self.high or self.point

    @property
    def between(self) -> tuple[float, float] | None:
        """Both ends; None where there is no interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def side_of(self, nothing: float) -> int:
        """Where all of it lies: above `nothing` (1), below (-1); 0 where it holds that, or has no ends."""
        low, high = self.between or (nothing, nothing)
        return (low > nothing) - (high < nothing)

    @property
    def half_width(self) -> float | None:
        """How far a ratio may be off, relative: 0.02 when it is known to 2 %; None for one block."""
        if self.between is None:
            return None
        low, high = self.between
        return sqrt(high / low) - 1

    @property
    def is_telling(self) -> bool:
        """Whether a ratio's interval, if it has one, lies within one order of magnitude."""
        return self.low is None or self.high is None or self.high <= WIDEST_SPAN * self.low

    @property
    def excludes_one(self) -> bool:
        """Whether a ratio is told apart from no difference at all."""
        return self.side_of(1) != 0

    @property
    def excludes_zero(self) -> bool:
        """Whether a difference is told apart from no difference at all."""
        return self.side_of(0) != 0

    def each(self, change: Callable[[float], float]) -> Interval:
        """The same in another unit: the figure and the ends, each changed in a way that keeps their order."""
        low, high = (end if end is None else change(end) for end in (self.low, self.high))
        return self.model_copy(update={"point": change(self.point), "low": low, "high": high})

    def __neg__(self) -> Interval:
        """A difference the other way round."""
        low, high = (end if end is None else -end for end in (self.high, self.low))
        return self.model_copy(update={"point": -self.point, "low": low, "high": high})

    @property
    def reach(self) -> float | None:
        """How far a difference that ought to be none strayed, or could have by chance; None for one block."""
        if self.between is None:
            return None
        low, high = self.between
        return max(abs(self.point), (high - low) / 2)
