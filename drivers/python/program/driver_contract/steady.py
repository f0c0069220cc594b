"""When a warm-up has done its work: CPU time per operation no longer falls."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from statistics import median

SLICE_S = 0.1
COMPARED = 5
STEADY_AT_LEAST = 0.95
"""The later median of CPU per operation, as a part of the earlier one (contract/README.md)."""


@dataclass(frozen=True)
class Slice:
    """A part of the warm-up: when it ended, what was done in it, and the process's CPU time."""

    elapsed_s: float
    operations: int
    cpu_us: float

    @property
    def cpu_us_per_op(self) -> float:
        """Infinite where nothing was done."""
        return self.cpu_us / self.operations if self.operations else inf


def is_steady(slices: list[Slice]) -> bool:
    """Whether the last five slices cost at least 0.95 of what the five before them did, per operation."""
    if len(slices) < 2 * COMPARED:
        return False
    costs = [each.cpu_us_per_op for each in slices[-2 * COMPARED :]]
    before, after = median(costs[:COMPARED]), median(costs[COMPARED:])
    return after < inf and after >= STEADY_AT_LEAST * before
