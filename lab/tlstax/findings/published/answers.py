"""Whether a published difference is right, wrong or inconclusive, by what was measured of it. Pure."""

from __future__ import annotations

from tlstax.findings.core import stats
from tlstax.findings.core.judgements import is_different
from tlstax.results.interval import Interval
from tlstax.results.published_tables import Answer


def answer_to_ratio(ratio: Interval, floor: float | None, *, published: float) -> Answer:
    """Whether a ratio was distinguished from 1, and goes the way that was published.

    Where it was not, the published ratio may yet be ruled out, which is wrong then as well: there is no
    difference of that size here.
    """
    if is_different(ratio, floor):
        return "right" if (ratio.point > 1) == (published > 1) else "wrong"
    is_hidden = stats.relative_difference(published) <= (floor or 0.0)
    return "inconclusive" if is_hidden or _holds(ratio, published) else "wrong"


def answer_to_difference(found: Interval, floor: float | None, *, published: float) -> Answer:
    """The same of a difference, which is told from 0."""
    least = floor or 0.0
    if found.excludes_zero and abs(found.point) > least:
        return "right" if (found.point > 0) == (published > 0) else "wrong"
    is_hidden = abs(published) <= least
    return "inconclusive" if is_hidden or _holds(found, published) else "wrong"


def _holds(found: Interval, value: float) -> bool:
    """Whether a value may be the true one; any may, where there is no interval."""
    return found.low is None or found.high is None or found.low <= value <= found.high
