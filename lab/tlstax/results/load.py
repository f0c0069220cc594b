"""What a run shows of the machines that its load came from, as frozen types."""

from __future__ import annotations

from typing import Literal

from tlstax.contract import Frozen
from tlstax.records.load import LoadStep
from tlstax.records.trial import Machine
from tlstax.study import Level

Limit = Literal["server", "clients", "neither", "unknown"]
"""Whose processors had no room for more; unknown where the server's are out of reach."""


class LoadShare(Frozen):
    """A machine that load came from, and its part of all operations (0.5 is half)."""

    name: str
    machine: Machine
    share: float


class LoadLimit(Frozen):
    """How busy both sides were with a case, as shares of their CPUs' time (the median over trials).

    `server_busy` is None where the server is out of reach; `clients_busy` is that of the busiest machine.
    """

    case: dict[str, Level]
    label: str
    server_busy: float | None
    clients_busy: float
    limit: Limit


class LoadFound(Frozen):
    """The machines that a run's load came from, how exactly they began together, and what limited the load.

    `steps` is what the pilot saw, `offered` how many machines there were. `skew_us` is the median over trials
    of how far apart the beginnings of a slice lay, `clock_error_us` how exactly that is known.
    """

    server_address: str
    machines: tuple[LoadShare, ...]
    offered: int
    steps: tuple[LoadStep, ...]
    skew_us: float
    clock_error_us: float
    limits: tuple[LoadLimit, ...]
    sentences: tuple[str, ...]
