"""What a run on several machines shows of each of them, as frozen types."""

from __future__ import annotations

from typing import Literal

from pydantic import NonNegativeInt

from tlstax.contract import Frozen
from tlstax.records.trial import Machine
from tlstax.results.interval import Interval
from tlstax.study import Level

Scope = Literal["these two machines", "machines of their kinds"]
"""What an interval over machines is of: of two, each of these; of more, the mean of machines of their kinds,
in the shares in which they are here."""


class MeasuringMachine(Frozen):
    """A machine of a run and how many of its blocks it measured; None where the run did not describe it."""

    name: str
    blocks: NonNegativeInt
    machine: Machine | None


class OwnRatio(Frozen):
    """A ratio as one machine alone shows it, over its own blocks."""

    machine: str
    ratio: Interval


class MachineRatios(Frozen):
    """One outcome of one case against its baseline, pooled over machines and on each of them.

    `by_chance` is how likely machines that are alike would differ as much (0.01 is 1 %), None where there are
    too few blocks to tell; `differ` is whether they differ beyond chance, of all ratios that were tested.
    """

    outcome: str
    unit: str
    case: dict[str, Level]
    baseline: dict[str, Level]
    label: str
    ratio: Interval
    own: tuple[OwnRatio, ...]
    by_chance: float | None
    differ: bool


class Machines(Frozen):
    """The machines of a run with several, what its intervals are of, and each machine's own ratios.

    `kinds` counts processors that differ by name or number of cores. `reading` says in words what intervals
    are of, `sentences` where machines differ beyond chance.
    """

    machines: tuple[MeasuringMachine, ...]
    kinds: int
    scope: Scope
    ratios: tuple[MachineRatios, ...]
    reading: str
    sentences: tuple[str, ...]
