"""Series with planted values: what every case of a study measures in each block, without a run."""

from __future__ import annotations

from collections.abc import Callable

from tlstax.plan.order import cases
from tlstax.stats.series import Series
from tlstax.study import Levels, Study

Planted = Callable[[Levels, int], dict[str, float]]
"""The outcomes of a case in a block."""


def planted_series(study: Study, planted: Planted, *, blocks: int = 8) -> Series:
    """The series of a study in which every case measures what is planted."""
    planned = {case.levels: case for case in cases(study) if case.role != "control"}
    values = {
        at: {block: planted(case.levels, block) for block in range(blocks)} for at, case in planned.items()
    }
    return Series(study=study, cases=planned, values=values, controls={})


def wobble(block: int, size: float = 0.01) -> float:
    """A factor that is off by so much, up and down by turns, and by more in every other pair of blocks."""
    return 1 + size * (1 if block % 2 else -1) * (1 + (block // 2) % 2)
