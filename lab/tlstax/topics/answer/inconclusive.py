"""What hides a difference where a case is inconclusive, how large it may be, and what would tell it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, expm1, inf, log, log1p

from tlstax.findings.core.judgements import MOST_TIMES, rooms
from tlstax.findings.core.wording import percent
from tlstax.results.document import StatementCase
from tlstax.results.interval import Interval
from tlstax.study import Statement

INCONCLUSIVE = "inconclusive"


def bound_words(cases: Sequence[StatementCase]) -> str:
    """How large a difference may be hidden where none was told, in brackets; empty if none is ruled out."""
    ends = [
        max(abs(log(case.ratio.low)), abs(log(case.ratio.high)))
        for case in cases
        if case.outcome == INCONCLUSIVE and case.ratio.low and case.ratio.high
    ]
    if not ends or max(ends) > log(10):
        return ""
    return f" (a difference above {percent(expm1(max(ends)))} is ruled out there)"


def what_would_tell(statement: Statement, cases: Sequence[StatementCase]) -> Iterator[str]:
    """What more would tell of the cases that are inconclusive; nothing where there is none.

    More blocks, where the interval is too wide, as many as the ratios that were seen would take. Where twins
    or the control differ by as much as the ratio, how many is not known: what they differ by may be chance,
    which more blocks would take away, or the luck of a process, which they would not.
    """
    inconclusive = [case for case in cases if case.outcome == INCONCLUSIVE]
    needed = [times_needed(statement, case) for case in inconclusive if case.ratio.half_width is not None]
    reached = [times for times in needed if times is not None and times <= MOST_TIMES]
    hidden = sum(times is None for times in needed)
    if len(needed) < len(inconclusive):
        yield "one block shows no scatter, and more blocks would tell"
    if reached:
        what = "them" if len(reached) == len(inconclusive) else f"{len(reached)} of them"
        yield f"about {max(reached):.0f} times as many blocks would tell {what}"
    if far := len(needed) - len(reached) - hidden:
        yield f"{far} would take more than {MOST_TIMES} times as many"
    if hidden:
        yield f"in {hidden} equal things differ by as much: more blocks show whether by chance"


def times_needed(statement: Statement, case: StatementCase) -> float | None:
    """How many times the blocks of a case would answer it, if its ratio stays as it is.

    An interval's half-width falls with the square root of the number of blocks. It has to be shorter than
    the way from the ratio to the next line that it must not hold: no difference, the factor that is claimed,
    or that within which both are alike. Infinite where the ratio lies on the line or has no interval; None
    where twins or the control hide it.
    """
    ratio, floor = case.ratio, case.noise_floor or 0.0
    if ratio.half_width is None:
        return inf
    room = max(_room(statement, ratio, floor), default=0.0)
    if room <= 0.0:
        return None if floor else inf
    return max(2.0, ceil((log1p(ratio.half_width) / room) ** 2))


def _room(statement: Statement, ratio: Interval, floor: float) -> Iterator[float]:
    """How far the ratio lies from each line, on a logarithmic scale, where crossing it would be an answer."""
    size = abs(log(ratio.point))
    if statement.kind == "alike":
        yield abs(log(statement.by) - size)
        return
    if statement.by > 1.0:
        beyond = min(abs(log(ratio.point) - log(statement.by)), abs(log(ratio.point) + log(statement.by)))
        yield beyond if expm1(beyond) > floor else 0.0
        return
    yield from rooms(ratio, floor, statement.alike_within)
