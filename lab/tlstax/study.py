"""What is to be compared: a study's factors, levels, baseline and exclusions, and its cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import ConfigDict, Field, PositiveFloat, PositiveInt

from tlstax.contract import Frozen

Level = str | int
Levels = Mapping[str, Level]
Role = Literal["baseline", "control", "treatment"]


class Case(Frozen):
    """One level of every factor, and the part it plays in its comparison.

    The control has the baseline's levels; only its role, and so its name, differs.
    """

    levels: dict[str, Level]
    role: Role

    def key(self) -> str:
        """A stable text that tells this case from every other case of the study."""
        factors = " ".join(f"{name}={level}" for name, level in sorted(self.levels.items()))
        return f"{factors} control" if self.role == "control" else factors


class Exclusion(Frozen):
    """Cases that cannot or need not be: those that have all these levels, and why."""

    levels: dict[str, Level]
    why: str


class Study(Frozen):
    """A question and the experiment that answers it; read from TOML, checked here.

    `factors` maps each factor to its levels; the cases are their product less the exclusions.
    `baseline` gives the levels that make a case the one which its neighbours (equal in every other
    factor) are compared with. `precision` is the half width of the wanted interval of the ratio
    (0.02 is two per cent), `deciding_outcome` the outcome that it is wanted for.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    question: str
    factors: dict[str, tuple[Level, ...]]
    baseline: dict[str, Level]
    exclude: tuple[Exclusion, ...] = ()
    deciding_outcome: str = "ops_per_s"
    precision: PositiveFloat = 0.02
    confidence: float = Field(default=0.95, gt=0, lt=1)
    budget_s: PositiveFloat = 60.0
    minimum_blocks: PositiveInt = 5
    rows: PositiveInt = 100_000
