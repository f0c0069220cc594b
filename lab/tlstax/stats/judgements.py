"""What may be said of a ratio or a difference: higher, lower, alike, or inconclusive. Exact, no I/O.

One rule for every figure, wherever it is read. **Different** (higher, lower): the interval excludes no
difference, and the effect is larger than the noise floor. **Alike**: the whole interval lies within a margin
that is named beforehand, and the noise floor does too; this is the two one-sided tests procedure (Schuirmann
1987, J. Pharmacokinet. Biopharm. 15, 657-680), with the interval of the run in place of that of 1 - 2 alpha,
so that it errs less often than it might. **Inconclusive**: everything else. No difference seen is no proof of
none.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, expm1, log, log1p
from typing import Literal

from tlstax.results.interval import Interval, Judgement
from tlstax.stats.stats import ROUNDING, relative_difference

Reason = Literal["one block", "too wide", "floor", "interval"]
"""Why a ratio is inconclusive: one block shows no scatter; the interval spans more than a factor of ten;
equal things differ by as much; the interval holds both no difference and one that counts."""

MOST_TIMES = 100
"""A wait for more than this many times the blocks is too long."""


def judge(ratio: Interval, floor: float | None, within: float) -> Judgement:
    """What may be said of a ratio; `within` is the factor within which two things count as alike.

    Simulated with trials that scatter by 2 %, run until every ratio is known to 2 %: of two equal things,
    under 2 % of studies call one higher or lower; a true difference of 3 % is found in more than 90 %. Two
    things that differ by the margin are called alike in under 5 %
    (tests/unit/stats/test_judgements_simulated.py).
    """
    if ratio.low is None or ratio.high is None:
        return "inconclusive"
    if is_different(ratio, floor):
        return "higher" if ratio.point > 1 else "lower"
    is_alike = 1 / within < ratio.low and ratio.high < within and (floor or 0.0) < within - 1
    return "alike" if is_alike else "inconclusive"


def is_different(ratio: Interval, floor: float | None) -> bool:
    """Whether the interval excludes 1, and the effect is larger than the noise floor."""
    return ratio.excludes_one and relative_difference(ratio.point) > max(floor or 0.0, ROUNDING)


def judge_difference(amount: Interval, floor: float | None, margin: float) -> Judgement:
    """The same of a difference; `floor` and `margin` are in its unit."""
    if amount.low is None or amount.high is None:
        return "inconclusive"
    if amount.excludes_zero and abs(amount.point) > (floor or 0.0):
        return "higher" if amount.point > 0 else "lower"
    is_alike = -margin < amount.low and amount.high < margin and (floor or 0.0) < margin
    return "alike" if is_alike else "inconclusive"


def why_inconclusive(ratio: Interval, floor: float | None, within: float) -> Reason:
    """Of a ratio that is inconclusive, what stands in the way."""
    if ratio.low is None or ratio.high is None:
        return "one block"
    if not ratio.is_telling:
        return "too wide"
    hides = relative_difference(ratio.point) <= (floor or 0.0) and (floor or 0.0) >= within - 1
    return "floor" if hides or (ratio.excludes_one and floor) else "interval"


def times_needed(ratio: Interval, floor: float | None, within: float) -> float | None:
    """How many times as many blocks would tell, if the ratio stays as it is and blocks go on to scatter so.

    An interval's half-width falls with the square root of the number of blocks. It has to be shorter than the
    way from the ratio to the next line that it must not hold: no difference, or the margin. None where no
    number that anybody would wait for is enough: one block shows no scatter, the ratio lies on the line, or
    equal things differ by as much (which more blocks take away only if it was chance).
    """
    if ratio.half_width is None:
        return None
    room = max(rooms(ratio, floor or 0.0, within), default=0.0)
    if room <= 0.0:
        return None
    times = max(2.0, ceil((log1p(ratio.half_width) / room) ** 2))
    return times if times <= MOST_TIMES else None


def seconds_needed(
    ratio: Interval, floor: float | None, within: float, block_s: float | None
) -> float | None:
    """How many more seconds of blocks that take `block_s` each would tell; None as for `times_needed`."""
    times = times_needed(ratio, floor, within)
    return None if times is None or block_s is None else (times - 1) * ratio.blocks * block_s


def rooms(ratio: Interval, floor: float, within: float) -> Iterator[float]:
    """How far the ratio lies from each line, on a logarithmic scale, where crossing it would be an answer."""
    size = abs(log(ratio.point))
    if expm1(size) > floor:
        yield size
    if floor < within - 1:
        yield log(within) - size
