"""Whether a change keeps to a limit, and how sure intervals are where all are to hold together. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tlstax.results.comparison import GateVerdict, Limit
from tlstax.results.interval import Interval
from tlstax.support.errors import UserMistake
from tlstax.support.text import enumerated

CONFIDENCE = 0.95
"""That no case of a check fails by chance alone."""


def confidence_of_each(confidence: float, number: int) -> float:
    """How sure each of so many intervals is to be for all to hold together (Bonferroni's inequality)."""
    return 1 - (1 - confidence) / max(number, 1)


def check_each_has_a_case(limits: Iterable[Limit], of_cases: Collection[Limit], what: str) -> None:
    """UserMistake for a limit that is for nothing, which all would keep to; `what` is what has outcomes."""
    idle = [limit.outcome for limit in limits if limit not in of_cases]
    if idle:
        raise UserMistake(
            f"no {what} has {enumerated(dict.fromkeys(idle))}",
            remedy="`tlstax runs export --format json` has the names of all that a run yields",
        )


def verdict_of(change: Interval, most: float) -> GateVerdict:
    """PASS where all of the interval is at or below the limit, FAIL where all of it is above."""
    if change.low is None or change.high is None:
        return "INCONCLUSIVE"
    if change.high <= 1 + most:
        return "PASS"
    return "FAIL" if change.low > 1 + most else "INCONCLUSIVE"


def worst(verdicts: Iterable[GateVerdict]) -> GateVerdict:
    """One verdict for all: a failure weighs more than what is inconclusive."""
    found = set(verdicts)
    return "FAIL" if "FAIL" in found else "INCONCLUSIVE" if "INCONCLUSIVE" in found else "PASS"
