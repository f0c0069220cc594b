"""What the fault `burn` did in the turns of one case, turn by turn, as frozen types."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from tlstax.contract import Frozen


class Burned(Frozen):
    """What the planted library counted in each turn, in their order: a number for each in every column.

    The turns of a case that takes turns with others are the part of its work that was watched, then its
    slices; of another one there is one, its window. `calls` is how often the server called the function that
    the fault stands for, `asked_ns` what these calls were to burn, all together, as each of them found it,
    and `burned_ns` the CPU time that they have burned. `cpu_ns` is what that was charged to the threads that
    called, by their own CPU clocks: interrupts that hit them meanwhile count, and so does one reading of the
    clock, whatever is burned (empty in older records).
    """

    calls: tuple[int, ...]
    asked_ns: tuple[int, ...]
    burned_ns: tuple[int, ...]
    cpu_ns: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _columns_are_alike(self) -> Self:
        columns = (self.asked_ns, self.burned_ns, *([self.cpu_ns] if self.cpu_ns else []))
        if any(len(column) != len(self.calls) for column in columns):
            raise ValueError("the columns of what was burned have different lengths")
        return self

    def turns(self) -> list[tuple[int, int, int]]:
        """Calls, what they were to burn and what they burned, of each turn."""
        return list(zip(self.calls, self.asked_ns, self.burned_ns, strict=True))
