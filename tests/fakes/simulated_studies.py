"""Thousands of simulated studies at once: what the stopping rule and the judgement do to the truth.

The rules of `findings.stopping` and `findings.stats` are restated here for arrays, as a study by itself takes
too long; test_stopping_simulated.py checks that both give the same answers. A study has groups of a
baseline, a control and treatments; the effect is planted in the first treatment of the first group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log1p

import numpy as np

from tlstax.stats.stats import t_quantile

Array = np.ndarray
Noise = Callable[[np.random.Generator, tuple[int, ...]], Array]

NOISES: dict[str, Noise] = {
    "log-normal": lambda random, shape: random.normal(size=shape),
    "heavy tails": lambda random, shape: random.standard_t(3, size=shape) / np.sqrt(3),
    "skewed": lambda random, shape: 1 - random.exponential(size=shape),
    "outliers": lambda random, shape: random.normal(size=shape) - 8 * (random.random(shape) < 0.05),
    "drift": lambda random, shape: random.normal(size=shape) + 0.3 * _clock(random, shape),
    "noisy treatments": lambda random, shape: (
        random.normal(size=shape) * np.where(np.arange(shape[-1]) < 2, 0.1, 1.4)
    ),
    "common block effect": lambda random, shape: (
        random.normal(size=shape) + 4 * random.normal(size=(*shape[:2], 1, 1))
    ),
}
"""Noise of the logarithm of a trial's outcome, of standard deviation 1 or so; shape: study, block, group,
case. "noisy treatments" leaves baseline and control almost quiet, so that one interval alone decides when
to stop. "drift" adds a steady change from trial to trial in the order they are run, random within a block;
"common block effect" a change that all trials of a block share, four times as large as the rest."""


def _clock(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """When each trial is run, counted in trials: blocks one after another, cases in random order."""
    studies, blocks, groups, cases = shape
    order = random.random((studies, blocks, groups * cases)).argsort(axis=-1)
    return (order + np.arange(blocks)[None, :, None] * groups * cases).reshape(shape).astype(float)


@dataclass(frozen=True)
class Design:
    """The shape of a study: its comparisons, its stopping rule, and its budget in blocks."""

    groups: int = 1
    treatments: int = 1
    minimum_blocks: int = 5
    most_blocks: int = 60
    precision: float = 0.02
    confidence: float = 0.95


@dataclass(frozen=True)
class Results:
    """Of each simulated study: the block it stopped at, and its first group's log ratios and half widths.

    In `logs` and `halves` the first column is the control, the second the treatment with the effect.
    """

    blocks: Array
    logs: Array
    halves: Array

    def excludes_one(self) -> float:
        """The share of studies in which the treatment's interval excludes 1."""
        return float(np.mean(np.abs(self.logs[:, 1]) > self.halves[:, 1]))

    def told_apart(self) -> float:
        """The share of studies in which the treatment is judged higher or lower."""
        floor = np.maximum(np.abs(self.logs[:, 0]), self.halves[:, 0])
        difference = np.abs(self.logs[:, 1])
        return float(np.mean((difference > self.halves[:, 1]) & (difference > floor)))


def measurements(  # noqa: PLR0913 (what the truth is, and how often it is asked)
    design: Design, noise: str, *, sigma: float, effect: float, studies: int, seed: int
) -> Array:
    """Logarithms of what every trial measures: study, block, group, case (baseline, control, treatments)."""
    random = np.random.default_rng(seed)
    shape = (studies, design.most_blocks, design.groups, design.treatments + 2)
    values = sigma * NOISES[noise](random, shape)
    values[:, :, 0, 2] += log1p(effect)
    return values


def run(design: Design, values: Array) -> Results:
    """Each study until its rule stops it."""
    logs = values[..., 1:] - values[..., :1]
    studies, most = logs.shape[:2]
    number = np.arange(1, most + 1).reshape(1, most, 1, 1)
    means = logs.cumsum(axis=1) / number
    squares = (logs**2).cumsum(axis=1) / number - means**2
    deviations = np.sqrt(np.maximum(squares, 0) * number / np.maximum(number - 1, 1))
    quantiles = np.array([np.inf] + [t_quantile(design.confidence, n) for n in range(2, most + 1)])
    halves = quantiles.reshape(number.shape) * np.maximum(deviations, 1e-300) / np.sqrt(number)
    precise = (np.expm1(halves) <= design.precision).all(axis=(2, 3))
    precise[:, : design.minimum_blocks - 1] = False
    precise[:, -1] = True
    stop = precise.argmax(axis=1)
    each = np.arange(studies)
    return Results(blocks=stop + 1, logs=means[each, stop, 0], halves=halves[each, stop, 0])
