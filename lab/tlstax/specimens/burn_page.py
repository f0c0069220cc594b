"""The page that a server shares with the laboratory: what the fault `burn` is to burn, and has burned."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "TLSTAX_BURN"
"""The environment variable by which the library learns where its page is."""

_BYTES = 4096
_AMOUNT, _COUNTED = 0, slice(8, 12)
"""Places of words of 64 bits, as `struct page` in faults/burn.c has them."""


@dataclass(frozen=True)
class Burnt:
    """So far: calls of the function that the fault stands for, what they were to burn, and have burned.

    `cpu_ns` is what the burning was charged to the threads that called.
    """

    calls: int
    asked_ns: int
    burned_ns: int
    cpu_ns: int

    def since(self, before: Burnt) -> Burnt:
        """What has been added to `before`."""
        return Burnt(
            calls=self.calls - before.calls,
            asked_ns=self.asked_ns - before.asked_ns,
            burned_ns=self.burned_ns - before.burned_ns,
            cpu_ns=self.cpu_ns - before.cpu_ns,
        )


class BurnPage:
    """A page in a file of a server's own directory, which stays for as long as that."""

    def __init__(self, path: Path) -> None:
        """Make the file, with nothing to be burned. OSError where that fails."""
        self.path = path
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(bytes(_BYTES))
        with path.open("r+b") as file:
            self._words = memoryview(mmap.mmap(file.fileno(), _BYTES)).cast("Q")

    def ask(self, amount_ns: int) -> None:
        """From the next call on, burn this much in each."""
        self._words[_AMOUNT] = amount_ns

    def read(self) -> Burnt:
        """What has been counted so far."""
        return Burnt(*self._words[_COUNTED])
