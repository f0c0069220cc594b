"""From resident memory at several numbers of connections to what each further one costs. Pure.

The slope of a process is that of least squares over its numbers of connections; its blocks are processes,
each a round of its own, and of those the mean has its interval (Student's t).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import linear_regression

from tlstax.findings.core.pooling import Pooling
from tlstax.probes.memory.document import Held, KindOfConnection, Tls
from tlstax.results.interval import Interval
from tlstax.support.grouping import grouped

CONFIDENCE = 0.95
FEWEST_SIZES = 2


def kinds(held: Sequence[Held]) -> tuple[KindOfConnection, ...]:
    """What each further connection costs, by kind; a round counts where it has two sizes or more."""
    found = []
    for tls, own in grouped(held, lambda one: one.tls).items():
        rss, pss = slopes(own), slopes(own, shared=True)
        if rss:
            interval = Pooling(CONFIDENCE).difference(rss)
            proportional = Pooling(CONFIDENCE).difference(pss) if pss else None
            found.append(KindOfConnection(tls=tls, rss_bytes=interval, pss_bytes=proportional))
    return tuple(found)


def tls_adds(held: Sequence[Held]) -> dict[Tls, Interval]:
    """What each version of TLS adds to a connection in the clear, round by round."""
    by_kind = grouped(held, lambda one: one.tls)
    plain = slopes(by_kind.get("off", ()))
    found: dict[Tls, Interval] = {}
    for tls, own in by_kind.items():
        more = {place: slope - plain[place] for place, slope in slopes(own).items() if place in plain}
        if tls != "off" and more:
            found[tls] = Pooling(CONFIDENCE).difference(more)
    return found


def slopes(held: Sequence[Held], *, shared: bool = False) -> Mapping[int, float]:
    """Bytes for each further connection, by round; `shared` counts shared pages by their share."""
    found = {}
    for place, own in grouped(held, lambda one: one.round).items():
        points = [(one.connections, one.pss_bytes if shared else one.rss_bytes) for one in own]
        known = [(connections, size) for connections, size in points if size is not None]
        if len(known) >= FEWEST_SIZES:
            numbers, sizes = zip(*known, strict=True)
            found[place] = linear_regression(numbers, sizes).slope
    return found
