"""Series with planted values: what every case of a study measures in each block, without a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import exp

from tlstax.plan.order import cases
from tlstax.stats.series import Series
from tlstax.study import Case, Levels, Study
from tlstax.study.factors import CaseLevels

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
    """A factor that is off by this much, up and down by turns, and by more in every other pair of blocks."""
    return 1 + size * (1 if block % 2 else -1) * (1 + (block // 2) % 2)


Blocks = dict[int, float]
"""What one case measures, by block."""

WIGGLE = (-0.01, 0.0, 0.01)
HALF_OF_WIGGLE = 6.20535 * 0.0057735
"""Half an interval of three blocks that wiggle so: t(2) at 97.5 % times their standard error."""


def steady(point: float, blocks: int = 3) -> Blocks:
    """The same in every block."""
    return dict.fromkeys(range(blocks), point)


def wiggling(point: float, blocks: int = 3) -> Blocks:
    """Off by WIGGLE, a logarithm, in three blocks or fewer."""
    return {block: point * exp(WIGGLE[block]) for block in range(blocks)}


def series_of(
    study: Study,
    measured: Iterable[tuple[Levels, Blocks]],
    outcome: str = "ops_per_s",
    controls: Iterable[tuple[Levels, Blocks]] = (),
) -> Series:
    """The series of these cases in one outcome, whatever the study plans; plaintext is the baseline."""
    own, again = (
        {
            CaseLevels.of(levels): {block: {outcome: value} for block, value in blocks.items()}
            for levels, blocks in side
        }
        for side in (measured, controls)
    )
    cases = {
        levels: Case(levels=levels, role="baseline" if levels.get("tls") == "off" else "treatment")
        for levels in own
    }
    return Series(study=study, cases=cases, values=own, controls=again)
