"""What a server shares with the laboratory in memory: CPU time to be burned, locks counted by callers."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

BURN_VARIABLE = "TLSTAX_BURN"
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


LOCKS_VARIABLE = "TLSTAX_LOCKS"
"""The environment variable by which the library learns where its page is."""

KINDS = {1: "mutex", 2: "read lock", 3: "write lock", 4: "spin lock", 5: "wait", 6: "wake"}
"""What is counted, as `enum kind` in faults/count_locks.c has it."""

_HEADER, _SITE, _SITES = 16 * 8, struct.Struct("<10Q"), 8190
_WORD, _PLANTED_AT, _EVERYONE_AT, _ACCEPTED_AT = struct.Struct("<Q"), 8, 16, 32
_SIDE_SHIFT = 8
"""As `struct page` has them."""


class Site(NamedTuple):
    """Where a lock is taken: the kind of call, and the return addresses of who called, the nearest first.

    `side` is for whom the program said that it worked then, 0 where it said nothing.
    """

    kind: str
    callers: tuple[int, ...]
    side: int = 0


class Taken(NamedTuple):
    """How often so far, how often it was not free, how often another thread had taken the lock last."""

    calls: int
    contended: int
    moved: int


class LockPage:
    """A page in a file of a server's own directory, which stays for as long as that."""

    def __init__(self, path: Path) -> None:
        """Make the file, with nothing counted. OSError where that fails."""
        self.path = path
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(bytes(_HEADER + _SITES * _SITE.size))
        with path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), 0)

    def forget(self) -> None:
        """Begin anew: nothing is counted, nothing was lost. Only while nobody takes locks."""
        _WORD.pack_into(self._bytes, 0, 0)
        self._bytes[_HEADER:] = bytes(len(self._bytes) - _HEADER)

    @property
    def lost(self) -> int:
        """How many calls found no room: their sites are too many."""
        return int(_WORD.unpack_from(self._bytes)[0])

    @property
    def accepted(self) -> int:
        """How many connections the program has accepted."""
        return int(_WORD.unpack_from(self._bytes, _ACCEPTED_AT)[0])

    def plant(self, locks: int) -> None:
        """From now on, have as many locks more be taken for each connection that is accepted."""
        _WORD.pack_into(self._bytes, _PLANTED_AT, locks)

    def count_everyone(self) -> None:
        """From now on, count on every thread, and not on those alone that serve connections."""
        _WORD.pack_into(self._bytes, _EVERYONE_AT, 1)

    def read(self) -> dict[Site, Taken]:
        """Everything counted so far. Exact where nobody takes locks meanwhile."""
        found = {}
        for key, kind_of_side, *rest in _SITE.iter_unpack(self._bytes[_HEADER:]):
            side, kind = divmod(kind_of_side, 1 << _SIDE_SHIFT)
            if key and kind in KINDS:
                *callers, calls, contended, moved = rest
                site = Site(KINDS[kind], tuple(caller for caller in callers if caller), side)
                found[site] = Taken(calls, contended, moved)
        return found


@dataclass(frozen=True)
class ClientLocks:
    """The library that counts a load client's locks, where a server's are counted, and their page."""

    library: Path
    page: LockPage


def taken_between(before: Mapping[Site, Taken], after: Mapping[Site, Taken]) -> dict[Site, Taken]:
    """What was counted from one reading to the next; sites without a call in between are left out."""
    nothing = Taken(0, 0, 0)
    found = {}
    for site, now in after.items():
        then = before.get(site, nothing)
        if now.calls > then.calls:
            found[site] = Taken(*(a - b for a, b in zip(now, then, strict=True)))
    return found
