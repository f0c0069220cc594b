"""What is counted of an operation beside its time: instructions, and locks by the side that takes them.

Instructions, and how many of them are atomic, are counted by callgrind: the same on every run. The program
runs on a simulated processor, and callgrind counts within the one function that does the work: loading and
setting up are no part of it. Valgrind's processor has AES-NI and AVX2 and no AVX-512, so that libraries take
the way that they take on such a one. An atomic instruction is one that locks the bus (see valgrind's manual,
--collect-bus): what locks, counters of references and lock-free structures are made of.

Locks are counted by the library that counts those of servers (`specimens/faults/count_locks.c`), which is
loaded into the program before the C library; the program writes into its page for which side it works.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from tlstax.clients.program import ProgramFailure
from tlstax.observers.symbols import Symbols
from tlstax.records.locks import LOCKS
from tlstax.run.server_pages import named
from tlstax.specimens.fault import Fault
from tlstax.specimens.lock_page import VARIABLE, LockPage, Site, Taken, between
from tlstax.specimens.processes import tool
from tlstax.support import interruption, temporary
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.tools.librarybench.measure import Contestant, Workplace, able
from tlstax.tools.librarybench.program import Bench, LibraryJob
from tlstax.tools.librarybench.records import Instructions, Library, Locks, Order, Taker
from tlstax.tools.librarybench.subjects import Side

OPERATIONS = 64
"""How many are counted: random numbers make one handshake longer than another."""

WITHIN = "tlstax_library_bench::slice"
"""The program's function that does what is ordered (engine/crates/library_bench/src/lib.rs)."""

_TOTALS = re.compile(r"^(?:summary|totals): ([0-9]{1,20})(?: ([0-9]{1,20}))?", re.MULTILINE)
"""All instructions, and those that lock the bus (callgrind's Ir and Ge; a 0 at the end is left out)."""


def valgrind() -> str:
    """The counter's name and version, such as "valgrind-3.24.0". UserMistake where there is none."""
    program = shutil.which("valgrind")
    if program is None:
        raise UserMistake(
            "--instructions: valgrind is not on the PATH",
            remedy="install valgrind, or leave --instructions out",
        )
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "valgrind"


def count_instructions(
    place: Workplace, libraries: Sequence[Library], say: Callable[[str], None]
) -> Iterator[Instructions]:
    """Those of every subject that each library can do. MachineFault where a program fails."""
    for number, which, contestant in able(place, libraries):
        interruption.check()
        say(f"counting the instructions of {contestant.name}: {place.subjects[number].label}")
        all_, atomic = _per_operation(place, contestant, number)
        yield Instructions(subject=number, library=which, per_operation=all_, atomic_per_operation=atomic)


def _per_operation(place: Workplace, contestant: Contestant, number: int) -> tuple[float, float]:
    """Instructions of one operation, both sides together, and how many of them are atomic."""
    with temporary.directory() as folder:
        out = folder / "callgrind.out"
        command = (
            "valgrind",
            "--tool=callgrind",
            "--collect-bus=yes",
            f"--toggle-collect={WITHIN}",
            f"--callgrind-out-file={out}",
            "--quiet",
        )
        job = LibraryJob(contestant.libssl, (place.subjects[number],), place.certificates)
        try:
            with Bench(job, command=command) as bench:
                bench.wait_ready()
                done = bench.slice(Order(subject=0, operations=OPERATIONS))
        except ProgramFailure as failure:
            raise MachineFault(f"{contestant.name} under valgrind: {failure}") from None
        totals = _TOTALS.search(out.read_text(encoding="utf-8", errors="replace")) if out.is_file() else None
    if totals is None or not int(totals[1]):
        raise MachineFault(f"valgrind counted nothing of {contestant.name}")
    return int(totals[1]) / done.operations, int(totals[2] or 0) / done.operations


SIDES: dict[Side, int] = {"client": 1, "server": 2}
"""What the program calls its sides (engine/crates/library_bench/src/sides.rs)."""


def count_locks(
    place: Workplace, libraries: Sequence[Library], counter: Fault, say: Callable[[str], None]
) -> Iterator[Locks]:
    """Those of every subject that each library can do. MachineFault where a program fails."""
    for number, which, contestant in able(place, libraries):
        interruption.check()
        say(f"counting the locks of {contestant.name}: {place.subjects[number].label}")
        for side, takers in _of_sides(place, contestant, number, counter).items():
            yield Locks(subject=number, library=which, side=side, takers=takers)


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
