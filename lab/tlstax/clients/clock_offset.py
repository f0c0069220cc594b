"""How much another machine's clock is ahead of ours, by exchanges. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class ClockOffset(NamedTuple):
    """How many seconds another clock is ahead, and by how much that may be off."""

    ahead_s: float
    error_s: float


def of_exchanges(exchanges: Iterable[tuple[float, float, float]]) -> ClockOffset:
    """What exchanges tell, at least one: when each was asked and answered by our clock, and theirs between.

    Theirs was read somewhere between the two, so it is known to half of the time between them. The exchange
    that took the least time tells most (Cristian 1989, Distributed Computing 3, 146-158).
    """
    asked_s, answered_s, theirs_s = min(exchanges, key=lambda exchange: exchange[1] - exchange[0])
    return ClockOffset(theirs_s - (asked_s + answered_s) / 2, (answered_s - asked_s) / 2)


def over_time(before: ClockOffset, after: ClockOffset) -> ClockOffset:
    """The offset over a time at whose beginning and end it was measured: clocks do not run alike."""
    drift_s = abs(after.ahead_s - before.ahead_s)
    return ClockOffset((before.ahead_s + after.ahead_s) / 2, max(before.error_s, after.error_s) + drift_s / 2)
