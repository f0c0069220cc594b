"""The Universal Scalability Law, fitted to throughputs at several sizes. Pure.

X(N) = λ·N / (1 + σ·(N − 1) + κ·N·(N − 1)): λ is what one alone achieves, σ the contention (the part that only
one at a time can do), κ the coherence (what each has to settle with each of the others). With κ = 0 it is
Amdahl's law; with κ above nothing throughput has a peak, at N = √((1 − σ)/κ) (Gunther, "Guerrilla Capacity
Planning", 2007, chapter 4).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import NamedTuple

import numpy as np

FEWEST_SIZES = 4
"""Three sizes would be met exactly by three parameters, whatever was measured."""


class Law(NamedTuple):
    """A law's parameters; `single` is in the unit of the throughputs, the others have none."""

    single: float
    contention: float
    coherence: float

    def at(self, size: float) -> float:
        """The throughput of so many."""
        slower = 1 + self.contention * (size - 1) + self.coherence * size * (size - 1)
        return self.single * size / slower

    @property
    def peak(self) -> float | None:
        """At which size throughput is highest; None where it never falls."""
        if self.coherence <= 0 or self.contention >= 1:
            return None
        return sqrt((1 - self.contention) / self.coherence)


def fitted(throughputs: Mapping[int, float]) -> Law | None:
    """The law nearest to throughputs (above zero) by their sizes; None for too few, or if none is near.

    N/X is linear in N − 1 and N·(N − 1), so that least squares has one answer and needs no start. Each
    equation is divided by its own N/X: what counts is how far a throughput is off relative to itself.
    Parameters may come out below nothing, by chance or because several do more than as many times one:
    what is cut off at nothing would be too high in the mean.
    """
    if len(throughputs) < FEWEST_SIZES:
        return None
    sizes = np.array(sorted(throughputs), dtype=float)
    times = sizes / np.array([throughputs[int(size)] for size in sizes])
    terms = np.stack([np.ones_like(sizes), sizes - 1, sizes * (sizes - 1)], axis=1) / times[:, None]
    (alone, contention, coherence), *_ = np.linalg.lstsq(terms, np.ones_like(sizes), rcond=None)
    if alone <= 0:
        return None
    return Law(float(1 / alone), float(contention / alone), float(coherence / alone))
