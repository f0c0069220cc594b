"""The largest size that still does, found by doubling and halving; each is tried until it is told. Pure.

A try is one storm, which either does (99 % of its connections were up in time) or does not. A size does when
more than half of all storms of that size would, with the confidence that is asked for: the interval of
Clopper and Pearson (1934), Biometrika 26(4), of the share of tries that did, lies above a half. Tries of one
size are independent, connections of one storm are not, so tries are what is counted. A size that is not told
after the most tries lies at the limit itself, and counts as too large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tlstax.probes.storms.document import Tried, Verdict

HALF = 0.5
MOST_TRIES = 15
"""Of a size whose storms do as often as not, no number of tries tells; after so many it is left."""

STEP = 2.0
FINE = 1.06
"""Sizes are doubled until one is too large; then those between are halved until they differ by 6 %."""

Try = Callable[[int], bool]
"""Carries out a storm of so many connections; whether it did."""


@dataclass
class Search:
    """The search for one kind of connection. `tried` grows as it goes on, so that Ctrl-C keeps what is known.

    `smallest` is where it begins, `largest` what it never exceeds.
    """

    smallest: int
    largest: int
    confidence: float = 0.95
    tried: list[Tried] = field(default_factory=list)

    def run(self, attempt: Try) -> None:
        """Try sizes until the limit is known to 6 %, or the largest does, or the smallest does not."""
        for size in self._sizes():
            self.tried.append(_told(size, attempt, self.confidence))

    @property
    def does(self) -> int | None:
        """The largest size that does; None where not even the smallest does."""
        return max((own.connections for own in self.tried if own.verdict == "does"), default=None)

    @property
    def too_many(self) -> int | None:
        """The smallest size above it that does not, or is not told; None where the largest does."""
        above = [own.connections for own in self.tried if own.verdict != "does"]
        return min(above, default=None)

    def _sizes(self) -> Iterator[int]:
        size = self.smallest
        while self.too_many is None:
            yield size
            if size == self.largest:
                break
            size = min(self.largest, round(size * STEP))
        while self.does is not None and self.too_many is not None and self.too_many > self.does * FINE:
            between = round((self.does * self.too_many) ** 0.5)
            if between in {self.does, self.too_many}:
                return
            yield between


def _told(size: int, attempt: Try, confidence: float) -> Tried:
    """Try one size until it is told."""
    did = tries = 0
    verdict: Verdict = "not told"
    while verdict == "not told" and tries < MOST_TRIES:
        did += attempt(size)
        tries += 1
        verdict = verdict_of(did, tries, confidence)
    return Tried(connections=size, tries=tries, did=did, verdict=verdict)


def verdict_of(did: int, tries: int, confidence: float) -> Verdict:
    """Whether so many of so many tries show that more than half would, or that fewer would."""
    from scipy.stats import binomtest  # noqa: PLC0415 (takes a second to import)

    if binomtest(did, tries, HALF, alternative="greater").pvalue <= 1 - confidence:
        return "does"
    if binomtest(did, tries, HALF, alternative="less").pvalue <= 1 - confidence:
        return "does not"
    return "not told"
