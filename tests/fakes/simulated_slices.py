"""Thousands of simulated sittings at once: what slices would show of cases whose true cost is known.

A case's slices cost what the case costs, times what its connections of this block happen to cost, times what
happens to them: noise of each slice, what the whole machine does meanwhile, and bursts of other work. The
median of pairs is restated here for arrays; test_slices_simulated.py checks that the program gives the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log1p

import numpy as np

from simulated_studies import Array

Disturbance = Callable[[np.random.Generator, tuple[int, ...]], Array]


def _bursts(share: float, *, rounds: int = 1) -> Disturbance:
    """Other work that hits this share of the slices, of any case, as long as this many rounds last."""

    def hits(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
        begun = random.random(shape) < share / rounds
        hit = np.zeros(shape, dtype=bool)
        for later in range(rounds):
            hit[:, :, later:] |= begun[:, :, : shape[2] - later]
        return hit * random.exponential(size=shape)

    return hits


def _shared(steps: Callable[[np.random.Generator, tuple[int, ...]], Array]) -> Disturbance:
    """What the whole machine does, to all slices of a round alike; noise of each slice beside it."""
    return lambda random, shape: (
        0.04 * random.standard_normal(shape) + steps(random, (*shape[:3], 1)).astype(float)
    )


def _wandering(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A first-order autoregression over rounds."""
    steps = random.standard_normal(shape)
    for place in range(1, shape[2]):
        steps[:, :, place] = 0.9 * steps[:, :, place - 1] + 0.44 * steps[:, :, place]
    return 0.1 * steps


def _with_noise(disturbance: Disturbance) -> Disturbance:
    return lambda random, shape: 0.04 * random.standard_normal(shape) + disturbance(random, shape)


KINDS: dict[str, Disturbance] = {
    "noise": lambda random, shape: 0.04 * random.standard_normal(shape),
    "heavy tails": lambda random, shape: 0.03 * random.standard_t(3, size=shape),
    "skew": lambda random, shape: 0.06 * random.exponential(size=shape),
    "bursts": _with_noise(_bursts(0.1)),
    "long bursts": _with_noise(_bursts(0.15, rounds=4)),
    "drift": _shared(lambda random, shape: 0.3 * random.standard_normal((*shape[:2], 1, 1)) * _over(shape)),
    "steps": _shared(lambda random, shape: 0.25 * (_over(shape) > random.random((*shape[:2], 1, 1)))),
    "autocorrelation": _shared(_wandering),
}
"""What is added to the logarithm of what a slice costs; shape: study, block, round, case."""


def _over(shape: tuple[int, ...]) -> Array:
    """From 0 in the first round of a block to 1 in its last."""
    return np.linspace(0.0, 1.0, shape[2]).reshape(1, 1, -1, 1)


@dataclass(frozen=True)
class Sitting:
    """What a simulated sitting is like: its rounds, and how much of a cost is the luck of its connections."""

    kind: str
    rounds: int = 40
    connections: float = 0.005
    cases: int = 3


def costs(sitting: Sitting, *, effect: float, studies: int, blocks: int, seed: int) -> Array:
    """Ln of what each slice costs an operation: study, block, round, case. The last case has the effect."""
    random = np.random.default_rng(seed)
    shape = (studies, blocks, sitting.rounds, sitting.cases)
    luck = sitting.connections * random.standard_normal((studies, blocks, 1, sitting.cases))
    found = luck + KINDS[sitting.kind](random, shape)
    found[..., -1] += log1p(effect)
    return found


def blocks_of(found: Array) -> Array:
    """The medians of pairs, as `simulated_studies.run` wants them: study, block, one group, case.

    The first case is the baseline; of three or more the second is its control. That is compared with the
    baseline alone, the others with both.
    """
    to_baseline = np.median(found - found[..., :1], axis=2)
    if found.shape[-1] > 2:
        to_control = np.median(found - found[..., 1:2], axis=2)
        to_baseline[..., 2:] = (to_baseline[..., 2:] + to_control[..., 2:]) / 2
    return to_baseline[:, :, None, :]


def totals_of(found: Array) -> Array:
    """The same from all slices of a block together, each of which has as many operations."""
    totals = np.log(np.exp(found).sum(axis=2))
    return (totals - totals[..., :1])[:, :, None, :]


def closed_loop(
    operations: float, cost: float, *, slices: int, random: np.random.Generator
) -> tuple[Array, Array]:
    """Slices of one connection that has about N operations of cost 1 in each: operations and length.

    Latencies are gamma distributed, with a standard deviation of 0.4 of their mean. What was begun within the
    slice is finished, and the slice ends with it.
    """
    most = int(2 * operations / cost) + 8
    answers = (cost * random.gamma(6.25, 0.16, size=(slices, most))).cumsum(axis=1)
    done = 1 + (answers < operations).sum(axis=1)
    return done, answers[np.arange(slices), done - 1]
