"""A bench of libraries, readable in one function: libraries → certificates → blocks → instructions, locks.

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
import secrets
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from tlstax import __version__
from tlstax.clients.process import ProgramFailure
from tlstax.observers.symbols import Symbols
from tlstax.observers.turn import turn
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.records.window import LOCKS
from tlstax.results.document import RunDocument
from tlstax.run.pilot import machine_of
from tlstax.run.progress import Watcher
from tlstax.run.server_pages import named
from tlstax.specimens import certificates
from tlstax.specimens.certificates import Certificates
from tlstax.specimens.processes import tool
from tlstax.specimens.server_build import Fault
from tlstax.specimens.sessions import open_session
from tlstax.specimens.shared_pages import LOCKS_VARIABLE, LockPage, Site, Taken, taken_between
from tlstax.support import interruption, temporary
from tlstax.support.errors import Interrupted, MachineFault, UserMistake
from tlstax.tools.librarybench.measure import (
    DEFAULT_KEY,
    Bench,
    Contestant,
    LibraryJob,
    Workplace,
    described,
    loadable,
    measure,
)
from tlstax.tools.librarybench.subjects import (
    Instructions,
    Library,
    Locks,
    Order,
    Run,
    Side,
    Sitting,
    Status,
    Subject,
    Taker,
    Turns,
    blocks,
)


@dataclass(frozen=True)
class Request:
    """What is to be compared, for how long. All libraries are compared with the first, itself among them.

    `seed` is None for a random one. With `instructions` those of every operation are counted as well, and
    with a `lock_counter` its locks, after the budget. `beside` is the run that they are set beside.
    """

    contestants: tuple[Contestant, ...]
    subjects: tuple[Subject, ...]
    budget_s: float
    seed: int | None = None
    instructions: bool = False
    lock_counter: Fault | None = None
    beside: RunDocument | None = None
    cpus: AskedCpus = field(default_factory=AskedCpus)
    beside_others: bool = False


def run(request: Request, watcher: Watcher) -> Run:
    """Compare the libraries, and give back what was measured. MachineFault where nothing could be.

    Ctrl-C ends it in order, and so does a failure: a subject that all libraries have had turns at is kept.
    """
    counter = valgrind() if request.instructions else ""
    machine = machine_of(request.cpus)
    with open_session() as session, turn(watcher.warn, beside_others=request.beside_others) as mine:
        watcher.step("making certificates")
        place = Workplace(
            contestants=request.contestants,
            subjects=request.subjects,
            certificates=_certificates(session.new_directory(), request.subjects),
            cpu=machine.client_cpus[0] if machine.client_cpus else None,
        )
        there = loadable(place, watcher.warn)
        place = replace(place, contestants=(*there, there[0].again()))
        libraries = described(place)
        begun = Run(
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            tlstax_version=__version__,
            seed=secrets.randbelow(2**32) if request.seed is None else request.seed,
            budget_s=request.budget_s,
            machine=machine.model_copy(update={"server_cpus": (), "client_cpus": ()}),
            cpu=place.cpu,
            subjects=request.subjects,
            libraries=libraries,
            specimens=tuple(each.library.specimen for each in there if each.library is not None),
            beside=request.beside,
            counted_by=counter,
        )
        found = _Found()
        status, why = _to_its_end(request, begun, place, found, watcher)
        return begun.model_copy(
            update={
                "turns": tuple(found.turns),
                "instructions": tuple(found.instructions),
                "locks": tuple(found.locks),
                "status": status,
                "why": why,
                "beside_another": mine.others(),
            }
        )


@dataclass(frozen=True)
class _Found:
    """What has been measured so far."""

    turns: list[Turns] = field(default_factory=list)
    instructions: list[Instructions] = field(default_factory=list)
    locks: list[Locks] = field(default_factory=list)


def _to_its_end(
    request: Request, begun: Run, place: Workplace, found: _Found, watcher: Watcher
) -> tuple[Status, str]:
    """Fills what is found, and says how it ended. MachineFault where not one block was complete."""
    try:
        _measure(begun, place, found.turns, watcher)
        if request.lock_counter is not None:
            found.locks.extend(count_locks(place, begun.libraries, request.lock_counter, watcher.step))
        if begun.counted_by:
            found.instructions.extend(count_instructions(place, begun.libraries, watcher.step))
    except Interrupted:
        return "interrupted", "Ctrl-C or a signal ended it"
    except MachineFault as fault:
        if not found.turns:
            raise
        return "failed", fault.message
    return "complete", ""


def _measure(begun: Run, place: Workplace, turns: list[Turns], watcher: Watcher) -> None:
    """Block after block, as long as one more is likely to fit the budget, and at least one."""
    started_s = time.monotonic()

    def begins(sitting: Sitting) -> None:
        spent_s = time.monotonic() - started_s
        left_s = max(0.0, begun.budget_s - spent_s)
        label = begun.subjects[sitting.subject].label
        share = spent_s / (spent_s + left_s)
        watcher.now(f"block {sitting.block + 1}: {label}", share=share, left_s=left_s)

    for number, block in enumerate(blocks(begun.subjects, len(begun.libraries), begun.seed), start=1):
        turns.extend(measure(block, place, begun.libraries, begins))
        spent_s = time.monotonic() - started_s
        if spent_s + spent_s / number > begun.budget_s:
            return


def _certificates(directory: Path, subjects: Sequence[Subject]) -> dict[str, Certificates]:
    """A certificate of every kind that is used, each with its authority."""
    kinds = {subject.certificate for subject in subjects if subject.certificate} | {DEFAULT_KEY}
    found = {}
    for kind in sorted(kinds):
        of_kind = directory / kind
        of_kind.mkdir(mode=0o700)
        found[kind] = certificates.issue(of_kind, certificates.requested(kind))
    return found


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


def _each(
    what: str, place: Workplace, libraries: Sequence[Library], say: Callable[[str], None]
) -> Iterator[tuple[int, int, Contestant]]:
    """Every subject with every library that can do it, both by their places, as it is counted."""
    for number, subject in enumerate(place.subjects):
        for which, contestant in enumerate(place.contestants[:-1]):  # The last is the first once more.
            if libraries[which].subjects[number] is not None:
                interruption.check()
                say(f"counting the {what} of {contestant.name}: {subject.label}")
                yield number, which, contestant


def count_instructions(
    place: Workplace, libraries: Sequence[Library], say: Callable[[str], None]
) -> Iterator[Instructions]:
    """Those of every subject that each library can do. MachineFault where a program fails."""
    for number, which, contestant in _each("instructions", place, libraries, say):
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
    for number, which, contestant in _each("locks", place, libraries, say):
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
        command = (tool("env"), f"LD_PRELOAD={counter.library}", f"{LOCKS_VARIABLE}={page.path}")
        try:
            with Bench(job, command=command) as bench:
                ready = bench.wait_ready()
                before = page.read()
                done = bench.slice(Order(subject=0, operations=OPERATIONS))
                taken = taken_between(before, page.read())
                symbols = Symbols(ready.pid)
                return {
                    side: _takers(
                        {site: calls for site, calls in taken.items() if site.side == word},
                        symbols,
                        done.operations,
                    )
                    for side, word in SIDES.items()
                }
        except ProgramFailure as failure:
            raise MachineFault(f"{contestant.name} with its locks counted: {failure}") from None


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
