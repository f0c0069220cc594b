"""Locks of an operation, by the side that takes them: counted by the library that counts those of servers.

The counting library (`specimens/faults/count_locks.c`) is loaded into the program before the C library, and
the program writes into its page for which side it works.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from tlstax.clients.program import ProgramFailure
from tlstax.librarybench.measure import Contestant, Workplace, able
from tlstax.librarybench.messages import Order
from tlstax.librarybench.program import Bench, LibraryJob
from tlstax.librarybench.records import Library, Locks, Taker
from tlstax.librarybench.subjects import Side
from tlstax.observers.symbols import Symbols
from tlstax.records.locks import LOCKS
from tlstax.run.lock_counting import named
from tlstax.specimens.fault import Fault
from tlstax.specimens.lock_page import VARIABLE, LockPage, Site, Taken, between
from tlstax.specimens.processes import tool
from tlstax.support import interruption, temporary
from tlstax.support.errors import MachineFault

OPERATIONS = 64
"""How many operations are counted, after those that warm up."""

SIDES: dict[Side, int] = {"client": 1, "server": 2}
"""What the program calls its sides (engine/crates/library_bench/src/sides.rs)."""


def count(
    place: Workplace, libraries: Sequence[Library], counter: Fault, say: Callable[[str], None]
) -> Iterator[Locks]:
    """Those of every subject that each library can do. MachineFault where a program fails."""
    for number, which, contestant in able(place, libraries):
        interruption.check()
        say(f"counting the locks of {contestant.name}: {place.subjects[number].label}")
        for side, found in _of_sides(place, contestant, number, counter).items():
            yield Locks(subject=number, library=which, side=side, takers=found)


def _of_sides(
    place: Workplace, contestant: Contestant, number: int, counter: Fault
) -> dict[Side, tuple[Taker, ...]]:
    """Who takes how many locks for an operation, most first."""
    with temporary.directory() as folder:
        page = LockPage(folder / "locks")
        page.count_everyone()
        job = LibraryJob(contestant.libssl, (place.subjects[number],), place.certificates, page.path)
        command = (tool("env"), f"LD_PRELOAD={counter.library}", f"{VARIABLE}={page.path}")
        try:
            with Bench(job, command=command) as bench:
                ready = bench.wait_ready()
                before = page.read()
                done = bench.slice(Order(subject=0, operations=OPERATIONS))
                taken = between(before, page.read())
                symbols = Symbols(ready.pid)
                return {
                    side: _takers(_of_side(taken, word), symbols, done.operations)
                    for side, word in SIDES.items()
                }
        except ProgramFailure as failure:
            raise MachineFault(f"{contestant.name} with its locks counted: {failure}") from None


def _of_side(taken: Mapping[Site, Taken], word: int) -> dict[Site, Taken]:
    return {site: calls for site, calls in taken.items() if site.side == word}


def _takers(taken: Mapping[Site, Taken], symbols: Symbols, operations: int) -> tuple[Taker, ...]:
    """Functions that take locks of any kind, most first."""
    calls: Counter[tuple[str, str]] = Counter()
    for site in named(taken, symbols):
        if site.kind in LOCKS:
            calls[site.library, site.function] += site.calls
    return tuple(
        Taker(library=library, function=function, per_operation=number / operations)
        for (library, function), number in calls.most_common()
    )
