"""What the self-bench compares, and in which order: cells, contestants, blocks, turns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product
from random import Random
from typing import Literal

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from tlstax.contract import Frozen
from tlstax.plan import turns
from tlstax.plan.order import shuffled
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

WHOLE: Contestant = "sysbench"
"""Cannot stop in the middle of a run: all that it does of a cell and block is one window."""

BESIDE: Contestant = "engine"
"""Whom that is compared with: it works for as long just before that window and just after it."""

WINDOW_S = 0.5
"""How long that window is: what disturbs a machine for longer than that hits those that are compared alike.
Starting sysbench takes as long, so that a much shorter one would be most of all waiting."""

SLICED_S = 0.3
"""How long the slices of a contestant are together, unless there would be fewer than two."""

LONGEST_SLICE_S = 0.5
"""Of many connections that reconnect. At its end fewer and fewer are left, but of all contestants alike."""

WATCHED_S = 0.1
"""How long each of those that take turns works alone before them, for the server to count what it claims."""


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


class Lengths(Frozen):
    """How a cell is measured: in slices of `slice_s`, of which each contestant has `rounds`, and a window.

    Half of the rounds are before the window of the contestant that has one, and half after it. Whoever is
    compared with that one has two slices more, of `window_s`, between which the window is.
    """

    slice_s: PositiveFloat
    rounds: PositiveInt
    window_s: PositiveFloat

    @property
    def slices_are_shorter(self) -> bool:
        """Whether slices are shorter than the window, so that they cannot be compared with it.

        A slice finds another's data in the processor's caches, as a window does, but more often: on a busy
        machine the engine in slices of 20 ms was 9 and 15 % dearer than itself in windows of 0.4 s. In slices
        as long as the window no difference was seen.
        """
        return self.slice_s < self.window_s


Round = tuple[Contestant, ...]
"""Who has a slice, in this order."""


class Sitting(Frozen):
    """A cell's contestants in one block: they take turns, and one has its window between the rounds.

    `number` counts the sittings of the block from 0. `trials` has one trial of each contestant, in the order
    in which they sit down; whoever works in one window comes last, when the others have been proved. That
    window is between the two halves of the `rounds`.
    """

    number: NonNegativeInt
    trials: tuple[Trial, ...]
    lengths: Lengths
    rounds: tuple[Round, ...]

    @property
    def cell(self) -> Cell:
        """What they are asked to do."""
        return self.trials[0].cell

    @property
    def block(self) -> int:
        """The block that all of them belong to."""
        return self.trials[0].block


def lengths(cell: Cell, window_s: float = WINDOW_S) -> Lengths:
    """How long slices and window of a cell are: a window lasts `window_s`, or as long as a slice."""
    slice_s = min(LONGEST_SLICE_S, turns.slice_s([cell.levels()], whole=True))
    rounds = 2 * max(1, round(SLICED_S / slice_s / 2))
    return Lengths(slice_s=slice_s, rounds=rounds, window_s=max(window_s, slice_s))


def blocks(
    chosen: Sequence[Cell], present: Collection[Contestant], seed: int, window_s: float = WINDOW_S
) -> Iterator[tuple[Sitting, ...]]:
    """Blocks without end: in each the cells in random order, in each cell the rounds in random order.

    What is compared is close in time, so that a machine that drifts drifts little in between. For the draws
    see `tlstax.plan.order`.
    """
    generator = Random(seed)  # noqa: S311 (an order, not a secret)
    block = 0
    while True:
        position = 0
        found = []
        for number, cell in enumerate(shuffled(chosen, generator)):
            contestants = contestants_of(cell, present)
            in_turns = [name for name in contestants if name != WHOLE]
            order = [*shuffled(in_turns, generator), *(name for name in contestants if name == WHOLE)]
            trials = tuple(
                Trial(block=block, position=position + place, cell=cell, contestant=name)
                for place, name in enumerate(order)
            )
            position += len(trials)
            of_cell = lengths(cell, window_s)
            rounds = tuple(tuple(shuffled(in_turns, generator)) for _ in range(of_cell.rounds))
            found.append(Sitting(number=number, trials=trials, lengths=of_cell, rounds=rounds))
        yield tuple(found)
        block += 1
