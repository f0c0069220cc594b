"""What the self-bench compares, and in which order: cells, contestants, blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product
from random import Random
from typing import Literal, TypeVar

from pydantic import NonNegativeInt, PositiveInt

from tlstax.contract import Frozen
from tlstax.study import Level
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest

Workload = Literal["point-select", "reconnect"]
Tls = Literal["off", "1.3", "1.3-resumed"]
Contestant = Literal["engine", "sysbench", "floor"]

WORKLOADS: tuple[Workload, ...] = ("point-select", "reconnect")
TLS_LEVELS: tuple[Tls, ...] = ("off", "1.3", "1.3-resumed")
CONNECTIONS = (1, 8, 64, 512)

CONTESTANTS: tuple[Contestant, ...] = ("engine", "sysbench", "floor")
"""The engine, what it is compared with, and the least that any client must do."""

RESUMED: Tls = "1.3-resumed"
"""Resumption concerns new connections alone, and only the engine can do it."""

Item = TypeVar("Item")


class Cell(Frozen):
    """What all contestants are asked to do: a workload, a TLS level, N connections."""

    workload: Workload
    tls: Tls
    connections: PositiveInt

    def levels(self) -> dict[str, Level]:
        """The levels of the factors that `jobs.job_for` makes a job of."""
        return {
            "workload": self.workload,
            "tls": self.tls.removesuffix("-resumed"),
            "resumption": "on" if self.tls == RESUMED else "off",
            "connections": self.connections,
        }


class Trial(Frozen):
    """A cell, run once by one contestant; `block` and `position` within it count from 0."""

    block: NonNegativeInt
    position: NonNegativeInt
    cell: Cell
    contestant: Contestant


def cells(
    workloads: Sequence[str] = WORKLOADS,
    tls_levels: Sequence[str] = TLS_LEVELS,
    connections: Sequence[int] = CONNECTIONS,
) -> tuple[Cell, ...]:
    """The cells of these levels, in their order. UserMistake for a level that does not exist.

    A resumed session makes no difference to a connection that is kept, so those cells are left out.
    """
    for chosen, known, option in (
        (workloads, WORKLOADS, "--workload"),
        (tls_levels, TLS_LEVELS, "--tls"),
    ):
        for level in chosen:
            if level not in known:
                raise UserMistake(
                    f"{option}: the self-bench has no {level!r}{closest(level, known)}",
                    remedy=f"allowed are {', '.join(known)}",
                )
    found = tuple(
        Cell.model_validate({"workload": workload, "tls": tls, "connections": many})
        for workload, tls, many in product(workloads, tls_levels, connections)
        if workload == "reconnect" or tls != RESUMED
    )
    if not found:
        raise UserMistake(
            f"--tls: {RESUMED} concerns new connections only", remedy="ask for it with --workload reconnect"
        )
    return found


def contestants_of(cell: Cell, present: Collection[Contestant]) -> tuple[Contestant, ...]:
    """Who takes part in a cell, of those that are available: all of them, or the engine alone."""
    return tuple(
        name for name in CONTESTANTS if name in present and (name == "engine" or cell.tls != RESUMED)
    )


def trials_in_block(chosen: Sequence[Cell], present: Collection[Contestant]) -> int:
    """How many trials a block has."""
    return sum(len(contestants_of(cell, present)) for cell in chosen)


def blocks(chosen: Sequence[Cell], present: Collection[Contestant], seed: int) -> Iterator[tuple[Trial, ...]]:
    """Blocks without end: in each the cells in random order, in each cell its contestants in random order.

    Contestants of a cell follow right after one another: what is compared is close in time, so that a
    machine that drifts drifts little in between. For the draws, and why not `shuffle`, see
    `tlstax.plan.blocks`.
    """
    generator = Random(seed)  # noqa: S311 (an order, not a secret)
    block = 0
    while True:
        order = [
            (cell, contestant)
            for cell in _shuffled(chosen, generator)
            for contestant in _shuffled(contestants_of(cell, present), generator)
        ]
        yield tuple(
            Trial(block=block, position=position, cell=cell, contestant=contestant)
            for position, (cell, contestant) in enumerate(order)
        )
        block += 1


def _shuffled(items: Sequence[Item], generator: Random) -> list[Item]:
    draws = [generator.random() for _ in items]
    return [items[place] for place in sorted(range(len(items)), key=draws.__getitem__)]
