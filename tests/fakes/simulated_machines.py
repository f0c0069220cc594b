"""Simulated runs on machines whose own ratios are known: how often an interval misses what it is of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tlstax.results.interval import Interval
from tlstax.stats.pooling import Pooling

CONFIDENCE = 0.95

Pool = Callable[[Pooling, Mapping[int, float]], Interval]
"""What makes an interval of the logarithms of a run's blocks."""


@dataclass(frozen=True)
class Machines:
    """A run's machines: how many blocks each has, and how far they differ.

    `apart` is the variance of machines' own ratios in that of one block. Machines of `kinds` come in equal
    shares of each, and differ by kind alone: ever the same kinds, or `drawn` anew for each run.
    """

    blocks: tuple[int, ...]
    apart: float
    kinds: int = 0
    drawn: bool = False

    def own(self, random: np.random.Generator) -> list[float]:
        """The logarithm of each machine's own ratio; that of the mean of all machines is nothing."""
        size = self.apart**0.5
        if not self.kinds:
            return [float(size * off) for off in random.normal(size=len(self.blocks))]
        kinds = random.normal(size=self.kinds) if self.drawn else np.linspace(-1.0, 1.0, self.kinds)
        each = len(self.blocks) // self.kinds
        return [float(size * kinds[place // each]) for place in range(len(self.blocks))]


def pooled(pooling: Pooling, values: Mapping[int, float]) -> Interval:
    """As the program does it."""
    return pooling.difference(values)


def missed(machines: Machines, *, runs: int, seed: int, pool: Pool = pooled) -> float:
    """Which share of runs has an interval that misses what it is of (`_misses`)."""
    random = np.random.default_rng(seed)
    return float(np.mean([_missed(machines, random, pool) for _ in range(runs)]))


def missed_by_stopping(  # noqa: PLR0913 (a run's machines, its rule, and how often it is simulated)
    machines: Machines, precision: float, *, minimum: int, runs: int, seed: int, pool: Pool = pooled
) -> float:
    """The same of runs that look after every block, and stop where the half width is `precision`.

    Machines take turns; `machines.blocks` are what the budget has room for.
    """
    random = np.random.default_rng(seed)
    return float(np.mean([_stopped(machines, precision, minimum, random, pool) for _ in range(runs)]))


def _missed(machines: Machines, random: np.random.Generator, pool: Pool) -> bool:
    own = machines.own(random)
    names = [place for place, blocks in enumerate(machines.blocks) for _ in range(blocks)]
    values = {block: own[place] + float(random.normal()) for block, place in enumerate(names)}
    return _misses(pool(_pooling(names), values), own)


def _stopped(
    machines: Machines, precision: float, minimum: int, random: np.random.Generator, pool: Pool
) -> bool:
    own = machines.own(random)
    names = list(_turns(machines.blocks))
    values: dict[int, float] = {}
    found = None
    for block, place in enumerate(names):
        values[block] = own[place] + float(random.normal())
        if len(values) >= minimum:
            found = pool(_pooling(names), values)
            if found.low is not None and found.high is not None and (found.high - found.low) / 2 <= precision:
                break
    assert found is not None
    return _misses(found, own)


def _turns(blocks: Sequence[int]) -> Iterator[int]:
    for turn in range(max(blocks)):
        yield from (place for place, most in enumerate(blocks) if turn < most)


def _pooling(names: Sequence[int]) -> Pooling:
    return Pooling(CONFIDENCE, {block: f"m{place}" for block, place in enumerate(names)})


def _misses(found: Interval, own: Sequence[float]) -> bool:
    """Of two machines, whether one's own ratio is outside; of more, whether the mean of all such ones is."""
    if found.low is None or found.high is None:
        return True
    held = own if len(own) == 2 else [0.0]
    return not found.low <= min(held) <= max(held) <= found.high
