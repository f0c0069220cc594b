"""Which block is measured on which machine. Pure: it is told what happens, and says what is to be done next.

Blocks are handed out in their order, each to one machine as a whole, since a ratio is taken within a block. A
block whose machine is lost goes to another one if nothing was measured of it yet; else what was measured is
kept as broken off, and a block that nobody has begun takes its place: blocks differ in their order alone, and
there is no end of them. What captured trials show is not compared, so of their block only the rest is done.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median

from tlstax.records.trial import Trial
from tlstax.support.text import counted

Block = tuple[Trial, ...]

SLOW = 0.25
"""A machine that has measured less than this share of what the machines' median has is said to be slow."""


@dataclass
class Dispatch:
    """Hands out blocks.

    `blocks` are those still to be done, without end. `begun_on` has the machine of each that was begun
    before a run was cut off: nobody else goes on with it. `under_way` is who is at which, and
    `measured_by` how many blocks each machine is done with.
    """

    blocks: Iterator[Block]
    begun_on: Mapping[int, str] = field(default_factory=dict)
    under_way: dict[str, Block] = field(default_factory=dict)
    measured_by: Counter[str] = field(default_factory=Counter)
    _waiting: deque[Block] = field(default_factory=deque)

    def next_for(self, machine: str) -> Block:
        """The block that this machine is to measure now; from then on it is under way there."""
        block = self._returned(machine)
        while block is None:
            drawn = next(self.blocks)
            if self._may_have(machine, drawn):
                block = drawn
            else:
                self._waiting.append(drawn)
        self.under_way[machine] = block
        return block

    def done(self, machine: str) -> Block:
        """The machine is done with its block, which is returned."""
        self.measured_by[machine] += 1
        return self.under_way.pop(machine)

    def lost(self, machine: str, measured: set[int]) -> Block | None:
        """The machine is gone; `measured` are the positions of its block of which there are records.

        The block that it was at, None where it had none.
        """
        block = self.under_way.pop(machine, None)
        if block is None:
            return None
        left = tuple(trial for trial in block if trial.position not in measured)
        if left and (not measured or block[0].goes_before):
            self._waiting.appendleft(left)
        return block

    def slow(self, machines: Collection[str]) -> Iterator[str]:
        """A sentence for each of these machines, those still at work, that has done far less than others."""
        usual = median([self.measured_by[name] for name in machines] or [0])
        for name in sorted(machines):
            blocks = self.measured_by[name]
            if blocks < SLOW * usual:
                did = counted(blocks, "block") if blocks else "no block"
                yield f"{name} is slow: it measured {did} while the median machine measured {usual:g}"

    def _returned(self, machine: str) -> Block | None:
        for block in self._waiting:
            if self._may_have(machine, block):
                self._waiting.remove(block)
                return block
        return None

    def _may_have(self, machine: str, block: Block) -> bool:
        return self.begun_on.get(block[0].block, machine) == machine
