"""From memory at several numbers of connections to what each further one costs. Pure.

The slope of a process is that of least squares over its numbers of connections; its blocks are processes,
each a round of its own, and of those the mean has its interval (Student's t, a quotient's by Fieller).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import linear_regression

from tlstax.findings.core.pooling import Pooling
from tlstax.probes.memory.document import Held, KindOfConnection, Tls, TlsAdds
from tlstax.results.interval import Interval
from tlstax.support.grouping import grouped

POOLING = Pooling(confidence=0.95)
FEWEST_SIZES = 2

Of = Callable[[Held], int | None]


def rss(held: Held) -> int:
    """Resident memory, in bytes."""
    return held.rss_bytes


def pss(held: Held) -> int | None:
    """Resident memory with shared pages by their share, in bytes; None where it was not read."""
    return held.pss_bytes


def threads(held: Held) -> int:
    """How many threads there were."""
    return held.threads


def kinds(held: Sequence[Held]) -> tuple[KindOfConnection, ...]:
    """What each further connection costs, by kind; a round counts where it has two sizes or more."""
    return tuple(
        KindOfConnection(
            tls=tls,
            rss_bytes=POOLING.difference(slopes(own, rss)),
            pss_bytes=_mean(slopes(own, pss)),
            threads=POOLING.difference(slopes(own, threads)),
        )
        for tls, own in _by_kind(held).items()
        if slopes(own, rss)
    )


def tls_adds(held: Sequence[Held]) -> tuple[TlsAdds, ...]:
    """What each version of TLS adds to a connection in the clear, round by round."""
    by_kind = _by_kind(held)
    plain = by_kind.get("off", [])
    found = []
    for tls, own in by_kind.items():
        more, both = _more(plain, own, rss), _both(plain, own, rss)
        if tls != "off" and more:
            found.append(
                TlsAdds(
                    tls=tls,
                    rss_bytes=POOLING.difference(more),
                    rss_ratio=POOLING.quotient(both[1], both[0]) if sum(both[0].values()) > 0 else None,
                    pss_bytes=_mean(_more(plain, own, pss)),
                )
            )
    return tuple(found)


def slopes(held: Sequence[Held], of: Of) -> Mapping[int, float]:
    """What each further connection has of it, by round."""
    found = {}
    for place, own in grouped(held, lambda one: one.round).items():
        points = [(one.connections, of(one)) for one in own]
        known = [(connections, size) for connections, size in points if size is not None]
        if len(known) >= FEWEST_SIZES:
            numbers, sizes = zip(*known, strict=True)
            found[place] = linear_regression(numbers, sizes).slope
    return found


def _by_kind(held: Sequence[Held]) -> dict[Tls, list[Held]]:
    """By kind of connection, in the clear first: rounds have them in random order."""
    return dict(sorted(grouped(held, lambda one: one.tls).items(), key=lambda kind: _ORDER[kind[0]]))


_ORDER: Mapping[Tls, int] = {"off": 0, "1.3": 1, "1.2": 2}


def _both(plain: Sequence[Held], other: Sequence[Held], of: Of) -> tuple[dict[int, float], dict[int, float]]:
    """The slopes of both in the rounds that have both."""
    below, above = slopes(plain, of), slopes(other, of)
    rounds = sorted(below.keys() & above.keys())
    return {place: below[place] for place in rounds}, {place: above[place] for place in rounds}


def _more(plain: Sequence[Held], other: Sequence[Held], of: Of) -> dict[int, float]:
    below, above = _both(plain, other, of)
    return {place: slope - below[place] for place, slope in above.items()}


def _mean(values: Mapping[int, float]) -> Interval | None:
    return POOLING.difference(values) if values else None
