"""What held connections are asked to do, and a trial of it."""

from __future__ import annotations

from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from tlstax.contract import Frozen
from tlstax.study import Level

Tls = Literal["off", "1.3"]


class Cell(Frozen):
    """What the engine is asked to do: a workload, a TLS level, N connections."""

    workload: Literal["point-select"]
    tls: Tls
    connections: PositiveInt

    def levels(self) -> dict[str, Level]:
        """The levels of the factors that `jobs.job_for` makes a job of."""
        return dict(self)


class Trial(Frozen):
    """A cell, run once; `block` and `position` within it count from 0."""

    block: NonNegativeInt
    position: NonNegativeInt
    cell: Cell
    contestant: Literal["engine"]
