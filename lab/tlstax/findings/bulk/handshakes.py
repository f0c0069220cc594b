"""From which size of a result on the handshake is a small part of what its connection costs. Pure.

What TLS adds to a connection with the smallest result is taken for the handshake: there is hardly a byte to
encrypt then. Its share at any size is that, within a block, of the server's CPU time for a connection with a
result of that size. Between two sizes that were measured the cost grows in a straight line with the bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import exp, log
from typing import Protocol

from tlstax.findings.core.series import Series
from tlstax.results.bulk import SMALL_SHARE
from tlstax.results.interval import Interval
from tlstax.study import Levels

SERVER_CPU = "server_cpu_us_per_op"

Costs = Mapping[int, float]
"""CPU time in microseconds in each block."""


class SizedCase(Protocol):
    """A case and the size of its result."""

    @property
    def levels(self) -> Levels:
        """The case's levels."""
        ...

    @property
    def payload_bytes(self) -> int:
        """The bytes of its result."""
        ...


def handshakes(series: Series, steps: Sequence[SizedCase]) -> Costs:
    """What TLS adds to a connection with the smallest result; nothing of plaintext, or where it adds nothing.

    `steps` are one case's, the smallest first.
    """
    least = steps[0].levels
    baseline = series.own_baseline(least)
    if baseline.get("tls") != "off" or least.get("tls") == "off":
        return {}
    own, plain = _costs(series, least), _costs(series, baseline)
    added = {block: own[block] - plain[block] for block in sorted(own.keys() & plain.keys())}
    return added if all(us > 0 for us in added.values()) else {}


def share(series: Series, levels: Levels, added: Costs) -> Interval | None:
    """The handshake's share of what a connection with this result costs."""
    costs = _costs(series, levels)
    logs = {block: log(added[block] / costs[block]) for block in sorted(added.keys() & costs.keys())}
    return series.interval(logs)


def small_from_bytes(series: Series, steps: Sequence[SizedCase], added: Costs) -> Interval | None:
    """The size at which the share is `SMALL_SHARE`; None where a block does not have it between its sizes."""
    sizes = {step.payload_bytes: _costs(series, step.levels) for step in steps}
    found = {block: _size_at(sizes, block, us / SMALL_SHARE) for block, us in added.items()}
    logs = {block: log(size) for block, size in found.items() if size is not None}
    return series.interval(logs) if len(logs) == len(found) else None


def _size_at(sizes: Mapping[int, Costs], block: int, cost_us: float) -> float | None:
    """Where the cost in this block, between two sizes, is as much."""
    known = [(size, costs[block]) for size, costs in sorted(sizes.items()) if block in costs]
    for (small, less), (large, more) in pairwise(known):
        if less <= cost_us <= more and less < more:
            return small + (large - small) * (cost_us - less) / (more - less)
    return None


def _costs(series: Series, levels: Levels) -> dict[int, float]:
    return {block: exp(value) for block, value in series.logs(levels, SERVER_CPU).items()}
