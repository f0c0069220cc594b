"""Sums and differences of what clients opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tlstax.contract import Counts, Handshakes


def total(parts: Iterable[Counts]) -> Counts:
    """All of these together."""
    connections, handshakes, ways = 0, Counter[Handshakes](), Counter[str]()
    for part in parts:
        connections += part.connections
        handshakes += _by_kind(part)
        ways += Counter(part.authentications)
    return _counts(connections, handshakes, ways)


def less(counts: Counts, part: Counts) -> Counts:
    """What is left of these counts without a part of them. What the part has more of leaves nothing."""
    return _counts(
        max(0, counts.connections - part.connections),
        _by_kind(counts) - _by_kind(part),
        Counter(counts.authentications) - Counter(part.authentications),
    )


def _by_kind(counts: Counts) -> Counter[Handshakes]:
    """How often each kind of handshake was made; a kind is its handshakes with a count of one."""
    found = Counter[Handshakes]()
    for seen in counts.handshakes:
        found[seen.model_copy(update={"count": 1})] += seen.count
    return found


def _counts(connections: int, handshakes: Mapping[Handshakes, int], ways: Mapping[str, int]) -> Counts:
    return Counts(
        connections=connections,
        handshakes=tuple(kind.model_copy(update={"count": count}) for kind, count in handshakes.items()),
        authentications=dict(ways),
    )
