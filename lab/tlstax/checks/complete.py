"""What checks are given, and what they say of it."""

from __future__ import annotations

from typing import NamedTuple

from tlstax.contract import Counts, Done, Handshakes, Ready
from tlstax.records.trial import Evidence, ServerObservation
from tlstax.study import Levels
from tlstax.study.case_levels import CaseLevels


class Complete(NamedTuple):
    """The evidence of a trial that came to its end."""

    levels: Levels
    ready: Ready
    done: Done
    server: ServerObservation
    evidence: Evidence

    @property
    def alone(self) -> Counts:
        """What the client opened while the server could count it alone: less what it opened in turns."""
        lifetime, together = self.done.lifetime, self.evidence.together
        return lifetime if together is None else less(lifetime, together.own)

    @property
    def case(self) -> CaseLevels:
        """What the trial was to be, read from its levels."""
        return CaseLevels.of(self.levels)


def less(counts: Counts, part: Counts) -> Counts:
    """What is left of these counts without a part of them. What the part has more of leaves nothing."""
    taken = {_kind(seen): seen.count for seen in part.handshakes}
    left = [(seen, seen.count - taken.get(_kind(seen), 0)) for seen in counts.handshakes]
    ways = {way: count - part.authentications.get(way, 0) for way, count in counts.authentications.items()}
    return Counts(
        connections=max(0, counts.connections - part.connections),
        handshakes=tuple(seen.model_copy(update={"count": count}) for seen, count in left if count > 0),
        authentications={way: count for way, count in ways.items() if count > 0},
    )


def _kind(seen: Handshakes) -> tuple[object, ...]:
    return seen.version, seen.cipher, seen.group, seen.resumed, seen.hello_retry


class Doubt(NamedTuple):
    """Something found: `reason` makes the trial `weight` (a note leaves it valid)."""

    weight: str
    reason: str
