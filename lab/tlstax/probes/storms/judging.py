"""Whether the connections of a try were up in time, and whether the server kept up with their rate. Pure."""

from __future__ import annotations

from tlstax.contract import Done
from tlstax.findings.core.histograms import decode

FALLING_BEHIND = 0.05
"""A server that falls behind by this share of the time or more does not take the rate."""


def is_up_in_time(done: Done, phase: str, *, connections: int, share: float, within_s: float) -> bool:
    """Whether `share` of that many connections were up within `within_s`, by the histogram of `phase`.

    Of those that never came up nothing is in it: they count as late.
    """
    if done.operations < share * connections:
        return False
    up_us = decode(done.histograms_ns[phase])
    percent = 100 * share * connections / up_us.count
    return percent <= 100 and up_us.percentiles_us((percent,))[0] <= within_s * 1e6


def falls_behind(done: Done, lasting_s: float) -> float:
    """By which share of the time the connections fall further behind at a rate that lasted `lasting_s`.

    At C connections a second of R that are due, what is due at the time t waits t (R / C − 1) longer than the
    first: half of the connections wait longer than half of that at the end. So twice the median's wait beyond
    the shortest, over the time, is R / C − 1, and near 0 where the server keeps up. The median is not moved
    by the few that were lost and sent again.
    """
    up_us = decode(done.histograms_ns["operation"])
    shortest_us, median_us = up_us.percentiles_us((0.0, 50.0))
    return 2 * (median_us - shortest_us) / (lasting_s * 1e6)
